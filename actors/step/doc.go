// Package step is what the code of a durable operator is made of: steps whose outcome is recorded, so that the code can be
// run again from the top, on another node too, and goes on where it was.
//
//	operator code  ->  Do, Sleep, Await, Approval, Call  ->  Recorder  ->  the log of the run
//	agent, tools   ->  Next, At                          ->
//
// A step that the log has returns at once what it came to. One that it does not have is made, recorded, and returns.
//
//	func onboard(ctx context.Context, in protocol.OperatorInput) (protocol.OperatorOutput, error) {
//		user, err := step.Do(ctx, "create user", func(ctx context.Context) (User, error) { ... })
//		if err != nil {
//			return protocol.OperatorOutput{}, err
//		}
//		if err := step.Sleep(ctx, 72*time.Hour); err != nil { // holds nothing meanwhile
//			return protocol.OperatorOutput{}, err
//		}
//		answer, err := step.Await[Answer](ctx, "manager approval", step.Deadline(24*time.Hour))
//		if errors.Is(err, step.ErrExpired) { ... }
//		...
//	}
//
// # What the code must keep to
//
// It must ask for the same steps in the same order each time; whatever decides about that (time, chance, the outside) has to
// come out of a step. What stands between steps is executed again whenever the run goes on; so it must not act. An error
// has to be returned unless the code deals with it; one by which the run unwinds always. See Unwinding.
//
// # Guarantees
//
// A step has a path: its ordinal in its scope, from 1. Within the function of a step the scope is a new one: the second step
// within the third is 3.2. A recorded step is not made again. A step that ended without being recorded, since the process
// did, is made again, unless Once says that it must not. A step that asks under another name or kind than was recorded
// gives ErrChanged and is not recorded.
//
// Results are kept as JSON, and what a step returns is always what that JSON reads back as, the first time too. Errors are
// kept as *protocol.Error: errors.As gives that and no other type, errors.Is the sentinels of this package.
//
// # Outside a durable run
//
// Without a Recorder in the context, Do calls its function and Sleep sleeps; Await, Approval and Call return an error with
// the code unsupported; Key is empty.
//
// # Concurrency
//
// Everything is safe for concurrent use. But ordinals are given in the order in which steps are asked for, so goroutines
// that share a scope must ask in the same order each time, which they do not by themselves.
//
// # What it is not
//
// It knows no bus, and starts no goroutine. Package steptest has a Recorder in memory, to test operators with.
package step
