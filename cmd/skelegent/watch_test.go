package main

import (
	"context"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/skelegent/skelegent-go/bus"
	"github.com/skelegent/skelegent-go/protocol"
	"github.com/skelegent/skelegent-go/protocol/wire"
)

func TestOperators(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.run(t, "dispatch", "echo", "x").want(t, exitDone, "x", "")
	r := w.run(t, "operators", "--wait", "200ms")
	r.want(t, exitDone, "NAME", "")
	var line string
	for l := range strings.Lines(r.out) {
		if strings.HasPrefix(l, "echo") {
			line = l
		}
	}
	if got := strings.Fields(line); len(got) < 9 || strings.Join(got[:6], " ") != "echo node-one 0/0 3 1 0" || !strings.HasSuffix(line, "is echo\n") {
		t.Errorf("got %q", line)
	}
	rows := decode[[]operatorRow](t, w.run(t, "operators", "--json"))
	if len(rows) != 8 || rows[0].Name != "broken" || rows[2].Name != "echo" || rows[2].Requests != 1 || rows[2].Concurrency != 3 {
		t.Errorf("got %+v", rows)
	}
	w.run(t, "operators", "--limit", "2").want(t, exitDone, "broken", "2 of 8 shown")
	r = w.node(t, "--prefix", "other", "operators")
	r.want(t, exitDone, "", "no operator answers: start a node with `skelegent up`")
	if rows := decode[[]operatorRow](t, w.node(t, "--prefix", "other", "operators", "--json")); rows == nil || len(rows) != 0 {
		t.Errorf("got %v", rows)
	}
}

// follow starts `events` and returns when it follows, with what it has printed and how it ends.
func follow(ctx context.Context, t *testing.T, w *world, args ...string) (out *buffer, end <-chan result) {
	t.Helper()
	out = &buffer{}
	errs := &buffer{}
	done := make(chan result, 1)
	go func() {
		done <- w.call(t, call{ctx: ctx, inTTY: true, errTTY: true, stdout: out, stderr: errs}, append([]string{"events"}, args...)...)
	}()
	errs.waitFor(t, "following")
	return out, done
}

func TestEvents(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	ctx, interrupt := context.WithCancel(t.Context()) // without a deadline, as in main
	out, end := follow(ctx, t, w)
	w.run(t, "dispatch", "mailer", "x", "--run-id", "r1", "--session", "s 1").want(t, exitDone, "declared", "")
	for _, s := range []string{
		"invocation_started    mailer/s 1 run r1  trigger user\n", "intent_declared       mailer/s 1 run r1  mailer/r1/mail/1/1\n",
		"completed             mailer/s 1 run r1  complete: declared\n", "effect_acting         mailer/r1  #1 mail\n",
		"effect_done           mailer/r1  #2 mail ok\n",
	} {
		out.waitFor(t, s)
	}
	interrupt()
	if r := <-end; r.code != exitDone {
		t.Errorf("Ctrl-C: got %+v", r)
	}
}

func TestEventsFiltered(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	ctx := testContext(t)
	byRun, endRun := follow(ctx, t, w, "--run", "r2", "--count", "2")
	byInstance, endInstance := follow(ctx, t, w, "echo/s2", "--live", "--count", "2", "--json")
	bySubject, endSubject := follow(ctx, t, w, "skg.live.*.*.failed", "--count", "1")
	w.run(t, "dispatch", "echo", "one", "--run-id", "r1", "--session", "s1").want(t, exitDone, "one", "")
	w.run(t, "dispatch", "echo", "two", "--run-id", "r2", "--session", "s2").want(t, exitDone, "two", "")
	w.run(t, "dispatch", "broken", "x").want(t, exitFailed, "", "tool_error")
	for _, end := range []<-chan result{endRun, endInstance, endSubject} {
		if r := <-end; r.code != exitDone {
			t.Errorf("got %+v", r)
		}
	}
	if got := byRun.String(); strings.Count(got, "\n") != 2 || strings.Contains(got, "r1") {
		t.Errorf("by run: got %q", got)
	}
	var lines []eventLine
	for dec := json.NewDecoder(strings.NewReader(byInstance.String())); dec.More(); {
		var line eventLine
		if err := dec.Decode(&line); err != nil {
			t.Fatal(err)
		}
		lines = append(lines, line)
	}
	if len(lines) != 2 || lines[1].Subject != "skg.live.echo.s2.completed" || lines[1].StreamSeq != 0 {
		t.Errorf("by instance: got %+v", lines)
	}
	if e, err := protocol.DecodeEvent(lines[1].Event); err != nil || e.Run != "r2" {
		t.Errorf("by instance: got %+v, %v", e, err)
	}
	if got := bySubject.String(); !strings.Contains(got, "broken/") || !strings.Contains(got, "tool_error: line one line two\n") {
		t.Errorf("by subject: got %q", got)
	}
}

// Reading on from a sequence: what is there, then what comes, each once.
func TestEventsSince(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.run(t, "dispatch", "keeper", "x", "--run-id", "r1").want(t, exitDone, "declared", "")
	w.eventually(t, "ok", "effects")
	out, end := follow(testContext(t), t, w, "--log", "--since-seq", "1", "--count", "3")
	out.waitFor(t, "#1 memory ok")
	w.run(t, "dispatch", "mailer", "x", "--run-id", "r2").want(t, exitDone, "declared", "")
	if r := <-end; r.code != exitDone {
		t.Errorf("got %+v", r)
	}
	for i, want := range []string{"#1 memory ok", "#2 mail", "#3 mail ok"} {
		if lines := strings.Split(out.String(), "\n"); len(lines) != 4 || !strings.Contains(lines[i], want) {
			t.Errorf("got %q, want %q in line %d", lines, want, i+1)
		}
	}
	w.run(t, "events", "mailer", "--since-seq", "1", "--count", "1").want(t, exitDone, "#2 mail", "")
	w.run(t, "events", "skg.log.*.*.done.mail", "--since-seq", "3", "--count", "1", "--json").want(t, exitDone, `"stream_seq":3`, "")
	w.node(t, "--prefix", "other", "events", "--since-seq", "1").want(t, exitFailed, "", "unavailable: ")
}

func TestEventThatIsNone(t *testing.T) {
	t.Parallel()
	a := newApp(&buffer{}, &buffer{}, strings.NewReader(""), func(string) string { return "" })
	o := bus.Observation{Subject: "skg.live.a.b.c", Data: []byte("\x1b[31mrubbish\n"), Err: protocol.NewError(protocol.CodeInvalidInput, "no JSON")}
	if got := a.eventText(o); got != "skg.live.a.b.c no event: no JSON: [31mrubbish" {
		t.Errorf("got %q", got)
	}
	if got := newEventLine(o); got.Event != nil || got.Raw == "" || got.Error != "no JSON" {
		t.Errorf("got %+v", got)
	}
	for kind, data := range map[protocol.EventKind]string{
		"thing":                          `{"a":1}`,
		protocol.EventCompleted:          `{"truncated":true}`,
		protocol.EventFailed:             `{}`,
		protocol.EventToolResultReceived: `{"capability_id":"clock","output":"12:00","call_id":"1","is_error":false}`,
		protocol.EventProgress:           `{"content":7}`,
	} {
		o := bus.Observation{Subject: "s", Event: protocol.Event{Kind: kind, Operator: "o", Instance: "i", Run: "i", Time: time.Now(), Data: []byte(data)}}
		want := data
		if kind == protocol.EventToolResultReceived {
			want = "clock"
		}
		if got := a.eventText(o); !strings.HasSuffix(got, "o/i  "+want) {
			t.Errorf("%s: got %q", kind, got)
		}
	}
}

// What the log of a durable run says, in a few words.
func TestEventsOfALog(t *testing.T) {
	t.Parallel()
	a := newApp(&buffer{}, &buffer{}, strings.NewReader(""), func(string) string { return "" })
	for _, tc := range []struct {
		kind       protocol.EventKind
		data, want string
	}{
		{protocol.EventInvocationStarted, `{"carrier":{"id":{"seq":1,"time":2}},"node":"n1","attempt":2,"resumed":true}`, "node n1, attempt 2, resumed"},
		{protocol.EventSuspended, `{"wait":{"reason":"external_input","signals":["a","b"],"timers":[{"path":"1","at":"2020-01-02T03:04:05Z"}]}}`, "waits for signal a or b until 2020-01-02 "},
		{protocol.EventSuspended, `{"wait":{"reason":"timer","timers":[{"path":"1","at":"2020-01-02T03:04:05Z"}]}}`, "waits for the time 2020-01-02 "},
		{protocol.EventSuspended, `{"wait":{"reason":"retry"}}`, "waits for another attempt at ?"},
		{protocol.EventSuspended, `{"wait":{"reason":"child_run","children":["x","y"]}}`, "waits for 2 runs"},
		{protocol.EventSuspended, `{"wait":{"reason":"effects"}}`, "waits for what an earlier turn wrote"},
		{protocol.EventSuspended, `{"wait":{"reason":"approval"}}`, "waits for an approval"},
		{protocol.EventNoted, `{"signal":{"seq":7,"type":"word","time":"2020-01-02T03:04:05Z"},"ignored":true}`, "signal word, ignored"},
		{protocol.EventNoted, `{"timer":{"run":"r","path":"3","after":1}}`, "timer of step 3"},
		{protocol.EventNoted, `{"child":{"run":"r.1"}}`, "end of run r.1"},
		{protocol.EventStepCompleted, `{"path":"1.2","step":"step","name":"create user","result":7}`, "1.2 step create user"},
		{protocol.EventToolResultReceived, `{"path":"2","step":"tool","name":"clock","result":{},"is_error":true}`, "clock failed"},
		{protocol.EventCancelled, `{"reason":"enough"}`, "enough"},
		{protocol.EventRefused, `{"error":{"code":"unavailable","message":"busy","retryable":true}}`, "unavailable: busy"},
		{protocol.EventSnapshot, `{"operator":"o"}`, "o/i"},
	} {
		o := bus.Observation{Subject: "s", Event: protocol.Event{Kind: tc.kind, Operator: "o", Instance: "i", Run: "i", Time: time.Now(), Data: []byte(tc.data)}}
		if got := a.eventText(o); !strings.Contains(got, tc.want) {
			t.Errorf("%s: got %q, want %q", tc.kind, got, tc.want)
		}
	}
	both := protocol.Event{
		Kind: protocol.EventInvocationStarted, Operator: "o", Instance: "i", Run: "i", Time: time.Now(), Data: []byte(`{"node":"n1","attempt":1}`),
		Also: []protocol.EventPart{{Kind: protocol.EventNoted, Data: []byte(`{"signal":{"seq":7,"type":"word","time":"2020-01-02T03:04:05Z"}}`)}},
	}
	if got := a.eventText(bus.Observation{Event: both}); !strings.HasSuffix(got, "node n1, attempt 1; noted signal word") {
		t.Errorf("got %q", got)
	}
}

func TestEventSubjects(t *testing.T) {
	t.Parallel()
	for filter, want := range map[string][2]string{
		"":                 {"skg.live.>", "skg.event.>"},
		"echo":             {"skg.live.echo.>", "skg.event.echo.>"},
		"echo/a b/c":       {"skg.live.echo.a=20b=2Fc.>", "skg.event.echo.a=20b=2Fc.>"},
		"skg.live.echo.>":  {"skg.live.echo.>", ""},
		"skg.event.*.x.>":  {"", "skg.event.*.x.>"},
		"skg.log.*.*.done": {"", "skg.event.*.*.done"},
	} {
		live, log, err := eventSubjects(wire.Names{}, filter)
		if err != nil || live != want[0] || log != want[1] {
			t.Errorf("%q: got %q, %q, %v, want %q", filter, live, log, err, want)
		}
	}
}

func TestDoctor(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	r := w.run(t, "doctor")
	r.want(t, exitDone, "ok    stream SKG_LOG", "")
	for _, s := range []string{"ok    connection", "ok    jetstream", "ok    bucket KV_SKG_STATE", "ok    clock", "ok    operators: 8 on 1 nodes", "ok    dead letters: none", "ok    effects: none pending"} {
		if !strings.Contains(r.out, s) {
			t.Errorf("%q is missing in %s", s, r.out)
		}
	}
	w.run(t, "dispatch", "orphan", "x").want(t, exitDone, "declared", "")
	w.run(t, "doctor").want(t, exitDone, "warn  effects: pending, and nobody performs them: nobody's (1)\n      -> ", "")
	findings := decode[[]bus.Finding](t, w.run(t, "doctor", "--json"))
	if len(findings) < 8 {
		t.Errorf("got %+v", findings)
	}
	r = w.node(t, "--prefix", "other", "doctor")
	r.want(t, exitFailed, "fail  stream OTHER_LOG: is not there\n      -> start a node", "checks failed")
	r = call{inTTY: true}.run(t, "doctor", "--nats", "nats://127.0.0.1:1", "--json")
	if err := json.Unmarshal([]byte(r.out), &findings); err != nil || len(findings) != 1 || findings[0].Level != bus.LevelFail {
		t.Errorf("got %+v, %v", findings, err)
	}
}
