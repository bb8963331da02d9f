package main

import (
	"context"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/skelegent/skelegent-go/actors/inspect"
	"github.com/skelegent/skelegent-go/actors/run"
	"github.com/skelegent/skelegent-go/bus"
	"github.com/skelegent/skelegent-go/bus/task"
	"github.com/skelegent/skelegent-go/protocol"
)

func TestTask(t *testing.T) {
	t.Parallel()
	w := newDurable(t)
	workflow := w.task(t, "echo", "hello")
	if !strings.HasPrefix(workflow, "echo/") {
		t.Fatalf("got %q", workflow)
	}
	w.run(t, "result", workflow, "--wait").want(t, exitDone, "hello\n", "")
	w.run(t, "result", workflow).want(t, exitDone, "hello\n", "")
	out := decode[protocol.OperatorOutput](t, w.run(t, "result", workflow, "--json"))
	if out.Metadata.Cost.Text() != "0.25" {
		t.Errorf("got %+v", out)
	}
	accepted := decode[task.Accepted](t, w.run(t, "dispatch", "--json", "--task", "echo", "x", "--session", "tea", "--run-id", "r1"))
	if accepted.Workflow != "echo/tea" || accepted.Run != "r1" || accepted.Seq == 0 {
		t.Errorf("got %+v", accepted)
	}
	w.run(t, "result", "echo/tea", "--run", "r1", "--wait").want(t, exitDone, "x\n", "")
	w.run(t, "dispatch", "echo", "x", "--session", "tea", "--run-id", "r1").want(t, exitDone, "x\n", "")
	w.run(t, "dispatch", "echo", "y", "--session", "tea", "--run-id", "r1").want(t, exitFailed, "", "conflict: ")
	w.run(t, "result", "echo/tea", "--run", "other").want(t, exitFailed, "", "not_found: run not found: echo/tea has no run other")
	w.run(t, "result", "echo/none").want(t, exitFailed, "", "not_found: workflow not found: echo/none")
	r := w.call(t, call{inTTY: true, errTTY: true}, "dispatch", "--task", "nobody", "x", "--session", "a b")
	if r.code != exitDone || r.out != "nobody/a b\n" || !strings.Contains(r.err, "skelegent result 'nobody/a b' --run") || !strings.Contains(r.err, "no node hosts nobody now") {
		t.Errorf("got %+v", r)
	}
	w.run(t, "result", "nobody/a b").want(t, exitFailed, "", "nobody/a b is still queued; wait with skelegent result 'nobody/a b' --run ")
	w.run(t, "operators").want(t, exitDone, "nobody hosts it", "")
	w.run(t, "doctor").want(t, exitDone, "warn  tasks: waiting, and nobody takes them: nobody (1 inputs, since ", "")
	for _, row := range decode[[]operatorRow](t, w.run(t, "operators", "--json")) {
		if row.Name == "nobody" && (row.Node != "" || row.Tasks == nil || row.Tasks.Inputs.Messages != 1) {
			t.Errorf("got %+v", row)
		}
	}
}

func TestTaskLater(t *testing.T) {
	t.Parallel()
	w := newDurable(t)
	w.run(t, "dispatch", "echo", "x", "--in", "1h").want(t, exitFailed, "", `permission_denied: the server does not permit publishing to "skg.timer.task.echo.`)
	accepted := decode[task.Accepted](t, w.node(t, "dispatch", "echo", "late", "--in", "1h", "--json"))
	w.run(t, "result", string(accepted.Workflow)).want(t, exitFailed, "", " is to begin at ")
	w.run(t, "doctor").want(t, exitDone, "ok    timers: set: echo (1)", "")
	r := w.node(t, "dispatch", "echo", "soon", "--at", time.Now().Add(1500*time.Millisecond).Format(time.RFC3339Nano))
	r.want(t, exitDone, "echo/", "")
	w.run(t, "result", strings.TrimSpace(r.out), "--wait").want(t, exitDone, "soon\n", "")
	w.run(t, "dispatch", "echo", "x", "--at", "2020-01-01T00:00:00Z").want(t, exitUsage, "", "has passed")
}

func TestParseTime(t *testing.T) {
	t.Parallel()
	zone := time.FixedZone("there", 3600)
	now := time.Date(2026, 5, 4, 12, 30, 0, 0, zone)
	for s, want := range map[string]string{
		"12:31":                "2026-05-04T12:31:00+01:00",
		"12:30":                "2026-05-05T12:30:00+01:00",
		"00:00:01":             "2026-05-05T00:00:01+01:00",
		"2026-05-04 13:00":     "2026-05-04T13:00:00+01:00",
		"2026-12-24 18:00:05":  "2026-12-24T18:00:05+01:00",
		"2026-12-24T18:00":     "2026-12-24T18:00:00+01:00",
		"2026-12-24T18:00:00Z": "2026-12-24T18:00:00Z",
		"2026-05-04 12:30":     "",
		"2026-05-04T11:30:00Z": "",
		"soon":                 "",
		"25:00":                "",
	} {
		got, err := parseTime(s, now)
		if (err != nil) != (want == "") || err == nil && got.Format(time.RFC3339) != want {
			t.Errorf("%q: got %s, %v, want %s", s, got, err, want)
		}
	}
}

// A dispatch whose answer does not come in time says where to look for it.
func TestDispatchThatGoesOn(t *testing.T) {
	t.Parallel()
	w := newDurable(t)
	w.run(t, "dispatch", "holds", "x", "--run-id", "r1", "--timeout", "500ms").want(t, exitFailed, "", "timeout: holds/r1 is still running: skelegent result holds/r1 --wait\n")
	w.run(t, "dispatch", "waits", "x", "--session", "s", "--run-id", "r2", "--timeout", "500ms").want(t, exitFailed, "",
		"timeout: waits/s is still suspended (waits for signal word): skelegent result waits/s --run r2 --wait\n")
	ctx, cancel := context.WithCancel(testContext(t))
	done := make(chan result)
	go func() { done <- w.call(t, call{ctx: ctx, inTTY: true}, "dispatch", "holds", "x", "--run-id", "r3") }()
	for <-w.running != "r3" {
	}
	cancel()
	(<-done).want(t, exitFailed, "", "cancelled: holds/r3 is still running: skelegent result holds/r3 --wait\n")
	w.run(t, "result", "holds/r3").want(t, exitFailed, "", "skelegent: holds/r3 is still running; wait with skelegent result holds/r3 --wait\n")
	w.run(t, "result", "holds/r3", "--wait", "--timeout", "200ms").want(t, exitFailed, "", "timeout: holds/r3 is still running; give it longer with --timeout")
	waiting := make(chan result)
	go func() { waiting <- w.run(t, "result", "holds/r3", "--wait") }()
	close(w.release)
	(<-waiting).want(t, exitDone, "released\n", "")
}

func TestWhenBusy(t *testing.T) {
	t.Parallel()
	w := newDurable(t)
	w.task(t, "holds", "x", "--session", "s", "--run-id", "r1")
	<-w.running
	w.run(t, "dispatch", "holds", "x", "--session", "s", "--when-busy", "reject").want(t, exitFailed, "", "unavailable: another run of this instance is open")
	w.task(t, "holds", "x", "--session", "s", "--when-busy", "reject", "--run-id", "r2")
	w.run(t, "result", "holds/s", "--run", "r2", "--wait").want(t, exitFailed, "", "unavailable: another run")
	w.task(t, "holds", "x", "--session", "s", "--run-id", "r3")
	go func() { // r3 comes first: it was there before the one that interrupts
		for id := range w.running {
			if id == "r3" {
				close(w.release)
				return
			}
		}
	}()
	w.run(t, "dispatch", "holds", "x", "--session", "s", "--when-busy", "interrupt", "--run-id", "r4").want(t, exitDone, "released", "")
	w.run(t, "result", "holds/s", "--run", "r1").want(t, exitFailed, "", "cancelled: the run was cancelled: interrupted by another input")
	w.run(t, "dispatch", "nobody", "x", "--when-busy", "reject").want(t, exitFailed, "", "not_found: operator not found: nobody; there are: agent, echo")
}

func TestResultOfFailure(t *testing.T) {
	t.Parallel()
	w := newDurable(t)
	w.run(t, "result", w.task(t, "fails", "x"), "--wait").want(t, exitFailed, "", "tool_error: it broke\n")
	r := w.run(t, "result", w.task(t, "hands", "x", "--session", "s"), "--wait")
	if r.code != exitDone || r.out != "over to echo\n" || !strings.Contains(r.err, "handed off: skelegent result echo/hands/s/handoff/1/1 --wait\n") || !strings.Contains(r.err, "did not complete: handed_off") {
		t.Errorf("got %+v", r)
	}
	w.eventually(t, "echo/hands/s/handoff/1/1", "runs") // it begins when the effect is performed
	w.run(t, "result", "echo/hands/s/handoff/1/1", "--wait").want(t, exitDone, `"state"`, "")
	r = w.call(t, call{inTTY: true, outTTY: true, errTTY: true}, "result", w.task(t, "evil", "x"))
	if strings.ContainsAny(r.out+r.err, "\x1b\u009b\r") {
		t.Errorf("got %+v", r)
	}
}

func TestRuns(t *testing.T) {
	t.Parallel()
	w := newDurable(t)
	w.run(t, "runs").want(t, exitDone, "nothing runs or ran\n", "")
	if got := decode[[]inspect.Summary](t, w.run(t, "runs", "--json")); got == nil || len(got) != 0 {
		t.Errorf("got %+v", got)
	}
	w.run(t, "dispatch", "echo", "x", "--session", "tea").want(t, exitDone, "x", "")
	w.task(t, "waits", "x", "--session", "tea")
	w.until(t, "waits/tea", "suspended")
	w.task(t, "waits", "x", "--session", "tea", "--run-id", "next")
	w.eventually(t, "suspended +1", "runs")
	r := w.run(t, "runs")
	lines := strings.Split(r.out, "\n")
	if len(lines) != 4 || strings.Join(strings.Fields(lines[0]), " ") != "WORKFLOW STATE WAITS FOR TURNS COST AGE" ||
		!strings.HasPrefix(strings.Join(strings.Fields(lines[1]), " "), "waits/tea suspended +1 signal word 0 0 ") ||
		!strings.HasPrefix(strings.Join(strings.Fields(lines[2]), " "), "echo/tea completed 1 0.25 ") {
		t.Errorf("got %q", r.out)
	}
	w.run(t, "runs", "echo").want(t, exitDone, "echo/tea", "")
	w.run(t, "runs", "--limit", "1").want(t, exitDone, "waits/tea", "the latest 1 are shown")
	list := decode[[]inspect.Summary](t, w.run(t, "runs", "waits", "--json"))
	if len(list) != 1 || list[0].State != run.StateSuspended || list[0].Queue != 1 || list[0].Wait.Signals[0] != "word" {
		t.Errorf("got %+v", list)
	}
	w.task(t, "evil", "x", "--session", evil)
	w.eventually(t, "an approval: ", "runs", "evil")
	for _, command := range [][]string{{"runs"}, {"inbox"}, {"show", "evil/" + evil}, {"runs", "--json"}, {"show", "evil/" + evil, "--json"}, {"inbox", "--json"}, {"events", "--since-seq", "1", "--count", "8"}} {
		r := w.call(t, call{inTTY: true, outTTY: true, errTTY: true}, command...)
		if r.code != exitDone || strings.ContainsAny(r.out+r.err, "\x1b\u009b\r") {
			t.Errorf("%v: got %q, %q", command, r.out, r.err)
		}
	}
}

func TestInbox(t *testing.T) {
	t.Parallel()
	w := newDurable(t)
	w.run(t, "inbox").want(t, exitDone, "nobody is waited for\n", "")
	w.task(t, "agent", "please delete it", "--session", "it's")
	w.until(t, "agent/it's", "suspended")
	w.task(t, "waits", "x", "--run-id", "r1")
	w.until(t, "waits/r1", "suspended")
	r := w.run(t, "inbox")
	for _, s := range []string{
		"agent/it's  waits for an approval: delete, delete, since ", `  call-1  delete {"path":"/etc"}` + "\n",
		`  skelegent approve 'agent/it'\''s', or skelegent deny 'agent/it'\''s'` + "\n", "  skelegent signal waits/r1 word DATA\n",
	} {
		if !strings.Contains(r.out, s) {
			t.Errorf("%q is missing in %s", s, r.out)
		}
	}
	inbox := decode[[]inspect.Waiting](t, w.run(t, "inbox", "agent", "--json"))
	if len(inbox) != 1 || inbox[0].Wait.Approval == nil || inbox[0].Wait.Approval.Pending[1].CallID != "call-2" {
		t.Errorf("got %+v", inbox)
	}
}

func TestDeadLettersOfRuns(t *testing.T) {
	t.Parallel()
	w := newDurable(t)
	w.run(t, "dispatch", "fails", "try this", "--session", "tea", "--run-id", "r1").want(t, exitFailed, "", "tool_error: it broke")
	w.eventually(t, "fails/tea/r1", "dead", "ls").want(t, exitDone, "  run ", "")
	w.run(t, "dead", "show", "fails/tea/r1").want(t, exitDone, `"message": "try this"`, "")
	letter := decode[bus.DeadMessage](t, w.run(t, "dead", "show", "fails/tea/r1", "--json"))
	if len(letter.Letter.Input) == 0 {
		t.Errorf("got %+v", letter)
	}
	w.node(t, "dead", "retry", "fails/tea/r1").want(t, exitDone, "retried fails/tea/r1", "")
	w.eventually(t, "fails/tea/r1~retry-1", "dead", "ls")
}

// words are read back by a shell as they are.
func TestWord(t *testing.T) {
	t.Parallel()
	for s, want := range map[string]string{
		"a/b-c_1.2": "a/b-c_1.2", "a b": "'a b'", "it's": `'it'\''s'`, "": "''", "$(x)": "'$(x)'", "a\x1b'\\é\n": `$'a\x1b\'\\\xc3\xa9\x0a'`, "é": "'é'",
	} {
		if got := word(s); got != want {
			t.Errorf("%q: got %s, want %s", s, got, want)
		}
	}
	if b, err := json.Marshal(word("x")); err != nil || string(b) != `"x"` {
		t.Error(string(b), err)
	}
}
