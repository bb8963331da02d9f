package steptest

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/skelegent/skelegent-go/actors/run"
	"github.com/skelegent/skelegent-go/actors/step"
	"github.com/skelegent/skelegent-go/protocol"
)

// Config says what is run. The zero value works.
type Config struct {
	Operator protocol.OperatorID // "operator" if empty
	// Budget is that of every run in USD; nil is no limit.
	Budget *protocol.Decimal
	// Children answers the calls of other operators. It is called once for each child's run. If it is nil the run waits for
	// its children until EndChild.
	Children func(ctx context.Context, child run.Child, in protocol.OperatorInput) (protocol.OperatorOutput, error)
	// Attempts is how often a run begins without getting anywhere, or fails in a way that may pass, before it has failed;
	// 5 if 0.
	Attempts int
}

// Run is an instance of an operator: its log, and what of the world it has to do with.
type Run struct {
	cfg Config

	mu      sync.Mutex
	fold    *run.Fold
	log     []run.Record
	seq     uint64 // of the stream: of records and signals alike
	inputs  int
	driver  *run.Driver // of the task that claimed, until the code runs
	records int         // of steps
	kill    kill
	release bool
	ended   map[protocol.RunID]run.ChildEnd
}

// kill says at which record the process ends; 0 is never.
type kill struct{ before, after int }

// New returns a Run without an input.
func New(cfg Config) *Run {
	cfg.Operator = cmp.Or(cfg.Operator, "operator")
	cfg.Attempts = cmp.Or(cfg.Attempts, 5)
	return &Run{cfg: cfg, fold: run.New(cfg.Operator, ""), ended: map[protocol.RunID]run.ChildEnd{}}
}

// Input sends an input and returns its run. If another run is open it waits as mode says.
func (r *Run) Input(in protocol.OperatorInput, mode run.Mode) protocol.RunID {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.inputs++
	id := protocol.RunID("r" + strconv.Itoa(r.inputs))
	if r.fold.Instance == "" {
		r.fold.Instance = string(id)
		if in.Session != nil {
			r.fold.Instance = string(*in.Session)
		}
	}
	r.deliver(run.Task{Input: &run.Input{Run: id, Hash: string(id), Body: marshal(in), Mode: mode, Budget: r.cfg.Budget}})
	return id
}

// Execute has the open run go on with op, until it ends or has to wait: it begins, or is taken over after a kill, or resumed
// since what it waits for has come. It returns what op did.
//
// The error is an *step.Unwind where the run is not over: it waits (also where it still does, and op was not called), is
// released, cancelled, or was killed, which Lost says.
func (r *Run) Execute(ctx context.Context, op protocol.Operator) (out protocol.OperatorOutput, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.fold.Open == nil && len(r.fold.Queue) == 0 {
		return out, errors.New("steptest: no run is open")
	}
	d := r.driver
	r.driver = nil
	if d == nil { // the carrier of the last claim comes again
		d = r.newDriver(run.Task{Carrier: r.fold.Carrier})
		if !r.next(d) {
			return out, &step.Unwind{Wait: r.fold.Open.Wait}
		}
	}
	id := r.fold.Open.Run
	for {
		rec := &recorder{run: r, driver: d}
		out, err = r.execute(ctx, op, rec)
		if rec.dead {
			r.refold()
			return out, lost
		}
		d.Ran(result(out, err))
		if !r.next(d) {
			return out, err
		}
		if r.fold.Open.Run != id { // the next one, out of the queue
			r.driver = d
			return out, err
		}
	}
}

// execute calls op without the lock.
func (r *Run) execute(ctx context.Context, op protocol.Operator, rec *recorder) (protocol.OperatorOutput, error) {
	o := r.fold.Open
	var in protocol.OperatorInput
	if err := protocol.Unmarshal(o.Body, &in); err != nil {
		return protocol.OperatorOutput{}, err
	}
	inv := &protocol.Invocation{
		Call:     protocol.Call{Run: o.Run, Parent: o.ParentRun, Budget: r.fold.Left(), Depth: o.Depth},
		Operator: r.fold.Operator, Instance: r.fold.Instance, Events: protocol.InvocationFrom(ctx).Events,
	}
	r.mu.Unlock()
	defer r.mu.Lock()
	return op.Execute(step.With(protocol.WithInvocation(ctx, inv), rec), in)
}

func result(out protocol.OperatorOutput, err error) run.Result {
	var u *step.Unwind
	switch {
	case errors.As(err, &u):
		return run.Result{Wait: u.Wait, Cancelled: u.Cancelled, Released: u.Released, Lost: u.Lost}
	case err == nil:
		return run.Result{Output: &run.Completed{Output: marshal(out)}}
	}
	failed := run.Result{Error: protocol.AsError(err)}
	if failed.Error.Retryable {
		failed.Retry = time.Now().Add(failed.Error.RetryAfter)
	}
	return failed
}

// newDriver sees a task through.
func (r *Run) newDriver(t run.Task) *run.Driver {
	if t.Carrier == (run.Carrier{}) {
		r.seq++
		t.Carrier = run.Carrier{ID: run.TaskID{Seq: r.seq}}
	}
	return &run.Driver{Task: t, Policy: run.Policy{Node: "test", Attempts: r.cfg.Attempts}}
}

// deliver sees a task through, until it may be the one that has the code run.
func (r *Run) deliver(t run.Task) {
	if d := r.newDriver(t); r.next(d) {
		r.driver = d
	}
}

// next does what the driver says, and reports whether the code is to run.
func (r *Run) next(d *run.Driver) bool {
	for {
		c := d.Next(r.fold)
		switch {
		case c.Append != nil:
			d.Appended(c.Append, r.append(c.Append))
		case c.Settle != nil:
			d.Settled(c.Settle.Seq)
		case c.Answer != nil:
			d.Answered()
		default:
			return c.Run
		}
	}
}

// append stores items as one event and folds it. It returns the event's id.
func (r *Run) append(items []run.Item) string {
	r.seq++
	e := protocol.Event{
		ID: strconv.FormatUint(r.seq, 10), Kind: items[0].Kind, Operator: r.fold.Operator, Instance: r.fold.Instance,
		Run: items[0].Run, Time: time.Now().UTC(), Data: marshal(items[0].Data),
	}
	for _, i := range items[1:] {
		e.Also = append(e.Also, protocol.EventPart{Kind: i.Kind, Data: marshal(i.Data)})
	}
	e, err := protocol.DecodeEvent(marshal(e))
	if err != nil {
		panic(err)
	}
	r.log = append(r.log, run.Record{Seq: r.seq, Event: e})
	apply(r.fold, r.log[len(r.log)-1])
	return e.ID
}

// refold loads the log as another process would.
func (r *Run) refold() {
	f := run.New(r.fold.Operator, r.fold.Instance)
	for _, record := range r.log {
		apply(f, record)
	}
	r.fold = f
}

// apply panics where package run and this one do not agree: that is a defect of one of them.
func apply(f *run.Fold, record run.Record) {
	if err := f.Apply(record); err != nil || f.Unknown != "" {
		panic(fmt.Sprintf("steptest: %v, unknown %q", err, f.Unknown))
	}
}

func marshal(v any) json.RawMessage {
	raw, err := protocol.Marshal(v)
	if err != nil {
		panic(err) // of the test: what it gives is JSON
	}
	return raw
}

// Records counts what steps recorded so far: starts, outcomes, children. KillBefore and KillAfter count the same way.
func (r *Run) Records() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.records
}

// Entry returns what is recorded of the step at path in the open run.
func (r *Run) Entry(path string) (run.Entry, bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.entry(path)
}

func (r *Run) entry(path string) (run.Entry, bool) {
	if r.fold.Open == nil || r.fold.Open.Journal[path] == nil {
		return run.Entry{}, false
	}
	return *r.fold.Open.Journal[path], true
}

// Events returns the log.
func (r *Run) Events() []protocol.Event {
	r.mu.Lock()
	defer r.mu.Unlock()
	events := make([]protocol.Event, len(r.log))
	for i, record := range r.log {
		events[i] = record.Event
	}
	return events
}

// Fold returns the state. It must not be used while the code runs.
func (r *Run) Fold() *run.Fold {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.fold
}

// Wait returns what the open run waits for; nil if it does not.
func (r *Run) Wait() *run.Wait {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.fold.Open == nil {
		return nil
	}
	return r.fold.Open.Wait
}

// matching returns the signals of these types.
func matching(all []run.Signal, types []string) []run.Signal {
	var in []run.Signal
	for _, s := range all {
		if slices.Contains(types, s.Type) {
			in = append(in, s)
		}
	}
	return in
}
