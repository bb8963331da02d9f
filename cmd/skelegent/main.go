// Command skelegent runs nodes and talks to them: it dispatches work to operators, shows what is there and what
// happens, looks after runs, effects, dead letters and state, and carries what people decide to them.
//
// It is flags and wiring; what it does is in packages bus, state and actors. Exit codes: 0 done, 1 failed, 2 wrong
// usage. Errors are one line on the standard error.
package main

import (
	"context"
	"os"
)

func main() { os.Exit(start()) }

// start ends at the first signal by the end of its context, and at a second one at once.
func start() int {
	a := newApp(os.Stdout, os.Stderr, os.Stdin, os.Getenv)
	ctx, stop := a.interrupts.listen(context.Background())
	defer stop()
	return execute(ctx, a.root(), os.Args[1:])
}
