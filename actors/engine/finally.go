package engine

// Finally has f called when the run ends here: also where it halts, panics, or is durable and only waits or goes on elsewhere.
// Those that came later are called first. It is where a rule gives back what it holds for a run; it must not fail, and the
// conversation is over by then.
func (c *Context) Finally(f func()) { c.finally = append(c.finally, f) }

// End calls what Finally was given. It is for who runs the context, deferred: a panic in one keeps none of the others from being
// called, and is passed on. Ending again does nothing.
func (c *Context) End() {
	if len(c.finally) == 0 {
		return
	}
	f := c.finally[len(c.finally)-1]
	c.finally = c.finally[:len(c.finally)-1]
	defer c.End()
	f()
}
