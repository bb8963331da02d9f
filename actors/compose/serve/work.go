package serve

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/shopspring/decimal"

	"github.com/skelegent/skelegent-go/actors/compose"
	"github.com/skelegent/skelegent-go/actors/step"
	"github.com/skelegent/skelegent-go/actors/tool"
	"github.com/skelegent/skelegent-go/protocol"
)

// maxRecords bounds the sub-dispatches that an output tells of.
const maxRecords = 1000

// work is one execution: what its calls took and declared so far.
type work struct {
	run   tool.Run
	limit *protocol.Decimal // what all of it may cost; nil is no limit
	info  step.Info         // of a durable run
	log   bool
	whole bool // what came of calls may be in the log without their being asked for again

	mu       sync.Mutex
	calls    int
	most     int
	reserved decimal.Decimal // of the limit, by calls under way that may spend
	meta     protocol.OperatorMetadata
	effects  protocol.Effects
}

func newWork(ctx context.Context, in protocol.OperatorInput, most int) *work {
	w := &work{run: tool.Run{Session: in.Session}, most: most}
	w.info, w.log = step.InfoFrom(ctx)
	if in.Config != nil {
		w.limit = in.Config.MaxCost
	}
	if budget := protocol.NextCall(ctx).Budget; !w.log && (w.limit == nil || budget != nil && budget.LessThan(w.limit.Decimal)) {
		w.limit = budget
	}
	return w
}

// call is a compose.Caller.
func (w *work) call(ctx context.Context, t tool.Tool, call protocol.ToolCall) (tool.Result, error) {
	n, declared, err := w.begin()
	if err != nil {
		return tool.Result{}, err
	}
	left, release := w.left(), func() {}
	if tool.Spends(t) {
		left, release = w.reserve(nil)
	}
	defer release()
	if call.ID == "" {
		call.ID = callID(ctx, n)
	}
	if left != nil {
		next := protocol.NextCall(ctx)
		next.Budget = left
		ctx = protocol.WithCall(ctx, next)
	}
	run := w.run
	run.Declared = declared
	start := time.Now()
	res, err := compose.DefaultCaller(tool.WithRun(ctx, run), t, call)
	w.end(call.Name, res, err == nil, time.Since(start))
	return res, err
}

// begin counts a call.
func (w *work) begin() (n int, declared protocol.Effects, err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.calls >= w.most {
		return 0, nil, protocol.NewError(protocol.CodeQuotaExceeded, fmt.Sprintf("more than %d calls of tools", w.most))
	}
	w.calls++
	return w.calls, w.effects[:len(w.effects):len(w.effects)], nil
}

// reserve sets aside what a call may cost: at most what is left, such that those beside it cannot spend it, too. It is given
// back behind end.
func (w *work) reserve(at *protocol.Decimal) (granted *protocol.Decimal, release func()) {
	w.mu.Lock()
	defer w.mu.Unlock()
	granted = w.rest()
	if granted == nil || at != nil && at.LessThan(granted.Decimal) {
		granted = at
	}
	if granted == nil {
		return nil, func() {}
	}
	amount := granted.Decimal
	w.reserved = w.reserved.Add(amount)
	return granted, func() {
		w.mu.Lock()
		defer w.mu.Unlock()
		w.reserved = w.reserved.Sub(amount)
	}
}

// left is what may be spent now; nil is no limit.
func (w *work) left() *protocol.Decimal {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.rest()
}

func (w *work) rest() *protocol.Decimal {
	left := w.limit
	if left != nil {
		left = &protocol.Decimal{Decimal: decimal.Max(left.Sub(w.spent()).Sub(w.reserved), decimal.Zero)}
	}
	if w.log {
		if of := w.info.Left(); left == nil || of != nil && of.LessThan(left.Decimal) {
			left = of
		}
	}
	return left
}

// spent is what all calls cost.
func (w *work) spent() decimal.Decimal {
	if w.log && w.whole && w.info.Spent != nil {
		return decimal.Max(w.meta.Cost.Decimal, w.info.Spent().Decimal)
	}
	return w.meta.Cost.Decimal
}

func (w *work) end(name string, res tool.Result, ok bool, took time.Duration) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if res.Cost != nil {
		w.meta.Cost = protocol.Decimal{Decimal: w.meta.Cost.Add(res.Cost.Decimal)}
	}
	w.meta.UnpricedCalls += res.UnpricedCalls
	w.effects = append(w.effects, res.Effects...)
	if len(w.meta.SubDispatches) < maxRecords {
		w.meta.SubDispatches = append(w.meta.SubDispatches,
			protocol.SubDispatchRecord{Name: name, Duration: protocol.MillisOf(took), Success: ok})
	}
}

// output is the result with what all the calls took.
func (w *work) output(res tool.Result, took time.Duration) protocol.OperatorOutput {
	w.mu.Lock()
	defer w.mu.Unlock()
	out := protocol.Reply(string(res.Output))
	out.Metadata, out.Effects = w.meta, res.Effects
	out.Metadata.Duration = protocol.MillisOf(took)
	return out
}
