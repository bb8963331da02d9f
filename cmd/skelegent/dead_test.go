package main

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/skelegent/skelegent-go/bus"
	"github.com/skelegent/skelegent-go/protocol"
)

func TestEffects(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.run(t, "effects").want(t, exitDone, "no effects are pending\n", "")
	w.run(t, "dispatch", "orphan", "x").want(t, exitDone, "declared", "")
	w.run(t, "dispatch", "orphan", "y").want(t, exitDone, "declared", "")
	w.run(t, "dispatch", "mailer", "x", "--run-id", "r1").want(t, exitDone, "declared", "")
	w.run(t, "effects", "--pending").want(t, exitDone, "nobody executes this kind", "")
	w.eventually(t, "mailer/r1/mail/1/1", "effects", "--limit", "5").want(t, exitDone, "ok", "")
	found := decode[effectsFound](t, w.run(t, "effects", "--json"))
	if len(found.Pending) != 1 || found.Pending[0].Family != "nobody's" || found.Pending[0].Messages != 2 || found.Pending[0].Executor ||
		len(found.Outcomes) != 1 || found.Outcomes[0].Status != protocol.OutcomeOK {
		t.Errorf("got %+v", found)
	}
	if found := decode[effectsFound](t, w.run(t, "effects", "--pending", "--json")); found.Outcomes != nil {
		t.Errorf("got %+v", found)
	}
	w.node(t, "--prefix", "other", "effects").want(t, exitFailed, "", "unavailable: ")
}

// fails has the executor of mail fail once, and returns when the letter is there.
func (w *world) fails(t *testing.T, run string) {
	t.Helper()
	w.mail <- protocol.NewError(protocol.CodeInvalidInput, "no such address")
	w.run(t, "dispatch", "mailer", "x", "--run-id", run).want(t, exitDone, "declared", "")
	w.eventually(t, "mailer/"+run+"/mail/1/1", "effects")
}

func TestDead(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.run(t, "dead", "ls").want(t, exitDone, "no dead letters\n", "")
	if got := decode[[]bus.DeadMessage](t, w.run(t, "dead", "ls", "--json")); len(got) != 0 {
		t.Errorf("got %+v", got)
	}
	w.fails(t, "r1")
	w.fails(t, "r2")
	w.run(t, "dead", "ls").want(t, exitDone, "mailer/r1/mail/1/1", "")
	w.run(t, "dead", "ls", "mailer", "--limit", "1").want(t, exitDone, "invalid_input: no such address", "the newest 1 are shown")
	w.run(t, "dead", "ls", "echo").want(t, exitDone, "no dead letters", "")
	w.run(t, "dead", "show", "1").want(t, exitDone, "id        mailer/r1/mail/1/1\n", "")
	w.run(t, "dead", "show", "mailer/r2/mail/1/1").want(t, exitDone, `"effect_type": "mail"`, "")
	if d := decode[bus.DeadMessage](t, w.run(t, "dead", "show", "2", "--json")); d.Seq != 2 || d.Letter.Run != "r2" || d.Letter.Effect == nil {
		t.Errorf("got %+v", d)
	}
	w.run(t, "dead", "show", "99").want(t, exitFailed, "", "not_found: dead letter not found: 99")

	w.run(t, "dead", "retry", "1").want(t, exitFailed, "", "permission_denied: the server does not permit publishing to \"skg.effect.mail.mailer.retry-")
	w.run(t, "dead", "drop", "1").want(t, exitFailed, "", "--nkey .skelegent/node.key")
	w.run(t, "dead", "ls").want(t, exitDone, "mailer/r1/mail/1/1", "") // it is still there

	w.node(t, "dead", "retry", "1").want(t, exitDone, "retried mailer/r1/mail/1/1\n", "")
	w.run(t, "dead", "show", "1").want(t, exitFailed, "", "not_found")
	r := w.node(t, "dead", "drop", "--all", "--operator", "mailer", "--json")
	if got := decode[map[string][]string](t, r)["dropped"]; len(got) != 1 || got[0] != "mailer/r2/mail/1/1" {
		t.Errorf("got %v", got)
	}
	w.run(t, "dead", "ls").want(t, exitDone, "no dead letters", "")
	w.node(t, "dead", "retry", "--all").want(t, exitDone, "", "")
	// The retried effect was performed, under its id.
	found := decode[effectsFound](t, w.eventually(t, `"attempts": 1,`+"\n", "effects", "--json"))
	for _, o := range found.Outcomes {
		if strings.HasPrefix(o.Instance, "retry-") && (o.EffectID != "mailer/r1/mail/1/1" || o.Status != protocol.OutcomeOK) {
			t.Errorf("got %+v", o)
		}
	}
}

// An effect that is tried again at once and fails again is among the dead letters again.
func TestDeadRetryThatFails(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.fails(t, "r1")
	w.mail <- protocol.NewError(protocol.CodeInvalidInput, "still no such address")
	w.node(t, "dead", "retry", "1").want(t, exitDone, "retried mailer/r1/mail/1/1", "")
	w.eventually(t, "still no such address", "dead", "ls")
}

func TestDeadThatCannotBeRetried(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	ctx := testContext(t)
	for i, body := range []string{`{"rubbish`, string([]byte{0xff, 0xfe})} {
		if _, err := w.conn.JetStream().Publish(ctx, "skg.dead.echo", []byte(body), jetstream.WithMsgID(fmt.Sprint(i))); err != nil {
			t.Fatal(err)
		}
	}
	w.run(t, "dead", "show", "1").want(t, exitDone, `message   {"rubbish`, "")
	w.run(t, "dead", "show", "seq/2").want(t, exitDone, `message   "//4="`, "")
	w.node(t, "dead", "retry", "1").want(t, exitFailed, "", "unsupported: dead letter seq/1 holds no effect")
	r := w.node(t, "dead", "retry", "--all")
	if r.code != exitFailed || strings.Count(r.err, "unsupported: ") != 2 {
		t.Errorf("got %+v", r)
	}
	var all []json.RawMessage
	if all = decode[[]json.RawMessage](t, w.run(t, "dead", "ls", "--json")); len(all) != 2 {
		t.Errorf("got %s", all)
	}
	w.node(t, "dead", "drop", "--all").want(t, exitDone, "dropped seq/1\ndropped seq/2\n", "")
}
