package tool_test

import (
	"context"
	"encoding/json"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/skelegent/skelegent-go/actors/compose"
	"github.com/skelegent/skelegent-go/actors/tool"
	"github.com/skelegent/skelegent-go/protocol"
)

// answered is what a remote tool gives whose operator answers that.
func answered(t *testing.T, out protocol.OperatorOutput, failure error) (tool.Result, error) {
	t.Helper()
	d := protocol.DispatcherFunc(func(ctx context.Context, _ protocol.OperatorID, _ protocol.OperatorInput) (protocol.OperatorOutput, error) {
		if !protocol.NextCall(ctx).TakeEffects {
			t.Error("the effects of the tool would be performed twice")
		}
		return out, failure
	})
	r, err := tool.Remote(protocol.ToolMetadata{Name: "far"}, d, "far-away")
	if err != nil {
		t.Fatal(err)
	}
	return tool.Call(t.Context(), r, json.RawMessage(`{}`))
}

// Of what another node says of its tool's error only the kinds of tools count: what halts there, or is made up, halts nobody here.
func TestARemoteErrorHaltsNobodyHere(t *testing.T) {
	t.Parallel()
	said := protocol.ErrSubDispatch("far", protocol.ErrEngineHalted("stop")).With("tool_code", string(protocol.CodePermissionDenied))
	for kind, want := range map[string]protocol.ErrorKind{
		string(protocol.KindEngineHalted): "", "step.changed": "", string(protocol.KindToolExecutionFailed): protocol.KindToolExecutionFailed,
		"kernel.tool_not_applicable": "kernel.tool_not_applicable",
	} {
		_, err := answered(t, protocol.OperatorOutput{}, said.With("tool_kind", kind))
		if e := protocol.AsError(err); e.Kind != want || e.Code != protocol.CodePermissionDenied || e.Details["tool_kind"] != "" {
			t.Errorf("%s: got %+v", kind, e)
		}
	}
}

// A tool that wants to be approved where nobody is asked fails; it is neither made nor taken for a result.
func TestARemoteToolThatWantsApprovalFails(t *testing.T) {
	t.Parallel()
	calls := 0
	x, err := tool.Raw(protocol.ToolMetadata{Name: "far"}, func(context.Context, json.RawMessage) (tool.Result, error) {
		calls++
		return tool.Result{Output: json.RawMessage(`1`)}, nil
	}, tool.RequiresApproval())
	if err != nil {
		t.Fatal(err)
	}
	out, err := tool.AsOperator(x).Execute(t.Context(), protocol.Text(`{}`))
	if err != nil || len(out.Effects) != 1 {
		t.Fatalf("got %+v, %v", out, err)
	}
	res, err := answered(t, out, nil)
	if protocol.CodeOf(err) != protocol.CodePermissionDenied || !strings.Contains(err.Error(), "approved") || len(res.Effects) != 0 || calls != 0 {
		t.Errorf("got %+v, %v, %d calls", res, err, calls)
	}
}

// An answer that is not JSON is a string, one that is not complete a failure, with what it cost.
func TestTheAnswerOfARemoteTool(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{`{"a": 1}`: `{"a": 1}`, `it said {`: `"it said {"`, ``: `""`, ` null `: `null`, `"x"`: `"x"`} {
		if res, err := answered(t, protocol.Reply(text), nil); err != nil || string(res.Output) != want {
			t.Errorf("%s: got %s, %v, want %s", text, res.Output, err, want)
		}
	}
	out := protocol.Reply(`1`)
	out.ExitReason, out.Metadata.Cost = protocol.Exit(protocol.ExitMaxTurns), protocol.MustDecimal("0.5")
	res, err := answered(t, out, nil)
	if protocol.CodeOf(err) != protocol.CodeToolError || res.Cost == nil || res.Cost.Text() != "0.5" || res.Output != nil {
		t.Errorf("got %+v, %v", res, err)
	}
}

// A tool of another node that is registered here under its own name, dots and all, cannot be told from the tool itself.
func TestARemoteToolInARegistryIsTheToolItself(t *testing.T) {
	t.Parallel()
	meta := protocol.ToolMetadata{
		Name: "math.add", Description: "Adds.",
		InputSchema: json.RawMessage(`{"type":"object","properties":{"a":{"type":"integer"},"b":{"type":"integer"}}}`),
	}
	add, err := tool.Raw(meta, func(_ context.Context, in json.RawMessage) (tool.Result, error) {
		var n struct{ A, B int }
		if err := json.Unmarshal(in, &n); err != nil {
			return tool.Result{}, err
		}
		return tool.Result{Output: json.RawMessage(strconv.Itoa(n.A + n.B))}, nil
	})
	if err != nil {
		t.Fatal(err)
	}
	d := protocol.DispatcherFunc(func(ctx context.Context, _ protocol.OperatorID, in protocol.OperatorInput) (protocol.OperatorOutput, error) {
		return tool.AsOperator(add).Execute(ctx, in)
	})
	far, err := tool.Remote(meta, d, "adder")
	if err != nil {
		t.Fatal(err)
	}
	host, err := compose.NewTools(add)
	if err != nil {
		t.Fatal(err)
	}
	guest, err := compose.NewTools(far)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(host.Schemas(), guest.Schemas()); d != "" {
		t.Error(d)
	}
	for args, want := range map[string]string{`{"a":2,"b":3}`: "5", `{"a":10,"b":32}`: "42", `null`: "0", `[1]`: "invalid_input", `"x"`: "invalid_input"} {
		for name, tools := range map[string]*compose.Tools{"here": host, "there": guest} {
			res, err := tools.Invoke(t.Context(), "math.add", json.RawMessage(args))
			got := string(res.Output)
			if err != nil {
				got = string(protocol.CodeOf(err))
			}
			if got != want {
				t.Errorf("%s %s: got %s, %v, want %s", name, args, got, err, want)
			}
		}
	}
}
