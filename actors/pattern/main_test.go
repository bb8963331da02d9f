package pattern_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/skelegent/skelegent-go/bus/embed/embedtest"
	"github.com/skelegent/skelegent-go/protocol"
)

func TestMain(m *testing.M) { embedtest.VerifyTestMain(m) }

type member func(ctx context.Context, in protocol.OperatorInput) (protocol.OperatorOutput, error)

// local dispatches within the process, and keeps what it dispatched.
type local struct {
	members map[protocol.OperatorID]member

	mu     sync.Mutex
	inputs map[protocol.OperatorID][]protocol.OperatorInput
	calls  map[protocol.OperatorID][]protocol.Call
}

func newLocal(members map[protocol.OperatorID]member) *local {
	return &local{
		members: members, inputs: map[protocol.OperatorID][]protocol.OperatorInput{}, calls: map[protocol.OperatorID][]protocol.Call{},
	}
}

func (l *local) Dispatch(ctx context.Context, id protocol.OperatorID, in protocol.OperatorInput) (protocol.OperatorOutput, error) {
	l.mu.Lock()
	l.inputs[id] = append(l.inputs[id], in)
	l.calls[id] = append(l.calls[id], protocol.NextCall(ctx))
	l.mu.Unlock()
	m, ok := l.members[id]
	if !ok {
		return protocol.OperatorOutput{}, protocol.ErrOperatorNotFound(id)
	}
	return m(ctx, in)
}

// budgets are what the member could spend each time, in words.
func (l *local) budgets(id protocol.OperatorID) (all []string) {
	for _, c := range l.calls[id] {
		all = append(all, money(c.Budget))
	}
	return all
}

func money(d *protocol.Decimal) string {
	if d == nil {
		return "any"
	}
	return d.Text()
}

func text(in protocol.OperatorInput) string {
	s, _ := in.Message.AsText()
	return s
}

func said(out protocol.OperatorOutput) string {
	s, _ := out.Message.AsText()
	return s
}

// adding says what it heard and its own name, and costs that much.
func adding(name, cost string) member {
	return func(_ context.Context, in protocol.OperatorInput) (protocol.OperatorOutput, error) {
		return answer(text(in)+name, name, cost), nil
	}
}

// answer is an output with something in every field.
func answer(says, name, cost string) protocol.OperatorOutput {
	out := protocol.Reply(says)
	out.Metadata = protocol.OperatorMetadata{
		TokensIn: 10, TokensOut: 5, Cost: protocol.MustDecimal(cost), TurnsUsed: 1, Duration: 100, UnpricedCalls: 1,
		SubDispatches: []protocol.SubDispatchRecord{{Name: "tool of " + name, Duration: 7, Success: true}},
	}
	out.Effects = protocol.Effects{protocol.Log{Level: protocol.LogInfo, Message: name}}
	return out
}

// ending is a member that ends with a reason.
func ending(name string, exit protocol.ExitReason, effects ...protocol.Effect) member {
	return func(_ context.Context, in protocol.OperatorInput) (protocol.OperatorOutput, error) {
		out := answer(text(in)+name, name, "0.1")
		out.ExitReason = exit
		out.Effects = append(out.Effects, effects...)
		return out, nil
	}
}

func failing(err error) member {
	return func(context.Context, protocol.OperatorInput) (protocol.OperatorOutput, error) {
		return protocol.OperatorOutput{}, err
	}
}

func handingTo(id protocol.OperatorID, state string) member {
	return ending("h", protocol.Exit(protocol.ExitHandedOff), protocol.Handoff{Operator: id, State: json.RawMessage(state)})
}

// effects are what an output declares, in words.
func effects(out protocol.OperatorOutput) string {
	var all []string
	for _, e := range out.Effects {
		switch e := e.(type) {
		case protocol.Log:
			all = append(all, e.Message)
		case protocol.Handoff:
			all = append(all, fmt.Sprintf("handoff to %s", e.Operator))
		default:
			all = append(all, string(e.Kind()))
		}
	}
	return strings.Join(all, ", ")
}

// records are the sub-dispatches of an output, in words.
func records(out protocol.OperatorOutput) string {
	var all []string
	for _, r := range out.Metadata.SubDispatches {
		s := fmt.Sprintf("%s %d", r.Name, r.Duration)
		if !r.Success {
			s += " failed"
		}
		all = append(all, s)
	}
	return strings.Join(all, ", ")
}

func execute(t *testing.T, op protocol.Operator, says string) protocol.OperatorOutput {
	t.Helper()
	out, err := op.Execute(t.Context(), protocol.Text(says))
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func must(t *testing.T) func(protocol.Operator, error) protocol.Operator {
	return func(op protocol.Operator, err error) protocol.Operator {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return op
	}
}

func same(t *testing.T, what string, want, got any) {
	t.Helper()
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("%s: %s", what, d)
	}
}
