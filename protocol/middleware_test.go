package protocol_test

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"sync/atomic"
	"testing"

	"github.com/skelegent/skelegent-go/protocol"
)

var echo = protocol.DispatcherFunc(func(_ context.Context, _ protocol.OperatorID, in protocol.OperatorInput) (protocol.OperatorOutput, error) {
	return protocol.OperatorOutput{Message: in.Message, Effects: protocol.Effects{protocol.CustomEffect{EffectType: "metadata", Data: in.Metadata}}}, nil
})

func noting(log *[]string, name string) protocol.DispatchMiddleware {
	return protocol.DispatchMiddlewareFunc(func(ctx context.Context, op protocol.OperatorID, in protocol.OperatorInput, next protocol.DispatchNext) (protocol.OperatorOutput, error) {
		*log = append(*log, name+" in")
		out, err := next(ctx, op, in)
		*log = append(*log, name+" out")
		return out, err
	})
}

func counting(n *atomic.Int64) protocol.DispatchMiddleware {
	return protocol.DispatchMiddlewareFunc(func(ctx context.Context, op protocol.OperatorID, in protocol.OperatorInput, next protocol.DispatchNext) (protocol.OperatorOutput, error) {
		n.Add(1)
		return next(ctx, op, in)
	})
}

func denying() protocol.DispatchMiddleware {
	return protocol.DispatchMiddlewareFunc(func(context.Context, protocol.OperatorID, protocol.OperatorInput, protocol.DispatchNext) (protocol.OperatorOutput, error) {
		return protocol.OperatorOutput{}, protocol.ErrPolicyDenied("no")
	})
}

// The tests named D2 are the acceptance facts of the specification about middleware.

func TestD2ObserverSeesWhatAGuardRefuses(t *testing.T) {
	t.Parallel()
	var n atomic.Int64
	d := protocol.NewDispatchStack().Guard(denying()).Observe(counting(&n)).Build().Wrap(echo)
	_, err := d.Dispatch(t.Context(), "x", protocol.Text("hi"))
	if !errors.Is(err, &protocol.Error{Kind: protocol.KindOrchPolicyDenied}) || n.Load() != 1 {
		t.Errorf("error %v, counter %d", err, n.Load())
	}
}

func TestD2TransformerChangesTheInput(t *testing.T) {
	t.Parallel()
	set := protocol.DispatchMiddlewareFunc(func(ctx context.Context, op protocol.OperatorID, in protocol.OperatorInput, next protocol.DispatchNext) (protocol.OperatorOutput, error) {
		in.Metadata = json.RawMessage(`{"seen":true}`)
		return next(ctx, op, in)
	})
	out, err := protocol.NewDispatchStack().Transform(set).Build().Wrap(echo).Dispatch(t.Context(), "x", protocol.Text("hi"))
	if err != nil || string(out.Effects[0].(protocol.CustomEffect).Data) != `{"seen":true}` {
		t.Errorf("got %+v, error %v", out, err)
	}
}

func TestStackOrder(t *testing.T) {
	t.Parallel()
	var log []string
	b := protocol.NewDispatchStack().Guard(noting(&log, "g1")).Transform(noting(&log, "t1")).Observe(noting(&log, "o1"), noting(&log, "o2")).Guard(noting(&log, "g2"))
	stack := b.Build()
	b.Observe(noting(&log, "late"))
	if _, err := stack.Wrap(echo).Dispatch(t.Context(), "x", protocol.Text("hi")); err != nil {
		t.Fatal(err)
	}
	want := []string{"o1 in", "o2 in", "t1 in", "g1 in", "g2 in", "g2 out", "g1 out", "t1 out", "o2 out", "o1 out"}
	if !slices.Equal(log, want) {
		t.Errorf("got %q, want %q", log, want)
	}
}

func TestShortCircuitIsSeenOutside(t *testing.T) {
	t.Parallel()
	cached := protocol.DispatchMiddlewareFunc(func(context.Context, protocol.OperatorID, protocol.OperatorInput, protocol.DispatchNext) (protocol.OperatorOutput, error) {
		return protocol.Reply("cached"), nil
	})
	var seen string
	look := protocol.DispatchMiddlewareFunc(func(ctx context.Context, op protocol.OperatorID, in protocol.OperatorInput, next protocol.DispatchNext) (protocol.OperatorOutput, error) {
		out, err := next(ctx, op, in)
		seen, _ = out.Message.AsText()
		return out, err
	})
	never := protocol.DispatcherFunc(func(context.Context, protocol.OperatorID, protocol.OperatorInput) (protocol.OperatorOutput, error) {
		t.Error("the terminal was called")
		return protocol.OperatorOutput{}, nil
	})
	_, err := protocol.NewDispatchStack().Observe(look).Guard(cached).Build().Wrap(never).Dispatch(t.Context(), "x", protocol.Text("hi"))
	if err != nil || seen != "cached" {
		t.Errorf("seen %q, error %v", seen, err)
	}
}

func TestEmptyStacksAreTheThingItself(t *testing.T) {
	t.Parallel()
	o, st, env := &orchestrator{}, &store{}, &environment{}
	if (protocol.DispatchStack{}).Wrap(o) != protocol.Dispatcher(o) || (protocol.DispatchStack{}).WrapOrchestrator(o) != protocol.Orchestrator(o) {
		t.Error("dispatch")
	}
	if (protocol.StoreStack{}).Wrap(st) != protocol.StateStore(st) || (protocol.ExecStack{}).Wrap(env) != protocol.Environment(env) {
		t.Error("store or environment")
	}
}

// orchestrator is a local one: it serves "echo" and knows nothing else.
type orchestrator struct{ signals int }

func (o *orchestrator) Dispatch(ctx context.Context, op protocol.OperatorID, in protocol.OperatorInput) (protocol.OperatorOutput, error) {
	if op != "echo" {
		return protocol.OperatorOutput{}, protocol.ErrOperatorNotFound(op)
	}
	return echo(ctx, op, in)
}

func (o *orchestrator) DispatchMany(context.Context, []protocol.DispatchRequest) []protocol.DispatchResult {
	panic("the stack goes through Dispatch")
}

func (o *orchestrator) Signal(context.Context, protocol.WorkflowID, protocol.SignalPayload) error {
	o.signals++
	return nil
}

func (o *orchestrator) Query(context.Context, protocol.WorkflowID, protocol.QueryPayload) (json.RawMessage, error) {
	return json.RawMessage(`{}`), nil
}

func TestD2OrchestratorBehindAStack(t *testing.T) {
	t.Parallel()
	var n atomic.Int64
	local := &orchestrator{}
	o := protocol.NewDispatchStack().Observe(counting(&n)).Build().WrapOrchestrator(local)
	if _, err := o.Dispatch(t.Context(), "echo", protocol.Text("hi")); err != nil || n.Load() != 1 {
		t.Errorf("counter %d, error %v", n.Load(), err)
	}
	results := o.DispatchMany(t.Context(), []protocol.DispatchRequest{{Operator: "echo", Input: protocol.Text("a")}, {Operator: "none"}})
	if results[0].Err != nil || !errors.Is(results[1].Err, &protocol.Error{Kind: protocol.KindOrchOperatorNotFound}) || n.Load() != 3 {
		t.Errorf("got %+v, counter %d", results, n.Load())
	}
	if err := o.Signal(t.Context(), "w", protocol.SignalPayload{}); err != nil || local.signals != 1 {
		t.Errorf("signals %d, error %v", local.signals, err)
	}
	if answer, err := o.Query(t.Context(), "w", protocol.QueryPayload{}); err != nil || string(answer) != `{}` {
		t.Errorf("answer %s, error %v", answer, err)
	}
	guarded := protocol.NewDispatchStack().Guard(denying()).Build().WrapOrchestrator(local)
	if _, err := guarded.Dispatch(t.Context(), "echo", protocol.Text("hi")); err == nil {
		t.Error("a guard was passed")
	}
	if r := guarded.DispatchMany(t.Context(), []protocol.DispatchRequest{{Operator: "echo"}}); r[0].Err == nil {
		t.Error("a guard was passed by DispatchMany")
	}
}
