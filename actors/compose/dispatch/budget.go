package dispatch

import (
	"context"
	"fmt"
	"sync"

	"github.com/skelegent/skelegent-go/actors/budget"
	"github.com/skelegent/skelegent-go/actors/compose"
	"github.com/skelegent/skelegent-go/actors/step"
	"github.com/skelegent/skelegent-go/protocol"
)

// BudgetHook is a hook that takes cost from guard before each call and gives it back when the call is over, however it
// ends. Where there is not as much the dispatch is terminated. Where the guard cannot tell, the error is of kind
// compose.KindBudgetFailed.
//
// It knows what it holds for which call, so it never gives back what it did not take, nor what another dispatch still
// holds.
func BudgetHook(guard budget.Guard, cost uint64) Hook {
	return &budgetHook{guard: guard, cost: cost, held: map[*pass]int{}}
}

type budgetHook struct {
	NopHook

	guard budget.Guard
	cost  uint64

	mu   sync.Mutex
	held map[*pass]int // by call; nil for those of who calls the hook by himself
}

// Before implements Hook.
func (b *budgetHook) Before(ctx context.Context, call protocol.ToolCall) (Decision, error) {
	p, again := passFrom(ctx), Replays(ctx)
	ok, err := b.guard.TryReserve(ctx, b.cost)
	switch {
	case err != nil && step.Unwinding(err):
		return Decision{}, err
	case (err != nil || !ok) && again: // it may have been made; the run must not end otherwise than it did
		return Continue(), nil
	case err != nil:
		return Decision{}, compose.ErrBudgetFailed(textOf(err)).Because(err)
	case !ok:
		return Terminate(fmt.Sprintf("budget denied `%s` at cost %d", shown(call.Name), b.cost)), nil
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.held[p]++
	return Continue(), nil
}

// After implements Hook.
func (b *budgetHook) After(ctx context.Context, _ Result, _ Outcome) error {
	b.release(passFrom(ctx))
	return nil
}

// OnError implements Hook.
func (b *budgetHook) OnError(ctx context.Context, _ protocol.ToolCall, _ error) error {
	b.release(passFrom(ctx))
	return nil
}

// release gives back what is held for one call, if anything is.
func (b *budgetHook) release(p *pass) {
	b.mu.Lock()
	holds := b.held[p] > 0
	if holds {
		if b.held[p]--; b.held[p] == 0 {
			delete(b.held, p)
		}
	}
	b.mu.Unlock()
	if holds {
		b.guard.Release(b.cost)
	}
}
