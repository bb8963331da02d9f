package rule_test

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/skelegent/skelegent-go/actors/agent"
	"github.com/skelegent/skelegent-go/actors/engine"
	"github.com/skelegent/skelegent-go/actors/rule"
	"github.com/skelegent/skelegent-go/actors/run"
	"github.com/skelegent/skelegent-go/actors/step"
	"github.com/skelegent/skelegent-go/actors/step/steptest"
	"github.com/skelegent/skelegent-go/actors/tool"
	"github.com/skelegent/skelegent-go/protocol"
)

func dollars(literal string) *protocol.Decimal { return new(protocol.MustDecimal(literal)) }

func TestBudgetEndsRuns(t *testing.T) {
	t.Parallel()
	one := says("working", uses("c", "work", `{}`))
	two := says("working", uses("c", "work", `{}`), uses("d", "work", `{}`))
	three := says("working", uses("c", "work", `{}`), uses("d", "work", `{}`), uses("e", "work", `{}`))
	done := says("done")
	for name, c := range map[string]struct {
		limits  engine.Limits
		answers []protocol.InferResponse
		do      func() tool.Result
		exit    string
		text    string
		asks    int
		calls   int
	}{
		"money": {
			engine.Limits{MaxCost: dollars("1.00")},
			[]protocol.InferResponse{costs(one, "0.30")},
			nil,
			"budget_exhausted", "working", 4, 3,
		},
		"money, exactly": {
			engine.Limits{MaxCost: dollars("1.00")},
			[]protocol.InferResponse{costs(one, "1.00"), costs(done, "0.50")},
			nil,
			"complete", "done", 2, 1,
		},
		"money for the last answer": {
			engine.Limits{MaxCost: dollars("1.00")}, []protocol.InferResponse{costs(done, "1.50")}, nil, "complete", "done", 1, 0,
		},
		"no price": {
			engine.Limits{MaxCost: dollars("1.00")}, []protocol.InferResponse{costs(one, "")}, nil, "budget_exhausted", "working", 1, 0,
		},
		"money of a tool": {
			engine.Limits{MaxCost: dollars("1.00")},
			[]protocol.InferResponse{two, done},
			func() tool.Result { return tool.Result{Cost: dollars("2.00")} }, "budget_exhausted", "working", 1, 1,
		},
		"turns": {engine.Limits{MaxTurns: 2}, []protocol.InferResponse{one}, nil, "max_turns", "working", 2, 1},
		"turns with the last answer": {
			engine.Limits{MaxTurns: 2}, []protocol.InferResponse{one, done}, nil, "complete", "done", 2, 1,
		},
		"calls":         {engine.Limits{MaxToolCalls: 2}, []protocol.InferResponse{two, done}, nil, "budget_exhausted", "working", 1, 2},
		"calls and one": {engine.Limits{MaxToolCalls: 2}, []protocol.InferResponse{three, done}, nil, "budget_exhausted", "working", 1, 2},
		"calls by turn": {engine.Limits{MaxToolCalls: 3}, []protocol.InferResponse{two, two, done}, nil, "budget_exhausted", "working", 2, 3},
		"money before turns": {
			engine.Limits{MaxCost: dollars("0.001"), MaxTurns: 1}, []protocol.InferResponse{one}, nil, "budget_exhausted", "working", 1, 0,
		},
		"a handoff": {
			engine.Limits{MaxCost: dollars("1.00")},
			[]protocol.InferResponse{one},
			func() tool.Result {
				return tool.Result{Cost: dollars("2.00"), Effects: protocol.Effects{protocol.Handoff{Operator: "b", State: json.RawMessage(`{}`)}}}
			}, "handed_off", "working", 1, 1,
		},
		"nothing bounded": {engine.Limits{}, []protocol.InferResponse{three, three, done}, nil, "complete", "done", 3, 6},
	} {
		for _, durably := range []bool{false, true} {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				m, w := &model{answers: c.answers}, &work{do: c.do}
				cfg := agent.Config{Provider: m, Tools: []tool.Tool{w.tool(t, "work")}, Rules: rule.Budget(c.limits)}
				var out protocol.OperatorOutput
				if durably {
					_, out = durable(t, nil, func() agent.Config { return cfg })
				} else {
					out = execute(t, cfg)
				}
				text, _ := out.Message.AsText()
				if wantExit(t, out, c.exit); text != c.text || len(m.asks) != c.asks || len(w.inputs) != c.calls {
					t.Errorf("got %q, asked %d times, %d calls", text, len(m.asks), len(w.inputs))
				}
			})
		}
	}
}

// A structured output is a call of a tool, and the last answer all the same.
func TestBudgetLeavesStructuredOutputs(t *testing.T) {
	t.Parallel()
	m := &model{answers: []protocol.InferResponse{costs(says("", uses("c", "return_result", `{"result":7}`)), "3.00")}}
	out := execute(t, agent.Config{
		Provider: m, Output: &agent.Output{}, Rules: rule.Budget(engine.Limits{MaxTurns: 1, MaxCost: dollars("1.00")}),
	})
	text, _ := out.Message.AsText()
	if wantExit(t, out, "complete"); text != "7" {
		t.Errorf("got %q", text)
	}
}

// What other rules spend before a model call counts before that call.
func TestBudgetSeesWhatRulesSpend(t *testing.T) {
	t.Parallel()
	m := &model{answers: []protocol.InferResponse{costs(says("x"), "2.00")}}
	ask := engine.Before(engine.OpInfer, "ask", 50, engine.OpFunc("ask", func(ctx context.Context, c *engine.Context) error {
		_, err := c.Ask(ctx, "side", protocol.InferRequest{Messages: c.Conversation()})
		return err
	}))
	out := execute(t, agent.Config{Provider: m, Rules: append(rule.Budget(engine.Limits{MaxCost: dollars("1.00")}), ask)})
	if wantExit(t, out, "budget_exhausted"); len(m.asks) != 1 || out.Metadata.Cost.String() != "2.00" {
		t.Errorf("asked %d times for %s", len(m.asks), out.Metadata.Cost)
	}
}

func TestBudgetWarnsOnce(t *testing.T) {
	t.Parallel()
	m, w, s := &model{answers: []protocol.InferResponse{costs(says("", uses("c", "work", `{}`)), "0.30")}}, &work{}, &sink{}
	a := build(t, agent.Config{
		Provider: m, Tools: []tool.Tool{w.tool(t, "work")}, Limits: agent.Limits{MaxTurns: 50},
		Rules: rule.Budget(engine.Limits{MaxCost: dollars("2.50"), MaxTurns: 20, MaxToolCalls: 9}),
	})
	if _, err := a.Execute(s.watch(t.Context()), protocol.Text("go")); err != nil {
		t.Fatal(err)
	}
	for want, count := range map[string]int{
		`{"type":"budget_warning","workflow":"op/i","spent":"2.10","limit":"2.50"}`: 1,
		`{"type":"budget_action","workflow":"op/i","action":"halt_workflow"}`:       1,
		`{"type":"step_limit_approaching","operator":"op","current":8,"max":9}`:     1,
		`"type":"step_limit_reached"`:                                               0, `"type":"cost_incurred"`: 9,
	} {
		if got := strings.Count(s.all(), want); got != count {
			t.Errorf("%s: %d times, want %d\n%s", want, got, count, s.all())
		}
	}
}

// One rule, many runs: each has its own limits.
func TestBudgetIsSharedByRuns(t *testing.T) {
	t.Parallel()
	w := &work{}
	rules := slices.Concat(rule.Budget(engine.Limits{MaxTurns: 3}), rule.LoopDetector(9), rule.Remind("remember"), rule.StepLimit(50),
		[]engine.Rule{rule.Telemetry(rule.TelemetryConfig{})})
	m := &model{answers: []protocol.InferResponse{says("", uses("c", "work", `{}`))}}
	a := build(t, agent.Config{Provider: m, Tools: []tool.Tool{w.tool(t, "work")}, Rules: rules})
	var group sync.WaitGroup
	for range 8 {
		group.Go(func() {
			out, err := a.Execute(t.Context(), protocol.Text("go"))
			if err != nil || out.ExitReason.Kind() != protocol.ExitMaxTurns || out.Metadata.TurnsUsed != 3 {
				t.Errorf("got %+v, %v", out.Metadata, err)
			}
		})
	}
	group.Wait()
	if len(m.asks) != 24 || len(w.inputs) != 16 {
		t.Errorf("asked %d times, %d calls", len(m.asks), len(w.inputs))
	}
}

func TestBudgetEndsRunsInTime(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := &work{do: func() tool.Result {
			time.Sleep(time.Minute)
			return tool.Result{}
		}}
		m := &model{answers: []protocol.InferResponse{says("working", uses("c", "work", `{}`), uses("d", "work", `{}`)), says("done")}}
		out := execute(t, agent.Config{
			Provider: m, Tools: []tool.Tool{w.tool(t, "work")}, Rules: rule.Budget(engine.Limits{MaxDuration: 30 * time.Second}),
		})
		if wantExit(t, out, "timeout"); len(w.inputs) != 1 || len(m.asks) != 1 {
			t.Errorf("%d calls, asked %d times", len(w.inputs), len(m.asks))
		}
	})
}

// A run that goes on when its time is over first takes in what its log has.
func TestTimeDoesNotEndAReplay(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := &work{}
		m := &model{answers: []protocol.InferResponse{says("working", uses("c", "work", `{}`)), says("done")}}
		cfg := agent.Config{
			Provider: m, System: "s", Tools: []tool.Tool{w.tool(t, "work")}, Rules: rule.Budget(engine.Limits{MaxDuration: time.Minute}),
		}
		r := steptest.New(steptest.Config{})
		r.Input(protocol.Text("go"), run.Enqueue)
		r.KillAfter(2)
		if _, err := r.Execute(t.Context(), build(t, cfg)); !step.Unwinding(err) {
			t.Fatalf("got %v", err)
		}
		time.Sleep(2 * time.Minute)
		out, err := r.Execute(t.Context(), build(t, cfg))
		text, _ := out.Message.AsText()
		if wantExit(t, out, "timeout"); err != nil || text != "working" || out.Metadata.TurnsUsed != 1 || len(out.Metadata.SubDispatches) != 1 {
			t.Errorf("got %q, %+v, %v", text, out.Metadata, err)
		}
		if len(m.asks) != 1 || len(w.inputs) != 1 {
			t.Errorf("asked %d times, %d calls", len(m.asks), len(w.inputs))
		}
	})
}
