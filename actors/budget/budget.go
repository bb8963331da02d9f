package budget

import (
	"context"
	"fmt"
	"sync"

	"github.com/shopspring/decimal"

	"github.com/skelegent/skelegent-go/protocol"
)

// ErrExhausted is the error of a reservation for which there is not enough; errors.Is finds it. Its code is quota_exceeded.
var ErrExhausted = protocol.NewError(protocol.CodeQuotaExceeded, "budget exhausted")

// Account is an amount in USD that is spent bit by bit. The zero value has no limit.
type Account struct {
	mu       sync.Mutex
	limit    *decimal.Decimal // nil: none
	spent    decimal.Decimal
	reserved decimal.Decimal
	unknown  uint32 // calls whose cost is not known

	parent *Reservation // what a Sub was given
	of     *Account     // whose money it is, of a Part
}

// New returns an account with that limit; nil is none.
func New(limit *protocol.Decimal) *Account {
	a := &Account{}
	if limit != nil {
		a.limit = &limit.Decimal
	}
	return a
}

// Left returns what is neither spent nor reserved, at least zero; nil if there is no limit.
func (a *Account) Left() *protocol.Decimal {
	if a.of != nil {
		return a.of.Left()
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.limit == nil {
		return nil
	}
	return &protocol.Decimal{Decimal: decimal.Max(decimal.Zero, a.limit.Sub(a.spent).Sub(a.reserved))}
}

// Spent returns what was settled.
func (a *Account) Spent() protocol.Decimal {
	a.mu.Lock()
	defer a.mu.Unlock()
	return protocol.Decimal{Decimal: a.spent}
}

// Unknown returns how many calls were settled whose cost is not known. With a limit, nothing more is reserved after one.
func (a *Account) Unknown() uint32 {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.unknown
}

// Utilization is what part of the limit is spent or reserved, 0 to 1 and beyond; 0 without a limit.
func (a *Account) Utilization() float64 {
	if a.of != nil {
		return a.of.Utilization()
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.limit == nil {
		return 0
	}
	used := a.spent.Add(a.reserved)
	if !a.limit.IsPositive() {
		return 1
	}
	return used.Div(*a.limit).InexactFloat64()
}

// Reserve sets amount aside. The error is ErrExhausted where that is more than what is left, or nothing is left at all: an
// amount of zero, for a call whose cost nobody can bound, is granted as long as anything is.
func (a *Account) Reserve(amount protocol.Decimal) (*Reservation, error) {
	if amount.IsNegative() {
		return nil, protocol.NewError(protocol.CodeInvalidInput, "a reservation must not be negative")
	}
	if a.of != nil {
		of, err := a.of.Reserve(amount)
		if err != nil {
			return nil, err
		}
		return &Reservation{from: a, amount: amount.Decimal, of: of}, nil
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.limit != nil {
		left := a.limit.Sub(a.spent).Sub(a.reserved)
		if a.unknown > 0 || amount.GreaterThan(left) || !left.IsPositive() {
			return nil, exhausted(left, amount)
		}
	}
	a.reserved = a.reserved.Add(amount.Decimal)
	return &Reservation{from: a, amount: amount.Decimal}, nil
}

func exhausted(left decimal.Decimal, amount protocol.Decimal) error {
	e := protocol.NewError(protocol.CodeQuotaExceeded, fmt.Sprintf("budget exhausted: %s USD are left, %s are needed",
		decimal.Max(decimal.Zero, left), amount.Decimal))
	return e.Because(ErrExhausted)
}

// Sub returns an account of its own with a part of a's, which is reserved until Close. The error is Reserve's.
func (a *Account) Sub(amount protocol.Decimal) (*Account, error) {
	r, err := a.Reserve(amount)
	if err != nil {
		return nil, err
	}
	return &Account{limit: &amount.Decimal, parent: r}, nil
}

// Part returns an account that spends a's money, and knows how much of it was spent by its own reservations.
func (a *Account) Part() *Account { return &Account{of: a} }

// Spend counts what was spent without a reservation, and calls whose cost is not known. What is less than nothing does not count.
func (a *Account) Spend(cost protocol.Decimal, unknown uint32) {
	for ; a != nil; a = a.of {
		a.mu.Lock()
		a.spent = a.spent.Add(decimal.Max(decimal.Zero, cost.Decimal))
		a.unknown += unknown
		a.mu.Unlock()
	}
}

// Close gives what an account of Sub did not spend back to the one it came from. Closing again does nothing.
func (a *Account) Close() {
	if a.parent == nil {
		return
	}
	spent := a.Spent()
	a.parent.Settle(&spent)
	a.mu.Lock()
	unknown := a.unknown
	a.unknown = 0
	a.mu.Unlock()
	a.parent.from.Spend(protocol.Decimal{}, unknown)
}

// Reservation is an amount that was set aside. A nil one is of no account.
type Reservation struct {
	from   *Account
	amount decimal.Decimal
	of     *Reservation // of whose money it is, of a Part
	once   sync.Once
}

// Amount returns how much was set aside.
func (r *Reservation) Amount() protocol.Decimal { return protocol.Decimal{Decimal: r.amount} }

// Settle says what was spent in its place, more or less; nil is not known, nor is what would be less than nothing. Only the first Settle or Release counts, so that
// Release can be deferred.
func (r *Reservation) Settle(cost *protocol.Decimal) {
	if r == nil {
		return
	}
	r.once.Do(func() {
		a := r.from
		a.mu.Lock()
		defer a.mu.Unlock()
		if r.of != nil {
			r.of.Settle(cost)
		} else {
			a.reserved = a.reserved.Sub(r.amount)
		}
		if cost == nil || cost.IsNegative() {
			a.unknown++
			return
		}
		a.spent = a.spent.Add(cost.Decimal)
	})
}

// Release gives all of it back.
func (r *Reservation) Release() { r.Settle(&protocol.Decimal{}) }

type accountKey struct{}

// With returns a context whose runs spend from a.
func With(ctx context.Context, a *Account) context.Context {
	return context.WithValue(ctx, accountKey{}, a)
}

// From returns the account of ctx, nil if there is none.
func From(ctx context.Context) *Account {
	a, _ := ctx.Value(accountKey{}).(*Account)
	return a
}
