package operator

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"strings"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/shopspring/decimal"
	"go.uber.org/zap"

	"github.com/skelegent/skelegent-go/bus"
	"github.com/skelegent/skelegent-go/protocol"
)

// effectsTimeout bounds the storing of a run's effects, which goes on although the caller or the node stops waiting.
const effectsTimeout = 10 * time.Second

// errDeadline is the cause with which a run's context ends when its caller's deadline, or MaxDuration, has passed.
var errDeadline = protocol.NewError(protocol.CodeTimeout, "the deadline passed before the operator was done")

// run answers one request.
func (h *Host) run(ctx context.Context, r *request) {
	if !Replyable(r.msg.Reply) {
		h.log.Warn("request with a reply subject that is no inbox", zap.String("reply", clip(r.msg.Reply)))
		h.stats.refuse("invalid_input:reply subject is no inbox")
		return
	}
	if h.cfg.Enqueue != nil {
		h.enqueue(ctx, r.msg)
		return
	}
	start := time.Now()
	inv, events, body, err := h.invoke(ctx, r, start)
	if err == nil {
		err = h.cfg.Conn.CheckSize("output", len(body.output))
	}
	if r.msg.Reply != "" {
		if sendErr := h.send(r.msg.Reply, body, err); sendErr != nil {
			h.log.Warn("reply not sent", zap.Error(sendErr))
		}
	}
	h.stats.ran(time.Since(start), failure(err))
	h.conclude(inv, events, body, err)
}

func (h *Host) send(reply string, body encoded, failure error) error {
	if failure != nil {
		return h.cfg.Conn.NATS().PublishMsg(bus.ErrorMessage(reply, failure))
	}
	return h.cfg.Conn.NATS().Publish(reply, body.output)
}

// conclude publishes the run's last event and logs what a person has to see.
func (h *Host) conclude(inv *protocol.Invocation, events *live, body encoded, err error) {
	if err == nil {
		events.emit(protocol.EventCompleted, body.event)
		return
	}
	e := protocol.AsError(err)
	events.Emit(protocol.EventFailed, failed{Error: e})
	if e.Code == protocol.CodeInternal {
		h.log.Error("operator failed", zap.String("run_id", string(inv.Run)), zap.String("code", string(e.Code)), zap.Error(e.Unwrap()))
		return
	}
	h.log.Debug("operator failed", zap.String("run_id", string(inv.Run)), zap.String("code", string(e.Code)))
}

// invoke reads the request, executes the operator and stores its effects. The invocation and its events are never nil.
func (h *Host) invoke(ctx context.Context, r *request, start time.Time) (*protocol.Invocation, *live, encoded, error) {
	call, deadline, err := bus.DecodeCall(r.msg.Header)
	if err != nil || call.Run == "" {
		call.Run = bus.NewRunID()
	}
	inv := &protocol.Invocation{Call: call, Operator: h.cfg.ID, Instance: string(call.Run), Deadline: deadline}
	events := &live{host: h, inv: inv}
	inv.Events = events
	if err != nil {
		return inv, events, encoded{}, err
	}
	in, err := bus.DecodeInput(r.msg.Data)
	if err != nil {
		return inv, events, encoded{}, err
	}
	if in.Session != nil {
		inv.Instance = string(*in.Session)
	}
	latest := start.Add(h.cfg.MaxDuration)
	if !deadline.IsZero() && deadline.Before(latest) {
		latest = deadline
	}
	if !start.Before(latest) {
		return inv, events, encoded{}, protocol.NewError(protocol.CodeTimeout, "the deadline passed before the operator began")
	}
	events.started(in)
	body, err := h.perform(ctx, inv, in, latest)
	return inv, events, body, err
}

// perform executes the operator and stores its effects; it returns the encoded output.
func (h *Host) perform(ctx context.Context, inv *protocol.Invocation, in protocol.OperatorInput, latest time.Time) (encoded, error) {
	out, err := h.execute(ctx, inv, in, latest)
	if err != nil {
		return encoded{}, err
	}
	body, err := encode(&out)
	if err != nil {
		return body, err
	}
	if len(out.Effects) == 0 {
		return body, nil
	}
	if err := h.cfg.Conn.CheckSize("output", len(body.output)); err != nil {
		return body, err // before its effects are out: either both or none
	}
	return body, h.storeEffects(ctx, inv, &out)
}

// encoded is an output as the reply has it, and around it the data of the run's last event.
type encoded struct{ output, event []byte }

func encode(out *protocol.OperatorOutput) (encoded, error) {
	const open, end = `{"output":`, '}'
	buf, err := protocol.Append(append(make([]byte, 0, 512), open...), out)
	if err != nil {
		return encoded{}, fmt.Errorf("encode output: %w", err)
	}
	buf = append(buf, end)
	return encoded{output: buf[len(open) : len(buf)-1], event: buf}, nil
}

// execute calls the operator under the run's deadline, with its panics recovered.
func (h *Host) execute(ctx context.Context, inv *protocol.Invocation, in protocol.OperatorInput, latest time.Time) (out protocol.OperatorOutput, err error) {
	ctx, cancel := context.WithDeadlineCause(protocol.WithInvocation(ctx, inv), latest, errDeadline)
	defer cancel()
	defer func() {
		if v := recover(); v != nil {
			err = protocol.NewError(protocol.CodeInternal, "the operator panicked; see the node's log").
				Because(fmt.Errorf("panic of %T in operator %s\n%s", v, inv.Operator, debug.Stack()))
		}
	}()
	out, err = h.cfg.Operator.Execute(ctx, in)
	if e := protocol.AsError(err); e != nil && e.Kind == protocol.KindOrchNotStarted {
		began := *e // it says so of a dispatch that the operator made; the operator did begin
		began.Kind = ""
		err = &began
	}
	if err == nil || ctx.Err() == nil {
		return out, err
	}
	// The error may only say that the context ended. Say why it did.
	if cause := context.Cause(ctx); errors.Is(cause, errDeadline) {
		return out, errDeadline.Because(err)
	}
	return out, protocol.NewError(protocol.CodeCancelled, "the node shut down before the operator was done; what it did until then is unknown").Because(err)
}

// storeEffects goes on when the run's context ends: the operator is done, and its caller must not hear of success, or a
// node be gone, before what it declared is safe.
func (h *Host) storeEffects(ctx context.Context, inv *protocol.Invocation, out *protocol.OperatorOutput) error {
	if inv.TakeEffects {
		return nil
	}
	numbers := map[string]uint64{}
	requests, err := protocol.EffectRequests(protocol.EffectRequest{
		Operator: inv.Operator, Instance: string(inv.Run), Run: inv.Run, Parent: inv.Parent, Trace: inv.Trace, Depth: inv.Depth,
		Ephemeral: true, Budget: left(inv.Budget, out.Metadata.Cost),
	}, out.Effects, func(family string) uint64 {
		numbers[family]++
		return numbers[family]
	})
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), effectsTimeout)
	defer cancel()
	if err := h.cfg.Conn.PublishEffects(ctx, requests); err != nil {
		return err
	}
	for _, r := range requests {
		for _, e := range r.Effects {
			inv.Events.Emit(protocol.EventIntentDeclared, declared{EffectID: e.EffectID, Kind: e.Effect.Kind()})
		}
	}
	return nil
}

// left is what remains of a budget, not less than nothing; nil stays no limit.
func left(budget *protocol.Decimal, spent protocol.Decimal) *protocol.Decimal {
	if budget == nil {
		return nil
	}
	return &protocol.Decimal{Decimal: decimal.Max(decimal.Zero, budget.Sub(spent.Decimal))}
}

// refuse answers a request that will not run.
func (h *Host) refuse(m *nats.Msg, e *protocol.Error) {
	h.stats.refuse(failure(e))
	if m.Reply == "" || !Replyable(m.Reply) {
		return
	}
	if err := h.cfg.Conn.NATS().PublishMsg(bus.ErrorMessage(m.Reply, e)); err != nil {
		h.log.Warn("refusal not sent", zap.Error(err))
	}
}

// Replyable reports whether a node may publish to a reply subject. It is the caller's wish, and a node may publish much that
// a caller may not; so only inboxes, and the subjects that servers make of them between accounts and clusters.
func Replyable(subject string) bool {
	return subject == "" || strings.HasPrefix(subject, "_INBOX") || strings.HasPrefix(subject, "_R_.") || strings.HasPrefix(subject, "_GR_.")
}

func failure(err error) string {
	if err == nil {
		return ""
	}
	e := protocol.AsError(err)
	return string(e.Code) + ":" + clip(e.Message)
}

func clip(s string) string { return s[:min(len(s), 200)] }
