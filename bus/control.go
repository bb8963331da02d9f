package bus

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/google/uuid"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/skelegent/skelegent-go/protocol"
	"github.com/skelegent/skelegent-go/protocol/wire"
)

// Signal implements protocol.Signaler: the signal is in the log when it returns. With an error of code timeout it may be;
// SignalStored tells, of a signal that was given an id with WithSignalID.
func (d *Dispatcher) Signal(ctx context.Context, target protocol.WorkflowID, signal protocol.SignalPayload) error {
	operator, instance, err := d.target(target, signal.SignalType)
	if err != nil {
		return err
	}
	if err := d.conn.CheckSize("signal", len(signal.Data)); err != nil {
		return err
	}
	msg := &nats.Msg{Subject: d.conn.Names().Signal(operator, instance, signal.SignalType), Data: signal.Data, Header: nats.Header{}}
	if call := protocol.NextCall(ctx); call.Trace != "" {
		msg.Header.Set(wire.HeaderTrace, call.Trace)
	}
	if id, ok := ctx.Value(toRunKey{}).(protocol.RunID); ok && id != "" {
		msg.Header.Set(wire.HeaderRunID, string(id))
	}
	if id, ok := ctx.Value(signalIDKey{}).(string); ok {
		msg.Header.Set(wire.HeaderSignalID, id)
	}
	// The server drops a message whose id it has seen, on any subject of the log, where guests may signal with ids of their
	// choice: so it is one that nobody can guess.
	msg.Header.Set(nats.MsgIdHdr, uuid.NewString())
	ctx, cancel := d.bounded(ctx)
	defer cancel()
	if _, err := d.conn.JetStream().PublishMsg(ctx, msg); err != nil {
		return protocol.ErrSignalFailed(Translate("signal "+string(target), err).Error()).Because(err)
	}
	return nil
}

type (
	signalIDKey struct{}
	toRunKey    struct{}
)

// ToRun returns a context whose signals name a run, and hold for it even before it begins. Others concern the run that is
// open when they are stored.
func ToRun(ctx context.Context, id protocol.RunID) context.Context {
	return context.WithValue(ctx, toRunKey{}, id)
}

// WithSignalID returns a context whose signals carry id, for SignalStored to find.
func WithSignalID(ctx context.Context, id string) context.Context {
	return context.WithValue(ctx, signalIDKey{}, id)
}

// Query implements protocol.Querier. Where no node answers it is workflow not found.
func (d *Dispatcher) Query(ctx context.Context, target protocol.WorkflowID, query protocol.QueryPayload) (json.RawMessage, error) {
	operator, instance, err := d.target(target, query.QueryType)
	if err != nil {
		return nil, err
	}
	ctx, cancel := d.bounded(ctx)
	defer cancel()
	reply, err := d.conn.NATS().RequestMsgWithContext(ctx, &nats.Msg{
		Subject: d.conn.Names().Query(operator, instance, query.QueryType), Data: query.Params,
	})
	if errors.Is(err, nats.ErrNoResponders) {
		return nil, protocol.ErrWorkflowNotFound(target)
	}
	if err != nil {
		return nil, Translate("query "+string(target), err)
	}
	if err := replyError(reply); err != nil {
		return nil, err
	}
	if !json.Valid(reply.Data) {
		return nil, protocol.NewError(protocol.CodeInternal, "query answered with something that is no JSON")
	}
	return reply.Data, nil
}

func (d *Dispatcher) bounded(ctx context.Context) (context.Context, context.CancelFunc) {
	if _, ok := ctx.Deadline(); ok {
		return ctx, func() {}
	}
	return context.WithTimeout(ctx, d.timeout)
}

func (d *Dispatcher) target(id protocol.WorkflowID, typ string) (operator, instance string, err error) {
	operator, instance, err = wire.ParseWorkflow(string(id))
	if err == nil && (typ == "" || len(typ) > wire.MaxSignalType) {
		err = fmt.Errorf("type must be 1 to %d bytes", wire.MaxSignalType)
	}
	if err != nil {
		err = protocol.NewError(protocol.CodeInvalidInput, "invalid input: "+err.Error())
	}
	return operator, instance, err
}

// maxSignalScan bounds how many signals SignalStored reads.
const maxSignalScan = 1000

// SignalStored reports whether the log holds a signal of that target and type with the id of WithSignalID behind the
// sequence since.
func (d *Dispatcher) SignalStored(ctx context.Context, target protocol.WorkflowID, signalType, id string, since uint64) (bool, error) {
	operator, instance, err := d.target(target, signalType)
	if err != nil {
		return false, err
	}
	names := d.conn.Names()
	stream, err := d.conn.JetStream().Stream(ctx, names.Stream(wire.StreamLog))
	if err != nil {
		return false, Translate("look for signal", err)
	}
	subject := names.Signal(operator, instance, signalType)
	for range maxSignalScan {
		msg, err := stream.GetMsg(ctx, since+1, jetstream.WithGetMsgSubject(subject))
		if errors.Is(err, jetstream.ErrMsgNotFound) {
			return false, nil
		}
		if err != nil {
			return false, Translate("look for signal", err)
		}
		if msg.Header.Get(wire.HeaderSignalID) == id {
			return true, nil
		}
		since = msg.Sequence
	}
	return false, protocol.NewError(protocol.CodeQuotaExceeded, "too many signals to look through")
}
