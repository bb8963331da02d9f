package pattern

import (
	"context"
	"encoding/json"

	"github.com/skelegent/skelegent-go/actors/step"
	"github.com/skelegent/skelegent-go/protocol"
)

// work is one execution of a pattern: what it was asked, and what its members took and declared so far.
type work struct {
	dispatcher protocol.Dispatcher
	in         protocol.OperatorInput
	info       step.Info
	durable    bool

	meta    protocol.OperatorMetadata
	effects protocol.Effects
}

func begin(ctx context.Context, d protocol.Dispatcher, in protocol.OperatorInput) *work {
	w := &work{dispatcher: d, in: in}
	w.info, w.durable = step.InfoFrom(ctx)
	return w
}

// dispatch has one member do something, with all the money that is left. The caller declares the effects of the output.
func (w *work) dispatch(ctx context.Context, id protocol.OperatorID, in protocol.OperatorInput) (protocol.OperatorOutput, error) {
	if err := ctx.Err(); err != nil {
		return protocol.OperatorOutput{}, protocol.AsError(err)
	}
	in.Config = w.config(1)
	out, err := w.call(ctx, id, in, w.share(ctx, 1))
	if err != nil {
		return protocol.OperatorOutput{}, failure(ctx, id, err)
	}
	w.add(id, out)
	w.meta.Duration += out.Metadata.Duration
	return out, nil
}

// call is one dispatch, of a durable run the next step of the scope of ctx.
func (w *work) call(
	ctx context.Context, id protocol.OperatorID, in protocol.OperatorInput, budget *protocol.Decimal,
) (protocol.OperatorOutput, error) {
	if !w.durable {
		return w.dispatcher.Dispatch(protocol.WithCall(ctx, protocol.Call{Budget: budget, TakeEffects: true}), id, in)
	}
	opts := []step.CallOption{step.TakeEffects()}
	if budget != nil {
		opts = append(opts, step.Budget(*budget))
	}
	return step.Call(ctx, string(id), id, in, opts...)
}

// failure names the member, unless it is not the member that failed. The code stays what it was.
func failure(ctx context.Context, id protocol.OperatorID, err error) error {
	if step.Unwinding(err) || ctx.Err() != nil {
		return err
	}
	return protocol.ErrSubDispatch(id, err).WithCode(protocol.CodeOf(err))
}

// maxRecords bounds the sub-dispatches that an output tells of.
const maxRecords = 1000

// add puts what a member took to the rest, but not its duration.
func (w *work) add(id protocol.OperatorID, out protocol.OperatorOutput) {
	m := out.Metadata
	w.meta.TokensIn += m.TokensIn
	w.meta.TokensOut += m.TokensOut
	w.meta.Cost = protocol.Decimal{Decimal: w.meta.Cost.Add(m.Cost.Decimal)}
	w.meta.TurnsUsed += m.TurnsUsed
	w.meta.UnpricedCalls += m.UnpricedCalls
	w.record(protocol.SubDispatchRecord{Name: string(id), Duration: m.Duration, Success: true})
	w.record(m.SubDispatches...)
}

func (w *work) record(all ...protocol.SubDispatchRecord) {
	room := maxRecords - len(w.meta.SubDispatches)
	w.meta.SubDispatches = append(w.meta.SubDispatches, all[:min(room, len(all))]...)
}

func (w *work) declare(effects ...protocol.Effect) { w.effects = append(w.effects, effects...) }

// output is what the pattern gives: the message of a member, and what all of them took and declared.
func (w *work) output(message protocol.Content, exit protocol.ExitReason) protocol.OperatorOutput {
	if message.IsZero() {
		message = protocol.TextContent("")
	}
	return protocol.OperatorOutput{Message: message, ExitReason: exit, Metadata: w.meta, Effects: w.effects}
}

// task is an input for the next member.
func (w *work) task(message protocol.Content) protocol.OperatorInput {
	if message.IsZero() {
		message = protocol.TextContent("")
	}
	return protocol.OperatorInput{
		Message: message, Trigger: protocol.TriggerTask, Session: w.in.Session, Config: w.in.Config, Metadata: w.in.Metadata,
	}
}

// handedOver is the input of who is handed the work: the state as text, as executors of handoffs give it.
func (w *work) handedOver(h protocol.Handoff) protocol.OperatorInput {
	in := w.task(protocol.TextContent(string(h.State)))
	var metadata map[string]json.RawMessage
	if json.Unmarshal(w.in.Metadata, &metadata) != nil || metadata == nil {
		metadata = map[string]json.RawMessage{}
	}
	metadata["handoff"] = json.RawMessage("true")
	in.Metadata, _ = protocol.Marshal(metadata) // JSON that was read always marshals
	return in
}

// handoff returns the first handoff that an output declares, and its effects without any. It is false where there is none,
// and where the member ended such that it cannot hand anything over.
func handoff(out protocol.OperatorOutput) (h protocol.Handoff, rest protocol.Effects, ok bool) {
	kind := out.ExitReason.Kind()
	able := kind == protocol.ExitComplete || kind == protocol.ExitHandedOff
	for _, e := range out.Effects {
		switch e := e.(type) {
		case protocol.Handoff:
			if able && !ok {
				h, ok = e, true
			}
		default:
			rest = append(rest, e)
		}
	}
	return h, rest, ok
}

func complete(out protocol.OperatorOutput) bool {
	return out.ExitReason.Kind() == protocol.ExitComplete
}

func invalid(text string) error { return protocol.NewError(protocol.CodeInvalidInput, text) }
