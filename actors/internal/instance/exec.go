package instance

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"runtime/debug"
	"slices"
	"time"

	"go.uber.org/zap"

	"github.com/skelegent/skelegent-go/actors/run"
	"github.com/skelegent/skelegent-go/actors/step"
	"github.com/skelegent/skelegent-go/protocol"
)

// Why the context of a run ends before its code does.
var (
	errCancelled = protocol.NewError(protocol.CodeCancelled, "the run was cancelled")
	errLost      = protocol.NewError(protocol.CodeConflict, "another node goes on with the run")
	errDeadline  = protocol.NewError(protocol.CodeTimeout, "the deadline passed before the operator was done")
)

// begun is what the code of a run is given, read from the fold at once.
type begun struct {
	input   run.Input
	info    step.Info
	claim   string
	memory  uint64 // the last message of memory effects of earlier turns
	first   bool
	stalled int
}

// run executes the operator's code for the open run and says what it came to.
func (w *worker) run(ctx context.Context) run.Result {
	h := w.host
	select {
	case h.slots <- struct{}{}:
		defer func() { <-h.slots }()
	case <-h.leaving:
		return run.Result{Released: true}
	}
	var b begun
	w.session.view(func(f *run.Fold) {
		if !w.driver.Claimed(f) {
			return
		}
		o := f.Open
		b = begun{input: o.Input, claim: f.Claim, memory: f.M[protocol.FamilyMemory], first: len(o.Journal) == 0, stalled: o.Stalled}
		b.info = step.Info{
			Run: o.Run, Operator: f.Operator, Instance: f.Instance, Since: o.Since, Attempt: o.Attempt, History: slices.Clip(f.History),
		}
	})
	if b.info.Run == "" {
		return run.Result{Lost: true}
	}
	h.running.Add(1)
	defer h.running.Add(-1)
	start := time.Now()
	r, err := w.perform(ctx, b)
	if r.Output != nil || r.Error != nil && r.Retry.IsZero() {
		h.cfg.Count(time.Since(start), err)
	}
	return r
}

// perform runs the code under its limits and reads how it ended.
func (w *worker) perform(ctx context.Context, b begun) (run.Result, error) {
	h := w.host
	if d := b.input.Deadline; !d.IsZero() && !time.Now().Before(d) {
		return run.Result{Error: errDeadline}, errDeadline
	}
	if b.first {
		if wait := w.session.behind(ctx, b.memory); wait != nil {
			return run.Result{Wait: wait}, nil
		}
	}
	in, err := h.inputOf(ctx, w.session, &b.input)
	if err != nil {
		return h.failed(err, b), err
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	latest := time.Now().Add(h.cfg.MaxDuration)
	if d := b.input.Deadline; !d.IsZero() && d.Before(latest) {
		latest = d
	}
	ctx, stop := context.WithDeadlineCause(ctx, latest, errDeadline)
	defer stop()
	defer w.watch(ctx, cancel)()
	rec := &recorder{worker: w, info: b.info, claim: b.claim}
	rec.info.Left, rec.info.Spent = rec.left, rec.spent
	inv := &protocol.Invocation{
		Call: protocol.Call{
			Run: b.input.Run, Parent: b.input.ParentRun, Budget: rec.left(), Depth: b.input.Depth, Trace: b.input.Trace,
		},
		Operator: h.cfg.ID, Instance: w.session.name(), Deadline: b.input.Deadline,
	}
	inv.Events = h.cfg.Sink(inv)
	ctx = protocol.WithInvocation(ctx, inv)
	if h.cfg.Durable {
		ctx = step.With(ctx, rec)
	}
	out, err := h.execute(ctx, inv, in)
	if u := rec.unwound.Load(); u != nil { // also where the code went on as if nothing had been
		err = u
	}
	return w.result(ctx, b, out, err), err
}

// execute calls the operator, with its panics recovered.
func (h *Host) execute(ctx context.Context, inv *protocol.Invocation, in protocol.OperatorInput) (out protocol.OperatorOutput, err error) {
	defer func() {
		if v := recover(); v != nil {
			err = protocol.NewError(protocol.CodeInternal, "the operator panicked; see the node's log").
				Because(fmt.Errorf("panic of %T in operator %s\n%s", v, inv.Operator, debug.Stack()))
		}
	}()
	return h.cfg.Operator.Execute(ctx, in)
}

// result reads how the code ended: by an output, an error, or a step that unwound it.
func (w *worker) result(ctx context.Context, b begun, out protocol.OperatorOutput, err error) (r run.Result) {
	h := w.host
	defer func() { // an output may hold what cannot be looked at
		if v := recover(); v != nil {
			r = h.failed(protocol.NewError(protocol.CodeInternal, "the operator gave an output that cannot be read; see the node's log").
				Because(fmt.Errorf("panic of %T\n%s", v, debug.Stack())), b)
		}
	}()
	var u *step.Unwind
	if errors.As(err, &u) {
		if u.Wait != nil && !b.input.Deadline.IsZero() { // it also ends the waiting
			wait := *u.Wait
			wait.Timers = append(slices.Clip(wait.Timers), run.Due{Path: deadlinePath, At: b.input.Deadline.UTC()})
			u = &step.Unwind{Wait: &wait}
		}
		return run.Result{Wait: u.Wait, Cancelled: u.Cancelled, Released: u.Released, Lost: u.Lost}
	}
	if err != nil && ctx.Err() != nil {
		switch cause := context.Cause(ctx); {
		case errors.Is(cause, errCancelled):
			return run.Result{Cancelled: true}
		case errors.Is(cause, errLost):
			return run.Result{Lost: true}
		case errors.Is(cause, errDeadline):
			err = errDeadline.Because(err)
		default: // the node ends by force
			return run.Result{Released: true}
		}
	}
	if err != nil {
		return h.failed(err, b)
	}
	done, err := h.completed(ctx, w.session, out)
	if err != nil {
		return h.failed(err, b)
	}
	return run.Result{Output: done}
}

// deadlinePath is the timer of the run's own deadline: no step's path is like it.
const deadlinePath = "deadline"

// completed is an output as the log keeps it.
func (h *Host) completed(ctx context.Context, s *session, out protocol.OperatorOutput) (*run.Completed, error) {
	body, err := protocol.Marshal(&out)
	if err != nil {
		return nil, protocol.NewError(protocol.CodeInternal, "the output cannot be written as JSON: "+err.Error()).Because(err)
	}
	// What nobody could read or perform must not be committed.
	var back protocol.OperatorOutput
	if err := protocol.Unmarshal(body, &back); err != nil {
		return nil, protocol.NewError(protocol.CodeInternal, "the operator gave an output that cannot be read: "+err.Error()).Because(err)
	}
	requests, err := protocol.EffectRequests(protocol.EffectRequest{
		Operator: h.cfg.ID, Instance: s.name(), Run: protocol.RunID(s.name()),
	}, back.Effects, func(string) uint64 { return 1 })
	if err != nil {
		return nil, err
	}
	for _, r := range requests {
		request, err := protocol.Marshal(r)
		if err != nil {
			return nil, protocol.NewError(protocol.CodeInternal, "an effect cannot be written as JSON: "+err.Error()).Because(err)
		}
		if err := h.conn.CheckSize("effects of kind "+r.Kind, len(request)+effectRoom); err != nil {
			return nil, err
		}
	}
	if len(body) <= maxInline {
		return &run.Completed{Output: body}, nil
	}
	blob, err := h.putBlob(context.WithoutCancel(ctx), s.token, body)
	if err != nil {
		return nil, err
	}
	return &run.Completed{Blob: blob}, nil
}

// effectRoom is what else a request may hold when it is published: inboxes, ids, the budget.
const effectRoom = 80 << 10

// Bounds of the pause before a run that failed is tried again.
const (
	minRetry = 500 * time.Millisecond
	maxRetry = 2 * time.Minute
)

// failed is the result of an error: for a durable operator, and where that can help, to be tried again.
func (h *Host) failed(err error, b begun) run.Result {
	e := protocol.AsError(err)
	log := h.log.With(zap.String("run_id", string(b.info.Run)), zap.Int("attempt", b.info.Attempt), zap.String("code", string(e.Code)))
	if e.Code == protocol.CodeInternal {
		log.Error("operator failed", zap.Error(e.Unwrap()))
	} else {
		log.Debug("operator failed", zap.Error(err))
	}
	if !h.cfg.Durable || !e.Retryable || errors.Is(err, errDeadline) {
		return run.Result{Error: e}
	}
	wait := min(maxRetry, minRetry<<min(b.stalled, 10))
	return run.Result{Error: e, Retry: time.Now().Add(max(e.RetryAfter, wait)).UTC()}
}

// inputOf reads the input of a run.
func (h *Host) inputOf(ctx context.Context, s *session, in *run.Input) (protocol.OperatorInput, error) {
	body, err := h.bodyOf(ctx, s.token, in)
	if err != nil {
		return protocol.OperatorInput{}, err
	}
	var out protocol.OperatorInput
	return out, protocol.Unmarshal(body, &out)
}

func (h *Host) bodyOf(ctx context.Context, token string, in *run.Input) (json.RawMessage, error) {
	if in.Blob == nil {
		return in.Body, nil
	}
	return h.blob(ctx, token, in.Blob)
}
