package dispatch_test

import (
	"context"
	"encoding/json"
	"errors"
	"runtime"
	"strings"
	"sync"
	"testing"

	"github.com/skelegent/skelegent-go/actors/budget"
	"github.com/skelegent/skelegent-go/actors/compose"
	"github.com/skelegent/skelegent-go/actors/compose/dispatch"
	"github.com/skelegent/skelegent-go/actors/step"
	"github.com/skelegent/skelegent-go/actors/tool"
	"github.com/skelegent/skelegent-go/protocol"
)

var weather = returns("get_weather", `{"sky":"clear"}`)

func TestCallsAreMadeInTheirOrder(t *testing.T) {
	t.Parallel()
	l := &log{}
	echo := do{"math.add", func(_ context.Context, in json.RawMessage) (tool.Result, error) {
		l.add(string(in))
		return tool.Result{
			Output: in, Effects: protocol.Effects{protocol.Log{}}, Cost: new(protocol.MustDecimal("0.1")), UnpricedCalls: 2,
		}, nil
	}}
	calls := []protocol.ToolCall{call("math.add", `{"a":1}`), call("get_weather", ``), call("math.add", `{"a":2}`)}
	results, err := dispatch.Dispatch(t.Context(), toolsOf(t, echo, weather), calls)
	if err != nil || len(results) != 3 {
		t.Fatalf("%d results, %v", len(results), err)
	}
	wantLog(t, l, `{"a":1} {"a":2}`)
	if r := results[0]; string(r.Output) != `{"a":1}` || r.Call.ID != "id-math.add" || len(r.Effects) != 1 || r.Cost.Text() != "0.1" ||
		r.UnpricedCalls != 2 || r.Outcome != (dispatch.Outcome{Kind: dispatch.Completed}) {
		t.Errorf("got %+v", r)
	}
	if string(results[1].Output) != `{"sky":"clear"}` {
		t.Errorf("got %s", results[1].Output)
	}
	if none, err := dispatch.Dispatch(t.Context(), toolsOf(t), nil); err != nil || none == nil || len(none) != 0 {
		t.Errorf("nothing to do: %v, %v", none, err)
	}
}

func TestHooksComeBeforeAndAfter(t *testing.T) {
	t.Parallel()
	l := &log{}
	a := &hook{name: "a", log: l, after: func(r dispatch.Result, o dispatch.Outcome) error {
		if string(r.Output) != `{"sky":"clear"}` || o.Kind != dispatch.Completed || r.Outcome != o {
			t.Errorf("told %+v, %+v", r, o)
		}
		return nil
	}}
	_, err := dispatch.Dispatch(t.Context(), toolsOf(t, weather), []protocol.ToolCall{call("get_weather", `{}`)},
		dispatch.WithHooks(a, nil), dispatch.WithHooks(&hook{name: "b", log: l}, dispatch.NopHook{}))
	if err != nil {
		t.Fatal(err)
	}
	wantLog(t, l, "a:before:get_weather b:before:get_weather a:after:get_weather b:after:get_weather")
}

// The results before an error are returned beside it, and nothing behind it is made.
func TestResultsBeforeAnErrorAreKept(t *testing.T) {
	t.Parallel()
	l := &log{}
	offline := fails("offline", compose.ErrToolFailed("weather offline"))
	calls := []protocol.ToolCall{call("get_weather", `{}`), call("offline", `{}`), call("get_weather", `{}`)}
	results, err := dispatch.Dispatch(t.Context(), toolsOf(t, weather, offline), calls, dispatch.WithHooks(&hook{name: "a", log: l}))
	wantKind(t, err, compose.KindToolFailed, "weather offline")
	if len(results) != 1 || results[0].Call.Name != "get_weather" {
		t.Errorf("got %+v", results)
	}
	wantLog(t, l, "a:before:get_weather a:after:get_weather a:before:offline a:error:offline")
	_, err = dispatch.Dispatch(t.Context(), toolsOf(t), calls)
	wantKind(t, err, compose.KindToolNotFound, "get_weather")
	_, err = dispatch.Dispatch(t.Context(), toolsOf(t, weather).Scoped(), calls)
	wantKind(t, err, compose.KindToolNotAuthorised, "get_weather")
}

// The output of a skip is the result as it is; hooks that were not asked are told too.
func TestASkippedCallIsNotMade(t *testing.T) {
	t.Parallel()
	l := &log{}
	made := do{"get_weather", func(context.Context, json.RawMessage) (tool.Result, error) {
		t.Error("it was made")
		return tool.Result{}, nil
	}}
	skip := &hook{name: "skip", log: l, before: decide(dispatch.Skip(json.RawMessage(`{"cached": true}`), "cached"))}
	last := &hook{name: "last", log: l, after: func(r dispatch.Result, o dispatch.Outcome) error {
		if o != (dispatch.Outcome{Kind: dispatch.Skipped, Reason: "cached"}) || string(r.Output) != `{"cached": true}` {
			t.Errorf("told %+v, %+v", r, o)
		}
		return nil
	}}
	results, err := dispatch.Dispatch(t.Context(), toolsOf(t, made), []protocol.ToolCall{call("get_weather", `{}`)},
		dispatch.WithHooks(&hook{name: "first", log: l}, skip, last))
	if err != nil || len(results) != 1 || string(results[0].Output) != `{"cached": true}` || results[0].Outcome.Reason != "cached" {
		t.Errorf("got %+v, %v", results, err)
	}
	wantLog(t, l, "first:before:get_weather skip:before:get_weather "+
		"first:after:get_weather skip:after:get_weather last:after:get_weather")
}

func TestASkipMustBeJSON(t *testing.T) {
	t.Parallel()
	l := &log{}
	for output, want := range map[string]string{"": "null", "1": "1"} {
		results, err := dispatch.Dispatch(t.Context(), toolsOf(t), []protocol.ToolCall{call("x", `{}`)},
			dispatch.WithHooks(&hook{name: "s", log: &log{}, before: decide(dispatch.Skip(json.RawMessage(output), ""))}))
		if err != nil || string(results[0].Output) != want {
			t.Errorf("%q: %v", output, err)
		}
	}
	_, err := dispatch.Dispatch(t.Context(), toolsOf(t), []protocol.ToolCall{call("x", `{}`)},
		dispatch.WithHooks(&hook{name: "s", log: l, before: decide(dispatch.Skip(json.RawMessage(`{`), ""))}))
	wantKind(t, err, compose.KindInvalidArgument, "not JSON")
	wantLog(t, l, "s:before:x s:error:x")
}

func TestTerminateEndsTheDispatch(t *testing.T) {
	t.Parallel()
	l := &log{}
	stop := &hook{name: "stop", log: l, before: decide(dispatch.Terminate("approval required"))}
	_, err := dispatch.Dispatch(t.Context(), toolsOf(t, weather), []protocol.ToolCall{call("get_weather", `{}`)},
		dispatch.WithHooks(&hook{name: "first", log: l}, stop, &hook{name: "last", log: l}))
	wantKind(t, err, compose.KindDispatchTerminated, "approval required")
	wantLog(t, l, "first:before:get_weather stop:before:get_weather "+
		"first:error:get_weather stop:error:get_weather last:error:get_weather")
}

// Where a hook cannot answer, those before it are told, and it itself is not.
func TestAFailedBeforeTellsTheHooksBefore(t *testing.T) {
	t.Parallel()
	own := compose.ErrBudgetFailed("no answer")
	for name, before := range map[string]func() (dispatch.Decision, error){
		"an error": func() (dispatch.Decision, error) { return dispatch.Continue(), own },
		"a panic":  func() (dispatch.Decision, error) { panic("x") },
		"no code":  func() (dispatch.Decision, error) { return dispatch.Continue(), errors.New("secret") },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := &log{}
			results, err := dispatch.Dispatch(t.Context(), toolsOf(t, weather), []protocol.ToolCall{call("get_weather", `{}`)},
				dispatch.WithHooks(&hook{name: "a", log: l}, &hook{name: "b", log: l, before: before}, &hook{name: "c", log: l}))
			wantLog(t, l, "a:before:get_weather b:before:get_weather a:error:get_weather")
			switch {
			case len(results) != 0 || err == nil || strings.Contains(err.Error(), "secret"):
				t.Errorf("got %v, %v", results, err)
			case name == "an error" && !errors.Is(err, own):
				t.Errorf("got %v", err)
			case name != "an error" && protocol.CodeOf(err) != protocol.CodeInternal:
				t.Errorf("got %v", err)
			}
		})
	}
}

// The result of a call that was made is kept and told to every hook, whatever one of them does with it.
func TestAFailedAfterKeepsTheResultAndTellsTheOthers(t *testing.T) {
	t.Parallel()
	own := protocol.NewError(protocol.CodeConflict, "cannot write it down")
	for name, after := range map[string]func(dispatch.Result, dispatch.Outcome) error{
		"an error":              func(dispatch.Result, dispatch.Outcome) error { return own },
		"a panic":               func(dispatch.Result, dispatch.Outcome) error { panic("x") },
		"it ends the goroutine": func(dispatch.Result, dispatch.Outcome) error { runtime.Goexit(); return nil },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l, b := &log{}, budget.NewCounter(1)
			var results []dispatch.Result
			var err error
			var over sync.WaitGroup
			over.Go(func() {
				results, err = dispatch.Dispatch(t.Context(), toolsOf(t, weather), []protocol.ToolCall{call("get_weather", `{}`)},
					dispatch.WithHooks(&hook{name: "a", log: l, after: after}, &hook{name: "b", log: l}, dispatch.BudgetHook(b, 1)))
			})
			over.Wait()
			wantLog(t, l, "a:before:get_weather b:before:get_weather a:after:get_weather b:after:get_weather")
			if b.Available() != 1 {
				t.Error("the reservation is still held")
			}
			if name != "it ends the goroutine" && (len(results) != 1 || err == nil) || name == "an error" && !errors.Is(err, own) {
				t.Errorf("got %v, %v", results, err)
			}
		})
	}
}

// An error on top of an error is a further cause of it and does not keep other hooks from being told.
func TestAnErrorOfOnErrorDoesNotReplaceTheOriginal(t *testing.T) {
	t.Parallel()
	own := protocol.NewError(protocol.CodeConflict, "cannot clean up")
	for name, onError := range map[string]func(context.Context, error) error{
		"an error": func(context.Context, error) error { return own },
		"a panic":  func(context.Context, error) error { panic("x") },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l, b := &log{}, budget.NewCounter(1)
			tools := toolsOf(t, fails("x", errors.New("weather offline")))
			_, err := dispatch.Dispatch(t.Context(), tools, []protocol.ToolCall{call("x", `{}`)},
				dispatch.WithHooks(&hook{name: "a", log: l, onError: onError}, &hook{name: "b", log: l}, dispatch.BudgetHook(b, 1)))
			wantKind(t, err, compose.KindToolFailed, "weather offline")
			if name == "an error" && !errors.Is(err, own) || protocol.CodeOf(err) != protocol.CodeToolError || b.Available() != 1 {
				t.Errorf("got %v, %d available", err, b.Available())
			}
			if strings.Contains(err.Error(), "clean up") {
				t.Errorf("got %v", err)
			}
			wantLog(t, l, "a:before:x b:before:x a:error:x b:error:x")
		})
	}
}

// However the tool ends, what hooks hold is given back.
func TestHooksAreToldHoweverTheToolEnds(t *testing.T) {
	t.Parallel()
	for name, f := range map[string]func(cancel func()) (tool.Result, error){
		"an error":              func(func()) (tool.Result, error) { return tool.Result{}, errors.New("x") },
		"a panic":               func(func()) (tool.Result, error) { panic("x") },
		"it ends the goroutine": func(func()) (tool.Result, error) { runtime.Goexit(); return tool.Result{}, nil },
		"cancelled":             func(cancel func()) (tool.Result, error) { cancel(); return tool.Result{}, context.Canceled },
		"cancelled, and done":   func(cancel func()) (tool.Result, error) { cancel(); return tool.Result{}, nil },
		"it unwinds":            func(func()) (tool.Result, error) { return tool.Result{}, &step.Unwind{Released: true} },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			l, b := &log{}, budget.NewCounter(1)
			x := do{"x", func(context.Context, json.RawMessage) (tool.Result, error) { return f(cancel) }}
			told := &hook{name: "a", log: l, onError: func(ctx context.Context, _ error) error {
				if _, bounded := ctx.Deadline(); ctx.Err() != nil || name == "cancelled" && !bounded {
					t.Errorf("the context of the cleanup: %v", ctx.Err())
				}
				return nil
			}}
			var err error
			var over sync.WaitGroup
			over.Go(func() {
				_, err = dispatch.Dispatch(ctx, toolsOf(t, x), []protocol.ToolCall{call("x", `{}`)},
					dispatch.WithHooks(told, dispatch.BudgetHook(b, 1)))
			})
			over.Wait()
			want := "a:before:x a:error:x"
			if name == "cancelled, and done" {
				want = "a:before:x a:after:x"
			}
			if wantLog(t, l, want); b.Available() != 1 {
				t.Error("the reservation is still held")
			}
			if name == "it unwinds" && !step.Unwinding(err) {
				t.Errorf("got %v", err)
			}
			if name == "cancelled" && protocol.CodeOf(err) != protocol.CodeCancelled {
				t.Errorf("got %v", err)
			}
		})
	}
}

func TestNothingIsAskedWhereTheContextHasEnded(t *testing.T) {
	t.Parallel()
	l := &log{}
	ctx, cancel := context.WithCancel(t.Context())
	stop := &hook{name: "a", log: l, before: func() (dispatch.Decision, error) {
		cancel()
		return dispatch.Continue(), nil
	}}
	calls := []protocol.ToolCall{call("x", `{}`), call("x", `{}`)}
	made := do{"x", func(context.Context, json.RawMessage) (tool.Result, error) {
		t.Error("it was made")
		return tool.Result{}, nil
	}}
	for range 2 {
		results, err := dispatch.Dispatch(ctx, toolsOf(t, made), calls, dispatch.WithHooks(stop))
		if protocol.CodeOf(err) != protocol.CodeCancelled || len(results) != 0 {
			t.Errorf("got %v, %v", results, err)
		}
	}
	wantLog(t, l, "a:before:x a:error:x")
}

// A Caller that crashes, which is not the tool, is an error too.
func TestACallerThatCrashes(t *testing.T) {
	t.Parallel()
	l := &log{}
	ctx := compose.WithCaller(t.Context(), func(context.Context, tool.Tool, protocol.ToolCall) (tool.Result, error) { panic("x") })
	_, err := dispatch.Dispatch(ctx, toolsOf(t, weather), []protocol.ToolCall{call("get_weather", `{}`)},
		dispatch.WithHooks(&hook{name: "a", log: l}))
	wantKind(t, err, compose.KindToolFailed, "")
	wantLog(t, l, "a:before:get_weather a:error:get_weather")
}

func TestTooManyCallsAreRefused(t *testing.T) {
	t.Parallel()
	l := &log{}
	_, err := dispatch.Dispatch(t.Context(), toolsOf(t, weather), make([]protocol.ToolCall, dispatch.MaxCalls+1),
		dispatch.WithHooks(&hook{name: "a", log: l}))
	wantKind(t, err, compose.KindInvalidArgument, "1025")
	wantLog(t, l, "")
	_, err = dispatch.Dispatch(t.Context(), nil, nil)
	wantKind(t, err, compose.KindInvalidArgument, "no tools")
}

// Bounds are for who reads the results: hooks see them whole, and so does who asks without.
func TestBoundedResults(t *testing.T) {
	t.Parallel()
	items, err := json.Marshal(map[string]any{"blob": strings.Repeat("x", 10_000), "items": make([]int, 200)})
	if err != nil {
		t.Fatal(err)
	}
	tools := toolsOf(t, returns("diagnostics.big_payload", string(items)), fails("x", errors.New("no")))
	raw := &hook{name: "a", log: &log{}, after: func(r dispatch.Result, _ dispatch.Outcome) error {
		if len(r.Output) != len(items) {
			t.Errorf("the hook sees %d bytes", len(r.Output))
		}
		return nil
	}}
	calls := []protocol.ToolCall{call("diagnostics.big_payload", `{}`), call("x", `{}`)}
	bounded, err := dispatch.Bounded(t.Context(), tools, calls, tool.Bounds{MaxChars: 64, MaxItems: 4}, dispatch.WithHooks(raw))
	wantKind(t, err, compose.KindToolFailed, "no")
	var got struct {
		Blob  string
		Items []int
	}
	if len(bounded) != 1 || json.Unmarshal(bounded[0].Envelope.Payload, &got) != nil || len(got.Blob) != 64 || len(got.Items) != 4 ||
		!bounded[0].Envelope.Truncated || bounded[0].Call.Name != "diagnostics.big_payload" {
		t.Errorf("got %+v", bounded)
	}
	results, err := dispatch.Dispatch(t.Context(), tools, calls[:1])
	if err != nil || len(results[0].Output) != len(items) {
		t.Errorf("got %d bytes, %v", len(results[0].Output), err)
	}
	if raw, err := protocol.Marshal(bounded[0]); err != nil || !strings.HasPrefix(string(raw), `{"call":{"id":`) {
		t.Errorf("%s, %v", raw, err)
	}
}
