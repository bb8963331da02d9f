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
	hash, err := hashOf(in)
	if err != nil {
		return e, err
	}
	if begun && have.Child != nil && have.Child.Hash != hash {
		return e, protocol.NewError(protocol.CodeConflict, "step "+e.Path+" began a child with another input: what leads to it must do the same each time")
	}
	if !begun {
		if err := r.hosted(ctx, e.Child.Operator); err != nil {
			return e, err
		}
		start, child := e, *e.Child
		child.Hash = hash
		start.Begun, start.Child = true, &child
		if err := r.Record(ctx, start); err != nil {
			return e, err
		}
	}
	if err := r.start(ctx, e.Child, in); err != nil {
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
	if !begun && r.ended(ctx, e.Path) {
		have, _, err = r.Lookup(ctx, e.Path)
		return have, err
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

// How often the log is looked at for the end of a child, at first and later.
const (
	minLook = 2 * time.Millisecond
	maxLook = 20 * time.Millisecond
)

// ended waits a little for the end of a child. It comes as a wake, to whichever node; nobody else can say what it was.
func (r *recorder) ended(ctx context.Context, path string) bool {
	for end, look := time.Now().Add(inlineWait), minLook; time.Now().Before(end); look = min(2*look, maxLook) {
		done := false
		r.open(func(f *run.Fold, o *run.Open) {
			e := o.Journal[path]
			done = e != nil && !e.Begun || f.Stopping()
		})
		if done || !sleep(ctx, look) {
			return done
		}
	}
	return false
}

// hashOf is the digest of an input as whoever reads its task sees it.
func hashOf(in protocol.OperatorInput) (string, error) {
	body, err := protocol.Marshal(in)
	if err != nil {
		return "", protocol.NewError(protocol.CodeInvalidInput, "input cannot be written as JSON: "+err.Error()).Because(err)
	}
	read, err := bus.DecodeInput(body)
	if err != nil {
		return "", err
	}
	canonical, err := protocol.Marshal(read)
	if err != nil {
		return "", protocol.NewError(protocol.CodeInvalidInput, "input cannot be written as JSON: "+err.Error()).Because(err)
	}
	return digest(canonical), nil
}

// start stores the task of a child, once more at every resume: its run id makes one of all of them.
func (r *recorder) start(ctx context.Context, c *run.Child, in protocol.OperatorInput) error {
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
		Run: c.Run, Parent: r.info.Run, Budget: c.Budget, Depth: inv.Depth + 1, Trace: inv.Trace, TakeEffects: c.TakeEffects,
	}, inv.Deadline)
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
		if c := start.Child; e.Run == p.Run && c.Run == in.Run && c.Operator == h.cfg.ID && c.Hash == in.Hash && c.TakeEffects == in.TakeEffects {
			return nil
		}
	}
	return badHeader(wire.HeaderParent, "the parent did not begin this run")
}
