package compact

import (
	"context"
	"encoding/json"
	"errors"

	"go.uber.org/zap"

	"github.com/skelegent/skelegent-go/actors/engine"
	"github.com/skelegent/skelegent-go/actors/run"
	"github.com/skelegent/skelegent-go/actors/step"
	"github.com/skelegent/skelegent-go/protocol"
)

// keeper keeps conversations short.
type keeper struct{ cfg Config }

// progress is what is known of a run.
type progress struct {
	pressed bool // observers know
	// Of compactions in a row that did not help: how many, and how long the conversation has to be for the next.
	vain           int
	messages, most int
}

// look is the rule.
func (k *keeper) look(ctx context.Context, c *engine.Context) error {
	p, room, used := engine.Local[progress](c, k), k.cfg.space(c), c.Tokens()
	p.press(c, room, used)
	why := k.cfg.due(c, room, used)
	if why == "" && !room.fits(used) {
		why = "the window is full"
	}
	if why == "" || !p.mayTry(c, used) && room.fits(used) {
		return k.check(c, room)
	}
	helped, err := k.try(ctx, c, k.cfg.Strategy, why, room)
	if err != nil {
		return err
	}
	if k.cfg.Fallback != nil && !room.fits(c.Tokens()) {
		if helped, err = k.try(ctx, c, k.cfg.Fallback, why, room); err != nil {
			return err
		}
	}
	p.tried(c, helped)
	p.press(c, room, c.Tokens())
	return k.check(c, room)
}

// check ends the run where there is no room left.
func (k *keeper) check(c *engine.Context, room space) error {
	if room.fits(c.Tokens()) {
		return nil
	}
	return engine.Stop(ExitOverflow)
}

// press tells observers once that the window becomes full, and again when it was less full in between.
func (p *progress) press(c *engine.Context, room space, used int) {
	full := room.known && float64(used) > pressure*float64(room.usable())
	if full && !p.pressed {
		c.EmitCompaction(protocol.ContextPressure{
			Operator: c.Operator(), FillPercent: 100 * float64(used) / float64(room.usable()),
			TokensUsed: uint64(used), TokensAvailable: uint64(room.usable()),
		})
	}
	p.pressed = full
}

// mostVain bounds how much a conversation has to grow after a compaction that did not help: by 2 to the power of it messages.
const mostVain = 6

// mayTry reports whether it makes sense to compact. A conversation that became a quarter larger has something else in it.
func (p *progress) mayTry(c *engine.Context, used int) bool {
	return p.vain == 0 || len(c.Conversation()) >= p.messages || used >= p.most
}

func (p *progress) tried(c *engine.Context, helped bool) {
	if helped {
		p.vain = 0
		return
	}
	p.vain = min(p.vain+1, mostVain)
	p.messages, p.most = len(c.Conversation())+1<<(p.vain-1), c.Tokens()*5/4+1
}

// errDone leaves the place of a compaction that did not fail: what it consists of is recorded, it is not.
var errDone = errors.New("compacted")

// failure is what is recorded of a compaction that failed, so that a replay does not try it again with another outcome.
type failure struct {
	// What model calls within were paid before. A replay does not make them again.
	Cost     protocol.Decimal `json:"cost"`
	Unpriced uint32           `json:"unpriced_calls,omitempty"`
}

// try compacts, and reports whether that helped: there is more room, and where a model was paid for that, enough.
func (k *keeper) try(ctx context.Context, c *engine.Context, s engine.Strategy, why string, room space) (helped bool, err error) {
	before, used, live := c.Metrics(), c.Tokens(), false
	at := step.Next(ctx)
	e, err := at.Run(ctx, step.Spec{Kind: run.StepCode, Name: engine.OpCompact}, func(ctx context.Context) (run.Entry, error) {
		live = true
		err := c.Run(ctx, &engine.Compaction{Strategy: s, Why: why, Flush: k.cfg.Flush})
		switch {
		case err == nil:
			return run.Entry{}, errDone
		case ends(ctx, err):
			return run.Entry{}, err
		}
		k.cfg.Logger.Warn("compaction failed, the run goes on", zap.String("operator", string(c.Operator())),
			zap.String("strategy", s.Name()), zap.String("code", string(protocol.CodeOf(err))))
		now := c.Metrics()
		raw, err := protocol.Marshal(failure{
			protocol.Decimal{Decimal: now.Cost.Sub(before.Cost.Decimal)}, now.UnpricedCalls - before.UnpricedCalls,
		})
		return run.Entry{Result: raw}, err
	})
	switch {
	case errors.Is(err, errDone):
		left := c.Tokens()
		paid := c.Metrics().TokensIn != before.TokensIn || c.Metrics().TokensOut != before.TokensOut
		return left < used && (!paid || k.cfg.due(c, room, left) == ""), nil
	case err != nil || live:
		return false, err
	}
	var f failure
	if err := json.Unmarshal(e.Result, &f); err != nil {
		return false, err
	}
	c.Spend(&f.Cost)
	c.SpendUnpriced(f.Unpriced)
	return false, nil
}

// ends reports whether an error has to be returned: it is one by which a durable run unwinds, time is over, or it ends runs for
// another reason than that a model failed.
func ends(ctx context.Context, err error) bool {
	if step.Unwinding(err) || ctx.Err() != nil {
		return true
	}
	var exit *engine.ExitError
	if !errors.As(err, &exit) {
		return false
	}
	kind := exit.Reason.Kind()
	return kind != protocol.ExitError && kind != protocol.ExitCircuitBreaker
}
