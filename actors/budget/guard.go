package budget

import (
	"context"
	"errors"
	"fmt"
	"math"
	"sync"

	"github.com/shopspring/decimal"

	"github.com/skelegent/skelegent-go/protocol"
)

// Guard is something of which there is only so much: places, rows, tokens, money. Counter and Tokens are guards, PerCall
// makes one of an Account. Implementations are safe for concurrent use.
type Guard interface {
	// TryReserve takes n. It is false where there is not as much: that is a denial and no error. The error says that nobody
	// can tell, and then nothing is taken. Only a guard that asks somebody else blocks, and then until ctx ends at most.
	TryReserve(ctx context.Context, n uint64) (bool, error)
	// Release gives n back that was taken. It cannot fail and does not block for long.
	Release(n uint64)
}

var (
	_ Guard = (*Counter)(nil)
	_ Guard = (*Tokens)(nil)
	_ Guard = (*perCall)(nil)
)

// shortOf is the error of a count that is denied.
func shortOf(left, needed uint64) error {
	return protocol.NewError(protocol.CodeQuotaExceeded, fmt.Sprintf("budget exhausted: %d are left, %d are needed", left, needed)).
		Because(ErrExhausted)
}

// plus is a+b, at most the largest number.
func plus(a, b uint64) uint64 {
	if a > math.MaxUint64-b {
		return math.MaxUint64
	}
	return a + b
}

// minus is a-b, at least zero.
func minus(a, b uint64) uint64 { return a - min(a, b) }

// PerCall is a guard that sets amount aside in an account for each call, n times that for n, and gives it back on Release:
// calls that are under way together cannot begin unless there is money for all. It spends nothing. What a call did cost is
// settled by whoever pays it.
//
// The account decides as Account.Reserve does. The error of TryReserve is invalid_input if amount is negative. Release
// gives back no more than this guard took.
func PerCall(a *Account, amount protocol.Decimal) Guard { return &perCall{account: a, amount: amount} }

type perCall struct {
	account *Account
	amount  protocol.Decimal

	mu   sync.Mutex
	held uint64
}

// TryReserve implements Guard.
func (p *perCall) TryReserve(_ context.Context, n uint64) (bool, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	_, err := p.account.Reserve(p.times(n)) // given back by unreserve
	switch {
	case errors.Is(err, ErrExhausted):
		return false, nil
	case err != nil:
		return false, err
	}
	p.held = plus(p.held, n)
	return true, nil
}

// Release implements Guard.
func (p *perCall) Release(n uint64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	n = min(n, p.held)
	p.held -= n
	p.account.unreserve(p.times(n).Decimal)
}

func (p *perCall) times(n uint64) protocol.Decimal {
	return protocol.Decimal{Decimal: p.amount.Mul(decimal.NewFromUint64(n))}
}

// unreserve gives back what is of no Reservation any more.
func (a *Account) unreserve(amount decimal.Decimal) {
	for a.of != nil {
		a = a.of
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.reserved = a.reserved.Sub(amount)
}
