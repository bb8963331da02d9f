package compose

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/skelegent/skelegent-go/actors/step"
	"github.com/skelegent/skelegent-go/actors/tool"
	"github.com/skelegent/skelegent-go/protocol"
)

// Remote is an operator as an executor, wherever it runs. The arguments become a task for it: where they are {"message":
// string}, and signals at most, that is the message, else all of them as compact JSON. The signals of the arguments, or of
// their context, are the member signals of the input's metadata. It gets no session; its budget is that of
// protocol.NextCall.
//
// The text of its answer is the output: an object or an array of JSON as it is, anything else as a string. An answer that is
// not complete says why before the text; one that ended with error, circuit_breaker, safety_stop or interceptor_halt is an
// error. Errors of the dispatch keep their codes.
//
// What it declares is in the result's effects, for who called to declare, and is performed by nobody else; where the answer
// is an error it is dropped. Handoffs and questions for approval are dropped too: a delegate cannot end the run of who asked
// it. What it cost is the result's cost, also where it failed.
//
// In a durable run the call is a step, step.Call, and d is not used: a run that goes on finds the child that it began. It is
// therefore repeatable.
func Remote(d protocol.Dispatcher, id protocol.OperatorID) Executor { return remote{d, id} }

type remote struct {
	dispatcher protocol.Dispatcher
	id         protocol.OperatorID
}

// Repeatable implements tool.Repeater.
func (remote) Repeatable() bool { return true }

// Invoke implements Executor.
func (r remote) Invoke(ctx context.Context, args json.RawMessage) (tool.Result, error) {
	in, err := taskFrom(args)
	if err != nil {
		return tool.Result{}, err
	}
	out, err := r.dispatch(ctx, in)
	if step.Unwinding(err) {
		return tool.Result{}, err
	}
	if err != nil { // what it calls a halt or a bad input is not taken for one of the caller's
		e := protocol.ErrSubDispatch(r.id, err)
		e.Code = protocol.CodeOf(err)
		return tool.Result{}, e
	}
	return r.result(out)
}

func (r remote) dispatch(ctx context.Context, in protocol.OperatorInput) (protocol.OperatorOutput, error) {
	next := protocol.NextCall(ctx)
	info, durable := step.InfoFrom(ctx)
	if !durable {
		next.TakeEffects = true
		return r.dispatcher.Dispatch(protocol.WithCall(ctx, next), r.id, in)
	}
	if left := info.Left(); left != nil && next.Budget != nil && left.LessThan(next.Budget.Decimal) {
		next.Budget = left // the call's may be what was left when the run went on
	}
	opts := []step.CallOption{step.TakeEffects()}
	if next.Budget != nil {
		opts = append(opts, step.Budget(*next.Budget))
	}
	return step.Call(ctx, string(r.id), r.id, in, opts...)
}

func (r remote) result(out protocol.OperatorOutput) (tool.Result, error) {
	res := tool.Result{UnpricedCalls: out.Metadata.UnpricedCalls}
	if !out.Metadata.Cost.IsZero() {
		res.Cost = &out.Metadata.Cost
	}
	text, err := saidBy(out)
	if err != nil {
		return res, ErrSerialization(err)
	}
	complete := false
	switch out.ExitReason.Kind() {
	case protocol.ExitComplete:
		complete = true
	case protocol.ExitError, protocol.ExitCircuitBreaker, protocol.ExitSafetyStop, protocol.ExitInterceptorHalt:
		return res, ErrToolFailed(fmt.Sprintf("%s ended with %s: %s", r.id, out.ExitReason, text)).Clip()
	case protocol.ExitMaxTurns, protocol.ExitBudgetExhausted, protocol.ExitTimeout,
		protocol.ExitAwaitingApproval, protocol.ExitHandedOff, protocol.ExitCustom:
		text = fmt.Sprintf("[%s is not complete: it ended with %s]\n%s", r.id, out.ExitReason, text)
	}
	res.Effects = slices.DeleteFunc(slices.Clone(out.Effects), isForTheCaller)
	if raw := bytes.TrimSpace([]byte(text)); complete && len(raw) > 0 && (raw[0] == '{' || raw[0] == '[') && json.Valid(raw) {
		res.Output = raw
		return res, nil
	}
	res.Output, err = protocol.Marshal(text)
	return res, err
}

// isForTheCaller reports whether an effect would end or hold up the run of who takes it.
func isForTheCaller(e protocol.Effect) bool {
	switch e.(type) {
	case protocol.Handoff, protocol.ToolApprovalRequired:
		return true
	}
	return false
}

// saidBy returns what the message says: its texts, or where it has none all of it as JSON.
func saidBy(out protocol.OperatorOutput) (string, error) {
	if _, ok := out.Message.AsText(); ok || out.Message.IsZero() {
		return protocol.NewMessage(protocol.RoleAssistant, out.Message).Text(), nil
	}
	raw, err := protocol.Marshal(out.Message)
	return string(raw), err
}

// MaxDelegateArgs is how many bytes the arguments of a remote delegate may have.
const MaxDelegateArgs = 1 << 20

// taskFrom is the input of an operator that gets arguments. The error is of kind KindInvalidArgument or KindSerialization.
func taskFrom(args json.RawMessage) (protocol.OperatorInput, error) {
	if len(args) > MaxDelegateArgs {
		return protocol.OperatorInput{}, ErrInvalidArgument(
			fmt.Sprintf("arguments of %d bytes, at most %d are taken", len(args), MaxDelegateArgs))
	}
	var compact bytes.Buffer
	if len(bytes.TrimSpace(args)) == 0 {
		args = json.RawMessage(`{}`)
	}
	if err := json.Compact(&compact, args); err != nil {
		return protocol.OperatorInput{}, ErrSerialization(err)
	}
	in := protocol.OperatorInput{Message: protocol.TextContent(compact.String()), Trigger: protocol.TriggerTask}
	members := membersOf(compact.Bytes())
	if message, ok := messageOf(members); ok {
		in.Message = protocol.TextContent(message)
	}
	return in, addSignals(&in, members)
}

// membersOf are those of an object; nil for what is none, and for one that has a member twice.
func membersOf(raw json.RawMessage) (members map[string]json.RawMessage) {
	if len(raw) == 0 || raw[0] != '{' || protocol.Unmarshal(raw, &members) != nil {
		return nil
	}
	return members
}

// messageOf is the message of arguments that have nothing else, but signals.
func messageOf(members map[string]json.RawMessage) (string, bool) {
	raw, ok := members["message"]
	_, routed := members["signals"]
	if !ok || len(raw) == 0 || raw[0] != '"' || len(members) > 2 || len(members) == 2 && !routed {
		return "", false
	}
	if routed && (len(members["signals"]) == 0 || members["signals"][0] != '[') {
		return "", false
	}
	var s string
	return s, json.Unmarshal(raw, &s) == nil
}

// addSignals writes the signals of the arguments, or of their context, into the metadata.
func addSignals(in *protocol.OperatorInput, members map[string]json.RawMessage) error {
	raw, ok := members["signals"]
	if !ok {
		raw = membersOf(members["context"])["signals"]
	}
	all := signals(raw)
	if len(all) == 0 {
		return nil
	}
	if err := (&Investigation{Signals: all}).Validate(); err != nil {
		return err
	}
	var err error
	in.Metadata, err = protocol.Marshal(map[string][]Signal{"signals": all})
	return err
}
