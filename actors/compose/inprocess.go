package compose

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"sync"

	"github.com/shopspring/decimal"

	"github.com/skelegent/skelegent-go/actors/step"
	"github.com/skelegent/skelegent-go/actors/tool"
	"github.com/skelegent/skelegent-go/protocol"
)

// What an investigation is that was made of arguments which do not say it.
const (
	DefaultEntity    = "delegate"
	DefaultPartition = "default"
)

// MaxDelegation is how many delegates of this process may be at work for each other. One more is an error with the code
// quota_exceeded: it is most likely one that delegates to itself.
const MaxDelegation = 32

type delegationKey struct{}

// InProcess is an agent of this process as an executor: one step over the investigation that InvestigationFrom makes of the
// arguments. Its output is {"delegate_kind":"in_process", "agent": name, "result": StepResult, "context": the investigation
// behind the step}.
//
// What the agent's tools declare is in the result's effects, what they cost is its cost, also where the step fails. Where the
// call has a budget, each of their calls has what those before it left of that. In a durable run each call of a tool is a step
// of its own, so the whole may be begun again: it is repeatable.
func InProcess(a Agent) Executor { return inProcess{a} }

type inProcess struct{ agent Agent }

// Repeatable implements tool.Repeater.
func (inProcess) Repeatable() bool { return true }

// Invoke implements Executor.
func (p inProcess) Invoke(ctx context.Context, args json.RawMessage) (tool.Result, error) {
	depth, _ := ctx.Value(delegationKey{}).(int)
	if depth == MaxDelegation {
		return tool.Result{}, protocol.NewError(protocol.CodeQuotaExceeded,
			fmt.Sprintf("more than %d delegates of this process are at work for each other", MaxDelegation))
	}
	ctx = context.WithValue(ctx, delegationKey{}, depth+1)
	inv, err := InvestigationFrom(args)
	if err != nil {
		return tool.Result{}, err
	}
	all := newAccount(ctx)
	result, err := p.agent.Step(WithCaller(ctx, all.caller), inv)
	res := all.result()
	if err != nil {
		return tool.Result{Cost: res.Cost, UnpricedCalls: res.UnpricedCalls}, err
	}
	res.Output, err = protocol.Marshal(struct {
		Kind    string         `json:"delegate_kind"`
		Agent   string         `json:"agent"`
		Result  StepResult     `json:"result"`
		Context *Investigation `json:"context"`
	}{"in_process", p.agent.Name(), result, inv})
	if err != nil {
		return tool.Result{Cost: res.Cost, UnpricedCalls: res.UnpricedCalls}, ErrSerialization(err)
	}
	return res, nil
}

// account adds up what the tools of a chain declare and cost.
type account struct {
	call  Caller
	limit *protocol.Decimal        // of all together; nil is none
	left  func() *protocol.Decimal // of a durable run

	mu       sync.Mutex
	reserved decimal.Decimal // of the limit
	total    tool.Result
}

// caller calls a tool as the one before it does.
func (a *account) caller(ctx context.Context, t tool.Tool, call protocol.ToolCall) (tool.Result, error) {
	ctx, release := a.reserve(ctx, t)
	defer release()
	res, err := a.call(ctx, t, call)
	a.mu.Lock()
	defer a.mu.Unlock()
	if err == nil {
		a.total.Effects = append(a.total.Effects, res.Effects...)
	}
	a.total.UnpricedCalls += res.UnpricedCalls
	if res.Cost != nil {
		sum := *res.Cost
		if a.total.Cost != nil {
			sum = protocol.Decimal{Decimal: sum.Add(a.total.Cost.Decimal)}
		}
		a.total.Cost = &sum
	}
	return res, err
}

// newAccount has the limit of the call. One that is what was left of a durable run, now or when it went on, is that itself: what
// was spent before is gone from it already.
func newAccount(ctx context.Context) *account {
	a := &account{call: callerFrom(ctx), limit: protocol.NextCall(ctx).Budget}
	if info, durable := step.InfoFrom(ctx); durable && info.Left != nil {
		a.left = info.Left
		if same(a.limit, a.left()) || same(a.limit, protocol.InvocationFrom(ctx).Budget) {
			a.limit = nil
		}
	}
	return a
}

func same(a, b *protocol.Decimal) bool { return a != nil && b != nil && a.Decimal.Equal(b.Decimal) }

// reserve gives a call what is left, if who made ctx does not give it less. From a call that may spend it is kept until release.
func (a *account) reserve(ctx context.Context, t tool.Tool) (_ context.Context, release func()) {
	a.mu.Lock()
	defer a.mu.Unlock()
	next := protocol.NextCall(ctx)
	left := a.rest()
	if left == nil {
		return ctx, func() {}
	}
	if next.Budget == nil || left.LessThan(next.Budget.Decimal) {
		next.Budget = left
	}
	ctx = protocol.WithCall(ctx, next)
	if a.limit == nil || !tool.Spends(t) {
		return ctx, func() {}
	}
	amount := next.Budget.Decimal
	a.reserved = a.reserved.Add(amount)
	return ctx, func() {
		a.mu.Lock()
		defer a.mu.Unlock()
		a.reserved = a.reserved.Sub(amount)
	}
}

// rest is what is left; nil is no limit.
func (a *account) rest() (left *protocol.Decimal) {
	if a.limit != nil {
		rest := a.limit.Sub(a.reserved)
		if a.total.Cost != nil {
			rest = rest.Sub(a.total.Cost.Decimal)
		}
		left = &protocol.Decimal{Decimal: decimal.Max(rest, decimal.Zero)}
	}
	if a.left != nil {
		if of := a.left(); left == nil || of != nil && of.LessThan(left.Decimal) {
			left = of
		}
	}
	return left
}

func (a *account) result() tool.Result {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.total
}

// InvestigationFrom makes an investigation of the arguments of a delegate:
//
//   - If they have a member context, that must be an investigation.
//   - Else, if they are an investigation as a whole, they are taken for it.
//   - Else it is made of the members entity_id (DefaultEntity), partition (DefaultPartition), confidence (0, brought into 0
//     to 1) and signals (what is no string is left out). One of another type is taken for missing.
//
// The error is of kind KindSerialization where the arguments are no JSON or the context is no investigation, and
// KindInvalidArgument where the investigation would be beyond its limits.
func InvestigationFrom(args json.RawMessage) (*Investigation, error) {
	if len(bytes.TrimSpace(args)) == 0 {
		args = json.RawMessage(`{}`)
	}
	if err := within("bytes", len(args), MaxInvestigation); err != nil {
		return nil, err
	}
	if !json.Valid(args) {
		return nil, ErrSerialization(errors.New("the arguments are not JSON"))
	}
	var members map[string]json.RawMessage
	if args = bytes.TrimSpace(args); args[0] == '{' {
		if err := protocol.Unmarshal(args, &members); err != nil {
			return nil, ErrSerialization(err)
		}
	}
	inv := &Investigation{}
	if raw, ok := members["context"]; ok {
		if raw == nil {
			raw = json.RawMessage("null")
		}
		return inv, inv.UnmarshalJSON(raw)
	}
	err := inv.UnmarshalJSON(args)
	if err == nil || KindOf(err) != KindSerialization {
		return inv, err
	}
	inv = NewInvestigation(text(members["entity_id"], DefaultEntity), text(members["partition"], DefaultPartition))
	inv.Confidence = clamp(number(members["confidence"]))
	inv.Signals = signals(members["signals"])
	return inv, inv.Validate()
}

func text(raw json.RawMessage, otherwise string) string {
	var s string
	if len(raw) == 0 || raw[0] != '"' || json.Unmarshal(raw, &s) != nil {
		return otherwise
	}
	return s
}

// number is 0 for what is none. One that is too large for a float is infinite.
func number(raw json.RawMessage) float64 {
	if len(raw) == 0 || raw[0] != '-' && (raw[0] < '0' || raw[0] > '9') {
		return 0
	}
	f, _ := strconv.ParseFloat(string(raw), 64) // JSON has no other failure than the range
	return f
}

// signals are the strings of a list; nil for what is none.
func signals(raw json.RawMessage) (out []Signal) {
	var all []json.RawMessage
	if len(raw) == 0 || raw[0] != '[' || json.Unmarshal(raw, &all) != nil {
		return nil
	}
	for _, one := range all {
		var s Signal
		if one[0] == '"' && json.Unmarshal(one, &s) == nil {
			out = append(out, s)
		}
	}
	return out
}
