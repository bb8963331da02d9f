package inspect_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/nats-io/nats.go"

	"github.com/skelegent/skelegent-go/actors/inspect"
	"github.com/skelegent/skelegent-go/actors/run"
	"github.com/skelegent/skelegent-go/bus"
	"github.com/skelegent/skelegent-go/bus/task"
	"github.com/skelegent/skelegent-go/protocol"
	"github.com/skelegent/skelegent-go/protocol/wire"
)

func TestList(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	ctx, r := testContext(t), w.reader()
	_, _, err := r.List(ctx, "", 10)
	wantCode(t, err, protocol.CodeUnavailable)
	w.start(t)
	if list, cut, err := r.List(ctx, "", 10); err != nil || cut || list == nil || len(list) != 0 {
		t.Errorf("got %v, %v, %v", list, cut, err)
	}
	long := strings.Repeat("long session ", 30)
	for _, session := range []string{"a", "b/c d", long} {
		w.done(t, "echo", session)
	}
	w.done(t, "fails", "a")
	w.done(t, "echo", "a") // it comes first again
	w.signal(t, "echo/never", "steer", `"nobody"`)
	list, cut, err := r.List(ctx, "", 10)
	if err != nil || cut {
		t.Fatal(err, cut)
	}
	var names []string
	for _, s := range list {
		names = append(names, string(s.Workflow))
	}
	if want := []string{"echo/a", "fails/a", "echo/" + long, "echo/b/c d"}; !slices.Equal(names, want) {
		t.Errorf("got %q", names)
	}
	if s := list[0]; s.State != run.StateIdle || s.Turns != 2 || s.Kind != protocol.EventCompleted || s.Updated.IsZero() {
		t.Errorf("got %+v", s)
	}
	if list, cut, err := r.List(ctx, "echo", 2); err != nil || !cut || len(list) != 2 || list[1].Workflow != protocol.WorkflowID("echo/"+long) {
		t.Errorf("got %+v, %v, %v", list, cut, err)
	}
	if _, _, err := r.List(ctx, "No Operator", 2); protocol.CodeOf(err) != protocol.CodeInvalidInput {
		t.Errorf("got %v", err)
	}
	// An instance whose name is known by its token only.
	if i, err := r.Load(ctx, protocol.WorkflowID("echo/"+wire.Escape(long))); err != nil || i.Fold.Turns != 1 {
		t.Errorf("got %+v, %v", i, err)
	}
}

// A log that no program wrote must not hide the others.
func TestListWithRubbish(t *testing.T) {
	t.Parallel()
	w := newWorld(t).start(t)
	ctx, r := testContext(t), w.reader()
	w.done(t, "echo", "good")
	for subject, body := range map[string]string{
		"skg.log.echo.rubbish.run": "rubbish", "skg.log.echo.half.run": `{"id":"x","kind":"completed","operator":"echo","instance":"half","run":"r","time":"2026-01-01T00:00:00Z","data":{}}`,
	} {
		if _, err := w.conn.JetStream().PublishMsg(ctx, &nats.Msg{Subject: subject, Data: []byte(body)}); err != nil {
			t.Fatal(err)
		}
	}
	list, _, err := r.List(ctx, "", 10)
	if err != nil || len(list) != 3 || list[2].Workflow != "echo/good" || list[0].Problem == "" || list[1].Problem == "" {
		t.Errorf("got %+v, %v", list, err)
	}
	for _, workflow := range []protocol.WorkflowID{"echo/rubbish", "echo/half"} {
		_, err := r.Load(ctx, workflow)
		wantCode(t, err, protocol.CodeInternal)
		_, err = r.Tree(ctx, workflow, "", inspect.TreeConfig{})
		wantCode(t, err, protocol.CodeInternal)
	}
	if inbox, err := r.Inbox(ctx, ""); err != nil || len(inbox) != 0 {
		t.Errorf("got %+v, %v", inbox, err)
	}
}

func TestInbox(t *testing.T) {
	t.Parallel()
	w := newWorld(t).start(t)
	ctx, r := testContext(t), w.reader()
	asks := w.submit(t, "asks", "", task.Submission{})
	w.until(t, asks.Workflow, run.StateSuspended)
	waits := w.submit(t, "waits", "tea", task.Submission{})
	w.until(t, waits.Workflow, run.StateSuspended)
	w.submit(t, "waits", "tea", task.Submission{}) // queued behind: the suspension is not the last record
	eventually(t, func() (*inspect.Instance, error) { return r.Load(ctx, waits.Workflow) }, func(i *inspect.Instance) bool { return len(i.Fold.Queue) == 1 })
	parent := w.submit(t, "parent", "", task.Submission{})
	w.until(t, parent.Workflow, run.StateSuspended) // it waits for a child, nobody has to say anything
	w.done(t, "echo", "")
	inbox, err := r.Inbox(ctx, "")
	if err != nil || len(inbox) != 3 {
		t.Fatalf("got %+v, %v", inbox, err)
	}
	if i := inbox[0]; i.Workflow != asks.Workflow || i.Run != asks.Run || i.Wait.Approval == nil || i.Wait.Approval.Pending[0].ToolName != "delete" || i.Since.IsZero() {
		t.Errorf("got %+v", i)
	}
	if i := inbox[1]; i.Workflow != "waits/tea" || i.Wait.Signals[0] != "word" {
		t.Errorf("got %+v", i)
	}
	if inbox, err := r.Inbox(ctx, "waits"); err != nil || len(inbox) != 2 {
		t.Errorf("got %+v, %v", inbox, err)
	}
	w.signal(t, asks.Workflow, "approve", "")
	if got, err := r.Wait(ctx, asks.Workflow, "", nil); err != nil || text(t, got.Output) != "true true" {
		t.Errorf("got %+v, %v", got, err)
	}
	if inbox, err := r.Inbox(ctx, "asks"); err != nil || len(inbox) != 0 {
		t.Errorf("got %+v, %v", inbox, err)
	}
}

func TestSignals(t *testing.T) {
	t.Parallel()
	w := newWorld(t).start(t)
	ctx, r := testContext(t), w.reader()
	w.signal(t, "waits/tea", "word", `"too early"`)
	waits := w.submit(t, "waits", "tea", task.Submission{})
	w.until(t, waits.Workflow, run.StateSuspended)
	w.signal(t, waits.Workflow, "other", `not JSON`)
	w.signal(t, waits.Workflow, "approve", ``)
	w.signal(t, waits.Workflow, "word", `"now"`)
	if _, err := r.Wait(ctx, waits.Workflow, waits.Run, nil); err != nil {
		t.Fatal(err)
	}
	err := bus.NewDispatcher(w.guest).Signal(bus.WithSignalID(bus.ToRun(ctx, "next"), "effect/1"), waits.Workflow, protocol.SignalPayload{SignalType: "cancel"})
	if err != nil {
		t.Fatal(err)
	}
	found := eventually(t, func() ([]inspect.Signal, error) { return r.Signals(ctx, waits.Workflow) }, func(s []inspect.Signal) bool {
		return len(s) == 5 && s[4].Fate != inspect.FateStored && s[0].Fate != inspect.FateStored
	})
	var got []string
	for _, s := range found {
		got = append(got, fmt.Sprintf("%s %s %s %s %s", s.Type, s.Data, s.Fate, s.Step, s.From))
	}
	want := []string{`word "too early" ignored  `, `other "not JSON" noted  `, `approve  ignored  `, `word "now" taken 1 `, `cancel  taken  effect/1`}
	if !slices.Equal(got, want) {
		t.Errorf("got %q", got)
	}
	if found[3].Run != waits.Run || found[4].Run != "next" {
		t.Errorf("got %+v", found)
	}
	_, err = r.Signals(ctx, "waits/none")
	wantCode(t, err, protocol.CodeNotFound)
}
