package actors_test

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/skelegent/skelegent-go/actors"
	"github.com/skelegent/skelegent-go/actors/step"
	"github.com/skelegent/skelegent-go/actors/tool"
	"github.com/skelegent/skelegent-go/bus"
	"github.com/skelegent/skelegent-go/protocol"
)

type sum struct {
	A int `json:"a"`
	B int `json:"b"`
}

// toolbox is what the nodes of these tests have.
func toolbox(t testing.TB) []tool.Tool {
	t.Helper()
	cost := protocol.MustDecimal("0.01")
	spender, err := tool.Raw(protocol.ToolMetadata{Name: "spender", Description: "Costs."},
		func(context.Context, json.RawMessage) (tool.Result, error) {
			return tool.Result{Output: json.RawMessage(`{"b":1,"a":[true,null,1.50]}`), Cost: &cost, UnpricedCalls: 2}, nil
		})
	spender = must(t, spender, err)
	remember, err := tool.Builtin(tool.NameRemember, tool.Deps{})
	if err != nil {
		t.Fatal(err)
	}
	return []tool.Tool{
		tool.Func("add", "Adds.", func(_ context.Context, in sum) (int, error) { return in.A + in.B, nil }),
		tool.Func("say", "Says.", func(_ context.Context, _ struct{}) (string, error) { return `{"not":"an object"}`, nil }),
		tool.Func("nothing", "Gives null.", func(_ context.Context, _ struct{}) (any, error) { return nil, nil }),
		spender,
		remember,
		tool.Func("fails", "Fails.", func(_ context.Context, _ struct{}) (any, error) { return nil, errors.New("disk: full") }),
		tool.Func("coded", "Fails with a code.", func(_ context.Context, _ struct{}) (any, error) {
			return nil, protocol.NewError(protocol.CodeQuotaExceeded, "too much").With("limit", "3")
		}),
		tool.Func("busy", "Is busy.", func(_ context.Context, _ struct{}) (any, error) {
			return nil, protocol.ErrToolTransient("come again: soon")
		}),
		tool.Func("panics", "Panics.", func(_ context.Context, _ struct{}) (any, error) { panic("secret") }),
	}
}

func remote(t testing.TB, meta protocol.ToolMetadata, d protocol.Dispatcher, id protocol.OperatorID) tool.Tool {
	t.Helper()
	r, err := tool.Remote(meta, d, id)
	return must(t, r, err)
}

// seen is what a caller of a tool can see.
type seen struct {
	Output    string
	Effects   string
	Cost      string
	Unpriced  uint32
	Code      protocol.Code
	Kind      protocol.ErrorKind
	Text      string
	Retryable bool
	Details   map[string]string
}

func see(ctx context.Context, t tool.Tool, input string) seen {
	res, err := tool.Call(ctx, t, json.RawMessage(input))
	effects, _ := protocol.Marshal(res.Effects)
	s := seen{Output: string(res.Output), Effects: string(effects), Unpriced: res.UnpricedCalls}
	if res.Cost != nil {
		s.Cost = res.Cost.String()
	}
	if err != nil {
		e := protocol.AsError(err)
		s.Code, s.Kind, s.Text, s.Retryable, s.Details = e.Code, e.Kind, e.Message, e.Retryable, e.Details
	}
	return s
}

// A tool of another node, and a tool of this one that another node calls, are one and the same to who calls them; also over two
// hops, and from an operator that keeps a log or not.
func TestRemoteToolsAreLikeLocalOnes(t *testing.T) {
	t.Parallel()
	srv, conn := server(t)
	for _, one := range []struct {
		name string
		opts []actors.Option
	}{{"ephemeral", nil}, {"durable", []actors.Option{actors.Durable()}}} {
		here, there := node(t, conn, actors.Config{}), node(t, connect(t, srv), actors.Config{})
		d := bus.NewDispatcher(conn)
		locals, remotes, twice := toolbox(t), map[string]tool.Tool{}, map[string]tool.Tool{}
		for _, local := range locals {
			meta := local.Metadata()
			far, again := protocol.OperatorID(meta.Name+"-"+one.name), protocol.OperatorID(meta.Name+"-again-"+one.name)
			remotes[meta.Name], twice[meta.Name] = remote(t, meta, d, far), remote(t, meta, d, again)
			if err := there.Register(far, tool.AsOperator(local), one.opts...); err != nil {
				t.Fatal(err)
			}
			if err := here.Register(again, tool.AsOperator(remotes[meta.Name]), one.opts...); err != nil {
				t.Fatal(err)
			}
		}
		start(t, here)
		start(t, there)
		session := protocol.SessionID("s1")
		ctx := tool.WithRun(testContext(t), tool.Run{Session: &session})
		for _, local := range locals {
			meta := local.Metadata()
			inputs := []string{`{}`, `null`, `[]`, `"text"`, `{"a":"x"}`}
			switch meta.Name { // with more than one unknown name the text of the error is not the same twice
			case "add":
				inputs = append(inputs, `{"a":2,"b":3}`, `{"a":2,"b":3.5}`)
			case tool.NameRemember:
				inputs = append(inputs, `{"key":"k","value":{"x":1}}`, `{"key":"","value":1}`)
			}
			unchecked := remote(t, protocol.ToolMetadata{Name: meta.Name, InputSchema: json.RawMessage(`{"type":"object"}`)}, d,
				protocol.OperatorID(meta.Name+"-"+one.name))
			for _, input := range inputs {
				want := see(ctx, local, input)
				want.Retryable = want.Retryable && one.opts == nil // what a log has of a call is final
				others := map[string]tool.Tool{"remote": remotes[meta.Name], "twice": twice[meta.Name]}
				if strings.HasPrefix(input, "{") {
					others["checked there alone"] = unchecked
				}
				for name, other := range others {
					if diff := cmp.Diff(want, see(ctx, other, input)); diff != "" {
						t.Errorf("%s, %s %s(%s): -local +remote\n%s", one.name, name, meta.Name, input, diff)
					}
				}
			}
			if diff := cmp.Diff(meta, remotes[meta.Name].Metadata()); diff != "" {
				t.Error(diff)
			}
		}
	}
}

// In a durable run a call of a remote tool is made once, whatever becomes of the caller.
func TestRemoteToolOfADurableRun(t *testing.T) {
	t.Parallel()
	_, conn := server(t)
	n := node(t, conn, actors.Config{})
	calls := make(chan string, 10)
	count := tool.Func("count", "Counts.", func(ctx context.Context, _ struct{}) (string, error) {
		calls <- tool.CallFrom(ctx).IdempotencyKey
		return "counted", nil
	})
	far := remote(t, count.Metadata(), nil, "count")
	caller := protocol.OperatorFunc(func(ctx context.Context, _ protocol.OperatorInput) (protocol.OperatorOutput, error) {
		res, err := tool.Call(ctx, far, nil)
		if err != nil {
			return protocol.OperatorOutput{}, err
		}
		if _, err := step.Await[string](ctx, "go"); err != nil { // the code is run again from the top
			return protocol.OperatorOutput{}, err
		}
		return protocol.Reply(res.Text()), nil
	})
	if err := n.Register("count", tool.AsOperator(count)); err != nil {
		t.Fatal(err)
	}
	if err := n.Register("caller", caller, actors.Durable()); err != nil {
		t.Fatal(err)
	}
	start(t, n)
	d := bus.NewDispatcher(conn)
	done := make(chan string, 1)
	go func() {
		out, err := d.Dispatch(protocol.WithCall(testContext(t), protocol.Call{Run: "r1"}), "caller", protocol.Text("x"))
		text, _ := out.Message.AsText()
		if err != nil {
			text = err.Error()
		}
		done <- text
	}()
	wait(t, calls)
	if err := d.Signal(testContext(t), "caller/r1", protocol.SignalPayload{SignalType: "go", Data: json.RawMessage(`"now"`)}); err != nil {
		t.Fatal(err)
	}
	if got := wait(t, done); got != "counted" {
		t.Errorf("got %q", got)
	}
	if len(calls) != 0 {
		t.Error("called again")
	}
}
