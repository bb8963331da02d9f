package inspect_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/skelegent/skelegent-go/actors/inspect"
	"github.com/skelegent/skelegent-go/actors/run"
	"github.com/skelegent/skelegent-go/bus"
	"github.com/skelegent/skelegent-go/bus/task"
	"github.com/skelegent/skelegent-go/protocol"
)

func TestTree(t *testing.T) {
	t.Parallel()
	w := newWorld(t).start(t)
	ctx, r := testContext(t), w.reader()
	parent := w.submit(t, "parent", "tea", task.Submission{})
	w.until(t, parent.Workflow, run.StateSuspended)
	child := protocol.WorkflowID("waits/" + string(parent.Run) + ".2")
	w.until(t, child, run.StateSuspended)
	tree, err := r.Tree(ctx, parent.Workflow, "", inspect.TreeConfig{Depth: 4})
	if err != nil {
		t.Fatal(err)
	}
	if tree.State != inspect.StateSuspended || len(tree.Steps) != 2 || tree.Cost.Text() != "0.25" || tree.Steps[1].Ended != nil {
		t.Errorf("got %+v", tree)
	}
	w.signal(t, child, "word", `"go"`)
	if _, err := r.Wait(ctx, parent.Workflow, parent.Run, nil); err != nil {
		t.Fatal(err)
	}
	tree, err = r.Tree(ctx, parent.Workflow, "", inspect.TreeConfig{Depth: 4})
	if err != nil {
		t.Fatal(err)
	}
	if tree.State != inspect.StateCompleted || tree.Run != parent.Run || tree.Begun == nil || tree.Ended == nil || tree.Records < 5 || tree.Bytes == 0 {
		t.Errorf("got %+v", tree)
	}
	if len(tree.Claims) != 2 || tree.Claims[0].Node != "node-one" || !tree.Claims[1].Resumed || tree.Claims[1].Attempt != 2 {
		t.Errorf("claims %+v", tree.Claims)
	}
	if len(tree.Waits) != 1 || tree.Waits[0].Reason != run.WaitChild || tree.Waits[0].Path != "2" || tree.Waits[0].Until == nil {
		t.Errorf("waits %+v", tree.Waits)
	}
	first, second := tree.Steps[0], tree.Steps[1]
	if first.Name != "first" || first.Kind != run.StepCall || first.Ended == nil || first.Cost.Text() != "0.25" || first.Child == nil || len(first.Child.Steps) != 1 || first.Child.Steps[0].Name != "say" {
		t.Errorf("first %+v", first)
	}
	if second.Child == nil || second.Child.Workflow != child || second.Child.State != inspect.StateCompleted || len(second.Child.Signals) != 1 || second.Child.Parent != parent.Run {
		t.Errorf("second %+v", second.Child)
	}
	body, err := json.Marshal(tree)
	if err != nil || strings.Contains(string(body), "hello") || strings.Contains(string(body), "said a") || strings.Contains(string(body), `"go"`) {
		t.Errorf("it says what was said: %s, %v", body, err)
	}
	full, err := r.Tree(ctx, parent.Workflow, "", inspect.TreeConfig{Depth: 4, Full: true})
	if err != nil || full.Output == nil || !strings.Contains(string(full.Input), "hello") || !strings.Contains(string(full.Steps[0].Child.Steps[0].Result), "said a") ||
		string(full.Steps[1].Child.Signals[0].Data) != `"go"` {
		t.Errorf("got %+v, %v", full, err)
	}
	if flat, err := r.Tree(ctx, parent.Workflow, "", inspect.TreeConfig{}); err != nil || flat.Steps[0].Child.Problem == "" {
		t.Errorf("got %+v, %v", flat, err)
	}
	if _, err := inspect.New(w.conn).Forget(ctx, child, inspect.ForgetConfig{}); err != nil {
		t.Fatal(err)
	}
	if tree, err = r.Tree(ctx, parent.Workflow, "", inspect.TreeConfig{Depth: 4}); err != nil || !strings.Contains(tree.Steps[1].Child.Problem, "not found") {
		t.Errorf("got %+v, %v", tree, err)
	}
}

func TestTreeOfApproval(t *testing.T) {
	t.Parallel()
	w := newWorld(t).start(t)
	ctx, r := testContext(t), w.reader()
	asks := w.submit(t, "asks", "", task.Submission{})
	w.until(t, asks.Workflow, run.StateSuspended)
	w.signal(t, asks.Workflow, "approve", `{"Approve":{"call_ids":["nonsense"]}}`) // refused, recorded
	w.signal(t, asks.Workflow, "approve", `{"Modify":{"call_id":"c1","new_input":{"path":"/tmp"}}}`)
	if _, err := r.Wait(ctx, asks.Workflow, "", nil); err != nil {
		t.Fatal(err)
	}
	tree, err := r.Tree(ctx, asks.Workflow, "", inspect.TreeConfig{})
	if err != nil {
		t.Fatal(err)
	}
	decided := tree.Waits[len(tree.Waits)-1]
	if len(decided.Approval) != 2 || decided.Approval[0].Tool != "delete" || decided.Approval[0].Input != nil || !decided.Decided["c1"].Approved || decided.Decided["c1"].Input != nil {
		t.Errorf("got %+v", decided)
	}
	if s := tree.Signals[0]; s.Type != "approve" || s.Fate != inspect.FateTaken {
		t.Errorf("got %+v", s)
	}
	full, err := r.Tree(ctx, asks.Workflow, "", inspect.TreeConfig{Full: true})
	if err != nil || string(full.Waits[0].Approval[0].Input) != `{"path":"/secret"}` {
		t.Errorf("got %+v, %v", full, err)
	}
	w.settled(t, asks.Workflow)
	if tree, err = r.Tree(ctx, asks.Workflow, "", inspect.TreeConfig{}); err != nil || len(tree.Effects) != 2 || tree.Effects[0].Kind != protocol.KindToolApprovalRequired {
		t.Errorf("got %+v, %v", tree.Effects, err)
	}
}

func TestTreeOfFailure(t *testing.T) {
	t.Parallel()
	w := newWorld(t).start(t)
	ctx, r := testContext(t), w.reader()
	fails := w.done(t, "fails", "")
	if tree, err := r.Tree(ctx, fails.Workflow, "", inspect.TreeConfig{}); err != nil || tree.State != inspect.StateFailed || tree.Error.Code != protocol.CodeToolError || tree.Ended == nil {
		t.Errorf("got %+v, %v", tree, err)
	}
	waits := w.submit(t, "waits", "", task.Submission{})
	w.until(t, waits.Workflow, run.StateSuspended)
	w.signal(t, waits.Workflow, "cancel", `"no more"`)
	if _, err := r.Wait(ctx, waits.Workflow, "", nil); err != nil {
		t.Fatal(err)
	}
	tree, err := r.Tree(ctx, waits.Workflow, "", inspect.TreeConfig{})
	if err != nil || tree.State != inspect.StateCancelled || len(tree.Signals) != 1 || tree.Signals[0].Fate != inspect.FateTaken || tree.Waits[0].Until == nil {
		t.Errorf("got %+v, %v", tree, err)
	}
	w.mail <- protocol.NewError(protocol.CodeInvalidInput, "no such address")
	mails := w.done(t, "mails", "")
	w.settled(t, mails.Workflow)
	if tree, err = r.Tree(ctx, mails.Workflow, "", inspect.TreeConfig{}); err != nil || len(tree.Effects) != 1 || tree.Effects[0].Status != protocol.OutcomeFailed || tree.Effects[0].Error == nil {
		t.Errorf("got %+v, %v", tree, err)
	}
}

// Runs of before a snapshot are found as long as their records are kept.
func TestTreeBehindASnapshot(t *testing.T) {
	t.Parallel()
	w := newWorld(t).start(t)
	ctx, r := testContext(t), w.reader()
	var runs []protocol.RunID
	snapshots := 0
	for n := 0; snapshots < 2; n++ {
		runs = append(runs, w.done(t, "long", "tea").Run)
		i := eventually(t, func() (*inspect.Instance, error) { return r.Load(ctx, "long/tea") }, func(i *inspect.Instance) bool { return i.Fold.Open == nil })
		if i.Records[0].Event.Kind == protocol.EventSnapshot && snapshots == 0 || len(i.Records) == 1 {
			snapshots++
		}
		if n > 50 {
			t.Fatal("there are no snapshots")
		}
	}
	for _, n := range []int{0, 1, len(runs) / 2, len(runs) - 1} {
		tree, err := r.Tree(ctx, "long/tea", runs[n], inspect.TreeConfig{})
		if err != nil {
			t.Fatal(err)
		}
		var ids []string
		for _, e := range tree.Effects {
			ids = append(ids, e.ID)
		}
		want := []string{fmt.Sprintf("long/tea/mail/%d/1", n+1)}
		if len(tree.Claims) != 1 || len(tree.Steps) != 30 || tree.State != inspect.StateCompleted || tree.Problem != "" || !slices.Equal(ids, want) {
			t.Errorf("run %d: got %+v", n, tree)
		}
	}
	if got, err := r.Result(ctx, "long/tea", runs[0]); err != nil || text(t, got.Output) != "declared" {
		t.Errorf("got %+v, %v", got, err)
	}
	// The janitor purges what is old.
	first, err := r.Load(ctx, "long/tea")
	if err != nil {
		t.Fatal(err)
	}
	s, err := w.conn.JetStream().Stream(ctx, "SKG_LOG")
	if err != nil {
		t.Fatal(err)
	}
	k, _ := first.Fold.Ended(runs[3])
	for seq := uint64(1); seq < k.Seq; seq++ {
		_ = s.DeleteMsg(ctx, seq)
	}
	_, err = r.Result(ctx, "long/tea", runs[0])
	wantCode(t, err, protocol.CodeNotFound)
	if tree, err := r.Tree(ctx, "long/tea", runs[4], inspect.TreeConfig{}); err != nil || tree.State != inspect.StateCompleted || len(tree.Claims) != 1 {
		t.Errorf("got %+v, %v", tree, err)
	}
	if tree, err := r.Tree(ctx, "long/tea", runs[0], inspect.TreeConfig{}); err != nil || tree.State != inspect.StateCompleted || !strings.Contains(tree.Problem, "no longer kept") {
		t.Errorf("got %+v, %v", tree, err)
	}
}

func TestTreeOfQueue(t *testing.T) {
	t.Parallel()
	w := newWorld(t).start(t)
	ctx, r := testContext(t), w.reader()
	first := w.submit(t, "waits", "s", task.Submission{})
	w.until(t, first.Workflow, run.StateSuspended)
	second := w.submit(t, "waits", "s", task.Submission{})
	tree := eventually(t, func() (*inspect.Tree, error) { return r.Tree(ctx, first.Workflow, "", inspect.TreeConfig{}) }, func(x *inspect.Tree) bool { return len(x.Queue) == 1 })
	if tree.Queue[0] != second.Run || tree.Run != first.Run {
		t.Errorf("got %+v", tree)
	}
	if tree, err := r.Tree(ctx, first.Workflow, second.Run, inspect.TreeConfig{}); err != nil || tree.State != inspect.StateQueued {
		t.Errorf("got %+v, %v", tree, err)
	}
	for _, id := range []protocol.RunID{first.Run, second.Run} {
		err := bus.NewDispatcher(w.guest).Signal(bus.ToRun(ctx, id), first.Workflow, protocol.SignalPayload{SignalType: "cancel"})
		if err != nil {
			t.Fatal(err)
		}
		if got, err := r.Wait(ctx, first.Workflow, id, nil); err != nil || got.State != inspect.StateCancelled {
			t.Errorf("got %+v, %v", got, err)
		}
	}
}
