package agent_test

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/skelegent/skelegent-go/actors/agent"
	"github.com/skelegent/skelegent-go/actors/provider"
	"github.com/skelegent/skelegent-go/actors/tool"
	"github.com/skelegent/skelegent-go/protocol"
)

func TestOverrides(t *testing.T) {
	t.Parallel()
	money := func(s string) *protocol.Decimal { return new(protocol.MustDecimal(s)) }
	work := uses("c", "work", `{}`)
	for name, c := range map[string]struct {
		limits  agent.Limits
		ceiling *agent.Limits
		over    protocol.OperatorConfig
		budget  *protocol.Decimal
		exit    protocol.ExitKind
		turns   uint32
	}{
		"own":                   {agent.Limits{MaxTurns: 3}, nil, protocol.OperatorConfig{}, nil, protocol.ExitMaxTurns, 3},
		"turns":                 {agent.Limits{MaxTurns: 3}, nil, protocol.OperatorConfig{MaxTurns: new(uint32(5))}, nil, protocol.ExitMaxTurns, 5},
		"turns 0":               {agent.Limits{}, nil, protocol.OperatorConfig{MaxTurns: new(uint32(0))}, nil, protocol.ExitMaxTurns, 0},
		"turns, ceiling":        {agent.Limits{MaxTurns: 3}, &agent.Limits{MaxTurns: 4}, protocol.OperatorConfig{MaxTurns: new(uint32(5))}, nil, protocol.ExitMaxTurns, 4},
		"own over ceiling":      {agent.Limits{MaxTurns: 9}, &agent.Limits{MaxTurns: 4}, protocol.OperatorConfig{}, nil, protocol.ExitMaxTurns, 4},
		"below ceiling":         {agent.Limits{MaxTurns: 9}, &agent.Limits{MaxTurns: 4}, protocol.OperatorConfig{MaxTurns: new(uint32(2))}, nil, protocol.ExitMaxTurns, 2},
		"cost":                  {agent.Limits{MaxCost: money("100")}, nil, protocol.OperatorConfig{MaxCost: money("1.5")}, nil, protocol.ExitBudgetExhausted, 2},
		"cost raised":           {agent.Limits{MaxCost: money("0.5")}, nil, protocol.OperatorConfig{MaxCost: money("1.5")}, nil, protocol.ExitBudgetExhausted, 2},
		"cost, ceiling":         {agent.Limits{}, &agent.Limits{MaxCost: money("2")}, protocol.OperatorConfig{MaxCost: money("5")}, nil, protocol.ExitBudgetExhausted, 3},
		"ceiling alone":         {agent.Limits{}, &agent.Limits{MaxCost: money("2")}, protocol.OperatorConfig{}, nil, protocol.ExitBudgetExhausted, 3},
		"budget is smaller":     {agent.Limits{}, nil, protocol.OperatorConfig{MaxCost: money("5")}, money("0.5"), protocol.ExitBudgetExhausted, 1},
		"budget is larger":      {agent.Limits{}, nil, protocol.OperatorConfig{MaxCost: money("1")}, money("5"), protocol.ExitBudgetExhausted, 2},
		"budget alone":          {agent.Limits{}, nil, protocol.OperatorConfig{}, money("1"), protocol.ExitBudgetExhausted, 2},
		"duration":              {agent.Limits{MaxDuration: time.Hour}, nil, protocol.OperatorConfig{MaxDuration: new(protocol.Millis(2500))}, nil, protocol.ExitTimeout, 2},
		"duration 0":            {agent.Limits{}, nil, protocol.OperatorConfig{MaxDuration: new(protocol.Millis(0))}, nil, protocol.ExitTimeout, 0},
		"duration, ceiling":     {agent.Limits{}, &agent.Limits{MaxDuration: 1500 * time.Millisecond}, protocol.OperatorConfig{MaxDuration: new(protocol.Millis(9000))}, nil, protocol.ExitTimeout, 1},
		"tool calls, ceiling":   {agent.Limits{}, &agent.Limits{MaxToolCalls: 2}, protocol.OperatorConfig{}, nil, protocol.ExitBudgetExhausted, 2},
		"no allowed, then stop": {agent.Limits{MaxConsecutiveFailures: 5}, &agent.Limits{MaxConsecutiveFailures: 2}, protocol.OperatorConfig{AllowedOperators: []string{}}, nil, protocol.ExitCircuitBreaker, 2},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				m := &model{steps: []step{after(says("a", work).costs("1"), time.Second)}}
				a := build(t, agent.Config{Provider: m, Tools: tools(t), Limits: c.limits, Ceiling: c.ceiling})
				in := protocol.Text("go")
				in.Config = &c.over
				ctx := protocol.WithInvocation(t.Context(), &protocol.Invocation{Call: protocol.Call{Budget: c.budget}})
				out, err := a.Execute(ctx, in)
				if err != nil || out.ExitReason.Kind() != c.exit || out.Metadata.TurnsUsed != c.turns {
					t.Errorf("got %s after %d turns, %v; want %s after %d", out.ExitReason, out.Metadata.TurnsUsed, err, c.exit, c.turns)
				}
			})
		})
	}
}

func TestClockOfItsOwn(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	cfg := agent.Config{
		Provider: &model{steps: []step{says("a", uses("c", "work", `{}`))}}, Tools: tools(t),
		Limits: agent.Limits{MaxDuration: 70 * time.Second},
		Now:    func() time.Time { now = now.Add(10 * time.Second); return now },
	}
	// Looked at before each turn and call, and twice by each call: 40 s a turn.
	out := execute(t, cfg, protocol.Text("go"))
	wantExit(t, out, protocol.Exit(protocol.ExitTimeout), "a")
	if out.Metadata.TurnsUsed != 2 || out.Metadata.Duration != 100_000 || out.Metadata.SubDispatches[0].Duration != 10_000 {
		t.Errorf("got %+v", out.Metadata)
	}
}

func TestRequestIsPutTogether(t *testing.T) {
	t.Parallel()
	var n counter
	m := &model{steps: []step{says("done")}}
	in := protocol.Text("now")
	in.Context = []protocol.Message{
		protocol.NewMessage(protocol.RoleUser, protocol.TextContent("before")),
		protocol.NewMessage(protocol.RoleAssistant, protocol.TextContent("yes")),
	}
	cfg := agent.Config{
		Provider: m, Model: "own", System: "Be careful.", Temperature: new(0.5),
		Tools: []tool.Tool{n.tool("z"), n.tool("a")},
	}
	execute(t, cfg, in)
	in.Config = &protocol.OperatorConfig{Model: new("other"), SystemAddendum: new("Be brief.")}
	execute(t, cfg, in)
	cfg.System, cfg.MaxTokens = "", 7
	execute(t, cfg, in)

	x := m.asks[0]
	var said []string
	for _, msg := range x.Messages {
		said = append(said, msg.Role.String()+" "+msg.Text())
	}
	if d := cmp.Diff([]string{"user before", "assistant yes", "user now"}, said); d != "" {
		t.Error(d)
	}
	if x.Model != "own" || x.System != "Be careful." || *x.MaxTokens != 4096 || *x.Temperature != 0.5 || x.Tools[0].Name != "z" || x.Tools[1].Name != "a" {
		t.Errorf("got %+v", x)
	}
	if y := m.asks[1]; y.Model != "other" || y.System != "Be careful.\n\nBe brief." {
		t.Errorf("got model %q, system %q", y.Model, y.System)
	}
	if z := m.asks[2]; z.System != "Be brief." || *z.MaxTokens != 7 {
		t.Errorf("got system %q, %d tokens", z.System, *z.MaxTokens)
	}
}

func TestMoneyLimitsNeedAPrice(t *testing.T) {
	t.Parallel()
	one := new(protocol.MustDecimal("1"))
	m := &model{steps: []step{says("hi").costs("")}, unpriced: true}
	for name, cfg := range map[string]agent.Config{
		"own": {Provider: m, Limits: agent.Limits{MaxCost: one}}, "ceiling": {Provider: m, Ceiling: &agent.Limits{MaxCost: one}},
	} {
		if _, err := agent.New(cfg); protocol.CodeOf(err) != protocol.CodeInvalidInput || !strings.Contains(err.Error(), "money limit") {
			t.Errorf("%s: got %v", name, err)
		}
	}
	a := build(t, agent.Config{Provider: m})
	in := protocol.Text("go")
	in.Config = &protocol.OperatorConfig{MaxCost: one}
	if _, err := a.Execute(t.Context(), in); protocol.CodeOf(err) != protocol.CodeInvalidInput {
		t.Errorf("override: got %v", err)
	}
	ctx := protocol.WithInvocation(t.Context(), &protocol.Invocation{Call: protocol.Call{Budget: one}})
	if _, err := a.Execute(ctx, protocol.Text("go")); protocol.CodeOf(err) != protocol.CodeInvalidInput {
		t.Errorf("budget: got %v", err)
	}
	if len(m.asks) != 0 {
		t.Error("the model was asked")
	}
	out, err := a.Execute(t.Context(), protocol.Text("go"))
	if err != nil || out.Metadata.UnpricedCalls != 1 || !out.Metadata.Cost.IsZero() {
		t.Errorf("without a limit: got %+v, %v", out.Metadata, err)
	}
}

// plain is a provider that cannot say whether it knows prices.
type plain struct{ provider.Provider }

func TestProviderWithoutPricerMayStart(t *testing.T) {
	t.Parallel()
	m := &model{steps: []step{says("hi")}}
	out := execute(t, agent.Config{Provider: plain{m}, Limits: agent.Limits{MaxCost: new(protocol.MustDecimal("1"))}}, protocol.Text("go"))
	wantExit(t, out, protocol.Exit(protocol.ExitComplete), "hi")
}

func TestNewRefuses(t *testing.T) {
	t.Parallel()
	var n counter
	m := &model{}
	for name, cfg := range map[string]agent.Config{
		"no provider":       {},
		"bad tool name":     {Provider: m, Tools: []tool.Tool{n.tool("a b")}},
		"negative cost":     {Provider: m, Limits: agent.Limits{MaxCost: new(protocol.MustDecimal("-1"))}},
		"negative duration": {Provider: m, Ceiling: &agent.Limits{MaxDuration: -1}},
	} {
		if _, err := agent.New(cfg); protocol.CodeOf(err) != protocol.CodeInvalidInput {
			t.Errorf("%s: got %v", name, err)
		}
	}
	if _, err := agent.SingleShot(agent.Config{Provider: m, Tools: []tool.Tool{n.tool("a")}}); protocol.CodeOf(err) != protocol.CodeInvalidInput {
		t.Errorf("single shot with tools: got %v", err)
	}
	if _, err := agent.SingleShot(agent.Config{}); err == nil {
		t.Error("single shot without a provider")
	}
	if _, err := build(t, agent.Config{Provider: m}).Execute(t.Context(), protocol.OperatorInput{}); protocol.CodeOf(err) != protocol.CodeInvalidInput {
		t.Errorf("empty input: got %v", err)
	}
}

// Case D7.7 of the specification, and how it ends otherwise.
func TestD7Fact7SingleShot(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		step step
		exit protocol.ExitReason
	}{
		"complete":       {says("a"), protocol.Exit(protocol.ExitComplete)},
		"truncated":      {says("a").stopped(protocol.StopMaxTokens), agent.ExitTruncated},
		"content filter": {says("a").stopped(protocol.StopContentFilter), protocol.SafetyStop("content filter triggered")},
		"makes up calls": {says("a", uses("c", "x", `{}`)), protocol.Exit(protocol.ExitComplete)},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m := &model{steps: []step{c.step}}
			a, err := agent.SingleShot(agent.Config{Provider: m})
			if err != nil {
				t.Fatal(err)
			}
			in := protocol.Text("go")
			in.Metadata = json.RawMessage(`{"temperature":9}`)
			out, err := a.Execute(t.Context(), in)
			if err != nil {
				t.Fatal(err)
			}
			wantExit(t, out, c.exit, "a")
			if out.Metadata.TurnsUsed != 1 || len(out.Metadata.SubDispatches) != 0 || out.Metadata.Cost.IsNegative() || len(m.asks) != 1 || m.asks[0].ProviderOptions != nil {
				t.Errorf("%d turns, %d calls", out.Metadata.TurnsUsed, len(m.asks))
			}
		})
	}
}

func TestRetryDelays(t *testing.T) {
	t.Parallel()
	busy := protocol.ErrProviderTransient("busy", 503)
	for name, c := range map[string]struct {
		steps  []step
		limits agent.Limits
		delays []time.Duration
		exit   protocol.ExitKind // empty for an error
	}{
		"doubles up to the bound": {
			[]step{fails(busy), fails(busy), fails(busy), fails(busy), says("hi")},
			agent.Limits{MaxConsecutiveFailures: 9},
			[]time.Duration{250 * time.Millisecond, 500 * time.Millisecond, time.Second, 1500 * time.Millisecond},
			protocol.ExitComplete,
		},
		"retry-after": {
			[]step{fails(protocol.ErrRateLimited(7 * time.Second)), says("hi")},
			agent.Limits{},
			[]time.Duration{7 * time.Second},
			protocol.ExitComplete,
		},
		"retry-after too long":   {[]step{fails(protocol.ErrRateLimited(time.Hour)), says("hi")}, agent.Limits{}, nil, ""},
		"no time left":           {[]step{fails(protocol.ErrRateLimited(7 * time.Second)), says("hi")}, agent.Limits{MaxDuration: 5 * time.Second}, nil, ""},
		"no time left, was paid": {[]step{says("", uses("c", "work", `{}`)), fails(protocol.ErrRateLimited(7 * time.Second))}, agent.Limits{MaxDuration: 5 * time.Second}, nil, protocol.ExitTimeout},
		"success starts over": {
			[]step{fails(busy), fails(busy), says("", uses("c", "work", `{}`)), fails(busy), fails(busy), says("hi")},
			agent.Limits{},
			[]time.Duration{250 * time.Millisecond, 500 * time.Millisecond, 250 * time.Millisecond, 500 * time.Millisecond},
			protocol.ExitComplete,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var delays []time.Duration
			cfg := agent.Config{
				Provider: &model{steps: c.steps}, Limits: c.limits, Tools: tools(t), Retry: agent.Retry{Max: 3 * time.Second},
				Rand:  func() float64 { return 0.5 },
				Sleep: func(_ context.Context, d time.Duration) error { delays = append(delays, d); return nil },
			}
			out, err := build(t, cfg).Execute(t.Context(), protocol.Text("go"))
			if (err != nil) != (c.exit == "") || err == nil && out.ExitReason.Kind() != c.exit {
				t.Errorf("got %s, %v", out.ExitReason, err)
			}
			if d := cmp.Diff(c.delays, delays); d != "" {
				t.Error(d)
			}
		})
	}
}

func TestRetryWaitEndsWithTheCaller(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		go func() {
			time.Sleep(time.Second)
			cancel()
		}()
		a := build(t, agent.Config{Provider: &model{steps: []step{fails(protocol.ErrRateLimited(time.Minute))}}})
		start := time.Now()
		if _, err := a.Execute(ctx, protocol.Text("go")); protocol.CodeOf(err) != protocol.CodeCancelled || time.Since(start) != time.Second {
			t.Errorf("got %v after %v", err, time.Since(start))
		}
		cfg := agent.Config{
			Provider: &model{steps: []step{fails(protocol.ErrRateLimited(0))}},
			Sleep:    func(context.Context, time.Duration) error { return errors.New("broken") },
		}
		if _, err := build(t, cfg).Execute(t.Context(), protocol.Text("go")); protocol.CodeOf(err) != protocol.CodeInternal {
			t.Errorf("got %v", err)
		}
	})
}
