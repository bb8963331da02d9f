package compose_test

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/skelegent/skelegent-go/actors/compose"
	"github.com/skelegent/skelegent-go/actors/tool"
	"github.com/skelegent/skelegent-go/protocol"
)

// answering is a remote delegate that gives that output.
func answering(out protocol.OperatorOutput, err error) compose.Executor {
	return compose.Remote(protocol.DispatcherFunc(
		func(context.Context, protocol.OperatorID, protocol.OperatorInput) (output, error) {
			return out, err
		}), "coder")
}

func TestTheTaskOfARemoteDelegate(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ args, text, metadata string }{
		"a message":                    {`{"message":"go \"on\""}`, `go "on"`, ``},
		"a message and signals":        {`{"signals":["a",7,"b"],"message":"go"}`, `go`, `{"signals":["a","b"]}`},
		"a message and something else": {`{"message": "go", "x": 1}`, `{"message":"go","x":1}`, ``},
		"a message that is no text":    {`{"message":7}`, `{"message":7}`, ``},
		"signals that are no list":     {`{"message":"go","signals":"a"}`, `{"message":"go","signals":"a"}`, ``},
		"no signals":                   {`{"message":"go","signals":[]}`, `go`, ``},
		"a context":                    {`{ "context": {"signals": ["c"]} }`, `{"context":{"signals":["c"]}}`, `{"signals":["c"]}`},
		"signals before the context":   {`{"signals":["a"],"context":{"signals":["c"]}}`, `{"signals":["a"],"context":{"signals":["c"]}}`, `{"signals":["a"]}`},
		"a context that is none":       {`{"context":7}`, `{"context":7}`, ``},
		"nothing":                      {``, `{}`, ``},
		"an object":                    {"{\n}", `{}`, ``},
		"a list":                       {`[ "message" ]`, `["message"]`, ``},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var got protocol.OperatorInput
			var next protocol.Call
			d := protocol.DispatcherFunc(func(ctx context.Context, id protocol.OperatorID, in protocol.OperatorInput) (output, error) {
				got, next = in, protocol.NextCall(ctx)
				if id != "coder" {
					t.Errorf("dispatched to %s", id)
				}
				return protocol.Reply("done"), nil
			})
			budget := protocol.MustDecimal("0.7")
			ctx := tool.WithRun(t.Context(), tool.Run{Session: new(protocol.SessionID("s1"))})
			ctx = protocol.WithInvocation(ctx, &protocol.Invocation{Call: protocol.Call{Run: "r1", Depth: 2, Trace: "t"}})
			ctx = protocol.WithCall(ctx, protocol.Call{Budget: &budget})
			_, err := compose.Remote(d, "coder").Invoke(ctx, json.RawMessage(c.args))
			noErr(t, err)
			want := protocol.OperatorInput{Message: protocol.TextContent(c.text), Trigger: protocol.TriggerTask}
			if c.metadata != "" {
				want.Metadata = json.RawMessage(c.metadata)
			}
			same(t, "input", want, got)
			same(t, "call", protocol.Call{Parent: "r1", Budget: &budget, Depth: 3, Trace: "t", TakeEffects: true}, next)
		})
	}
}

func TestTasksThatAreNotDispatched(t *testing.T) {
	t.Parallel()
	many, err := json.Marshal(map[string][]string{"signals": make([]string, compose.MaxSignals+1)})
	noErr(t, err)
	d := protocol.DispatcherFunc(func(context.Context, protocol.OperatorID, protocol.OperatorInput) (output, error) {
		t.Error("it was dispatched")
		return protocol.OperatorOutput{}, nil
	})
	for args, want := range map[string]protocol.ErrorKind{
		`{`:          compose.KindSerialization,
		string(many): compose.KindInvalidArgument,
		`{"message":"` + strings.Repeat("x", compose.MaxDelegateArgs) + `"}`:  compose.KindInvalidArgument,
		`{"signals":["` + strings.Repeat("x", compose.MaxName+1) + `"]}`:      compose.KindInvalidArgument,
		`{"context":{"signals":["` + strings.Repeat("x", 300) + `"]},"a":{}}`: compose.KindInvalidArgument,
	} {
		if _, err := compose.Remote(d, "coder").Invoke(t.Context(), json.RawMessage(args)); compose.KindOf(err) != want {
			t.Errorf("%.40s: got %v", args, err)
		}
	}
}

func TestTheAnswerOfARemoteDelegate(t *testing.T) {
	t.Parallel()
	data := protocol.BlockContent(protocol.DataBlock{Data: json.RawMessage(`{"a":1}`)})
	for name, c := range map[string]struct {
		message protocol.Content
		exit    protocol.ExitReason
		want    string
		err     string
	}{
		"a text":      {protocol.TextContent("x"), protocol.ExitReason{}, `"x"`, ""},
		"an object":   {protocol.TextContent(` {"a": 1} `), protocol.ExitReason{}, `{"a": 1}`, ""},
		"a list":      {protocol.TextContent(`[1]`), protocol.ExitReason{}, `[1]`, ""},
		"a number":    {protocol.TextContent(`7`), protocol.ExitReason{}, `"7"`, ""},
		"a JSON text": {protocol.TextContent(`"x"`), protocol.ExitReason{}, `"\"x\""`, ""},
		"no object":   {protocol.TextContent(`{a}`), protocol.ExitReason{}, `"{a}"`, ""},
		"two objects": {protocol.TextContent(`{}{}`), protocol.ExitReason{}, `"{}{}"`, ""},
		"nothing":     {protocol.Content{}, protocol.ExitReason{}, `""`, ""},
		"data":        {data, protocol.ExitReason{}, `[{"type":"data","data":{"a":1}}]`, ""},
		"max turns":   {protocol.TextContent(`{}`), protocol.Exit(protocol.ExitMaxTurns), `"[coder is not complete: it ended with max_turns]\n{}"`, ""},
		"handed off":  {protocol.TextContent(``), protocol.Exit(protocol.ExitHandedOff), `"[coder is not complete: it ended with handed_off]\n"`, ""},
		"error":       {protocol.TextContent("x"), protocol.Exit(protocol.ExitError), "", "tool invocation failed: coder ended with error: x"},
		"safety": {
			protocol.TextContent("x"), protocol.SafetyStop("refusal"), "", "tool invocation failed: coder ended with safety_stop: refusal: x",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			out := protocol.OperatorOutput{Message: c.message, ExitReason: c.exit, Metadata: protocol.OperatorMetadata{
				Cost: protocol.MustDecimal("0.25"), UnpricedCalls: 1,
			}, Effects: protocol.Effects{
				protocol.Log{Level: protocol.LogInfo, Message: "kept"}, protocol.Handoff{Operator: "x"}, protocol.ToolApprovalRequired{ToolName: "x"},
			}}
			res, err := answering(out, nil).Invoke(t.Context(), nil)
			if res.Cost == nil || res.Cost.Text() != "0.25" || res.UnpricedCalls != 1 {
				t.Errorf("got %+v", res)
			}
			if c.err != "" {
				if e := wantKind(t, err, compose.KindToolFailed); e.Message != c.err || len(res.Effects) != 0 {
					t.Errorf("got %q, %v", e.Message, res.Effects)
				}
				return
			}
			noErr(t, err)
			same(t, "output", c.want, string(res.Output))
			same(t, "effects", protocol.Effects{protocol.Log{Level: protocol.LogInfo, Message: "kept"}}, res.Effects)
		})
	}
}

func TestARemoteDelegateKeepsCodesButNotKinds(t *testing.T) {
	t.Parallel()
	for _, cause := range []*protocol.Error{
		protocol.ErrOperatorNotFound("coder"), protocol.ErrToolInput("x"), protocol.ErrEngineHalted("x"),
		protocol.ErrRateLimited(time.Second), compose.ErrToolNotFound("x"),
	} {
		_, err := answering(protocol.OperatorOutput{}, cause).Invoke(t.Context(), nil)
		e := protocol.AsError(err)
		if e.Kind != protocol.KindOperatorSubDispatch || e.Code != cause.Code || e.Retryable != cause.Retryable || !errors.Is(err, cause) {
			t.Errorf("%v became %v", cause, e)
		}
		_, err = tools(t, delegateTool(t, answering(protocol.OperatorOutput{}, cause))).Invoke(t.Context(), "ask", nil)
		if e := wantKind(t, err, compose.KindToolFailed); e.Code != cause.Code {
			t.Errorf("%v became %v", cause, e)
		}
	}
}
