package inspect_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/skelegent/skelegent-go/actors/inspect"
	"github.com/skelegent/skelegent-go/actors/run"
	"github.com/skelegent/skelegent-go/bus"
	"github.com/skelegent/skelegent-go/bus/runlog"
	"github.com/skelegent/skelegent-go/bus/task"
	"github.com/skelegent/skelegent-go/protocol"
)

func TestResult(t *testing.T) {
	t.Parallel()
	w := newWorld(t).start(t)
	ctx, r := testContext(t), w.reader()
	if got := w.done(t, "echo", ""); got.State != inspect.StateCompleted || text(t, got.Output) != "said hello" {
		t.Errorf("got %+v", got)
	}
	large := w.done(t, "large", "")
	if len(text(t, large.Output)) != 100_000 {
		t.Errorf("a large output: got %d bytes", len(text(t, large.Output)))
	}
	if i, err := r.Load(ctx, large.Workflow); err != nil || len(i.Fold.Last.Output) < 100_000 {
		t.Errorf("a large output is not in the fold: %v", err)
	}
	if err := runlog.NewBlobs(w.conn.JetStream(), w.conn.Names()).Purge(ctx, "large", string(large.Run)); err != nil {
		t.Fatal(err)
	}
	_, err := r.Result(ctx, large.Workflow, "")
	wantCode(t, err, protocol.CodeNotFound)
	if i, err := r.Load(ctx, large.Workflow); err != nil || i.Fold.Turns != 1 {
		t.Errorf("without its output: %+v, %v", i, err)
	}
	if got := w.done(t, "fails", ""); got.State != inspect.StateFailed || got.Error.Code != protocol.CodeToolError || got.Output != nil {
		t.Errorf("got %+v", got)
	}
	hands := w.done(t, "hands", "tea")
	if len(hands.HandedTo) != 1 || !strings.HasPrefix(string(hands.HandedTo[0]), "echo/hands/tea/handoff/") {
		t.Fatalf("handed to %v", hands.HandedTo)
	}
	// It begins when the effect is performed.
	eventually(t, func() (inspect.Result, error) { return r.Result(ctx, hands.HandedTo[0], "") }, func(inspect.Result) bool { return true })
	if got, err := r.Wait(ctx, hands.HandedTo[0], "", nil); err != nil || text(t, got.Output) != `said "state"` {
		t.Errorf("who it was handed to: %+v, %v", got, err)
	}
	w.done(t, "hands", "tea")
	if got, err := r.Result(ctx, "hands/tea", hands.Run); err != nil || len(got.HandedTo) != 1 || got.HandedTo[0] != hands.HandedTo[0] {
		t.Errorf("an earlier run: %+v, %v", got, err)
	}
	for _, bad := range []protocol.WorkflowID{"echo/none", "nobody/x"} {
		_, err := r.Result(ctx, bad, "")
		wantCode(t, err, protocol.CodeNotFound)
		_, err = r.Wait(ctx, bad, "", nil)
		wantCode(t, err, protocol.CodeNotFound)
		_, err = r.Load(ctx, bad)
		wantCode(t, err, protocol.CodeNotFound)
	}
	_, err = r.Result(ctx, "hands/tea", "other")
	wantCode(t, err, protocol.CodeNotFound)
	for _, bad := range []protocol.WorkflowID{"echo", "", "Echo/x", "/x", "echo/"} {
		_, err := r.Result(ctx, bad, "")
		wantCode(t, err, protocol.CodeInvalidInput)
	}
}

func TestResultOfWhatGoesOn(t *testing.T) {
	t.Parallel()
	w := newWorld(t).start(t)
	ctx, r := testContext(t), w.reader()
	held := w.submit(t, "holds", "s", task.Submission{})
	w.until(t, held.Workflow, run.StateRunning)
	if got, err := r.Result(ctx, held.Workflow, ""); err != nil || got.State != inspect.StateRunning || got.Run != held.Run || got.Node != "node-one" {
		t.Errorf("got %+v, %v", got, err)
	}
	next := w.submit(t, "holds", "s", task.Submission{})
	if got := eventually(t, func() (inspect.Result, error) { return r.Result(ctx, next.Workflow, next.Run) }, func(inspect.Result) bool { return true }); got.State != inspect.StateQueued {
		t.Errorf("got %+v", got)
	}
	rejected := w.submit(t, "holds", "s", task.Submission{WhenBusy: "reject"})
	if got, err := r.Wait(ctx, rejected.Workflow, rejected.Run, nil); err != nil || got.State != inspect.StateRefused || got.Error.Code != protocol.CodeUnavailable {
		t.Errorf("got %+v, %v", got, err)
	}
	waits := w.submit(t, "waits", "", task.Submission{})
	w.until(t, waits.Workflow, run.StateSuspended)
	if got, err := r.Result(ctx, waits.Workflow, ""); err != nil || got.State != inspect.StateSuspended || got.Wait.Signals[0] != "word" {
		t.Errorf("got %+v, %v", got, err)
	}
	w.signal(t, waits.Workflow, "cancel", `"enough"`)
	if got, err := r.Wait(ctx, waits.Workflow, "", nil); err != nil || got.State != inspect.StateCancelled || got.Error.Message != "the run was cancelled: enough" {
		t.Errorf("got %+v, %v", got, err)
	}
	close(w.hold)
	if got, err := r.Wait(ctx, next.Workflow, next.Run, nil); err != nil || got.State != inspect.StateCompleted {
		t.Errorf("got %+v, %v", got, err)
	}
	short, cancel := context.WithTimeout(ctx, 100*time.Millisecond)
	defer cancel()
	waits = w.submit(t, "waits", "", task.Submission{})
	if _, err := r.Wait(short, waits.Workflow, "", nil); !errors.Is(err, context.DeadlineExceeded) && protocol.CodeOf(err) != protocol.CodeTimeout {
		t.Errorf("got %v", err)
	}
}

// eventually repeats a question until it is answered as it should be.
func eventually[T any](t testing.TB, ask func() (T, error), good func(T) bool) T {
	t.Helper()
	ctx := testContext(t)
	for {
		v, err := ask()
		if err == nil && good(v) {
			return v
		}
		select {
		case <-time.After(5 * time.Millisecond):
		case <-ctx.Done():
			t.Fatalf("got %+v, %v", v, err)
		}
	}
}

// A run that nobody has begun: no node is there yet.
func TestResultBeforeTheBeginning(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	ctx, r := testContext(t), w.reader()
	if err := w.conn.Ensure(ctx, bus.Topology{}); err != nil {
		t.Fatal(err)
	}
	plain := w.submit(t, "echo", "", task.Submission{})
	inSession := w.submit(t, "echo", "tea", task.Submission{})
	due := time.Now().Add(time.Hour)
	later := w.submit(t, "echo", "", task.Submission{At: due})
	for name, a := range map[string]task.Accepted{"plain": plain, "in a session": inSession} {
		for _, id := range []protocol.RunID{"", a.Run} {
			if got, err := r.Result(ctx, a.Workflow, id); err != nil || got.State != inspect.StateQueued || got.Run != a.Run {
				t.Errorf("%s: got %+v, %v", name, got, err)
			}
		}
		_, err := r.Result(ctx, a.Workflow, "another")
		wantCode(t, err, protocol.CodeNotFound)
	}
	for _, id := range []protocol.RunID{"", later.Run} {
		if got, err := r.Result(ctx, later.Workflow, id); err != nil || got.State != inspect.StateScheduled || got.Due == nil || !got.Due.Equal(due) {
			t.Errorf("got %+v, %v", got, err)
		}
	}
	if timers, err := r.Timers(ctx); err != nil || timers["echo"] != 1 {
		t.Errorf("got %v, %v", timers, err)
	}
	done := make(chan error, 2)
	for _, a := range []task.Accepted{plain, inSession} {
		go func() {
			got, err := r.Wait(ctx, a.Workflow, "", nil)
			if err == nil && got.State != inspect.StateCompleted {
				err = errors.New(string(got.State))
			}
			done <- err
		}()
	}
	w.start(t)
	for range 2 {
		if err := <-done; err != nil {
			t.Error(err)
		}
	}
}

// An input that the open run took up has that one's answer.
func TestInputTakenUp(t *testing.T) {
	t.Parallel()
	w := newWorld(t).start(t)
	ctx, r := testContext(t), w.reader()
	first := w.submit(t, "hears", "s", task.Submission{})
	w.until(t, first.Workflow, run.StateSuspended)
	second := w.submit(t, "hears", "s", task.Submission{WhenBusy: "steer"})
	done := make(chan inspect.Result, 1)
	go func() {
		got, err := r.Wait(ctx, second.Workflow, second.Run, nil)
		if err != nil {
			t.Error(err)
		}
		done <- got
	}()
	eventually(t, func() (inspect.Result, error) { return r.Result(ctx, second.Workflow, second.Run) }, func(got inspect.Result) bool { return got.State == inspect.StateQueued })
	eventually(t, func() (*inspect.Instance, error) { return r.Load(ctx, first.Workflow) }, func(i *inspect.Instance) bool { return len(i.Fold.Queue) == 1 })
	w.signal(t, first.Workflow, "word", `"go"`)
	got := <-done
	if got.Run != second.Run || got.TakenBy != first.Run || text(t, got.Output) != "heard 1" {
		t.Errorf("got %+v", got)
	}
	if again, err := r.Result(ctx, second.Workflow, second.Run); err != nil || again.TakenBy != first.Run || again.State != inspect.StateCompleted {
		t.Errorf("got %+v, %v", again, err)
	}
	tree, err := r.Tree(ctx, second.Workflow, second.Run, inspect.TreeConfig{})
	if err != nil || !strings.Contains(tree.Problem, "taken up by run "+string(first.Run)) {
		t.Errorf("got %+v, %v", tree, err)
	}
	if tree, err = r.Tree(ctx, first.Workflow, first.Run, inspect.TreeConfig{}); err != nil || !slices.ContainsFunc(tree.Steps, func(s inspect.Step) bool { return slices.Contains(s.Inputs, second.Run) }) {
		t.Errorf("got %+v, %v", tree, err)
	}
}

func TestSteeredInput(t *testing.T) {
	t.Parallel()
	w := newWorld(t).start(t)
	ctx, r := testContext(t), w.reader()
	first := w.submit(t, "waits", "s", task.Submission{})
	w.until(t, first.Workflow, run.StateSuspended)
	// The operator hears nothing: the input has a turn of its own.
	second := w.submit(t, "waits", "s", task.Submission{WhenBusy: "steer"})
	w.signal(t, first.Workflow, "word", `"one"`)
	if got, err := r.Wait(ctx, first.Workflow, first.Run, nil); err != nil || text(t, got.Output) != "one" {
		t.Errorf("got %+v, %v", got, err)
	}
	err := bus.NewDispatcher(w.guest).Signal(bus.ToRun(ctx, second.Run), second.Workflow, protocol.SignalPayload{SignalType: "word", Data: []byte(`"two"`)})
	if err != nil {
		t.Fatal(err)
	}
	if got, err := r.Wait(ctx, second.Workflow, second.Run, nil); err != nil || text(t, got.Output) != "two" || got.TakenBy != "" {
		t.Errorf("got %+v, %v", got, err)
	}
}
