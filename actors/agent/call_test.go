package agent_test

import (
	"context"
	"encoding/json"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"go.uber.org/zap"
	"go.uber.org/zap/zaptest/observer"

	"github.com/skelegent/skelegent-go/actors/agent"
	"github.com/skelegent/skelegent-go/actors/tool"
	"github.com/skelegent/skelegent-go/protocol"
)

func TestUnknownAndForbiddenToolsAreTold(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		allowed []string
		call    string
		want    string
	}{
		"unknown":   {nil, "none", "Error: tool not found: none; the tools are: a, b"},
		"forbidden": {[]string{"b"}, "a", "Error: tool not found: a; the tools are: b"},
		"no tools":  {[]string{}, "a", "Error: tool not found: a; there are no tools"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var n counter
			m := &model{steps: []step{says("", uses("1", c.call, `{}`)), says("done")}}
			in := protocol.Text("go")
			in.Config = &protocol.OperatorConfig{AllowedOperators: c.allowed}
			// A forbidden tool is not asked for either.
			cfg := agent.Config{Provider: m, Tools: []tool.Tool{n.tool("a", tool.RequiresApproval()), n.tool("b")}}
			out := execute(t, cfg, in)
			want := []protocol.ToolResultBlock{{ToolUseID: "1", Content: c.want, IsError: true}}
			if d := cmp.Diff(want, results(m.asks[1])); d != "" || n.n != 0 {
				t.Error(d)
			}
			record := []protocol.SubDispatchRecord{{Name: c.call}}
			if d := cmp.Diff(record, out.Metadata.SubDispatches); d != "" {
				t.Error(d)
			}
		})
	}
}

func TestBadInputIsAnsweredWithTheSchemaTwice(t *testing.T) {
	t.Parallel()
	var n counter
	bad := uses("c", "a", `{"x":1}`)
	m := &model{steps: []step{says("", bad), says("", bad), says("", bad), says("", uses("c", "b", `{"x":1}`)), says("done")}}
	execute(t, agent.Config{
		Provider: m, Tools: []tool.Tool{n.tool("a"), n.tool("b")}, Limits: agent.Limits{MaxConsecutiveFailures: 9},
	}, protocol.Text("go"))
	schema := `{"type":"object","properties":{},"additionalProperties":false}`
	told := func(name string) string {
		return "Tool '" + name + "' rejected the input: unexpected additional properties [\"x\"]\nExpected schema: " + schema +
			"\nPlease fix the input and try again."
	}
	want := []string{told("a"), told("a"), `Error: invalid input: unexpected additional properties ["x"]`, told("b")}
	var got []string
	for _, r := range results(m.asks[4]) {
		got = append(got, r.Content)
		if !r.IsError {
			t.Errorf("%s is not an error", r.Content)
		}
	}
	if d := cmp.Diff(want, got); d != "" || n.n != 0 {
		t.Error(d)
	}
}

func TestCallsAreRepaired(t *testing.T) {
	t.Parallel()
	var n counter
	script := says("", uses("", "a", ``), uses("", "a", `{"cut`))
	m := &model{steps: []step{script, says("done")}}
	execute(t, agent.Config{Provider: m, Tools: []tool.Tool{n.tool("a")}}, protocol.Text("go"))
	var calls []protocol.ToolUseBlock
	for _, msg := range m.asks[1].Messages {
		for _, b := range msg.Content.Blocks() {
			if c, ok := b.(protocol.ToolUseBlock); ok {
				calls = append(calls, c)
			}
		}
	}
	want := []protocol.ToolUseBlock{
		{ID: "call_1_1", Name: "a", Input: json.RawMessage(`{}`)}, {ID: "call_1_2", Name: "a", Input: json.RawMessage(`"{\"cut"`)},
	}
	if d := cmp.Diff(want, calls); d != "" || n.n != 1 {
		t.Error(d)
	}
	if script.resp.ToolCalls[0].ID != "" {
		t.Error("the provider's answer was changed")
	}
	if r := results(m.asks[1]); len(r) != 2 || r[0].IsError || !r[1].IsError {
		t.Errorf("got %+v", r)
	}
}

func TestChildrenGetWhatIsLeft(t *testing.T) {
	t.Parallel()
	var got []string
	d := protocol.DispatcherFunc(func(ctx context.Context, _ protocol.OperatorID, in protocol.OperatorInput) (protocol.OperatorOutput, error) {
		c := protocol.NextCall(ctx)
		budget := "none"
		if c.Budget != nil {
			budget = c.Budget.Text()
		}
		got = append(got, budget+" "+string(c.Parent))
		out := protocol.Reply("ok")
		out.Metadata.Cost = protocol.MustDecimal("0.3")
		return out, nil
	})
	ask := uses("c", "child", `{"message":"go"}`)
	cfg := agent.Config{
		Provider: &model{steps: []step{says("", ask, ask, ask, ask).costs("0.2"), says("done")}},
		Tools:    []tool.Tool{tool.FromOperator("child", "", d, "child")}, Limits: agent.Limits{MaxCost: new(protocol.MustDecimal("1"))},
	}
	ctx := protocol.WithInvocation(t.Context(), &protocol.Invocation{Call: protocol.Call{Run: "r1"}})
	// What was meant for this dispatch is not for the next.
	ctx = protocol.WithCall(ctx, protocol.Call{Budget: new(protocol.MustDecimal("99")), Run: "r1"})
	out, err := build(t, cfg).Execute(ctx, protocol.Text("go"))
	if err != nil {
		t.Fatal(err)
	}
	// The third call spends too much, so the fourth is not made.
	if d := cmp.Diff([]string{"0.8 r1", "0.5 r1", "0.2 r1"}, got); d != "" {
		t.Error(d)
	}
	if out.ExitReason.Kind() != protocol.ExitBudgetExhausted || out.Metadata.Cost.Text() != "1.1" {
		t.Errorf("got %s, cost %s", out.ExitReason, out.Metadata.Cost)
	}
	cfg.Limits, got = agent.Limits{MaxTurns: 1}, nil
	cfg.Provider = &model{steps: []step{says("", ask)}}
	if _, err := build(t, cfg).Execute(ctx, protocol.Text("go")); err != nil || got[0] != "none r1" {
		t.Errorf("without a limit: got %v, %v", got, err)
	}
}

type memory map[string]string

func (m memory) Read(_ context.Context, scope protocol.Scope, key string) (json.RawMessage, error) {
	if v, ok := m[scope.String()+"/"+key]; ok {
		return json.RawMessage(v), nil
	}
	return nil, nil
}

func (memory) List(context.Context, protocol.Scope, string) ([]string, error) { return nil, nil }

func (memory) Search(context.Context, protocol.Scope, string, int) ([]protocol.SearchResult, error) {
	return nil, nil
}

func TestRecallSeesTheRunsOwnWrites(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		in    protocol.OperatorInput
		scope protocol.Scope
	}{
		"session":    {protocol.Text("go").WithSession("s1"), protocol.InSession("s1")},
		"no session": {protocol.Text("go"), protocol.OfOperator("", "assistant")},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m := &model{steps: []step{
				says("", uses("1", "recall", `{"key":"k"}`), uses("2", "remember", `{"key":"k","value":7}`), uses("3", "recall", `{"key":"k"}`)),
				says("done"),
			}}
			// The session of a parent within the process is not this run's.
			ctx := tool.WithRun(t.Context(), tool.Run{Session: new(protocol.SessionID("parent"))})
			a := build(t, agent.Config{
				Name: "assistant", Provider: m, Tools: []tool.Tool{tool.Remember(), tool.Recall(memory{c.scope.String() + "/k": `1`})},
			})
			out, err := a.Execute(ctx, c.in)
			if err != nil {
				t.Fatal(err)
			}
			want := protocol.Effects{protocol.WriteMemory{Scope: c.scope, Key: "k", Value: json.RawMessage(`7`)}}
			if d := cmp.Diff(want, out.Effects, cmpopts.EquateComparable(protocol.Scope{})); d != "" {
				t.Error(d)
			}
			got := results(m.asks[1])
			if !strings.Contains(got[0].Content, `"value":1`) || !strings.Contains(got[2].Content, `"value":7`) {
				t.Errorf("got %+v", got)
			}
		})
	}
}

func TestLongResultsAreCut(t *testing.T) {
	t.Parallel()
	m := &model{steps: []step{says("", uses("1", "a", `{}`)), says("done")}}
	x := tool.Func("a", "", func(context.Context, struct{}) (string, error) { return strings.Repeat("x", 100), nil })
	execute(t, agent.Config{Provider: m, Tools: []tool.Tool{x}, MaxResultText: 10}, protocol.Text("go"))
	if got := results(m.asks[1])[0].Content; got != "xxxxxxxxxx\n[cut: the first 10 of 100 bytes]" {
		t.Errorf("got %q", got)
	}
}

func TestNothingOfTheConversationIsLogged(t *testing.T) {
	t.Parallel()
	const secret = "s3cret"
	core, logs := observer.New(zap.DebugLevel)
	x := tool.Func("a", "", func(_ context.Context, in struct {
		Do string `json:"do"`
	},
	) (string, error) {
		if in.Do == "panic" {
			panic(secret)
		}
		return secret, nil
	})
	m := &model{steps: []step{says(secret, uses("1", "a", `{"do":"`+secret+`"}`), uses("2", "a", `{"do":"panic"}`), uses("3", "a", `{"x":"`+secret+`"}`)), says(secret)}}
	execute(t, agent.Config{Provider: m, System: secret, Tools: []tool.Tool{x}, Logger: zap.New(core)}, protocol.Text(secret))
	crashed := false
	for _, e := range logs.All() {
		raw, err := json.Marshal(e.ContextMap())
		if err != nil || strings.Contains(e.Message+string(raw), secret) {
			t.Errorf("logged %s %s", e.Message, raw)
		}
		crashed = crashed || e.Message == "tool panicked" && strings.Contains(string(raw), "call_test.go")
	}
	if !crashed {
		t.Error("the panic was not logged with its stack")
	}
}

func TestAgentIsSafeForConcurrentUse(t *testing.T) {
	t.Parallel()
	var n counter
	a := build(t, agent.Config{Provider: &model{steps: []step{says("a", uses("c", "work", `{}`))}}, Tools: []tool.Tool{n.tool("work")}})
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			out, err := a.Execute(t.Context(), protocol.Text("go"))
			if err != nil || out.ExitReason.Kind() != protocol.ExitMaxTurns || len(out.Metadata.SubDispatches) != 10 {
				t.Errorf("got %s, %v", out.ExitReason, err)
			}
		})
	}
	all.Wait()
}
