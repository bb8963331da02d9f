package actors_test

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"

	"github.com/shopspring/decimal"

	"github.com/skelegent/skelegent-go/actors"
	"github.com/skelegent/skelegent-go/actors/agent"
	"github.com/skelegent/skelegent-go/actors/provider"
	"github.com/skelegent/skelegent-go/actors/tool"
	"github.com/skelegent/skelegent-go/bus"
	"github.com/skelegent/skelegent-go/protocol"
)

// spender is a model that always wants to go on, and whose calls cost up to what they are quoted at. The parent's first answer
// calls its children side by side.
type spender struct {
	children int
	quoted   bool

	mu    sync.Mutex
	rand  *rand.Rand
	spent decimal.Decimal
	calls int
}

func (s *spender) Quote(string) (provider.Price, bool) {
	return provider.Price{Output: protocol.MustDecimal("10")}, s.quoted // a thousand tokens a cent
}

func (*spender) Priced(string) bool { return true }

func (s *spender) Infer(_ context.Context, req protocol.InferRequest, _ func(protocol.StreamEvent)) (protocol.InferResponse, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.calls++
	most := decimal.NewFromUint64(uint64(*req.MaxTokens)).Mul(decimal.New(1, -5))
	cost := protocol.Decimal{Decimal: most.Mul(decimal.NewFromFloat(s.rand.Float64())).Round(8)}
	s.spent = s.spent.Add(cost.Decimal)
	resp := protocol.InferResponse{Content: protocol.TextContent("go on"), StopReason: protocol.StopToolUse, Model: "m", Cost: &cost}
	name, n := "clock", 1
	if req.System == "parent" {
		name, n = "child", s.children
	}
	for i := range n {
		resp.ToolCalls = append(resp.ToolCalls, protocol.ToolCall{
			ID: fmt.Sprintf("c%d_%d", s.calls, i), Name: name, Input: json.RawMessage(`{"message":"spend"}`),
		})
	}
	return resp, nil
}

// A run and its children, however many at a time, over the bus and with logs, spend no more than the run may: never where the
// price is known, else by at most one call each.
func TestBudgetsOfParallelChildrenAreHard(t *testing.T) {
	t.Parallel()
	for seed := range uint64(4) {
		for _, quoted := range []bool{true, false} {
			t.Run(fmt.Sprint(seed, quoted), func(t *testing.T) {
				t.Parallel()
				_, conn := server(t)
				s := &spender{children: 6, quoted: quoted, rand: rand.New(rand.NewPCG(seed, 1))}
				limit := protocol.MustDecimal("0.30")
				clock, err := tool.Raw(protocol.ToolMetadata{Name: "clock"}, func(context.Context, json.RawMessage) (tool.Result, error) {
					return tool.Result{}, nil
				}, tool.Repeatable())
				if err != nil {
					t.Fatal(err)
				}
				n := node(t, conn, actors.Config{WithoutEffects: true})
				d := bus.NewDispatcher(conn)
				for id, cfg := range map[protocol.OperatorID]agent.Config{
					"child":  {Tools: []tool.Tool{clock}, Limits: agent.Limits{MaxTurns: 40}, MaxTokens: 2000},
					"parent": {Tools: []tool.Tool{tool.FromOperator("child", "", d, "child", tool.ParallelSafe())}, Limits: agent.Limits{MaxTurns: 3, MaxCost: &limit}, MaxTokens: 500},
				} {
					cfg.Provider, cfg.System = s, string(id)
					a, err := agent.New(cfg)
					if err != nil {
						t.Fatal(err)
					}
					if err := n.Register(id, a, actors.Durable(), actors.Concurrency(32)); err != nil {
						t.Fatal(err)
					}
				}
				start(t, n)
				out, err := d.Dispatch(testContext(t), "parent", protocol.Text("spend"))
				if err != nil {
					t.Fatal(err)
				}
				s.mu.Lock()
				defer s.mu.Unlock()
				most := limit.Decimal
				if !quoted {
					most = most.Add(decimal.RequireFromString("0.02").Mul(decimal.NewFromInt(7)))
				}
				if s.spent.GreaterThan(most) || !out.Metadata.Cost.Equal(s.spent) || s.calls < 8 {
					t.Errorf("%s spent in %d calls, %s reported, at most %s", s.spent, s.calls, out.Metadata.Cost, most)
				}
			})
		}
	}
}
