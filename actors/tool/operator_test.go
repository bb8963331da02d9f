package tool_test

import (
	"context"
	"encoding/json"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/skelegent/skelegent-go/actors/tool"
	"github.com/skelegent/skelegent-go/protocol"
)

func answering(out protocol.OperatorOutput, err error) tool.Tool {
	return tool.FromOperator("ask", "Asks.", protocol.DispatcherFunc(
		func(context.Context, protocol.OperatorID, protocol.OperatorInput) (protocol.OperatorOutput, error) {
			return out, err
		}), "coder")
}

func TestFromOperatorDispatchesATask(t *testing.T) {
	t.Parallel()
	var got protocol.OperatorInput
	var id protocol.OperatorID
	var next protocol.Call
	x := tool.FromOperator("ask", "Asks.", protocol.DispatcherFunc(
		func(ctx context.Context, operator protocol.OperatorID, in protocol.OperatorInput) (protocol.OperatorOutput, error) {
			got, id, next = in, operator, protocol.NextCall(ctx)
			return protocol.Reply("done"), nil
		}), "coder")
	session := protocol.SessionID("s1")
	budget := protocol.MustDecimal("0.7")
	ctx := tool.WithRun(t.Context(), tool.Run{Session: &session})
	ctx = protocol.WithCall(ctx, protocol.Call{Budget: &budget})
	res, err := tool.Call(ctx, x, json.RawMessage(`{"message":"go"}`))
	if err != nil || res.Text() != "done" || res.Cost != nil {
		t.Fatalf("got %+v, %v", res, err)
	}
	want := protocol.OperatorInput{Message: protocol.TextContent("go"), Trigger: protocol.TriggerTask}
	if d := cmp.Diff(want, got); d != "" || id != "coder" || next.Budget != &budget {
		t.Errorf("%s dispatched to %s with %+v", d, id, next)
	}
	_, err = tool.Call(ctx, x, json.RawMessage(`{}`))
	wantKind(t, err, protocol.KindToolInvalidInput)
}

func TestFromOperatorResults(t *testing.T) {
	t.Parallel()
	data := protocol.BlockContent(protocol.DataBlock{Data: json.RawMessage(`{"a":1}`)})
	texts := protocol.BlockContent(protocol.TextBlock{Text: "a"}, protocol.TextBlock{Text: "b"})
	for name, c := range map[string]struct {
		message protocol.Content
		exit    protocol.ExitReason
		text    string
		err     string
	}{
		"complete":  {protocol.TextContent("x"), protocol.Exit(protocol.ExitComplete), "x", ""},
		"texts":     {texts, protocol.Exit(protocol.ExitComplete), "a b", ""},
		"no text":   {data, protocol.Exit(protocol.ExitComplete), `[{"type":"data","data":{"a":1}}]`, ""},
		"nothing":   {protocol.Content{}, protocol.Exit(protocol.ExitComplete), "", ""},
		"max turns": {protocol.TextContent("x"), protocol.Exit(protocol.ExitMaxTurns), "[coder is not complete: it ended with max_turns]\nx", ""},
		"custom":    {protocol.TextContent("x"), protocol.CustomExit("truncated"), "[coder is not complete: it ended with custom: truncated]\nx", ""},
		"approval":  {protocol.TextContent(""), protocol.Exit(protocol.ExitAwaitingApproval), "[coder is not complete: it ended with awaiting_approval]\n", ""},
		"error":     {protocol.TextContent("x"), protocol.Exit(protocol.ExitError), "", "execution failed: coder ended with error: x"},
		"safety":    {protocol.TextContent("x"), protocol.SafetyStop("refusal"), "", "execution failed: coder ended with safety_stop: refusal: x"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			out := protocol.OperatorOutput{Message: c.message, ExitReason: c.exit, Metadata: protocol.OperatorMetadata{
				Cost: protocol.MustDecimal("0.25"), UnpricedCalls: 1,
			}, Effects: protocol.Effects{protocol.Log{}}}
			res, err := tool.Call(t.Context(), answering(out, nil), json.RawMessage(`{"message":"go"}`))
			if res.Cost == nil || res.Cost.Text() != "0.25" || res.UnpricedCalls != 1 || len(res.Effects) != 0 {
				t.Errorf("got %+v", res)
			}
			if c.err != "" {
				if e := wantKind(t, err, protocol.KindToolExecutionFailed); e.Message != c.err {
					t.Errorf("got %q", e.Message)
				}
			} else if err != nil || res.Text() != c.text {
				t.Errorf("got %q, %v", res.Text(), err)
			}
		})
	}
}

func TestFromOperatorKeepsCodesButNotKinds(t *testing.T) {
	t.Parallel()
	for _, cause := range []*protocol.Error{
		protocol.ErrOperatorNotFound("coder"), protocol.ErrToolInput("x"), protocol.ErrEngineHalted("x"),
		protocol.ErrRateLimited(time.Second),
	} {
		_, err := call(t, answering(protocol.OperatorOutput{}, cause), `{"message":"go"}`)
		e := wantKind(t, err, protocol.KindOperatorSubDispatch)
		if e.Code != cause.Code || e.Retryable != cause.Retryable || !errors.Is(err, cause) {
			t.Errorf("%v became %v", cause, e)
		}
	}
}

func TestAsOperator(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		cost := protocol.MustDecimal("0.1")
		x, err := tool.Raw(protocol.ToolMetadata{Name: "x"}, func(ctx context.Context, _ json.RawMessage) (tool.Result, error) {
			time.Sleep(1500 * time.Millisecond)
			write := protocol.WriteMemory{Scope: tool.ScopeFrom(ctx), Key: "k", Value: json.RawMessage(`1`)}
			return tool.Result{Output: json.RawMessage(`"text"`), Effects: protocol.Effects{write}, Cost: &cost, UnpricedCalls: 1}, nil
		})
		if err != nil {
			t.Fatal(err)
		}
		got, err := tool.AsOperator(x).Execute(t.Context(), protocol.Text(`{"a":1}`).WithSession("s1"))
		if err != nil {
			t.Fatal(err)
		}
		want := protocol.Reply(`"text"`)
		want.Metadata = protocol.OperatorMetadata{
			Cost: cost, Duration: 1500, UnpricedCalls: 1,
			SubDispatches: []protocol.SubDispatchRecord{{Name: "x", Duration: 1500, Success: true}},
		}
		want.Effects = protocol.Effects{protocol.WriteMemory{Scope: protocol.InSession("s1"), Key: "k", Value: json.RawMessage(`1`)}}
		if d := cmp.Diff(want, got, cmpopts.EquateComparable(protocol.ExitReason{}, protocol.Scope{})); d != "" {
			t.Error(d)
		}
	})
}

func TestAsOperatorFailures(t *testing.T) {
	t.Parallel()
	_, err := tool.AsOperator(echo()).Execute(t.Context(), protocol.Text(`not JSON`))
	wantKind(t, err, protocol.KindOperatorNonRetryable)

	_, err = tool.AsOperator(echo()).Execute(t.Context(), protocol.Text(`{}`))
	if e := wantKind(t, err, protocol.KindOperatorSubDispatch); e.Code != protocol.CodeToolError {
		t.Errorf("got %v", e)
	}
	image := protocol.OperatorInput{Message: protocol.BlockContent(protocol.ImageBlock{})}
	out, err := tool.AsOperator(named("a", "yes")).Execute(t.Context(), image)
	if text, _ := out.Message.AsText(); err != nil || text != `"yes"` {
		t.Errorf("a message without text is null: got %s, %v", text, err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	stuck := tool.Func("x", "", func(ctx context.Context, _ struct{}) (string, error) { return "", ctx.Err() })
	if _, err = tool.AsOperator(stuck).Execute(ctx, protocol.Text(`{}`)); protocol.CodeOf(err) != protocol.CodeCancelled {
		t.Errorf("got %v", err)
	}
}

func TestAsOperatorAsksForApproval(t *testing.T) {
	t.Parallel()
	ctx := protocol.WithInvocation(t.Context(), &protocol.Invocation{Call: protocol.Call{Run: "r1"}})
	ran := false
	x := tool.Func("x", "", func(context.Context, struct{}) (string, error) { ran = true; return "", nil }, tool.RequiresApproval())
	out, err := tool.AsOperator(x).Execute(ctx, protocol.Text(`{}`))
	want := protocol.Effects{protocol.ToolApprovalRequired{ToolName: "x", CallID: "r1", Input: json.RawMessage(`{}`)}}
	if err != nil || ran || out.ExitReason.Kind() != protocol.ExitAwaitingApproval {
		t.Fatalf("ran %v: %+v, %v", ran, out, err)
	}
	if d := cmp.Diff(want, out.Effects); d != "" {
		t.Error(d)
	}
}
