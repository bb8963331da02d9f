package main

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/skelegent/skelegent-go/actors/inspect"
	"github.com/skelegent/skelegent-go/actors/run"
	"github.com/skelegent/skelegent-go/protocol"
)

func TestApprove(t *testing.T) {
	t.Parallel()
	w := newDurable(t)
	for name, tc := range map[string]struct {
		args []string
		said string
		want []string // of each call: what the model was told
	}{
		"all":    {[]string{"approve"}, "approved call-1, call-2\n", []string{"deleted /etc", "deleted /tmp"}},
		"one":    {[]string{"approve", "call-2"}, "approved call-2; denied call-1\n", []string{"not approved", "deleted /tmp"}},
		"none":   {[]string{"deny", "--reason", "never"}, "denied call-1, call-2\n", []string{"never", "never"}},
		"but":    {[]string{"deny", "call-1", "--reason", "not this"}, "denied call-1; approved call-2\n", []string{"not this", "deleted /tmp"}},
		"modify": {[]string{"approve", "--modify", `call-1={"path":"/var"}`}, "approved call-1, call-2\n", []string{"deleted /var", "deleted /tmp"}},
		"both": {
			[]string{"approve", "--modify", `call-1={"path":"/a"}`, "--modify", `call-2={"path":"/b"}`},
			"approved call-1, call-2\n",
			[]string{"deleted /a", "deleted /b"},
		},
		"modify alone": {[]string{"approve", "call-1", "--modify", `call-1={"path":"/a"}`}, "approved call-1; denied call-2\n", []string{"deleted /a", "not approved"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			workflow := w.task(t, "agent", "delete it all", "--session", name)
			w.until(t, workflow, "suspended")
			w.run(t, append([]string{tc.args[0], workflow}, tc.args[1:]...)...).want(t, exitDone, tc.said, "")
			w.run(t, "result", workflow, "--wait").want(t, exitDone, "That is done.\n", "")
			tree := decode[inspect.Tree](t, w.run(t, "show", workflow, "--full", "--json"))
			var told []string
			for _, s := range tree.Steps {
				if s.Kind == run.StepTool {
					told = append(told, string(s.Result))
				}
			}
			all := strings.Join(told, " ")
			for _, want := range tc.want {
				if strings.HasPrefix(want, "deleted") && !strings.Contains(all, want) {
					t.Errorf("%q is missing in %s", want, all)
				}
			}
			if strings.Count(all, "deleted") != strings.Count(strings.Join(tc.want, " "), "deleted") {
				t.Errorf("got %s", all)
			}
			w.run(t, tc.args[0], workflow).want(t, exitFailed, "", "conflict: agent/"+name+" waits for no approval: it is completed")
		})
	}
}

func TestApproveWrongly(t *testing.T) {
	t.Parallel()
	w := newDurable(t)
	w.run(t, "approve", "agent/none").want(t, exitFailed, "", "not_found: workflow not found: agent/none")
	w.task(t, "waits", "x", "--run-id", "r1")
	w.until(t, "waits/r1", "suspended")
	w.run(t, "approve", "waits/r1").want(t, exitFailed, "", "conflict: waits/r1 waits for no approval but for signal word")
	w.task(t, "agent", "delete it", "--session", "s")
	w.until(t, "agent/s", "suspended")
	w.run(t, "approve", "agent/s", "call-9").want(t, exitFailed, "", `not_found: call "call-9" does not wait; there are: call-1, call-2`)
	w.run(t, "approve", "agent/s", "--modify", `call-9={}`).want(t, exitFailed, "", "not_found: call ")
	got := decode[decided](t, w.run(t, "deny", "agent/s", "call-2", "--json"))
	if got.Decision != "denied" || len(got.CallIDs) != 1 || len(got.Others) != 1 || got.Workflow != "agent/s" {
		t.Errorf("got %+v", got)
	}
}

func TestCancel(t *testing.T) {
	t.Parallel()
	w := newDurable(t)
	done := make(chan result)
	go func() { done <- w.run(t, "dispatch", "holds", "x", "--run-id", "r1") }()
	<-w.running
	w.run(t, "cancel", "holds/r1", "--reason", "enough of it", "--wait").want(t, exitDone, "", "")
	(<-done).want(t, exitFailed, "", "cancelled: the run was cancelled: enough of it\n")
	w.run(t, "cancel", "holds/r1").want(t, exitFailed, "", "conflict: no run of holds/r1 is open: it is cancelled")
	w.run(t, "cancel", "holds/r1", "--run", "r1").want(t, exitFailed, "", "conflict: run r1 is over: cancelled")
	w.run(t, "cancel", "holds/none").want(t, exitFailed, "", "not_found: workflow not found: holds/none")
	// One that has not begun.
	w.task(t, "holds", "x", "--session", "s", "--run-id", "r2")
	<-w.running
	w.task(t, "holds", "x", "--session", "s", "--run-id", "r3")
	w.run(t, "cancel", "holds/s", "--run", "r3").want(t, exitDone, "", "")
	got := decode[sent](t, w.run(t, "cancel", "holds/s", "--json"))
	if got.Run != "r2" || got.Signal != "cancel" || got.Workflow != "holds/s" {
		t.Errorf("got %+v", got)
	}
	for _, id := range []string{"r2", "r3"} {
		w.run(t, "result", "holds/s", "--run", id, "--wait").want(t, exitFailed, "", "cancelled: the run was cancelled")
	}
	// One that is over by itself before.
	w.task(t, "waits", "x", "--run-id", "r4")
	w.until(t, "waits/r4", "suspended")
	w.run(t, "cancel", "waits/r4", "--wait", "--timeout", "30s").want(t, exitDone, "", "")
}

func TestPauseSteerSignal(t *testing.T) {
	t.Parallel()
	w := newDurable(t)
	w.task(t, "steps", "x", "--session", "s")
	w.until(t, "steps/s", "suspended")
	w.run(t, "pause", "steps/s").want(t, exitDone, "", "")
	w.run(t, "signal", "steps/s", "word", "one").want(t, exitDone, "", "")
	w.eventually(t, "resume", "runs") // it goes as far as its next step
	w.run(t, "inbox").want(t, exitDone, "skelegent resume steps/s", "")
	w.run(t, "signal", "steps/s", "word", `"end"`).want(t, exitDone, "", "")
	w.run(t, "steer", "steps/s", "to", "the", "left").want(t, exitDone, "", "")
	w.run(t, "resume", "steps/s").want(t, exitDone, "", "")
	w.run(t, "result", "steps/s", "--wait").want(t, exitDone, "1\n", "")
	w.run(t, "signal", "steps/s", "word", "late").want(t, exitDone, "", "no run is open: the signal is stored, and recorded as ignored")
	w.call(t, call{in: "from afar", inTTY: true}, "signal", "steps/s", "word", "-", "--run", "next").want(t, exitDone, "", "")
	w.run(t, "dispatch", "steps", "x", "--session", "s", "--run-id", "next", "--timeout", "1s").want(t, exitFailed, "", "still suspended")
	full := w.eventually(t, `: "from afar"`, "show", "steps/s", "--full")
	full.want(t, exitDone, "signal word, ", "")
	w.run(t, "resume", "steps/none").want(t, exitFailed, "", "not_found")
	r := w.call(t, call{inTTY: true, errTTY: true}, "signal", "steps/s", "word", "end")
	r.want(t, exitDone, "", "word sent to steps/s")
}

func TestQuery(t *testing.T) {
	t.Parallel()
	w := newDurable(t)
	w.run(t, "dispatch", "echo", "x", "--session", "s").want(t, exitDone, "x", "")
	status := decode[run.Status](t, w.run(t, "query", "echo/s", "status"))
	if status.State != run.StateIdle || status.Turns != 1 {
		t.Errorf("got %+v", status)
	}
	w.run(t, "query", "echo/s", "history").want(t, exitDone, `"turns":[`, "")
	w.call(t, call{inTTY: true, outTTY: true}, "query", "echo/s", "history").want(t, exitDone, "\n", "")
	w.run(t, "query", "echo/s", "weather").want(t, exitFailed, "", "unsupported: there is no query weather")
	w.run(t, "query", "echo/none", "status").want(t, exitFailed, "", "not_found: workflow not found: echo/none")
	w.run(t, "query", "nobody/x", "status").want(t, exitFailed, "", "not_found: workflow not found: nobody/x")
}

func TestShow(t *testing.T) {
	t.Parallel()
	w := newDurable(t)
	workflow := w.task(t, "parent", "x", "--session", "tea")
	w.until(t, workflow, "suspended")
	parent := decode[inspect.Tree](t, w.run(t, "show", workflow, "--json"))
	child := "waits/" + string(parent.Run) + ".2"
	w.until(t, child, "suspended")
	r := w.run(t, "show", workflow)
	for _, s := range []string{"suspended  ", "├─ 1 call first, 0.25 USD, ", "echo/" + string(parent.Run) + ".1  completed", "└─ 2 call second, not over", "waits for run ", "waits for signal word, since "} {
		if !strings.Contains(r.out, s) {
			t.Errorf("%q is missing in\n%s", s, r.out)
		}
	}
	w.run(t, "signal", child, "word", "go").want(t, exitDone, "", "")
	w.run(t, "result", workflow, "--wait").want(t, exitDone, "go\n", "")
	r = w.run(t, "show", workflow)
	for _, s := range []string{"parent/tea run ", "  completed  ", " 0.25 USD, 2 steps, ", "claim 1 on node-one, ", "claim 2 on node-one, ", ", resumed", "waited for run ", "signal word, ", "taken by step 1"} {
		if !strings.Contains(r.out, s) {
			t.Errorf("%q is missing in\n%s", s, r.out)
		}
	}
	if strings.Contains(r.out, "secret") {
		t.Errorf("it says what was said:\n%s", r.out)
	}
	w.run(t, "show", workflow, "--full").want(t, exitDone, "input a secret", "")
	w.run(t, "show", workflow, "--run", "other").want(t, exitFailed, "", "not_found")
	w.run(t, "show", "parent/\x9b2J\xff").want(t, exitFailed, "", "not_found: workflow not found: parent/\uFFFD2J\uFFFD\n")
	w.run(t, "show", "parent/none").want(t, exitFailed, "", "not_found: workflow not found: parent/none")

	mails := w.task(t, "mails", "x")
	w.eventually(t, "effect custom ok", "show", mails)
	w.mail <- protocol.NewError(protocol.CodeInvalidInput, "no such address")
	mails = w.task(t, "mails", "x")
	w.eventually(t, "effect custom failed, invalid_input: no such address", "show", mails)
	fails := w.task(t, "fails", "x")
	w.eventually(t, "tool_error: it broke", "show", fails)
	w.run(t, "result", w.task(t, "hands", "x", "--session", "s"), "--wait").want(t, exitDone, "over", "")
	w.run(t, "show", "hands/s").want(t, exitDone, "handed off to echo/hands/s/handoff/1/1\n", "")
}

func TestShowApproval(t *testing.T) {
	t.Parallel()
	w := newDurable(t)
	w.task(t, "agent", "delete it", "--session", "s")
	w.until(t, "agent/s", "suspended")
	w.run(t, "deny", "agent/s", "call-1", "--reason", "not this").want(t, exitDone, "", "")
	w.run(t, "result", "agent/s", "--wait").want(t, exitDone, "That is done", "")
	r := w.run(t, "show", "agent/s")
	for _, s := range []string{"1 model m, ", "waited for an approval", "call-1 delete: denied, not this", "call-2 delete: approved", " tool delete, ", "signal deny, ", "0.002 USD"} {
		if !strings.Contains(r.out, s) {
			t.Errorf("%q is missing in\n%s", s, r.out)
		}
	}
	if strings.Contains(r.out, "/etc") || strings.Contains(r.out, "Let me see") {
		t.Errorf("it says what was said:\n%s", r.out)
	}
	w.run(t, "show", "agent/s", "--full").want(t, exitDone, `call-1 delete {"path":"/etc"}: denied, not this`, "")
}

func TestForget(t *testing.T) {
	t.Parallel()
	w := newDurable(t)
	w.run(t, "dispatch", "echo", "x", "--session", "tea").want(t, exitDone, "x", "")
	w.node(t, "state", "put", "session/tea", "drink", "green").want(t, exitDone, "", "")
	w.run(t, "forget", "echo/tea").want(t, exitUsage, "", "without being asked, give --yes")
	w.run(t, "forget", "echo/tea", "--yes").want(t, exitFailed, "", "permission_denied: ")
	w.call(t, call{in: "n\n", inTTY: true, errTTY: true}, "--nkey", w.key, "forget", "echo/tea").want(t, exitFailed, "", "Remove echo/tea for good? [y/N] skelegent: nothing was done")
	w.run(t, "result", "echo/tea").want(t, exitDone, "x", "")
	w.call(t, call{in: "y\n", inTTY: true, errTTY: true}, "--nkey", w.key, "forget", "echo/tea").want(t, exitDone, "forgot echo/tea\n", "")
	w.run(t, "result", "echo/tea").want(t, exitFailed, "", "not_found: workflow not found: echo/tea")
	w.run(t, "state", "ls", "session/tea").want(t, exitDone, "", "")
	w.run(t, "dispatch", "session", "y", "--session", "tea").want(t, exitDone, "before: nothing", "")
	w.node(t, "forget", "echo/none", "--yes").want(t, exitFailed, "", "not_found")
	w.task(t, "waits", "x", "--run-id", "r1")
	w.until(t, "waits/r1", "suspended")
	w.node(t, "forget", "waits/r1", "--yes").want(t, exitFailed, "", "conflict: waits/r1 is at work: run r1 is suspended; cancel it first, or force")
	got := decode[inspect.Forgotten](t, w.node(t, "forget", "waits/r1", "--yes", "--force", "--json"))
	if !got.Log || got.Workflow != "waits/r1" {
		t.Errorf("got %+v", got)
	}
	if b, err := json.Marshal(got); err != nil || !strings.Contains(string(b), `"dead_letters":0`) {
		t.Errorf("got %s, %v", b, err)
	}
}
