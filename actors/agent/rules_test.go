package agent_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/skelegent/skelegent-go/actors/agent"
	"github.com/skelegent/skelegent-go/actors/budget"
	"github.com/skelegent/skelegent-go/actors/engine"
	"github.com/skelegent/skelegent-go/actors/provider"
	"github.com/skelegent/skelegent-go/actors/step/steptest"
	"github.com/skelegent/skelegent-go/actors/tool"
	"github.com/skelegent/skelegent-go/protocol"
)

// Every step of a run is an op that rules see.
func TestEveryStepIsAnOp(t *testing.T) {
	t.Parallel()
	var n counter
	var seen []string
	see := engine.BeforeAny("see", 0, engine.OpFunc("see", func(_ context.Context, c *engine.Context) error {
		seen = append(seen, c.Current().Name())
		return nil
	}))
	in := &agent.Inbox{}
	in.Say("hurry")
	m := &model{steps: []step{says("", uses("c", "work", `{}`)), says("done")}}
	a := build(t, agent.Config{Provider: m, System: "s", Tools: []tool.Tool{n.tool("work")}, Rules: []agent.Rule{see}})
	out, err := a.Execute(agent.WithInbox(t.Context(), in), protocol.Text("go"))
	if err != nil {
		t.Fatal(err)
	}
	wantExit(t, out, protocol.Exit(protocol.ExitComplete), "done")
	want := "inject_system inject_messages steer infer append_response exit_check execute_tool infer append_response exit_check"
	if got := strings.Join(seen, " "); got != want {
		t.Errorf("got %s", got)
	}
	if got := strings.Join(said(m.asks[0]), "|"); got != "user go|user hurry" {
		t.Errorf("heard %s", got)
	}
}

// How a run ends by its rules, before anything was paid and after.
func TestRulesEndRuns(t *testing.T) {
	t.Parallel()
	odd := protocol.CustomExit("odd")
	for name, c := range map[string]struct {
		rule func(error) agent.Rule
		err  error
		exit protocol.ExitReason // zero: the error comes back
		code protocol.Code
	}{
		"halt before anything": {func(err error) agent.Rule { return failing(engine.Before(engine.OpInfer, "r", 0, nil), err) }, engine.Halt("no"), protocol.InterceptorHalt("no"), ""},
		"stop of its own":      {func(err error) agent.Rule { return failing(engine.After(engine.OpAppendResponse, "r", 0, nil), err) }, engine.Stop(odd), odd, ""},
		"at the exit":          {func(err error) agent.Rule { return failing(engine.Before(engine.OpExitCheck, "r", 0, nil), err) }, engine.Halt("not yet"), protocol.InterceptorHalt("not yet"), ""},
		"halted kind":          {func(err error) agent.Rule { return failing(engine.After(engine.OpInfer, "r", 0, nil), err) }, protocol.ErrEngineHalted("risky"), protocol.InterceptorHalt("risky"), ""},
		"fails before":         {func(err error) agent.Rule { return failing(engine.Before(engine.OpInfer, "r", 0, nil), err) }, protocol.NewError(protocol.CodeConflict, "x"), protocol.ExitReason{}, protocol.CodeConflict},
		"fails after":          {func(err error) agent.Rule { return failing(engine.Before(engine.OpExitCheck, "r", 0, nil), err) }, errors.New("x"), protocol.Exit(protocol.ExitError), ""},
	} {
		for _, durable := range []bool{false, true} {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				a := build(t, agent.Config{Provider: &model{steps: []step{says("hi")}}, Rules: []agent.Rule{c.rule(c.err)}})
				run := func() (protocol.OperatorOutput, error) { return a.Execute(t.Context(), protocol.Text("go")) }
				if durable {
					r := start(steptest.Config{})
					run = func() (protocol.OperatorOutput, error) { return r.Execute(t.Context(), a) }
				}
				out, err := run()
				if protocol.CodeOf(err) != c.code || err == nil && out.ExitReason != c.exit {
					t.Errorf("got %s, %v", out.ExitReason, err)
				}
			})
		}
	}
}

func failing(r agent.Rule, err error) agent.Rule {
	r.Action = engine.OpFunc("fails", func(context.Context, *engine.Context) error { return err })
	return r
}

// In V1 of the specification a rule that failed at a tool call switched off the budget guard, so the loop had no end (B2). A rule
// that fails is no tool result, and ends the run.
func TestB2AFailingRuleAtAToolEndsTheRun(t *testing.T) {
	t.Parallel()
	var n counter
	m := &model{steps: []step{says("", uses("c", "work", `{}`))}}
	out := execute(t, agent.Config{
		Provider: m, Tools: []tool.Tool{n.tool("work")}, Limits: agent.Limits{MaxTurns: 5},
		Rules: []agent.Rule{failing(engine.Before(engine.OpExecuteTool, "r", 0, nil), errors.New("defect"))},
	}, protocol.Text("go"))
	if out.ExitReason.Kind() != protocol.ExitError || n.n != 0 || len(m.asks) != 1 {
		t.Errorf("got %s after %d calls", out.ExitReason, len(m.asks))
	}
}

// In V1.5 schema answers were counted by call id, which models never use twice, so there was no end to them (B3).
func TestB3SchemaAnswersAreCountedByTool(t *testing.T) {
	t.Parallel()
	strict := tool.Func("strict", "", func(context.Context, struct {
		N int `json:"n"`
	},
	) (string, error) {
		return "", nil
	})
	m := &model{steps: []step{
		says("", uses("c1", "strict", `{}`)), says("", uses("c2", "strict", `{}`)), says("", uses("c3", "strict", `{}`)), says("done"),
	}}
	execute(t, agent.Config{Provider: m, Tools: []tool.Tool{strict}, MaxSchemaAnswers: 1, Limits: agent.Limits{MaxConsecutiveFailures: 9}}, protocol.Text("go"))
	shown := 0
	for _, r := range results(m.asks[3]) {
		if strings.Contains(r.Content, "Expected schema") {
			shown++
		}
		if !r.IsError {
			t.Errorf("no error: %v", r)
		}
	}
	if shown != 1 {
		t.Errorf("shown %d times", shown)
	}
}

// A rule that asks a model: it is paid, recorded, and asked once however often the run is killed.
func TestRulesAskModels(t *testing.T) {
	t.Parallel()
	asked := func(m *model) agent.Config {
		return agent.Config{Provider: m, Model: "big", Rules: []agent.Rule{
			engine.Before(engine.OpInfer, "ask", 0, engine.OpFunc("ask", func(ctx context.Context, c *engine.Context) error {
				resp, err := c.Ask(ctx, "title", protocol.InferRequest{Model: "small", Messages: c.Conversation()})
				if err != nil {
					return err
				}
				text, _ := resp.Content.AsText()
				return c.InjectSystem("title: " + text)
			})),
		}}
	}
	m := &model{steps: []step{says("a title"), says("done")}}
	out := execute(t, asked(m), protocol.Text("go"))
	wantExit(t, out, protocol.Exit(protocol.ExitComplete), "done")
	if m.asks[0].Model != "small" || m.asks[1].System != "title: a title" || out.Metadata.TurnsUsed != 1 || out.Metadata.Cost.String() != "0.010" {
		t.Errorf("got %+v, %+v", m.asks, out.Metadata)
	}
	for at := 1; at <= 2; at++ {
		r := start(steptest.Config{})
		r.KillAfter(at)
		first := &model{steps: []step{says("a title"), says("done")}}
		_, _ = r.Execute(t.Context(), build(t, asked(first)))
		second := &model{steps: []step{says("done")}}
		if len(first.asks) == 2 {
			second.steps = nil
		}
		out, err := r.Execute(t.Context(), build(t, asked(second)))
		if err != nil || out.ExitReason.Kind() != protocol.ExitComplete || len(first.asks)+len(second.asks) != 2 || out.Metadata.Cost.String() != "0.010" {
			t.Errorf("killed at %d: %v, %d and %d calls, cost %s", at, err, len(first.asks), len(second.asks), out.Metadata.Cost)
		}
	}
}

func TestToolFilterByTurn(t *testing.T) {
	t.Parallel()
	var n counter
	m := &model{steps: []step{says("", uses("c", "a", `{}`)), says("", uses("c", "a", `{}`)), says("done")}}
	execute(t, agent.Config{
		Provider: m, Tools: []tool.Tool{n.tool("a"), n.tool("b")},
		ToolFilter: func(c *agent.Context, x tool.Tool) bool { return x.Metadata().Name == "b" || c.Metrics().Turns == 0 },
	}, protocol.Text("go"))
	if len(m.asks[0].Tools) != 2 || len(m.asks[1].Tools) != 1 || n.n != 1 {
		t.Errorf("offered %d and %d, made %d", len(m.asks[0].Tools), len(m.asks[1].Tools), n.n)
	}
}

func TestWatchersSeeTheConversation(t *testing.T) {
	t.Parallel()
	w := &watcher{}
	a := build(t, agent.Config{Provider: &model{steps: []step{says("secret")}}, System: "s", Watchers: []protocol.ContextWatcher{w}})
	_, err := a.Execute(t.Context(), protocol.Text("go"))
	if err == nil && !slices.Equal(w.seen, []string{"s", "go", "secret"}) {
		t.Errorf("got %v, %v", w.seen, err)
	}
}

type watcher struct {
	protocol.NopWatcher

	seen []string
}

func (w *watcher) OnInject(m protocol.Message, _ protocol.Position) error {
	w.seen = append(w.seen, m.Text())
	return nil
}

// quoted is a model with a price.
type quoted struct {
	model

	price provider.Price
}

func (q *quoted) Quote(string) (provider.Price, bool) { return q.price, true }

// With a price, no call is made that could cost more than is left: its answer is made shorter, or it is not made.
func TestMoneyIsReservedBeforeACall(t *testing.T) {
	t.Parallel()
	price := provider.Price{Output: protocol.MustDecimal("10")} // a thousand tokens a cent
	for limit, want := range map[string]struct {
		tokens uint32
		exit   protocol.ExitKind
	}{
		"1.00":   {4096, protocol.ExitComplete},
		"0.02":   {2000, protocol.ExitComplete},
		"0.0001": {0, protocol.ExitBudgetExhausted},
	} {
		q := &quoted{price: price, model: model{steps: []step{says("hi").costs("0.001")}}}
		out := execute(t, agent.Config{Provider: q, Limits: agent.Limits{MaxCost: new(protocol.MustDecimal(limit))}}, protocol.Text("go"))
		if out.ExitReason.Kind() != want.exit || want.tokens > 0 && *q.asks[0].MaxTokens != want.tokens || want.tokens == 0 && len(q.asks) > 0 {
			t.Errorf("%s: got %s, %d calls", limit, out.ExitReason, len(q.asks))
		}
	}
	q := &quoted{price: price, model: model{steps: []step{says("hi").costs("0.02").stopped(protocol.StopMaxTokens)}}}
	out := execute(t, agent.Config{Provider: q, Limits: agent.Limits{MaxCost: new(protocol.MustDecimal("0.02"))}}, protocol.Text("go"))
	wantExit(t, out, protocol.Exit(protocol.ExitBudgetExhausted), "hi")
}

// Many runs that share an account never spend more than it has.
func TestRunsShareABudget(t *testing.T) {
	t.Parallel()
	limit := protocol.MustDecimal("0.10")
	account := budget.New(&limit)
	var n counter
	dear := &quoted{
		price: provider.Price{Output: protocol.MustDecimal("10")},
		model: model{steps: []step{after(says("", uses("c", "work", `{}`)).costs("0.01"), time.Millisecond)}},
	}
	a := build(t, agent.Config{Provider: dear, MaxTokens: 1000, Tools: []tool.Tool{n.tool("work")}, Limits: agent.Limits{MaxTurns: 50}})
	ends := make(chan protocol.ExitReason, 16)
	for range cap(ends) {
		go func() {
			out, err := a.Execute(budget.With(t.Context(), account), protocol.Text("go"))
			if err != nil {
				t.Error(err)
			}
			ends <- out.ExitReason
		}()
	}
	for range cap(ends) {
		if end := <-ends; end.Kind() != protocol.ExitBudgetExhausted {
			t.Errorf("ended with %s", end)
		}
	}
	if spent := account.Spent(); !spent.Equal(limit.Decimal) || len(dear.asks) != 10 {
		t.Errorf("%s spent in %d calls", spent, len(dear.asks))
	}
	if _, err := build(t, agent.Config{Provider: &model{unpriced: true}}).Execute(budget.With(t.Context(), account), protocol.Text("go")); protocol.CodeOf(err) != protocol.CodeInvalidInput {
		t.Errorf("without a price: %v", err)
	}
}

func TestStreamsOfALibrary(t *testing.T) {
	t.Parallel()
	var got []string
	ctx := agent.WithStream(t.Context(), func(e protocol.StreamEvent) {
		switch e := e.(type) {
		case protocol.TextDelta:
			got = append(got, e.Text)
		case protocol.Done:
			got = append(got, "done")
		}
	})
	if _, err := build(t, agent.Config{Provider: &model{steps: []step{says("hi")}}}).Execute(ctx, protocol.Text("go")); err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(got, []string{"h", "i", "done"}) {
		t.Errorf("got %v", got)
	}
}

// Near a limit and at it, observers are told, once each.
func TestLifecycleEvents(t *testing.T) {
	t.Parallel()
	var n counter
	s := &sink{}
	m := &model{steps: []step{says("", uses("c", "work", `{}`)).costs("0.3")}}
	ctx := protocol.WithInvocation(t.Context(), &protocol.Invocation{Call: protocol.Call{Run: "r"}, Operator: "op", Instance: "i", Events: s})
	a := build(t, agent.Config{
		Provider: m, Tools: []tool.Tool{n.tool("work")}, Limits: agent.Limits{MaxTurns: 5, MaxToolCalls: 9, MaxCost: new(protocol.MustDecimal("1.00"))},
	})
	if _, err := a.Execute(ctx, protocol.Text("go")); err != nil {
		t.Fatal(err)
	}
	all := strings.Join(s.lines, "\n")
	for want, count := range map[string]int{
		`"type":"cost_incurred"`: 4, `"type":"budget_warning","workflow":"op/i","spent":"0.9","limit":"1.00"`: 1,
		`"type":"budget_action","workflow":"op/i","action":"halt_workflow"`: 1,
	} {
		if got := strings.Count(all, want); got != count {
			t.Errorf("%s: %d times, want %d\n%s", want, got, count, all)
		}
	}
}

// A result may stand for a handoff, but only to operators that are named: what tools return comes from anywhere.
func TestD3Fact13HandoffByAResult(t *testing.T) {
	t.Parallel()
	x, err := tool.Raw(protocol.ToolMetadata{Name: "fetch"}, constant(`{"__handoff":true,"target":"billing","reason":"it is about money"}`))
	if err != nil {
		t.Fatal(err)
	}
	for _, targets := range [][]protocol.OperatorID{{"billing"}, {"other"}, nil} {
		var n counter
		m := &model{steps: []step{says("", uses("a", "fetch", `{}`), uses("b", "work", `{}`)), says("done")}}
		out := execute(t, agent.Config{Provider: m, Tools: []tool.Tool{x, n.tool("work")}, HandoffTargets: targets}, protocol.Text("go"))
		if len(targets) > 0 && targets[0] == "billing" {
			h, ok := out.Effects[0].(protocol.Handoff)
			if out.ExitReason.Kind() != protocol.ExitHandedOff || !ok || h.Operator != "billing" || string(h.State) != `{"task":"it is about money"}` || n.n != 0 {
				t.Errorf("got %s, %v, %d calls behind it", out.ExitReason, out.Effects, n.n)
			}
		} else if out.ExitReason.Kind() != protocol.ExitComplete || len(out.Effects) != 0 {
			t.Errorf("got %s, %v", out.ExitReason, out.Effects)
		}
	}
}

func TestToolsComeAndGo(t *testing.T) {
	t.Parallel()
	var n counter
	tools, err := tool.NewRegistry(n.tool("a"))
	if err != nil {
		t.Fatal(err)
	}
	add := tool.Func("more", "", func(context.Context, struct{}) (string, error) {
		tools.Remove("a")
		return "added", tools.Add(n.tool("b"))
	})
	if err := tools.Add(add); err != nil {
		t.Fatal(err)
	}
	m := &model{steps: []step{says("", uses("c", "more", `{}`)), says("", uses("c", "b", `{}`), uses("d", "a", `{}`)), says("done")}}
	execute(t, agent.Config{Provider: m, Registry: tools}, protocol.Text("go"))
	names := func(req protocol.InferRequest) (all []string) {
		for _, s := range req.Tools {
			all = append(all, s.Name)
		}
		return all
	}
	if got := names(m.asks[0]); !slices.Equal(got, []string{"a", "more"}) {
		t.Errorf("at first %v", got)
	}
	if got := names(m.asks[1]); !slices.Equal(got, []string{"more", "b"}) || n.n != 1 {
		t.Errorf("then %v, %d calls", got, n.n)
	}
}

// What a rule's model call comes to is the rule's business: it sees how the run would end, or why it failed, and may go on.
func TestRulesSeeHowTheirModelCallsFail(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		err  error
		exit protocol.ExitKind // that the rule sees, if any
	}{
		"halted by a guard": {protocol.ErrEngineHalted("secret in it"), protocol.ExitInterceptorHalt},
		"refused":           {protocol.ErrInvalidRequest("too long", 400), ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var seen error
			turns := 0
			ask := engine.Before(engine.OpInfer, "ask", 0, engine.OpFunc("ask", func(ctx context.Context, c *engine.Context) error {
				if turns++; turns == 2 {
					_, seen = c.Ask(ctx, "title", protocol.InferRequest{})
				}
				return nil
			}))
			var n counter
			s := &sink{}
			m := &model{steps: []step{says("", uses("c", "work", `{}`)), fails(c.err), says("done")}}
			var streamed []string
			ctx := agent.WithStream(protocol.WithInvocation(t.Context(), &protocol.Invocation{Events: s}), func(e protocol.StreamEvent) {
				if d, ok := e.(protocol.TextDelta); ok {
					streamed = append(streamed, d.Text)
				}
			})
			out, err := build(t, agent.Config{Provider: m, Tools: []tool.Tool{n.tool("work")}, Rules: []agent.Rule{ask}}).Execute(ctx, protocol.Text("go"))
			if err != nil {
				t.Fatal(err)
			}
			wantExit(t, out, protocol.Exit(protocol.ExitComplete), "done")
			var end *engine.ExitError
			if found := errors.As(seen, &end); found != (c.exit != "") || found && end.Reason.Kind() != c.exit || !found && protocol.CodeOf(seen) != protocol.CodeOf(c.err) {
				t.Errorf("the rule saw %v", seen)
			}
			if all := strings.Join(s.lines, "\n"); strings.Contains(all, "the run ends") {
				t.Errorf("told: %s", all)
			}
			if got := strings.Join(streamed, ""); got != "done" {
				t.Errorf("streamed %q", got)
			}
		})
	}
}
