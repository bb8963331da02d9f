package rule_test

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/skelegent/skelegent-go/actors/agent"
	"github.com/skelegent/skelegent-go/actors/engine"
	"github.com/skelegent/skelegent-go/actors/rule"
	"github.com/skelegent/skelegent-go/actors/tool"
	"github.com/skelegent/skelegent-go/protocol"
)

// spy notes every moment, and answers some of them with an action.
type spy struct {
	seen []string
	do   map[string]rule.Action
}

func (s *spy) at(what string, st rule.State, more ...any) rule.Action {
	s.seen = append(s.seen, strings.TrimSpace(fmt.Sprint(what, " ", st.Turns, " ", fmt.Sprint(more...))))
	return s.do[what]
}

func (s *spy) BeforeInference(_ context.Context, st rule.State) rule.Action {
	return s.at("before_inference", st)
}

func (s *spy) AfterInference(_ context.Context, st rule.State, r protocol.Content) rule.Action {
	text, _ := r.AsText()
	return s.at("after_inference", st, text)
}

func (s *spy) BeforeToolCall(_ context.Context, st rule.State, name string, in json.RawMessage) rule.Action {
	return s.at("before_tool_call", st, name+" "+string(in))
}

func (s *spy) AfterToolCall(_ context.Context, st rule.State, name, result string) rule.Action {
	return s.at("after_tool_call", st, name+" "+result)
}

func (s *spy) WhenExitCheck(_ context.Context, st rule.State) rule.Action {
	return s.at("when_exit_check", st)
}

func (s *spy) BeforeSteeringInject(_ context.Context, st rule.State, m []string) rule.Action {
	return s.at("before_steering_inject", st, m)
}

func (s *spy) WhenSteeringSkip(_ context.Context, st rule.State, m []string) {
	s.at("when_steering_skip", st, m)
}

func (s *spy) BeforeCompaction(_ context.Context, st rule.State) rule.Action {
	return s.at("before_compaction", st, len(st.Messages))
}

func (s *spy) AfterCompaction(_ context.Context, st rule.State) {
	s.at("after_compaction", st, len(st.Messages))
}

// last keeps the last message.
type last struct{}

func (last) Name() string { return "last" }

func (last) Cut(_ context.Context, _ *engine.Context, all []protocol.Message) (engine.Cut, error) {
	keep := make([]bool, len(all))
	keep[len(all)-1] = true
	return engine.Cut{Keep: keep}, nil
}

// compacting keeps only the last call after the first turn.
func compacting() agent.Rule {
	return engine.Before(engine.OpInfer, "compact", 50, engine.OpFunc("compact", func(ctx context.Context, c *engine.Context) error {
		_, err := c.CompactIf(ctx, func(c *engine.Context) bool { return c.Metrics().Turns == 1 }, last{})
		return err
	}))
}

// watched is a run with a call, something said meanwhile, and hooks.
func watched(t *testing.T, h rule.Hooks, maxTurns uint32, more ...agent.Rule) (protocol.OperatorOutput, *model, *work, error) {
	t.Helper()
	w, m := &work{}, &model{answers: answers([]string{`{"a":1}`})}
	in := &agent.Inbox{}
	in.Say("hurry")
	a := build(t, agent.Config{
		Provider: m, Tools: []tool.Tool{w.tool(t, "work")}, Limits: agent.Limits{MaxTurns: maxTurns},
		Rules: append(rule.FromHooks("spy", 80, h), more...),
	})
	out, err := a.Execute(agent.WithInbox(t.Context(), in), protocol.Text("go"))
	return out, m, w, err
}

func TestHooksSeeEveryMoment(t *testing.T) {
	t.Parallel()
	s := &spy{}
	if _, _, _, err := watched(t, s, 0, compacting()); err != nil {
		t.Fatal(err)
	}
	want := []string{
		"before_steering_inject 0 [hurry]", "before_inference 0", "after_inference 1 turn", "when_exit_check 1",
		`before_tool_call 1 work {"a":1}`, "after_tool_call 1 work ok", "before_inference 1", "before_compaction 1 4", "after_compaction 1 2",
		"after_inference 2 done", "when_exit_check 2",
	}
	if d := cmp.Diff(want, s.seen); d != "" {
		t.Error(d)
	}
}

func TestHooksAct(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		at   string
		do   rule.Action
		exit string // empty: an error
		made []string
	}{
		"halt before a model call":  {"before_inference", rule.Halt("no"), "interceptor_halt: no", nil},
		"halt behind a model call":  {"after_inference", rule.Halt("no"), "interceptor_halt: no", nil},
		"halt before a call":        {"before_tool_call", rule.Halt("no"), "interceptor_halt: no", nil},
		"halt behind a call":        {"after_tool_call", rule.Halt("no"), "interceptor_halt: no", []string{`{"a":1}`}},
		"halt at the exit":          {"when_exit_check", rule.Halt("no"), "interceptor_halt: no", nil},
		"halt at steering":          {"before_steering_inject", rule.Halt("no"), "interceptor_halt: no", nil},
		"halt before a compaction":  {"before_compaction", rule.Halt("no"), "interceptor_halt: no", []string{`{"a":1}`}},
		"another input":             {"before_tool_call", rule.ModifyInput(json.RawMessage(`{"b":2}`)), "max_turns", []string{`{"b":2}`}},
		"no call":                   {"before_tool_call", rule.Skip("closed"), "max_turns", nil},
		"no steering":               {"before_steering_inject", rule.Skip(""), "max_turns", []string{`{"a":1}`}},
		"no JSON":                   {"before_tool_call", rule.ModifyInput(json.RawMessage(`{`)), "error", nil},
		"an input for an inference": {"after_inference", rule.ModifyInput(json.RawMessage(`{}`)), "error", nil},
		"an input for a result":     {"after_tool_call", rule.ModifyInput(json.RawMessage(`{}`)), "error", []string{`{"a":1}`}},
		"skip an exit":              {"when_exit_check", rule.Skip("x"), "error", nil},
		"skip a model call":         {"before_inference", rule.Skip("x"), "", nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := &spy{do: map[string]rule.Action{c.at: c.do}}
			var out protocol.OperatorOutput
			var m *model
			var w *work
			var err error
			if c.at == "before_compaction" {
				out, m, w, err = watched(t, s, 0, compacting())
			} else {
				out, m, w, err = watched(t, s, 1)
			}
			if c.exit == "" {
				if protocol.CodeOf(err) != protocol.CodeInternal {
					t.Errorf("got %v", err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if wantExit(t, out, c.exit); !slices.Equal(w.inputs, c.made) {
				t.Errorf("made %q", w.inputs)
			}
			if name == "no steering" {
				if heard := shape(m.asks[0]); heard != "user:go" || !slices.Contains(s.seen, "when_steering_skip 0 [hurry]") {
					t.Errorf("heard %s, told %q", heard, s.seen)
				}
			}
		})
	}
}

// What a hook put in place of a call is what the model is told.
func TestSkippedCallsAreTold(t *testing.T) {
	t.Parallel()
	s := &spy{do: map[string]rule.Action{"before_tool_call": rule.Skip("closed today")}}
	w, m := &work{}, &model{answers: answers([]string{`{}`})}
	execute(t, agent.Config{Provider: m, Tools: []tool.Tool{w.tool(t, "work")}, Rules: rule.FromHooks("spy", 0, s)})
	if got := shape(m.asks[1]); len(w.inputs) != 0 || got != "user:go|assistant:turn(work)|tool:closed today" {
		t.Errorf("got %s", got)
	}
	if !slices.Contains(s.seen, "after_tool_call 1 work closed today") {
		t.Errorf("got %q", s.seen)
	}
}

func TestNopHooksChangeNothing(t *testing.T) {
	t.Parallel()
	w, m := &work{}, &model{answers: answers([]string{`{}`})}
	out := execute(t, agent.Config{
		Provider: m, Tools: []tool.Tool{w.tool(t, "work")}, Rules: rule.FromHooks("nop", 0, rule.NopHooks{}),
	})
	if wantExit(t, out, "complete"); len(m.asks) != 2 || len(w.inputs) != 1 {
		t.Errorf("asked %d times, %d calls", len(m.asks), len(w.inputs))
	}
}

func TestToolRules(t *testing.T) {
	t.Parallel()
	w, m := &work{}, &model{answers: answers([]string{`work {}`, `look {}`})}
	rules := []engine.Rule{
		rule.BeforeTool("look", "add", 0, func(_ context.Context, _ *engine.Context, call *engine.ToolCall) error {
			call.Call.Input = json.RawMessage(`{"deep":true}`)
			return nil
		}),
		rule.AfterTool("", "mark", 0, func(_ context.Context, _ *engine.Context, call *engine.ToolCall) error {
			call.Result = call.Call.Name + " says " + call.Result
			return nil
		}),
	}
	execute(t, agent.Config{Provider: m, Tools: []tool.Tool{w.tool(t, "work"), w.tool(t, "look")}, Rules: rules})
	if got := shape(m.asks[1]); got != "user:go|assistant:turn(work)(look)|tool:work says ok|tool:look says ok" ||
		!slices.Equal(w.inputs, []string{`{}`, `{"deep":true}`}) {
		t.Errorf("got %s, made %q", got, w.inputs)
	}
}
