package instance

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"sync/atomic"
	"time"

	"go.uber.org/zap"

	"github.com/skelegent/skelegent-go/actors/run"
	"github.com/skelegent/skelegent-go/actors/step"
	"github.com/skelegent/skelegent-go/bus/runlog"
	"github.com/skelegent/skelegent-go/protocol"
)

// recorder is the journal of a run that this process carries.
type recorder struct {
	worker *worker
	info   step.Info
	claim  string // the code may outlive it
	// unwound is the first unwind that a step was given: the code must leave by it.
	unwound atomic.Pointer[step.Unwind]
}

// unwind remembers why the code has to leave.
func (r *recorder) unwind(u *step.Unwind) error {
	r.unwound.CompareAndSwap(nil, u)
	return u
}

var _ step.Recorder = (*recorder)(nil)

// Info implements step.Recorder.
func (r *recorder) Info() step.Info { return r.info }

func (r *recorder) left() (left *protocol.Decimal) {
	r.worker.session.view(func(f *run.Fold) { left = f.Left() })
	return left
}

func (r *recorder) spent() (spent protocol.Decimal) {
	r.worker.session.view(func(f *run.Fold) {
		if f.Open != nil {
			spent = f.Open.Cost
		}
	})
	return spent
}

// open calls f with the open run, if it is still carried here.
func (r *recorder) open(f func(*run.Fold, *run.Open)) {
	r.worker.session.view(func(fold *run.Fold) {
		if fold.Claim == r.claim && r.worker.driver.Claimed(fold) {
			f(fold, fold.Open)
		}
	})
}

// Lookup implements step.Recorder.
func (r *recorder) Lookup(ctx context.Context, path string) (e run.Entry, ok bool, err error) {
	r.open(func(_ *run.Fold, o *run.Open) {
		if have := o.Journal[path]; have != nil {
			e, ok = *have, true
		}
	})
	if e.Blob != nil && !e.Begun {
		e.Result, err = r.worker.host.blob(ctx, r.worker.session.token, e.Blob)
	}
	return e, ok, err
}

// Boundary implements step.Recorder.
func (r *recorder) Boundary(ctx context.Context) error {
	// A process that was stopped, or away, for long may not begin anything before it knows whether it is still the owner.
	for s := r.worker.session; s.old(time.Now()) && ctx.Err() == nil && !r.worker.host.isLeaving(); {
		if err := s.catchUp(ctx); err != nil && !sleep(ctx, recordPause) {
			break
		}
	}
	u := &step.Unwind{Lost: true}
	r.open(func(f *run.Fold, o *run.Open) {
		switch {
		case f.Stopping():
			u = &step.Unwind{Cancelled: true}
		case o.Paused:
			u = &step.Unwind{Wait: &run.Wait{Reason: run.WaitPaused, Paused: true}}
		default:
			u = nil
		}
	})
	switch {
	case u != nil:
		return r.unwind(u)
	case r.worker.host.isLeaving():
		return r.unwind(&step.Unwind{Released: true})
	case ctx.Err() != nil:
		return context.Cause(ctx)
	}
	return nil
}

// recordPause is how long a fact waits that could not be written: it must not be lost, the work is done.
const recordPause = 500 * time.Millisecond

// Record implements step.Recorder. It goes on although ctx has ended, until the node ends by force.
func (r *recorder) Record(ctx context.Context, e run.Entry) error {
	h := r.worker.host
	ctx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	defer cancel()
	defer context.AfterFunc(h.forced, func() { //nolint:contextcheck // it ends with Record, or some time after the node's force
		late := time.AfterFunc(forceGrace/2, cancel)
		context.AfterFunc(ctx, func() { late.Stop() })
	})()
	if len(e.Result) > maxInline {
		if err := r.spill(ctx, &e); err != nil {
			return err
		}
	}
	for {
		if r.has(e) { // an attempt whose outcome was unknown is there
			return nil
		}
		cmd, err := r.worker.session.record(ctx, r.worker.driver, r.claim, e.Item(r.info.Run))
		switch {
		case err == nil && cmd.Drop:
			return r.unwind(&step.Unwind{Lost: true})
		case err == nil:
			return nil
		case errors.Is(err, runlog.ErrTooLarge): // it will not fit later either
			return err
		case ctx.Err() != nil:
			return r.unwind(&step.Unwind{Released: true})
		}
		h.log.Warn("step not recorded, trying again", zap.String("run_id", string(r.info.Run)), zap.String("code", string(protocol.CodeOf(err))), zap.Error(err))
		if !sleep(ctx, recordPause) {
			return r.unwind(&step.Unwind{Released: true})
		}
		if err := r.worker.session.catchUp(ctx); err != nil {
			h.log.Debug("log not read", zap.Error(err))
		}
	}
}

// has reports whether e is recorded already.
func (r *recorder) has(e run.Entry) (has bool) {
	r.open(func(_ *run.Fold, o *run.Open) {
		have := o.Journal[e.Path]
		has = have != nil && (e.Begun || !have.Begun)
	})
	return has
}

// spill keeps a large result outside of the log. What observers would have been told of it is left out.
func (r *recorder) spill(ctx context.Context, e *run.Entry) error {
	for {
		blob, err := r.worker.host.putBlob(ctx, r.worker.session.token, e.Result)
		if err == nil {
			e.Result, e.Blob, e.Info = nil, blob, smallInfo(e.Info)
			return nil
		}
		r.worker.host.log.Warn("result not stored, trying again", zap.Int("size", len(e.Result)), zap.Error(err))
		if !sleep(ctx, recordPause) {
			return &step.Unwind{Released: true}
		}
	}
}

// smallInfo leaves the large members out.
func smallInfo(info json.RawMessage) json.RawMessage {
	var members map[string]json.RawMessage
	if len(info) == 0 || json.Unmarshal(info, &members) != nil {
		return nil
	}
	for k, v := range members {
		if len(v) > 1<<10 {
			delete(members, k)
		}
	}
	small, err := protocol.Marshal(members)
	if err != nil {
		return nil
	}
	return small
}

// Peek implements step.Recorder.
func (r *recorder) Peek(types ...string) (found []run.Signal) {
	r.open(func(_ *run.Fold, o *run.Open) {
		for _, s := range o.Mailbox {
			if slices.Contains(types, s.Type) {
				found = append(found, s)
			}
		}
	})
	return found
}

// Steering implements step.Recorder.
func (r *recorder) Steering() (found []run.Waiting) {
	r.open(func(f *run.Fold, _ *run.Open) {
		found = f.Steering()
	})
	return found
}

// Timer implements step.Recorder.
func (r *recorder) Timer(path string) (due time.Time, set, fired bool) {
	r.open(func(_ *run.Fold, o *run.Open) {
		due, set = o.Timers[path]
		fired = o.Fired[path]
	})
	return due, set, fired
}

// Suspend implements step.Recorder.
func (r *recorder) Suspend(w run.Wait) error {
	u := &step.Unwind{Lost: true}
	r.open(func(f *run.Fold, _ *run.Open) {
		u = &step.Unwind{Wait: &w}
		if f.Satisfied(&w) {
			u = nil
		}
	})
	if u == nil {
		return nil
	}
	return r.unwind(u)
}
