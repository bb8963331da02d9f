// Package budget is what several runs of one process use up together: money, tokens, and things that are counted.
//
//	Account  <-  Reserve (before a model call)  ->  Reservation       ->  Settle (what it cost)
//	   |
//	  Sub: a part of it, for a child
//	  Part: all of it, for who wants to know what somebody spends of it
//
//	Tokens   <-  Reserve (an estimate)          ->  TokenReservation  ->  Record (what it took)
//	Counter  <-  Reserve (places, rows)         ->  CountReservation  ->  Release
//
//	Guard: what all three are to who only asks whether there is enough (TryReserve, Release)
//
// # Guarantees
//
// What is reserved counts as used until it is settled, so calls that are under way at the same time cannot together take more
// than there is. The sum of what is settled exceeds the limit by no more than what single calls took beyond what was reserved
// for them; where each reserves the most that it can take, never. What was taken beyond the limit is not forgotten.
//
// Each reservation is settled once, by the first that says so, and numbers do not overflow. A denial is ErrExhausted, or false of
// a Guard; it is no failure.
//
// # Where it is used
//
// An Account in a context (With) is what an agent reserves from, beside its own limits. Tokens are counted by the rule
// rule.Tokens, and guards hold calls of tools back in package compose/dispatch. Across processes a budget travels as the amount
// that is left, protocol.Call.Budget, and is divided before.
//
// # Concurrency
//
// All is safe for concurrent use. Nothing blocks.
//
// # What it is not
//
// It is kept nowhere: when the process ends, so does what it knows.
//
//	tokens := budget.NewTokens(1_000_000)
//	r, err := tokens.Reserve(4_000)
//	if err != nil { // errors.Is(err, budget.ErrExhausted)
//		return err
//	}
//	defer r.Release() // whatever happens
//	answer, err := ask()
//	if err != nil {
//		return err
//	}
//	r.Record(answer.Usage.InputTokens, answer.Usage.OutputTokens)
package budget
