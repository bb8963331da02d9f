package actorx

import "context"

// continuation brings the outcome of Async back into the actor.
type continuation struct {
	c   *Context
	run func()
}

// Async runs work in a goroutine of its own and then calls then in the actor, as one message among others, with what
// work returned. A panic of work, or runtime.Goexit, arrives as *PanicError. then runs only in the incarnation that
// called Async: after a crash, or once Stop has begun, the outcome is dropped. The context of work ends with the
// incarnation, and when its stop has passed the mailbox; a stop does not wait for then, but System.Stop waits for work.
// then may be nil.
func Async[T any](c *Context, work func(ctx context.Context) (T, error), then func(c *Context, result T, err error)) {
	c.check()
	ctx := c.lifetime()
	b := c.b
	b.sys.track(0, 1)
	go func() {
		defer b.sys.track(0, -1)
		var result T
		var err error
		completed := false
		defer func() {
			if !completed {
				err = newPanicError(recover())
			}
			if then == nil {
				if !completed {
					b.logCrash("task crashed", err)
				}
				return
			}
			b.ref.push(&continuation{c: c, run: func() { then(c, result, err) }}, false)
		}()
		result, err = work(ctx)
		completed = true
	}()
}

// Task is work for a goroutine of its own, as an object and not as closures: where each message starts one, Do costs
// less than Async and does the same.
type Task interface {
	// Work runs in the goroutine; ctx is as for Async.
	Work(ctx context.Context)
	// Then runs in the actor when Work has returned, in the incarnation that called Do only; err is a *PanicError if
	// Work crashed.
	Then(c *Context, err error)
}

// Do runs t as Async runs its functions, in a goroutine that may have run others before: its stack has grown already.
func Do(c *Context, t Task) {
	c.check()
	r := &running{c: c, task: t}
	ctx := c.lifetime()
	c.b.sys.track(0, 1)
	c.b.sys.workers.run(job{r, ctx})
}

// running is a task under way, and then the message that it has ended.
type running struct {
	c         *Context
	task      Task
	completed bool
	err       error
}

func (r *running) run(ctx context.Context) {
	b := r.c.b
	defer b.sys.track(0, -1)
	defer func() {
		if !r.completed {
			r.err = newPanicError(recover())
		}
		b.ref.push(r, false)
	}()
	r.task.Work(ctx)
	r.completed = true
}

// lifetime of the incarnation, as a context.
func (c *Context) lifetime() context.Context {
	if c.ctx == nil {
		c.ctx, c.cancel = context.WithCancel(context.Background())
		if c.ended || c.b.draining {
			c.cancel()
		}
	}
	return c.ctx
}
