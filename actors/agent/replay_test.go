package agent_test

import (
	"context"
	"encoding/json"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/skelegent/skelegent-go/actors/agent"
	"github.com/skelegent/skelegent-go/actors/run"
	steps "github.com/skelegent/skelegent-go/actors/step"
	"github.com/skelegent/skelegent-go/actors/step/steptest"
	"github.com/skelegent/skelegent-go/actors/tool"
	"github.com/skelegent/skelegent-go/protocol"
)

// script answers by how far the conversation has come, as a model does, and not by how often it was asked.
type script struct {
	answers []protocol.InferResponse

	mu   sync.Mutex
	asks map[int][]string // by turn: the requests
}

func (s *script) Infer(_ context.Context, req protocol.InferRequest, _ func(protocol.StreamEvent)) (protocol.InferResponse, error) {
	turn := 0
	for _, m := range req.Messages {
		if m.Role == protocol.RoleAssistant {
			turn++
		}
	}
	raw, err := protocol.Marshal(req.Messages)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.asks[turn] = append(s.asks[turn], string(raw))
	return s.answers[turn], err
}

func (*script) Priced(string) bool { return true }

// shop is a run of an agent with all that a log has to keep, and what it did outside.
type shop struct {
	run      *steptest.Run
	model    *script
	orders   int // of the tool that must not be made twice
	looks    int // of one that may
	children map[protocol.RunID]int
}

func newShop() *shop {
	s := &shop{
		children: map[protocol.RunID]int{},
		model: &script{asks: map[int][]string{}, answers: []protocol.InferResponse{
			says("Let me see.", uses("a", "look", `{}`), uses("b", "expert", `{"message":"which?"}`)).resp,
			says("May I?", uses("a", "order", `{"n":1}`), uses("b", "look", `{}`)).resp,
			says("Done.").resp,
		}},
	}
	s.run = steptest.New(steptest.Config{
		Children: func(_ context.Context, child run.Child, _ protocol.OperatorInput) (protocol.OperatorOutput, error) {
			s.children[child.Run]++
			out := protocol.Reply("the red one")
			out.Metadata.Cost = protocol.MustDecimal("0.02")
			return out, nil
		},
	})
	s.run.Input(protocol.Text("Buy one."), run.Enqueue)
	return s
}

func (s *shop) agent(t *testing.T) *agent.Agent {
	t.Helper()
	look := tool.Func("look", "", func(context.Context, struct{}) (string, error) { s.looks++; return "red, blue", nil }, tool.Repeatable())
	order, err := tool.Raw(protocol.ToolMetadata{Name: "order"}, func(ctx context.Context, _ json.RawMessage) (tool.Result, error) {
		s.orders++
		if got := tool.RunFrom(ctx).IdempotencyKey; got != "r1/6" || steps.Key(ctx) != got {
			t.Errorf("the key is %s and %s", got, steps.Key(ctx))
		}
		ordered := protocol.Log{Level: protocol.LogInfo, Message: "ordered"}
		return tool.Result{Output: json.RawMessage(`"ordered"`), Effects: protocol.Effects{ordered}}, nil
	}, tool.RequiresApproval())
	if err != nil {
		t.Fatal(err)
	}
	return build(t, agent.Config{
		Provider: s.model, Tools: []tool.Tool{look, order, tool.FromOperator("expert", "", nil, "expert")},
		Limits: agent.Limits{MaxCost: new(protocol.MustDecimal("1")), MaxDuration: time.Minute},
	})
}

func (s *shop) finish(t *testing.T) protocol.OperatorOutput {
	t.Helper()
	out, err := s.run.Finish(t.Context(), func() protocol.Operator { return s.agent(t) }, func(w run.Wait) {
		s.run.Signal("approve", nil)
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// askedAgain are the turns in which the model was asked more than once.
func (s *shop) askedAgain() (turns []int) {
	for turn, asks := range s.model.asks {
		if len(asks) > 1 {
			turns = append(turns, turn)
		}
	}
	return turns
}

var sameExit = cmp.Comparer(func(a, b protocol.ExitReason) bool { return a == b })

func TestAKillAnywhereChangesNothing(t *testing.T) {
	t.Parallel()
	var records int
	var want protocol.OperatorOutput
	first := newShop()
	synctest.Test(t, func(t *testing.T) {
		want = first.finish(t)
		records = first.run.Records()
	})
	wantExit(t, want, protocol.Exit(protocol.ExitComplete), "Done.")
	if want.Metadata.Cost.Text() != "0.035" || len(want.Effects) != 1 || records != 10 || first.orders != 1 || first.looks != 2 {
		t.Fatalf("got %+v, %d records, %d orders, %d looks", want, records, first.orders, first.looks)
	}
	for name, kill := range steptest.Kills(records) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				s := newShop()
				kill(s.run)
				got := s.finish(t)
				told := strings.Join(s.model.asks[2], "")
				if strings.Contains(told, "outcome of this call is unknown") { // made or not, it was not made again
					if name != "after record 7" && name != "before record 8" {
						t.Error("the outcome should be known")
					}
					got.Effects = want.Effects
					got.Metadata.SubDispatches[2].Success = true
				} else if s.orders != 1 {
					t.Errorf("ordered %d times", s.orders)
				}
				if d := cmp.Diff(want, got, sameExit); d != "" {
					t.Error(d)
				}
				if again := s.askedAgain(); len(again) > 1 || s.orders > 1 || s.children["r1.3.1"] != 1 || len(s.children) != 1 {
					t.Errorf("turns %v paid twice, %d orders, children %v", again, s.orders, s.children)
				}
				for turn, asks := range s.model.asks {
					for _, ask := range asks {
						if !strings.Contains(told, "is unknown") && ask != first.model.asks[turn][0] {
							t.Errorf("turn %d was asked otherwise:\n%s\n%s", turn, ask, first.model.asks[turn][0])
						}
					}
				}
			})
		})
	}
}

func TestReplayOfACompleteJournalDoesNothing(t *testing.T) {
	t.Parallel()
	first := newShop()
	first.finish(t)
	s := newShop()
	s.run.KillAfter(first.run.Records())
	_, err := s.run.Finish(t.Context(), func() protocol.Operator {
		if s.run.Records() == first.run.Records() {
			s.model.asks, s.orders, s.looks, s.children = map[int][]string{}, 0, 0, map[protocol.RunID]int{}
		}
		return s.agent(t)
	}, func(run.Wait) { s.run.Signal("approve", nil) })
	if err != nil || len(s.model.asks)+s.orders+s.looks+len(s.children) != 0 {
		t.Errorf("%v: asked %d times, %d orders, %d looks, children %v", err, len(s.model.asks), s.orders, s.looks, s.children)
	}
}
