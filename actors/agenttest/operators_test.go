package agenttest_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/skelegent/skelegent-go/actors/agent"
	"github.com/skelegent/skelegent-go/actors/agenttest"
	"github.com/skelegent/skelegent-go/actors/pattern"
	"github.com/skelegent/skelegent-go/actors/tool"
	"github.com/skelegent/skelegent-go/protocol"
)

func dial(tb testing.TB, url string) {
	tb.Helper()
	resp, err := http.Get(url)
	if err == nil {
		_ = resp.Body.Close()
		tb.Errorf("%s answered", url)
	}
}

func says(text string) protocol.Operator {
	return code(func(context.Context, protocol.OperatorInput) (protocol.OperatorOutput, error) {
		return protocol.Reply(text), nil
	})
}

func TestDispatch(t *testing.T) {
	t.Parallel()
	full := errors.New("disk full")
	d := agenttest.Operators(map[protocol.OperatorID]protocol.Operator{
		"echo": code(echo),
		"fails": code(func(context.Context, protocol.OperatorInput) (protocol.OperatorOutput, error) {
			return protocol.OperatorOutput{}, full
		}),
		"panics": code(func(context.Context, protocol.OperatorInput) (protocol.OperatorOutput, error) { panic("ouch") }),
	})
	out, err := d.Dispatch(t.Context(), "echo", protocol.Text("hello"))
	if text, _ := out.Message.AsText(); text != "hello" || err != nil {
		t.Errorf("got %q, %v", text, err)
	}
	_, err = d.Dispatch(t.Context(), "nobody", protocol.Text("hello"))
	if !errors.Is(err, &protocol.Error{Kind: protocol.KindOrchOperatorNotFound}) || !strings.Contains(err.Error(), "nobody") {
		t.Errorf("got %v", err)
	}
	if _, err = d.Dispatch(t.Context(), "fails", protocol.Text("hello")); !errors.Is(err, full) || protocol.CodeOf(err) != protocol.CodeInternal {
		t.Errorf("got %v", err)
	}
	_, err = d.Dispatch(t.Context(), "panics", protocol.Text("hello"))
	if protocol.CodeOf(err) != protocol.CodeInternal || !strings.Contains(fmt.Sprint(errors.Unwrap(err)), "ouch") {
		t.Errorf("got %v", err)
	}
	if _, err = d.Dispatch(t.Context(), "echo", protocol.OperatorInput{}); protocol.CodeOf(err) != protocol.CodeInvalidInput {
		t.Errorf("got %v", err)
	}
	if all := d.Dispatched(); len(all) != 5 || all[0].Call.Run == all[1].Call.Run || len(d.Dispatched("echo")) != 2 {
		t.Errorf("got %+v", all)
	}
}

func TestDispatchMany(t *testing.T) {
	t.Parallel()
	d := agenttest.Operators(map[protocol.OperatorID]protocol.Operator{"a": says("Result from A"), "b": says("Result from B"), "c": code(echo)})
	var got []string
	for _, r := range d.DispatchMany(t.Context(), []protocol.DispatchRequest{
		{Operator: "a", Input: protocol.Text("Task for A")},
		{Operator: "b", Input: protocol.Text("Task for B")},
		{Operator: "c", Input: protocol.Text("Task for C")},
		{Operator: "d", Input: protocol.Text("Task for D")},
	}) {
		text, _ := r.Output.Message.AsText()
		if r.Err != nil {
			text = r.Err.Error()
		}
		got = append(got, text)
	}
	if d := cmp.Diff([]string{"Result from A", "Result from B", "Task for C", "operator not found: d"}, got); d != "" {
		t.Error(d)
	}
}

func TestSignalsAreCounted(t *testing.T) {
	t.Parallel()
	d := agenttest.Operators(nil)
	count := func() string {
		answer, err := d.Query(t.Context(), "a/1", protocol.QueryPayload{QueryType: "status"})
		if err != nil {
			t.Error(err)
		}
		return string(answer)
	}
	if got := count(); got != `{"signals":0}` {
		t.Errorf("got %s", got)
	}
	var wg sync.WaitGroup
	for range 32 {
		wg.Go(func() {
			if err := d.Signal(t.Context(), "a/1", protocol.SignalPayload{SignalType: "go"}); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if got := count(); got != `{"signals":32}` || len(d.Signals("a/1")) != 32 || len(d.Signals("a/2")) != 0 || d.Signals("a/1")[0].SignalType != "go" {
		t.Errorf("got %s", got)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := d.Query(ctx, "a/1", protocol.QueryPayload{})
	if protocol.CodeOf(err) != protocol.CodeCancelled || protocol.CodeOf(d.Signal(ctx, "a/1", protocol.SignalPayload{})) != protocol.CodeCancelled {
		t.Errorf("got %v", err)
	}
}

// What travels with a dispatch is that of the call, and what is within begins anew.
func TestCallsGoAlong(t *testing.T) {
	t.Parallel()
	var d *agenttest.Dispatcher
	d = agenttest.Operators(map[protocol.OperatorID]protocol.Operator{
		"outer": code(func(ctx context.Context, in protocol.OperatorInput) (protocol.OperatorOutput, error) {
			protocol.InvocationFrom(ctx).Events.Emit(protocol.EventLog, map[string]int{"n": 1})
			return d.Dispatch(ctx, "inner", in)
		}),
		"inner": code(echo),
	})
	ctx := protocol.WithCall(t.Context(), protocol.Call{Run: "own", Budget: new(protocol.MustDecimal("2"))})
	if _, err := d.Dispatch(ctx, "outer", protocol.Text("x").WithSession("s")); err != nil {
		t.Fatal(err)
	}
	inner, outer := d.Dispatched("inner")[0], d.Dispatched("outer")[0]
	if inner.Call.Parent != "own" || inner.Call.Run == "own" || inner.Call.Depth != 1 || inner.Call.Budget.String() != "2" {
		t.Errorf("got %+v", inner.Call)
	}
	if len(outer.Result.Events("log")) != 1 || len(inner.Result.Events()) != 0 {
		t.Errorf("got %v, %v", outer.Result.Events(), inner.Result.Events())
	}
}

func TestPatternsAndToolsOverOperators(t *testing.T) {
	t.Parallel()
	writer := agenttest.NewModel(t, agenttest.Say("a text of owls").Costs("0.25"))
	d := agenttest.Operators(map[protocol.OperatorID]protocol.Operator{
		"researcher": says("facts"), "writer": build(t, agent.Config{Provider: writer}),
	})
	r := agenttest.Run(t, pattern.Sequential(d, "researcher", "writer"), protocol.Text("owls"), agenttest.WithBudget("1"))
	if r.Text() != "a text of owls" || r.Err != nil || writer.Request(0).LastUser() != "facts" || r.Output.Metadata.Cost.String() != "0.25" {
		t.Errorf("got %+v", r)
	}
	if got := d.Dispatched("writer")[0].Call; got.Parent != agenttest.DefaultRun || got.Budget.String() != "1" {
		t.Errorf("got %+v", got)
	}
	boss := agenttest.NewModel(t, agenttest.Call("ask_researcher", map[string]string{"message": "owls?"}), agenttest.Say("done"))
	op := build(t, agent.Config{Provider: boss, Tools: []tool.Tool{tool.Ask(d, "researcher", "knows")}})
	if r := agenttest.Run(t, op, protocol.Text("go")); r.Text() != "done" || boss.Request(1).ToolResult("call_1").Content != "facts" {
		t.Errorf("got %+v", r)
	}
}
