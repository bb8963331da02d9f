package agent_test

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/skelegent/skelegent-go/actors/agent"
	"github.com/skelegent/skelegent-go/actors/compact"
	"github.com/skelegent/skelegent-go/actors/engine"
	"github.com/skelegent/skelegent-go/actors/rule"
	"github.com/skelegent/skelegent-go/actors/run"
	"github.com/skelegent/skelegent-go/actors/step/steptest"
	"github.com/skelegent/skelegent-go/actors/tool"
	"github.com/skelegent/skelegent-go/protocol"
)

// wild is a durable run of an agent of which everything is by chance, but the same for one seed.
type wild struct {
	run  *steptest.Run
	cfg  agent.Config
	pick func(n int) int

	mu    sync.Mutex
	asked map[string]int // requests
	made  map[string]int // calls by tool and key
}

func newWild(seed uint64) *wild {
	r := rand.New(rand.NewPCG(seed, 1))
	w := &wild{asked: map[string]int{}, made: map[string]int{}, pick: r.IntN}
	names := []string{"quick", "quick", "once", "alone", "fails", "ask", "ask_once", "child", "child", "what?"}
	turns := 2 + w.pick(3)
	answers := make([]protocol.InferResponse, turns)
	for turn := range answers {
		var calls []protocol.ToolCall
		for n := range w.pick(6) {
			id := []string{"", "x", fmt.Sprint("c", n)}[w.pick(3)]
			input := []string{`{"message":"a"}`, `{"message":"b"}`, `{"message":"a"}`, `{"mess`, ``}[w.pick(5)]
			calls = append(calls, uses(id, names[w.pick(len(names))], input))
		}
		answers[turn] = says(fmt.Sprint("turn ", turn), calls...).resp
	}
	answers[turns-1].ToolCalls = nil
	w.cfg = agent.Config{
		Provider: &wildModel{w, answers}, RunSafeCalls: w.pick(2) == 0, MaxParallel: 1 + w.pick(3),
		Tools: []tool.Tool{
			w.tool("quick", tool.ParallelSafe(), tool.Repeatable()), w.tool("once", tool.ParallelSafe()), w.tool("alone", tool.Repeatable()),
			w.tool("fails", tool.ParallelSafe(), tool.Repeatable()), w.tool("ask", tool.RequiresApproval(), tool.Repeatable()),
			w.tool("ask_once", tool.RequiresApproval()), tool.FromOperator("child", "", nil, "child", tool.ParallelSafe()),
		},
		Limits: agent.Limits{MaxToolCalls: uint32(w.pick(2) * (3 + w.pick(8))), MaxConsecutiveFailures: uint32(1 + w.pick(4))},
	}
	var budget *protocol.Decimal
	if w.pick(3) == 0 {
		w.cfg.Limits.MaxCost = new(protocol.MustDecimal([]string{"0.01", "0.03", "1"}[w.pick(3)]))
	}
	if w.pick(3) == 0 {
		budget = new(protocol.MustDecimal([]string{"0.0201", "0.0501", "1"}[w.pick(3)]))
	}
	w.rules(budget == nil) // what is asked aside counts, so that a run that has no more stops before it asks again
	w.run = steptest.New(steptest.Config{
		Budget: budget, Attempts: 1000,
		Children: func(_ context.Context, child run.Child, _ protocol.OperatorInput) (protocol.OperatorOutput, error) {
			w.note("child " + string(child.Run))
			out := protocol.Reply("expert")
			out.Metadata.Cost = protocol.MustDecimal("0.001")
			return out, nil
		},
	})
	w.run.Input(protocol.Text("go"), run.Enqueue)
	return w
}

func (w *wild) rules(asks bool) {
	if asks && w.pick(2) == 0 {
		w.cfg.Rules = append(w.cfg.Rules, compact.Rule(compact.Config{
			Messages: 3 + w.pick(4), Fill: -1, Strategy: compact.SummarizeAndReplace(compact.SummaryConfig{KeepLast: 1 + w.pick(2)}),
		})...)
	}
	if w.pick(3) == 0 {
		w.cfg.Rules = append(w.cfg.Rules, rule.LoopDetector(2+w.pick(2), rule.WarnFirst())...)
	}
	if w.pick(3) == 0 {
		w.cfg.Rules = append(w.cfg.Rules, rule.Remind("hurry")...)
	}
	if asks && w.pick(3) == 0 {
		w.cfg.Rules = append(w.cfg.Rules, rule.BeforeTool("quick", "asks", 0, func(ctx context.Context, c *engine.Context, call *engine.ToolCall) error {
			resp, err := c.Ask(ctx, "aside", protocol.InferRequest{
				Messages: []protocol.Message{
					protocol.NewMessage(protocol.RoleUser, protocol.TextContent(string(call.Call.Input))),
				},
			})
			if err == nil && resp.Content.IsZero() {
				call.Skip("skipped", false)
			}
			return err
		}))
	}
}

func (w *wild) note(what string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.made[what]++
}

func (w *wild) tool(name string, opts ...tool.Option) tool.Tool {
	x, err := tool.Raw(protocol.ToolMetadata{Name: name}, func(ctx context.Context, in json.RawMessage) (tool.Result, error) {
		w.note(name + " " + tool.RunFrom(ctx).IdempotencyKey)
		if name == "fails" {
			return tool.Result{}, errors.New("it fails")
		}
		return tool.Result{
			Output: in, Cost: new(protocol.MustDecimal("0.002")),
			Effects: protocol.Effects{protocol.Log{Level: protocol.LogInfo, Message: name}},
		}, nil
	}, opts...)
	if err != nil {
		panic(err)
	}
	return x
}

type wildModel struct {
	w       *wild
	answers []protocol.InferResponse
}

func (*wildModel) Priced(string) bool { return true }

// Infer answers by what it is asked alone.
func (m *wildModel) Infer(_ context.Context, req protocol.InferRequest, _ func(protocol.StreamEvent)) (protocol.InferResponse, error) {
	raw, err := protocol.Marshal(req.Messages)
	m.w.mu.Lock()
	defer m.w.mu.Unlock()
	m.w.asked[req.System+string(raw)]++
	if len(req.Tools) == 0 {
		return says("a summary").resp, err
	}
	return m.answers[m.turn(req)], err
}

// turn is the one behind the last that can be seen; its text says which it was.
func (m *wildModel) turn(req protocol.InferRequest) (next int) {
	for _, msg := range slices.Backward(req.Messages) {
		var turn int
		if _, err := fmt.Sscanf(msg.Text(), "turn %d", &turn); err == nil && msg.Role == protocol.RoleAssistant {
			return min(turn+1, len(m.answers)-1)
		}
	}
	return 0
}

func (w *wild) finish(t *testing.T) protocol.OperatorOutput {
	t.Helper()
	out, err := w.run.Finish(t.Context(), func() protocol.Operator { return build(t, w.cfg) }, func(wait run.Wait) {
		switch w.run.Records() % 3 {
		case 0:
			w.run.Signal("deny", "no")
		default:
			w.run.Signal("approve", nil)
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	out.Metadata.Duration = 0
	for i := range out.Metadata.SubDispatches {
		out.Metadata.SubDispatches[i].Duration = 0
	}
	return out
}

const seeds = 20

// Whatever an agent is made of and a model asks for: killed at any record, a run ends as it would have, is asked the same, and does
// and pays nothing again that is in the log.
func TestWildRunsSurviveAnyKill(t *testing.T) {
	t.Parallel()
	for seed := range uint64(seeds) {
		clean := newWild(seed)
		want := clean.finish(t)
		for name, kill := range steptest.Kills(clean.run.Records()) {
			w := newWild(seed)
			kill(w.run)
			got := w.finish(t)
			unknown := slices.ContainsFunc(w.run.Events(), func(e protocol.Event) bool { return strings.Contains(string(e.Data), `"outcome_unknown":true`) })
			again := 0
			for what, n := range w.made {
				if n > 1 {
					again += n - 1
				}
				if n > 1 && (what[0] == 'o' || len(what) > 8 && what[:8] == "ask_once" || what[0] == 'c') || n > 2 {
					t.Errorf("seed %d, %s: %s was made %d times", seed, name, what, n)
				}
			}
			if unknown {
				continue
			}
			if d := gocmp.Diff(want, got, sameExit, gocmp.Comparer(func(a, b protocol.Decimal) bool { return a.Equal(b.Decimal) })); d != "" {
				t.Errorf("seed %d, %s: %s", seed, name, d)
			}
			for ask, n := range w.asked {
				again += n - cmp.Or(clean.asked[ask], n+100)
			}
			if again > w.cfg.MaxParallel {
				t.Errorf("seed %d, %s: %d asked or made again", seed, name, again)
			}
		}
		if t.Failed() {
			return
		}
	}
}
