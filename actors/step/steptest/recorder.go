package steptest

import (
	"context"
	"time"

	"github.com/skelegent/skelegent-go/actors/run"
	"github.com/skelegent/skelegent-go/actors/step"
	"github.com/skelegent/skelegent-go/protocol"
)

// recorder is what one execution of the code has of the Run.
type recorder struct {
	run    *Run
	driver *run.Driver
	dead   bool // guarded by run.mu
}

var _ step.Recorder = (*recorder)(nil)

// lost is what a process learns that was killed, or whose run another one took.
var lost = &step.Unwind{Lost: true}

// with calls f with the state, unless the process is dead.
func (r *recorder) with(f func(o *run.Open) error) error {
	r.run.mu.Lock()
	defer r.run.mu.Unlock()
	if r.dead || !r.driver.Claimed(r.run.fold) {
		return lost
	}
	return f(r.run.fold.Open)
}

// Info implements step.Recorder.
func (r *recorder) Info() step.Info {
	r.run.mu.Lock()
	defer r.run.mu.Unlock()
	f := r.run.fold
	info := step.Info{Operator: f.Operator, Instance: f.Instance, History: f.History, Left: func() *protocol.Decimal {
		r.run.mu.Lock()
		defer r.run.mu.Unlock()
		return r.run.fold.Left()
	}}
	info.Spent = func() (spent protocol.Decimal) {
		r.run.mu.Lock()
		defer r.run.mu.Unlock()
		if o := r.run.fold.Open; o != nil {
			spent = o.Cost
		}
		return spent
	}
	if o := f.Open; o != nil {
		info.Run, info.Since, info.Attempt = o.Run, o.Since, o.Attempt
	}
	return info
}

// Lookup implements step.Recorder.
func (r *recorder) Lookup(_ context.Context, path string) (e run.Entry, found bool, err error) {
	err = r.with(func(*run.Open) error {
		e, found = r.run.entry(path)
		return nil
	})
	return e, found, err
}

// Boundary implements step.Recorder.
func (r *recorder) Boundary(context.Context) error {
	return r.with(func(o *run.Open) error {
		switch {
		case r.run.fold.Stopping():
			return &step.Unwind{Cancelled: true}
		case o.Paused:
			return &step.Unwind{Wait: &run.Wait{Reason: run.WaitPaused, Paused: true}}
		case r.run.release:
			r.run.release = false
			return &step.Unwind{Released: true}
		}
		return nil
	})
}

// Record implements step.Recorder.
func (r *recorder) Record(_ context.Context, e run.Entry) error {
	return r.with(func(o *run.Open) error { return r.record(o, e) })
}

func (r *recorder) record(o *run.Open, e run.Entry) error {
	n := r.run.records + 1
	if n == r.run.kill.before {
		r.run.kill, r.dead = kill{}, true
		return lost
	}
	c := r.driver.Fact(r.run.fold, e.Item(o.Run))
	if c.Append == nil {
		r.dead = true
		return lost
	}
	r.run.append(c.Append)
	r.run.records = n
	if n == r.run.kill.after {
		r.run.kill, r.dead = kill{}, true
		return lost
	}
	return nil
}

// Peek implements step.Recorder.
func (r *recorder) Peek(types ...string) (in []run.Signal) {
	_ = r.with(func(o *run.Open) error { // who is dead hears nothing
		in = matching(o.Mailbox, types)
		return nil
	})
	return in
}

// Steering implements step.Recorder.
func (r *recorder) Steering() (in []run.Waiting) {
	_ = r.with(func(*run.Open) error {
		in = r.run.fold.Steering()
		return nil
	})
	return in
}

// Timer implements step.Recorder.
func (r *recorder) Timer(path string) (due time.Time, set, fired bool) {
	_ = r.with(func(o *run.Open) error {
		due, set = o.Timers[path]
		fired = o.Fired[path]
		return nil
	})
	return due, set, fired
}

// Suspend implements step.Recorder.
func (r *recorder) Suspend(w run.Wait) error {
	return r.with(func(*run.Open) error {
		switch {
		case r.run.fold.Stopping():
			return &step.Unwind{Cancelled: true}
		case r.run.fold.Satisfied(&w):
			return nil
		}
		return &step.Unwind{Wait: &w}
	})
}

// Call implements step.Recorder.
func (r *recorder) Call(ctx context.Context, e run.Entry, in protocol.OperatorInput) (run.Entry, error) {
	var child run.Child
	var end *run.ChildEnd
	err := r.with(func(o *run.Open) error {
		if _, begun := r.run.entry(e.Path); !begun {
			e.Begun = true
			if err := r.record(o, e); err != nil {
				return err
			}
		}
		e, _ = r.run.entry(e.Path)
		child = *e.Child
		if before, ok := r.run.ended[child.Run]; ok {
			end = &before
		}
		return nil
	})
	if err != nil || !e.Begun || child.Detached {
		return e, err
	}
	if end == nil {
		if r.run.cfg.Children == nil {
			return e, r.Suspend(run.Wait{Reason: run.WaitChild, Children: []protocol.RunID{child.Run}, Path: e.Path})
		}
		out, err := r.run.cfg.Children(ctx, child, in)
		end = new(childEnd(child.Run, out, err))
		r.run.mu.Lock() // it has ended, also where this process has not lived to see it
		r.run.ended[child.Run] = *end
		r.run.mu.Unlock()
	}
	err = r.with(func(*run.Open) error {
		r.run.endChild(*end)
		e, _ = r.run.entry(e.Path)
		return nil
	})
	return e, err
}
