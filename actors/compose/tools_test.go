package compose_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/skelegent/skelegent-go/actors/compose"
	"github.com/skelegent/skelegent-go/actors/step"
	"github.com/skelegent/skelegent-go/actors/tool"
	"github.com/skelegent/skelegent-go/protocol"
)

func TestToolsAreFoundAndInvoked(t *testing.T) {
	t.Parallel()
	r := tools(t, raw(t, "math.add", func(_ context.Context, in json.RawMessage) (tool.Result, error) {
		return tool.Result{Output: in}, nil
	}))
	res, err := r.Invoke(t.Context(), "math.add", json.RawMessage(`{"a":2}`))
	noErr(t, err)
	same(t, "output", `{"a":2}`, res.Text())
	for _, none := range []string{"", " ", "null"} {
		res, err := r.Invoke(t.Context(), "math.add", json.RawMessage(none))
		if err != nil || res.Text() != "{}" {
			t.Errorf("arguments %q: got %s, %v", none, res.Text(), err)
		}
	}
	_, err = r.Invoke(t.Context(), "math.add", json.RawMessage(`{`))
	wantKind(t, err, compose.KindInvalidArgument)
	_, err = r.Invoke(t.Context(), "nope", nil)
	wantKind(t, err, compose.KindToolNotFound)
	_, err = r.Get("nope")
	wantKind(t, err, compose.KindToolNotFound)
	if x, err := r.Get("math.add"); err != nil || x.Metadata().Name != "math.add" {
		t.Errorf("got %v, %v", x, err)
	}
}

func TestRegisterReplaces(t *testing.T) {
	t.Parallel()
	r := tools(t, saying(t, "x", `1`), saying(t, "x", `2`))
	if res, err := r.Invoke(t.Context(), "x", nil); err != nil || res.Text() != "2" || r.Len() != 1 {
		t.Errorf("got %s, %v, %d tools", res.Text(), err, r.Len())
	}
}

func TestRegisterRefuses(t *testing.T) {
	t.Parallel()
	r := tools(t)
	for name, x := range map[string]tool.Tool{
		"nil": nil, "no name": saying(t, "", `1`), "bad name": saying(t, "a b", `1`), "long name": saying(t, strings.Repeat("x", 257), `1`),
	} {
		if err := r.Register(x); compose.KindOf(err) != compose.KindInvalidArgument || r.Len() != 0 {
			t.Errorf("%s: got %v", name, err)
		}
	}
	var none *compose.Tools
	wantKind(t, none.Register(saying(t, "x", `1`)), compose.KindInvalidArgument)
	_, err := none.Scoped("x").Get("x")
	wantKind(t, err, compose.KindToolNotFound)
	same(t, "names of nothing", []string(nil), none.Names())
}

func TestAuthorisationIsAskedBeforeExistence(t *testing.T) {
	t.Parallel()
	view := tools(t, saying(t, "a", `1`), saying(t, "b", `1`)).Scoped("a", "later")
	for name, want := range map[string]protocol.ErrorKind{
		"a":     "",
		"later": compose.KindToolNotFound,
		"b":     compose.KindToolNotAuthorised, // it exists
		"c":     compose.KindToolNotAuthorised, // it does not
	} {
		_, err := view.Get(name)
		_, invoked := view.Invoke(t.Context(), name, nil)
		if compose.KindOf(err) != want || compose.KindOf(invoked) != want {
			t.Errorf("%s: got %v, %v", name, err, invoked)
		}
	}
	same(t, "names", []string{"a"}, view.Names())
	same(t, "len", 1, view.Len())
}

func TestAViewSeesWhatIsRegisteredLater(t *testing.T) {
	t.Parallel()
	all := tools(t)
	view := all.Scoped("later")
	noErr(t, all.Register(saying(t, "later", `7`)))
	noErr(t, all.Register(saying(t, "other", `8`)))
	if res, err := view.Invoke(t.Context(), "later", nil); err != nil || res.Text() != "7" {
		t.Errorf("got %s, %v", res.Text(), err)
	}
	same(t, "names", []string{"later"}, view.Names())
}

func TestNestedScopesIntersect(t *testing.T) {
	t.Parallel()
	all := tools(t, saying(t, "a", `1`), saying(t, "b", `1`), saying(t, "c", `1`))
	inner := all.Scoped("a", "b").Scoped("b", "c")
	same(t, "names", []string{"b"}, inner.Names())
	for _, name := range []string{"a", "c"} {
		_, err := inner.Get(name)
		wantKind(t, err, compose.KindToolNotAuthorised)
	}
	if n := all.Scoped().Scoped("a").Len(); n != 0 {
		t.Errorf("a view of nothing sees %d", n)
	}
}

func TestAViewCannotRegisterWhatItCannotSee(t *testing.T) {
	t.Parallel()
	all := tools(t, saying(t, "b", `"old"`))
	view := all.Scoped("a")
	wantKind(t, view.Register(saying(t, "b", `"new"`)), compose.KindToolNotAuthorised)
	if res, err := all.Invoke(t.Context(), "b", nil); err != nil || res.Text() != "old" {
		t.Errorf("got %s, %v", res.Text(), err)
	}
	noErr(t, view.Register(saying(t, "a", `1`)))
	same(t, "names", []string{"a", "b"}, all.Names())
}

func TestSchemasAreSortedAndScoped(t *testing.T) {
	t.Parallel()
	r := tools(t, saying(t, "c", `1`), saying(t, "a", `1`), saying(t, "b", `1`))
	var names []string
	for _, s := range r.Scoped("c", "b", "nope").Schemas() {
		names = append(names, s.Name)
		if s.Description != "It is "+s.Name+"." || len(s.InputSchema) == 0 {
			t.Errorf("got %+v", s)
		}
	}
	same(t, "names", []string{"b", "c"}, names)
	same(t, "of nothing", []protocol.ToolSchema{}, r.Scoped().Schemas())
}

func TestForAgentWritesDotsAsUnderscores(t *testing.T) {
	t.Parallel()
	r := tools(t, saying(t, "math.add", `5`, tool.Repeatable()), saying(t, "b", `1`))
	all, err := r.ForAgent()
	noErr(t, err)
	if len(all) != 2 || all[0].Metadata().Name != "b" || all[1].Metadata().Name != "math_add" || !tool.CanRepeat(all[1]) {
		t.Fatalf("got %v", all)
	}
	if _, err := tool.NewRegistry(all...); err != nil {
		t.Error(err)
	}
	noErr(t, r.Register(saying(t, "math_add", `1`)))
	_, err = r.ForAgent()
	wantKind(t, err, compose.KindInvalidArgument)
	_, err = tools(t, saying(t, strings.Repeat("x", 65), `1`)).ForAgent()
	wantKind(t, err, compose.KindInvalidArgument)
}

func TestErrorsOfTools(t *testing.T) {
	t.Parallel()
	denied := protocol.NewError(protocol.CodePermissionDenied, "no").With("who", "me")
	limited := protocol.ErrToolRateLimited("slow", 3*time.Second)
	unwind := &step.Unwind{Released: true}
	for name, c := range map[string]struct {
		err  error
		kind protocol.ErrorKind
		text string
		code protocol.Code
	}{
		"plain":       {errBoom, compose.KindToolFailed, "tool invocation failed: boom", protocol.CodeToolError},
		"coded":       {denied, compose.KindToolFailed, "tool invocation failed: no", protocol.CodePermissionDenied},
		"rate limit":  {limited, compose.KindToolFailed, "tool invocation failed: " + limited.Message, protocol.CodeQuotaExceeded},
		"own timeout": {context.DeadlineExceeded, compose.KindToolFailed, "tool invocation failed: deadline exceeded", protocol.CodeTimeout},
		"kernel": {
			compose.ErrToolNotApplicable("unknown entity"), compose.KindToolNotApplicable, "tool not applicable: unknown entity", protocol.CodeToolError,
		},
		"unwinding": {unwind, "", unwind.Error(), protocol.CodeInternal},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := tools(t, failing(t, "x", c.err)).Invoke(t.Context(), "x", nil)
			e := protocol.AsError(err)
			if compose.KindOf(err) != c.kind || err.Error() != c.text || e.Code != c.code || !errors.Is(err, c.err) {
				t.Errorf("got %v, %s, %s", err, e.Kind, e.Code)
			}
			if before := (*protocol.Error)(nil); errors.As(c.err, &before) {
				if e.Retryable != before.Retryable || e.RetryAfter != before.RetryAfter {
					t.Errorf("the hints are %v %v", e.Retryable, e.RetryAfter)
				}
				for k, v := range before.Details {
					same(t, k, v, e.Details[k])
				}
			}
			if c.kind == compose.KindToolFailed {
				same(t, "tool", "x", e.Details["tool"])
			}
		})
	}
}

func TestAnErrorOfTheSchemaIsAToolsFailure(t *testing.T) {
	t.Parallel()
	_, err := tools(t, saying(t, "x", `1`)).Invoke(t.Context(), "x", json.RawMessage(`[1]`))
	if e := wantKind(t, err, compose.KindToolFailed); e.Code != protocol.CodeInvalidInput ||
		!errors.Is(err, &protocol.Error{Kind: protocol.KindToolInvalidInput}) {
		t.Errorf("got %v, %s", e, e.Code)
	}
}

func TestThePanicOfAToolSaysNothingOfItsValue(t *testing.T) {
	t.Parallel()
	x := raw(t, "x", func(context.Context, json.RawMessage) (tool.Result, error) { panic("secret") })
	_, err := tools(t, x).Invoke(t.Context(), "x", nil)
	var crash *tool.PanicError
	if e := wantKind(t, err, compose.KindToolFailed); strings.Contains(e.Message, "secret") || !errors.As(err, &crash) {
		t.Errorf("got %v", err)
	}
}

func TestTheEndOfTheContextIsNoFailureOfTheTool(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	x := raw(t, "x", func(ctx context.Context, _ json.RawMessage) (tool.Result, error) {
		cancel()
		return tool.Result{}, fmt.Errorf("asking: %w", ctx.Err())
	})
	_, err := tools(t, x).Invoke(ctx, "x", nil)
	if !errors.Is(err, context.Canceled) || protocol.CodeOf(err) != protocol.CodeCancelled || compose.KindOf(err) != "" {
		t.Errorf("got %v", err)
	}
}

func TestResultsKeepEffectsAndCost(t *testing.T) {
	t.Parallel()
	cost := protocol.MustDecimal("0.25")
	for _, failure := range []error{nil, errBoom} {
		x := raw(t, "x", func(context.Context, json.RawMessage) (tool.Result, error) {
			return tool.Result{Effects: protocol.Effects{protocol.Log{Level: protocol.LogInfo, Message: "m"}}, Cost: &cost, UnpricedCalls: 2}, failure
		})
		res, err := tools(t, x).Invoke(t.Context(), "x", nil)
		if (err == nil) != (failure == nil) || res.Cost == nil || res.Cost.Text() != "0.25" || res.UnpricedCalls != 2 {
			t.Errorf("got %+v, %v", res, err)
		}
		if (len(res.Effects) == 1) != (failure == nil) { // beside an error they do not count
			t.Errorf("got %v", res.Effects)
		}
	}
}

func TestWhoRunsAChainDecidesHowItsToolsAreCalled(t *testing.T) {
	t.Parallel()
	var calls []string
	caller := func(ctx context.Context, x tool.Tool, call protocol.ToolCall) (tool.Result, error) {
		calls = append(calls, call.Name+string(call.Input))
		return tool.Call(ctx, x, call.Input)
	}
	inner := tools(t, saying(t, "inner", `1`))
	outer := tools(t, raw(t, "outer", func(ctx context.Context, _ json.RawMessage) (tool.Result, error) {
		return inner.Invoke(ctx, "inner", nil) // a chain below is not the caller's
	}))
	ctx := compose.WithCaller(t.Context(), caller)
	_, err := outer.Invoke(ctx, "outer", json.RawMessage(`{"a":1}`))
	noErr(t, err)
	same(t, "calls", []string{`outer{"a":1}`}, calls)

	_, err = outer.Invoke(compose.WithCaller(ctx, func(context.Context, tool.Tool, protocol.ToolCall) (tool.Result, error) {
		return tool.Result{}, errBoom
	}), "outer", nil)
	wantKind(t, err, compose.KindToolFailed)
}

func TestACallThatNeedsApprovalIsNotMadeWhereNobodyIsAsked(t *testing.T) {
	t.Parallel()
	x := raw(t, "x", func(context.Context, json.RawMessage) (tool.Result, error) {
		t.Error("it was called")
		return tool.Result{}, nil
	}, tool.RequiresApproval())
	_, err := tools(t, x).Invoke(t.Context(), "x", nil)
	if e := wantKind(t, err, compose.KindToolNotAuthorised); !strings.Contains(e.Message, "approval") {
		t.Errorf("got %v", e)
	}
}

func TestToolsAreSafeForConcurrentUse(t *testing.T) {
	t.Parallel()
	all := tools(t, saying(t, "a", `1`))
	view := all.Scoped("a", "b")
	var wg sync.WaitGroup
	for i := range 8 {
		wg.Go(func() {
			for range 50 {
				if err := view.Register(saying(t, "b", `2`)); err != nil {
					t.Error(err)
				}
				if _, err := view.Invoke(t.Context(), "a", nil); err != nil {
					t.Error(err)
				}
				if n := len(view.Scoped("a").Schemas()); n != 1 || all.Len() < 1 || len(all.Names()) < 1 {
					t.Error(i, n)
				}
			}
		})
	}
	wg.Wait()
}
