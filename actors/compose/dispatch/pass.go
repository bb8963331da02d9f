package dispatch

import (
	"context"
	"encoding/json"
	"runtime/debug"
	"time"

	"github.com/skelegent/skelegent-go/actors/compose"
	"github.com/skelegent/skelegent-go/actors/step"
	"github.com/skelegent/skelegent-go/actors/tool"
	"github.com/skelegent/skelegent-go/protocol"
)

// CleanupTimeout is how long the hooks of a call have together to take in how it ended, where ctx has ended before.
const CleanupTimeout = 5 * time.Second

// pass is one call on its way through the hooks.
type pass struct {
	hooks []Hook
	trace *Trace
	index int
	call  protocol.ToolCall
	// replay says that a durable run may have made the call before.
	replay bool

	asked   int  // hooks whose Before has answered
	settled bool // they are told
	// halted says that one has terminated, and reason why.
	halted bool
	reason string
}

type passKey struct{}

func passFrom(ctx context.Context) *pass {
	p, _ := ctx.Value(passKey{}).(*pass)
	return p
}

// Replays reports, in the context of a hook of Rules, whether a durable run may have made the call before: then what the
// hook decides must not depend on anything but the call and those before it.
func Replays(ctx context.Context) bool {
	p := passFrom(ctx)
	return p != nil && p.replay
}

// with returns the context of the hooks and the tool: by it a hook knows the call again.
func (p *pass) with(ctx context.Context) context.Context {
	if len(p.hooks) == 0 {
		return ctx
	}
	return context.WithValue(ctx, passKey{}, p)
}

// run makes the call between its hooks. It returns what it came to if there is a result, also beside an error of hooks
// behind it.
func (p *pass) run(ctx context.Context, call func(context.Context) (tool.Result, error)) (r Result, made bool, err error) {
	if err := ctx.Err(); err != nil {
		err = protocol.AsError(err)
		p.end(failed(err))
		return r, false, err
	}
	ctx = p.with(ctx)
	defer p.abandon(ctx)
	d, err := p.before(ctx)
	if err == nil && d.Kind() == DecideContinue {
		if err = ctx.Err(); err != nil {
			err = protocol.AsError(err)
		}
	}
	switch {
	case err != nil:
		return r, false, p.fail(ctx, err, p.asked, failed(err))
	case d.Kind() == DecideTerminate:
		return r, false, p.terminate(ctx, d)
	case d.Kind() == DecideSkip:
		r = p.skipped(d)
	default:
		res, err := invoke(ctx, call)
		if err != nil {
			return r, false, p.fail(ctx, err, len(p.hooks), failed(err))
		}
		r = resultOf(p.call, res)
	}
	return r, true, p.after(ctx, r)
}

// terminate tells all hooks that one has ended the dispatch.
func (p *pass) terminate(ctx context.Context, d Decision) error {
	p.halted, p.reason = true, d.reason
	err := compose.ErrDispatchTerminated(d.reason).Clip()
	return p.fail(ctx, err, len(p.hooks), Outcome{Kind: Terminated, Reason: d.reason})
}

func (p *pass) skipped(d Decision) Result {
	return Result{Call: p.call, Output: orNull(d.output), Outcome: Outcome{Kind: Skipped, Reason: d.reason}}
}

// before asks the hooks until one does not continue.
func (p *pass) before(ctx context.Context) (Decision, error) {
	for i, h := range p.hooks {
		var d Decision
		err := contained(func() (err error) {
			d, err = h.Before(ctx, p.call)
			return err
		})
		if err != nil {
			p.trace.add(Event{Kind: HookBeforeError, Call: p.index, Hook: i, Message: textOf(err)})
			return Decision{}, err
		}
		p.asked = i + 1
		p.trace.add(Event{Kind: HookBefore, Call: p.index, Hook: i, Decision: d.Kind(), Reason: d.reason})
		switch {
		case d.Kind() == DecideContinue:
			continue
		case d.Kind() == DecideSkip && len(d.output) > 0 && !json.Valid(d.output):
			return d, compose.ErrInvalidArgument("the output of a hook that skips " + shown(p.call.Name) + " is not JSON")
		}
		return d, nil
	}
	return Continue(), nil
}

// after tells the hooks of a result. The error is the first of theirs.
func (p *pass) after(ctx context.Context, r Result) error {
	var errs []error
	p.tell(ctx, len(p.hooks), func(ctx context.Context, i int) {
		err := contained(func() error { return p.hooks[i].After(ctx, r, r.Outcome) })
		p.trace.add(Event{Kind: HookAfter, Call: p.index, Hook: i, Message: textOf(err)})
		errs = append(errs, err)
	})
	p.end(r.Outcome)
	return join(errs...)
}

// fail tells the first n hooks of an error, and returns it with theirs.
func (p *pass) fail(ctx context.Context, err error, n int, o Outcome) error {
	errs := []error{err}
	p.tell(ctx, n, func(ctx context.Context, i int) {
		more := contained(func() error { return p.hooks[i].OnError(ctx, p.call, err) })
		p.trace.add(Event{Kind: HookCleanup, Call: p.index, Hook: i, Message: textOf(more)})
		errs = append(errs, more)
	})
	p.end(o)
	return join(errs...)
}

// tell calls f for each of the first n hooks, once in the life of the pass.
func (p *pass) tell(ctx context.Context, n int, f func(ctx context.Context, hook int)) {
	if p.settled || n == 0 {
		p.settled = true
		return
	}
	p.settled = true
	if ctx.Err() != nil { // what was taken has to be given back all the same
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(context.WithoutCancel(ctx), CleanupTimeout)
		defer cancel()
	}
	tellFrom(ctx, 0, n, f)
}

// tellFrom goes on with the next hook also where one ends the goroutine.
func tellFrom(ctx context.Context, i, n int, f func(context.Context, int)) {
	defer func() {
		if i < n {
			tellFrom(ctx, i+1, n, f)
		}
	}()
	for ; i < n; i++ {
		f(ctx, i)
	}
}

// abandon tells the hooks of a call that nothing came of: the goroutine ended in the middle of it.
func (p *pass) abandon(ctx context.Context) {
	if p.settled || p.asked == 0 {
		return
	}
	err := protocol.NewError(protocol.CodeInternal, "the call was left without a result")
	_ = p.fail(ctx, err, p.asked, failed(err))
}

func (p *pass) end(o Outcome) {
	p.trace.add(Event{
		Kind: CallOutcome, Call: p.index, Hook: -1, Outcome: o.Kind, Reason: o.Reason, Message: o.Message,
	})
}

func invoke(ctx context.Context, call func(context.Context) (tool.Result, error)) (res tool.Result, err error) {
	defer func() {
		if v := recover(); v != nil { // in a Caller; a tool's is an error
			res, err = tool.Result{}, compose.ErrToolFailed("the call crashed; this is a defect").
				Because(&tool.PanicError{Value: v, Stack: debug.Stack()})
		}
	}()
	return call(ctx)
}

// contained calls a hook. Its error has a code, unless a durable run unwinds by it; a panic is one.
func contained(f func() error) (err error) {
	defer func() {
		if v := recover(); v != nil {
			err = protocol.NewError(protocol.CodeInternal, "a hook crashed; this is a defect of the hook").
				Because(&tool.PanicError{Value: v, Stack: debug.Stack()})
		}
		if err != nil && !step.Unwinding(err) {
			err = protocol.AsError(err)
		}
	}()
	return f()
}

// joined is an error and what failed because of it. Its text, code and kind are those of the first.
type joined []error

// Error is the text of the first.
func (j joined) Error() string { return j[0].Error() }

// Unwrap lets errors.Is and errors.As look at all, the first one first.
func (j joined) Unwrap() []error { return j }

// join returns the first error with the others behind it; those that are nil are left out.
func join(errs ...error) error {
	var all joined
	for _, err := range errs {
		if err != nil {
			all = append(all, err)
		}
	}
	switch len(all) {
	case 0:
		return nil
	case 1:
		return all[0]
	}
	return all
}
