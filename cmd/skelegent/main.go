// Command skelegent runs nodes and talks to them: it dispatches work to operators, shows what is there and what
// happens, and looks after effects, dead letters and state.
//
// It is flags and wiring; what it does is in packages bus, state and actors. Exit codes: 0 done, 1 failed, 2 wrong
// usage. Errors are one line on the standard error.
package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"
)

func main() { os.Exit(run()) }

// run ends at the first signal by the end of its context, and at a second one at once.
func run() int {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	defer context.AfterFunc(ctx, stop)() // the second signal does what signals do
	return execute(ctx, newRoot(os.Stdout, os.Stderr, os.Stdin), os.Args[1:])
}
