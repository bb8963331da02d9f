package budget

import (
	"context"
	"sync"
)

// Tokens is a number of tokens of models that is used up bit by bit, by any number of runs together. A call reserves what
// it may take before it is made, and Record says what it took. A Tokens must not be copied.
//
// What a call took beyond what was reserved for it, and beyond what was left, is remembered: nothing is available until
// what others give back exceeds it. So what was consumed exceeds the capacity by no more than calls took beyond their
// estimates, and not at all where estimates are the most that a call can take.
type Tokens struct {
	mu       sync.Mutex
	capacity uint64
	reserved uint64 // by reservations
	loose    uint64 // by TryReserve
	consumed uint64
}

// NewTokens returns a budget of so many tokens.
func NewTokens(capacity uint64) *Tokens { return &Tokens{capacity: capacity} }

// Reserve sets an estimate aside. The error is ErrExhausted where that is more than what is left, or nothing is left at
// all: an estimate of zero, of a call of which nobody knows what it takes, is granted as long as anything is.
func (t *Tokens) Reserve(estimate uint64) (*TokenReservation, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	left := t.left()
	if left == 0 || left < estimate {
		return nil, shortOf(left, estimate)
	}
	t.reserved += estimate // no more than was left
	return &TokenReservation{budget: t, estimate: estimate}, nil
}

// Spend counts what was taken without a reservation.
func (t *Tokens) Spend(prompt, completion uint64) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.consumed = plus(t.consumed, plus(prompt, completion))
}

// TryReserve implements Guard, by the rules of Reserve. It never fails and does not look at ctx.
func (t *Tokens) TryReserve(_ context.Context, n uint64) (bool, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	left := t.left()
	if left == 0 || left < n {
		return false, nil
	}
	t.loose += n
	return true, nil
}

// Release implements Guard: it gives back what TryReserve took, at most all of that.
func (t *Tokens) Release(n uint64) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.loose = minus(t.loose, n)
}

// left is what is neither consumed nor reserved; mu is held.
func (t *Tokens) left() uint64 { return minus(t.capacity, t.used()) }

func (t *Tokens) used() uint64 { return plus(t.consumed, plus(t.reserved, t.loose)) }

// Capacity is how many tokens there were at first.
func (t *Tokens) Capacity() uint64 { return t.capacity }

// Consumed is how many tokens were recorded and spent. It may exceed the capacity.
func (t *Tokens) Consumed() uint64 {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.consumed
}

// Available is how many tokens are neither consumed nor reserved, at least zero.
func (t *Tokens) Available() uint64 {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.left()
}

// Utilization is what part of the capacity is consumed or reserved, 0 to 1 and beyond; 0 where there is none.
func (t *Tokens) Utilization() float64 {
	t.mu.Lock()
	defer t.mu.Unlock()
	return part(t.used(), t.capacity)
}

// TokenReservation is what was set aside of a budget for one call. It belongs to that budget alone. A nil one is of none.
type TokenReservation struct {
	budget   *Tokens
	estimate uint64
	once     sync.Once
}

// Estimate returns how much was set aside.
func (r *TokenReservation) Estimate() uint64 {
	if r == nil {
		return 0
	}
	return r.estimate
}

// Record says what the call took in place of the estimate, more or less. Only the first Record or Release counts, so that
// Release can be deferred.
func (r *TokenReservation) Record(prompt, completion uint64) { r.settle(plus(prompt, completion)) }

// Release gives all of it back: the call was not made, or took nothing.
func (r *TokenReservation) Release() { r.settle(0) }

func (r *TokenReservation) settle(actual uint64) {
	if r == nil {
		return
	}
	r.once.Do(func() {
		t := r.budget
		t.mu.Lock()
		defer t.mu.Unlock()
		t.reserved -= r.estimate
		t.consumed = plus(t.consumed, actual)
	})
}

type tokensKey struct{}

// WithTokens returns a context whose runs take from t, where they have a rule that does: rule.Tokens(nil).
func WithTokens(ctx context.Context, t *Tokens) context.Context {
	return context.WithValue(ctx, tokensKey{}, t)
}

// TokensFrom returns the tokens of ctx, nil if there are none.
func TokensFrom(ctx context.Context) *Tokens {
	t, _ := ctx.Value(tokensKey{}).(*Tokens)
	return t
}
