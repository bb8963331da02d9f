package agent_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/skelegent/skelegent-go/actors/agent"
	"github.com/skelegent/skelegent-go/actors/budget"
	"github.com/skelegent/skelegent-go/actors/engine"
	"github.com/skelegent/skelegent-go/actors/provider"
	"github.com/skelegent/skelegent-go/actors/rule"
	"github.com/skelegent/skelegent-go/actors/step/steptest"
	"github.com/skelegent/skelegent-go/actors/tool"
	"github.com/skelegent/skelegent-go/protocol"
)

// raw is a tool that does what it is told.
func raw(t testing.TB, name string, call func(ctx context.Context, in json.RawMessage) (tool.Result, error), opts ...tool.Option) tool.Tool {
	t.Helper()
	x, err := tool.Raw(protocol.ToolMetadata{Name: name}, call, opts...)
	if err != nil {
		t.Fatal(err)
	}
	return x
}

// Which goroutine the text of a result is made in is no business of who writes it.
func TestAPanicInATextEndsTheRunAlsoSideBySide(t *testing.T) {
	t.Parallel()
	var c counter
	for _, parallel := range []int{1, 8} {
		m := &model{steps: []step{says("", uses("a", "look", `{}`), uses("b", "look", `{}`)), says("done")}}
		out := execute(t, agent.Config{
			Provider: m, MaxParallel: parallel, Tools: []tool.Tool{c.tool("look", tool.ParallelSafe())},
			ResultText: func(call protocol.ToolCall, _ tool.Result) string {
				if call.ID == "a" {
					panic("no text")
				}
				return "fine"
			},
		}, protocol.Text("go"))
		if out.ExitReason.Kind() != protocol.ExitError || out.Metadata.TurnsUsed != 1 {
			t.Errorf("%d side by side: got %s", parallel, out.ExitReason)
		}
	}
}

func TestAToolThatEndsItsGoroutineHasFailed(t *testing.T) {
	t.Parallel()
	var c counter
	quits := raw(t, "quits", func(context.Context, json.RawMessage) (tool.Result, error) {
		runtime.Goexit()
		return tool.Result{}, nil
	}, tool.ParallelSafe())
	cfg := func(m *model) agent.Config {
		return agent.Config{Provider: m, Tools: []tool.Tool{quits, c.tool("look", tool.ParallelSafe())}}
	}
	steps := []step{says("", uses("a", "quits", `{}`), uses("b", "look", `{}`)), says("done")}
	m := &model{steps: steps}
	out := execute(t, cfg(m), protocol.Text("go"))
	if got := results(m.asks[1]); len(got) != 2 || !got[0].IsError || got[1].IsError || out.Metadata.SubDispatches[0].Success {
		t.Errorf("got %v", got)
	}
	m = &model{steps: steps}
	r := start(steptest.Config{})
	resume(t, r, cfg(m))
	if got := results(m.asks[1]); len(got) != 2 || !got[0].IsError || got[1].IsError {
		t.Errorf("durable: got %v", got)
	}
}

func TestPanicsAreErrorsOfTheRun(t *testing.T) {
	t.Parallel()
	boom := func(context.Context) error { panic("boom") }
	account := budget.New(new(protocol.MustDecimal("1")))
	m := &model{steps: []step{says("", uses("a", "look", `{}`)), {do: boom}}}
	var c counter
	ctx := budget.With(t.Context(), account)
	priced := &listed{m, provider.Price{Output: protocol.MustDecimal("1")}} // something is reserved
	out, err := build(t, agent.Config{Provider: priced, Tools: []tool.Tool{c.tool("look")}}).Execute(ctx, protocol.Text("go"))
	if err != nil || out.ExitReason.Kind() != protocol.ExitError || out.Metadata.TurnsUsed != 1 {
		t.Errorf("provider: got %v, %v", out.ExitReason, err)
	}
	if left := account.Left(); !left.Equal(protocol.MustDecimal("0.995").Decimal) {
		t.Errorf("%s are left", left)
	}
	_, err = build(t, agent.Config{Provider: &model{steps: []step{{do: boom}}}}).Execute(t.Context(), protocol.Text("go"))
	if protocol.CodeOf(err) != protocol.CodeInternal || protocol.IsRetryable(err) {
		t.Errorf("provider at first: got %v", err)
	}
	bad := engine.After(engine.OpExecuteTool, "bad", 0, engine.OpFunc("bad", func(context.Context, *engine.Context) error { panic("boom") }))
	out = execute(t, agent.Config{
		Provider: &model{steps: []step{says("", uses("a", "look", `{}`))}}, Rules: []agent.Rule{bad}, Tools: []tool.Tool{c.tool("look")},
	}, protocol.Text("go"))
	if out.ExitReason.Kind() != protocol.ExitError || out.Metadata.TurnsUsed != 1 {
		t.Errorf("rule: got %v", out.ExitReason)
	}
}

// Who gives money back without having had it is not believed.
func TestNegativeCosts(t *testing.T) {
	t.Parallel()
	gift := raw(t, "gift", func(context.Context, json.RawMessage) (tool.Result, error) {
		return tool.Result{Output: json.RawMessage(`1`), Cost: new(protocol.MustDecimal("-5"))}, nil
	})
	limits := agent.Limits{MaxCost: new(protocol.MustDecimal("1"))}
	for name, first := range map[string]step{
		"model": says("", uses("a", "look", `{}`)).costs("-5"), "tool": says("", uses("a", "gift", `{}`)),
	} {
		var c counter
		m := &model{steps: []step{first, says("done").costs("2")}}
		out := execute(t, agent.Config{Provider: m, Tools: []tool.Tool{gift, c.tool("look")}, Limits: limits}, protocol.Text("go"))
		if out.ExitReason.Kind() != protocol.ExitBudgetExhausted || len(m.asks) != 1 || out.Metadata.Cost.IsNegative() {
			t.Errorf("%s: got %s for %s, asked %d times", name, out.ExitReason, out.Metadata.Cost, len(m.asks))
		}
	}
}

// listed is a model of a known price.
type listed struct {
	*model
	price provider.Price
}

func (q *listed) Quote(string) (provider.Price, bool) { return q.price, true }

func TestAShortenedAnswerEndsAReplayAlike(t *testing.T) {
	t.Parallel()
	price := provider.Price{Input: protocol.MustDecimal("1"), Output: protocol.MustDecimal("1000")}
	cfg := func(m *model) agent.Config {
		return agent.Config{Provider: &listed{m, price}, Limits: agent.Limits{MaxCost: new(protocol.MustDecimal("0.2"))}}
	}
	m := &model{steps: []step{says("half of").stopped(protocol.StopMaxTokens).costs("0.19")}}
	r := start(steptest.Config{})
	r.KillAfter(1)
	if _, err := r.Execute(t.Context(), build(t, cfg(m))); err == nil {
		t.Fatal("it was not killed")
	}
	out := resume(t, r, cfg(m))
	wantExit(t, out, protocol.Exit(protocol.ExitBudgetExhausted), "half of")
	if len(m.asks) != 1 {
		t.Errorf("asked %d times", len(m.asks))
	}
}

// An answer that was cut may have a call without the input that the model was about to write.
func TestACutCallIsNotMadeWithoutItsInput(t *testing.T) {
	t.Parallel()
	for _, input := range []string{``, `{}`} {
		m := &model{steps: []step{
			says("", uses("a", "look", ``), uses("b", "wipe", input)).stopped(protocol.StopMaxTokens), says("done"),
		}}
		var look, wipe counter
		out := execute(t, agent.Config{Provider: m, Tools: []tool.Tool{look.tool("look"), wipe.tool("wipe")}}, protocol.Text("go"))
		wantExit(t, out, protocol.Exit(protocol.ExitComplete), "done")
		if got := results(m.asks[1]); look.n != 1 || wipe.n != 0 || len(got) != 2 || !got[1].IsError {
			t.Errorf("%q: wiped %d times: %v", input, wipe.n, got)
		}
	}
}

func TestWhatARuleAsksIsBoundedByItsOwnLength(t *testing.T) {
	t.Parallel()
	price := provider.Price{Input: protocol.MustDecimal("10"), Output: protocol.MustDecimal("10")}
	for name, req := range map[string]protocol.InferRequest{
		"long": {
			MaxTokens: new(uint32(64)), Messages: []protocol.Message{
				protocol.NewMessage(protocol.RoleUser, protocol.TextContent(strings.Repeat("word ", 100_000))),
			},
		},
		"unbounded": {Messages: []protocol.Message{protocol.NewMessage(protocol.RoleUser, protocol.TextContent("hi"))}},
	} {
		asks := engine.Before(engine.OpInfer, "asks", 0, engine.OpFunc("asks", func(ctx context.Context, c *engine.Context) error {
			_, err := c.Ask(ctx, "aside", req)
			return err
		}))
		m := &model{steps: []step{says("done")}}
		out := execute(t, agent.Config{
			Provider: &listed{m, price}, Rules: []agent.Rule{asks}, Limits: agent.Limits{MaxCost: new(protocol.MustDecimal("0.01"))},
		}, protocol.Text("go"))
		switch {
		case name == "long" && (len(m.asks) != 0 || out.ExitReason.Kind() != protocol.ExitBudgetExhausted):
			t.Errorf("%s: asked %d times: %s", name, len(m.asks), out.ExitReason)
		case name != "long" && (len(m.asks) == 0 || m.asks[0].MaxTokens == nil || *m.asks[0].MaxTokens > 1000):
			t.Errorf("%s: not bounded", name)
		}
	}
}

// Time is over while one of two calls is made. What the other one did is kept, also if the process ends then.
func TestCallsBesideOneThatTimeEndedAreKept(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		slow := tool.Func("slow", "", func(ctx context.Context, _ struct{}) (string, error) {
			<-ctx.Done()
			return "", ctx.Err()
		}, tool.ParallelSafe(), tool.Repeatable())
		made := 0
		quick := raw(t, "quick", func(context.Context, json.RawMessage) (tool.Result, error) {
			made++
			return tool.Result{
				Output: json.RawMessage(`1`), Cost: new(protocol.MustDecimal("0.1")),
				Effects: protocol.Effects{protocol.Log{Level: protocol.LogInfo, Message: "done"}},
			}, nil
		}, tool.ParallelSafe())
		cfg := func(m *model) agent.Config {
			return agent.Config{Provider: m, Tools: []tool.Tool{slow, quick}, Limits: agent.Limits{MaxDuration: time.Minute}}
		}
		answer := says("", uses("a", "slow", `{}`), uses("b", "quick", `{}`))
		clean := resume(t, start(steptest.Config{}), cfg(&model{steps: []step{answer}}))
		m := &model{steps: []step{answer}}
		r := start(steptest.Config{})
		r.KillAfter(3)
		if _, err := r.Execute(t.Context(), build(t, cfg(m))); err == nil {
			t.Fatal("it was not killed")
		}
		time.Sleep(time.Hour)
		out := resume(t, r, cfg(m))
		if made != 2 || len(m.asks) != 1 || out.ExitReason != clean.ExitReason || len(out.Effects) != 1 || out.Metadata.Cost.Text() != clean.Metadata.Cost.Text() {
			t.Errorf("made %d times: got %s with %d effects for %s, want %s with %d for %s", made,
				out.ExitReason, len(out.Effects), out.Metadata.Cost, clean.ExitReason, len(clean.Effects), clean.Metadata.Cost)
		}
	})
}

// A rule behind a call that was made comes before a limit that keeps the next from being made, side by side as one by one.
func TestARuleThatHaltsComesBeforeTheLimitBehindIt(t *testing.T) {
	t.Parallel()
	pay := raw(t, "pay", func(context.Context, json.RawMessage) (tool.Result, error) {
		return tool.Result{Output: json.RawMessage(`1`)}, nil
	}, tool.ParallelSafe())
	halt := func(id string) agent.Rule {
		return rule.AfterTool("", "halt", 0, func(_ context.Context, _ *engine.Context, call *engine.ToolCall) error {
			if call.Call.ID == id {
				return engine.Halt("enough")
			}
			return nil
		})
	}
	m := &model{steps: []step{says("", uses("a", "pay", `{}`), uses("b", "pay", `{}`))}}
	out := execute(t, agent.Config{
		Provider: m, Tools: []tool.Tool{pay}, Rules: []agent.Rule{halt("a")}, Limits: agent.Limits{MaxToolCalls: 1},
	}, protocol.Text("go"))
	if out.ExitReason != protocol.InterceptorHalt("enough") {
		t.Errorf("behind the limit of calls: got %s", out.ExitReason)
	}
	fails := raw(t, "fails", func(context.Context, json.RawMessage) (tool.Result, error) {
		return tool.Result{}, errors.New("no")
	}, tool.ParallelSafe())
	m = &model{steps: []step{says("", uses("a", "fails", `{}`), uses("b", "pay", `{}`))}}
	out = execute(t, agent.Config{
		Provider: m, Tools: []tool.Tool{pay, fails}, Rules: []agent.Rule{halt("b")}, Limits: agent.Limits{MaxConsecutiveFailures: 1},
	}, protocol.Text("go"))
	if out.ExitReason != protocol.InterceptorHalt("enough") {
		t.Errorf("beside a call that breaks the circuit: got %s", out.ExitReason)
	}
}

func TestTheFirstResultThatFitsCounts(t *testing.T) {
	t.Parallel()
	o := &agent.Output{Schema: json.RawMessage(`{"type":"integer"}`)}
	m := &model{steps: []step{says("", uses("a", "return_result", `{"result":"x"}`), uses("b", "return_result", `{"result":7}`))}}
	wantExit(t, execute(t, agent.Config{Provider: m, Output: o}, protocol.Text("go")), protocol.Exit(protocol.ExitComplete), "7")
	m = &model{steps: []step{
		says("", uses("a", "return_result", `{"result":"x"}`), uses("b", "return_result", `{"result":"y"}`)),
		says("", uses("c", "return_result", `{"result":7}`)),
	}}
	wantExit(t, execute(t, agent.Config{Provider: m, Output: o}, protocol.Text("go")), protocol.Exit(protocol.ExitComplete), "7")
	for _, r := range results(m.asks[1]) {
		if !strings.HasPrefix(r.Content, "Validation error: ") || !r.IsError {
			t.Errorf("told %q", r.Content)
		}
	}
	var c counter
	if _, err := agent.New(agent.Config{Provider: m, Output: o, Tools: []tool.Tool{c.tool("return_result")}}); err == nil {
		t.Error("a tool has the name of the output's")
	}
}

// Rules look at each answer, also where it is one that does not fit.
func TestExitChecksBehindEveryAnswer(t *testing.T) {
	t.Parallel()
	for mode, first := range map[agent.OutputMode]step{
		agent.OutputTool: says("", uses("a", "return_result", `{"result":"x"}`)), agent.OutputText: says(`"x"`),
	} {
		checks := 0
		look := engine.Before(engine.OpExitCheck, "look", 0, engine.OpFunc("look", func(context.Context, *engine.Context) error {
			checks++
			return nil
		}))
		second := says("", uses("b", "return_result", `{"result":7}`))
		if mode == agent.OutputText {
			second = says("7")
		}
		m := &model{steps: []step{first, second}}
		out := execute(t, agent.Config{
			Provider: m, Output: &agent.Output{Schema: json.RawMessage(`{"type":"integer"}`), Mode: mode}, Rules: []agent.Rule{look},
		}, protocol.Text("go"))
		wantExit(t, out, protocol.Exit(protocol.ExitComplete), "7")
		if checks != 2 {
			t.Errorf("%s: %d checks for 2 answers", mode, checks)
		}
	}
}

// A provider refuses a conversation in which two calls have one id, or one has no name.
func TestCallsCanBeShownToTheModelAgain(t *testing.T) {
	t.Parallel()
	var c counter
	m := &model{steps: []step{
		says("", uses("a", "look", `{}`), uses("a", "look", `{}`), uses("a-2", "look", `{}`), uses("e", "", `{}`), uses("f", "no such.tool", `{}`)),
		says("done"),
	}}
	execute(t, agent.Config{Provider: m, Tools: []tool.Tool{c.tool("look")}, Limits: agent.Limits{MaxConsecutiveFailures: 10}}, protocol.Text("go"))
	ids := map[string]bool{}
	for _, msg := range m.asks[1].Messages {
		for _, b := range msg.Content.Blocks() {
			if u, ok := b.(protocol.ToolUseBlock); ok {
				if err := tool.CheckName(u.Name); err != nil {
					t.Error(err)
				}
				ids[u.ID] = true
			}
		}
	}
	got := results(m.asks[1])
	if len(ids) != 5 || len(got) != 5 || c.n != 3 {
		t.Errorf("ids %v, %d results, looked %d times", ids, len(got), c.n)
	}
	for _, r := range got {
		if !ids[r.ToolUseID] {
			t.Errorf("result of no call: %v", r)
		}
		delete(ids, r.ToolUseID)
	}
}

// Nothing is no effect.
func TestNilEffects(t *testing.T) {
	t.Parallel()
	bad := raw(t, "bad", func(context.Context, json.RawMessage) (tool.Result, error) {
		return tool.Result{Output: json.RawMessage(`1`), Effects: protocol.Effects{nil}}, nil
	})
	for _, durable := range []bool{false, true} {
		m := &model{steps: []step{says("", uses("a", "bad", `{}`)), says("done")}}
		cfg := agent.Config{Provider: m, Tools: []tool.Tool{bad}}
		var out protocol.OperatorOutput
		if durable {
			out = resume(t, start(steptest.Config{}), cfg)
		} else {
			out = execute(t, cfg, protocol.Text("go"))
		}
		wantExit(t, out, protocol.Exit(protocol.ExitComplete), "done")
		if got := results(m.asks[1]); len(out.Effects) != 0 || len(got) != 1 || !got[0].IsError {
			t.Errorf("got %v, told %v", out.Effects, got)
		}
	}
}

func TestAssemblyIsToldOnce(t *testing.T) {
	t.Parallel()
	m := &model{steps: []step{says("", uses("a", "ask", `{}`)), says("done")}}
	var c counter
	cfg := agent.Config{
		Provider: m, System: "s", Tools: []tool.Tool{c.tool("ask", tool.RequiresApproval())},
		Rules: []agent.Rule{rule.Telemetry(rule.TelemetryConfig{})},
	}
	r := start(steptest.Config{})
	seen := &events{}
	ctx := protocol.WithInvocation(t.Context(), &protocol.Invocation{Events: seen})
	_, _ = r.Execute(ctx, build(t, cfg))
	r.Signal("approve", nil)
	if _, err := r.Execute(ctx, build(t, cfg)); err != nil {
		t.Fatal(err)
	}
	count := map[string]int{}
	for _, e := range seen.all {
		for _, op := range []string{"inject_system", "inject_messages", "infer", "append_response", "execute_tool"} {
			if strings.Contains(fmt.Sprint(e), `"op":"`+op+`"`) {
				count[op]++
			}
		}
	}
	for op, n := range count {
		if want := map[string]int{"infer": 2, "append_response": 2}[op]; n != max(want, 1) {
			t.Errorf("%s: told %d times", op, n)
		}
	}
	if len(count) != 5 {
		t.Errorf("told %v", count)
	}
}

type events struct{ all []string }

func (e *events) Emit(kind protocol.EventKind, data any) {
	raw, _ := protocol.Marshal(data)
	e.all = append(e.all, string(kind)+" "+string(raw))
}

// A child has all that is left of the money. That is no reason not to make again what was made beside it when the process ended.
func TestACallBesideAChildIsMadeAgain(t *testing.T) {
	t.Parallel()
	var c counter
	m := &model{steps: []step{says("", uses("a", "child", `{"message":"x"}`), uses("b", "look", `{}`)), says("done")}}
	cfg := agent.Config{Provider: m, MaxParallel: 1, Tools: []tool.Tool{
		tool.FromOperator("child", "", nil, "child", tool.ParallelSafe()), c.tool("look", tool.ParallelSafe()),
	}}
	r := start(steptest.Config{Budget: new(protocol.MustDecimal("1"))})
	r.KillAfter(2)
	if _, err := r.Execute(t.Context(), build(t, cfg)); err == nil || c.n != 0 {
		t.Fatalf("%v, looked %d times", err, c.n)
	}
	w := suspend(t, r, cfg)
	r.EndChild(w.Children[0], protocol.Reply("hi"), nil)
	wantExit(t, resume(t, r, cfg), protocol.Exit(protocol.ExitComplete), "done")
	if c.n != 1 {
		t.Errorf("looked %d times", c.n)
	}
}

// What a model answers is foreign.
func TestHostileAnswers(t *testing.T) {
	t.Parallel()
	const many = 3000
	flood := func(id, name, input string) (calls []protocol.ToolCall) {
		for range many {
			calls = append(calls, uses(id, name, input))
		}
		return calls
	}
	for name, calls := range map[string][]protocol.ToolCall{
		"one id":         flood("a", "look", `{}`),
		"no ids":         flood("", "look", `{}`),
		"no such tool":   flood("a", "none", `{}`),
		"to be approved": flood("a", "ask", `{}`),
		"giant input":    {uses("a", "look", `{"x":"`+strings.Repeat("y", 8<<20)+`"}`)},
		"deep input":     {uses("a", "look", strings.Repeat("[", 1<<20))},
		"not text":       {uses("\xff\xfe", "\xff", "\xff\xfe\x00"), uses("\x00", "lo\x00ok", `{"\ud800":1}`)},
		"giant name":     {uses(strings.Repeat("i", 1<<20), strings.Repeat("n", 1<<20), `{}`)},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for _, durable := range []bool{false, true} {
				var c counter
				m := &model{steps: []step{says("\xff", calls...), says("done")}}
				cfg := agent.Config{
					Provider: m, Tools: []tool.Tool{c.tool("look", tool.ParallelSafe()), c.tool("ask", tool.RequiresApproval())},
				}
				began := time.Now()
				if !durable {
					execute(t, cfg, protocol.Text("go"))
				} else if name != "to be approved" {
					resume(t, start(steptest.Config{}), cfg)
				} else {
					r := start(steptest.Config{})
					suspend(t, r, cfg)
					r.Signal("deny", nil)
					resume(t, r, cfg)
				}
				if took := time.Since(began); took > 2*time.Minute {
					t.Errorf("durable %v: took %s", durable, took)
				}
				for _, ask := range m.asks {
					if _, err := protocol.Marshal(ask.Messages); err != nil {
						t.Errorf("durable %v: %v", durable, err)
					}
				}
			}
		})
	}
}

// A change that a watcher rejects ends the run, wherever it is.
func TestWatchersMayReject(t *testing.T) {
	t.Parallel()
	for n := 1; n <= 6; n++ {
		for _, durable := range []bool{false, true} {
			var c counter
			m := &model{steps: []step{says("", uses("a", "look", `{}`), uses("b", "look", `{}`)), says("done")}}
			w := &rejects{at: n}
			cfg := agent.Config{Provider: m, System: "s", Tools: []tool.Tool{c.tool("look", tool.ParallelSafe())}, Watchers: []protocol.ContextWatcher{w}}
			var out protocol.OperatorOutput
			var err error
			if durable {
				out, err = start(steptest.Config{}).Execute(t.Context(), build(t, cfg))
			} else {
				out, err = build(t, cfg).Execute(t.Context(), protocol.Text("go"))
			}
			switch {
			case n <= 2 && (err == nil || len(m.asks) != 0):
				t.Errorf("%d: got %v, %v", n, out.ExitReason, err)
			case n > 2 && n < 6 && (err != nil || out.ExitReason.Kind() != protocol.ExitError || len(m.asks) != 1):
				t.Errorf("%d: got %v, %v after %d", n, out.ExitReason, err, len(m.asks))
			case n == 3 && c.n != 0 || n > 3 && c.n != 2:
				t.Errorf("%d: made %d", n, c.n)
			case n == 6 && (len(m.asks) != 2 || out.ExitReason.Kind() != protocol.ExitError || out.Metadata.TurnsUsed != 2):
				t.Errorf("%d: got %v, %v after %d", n, out.ExitReason, err, len(m.asks))
			}
		}
	}
}

type rejects struct {
	protocol.NopWatcher

	at, seen int
}

func (w *rejects) OnInject(protocol.Message, protocol.Position) error {
	if w.seen++; w.seen == w.at {
		return errors.New("no")
	}
	return nil
}

// What tools cost is the account's as well, but what agents within spend of it is not counted twice.
func TestToolsSpendFromTheAccount(t *testing.T) {
	t.Parallel()
	paid := raw(t, "paid", func(ctx context.Context, _ json.RawMessage) (tool.Result, error) {
		if b := protocol.NextCall(ctx).Budget; b == nil || b.GreaterThan(protocol.MustDecimal("1").Decimal) {
			t.Errorf("it may spend %v", b)
		}
		return tool.Result{Output: json.RawMessage(`1`), Cost: new(protocol.MustDecimal("0.6"))}, nil
	})
	inner := build(t, agent.Config{Provider: &model{steps: []step{says("", uses("x", "paid", `{}`)), says("hi")}}, Tools: []tool.Tool{paid}})
	d := protocol.DispatcherFunc(func(ctx context.Context, _ protocol.OperatorID, in protocol.OperatorInput) (protocol.OperatorOutput, error) {
		return inner.Execute(ctx, in)
	})
	m := &model{steps: []step{says("", uses("a", "child", `{"message":"x"}`)), says("", uses("b", "paid", `{}`)), says("done")}}
	account := budget.New(new(protocol.MustDecimal("1")))
	out, err := build(t, agent.Config{Provider: m, Tools: []tool.Tool{tool.FromOperator("child", "", d, "child"), paid}}).
		Execute(budget.With(t.Context(), account), protocol.Text("go"))
	if err != nil || out.ExitReason.Kind() != protocol.ExitBudgetExhausted || len(m.asks) != 2 {
		t.Errorf("got %s, %v, asked %d times", out.ExitReason, err, len(m.asks))
	}
	if spent := account.Spent(); spent.Text() != "1.220" || out.Metadata.Cost.Text() != "1.220" {
		t.Errorf("spent %s of the account, %s in all", spent, out.Metadata.Cost)
	}
}

// Approval comes before money, also where calls are made before it.
func TestApprovalComesBeforeTheLimitThatSafeCallsReach(t *testing.T) {
	t.Parallel()
	var c counter
	paid := raw(t, "paid", func(context.Context, json.RawMessage) (tool.Result, error) {
		return tool.Result{Output: json.RawMessage(`1`), Cost: new(protocol.MustDecimal("2"))}, nil
	})
	m := &model{steps: []step{says("May I?", uses("a", "paid", `{}`), uses("b", "paid", `{}`), uses("c", "ask", `{}`))}}
	out := execute(t, agent.Config{
		Provider: m, RunSafeCalls: true, Tools: []tool.Tool{paid, c.tool("ask", tool.RequiresApproval())},
		Limits: agent.Limits{MaxCost: new(protocol.MustDecimal("1"))},
	}, protocol.Text("go"))
	wantExit(t, out, protocol.Exit(protocol.ExitAwaitingApproval), "May I?")
	if len(out.Effects) != 1 || out.Metadata.Cost.Text() != "2.005" {
		t.Errorf("effects %v for %s", out.Effects, out.Metadata.Cost)
	}
}

// Two tools hand the work over, side by side: the first does, as it would one after the other.
func TestThereIsOneHandoff(t *testing.T) {
	t.Parallel()
	gives := func(name string) tool.Tool {
		return raw(t, name, func(context.Context, json.RawMessage) (tool.Result, error) {
			return tool.Result{Output: json.RawMessage(`{"__handoff":true,"target":"` + name + `"}`)}, nil
		}, tool.ParallelSafe())
	}
	m := &model{steps: []step{says("", uses("a", "alice", `{}`), uses("b", "bob", `{}`))}}
	out := execute(t, agent.Config{
		Provider: m, Tools: []tool.Tool{gives("alice"), gives("bob")}, HandoffTargets: []protocol.OperatorID{"alice", "bob"},
	}, protocol.Text("go"))
	if h, ok := out.Effects[0].(protocol.Handoff); out.ExitReason.Kind() != protocol.ExitHandedOff || len(out.Effects) != 1 || !ok || h.Operator != "alice" {
		t.Errorf("got %s with %v", out.ExitReason, out.Effects)
	}
}

func TestASingleShotIsOneCallWhateverTheOutput(t *testing.T) {
	t.Parallel()
	for name, input := range map[string]string{"return_result": `{"result":"x"}`, "other": `{}`} {
		m := &model{steps: []step{says("", uses("a", name, input))}}
		shot, err := agent.SingleShot(agent.Config{Provider: m, Output: &agent.Output{Schema: json.RawMessage(`{"type":"integer"}`)}})
		if err != nil {
			t.Fatal(err)
		}
		out, err := shot.Execute(t.Context(), protocol.Text("go"))
		if err != nil || out.ExitReason.Kind() != protocol.ExitInterceptorHalt || len(m.asks) != 1 {
			t.Errorf("%s: got %s, %v, asked %d times", name, out.ExitReason, err, len(m.asks))
		}
	}
}

// listedOnly is a model that knows the price of one.
type listedOnly struct{ *model }

func (listedOnly) Priced(model string) bool { return model == "" }

func TestARuleMayNotChooseAModelWithoutAPrice(t *testing.T) {
	t.Parallel()
	var c counter
	choose := engine.After(engine.OpAppendResponse, "choose", 0, engine.OpFunc("choose", func(_ context.Context, c *engine.Context) error {
		c.Params.Model = "other"
		return nil
	}))
	m := &model{steps: []step{says("", uses("a", "look", `{}`)), says("done")}}
	out := execute(t, agent.Config{
		Provider: listedOnly{m}, Rules: []agent.Rule{choose}, Tools: []tool.Tool{c.tool("look")},
		Limits: agent.Limits{MaxCost: new(protocol.MustDecimal("1"))},
	}, protocol.Text("go"))
	if out.ExitReason.Kind() != protocol.ExitBudgetExhausted || len(m.asks) != 1 || c.n != 1 {
		t.Errorf("got %s, asked %d times", out.ExitReason, len(m.asks))
	}
}

// The record of a start has no room for more than a record may have.
func TestRecordsOfStartsAreSmall(t *testing.T) {
	t.Parallel()
	var c counter
	m := &model{steps: []step{says("", uses(strings.Repeat("i", 1<<20), "look", `{"x":"`+strings.Repeat("y", 1<<20)+`"}`)), says("done")}}
	r := start(steptest.Config{})
	resume(t, r, agent.Config{Provider: m, Tools: []tool.Tool{c.tool("look")}})
	for _, e := range r.Events() {
		if e.Kind == protocol.EventToolCallAssembled && len(e.Data) > 1<<10 {
			t.Errorf("%d bytes", len(e.Data))
		}
	}
}

// What a rule asks for may be all that was left.
func TestNothingIsAskedBehindWhatARuleSpent(t *testing.T) {
	t.Parallel()
	asks := engine.Before(engine.OpInfer, "asks", 0, engine.OpFunc("asks", func(ctx context.Context, c *engine.Context) error {
		_, err := c.Ask(ctx, "aside", protocol.InferRequest{})
		return err
	}))
	for _, durable := range []bool{false, true} {
		m := &model{steps: []step{says("aside").costs("2")}}
		cfg := agent.Config{Provider: m, Rules: []agent.Rule{asks}, Limits: agent.Limits{MaxCost: new(protocol.MustDecimal("1"))}}
		var out protocol.OperatorOutput
		if durable {
			out = resume(t, start(steptest.Config{}), cfg)
		} else {
			out = execute(t, cfg, protocol.Text("go"))
		}
		if out.ExitReason.Kind() != protocol.ExitBudgetExhausted || len(m.asks) != 1 || out.Metadata.Cost.Text() != "2" {
			t.Errorf("durable %v: got %s for %s, asked %d times", durable, out.ExitReason, out.Metadata.Cost, len(m.asks))
		}
	}
}
