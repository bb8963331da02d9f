package dispatch_test

import (
	"context"
	"encoding/json"
	"errors"
	"math/rand/v2"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/skelegent/skelegent-go/actors/budget"
	"github.com/skelegent/skelegent-go/actors/compose"
	"github.com/skelegent/skelegent-go/actors/compose/dispatch"
	"github.com/skelegent/skelegent-go/actors/tool"
	"github.com/skelegent/skelegent-go/protocol"
)

// However a call ends, the place that it took is free again.
func TestBudgetHookGivesBack(t *testing.T) {
	t.Parallel()
	l := &log{}
	broken := &hook{name: "b", log: l, before: func() (dispatch.Decision, error) { return dispatch.Continue(), errors.New("x") }}
	for name, c := range map[string]struct {
		tool  string
		later dispatch.Hook
	}{
		"success":                   {"get_weather", nil},
		"the tool fails":            {"offline", nil},
		"a later hook fails":        {"get_weather", broken},
		"a later hook skips":        {"get_weather", &hook{log: l, before: decide(dispatch.Skip(nil, ""))}},
		"a later hook terminates":   {"get_weather", &hook{log: l, before: decide(dispatch.Terminate("no"))}},
		"a later hook crashes":      {"get_weather", &hook{log: l, before: func() (dispatch.Decision, error) { panic("x") }}},
		"there is no such tool":     {"unknown", nil},
		"a later hook fails behind": {"get_weather", &hook{log: l, after: func(dispatch.Result, dispatch.Outcome) error { panic("x") }}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := budget.NewCounter(1)
			during := &hook{name: "d", log: &log{}, before: func() (dispatch.Decision, error) {
				if b.Available() != 0 {
					t.Error("nothing is held")
				}
				return dispatch.Continue(), nil
			}}
			tools := toolsOf(t, weather, fails("offline", compose.ErrToolFailed("weather offline")))
			_, _ = dispatch.Dispatch(t.Context(), tools, []protocol.ToolCall{call(c.tool, `{}`)},
				dispatch.WithHooks(dispatch.BudgetHook(b, 1), during, c.later))
			if b.Available() != 1 {
				t.Error("it is still held")
			}
		})
	}
}

func TestBudgetHookDenies(t *testing.T) {
	t.Parallel()
	l, b := &log{}, budget.NewCounter(0)
	_, err := dispatch.Dispatch(t.Context(), toolsOf(t, weather), []protocol.ToolCall{call("get_weather", `{}`)},
		dispatch.WithHooks(&hook{name: "a", log: l}, dispatch.BudgetHook(b, 3)))
	wantKind(t, err, compose.KindDispatchTerminated, "budget denied `get_weather` at cost 3")
	wantLog(t, l, "a:before:get_weather a:error:get_weather")
	money := budget.New(new(protocol.MustDecimal("0.10")))
	_, err = dispatch.Dispatch(t.Context(), toolsOf(t, weather), []protocol.ToolCall{call("get_weather", `{}`)},
		dispatch.WithHooks(dispatch.BudgetHook(budget.PerCall(money, protocol.MustDecimal("0.20")), 1)))
	wantKind(t, err, compose.KindDispatchTerminated, "budget denied")
	_, err = dispatch.Dispatch(t.Context(), toolsOf(t), []protocol.ToolCall{call("a\nb", `{}`)},
		dispatch.WithHooks(dispatch.BudgetHook(b, 3)))
	wantKind(t, err, compose.KindDispatchTerminated, "budget denied `a\\nb` at")
}

// guard is one that somebody else keeps.
type guard struct{ err error }

func (g guard) TryReserve(context.Context, uint64) (bool, error) { return false, g.err }
func (guard) Release(uint64)                                     { panic("nothing was taken") }

func TestBudgetHookOfAGuardThatCannotTell(t *testing.T) {
	t.Parallel()
	own := protocol.NewError(protocol.CodeUnavailable, "backend is down")
	_, err := dispatch.Dispatch(t.Context(), toolsOf(t, weather), []protocol.ToolCall{call("get_weather", `{}`)},
		dispatch.WithHooks(dispatch.BudgetHook(guard{own}, 1)))
	wantKind(t, err, compose.KindBudgetFailed, "budget failed: backend is down")
	if !errors.Is(err, own) {
		t.Errorf("got %v", err)
	}
}

// Hooks that were not asked are told of a skip. What is held for another call is not given back by that.
func TestBudgetHookHoldsEachCallByItself(t *testing.T) {
	t.Parallel()
	b := budget.NewCounter(1)
	places := dispatch.BudgetHook(b, 1)
	inner := toolsOf(t, weather)
	outer := do{"outer", func(ctx context.Context, _ json.RawMessage) (tool.Result, error) {
		skip := &hook{log: &log{}, before: decide(dispatch.Skip(nil, ""))}
		_, err := dispatch.Dispatch(ctx, inner, []protocol.ToolCall{call("get_weather", `{}`)}, dispatch.WithHooks(skip, places))
		if b.Available() != 0 {
			t.Error("what the call around it holds was given back")
		}
		return tool.Result{}, err
	}}
	calls := []protocol.ToolCall{call("outer", `{}`)}
	if _, err := dispatch.Dispatch(t.Context(), toolsOf(t, outer), calls, dispatch.WithHooks(places)); err != nil {
		t.Fatal(err)
	}
	if b.Available() != 1 {
		t.Error("it is still held")
	}
}

// Who calls the hook by himself gets back as often as he took, and no more.
func TestBudgetHookByHand(t *testing.T) {
	t.Parallel()
	b := budget.NewCounter(10)
	if ok, err := b.TryReserve(t.Context(), 4); !ok || err != nil {
		t.Fatal(err)
	}
	h := dispatch.BudgetHook(b, 2)
	for range 2 {
		if d, err := h.Before(t.Context(), call("x", `{}`)); err != nil || d.Kind() != dispatch.DecideContinue {
			t.Fatal(d, err)
		}
	}
	for i, want := range []uint64{4, 6, 6} {
		if err := h.After(t.Context(), dispatch.Result{}, dispatch.Outcome{}); err != nil || b.Available() != want {
			t.Errorf("%d: %d available, %v", i, b.Available(), err)
		}
	}
}

// Many dispatches with one hook, whose tools and hooks fail in every way: never more calls than places, and
// all are free at the end.
func TestBudgetHookUnderLoad(t *testing.T) {
	t.Parallel()
	const places = 7
	b := budget.NewCounter(places)
	shared := dispatch.BudgetHook(b, 1)
	var under, made atomic.Int64
	x := do{"x", func(context.Context, json.RawMessage) (tool.Result, error) {
		if n := under.Add(1); n > places {
			t.Errorf("%d at once", n)
		}
		defer under.Add(-1)
		runtime.Gosched()
		if made.Add(1)%3 == 0 {
			panic("x")
		}
		return tool.Result{}, nil
	}}
	tools := toolsOf(t, x)
	var all sync.WaitGroup
	for i := range uint64(300) {
		all.Go(func() {
			r := rand.New(rand.NewPCG(i, 1))
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			other := &hook{log: &log{}, before: func() (dispatch.Decision, error) {
				switch r.IntN(6) {
				case 0:
					panic("x")
				case 1:
					cancel()
				case 2:
					return dispatch.Skip(nil, ""), nil
				case 3:
					return dispatch.Terminate("x"), nil
				}
				return dispatch.Continue(), nil
			}}
			hooks := []dispatch.Hook{shared, other}
			if r.IntN(2) == 0 {
				hooks = []dispatch.Hook{other, shared}
			}
			for range 5 {
				_, _ = dispatch.Dispatch(ctx, tools, []protocol.ToolCall{call("x", `{}`), call("x", `{}`)}, dispatch.WithHooks(hooks...))
			}
		})
	}
	all.Wait()
	if b.Available() != places || made.Load() == 0 {
		t.Errorf("%d of %d are free, %d made", b.Available(), places, made.Load())
	}
}
