package bus_test

import (
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/skelegent/skelegent-go/bus"
	"github.com/skelegent/skelegent-go/bus/embed"
	"github.com/skelegent/skelegent-go/protocol"
)

// ensured is a connection of a node to a server with the streams of a node. The server forgets message ids after dedupe.
func ensured(t testing.TB, dedupe time.Duration) *bus.Conn {
	t.Helper()
	s := startEmbedded(t, embed.Config{Dir: t.TempDir(), Listen: embed.ListenNone})
	nc, err := s.Connect()
	if err != nil {
		t.Fatal(err)
	}
	c, err := bus.FromNATS(nc, wireNames, nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, cfg := range (bus.Topology{}).Streams(wireNames) {
		cfg.Duplicates = dedupe
		if _, err := c.JetStream().CreateStream(connectContext(t), cfg); err != nil {
			t.Fatal(err)
		}
	}
	return c
}

func letter(id string, operator protocol.OperatorID, message string) protocol.DeadLetter {
	return protocol.DeadLetter{
		ID: id, Operator: operator, Instance: "i1", Run: "r1", Subject: "skg.effect.mail." + string(operator) + ".i1", Attempts: 5,
		Reason: protocol.NewError(protocol.CodeToolError, message),
		Effect: &protocol.RequestedEffect{EffectID: id, Effect: protocol.AnyEffect{Effect: protocol.CustomEffect{EffectType: "mail", Data: []byte(`1`)}}},
	}
}

// store publishes a letter under a message id of its own, so that no letter is dropped as a repetition.
func store(t testing.TB, c *bus.Conn, l protocol.DeadLetter, id string) {
	t.Helper()
	body, err := protocol.Marshal(l)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.JetStream().Publish(connectContext(t), c.Names().Dead(string(l.Operator)), body, jetstream.WithMsgID(id)); err != nil {
		t.Fatal(err)
	}
}

func ids(found []bus.DeadMessage) []string {
	all := []string{}
	for _, d := range found {
		all = append(all, fmt.Sprintf("%s %v", d.Letter.ID, d.Copies))
	}
	return all
}

func TestDeadLetters(t *testing.T) {
	t.Parallel()
	c, ctx := ensured(t, time.Minute), connectContext(t)
	store(t, c, letter("a/1", "a", "first"), "m1")
	store(t, c, letter("b/1", "b", "x"), "m2")
	store(t, c, letter("a/1", "a", "second"), "m3")
	store(t, c, letter("a/2", "a", "x"), "m4")
	if _, err := c.JetStream().Publish(ctx, "skg.dead.b", []byte("rubbish")); err != nil {
		t.Fatal(err)
	}
	for _, tc := range []struct {
		operator string
		limit    int
		want     []string
	}{
		{"", 10, []string{"seq/5 [5]", "a/2 [4]", "a/1 [1 3]", "b/1 [2]"}},
		{"a", 10, []string{"a/2 [4]", "a/1 [1 3]"}},
		{"b", 1, []string{"seq/5 [5]"}},
		{"c", 10, []string{}},
	} {
		found, err := c.DeadLetters(ctx, tc.operator, tc.limit)
		if err != nil || !slices.Equal(ids(found), tc.want) {
			t.Errorf("%q, %d: got %v, %v, want %v", tc.operator, tc.limit, ids(found), err, tc.want)
		}
	}
	for _, which := range []string{"a/1", "1", "3"} {
		d, err := c.FindDead(ctx, which)
		if err != nil || d.Seq != 3 || d.Letter.Reason.Message != "second" || !slices.Equal(d.Copies, []uint64{1, 3}) {
			t.Errorf("%s: got %+v, %v", which, d, err)
		}
	}
	if _, err := c.FindDead(ctx, "9"); protocol.CodeOf(err) != protocol.CodeNotFound {
		t.Errorf("got %v", err)
	}
	if _, err := c.DeadLetters(ctx, "A.b", 1); protocol.CodeOf(err) != protocol.CodeInvalidInput {
		t.Errorf("got %v", err)
	}
	d, err := c.FindDead(ctx, "a/1")
	if err := errors.Join(err, c.DropDead(ctx, d), c.DropDead(ctx, d)); err != nil {
		t.Errorf("drop: %v", err)
	}
	if found, err := c.DeadLetters(ctx, "", 10); err != nil || !slices.Equal(ids(found), []string{"seq/5 [5]", "a/2 [4]", "b/1 [2]"}) {
		t.Errorf("got %v, %v", ids(found), err)
	}
}

func TestRetryDead(t *testing.T) {
	t.Parallel()
	c, ctx := ensured(t, time.Minute), connectContext(t)
	store(t, c, letter("a/1", "a", "x"), "m1")
	d, err := c.FindDead(ctx, "a/1")
	if err != nil {
		t.Fatal(err)
	}
	if err := c.RetryDead(ctx, d); err != nil {
		t.Fatal(err)
	}
	stream, err := c.JetStream().Stream(ctx, "SKG_EFFECTS")
	if err != nil {
		t.Fatal(err)
	}
	msg, err := stream.GetMsg(ctx, 1)
	if err != nil {
		t.Fatal(err)
	}
	var r protocol.EffectRequest
	if err := protocol.Unmarshal(msg.Data, &r); err != nil {
		t.Fatal(err)
	}
	if r.Operator != "a" || r.Instance != fmt.Sprintf("retry-%d-%d", d.Seq, d.Time.UnixNano()) || r.M != 1 || !r.Ephemeral || r.Run != "r1" || r.Kind != "mail" ||
		len(r.Effects) != 1 || r.Effects[0].EffectID != "a/1" || msg.Subject != "skg.effect.mail.a."+r.Instance {
		t.Errorf("got %s: %+v", msg.Subject, r)
	}
	if _, err := c.FindDead(ctx, "a/1"); protocol.CodeOf(err) != protocol.CodeNotFound {
		t.Errorf("the letter is still there: %v", err)
	}
	store(t, c, protocol.DeadLetter{ID: "raw", Operator: "a", Subject: "s", Reason: protocol.NewError(protocol.CodeInternal, "x"), Raw: []byte("x")}, "m2")
	if d, err = c.FindDead(ctx, "raw"); err != nil {
		t.Fatal(err)
	}
	if err := c.RetryDead(ctx, d); protocol.CodeOf(err) != protocol.CodeUnsupported {
		t.Errorf("got %v", err)
	}
}

// A retry whose end was not seen is repeated, and still is one message.
func TestRetryTwice(t *testing.T) {
	t.Parallel()
	c, ctx := ensured(t, time.Minute), connectContext(t)
	if err := c.PublishDead(ctx, letter("a/1", "a", "x")); err != nil {
		t.Fatal(err)
	}
	d, err := c.FindDead(ctx, "a/1")
	if err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if err := c.RetryDead(ctx, d); err != nil {
			t.Fatal(err)
		}
	}
	stream, err := c.JetStream().Stream(ctx, "SKG_EFFECTS")
	if err != nil {
		t.Fatal(err)
	}
	if n := stream.CachedInfo().State.Msgs; n != 1 {
		t.Errorf("%d effect requests, want 1", n)
	}
}

func TestDeadWithoutStream(t *testing.T) {
	t.Parallel()
	s := startEmbedded(t, embed.Config{Dir: t.TempDir(), Listen: "127.0.0.1:0"})
	c, ctx := connect(t, bus.ConnectConfig{URL: s.URL()}), connectContext(t)
	_, err := c.DeadLetters(ctx, "", 1)
	_, pendingErr := c.PendingEffects(ctx)
	_, outcomesErr := c.Outcomes(ctx, 1)
	for _, err := range []error{err, pendingErr, outcomesErr} {
		if protocol.CodeOf(err) != protocol.CodeUnavailable {
			t.Errorf("got %v", err)
		}
	}
}
