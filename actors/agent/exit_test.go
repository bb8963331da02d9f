package agent_test

import (
	"context"
	"encoding/json"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/skelegent/skelegent-go/actors/agent"
	"github.com/skelegent/skelegent-go/actors/tool"
	"github.com/skelegent/skelegent-go/protocol"
)

func constant(output string) func(context.Context, json.RawMessage) (tool.Result, error) {
	return func(context.Context, json.RawMessage) (tool.Result, error) {
		return tool.Result{Output: json.RawMessage(output)}, nil
	}
}

func slow(d time.Duration) func(context.Context) error {
	return func(ctx context.Context) error {
		select {
		case <-time.After(d):
			return nil
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

func after(s step, d time.Duration) step {
	s.do = slow(d)
	return s
}

// tools of the exit tests: work succeeds, fail fails, hang takes an hour, stop halts, leave hands off.
func tools(t testing.TB) []tool.Tool {
	t.Helper()
	var n counter
	leave := tool.Effect("leave", "", func(context.Context, struct{}) (string, protocol.Effects, error) {
		return "bye", protocol.Effects{protocol.Handoff{Operator: "other", State: json.RawMessage(`{}`)}}, nil
	})
	hang := tool.Func("hang", "", func(ctx context.Context, _ struct{}) (string, error) { return "", slow(time.Hour)(ctx) })
	return []tool.Tool{
		n.tool("work"), broken("fail", errors.New("x")), broken("stop", protocol.ErrEngineHalted("too risky")), hang, leave,
		n.tool("ask", tool.RequiresApproval()),
	}
}

func TestExitReasons(t *testing.T) {
	t.Parallel()
	work, fail := uses("c", "work", `{}`), uses("c", "fail", `{}`)
	transient, fatal := protocol.ErrProviderTransient("down", 503), protocol.ErrAuthFailed("no")
	for name, c := range map[string]struct {
		steps  []step
		limits agent.Limits
		exit   protocol.ExitReason
		text   string
		calls  int // of tools that are recorded
	}{
		"complete":               {[]step{says("hi")}, agent.Limits{}, protocol.Exit(protocol.ExitComplete), "hi", 0},
		"nothing said":           {[]step{{resp: protocol.InferResponse{StopReason: protocol.StopEndTurn}}}, agent.Limits{}, protocol.Exit(protocol.ExitComplete), "", 0},
		"complete over budget":   {[]step{says("hi").costs("9")}, agent.Limits{MaxCost: new(protocol.MustDecimal("1"))}, protocol.Exit(protocol.ExitComplete), "hi", 0},
		"truncated":              {[]step{says("hi").stopped(protocol.StopMaxTokens)}, agent.Limits{}, agent.ExitTruncated, "hi", 0},
		"truncated call runs":    {[]step{says("", work).stopped(protocol.StopMaxTokens), says("hi")}, agent.Limits{}, protocol.Exit(protocol.ExitComplete), "hi", 1},
		"max turns":              {[]step{says("a", work), says("", work)}, agent.Limits{MaxTurns: 2}, protocol.Exit(protocol.ExitMaxTurns), "a", 2},
		"max turns without text": {[]step{says("", work)}, agent.Limits{MaxTurns: 1}, protocol.Exit(protocol.ExitMaxTurns), "", 1},
		"budget":                 {[]step{says("a", work).costs("0.6"), says("b", work).costs("0.6")}, agent.Limits{MaxCost: new(protocol.MustDecimal("1"))}, protocol.Exit(protocol.ExitBudgetExhausted), "b", 1},
		"unknown cost":           {[]step{says("a", work).costs("")}, agent.Limits{MaxCost: new(protocol.MustDecimal("1"))}, protocol.Exit(protocol.ExitBudgetExhausted), "a", 0},
		"turns before budget":    {[]step{says("a", work).costs("1"), says("b", work).costs("0")}, agent.Limits{MaxTurns: 2, MaxToolCalls: 2}, protocol.Exit(protocol.ExitMaxTurns), "b", 2},
		"tool calls":             {[]step{says("a", work)}, agent.Limits{MaxToolCalls: 2}, protocol.Exit(protocol.ExitBudgetExhausted), "a", 2},
		"tool calls in one turn": {[]step{says("a", work, work, work)}, agent.Limits{MaxToolCalls: 2}, protocol.Exit(protocol.ExitBudgetExhausted), "a", 2},
		"timeout at boundary":    {[]step{after(says("a", work), time.Minute)}, agent.Limits{MaxDuration: 90 * time.Second}, protocol.Exit(protocol.ExitTimeout), "a", 1},
		"timeout in model":       {[]step{after(says("a"), time.Hour)}, agent.Limits{MaxDuration: time.Minute}, protocol.Exit(protocol.ExitTimeout), "", 0},
		"timeout in tool":        {[]step{says("a", uses("c", "hang", `{}`), work)}, agent.Limits{MaxDuration: time.Minute}, protocol.Exit(protocol.ExitTimeout), "a", 1},
		"budget before timeout":  {[]step{says("a", uses("c", "hang", `{}`))}, agent.Limits{MaxDuration: time.Minute, MaxToolCalls: 1}, protocol.Exit(protocol.ExitBudgetExhausted), "a", 1},
		"turns before timeout":   {[]step{says("a", uses("c", "hang", `{}`))}, agent.Limits{MaxDuration: time.Minute, MaxTurns: 1}, protocol.Exit(protocol.ExitMaxTurns), "a", 1},
		"provider breaker":       {[]step{says("a", work), fails(transient)}, agent.Limits{}, protocol.Exit(protocol.ExitCircuitBreaker), "a", 1},
		"provider error":         {[]step{says("a", work), fails(fatal)}, agent.Limits{}, protocol.Exit(protocol.ExitError), "a", 1},
		"provider uncoded error": {[]step{says("a", work), fails(errors.New("x"))}, agent.Limits{}, protocol.Exit(protocol.ExitError), "a", 1},
		"provider blocks":        {[]step{says("a", work), fails(protocol.ErrContentBlocked("x"))}, agent.Limits{}, protocol.SafetyStop("content filter triggered"), "a", 1},
		"provider guard":         {[]step{fails(protocol.ErrEngineHalted("not now"))}, agent.Limits{}, protocol.InterceptorHalt("not now"), "", 0},
		"tool breaker":           {[]step{says("a", fail), says("b", fail, fail, work)}, agent.Limits{}, protocol.Exit(protocol.ExitCircuitBreaker), "b", 3},
		"tool failures apart":    {[]step{says("a", fail, fail, work, fail, fail), says("hi")}, agent.Limits{}, protocol.Exit(protocol.ExitComplete), "hi", 5},
		"unknown tools":          {[]step{says("a", uses("c", "none", `{}`))}, agent.Limits{}, protocol.Exit(protocol.ExitCircuitBreaker), "a", 3},
		"tool guard":             {[]step{says("a", uses("c", "stop", `{}`), work)}, agent.Limits{MaxConsecutiveFailures: 1}, protocol.InterceptorHalt("too risky"), "a", 1},
		"safety":                 {[]step{says("a").stopped(protocol.StopContentFilter)}, agent.Limits{}, protocol.SafetyStop("content filter triggered"), "a", 0},
		"safety with calls":      {[]step{says("a", work).stopped(protocol.StopContentFilter)}, agent.Limits{}, protocol.SafetyStop("content filter triggered"), "a", 0},
		"approval":               {[]step{says("a", uses("c", "ask", `{}`))}, agent.Limits{}, protocol.Exit(protocol.ExitAwaitingApproval), "a", 0},
		"approval before budget": {[]step{says("a", uses("c", "ask", `{}`)).costs("9")}, agent.Limits{MaxTurns: 1, MaxCost: new(protocol.MustDecimal("1"))}, protocol.Exit(protocol.ExitAwaitingApproval), "a", 0},
		"handoff drops the rest": {[]step{says("a", uses("c", "leave", `{}`), work)}, agent.Limits{}, protocol.Exit(protocol.ExitHandedOff), "a", 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				m := &model{steps: c.steps}
				out := execute(t, agent.Config{Provider: m, Tools: tools(t), Limits: c.limits}, protocol.Text("go"))
				wantExit(t, out, c.exit, c.text)
				if n := len(out.Metadata.SubDispatches); n != c.calls {
					t.Errorf("%d calls of tools, want %d", n, c.calls)
				}
			})
		})
	}
}

func TestErrorsBeforeAnythingWasPaid(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		err   error
		code  protocol.Code
		calls int
		again bool
	}{
		"fatal":     {protocol.ErrAuthFailed("no"), protocol.CodeUnauthorized, 1, false},
		"blocked":   {protocol.ErrContentBlocked("no"), protocol.CodeModelError, 1, false},
		"transient": {protocol.ErrProviderTransient("down", 503), protocol.CodeUnavailable, 3, true},
		"limited":   {protocol.ErrRateLimited(time.Second), protocol.CodeQuotaExceeded, 3, true},
		"uncoded":   {errors.New("secret"), protocol.CodeInternal, 1, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				m := &model{steps: []step{fails(c.err)}}
				_, err := build(t, agent.Config{Provider: m}).Execute(t.Context(), protocol.Text("go"))
				var e *protocol.Error
				if !errors.As(err, &e) || e.Code != c.code || e.Kind != protocol.KindOperatorModel || e.Retryable != c.again {
					t.Errorf("got %#v", e)
				}
				if len(m.asks) != c.calls || !errors.Is(err, c.err) {
					t.Errorf("%d calls, %v", len(m.asks), err)
				}
			})
		})
	}
}

func TestCallersEndIsAnError(t *testing.T) {
	t.Parallel()
	drained := protocol.NewError(protocol.CodeCancelled, "the node is draining")
	for name, c := range map[string]struct {
		ctx  func(context.Context) (context.Context, context.CancelFunc)
		step step
		code protocol.Code
		text string
	}{
		"deadline in model": {func(ctx context.Context) (context.Context, context.CancelFunc) {
			return context.WithTimeout(ctx, time.Second)
		}, after(says("a"), time.Hour), protocol.CodeTimeout, "deadline exceeded"},
		"deadline in tool": {func(ctx context.Context) (context.Context, context.CancelFunc) {
			return context.WithTimeout(ctx, time.Second)
		}, says("a", uses("c", "hang", `{}`)), protocol.CodeTimeout, "deadline exceeded"},
		"coded cause": {func(ctx context.Context) (context.Context, context.CancelFunc) {
			return context.WithTimeoutCause(ctx, time.Second, drained)
		}, after(says("a"), time.Hour), protocol.CodeCancelled, "the node is draining"},
		"cancelled before": {func(ctx context.Context) (context.Context, context.CancelFunc) {
			ctx, cancel := context.WithCancel(ctx)
			cancel()
			return ctx, cancel
		}, says("a"), protocol.CodeCancelled, "cancelled"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := c.ctx(t.Context())
				defer cancel()
				cfg := agent.Config{Provider: &model{steps: []step{c.step}}, Tools: tools(t), Limits: agent.Limits{MaxDuration: time.Minute}}
				_, err := build(t, cfg).Execute(ctx, protocol.Text("go"))
				var e *protocol.Error
				if !errors.As(err, &e) || e.Code != c.code || e.Message != c.text {
					t.Errorf("got %v", err)
				}
			})
		})
	}
}

func TestMetadata(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		child := tool.Func("child", "", func(ctx context.Context, _ struct{}) (string, error) { return "", slow(3 * time.Second)(ctx) })
		spender, err := tool.Raw(protocol.ToolMetadata{Name: "spender"}, func(context.Context, json.RawMessage) (tool.Result, error) {
			return tool.Result{Cost: new(protocol.MustDecimal("0.0101")), UnpricedCalls: 2}, errors.New("x")
		})
		if err != nil {
			t.Fatal(err)
		}
		m := &model{steps: []step{after(says("a", uses("1", "child", `{}`), uses("2", "spender", `{}`)), time.Second), says("b").costs("")}}
		out := execute(t, agent.Config{Provider: m, Tools: []tool.Tool{child, spender}}, protocol.Text("go"))
		want := protocol.OperatorMetadata{
			TokensIn: 20, TokensOut: 10, Cost: protocol.MustDecimal("0.0151"), TurnsUsed: 2, Duration: 4000, UnpricedCalls: 3,
			SubDispatches: []protocol.SubDispatchRecord{
				{Name: "child", Duration: 3000, Success: true}, {Name: "spender", Duration: 0},
			},
		}
		if d := cmp.Diff(want, out.Metadata); d != "" {
			t.Error(d)
		}
	})
}
