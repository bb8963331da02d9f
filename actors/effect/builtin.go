package effect

import (
	"context"
	"encoding/json"
	"fmt"

	"go.uber.org/zap"

	"github.com/skelegent/skelegent-go/protocol"
)

// wrongKind is what an executor answers to an effect that is not of its family. It is a defect of whoever sent it.
func wrongKind(r Request) error {
	return protocol.NewError(protocol.CodeInvalidInput, fmt.Sprintf("effect kind %s does not belong to this family", r.Effect.Kind()))
}

// MemoryOptions are those that Memory needs: in order, and again for as long as the store cannot be reached.
func MemoryOptions() Options { return Options{Idempotent: true, Concurrency: 1, Attempts: -1} }

// Signals performs signal effects. identify attaches the effect's id to a context, for the
// signal to carry; stored reports whether a signal with that id was stored after a sequence.
func Signals(signaler protocol.Signaler, identify func(ctx context.Context, id string) context.Context,
	stored func(ctx context.Context, target protocol.WorkflowID, signalType, id string, since uint64) (bool, error),
) Executor {
	return signals{signaler: signaler, identify: identify, stored: stored}
}

type signals struct {
	signaler protocol.Signaler
	identify func(context.Context, string) context.Context
	stored   func(context.Context, protocol.WorkflowID, string, string, uint64) (bool, error)
}

func (s signals) Perform(ctx context.Context, r Request) error {
	e, ok := r.Effect.(protocol.Signal)
	if !ok {
		return wrongKind(r)
	}
	return s.signaler.Signal(s.identify(ctx, r.ID), e.Target, e.Payload)
}

func (s signals) Settle(ctx context.Context, r Request, since uint64) (bool, error) {
	e, ok := r.Effect.(protocol.Signal)
	if !ok {
		return false, nil
	}
	return s.stored(ctx, e.Target, e.Payload.SignalType, r.ID, since)
}

// Delegation performs delegate effects: the operator gets a task, and what it gives goes nowhere but into its own effects
// and events. The run's id is the effect's, so that it is one run however often the task is stored. submit stores it; it does
// not wait.
func Delegation(submit protocol.Dispatcher) Executor {
	return Func(func(ctx context.Context, r Request) error {
		e, ok := r.Effect.(protocol.Delegate)
		if !ok {
			return wrongKind(r)
		}
		return dispatch(ctx, submit, r, e.Operator, e.Input)
	})
}

// handoffMetadata marks an input as the state of a handoff.
var handoffMetadata = json.RawMessage(`{"handoff":true}`)

// Handoffs performs handoff effects, as Delegation does: the operator gets the state as the text of a task, and answers those
// who waited for the run that handed off. answerTo tells the dispatcher so.
func Handoffs(submit protocol.Dispatcher, answerTo func(context.Context, []string) context.Context) Executor {
	return Func(func(ctx context.Context, r Request) error {
		e, ok := r.Effect.(protocol.Handoff)
		if !ok {
			return wrongKind(r)
		}
		return dispatch(answerTo(ctx, r.Inboxes), submit, r, e.Operator, protocol.OperatorInput{
			Message: protocol.TextContent(string(e.State)), Trigger: protocol.TriggerTask, Metadata: handoffMetadata,
		})
	})
}

func dispatch(ctx context.Context, submit protocol.Dispatcher, r Request, operator protocol.OperatorID, in protocol.OperatorInput) error {
	ctx = protocol.WithCall(ctx, protocol.Call{Run: protocol.RunID(r.ID), Parent: r.Run, Budget: r.Budget, Depth: r.Depth + 1, Trace: r.Trace})
	_, err := submit.Dispatch(ctx, operator, in)
	return err
}

// DispatchOptions are those of Delegation and Handoffs: a task that is stored twice is one.
func DispatchOptions() Options { return Options{Idempotent: true, Concurrency: 64} }

// Logs performs log effects on log, with the operator's data as a field. The message and the data are the operator's
// own words: an operator that logs its prompts has them in the log.
func Logs(log *zap.Logger) Executor {
	return Func(func(_ context.Context, r Request) error {
		e, ok := r.Effect.(protocol.Log)
		if !ok {
			return wrongKind(r)
		}
		fields := []zap.Field{
			zap.String("operator", string(r.Operator)), zap.String("instance", r.Instance), zap.String("run_id", string(r.Run)),
			zap.String("message", e.Message),
		}
		if len(e.Data) > 0 {
			fields = append(fields, zap.Any("data", e.Data))
		}
		const message = "operator log"
		switch e.Level {
		case protocol.LogTrace, protocol.LogDebug:
			log.Debug(message, fields...)
		case protocol.LogInfo:
			log.Info(message, fields...)
		case protocol.LogWarn:
			log.Warn(message, fields...)
		case protocol.LogError:
			log.Error(message, fields...)
		}
		return nil
	})
}

// Approvals announces in log that a tool call waits for a person. The ledger's event announces it to observers.
func Approvals(log *zap.Logger) Executor {
	return Func(func(_ context.Context, r Request) error {
		e, ok := r.Effect.(protocol.ToolApprovalRequired)
		if !ok {
			return wrongKind(r)
		}
		log.Info("approval required", zap.String("operator", string(r.Operator)), zap.String("instance", r.Instance),
			zap.String("run_id", string(r.Run)), zap.String("tool", e.ToolName), zap.String("call_id", e.CallID))
		return nil
	})
}
