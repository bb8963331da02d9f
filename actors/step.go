package actors

import (
	"context"
	"time"

	"github.com/skelegent/skelegent-go/actors/step"
	"github.com/skelegent/skelegent-go/protocol"
)

// What an operator written in Go can do durably; see package step, whose functions these are. What a step returned is
// recorded, and when another process goes on with the run, the operator's code runs again from the top and recorded steps
// return at once. So everything around the steps must do the same each time, and every error of a step must be returned.

// ErrExpired is what Await returns when its deadline has passed.
var ErrExpired = step.ErrExpired

// ErrOutcomeUnknown is what a step with Once returns that a crash interrupted.
var ErrOutcomeUnknown = step.ErrOutcomeUnknown

// Step does something and records what it returned. A crash in the middle does it again, unless Once is given.
func Step[T any](ctx context.Context, name string, fn func(context.Context) (T, error), opts ...step.Option) (T, error) {
	return step.Do(ctx, name, fn, opts...)
}

// Once says that a step must not be done again when it is not known whether it was.
func Once() step.Option { return step.Once() }

// Sleep returns after d. Above a second the run holds nothing meanwhile, whatever becomes of the node.
func Sleep(ctx context.Context, d time.Duration) error { return step.Sleep(ctx, d) }

// Await returns the next signal whose type is name. The run holds nothing meanwhile.
func Await[T any](ctx context.Context, name string, opts ...step.WaitOption) (T, error) {
	return step.Await[T](ctx, name, opts...)
}

// Deadline ends an Await with ErrExpired after d.
func Deadline(d time.Duration) step.WaitOption { return step.Deadline(d) }

// Call has another operator process an input, and waits for its end with nothing held.
func Call(ctx context.Context, name string, operator protocol.OperatorID, in protocol.OperatorInput, opts ...step.CallOption) (protocol.OperatorOutput, error) {
	return step.Call(ctx, name, operator, in, opts...)
}

// Key is the idempotency key of the step that ctx is in: the same however often it is done.
func Key(ctx context.Context) string { return step.Key(ctx) }
