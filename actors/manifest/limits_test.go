package manifest_test

import (
	"testing"
	"time"

	"github.com/skelegent/skelegent-go/bus"
	"github.com/skelegent/skelegent-go/protocol"
)

// restless asks for the time again and again.
func restless(*llm, chat) reply { return use("clock", "{}") }

func hanging(l *llm, _ chat) reply { return l.hang() }

// What stops an agent, and what its output says then.
func TestLimits(t *testing.T) {
	t.Parallel()
	blocked := status(400, `{"error":{"message":"Your prompt was stopped.","code":"content_filter"}}`)
	for _, tc := range []struct {
		name, limits string
		answer       func(*llm, chat) reply
		exit         protocol.ExitReason
		turns        uint32
		cost, text   string
		calls        []bool // whether they succeeded
	}{
		{name: "none", answer: steps(use("clock", "{}"), say("noon")), exit: protocol.Exit(protocol.ExitComplete), turns: 2, cost: "0.00042", text: "noon", calls: []bool{true}},
		{name: "turns", limits: "max_turns: 2", answer: restless, exit: protocol.Exit(protocol.ExitMaxTurns), turns: 2, cost: "0.00042", calls: []bool{true, true}},
		{name: "turns by default", answer: restless, exit: protocol.Exit(protocol.ExitMaxTurns), turns: 10, cost: "0.00210", calls: make10(true)},
		{name: "cost", limits: `max_cost: "0.0004"`, answer: restless, exit: protocol.Exit(protocol.ExitBudgetExhausted), turns: 2, cost: "0.00042", calls: []bool{true}},
		{name: "nothing left", limits: "max_cost: 0.00042", answer: restless, exit: protocol.Exit(protocol.ExitBudgetExhausted), turns: 2, cost: "0.00042", calls: []bool{true, true}},
		{name: "no money", limits: "max_cost: 0", answer: steps(reply{text: "Let me see.", calls: []call{{"clock", "{}"}}}), exit: protocol.Exit(protocol.ExitBudgetExhausted), cost: "0"},
		{name: "duration", limits: "max_duration: 200ms", answer: hanging, exit: protocol.Exit(protocol.ExitTimeout), cost: "0"},
		{name: "tool calls", limits: "max_tool_calls: 2", answer: steps(reply{calls: []call{{"clock", "{}"}, {"clock", ""}, {"clock", "{}"}}}), exit: protocol.Exit(protocol.ExitBudgetExhausted), turns: 1, cost: "0.00021", calls: []bool{true, true}},
		{name: "failures of the model", limits: "max_consecutive_failures: 2", answer: steps(use("clock", "{}"), status(500, "down")), exit: protocol.Exit(protocol.ExitCircuitBreaker), turns: 1, cost: "0.00021", calls: []bool{true}},
		{name: "a failure that does not pass", answer: steps(use("clock", "{}"), status(400, `{"error":{"message":"bad"}}`)), exit: protocol.Exit(protocol.ExitError), turns: 1, cost: "0.00021", calls: []bool{true}},
		{name: "failures of tools", answer: steps(use("watch", "{}")), exit: protocol.Exit(protocol.ExitCircuitBreaker), turns: 3, cost: "0.00063", calls: []bool{false, false, false}},
		{name: "failures of tools not in a row", answer: steps(use("watch", "{}"), use("watch", "{}"), use("clock", "{}"), use("watch", "{}"), use("watch", "{}"), say("well")), exit: protocol.Exit(protocol.ExitComplete), turns: 6, cost: "0.00126", text: "well", calls: []bool{false, false, true, false, false}},
		{name: "content filter", answer: steps(reply{text: "I must", finish: "content_filter"}), exit: protocol.SafetyStop("content filter triggered"), turns: 1, cost: "0.00021", text: "I must"},
		{name: "content filter later", answer: steps(use("clock", "{}"), blocked), exit: protocol.SafetyStop("content filter triggered"), turns: 1, cost: "0.00021", calls: []bool{true}},
		{name: "content filter with calls", answer: steps(reply{calls: []call{{"clock", "{}"}}, finish: "content_filter"}), exit: protocol.SafetyStop("content filter triggered"), turns: 1, cost: "0.00021"},
		{name: "length", answer: steps(reply{text: "Once upon a", finish: "length"}), exit: protocol.CustomExit("truncated"), turns: 1, cost: "0.00021", text: "Once upon a"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			l := newLLM(t, tc.answer)
			conn := bed(t, provider+"  a: {provider: main, model: m, tools: [clock], limits: {"+tc.limits+"}}\n", bedConfig{model: l})
			out := dispatch(t, conn, "a", protocol.Text("What time is it?"))
			if out.ExitReason != tc.exit {
				t.Errorf("exit = %v, want %v", out.ExitReason, tc.exit)
			}
			m := out.Metadata
			if m.TurnsUsed != tc.turns || m.Cost.Text() != tc.cost || m.UnpricedCalls != 0 {
				t.Errorf("turns %d, cost %s, unpriced %d; want %d, %s, 0", m.TurnsUsed, m.Cost.Text(), m.UnpricedCalls, tc.turns, tc.cost)
			}
			if m.TokensIn != uint64(1000*tc.turns) || m.TokensOut != uint64(100*tc.turns) {
				t.Errorf("tokens %d in, %d out", m.TokensIn, m.TokensOut)
			}
			if got := textOf(t, out); got != tc.text {
				t.Errorf("text = %q, want %q", got, tc.text)
			}
			wantCalls(t, out, tc.calls)
			if out.ExitReason.Kind() == protocol.ExitTimeout {
				wait(t, l.gone) // the connection was closed
			}
		})
	}
}

func make10(v bool) (all []bool) {
	for range 10 {
		all = append(all, v)
	}
	return all
}

func wantCalls(t *testing.T, out protocol.OperatorOutput, want []bool) {
	t.Helper()
	records := out.Metadata.SubDispatches
	if len(records) != len(want) {
		t.Fatalf("%d calls %+v, want %d", len(records), records, len(want))
	}
	for i, r := range records {
		if r.Success != want[i] {
			t.Errorf("call %d: success = %v, want %v", i+1, r.Success, want[i])
		}
	}
}

// Every field of OperatorConfig is seen by the server, or in how the run ends.
func TestOverrides(t *testing.T) {
	t.Parallel()
	const agent = "  a: {provider: main, model: m, system: Be short., tools: [clock, remember]}\n"
	config := func(c protocol.OperatorConfig) protocol.OperatorInput {
		in := protocol.Text("go")
		in.Config = &c
		return in
	}
	money := protocol.MustDecimal("0.0003")
	for _, tc := range []struct {
		name   string
		in     protocol.OperatorInput
		answer func(*llm, chat) reply
		exit   protocol.ExitKind
		turns  uint32
		cost   string
		system string
		tools  string
		model  string
	}{
		{name: "none", in: protocol.Text("go"), answer: steps(say("x")), exit: protocol.ExitComplete, turns: 1, cost: "0.00021"},
		{name: "turns", in: config(protocol.OperatorConfig{MaxTurns: new(uint32(1))}), answer: restless, exit: protocol.ExitMaxTurns, turns: 1, cost: "0.00021"},
		{name: "cost", in: config(protocol.OperatorConfig{MaxCost: &money}), answer: restless, exit: protocol.ExitBudgetExhausted, turns: 2, cost: "0.00042"},
		{name: "duration", in: config(protocol.OperatorConfig{MaxDuration: new(protocol.MillisOf(200 * time.Millisecond))}), answer: hanging, exit: protocol.ExitTimeout, cost: "0"},
		{name: "model", in: config(protocol.OperatorConfig{Model: new("m2")}), answer: steps(say("x")), exit: protocol.ExitComplete, turns: 1, cost: "0.0021", model: "m2"},
		{name: "operators", in: config(protocol.OperatorConfig{AllowedOperators: []string{"remember", "other"}}), answer: steps(use("clock", "{}"), say("x")), exit: protocol.ExitComplete, turns: 2, cost: "0.00042", tools: "remember"},
		{name: "no operators", in: config(protocol.OperatorConfig{AllowedOperators: []string{}}), answer: steps(say("x")), exit: protocol.ExitComplete, turns: 1, cost: "0.00021", tools: "none"},
		{name: "addendum", in: config(protocol.OperatorConfig{SystemAddendum: new("In verse.")}), answer: steps(say("x")), exit: protocol.ExitComplete, turns: 1, cost: "0.00021", system: "Be short.\n\nIn verse."},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			l := newLLM(t, tc.answer)
			out := dispatch(t, bed(t, provider+agent, bedConfig{model: l}), "a", tc.in)
			if out.ExitReason.Kind() != tc.exit || out.Metadata.TurnsUsed != tc.turns || out.Metadata.Cost.Text() != tc.cost {
				t.Errorf("exit %v, turns %d, cost %s; want %v, %d, %s", out.ExitReason, out.Metadata.TurnsUsed, out.Metadata.Cost.Text(), tc.exit, tc.turns, tc.cost)
			}
			got := l.requests()[0]
			if want := or(tc.system, "Be short."); got.system() != want {
				t.Errorf("system = %q, want %q", got.system(), want)
			}
			if want := or(tc.model, "m"); got.Model != want {
				t.Errorf("model = %q, want %q", got.Model, want)
			}
			if names := join(got.toolNames()); names != or(tc.tools, "clock remember") {
				t.Errorf("tools = %s, want %s", names, tc.tools)
			}
			if got.key != "Bearer "+apiKey || got.user() != "go" || !got.Stream {
				t.Errorf("request = %+v", got)
			}
			if tc.name == "operators" { // what was not offered cannot be called either
				wantCalls(t, out, []bool{false})
			}
		})
	}
}

func or(s, otherwise string) string {
	if s == "" {
		return otherwise
	}
	return s
}

func join(names []string) string {
	s := ""
	for i, n := range names {
		if i > 0 {
			s += " "
		}
		s += n
	}
	return or(s, "none")
}

func TestCeiling(t *testing.T) {
	t.Parallel()
	huge := protocol.MustDecimal("1000")
	in := protocol.Text("go")
	in.Config = &protocol.OperatorConfig{MaxTurns: new(uint32(1000)), MaxCost: &huge, MaxDuration: new(protocol.MillisOf(time.Hour))}
	for _, tc := range []struct {
		name, ceiling string
		answer        func(*llm, chat) reply
		exit          protocol.ExitKind
		turns         uint32
	}{
		{"turns", "max_turns: 3", restless, protocol.ExitMaxTurns, 3},
		{"cost", `max_cost: "0.0005"`, restless, protocol.ExitBudgetExhausted, 3},
		{"duration", "max_duration: 200ms", hanging, protocol.ExitTimeout, 0},
		{"tool calls", "max_tool_calls: 4", restless, protocol.ExitBudgetExhausted, 4},
		{"failures", "max_consecutive_failures: 1", steps(use("watch", "{}")), protocol.ExitCircuitBreaker, 1},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			l := newLLM(t, tc.answer)
			manifest := provider + "  a: {provider: main, model: m, tools: [clock], limits: {max_consecutive_failures: 5}, ceiling: {" + tc.ceiling + "}}\n"
			out := dispatch(t, bed(t, manifest, bedConfig{model: l}), "a", in)
			if out.ExitReason.Kind() != tc.exit || out.Metadata.TurnsUsed != tc.turns {
				t.Errorf("exit %v after %d turns, want %v after %d", out.ExitReason, out.Metadata.TurnsUsed, tc.exit, tc.turns)
			}
		})
	}
}

func TestMoney(t *testing.T) {
	t.Parallel()
	l := newLLM(t, restless)
	conn := bed(t, provider+`  a: {provider: main, model: m, tools: [clock], limits: {max_cost: "0.0009"}}
  unpriced: {provider: main, model: unheard, tools: [clock], limits: {max_turns: 2}}
`, bedConfig{model: l})
	d := bus.NewDispatcher(conn)
	budget := func(usd string) protocol.Call {
		v := protocol.MustDecimal(usd)
		return protocol.Call{Budget: &v}
	}
	for usd, turns := range map[string]uint32{"0.0003": 2, "0": 0, "5": 5} { // the last is more than the agent's own
		out, err := d.Dispatch(protocol.WithCall(testContext(t), budget(usd)), "a", protocol.Text("go"))
		if err != nil || out.ExitReason.Kind() != protocol.ExitBudgetExhausted || out.Metadata.TurnsUsed != turns {
			t.Errorf("budget %s: exit %v after %d turns, %v; want budget_exhausted after %d", usd, out.ExitReason, out.Metadata.TurnsUsed, err, turns)
		}
	}
	out := dispatch(t, conn, "unpriced", protocol.Text("go"))
	if out.Metadata.UnpricedCalls != 2 || !out.Metadata.Cost.IsZero() || out.Metadata.TokensIn != 2000 {
		t.Errorf("unpriced: %+v", out.Metadata)
	}
	asked := len(l.requests())
	unheard := protocol.Text("go")
	unheard.Config = &protocol.OperatorConfig{Model: new("unheard")}
	limited := protocol.Text("go")
	limited.Config = &protocol.OperatorConfig{MaxCost: new(protocol.MustDecimal("1"))}
	for name, f := range map[string]func() error{
		"model": func() error { _, err := d.Dispatch(testContext(t), "a", unheard); return err },
		"limit": func() error { _, err := d.Dispatch(testContext(t), "unpriced", limited); return err },
		"budget": func() error {
			_, err := d.Dispatch(protocol.WithCall(testContext(t), budget("1")), "unpriced", protocol.Text("go"))
			return err
		},
	} {
		err := f()
		want := `there is a money limit, but the price of model "unheard" is not known: add it to the provider's prices or remove the limit`
		if protocol.CodeOf(err) != protocol.CodeInvalidInput || err.Error() != want || protocol.IsRetryable(err) {
			t.Errorf("%s: error = %v", name, err)
		}
	}
	if n := len(l.requests()); n != asked {
		t.Errorf("%d model calls were made that cannot be paid", n-asked)
	}
}
