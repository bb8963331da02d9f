package instance

import (
	"context"
	"encoding/json"
	"errors"
	"strconv"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/skelegent/skelegent-go/actors/run"
	"github.com/skelegent/skelegent-go/actors/step"
	"github.com/skelegent/skelegent-go/bus"
	"github.com/skelegent/skelegent-go/bus/runlog"
	"github.com/skelegent/skelegent-go/protocol"
	"github.com/skelegent/skelegent-go/protocol/wire"
)

// inlineWait is how long a run stays in memory for the end of a child before it is suspended.
const inlineWait = time.Second

// Call implements step.Recorder.
func (r *recorder) Call(ctx context.Context, e run.Entry, in protocol.OperatorInput) (run.Entry, error) {
	have, begun, err := r.Lookup(ctx, e.Path)
	if err != nil || begun && !have.Begun {
		return have, err
	}
	if !begun {
		if err := r.hosted(ctx, e.Child.Operator); err != nil {
			return e, err
		}
		start := e
		start.Begun = true
		body, err := protocol.Marshal(in)
		if err != nil {
			return e, protocol.NewError(protocol.CodeInvalidInput, "input cannot be written as JSON: "+err.Error()).Because(err)
		}
		child := *e.Child
		child.Hash = digest(body)
		start.Child = &child
		if err := r.Record(ctx, start); err != nil {
			return e, err
		}
	}
	var replies chan *nats.Msg
	inbox := ""
	if !begun && !e.Child.Detached { // on resume its end is a wake that has come, or will
		replies = make(chan *nats.Msg, 1)
		inbox = r.worker.host.conn.NATS().NewInbox()
		sub, err := r.worker.host.conn.NATS().ChanSubscribe(inbox, replies)
		if err != nil {
			return e, bus.Translate("wait for "+string(e.Child.Operator), err)
		}
		defer func() { _ = sub.Unsubscribe() }() // the connection may be gone, and then so is the subscription
	}
	if err := r.start(ctx, e.Child, in, inbox); err != nil {
		return e, err
	}
	e.Begun = false
	if e.Child.Detached {
		e.Result, err = protocol.Marshal(string(e.Child.Operator) + "/" + e.Child.Instance)
		if err != nil {
			return e, err
		}
		return e, r.Record(ctx, e)
	}
	if reply := await(ctx, replies); reply != nil {
		e.Child = nil // its start has it
		out, err := bus.DecodeReply(reply)
		if err != nil {
			e.Error = protocol.AsError(err).Clip()
		} else {
			e.Result = reply.Data
			if !out.Metadata.Cost.IsZero() {
				e.Cost = &out.Metadata.Cost
			}
		}
		return e, r.Record(ctx, e)
	}
	if ctx.Err() != nil {
		return e, context.Cause(ctx)
	}
	if err := r.Suspend(run.Wait{Reason: run.WaitChild, Children: []protocol.RunID{e.Child.Run}, Path: e.Path}); err != nil {
		return e, err
	}
	have, _, err = r.Lookup(ctx, e.Path)
	return have, err
}

// hosted refuses a child whose operator nobody ever hosted: the run would wait for ever.
func (r *recorder) hosted(ctx context.Context, operator protocol.OperatorID) error {
	h := r.worker.host
	if _, ok := h.seen.Load(operator); ok {
		return nil
	}
	ok, err := h.tasks.Hosted(ctx, string(operator))
	if err != nil {
		return err
	}
	if !ok {
		return protocol.ErrOperatorNotFound(operator)
	}
	h.seen.Store(operator, struct{}{})
	return nil
}

func await(ctx context.Context, replies chan *nats.Msg) *nats.Msg {
	if replies == nil {
		return nil
	}
	timer := time.NewTimer(inlineWait)
	defer timer.Stop()
	select {
	case m := <-replies:
		return m
	case <-timer.C:
	case <-ctx.Done():
	}
	return nil
}

// start stores the task of a child, once more at every resume: its run id makes one of all of them.
func (r *recorder) start(ctx context.Context, c *run.Child, in protocol.OperatorInput, inbox string) error {
	h := r.worker.host
	body, err := protocol.Marshal(in)
	if err != nil {
		return protocol.NewError(protocol.CodeInvalidInput, "input cannot be written as JSON: "+err.Error()).Because(err)
	}
	if err := h.conn.CheckSize("input", len(body)); err != nil {
		return err
	}
	inv := protocol.InvocationFrom(ctx)
	if inv.Depth+1 > wire.MaxDepth {
		return protocol.NewError(protocol.CodeQuotaExceeded, "runs nest deeper than "+strconv.Itoa(wire.MaxDepth)+"; does an operator call itself?")
	}
	var seq uint64
	r.open(func(_ *run.Fold, o *run.Open) {
		if begun := o.Children[c.Run]; begun != nil {
			seq = begun.Seq
		}
	})
	if seq == 0 {
		return &step.Unwind{Lost: true}
	}
	msg := &nats.Msg{Subject: h.conn.Names().Task(string(c.Operator)), Data: body, Header: nats.Header{
		wire.HeaderParent:    {string(h.cfg.ID) + "/" + r.worker.session.name()},
		wire.HeaderParentSeq: {strconv.FormatUint(seq, 10)},
	}}
	bus.EncodeCall(msg.Header, protocol.Call{
		Run: c.Run, Parent: r.info.Run, Budget: c.Budget, Depth: inv.Depth + 1, Trace: inv.Trace,
	}, inv.Deadline)
	if inbox != "" {
		msg.Header[wire.HeaderReply] = []string{inbox}
	}
	_, err = h.tasks.Enqueue(ctx, msg)
	return err
}

// checkParent looks at the parent's log whether it began this child with this input. Anybody may write a task, and say
// whose child it is; an answer to a run that nobody asked must not reach a parent.
func (h *Host) checkParent(ctx context.Context, t *incoming) error {
	in := t.task.Input
	if in == nil || in.Parent == nil || t.task.Bar {
		return nil
	}
	p := in.Parent
	record, err := h.runs.Get(ctx, p.Seq)
	if errors.Is(err, runlog.ErrGone) { // the parent was forgotten: nobody waits any more
		in.Parent = nil
		return nil
	}
	if err != nil {
		return err
	}
	if record.Subject != h.conn.Names().RunLog(string(p.Operator), wire.Escape(p.Instance)) {
		return badHeader(wire.HeaderParentSeq, "no record of the parent's log")
	}
	e, err := protocol.DecodeEvent(record.Data)
	if err != nil {
		return badHeader(wire.HeaderParentSeq, "no record of the parent's log")
	}
	for _, part := range append([]protocol.EventPart{{Kind: e.Kind, Data: e.Data}}, e.Also...) {
		var start run.Entry
		if part.Kind != protocol.EventStepStarted || json.Unmarshal(part.Data, &start) != nil || start.Child == nil {
			continue
		}
		if c := start.Child; e.Run == p.Run && c.Run == in.Run && c.Operator == h.cfg.ID && c.Hash == in.Hash {
			return nil
		}
	}
	return badHeader(wire.HeaderParent, "the parent did not begin this run")
}
