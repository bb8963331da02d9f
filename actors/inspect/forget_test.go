package inspect_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/skelegent/skelegent-go/actors/inspect"
	"github.com/skelegent/skelegent-go/actors/run"
	"github.com/skelegent/skelegent-go/bus"
	"github.com/skelegent/skelegent-go/bus/task"
	"github.com/skelegent/skelegent-go/protocol"
)

// left counts the messages of a stream by subjects that contain a text.
func (w *world) left(t *testing.T, stream, text string) map[string]uint64 {
	t.Helper()
	ctx := testContext(t)
	s, err := w.conn.JetStream().Stream(ctx, stream)
	if err != nil {
		t.Fatal(err)
	}
	info, err := s.Info(ctx, jetstream.WithSubjectFilter(">"))
	if err != nil {
		t.Fatal(err)
	}
	found := map[string]uint64{}
	for subject, n := range info.State.Subjects {
		if strings.Contains(subject, text) {
			found[subject] = n
		}
	}
	return found
}

// settled waits until the effects of an instance are done.
func (w *world) settled(t *testing.T, workflow protocol.WorkflowID) {
	t.Helper()
	eventually(t, func() (*inspect.Tree, error) {
		return w.reader().Tree(testContext(t), workflow, "", inspect.TreeConfig{})
	}, func(tree *inspect.Tree) bool {
		for _, e := range tree.Effects {
			if e.Status == inspect.OutcomePending {
				return false
			}
		}
		return len(tree.Effects) > 0
	})
}

func TestForget(t *testing.T) {
	t.Parallel()
	w := newWorld(t).start(t)
	ctx := testContext(t)
	w.done(t, "mails", "tea")
	w.done(t, "large", "tea")
	w.settled(t, "mails/tea")
	w.signal(t, "mails/tea", "steer", `"into the void"`)
	if err := w.store.Link(ctx, protocol.InSession("tea"), protocol.MemoryLink{FromKey: "drink", ToKey: "food", Relation: "goes with"}); err != nil {
		t.Fatal(err)
	}
	if err := w.store.Write(ctx, protocol.InWorkflow("mails/tea"), "k", json.RawMessage(`1`), protocol.StoreOptions{}); err != nil {
		t.Fatal(err)
	}
	_, err := w.reader().Forget(ctx, "mails/tea", inspect.ForgetConfig{State: w.store})
	wantCode(t, err, protocol.CodePermissionDenied)
	node := inspect.New(w.conn)
	gone, err := node.Forget(ctx, "mails/tea", inspect.ForgetConfig{State: w.store})
	if err != nil || !gone.Log || gone.Signals != 1 || gone.Ledgers != 2 || gone.State != 1 || len(gone.SharedWith) != 1 || gone.SharedWith[0] != "large/tea" {
		t.Errorf("got %+v, %v", gone, err)
	}
	if blobs := w.left(t, "OBJ_SKG_BLOBS", "large.tea"); len(blobs) == 0 {
		t.Error("there is no blob to be forgotten")
	}
	if gone, err = node.Forget(ctx, "large/tea", inspect.ForgetConfig{State: w.store}); err != nil || gone.State != 1 || len(gone.SharedWith) != 0 {
		t.Errorf("got %+v, %v", gone, err)
	}
	for subject, n := range w.left(t, "SKG_LOG", ".tea") {
		if n != 1 || strings.Contains(subject, "signal") {
			t.Errorf("left: %d of %s", n, subject)
		}
	}
	for stream, text := range map[string]string{"KV_SKG_STATE": "tea", "OBJ_SKG_BLOBS": "large.tea"} {
		if got := w.left(t, stream, text); len(got) > 0 {
			t.Errorf("left in %s: %v", stream, got)
		}
	}
	for _, workflow := range []protocol.WorkflowID{"mails/tea", "mails/never"} {
		_, err = w.reader().Load(ctx, workflow)
		wantCode(t, err, protocol.CodeNotFound)
		_, err = node.Forget(ctx, workflow, inspect.ForgetConfig{State: w.store})
		if workflow == "mails/never" {
			wantCode(t, err, protocol.CodeNotFound)
		}
	}
	if list, _, err := w.reader().List(ctx, "", 10); err != nil || len(list) != 0 {
		t.Errorf("got %+v, %v", list, err)
	}
}

// The node still has the instance in memory, and the ids of effects go on where they were.
func TestAfterForgetting(t *testing.T) {
	t.Parallel()
	w := newWorld(t).start(t)
	ctx := testContext(t)
	w.done(t, "mails", "tea")
	w.settled(t, "mails/tea")
	if _, err := inspect.New(w.conn).Forget(ctx, "mails/tea", inspect.ForgetConfig{State: w.store}); err != nil {
		t.Fatal(err)
	}
	if got := w.done(t, "mails", "tea"); got.State != inspect.StateCompleted {
		t.Errorf("got %+v", got)
	}
	w.settled(t, "mails/tea")
	tree, err := w.reader().Tree(ctx, "mails/tea", "", inspect.TreeConfig{})
	if err != nil || len(tree.Effects) != 2 || tree.Effects[0].ID != "mails/tea/memory/2/1" || tree.Effects[1].Status != protocol.OutcomeOK {
		t.Errorf("got %+v, %v", tree, err)
	}
	if i, err := w.reader().Load(ctx, "mails/tea"); err != nil || i.Fold.Turns != 1 || len(i.Fold.History) != 1 {
		t.Errorf("got %+v, %v", i, err)
	}
}

func TestForgetWhatIsAtWork(t *testing.T) {
	t.Parallel()
	w := newWorld(t).start(t)
	ctx, node := testContext(t), inspect.New(w.conn)
	waits := w.submit(t, "waits", "s", task.Submission{})
	w.until(t, waits.Workflow, run.StateSuspended)
	_, err := node.Forget(ctx, waits.Workflow, inspect.ForgetConfig{})
	wantCode(t, err, protocol.CodeConflict)
	held := w.submit(t, "holds", "s", task.Submission{})
	w.until(t, held.Workflow, run.StateRunning)
	waiting := make(chan error, 1)
	go func() {
		_, err := w.reader().Wait(ctx, held.Workflow, held.Run, nil)
		waiting <- err
	}()
	for _, a := range []task.Accepted{waits, held} {
		if gone, err := node.Forget(ctx, a.Workflow, inspect.ForgetConfig{Force: true}); err != nil || !gone.Log {
			t.Errorf("got %+v, %v", gone, err)
		}
	}
	wantCode(t, <-waiting, protocol.CodeNotFound)
	// Nor does anybody wait who asks while the node still has the task.
	for _, a := range []task.Accepted{waits, held} {
		for _, id := range []protocol.RunID{a.Run, ""} {
			_, err := w.reader().Wait(ctx, a.Workflow, id, nil)
			wantCode(t, err, protocol.CodeNotFound)
		}
	}
	// What ran has stopped, and the place is free.
	close(w.hold)
	if got := w.done(t, "holds", "s"); got.State != inspect.StateCompleted {
		t.Errorf("got %+v", got)
	}
	second := w.submit(t, "waits", "s", task.Submission{})
	w.until(t, second.Workflow, run.StateSuspended)
	w.signal(t, second.Workflow, "word", `"again"`)
	if got, err := w.reader().Wait(ctx, second.Workflow, "", nil); err != nil || text(t, got.Output) != "again" {
		t.Errorf("got %+v, %v", got, err)
	}
}

func TestForgetPendingEffects(t *testing.T) {
	t.Parallel()
	w := newWorld(t).start(t)
	ctx, node := testContext(t), inspect.New(w.conn)
	w.mail <- protocol.NewError(protocol.CodeInvalidInput, "no such address")
	a := w.done(t, "mails", "")
	letters := eventually(t, func() ([]bus.DeadMessage, error) { return w.conn.DeadLetters(ctx, "", 10) }, func(l []bus.DeadMessage) bool { return len(l) == 1 })
	if letters[0].Letter.Instance != string(a.Run) {
		t.Fatalf("got %+v", letters[0])
	}
	gone, err := node.Forget(ctx, a.Workflow, inspect.ForgetConfig{})
	if protocol.CodeOf(err) == protocol.CodeConflict { // the letter comes before the ledger's record
		gone = eventually(t, func() (inspect.Forgotten, error) { return node.Forget(ctx, a.Workflow, inspect.ForgetConfig{}) }, func(inspect.Forgotten) bool { return true })
		err = nil
	}
	if err != nil || gone.Letters != 1 {
		t.Errorf("got %+v, %v", gone, err)
	}
	if letters, err := w.conn.DeadLetters(ctx, "", 10); err != nil || len(letters) != 0 {
		t.Errorf("got %+v, %v", letters, err)
	}
}
