package agenttest

import (
	"context"
	"testing"
	"time"

	"github.com/skelegent/skelegent-go/protocol"
)

// Option says something more of a run.
type Option func(*options)

type options struct {
	ctx      context.Context //nolint:containedctx // what WithContext was given, until the run begins
	operator protocol.OperatorID
	run      protocol.RunID
	session  *protocol.SessionID
	budget   *protocol.Decimal
	state    protocol.StateStore
	timeout  time.Duration

	signals  []signal
	children protocol.Dispatcher
	unknown  func(testing.TB, Result)
}

type signal struct {
	kind string
	data any
}

// What a run is called unless an option says otherwise.
const (
	DefaultOperator protocol.OperatorID = "operator"
	DefaultRun      protocol.RunID      = "r1" // of durable runs always
)

func optionsOf(tb testing.TB, opts []Option) options {
	tb.Helper()
	o := options{ctx: tb.Context(), operator: DefaultOperator, run: DefaultRun}
	for _, opt := range opts {
		opt(&o)
	}
	return o
}

// WithContext has the run get what ctx carries and end when it does, in place of the context of the test: for an agent.Inbox, a
// budget.Account, or what tools find by tool.Dep.
func WithContext(ctx context.Context) Option { return func(o *options) { o.ctx = ctx } }

// WithOperator names the operator; DefaultOperator otherwise.
func WithOperator(id protocol.OperatorID) Option { return func(o *options) { o.operator = id } }

// WithRun names the run; DefaultRun otherwise. It is not for durable runs.
func WithRun(id protocol.RunID) Option { return func(o *options) { o.run = id } }

// WithSession makes the input part of a session, which is the run's instance then.
func WithSession(id protocol.SessionID) Option { return func(o *options) { o.session = &id } }

// WithBudget says what the run may spend in USD, a decimal. It panics if usd is none.
func WithBudget(usd string) Option {
	budget := protocol.MustDecimal(usd)
	return func(o *options) { o.budget = &budget }
}

// WithState has the memory effects of the output performed on store, in their order, as the executors of a node do it: the next
// run reads what this one wrote. Links need a store that is a protocol.Graph.
func WithState(store protocol.StateStore) Option { return func(o *options) { o.state = store } }

// WithTimeout says how long the caller waits; the context ends then. It is not for durable runs.
func WithTimeout(d time.Duration) Option { return func(o *options) { o.timeout = d } }

// WithSignal has a durable run sent a signal when it waits for one of that kind, such as approve or deny; data is its body as
// JSON, nil for none. Each is sent once, in the order of the options. A cancel is sent at the first wait, whatever for. Where a
// run waits and none of them fits, its earliest timer fires.
func WithSignal(kind string, data any) Option {
	return func(o *options) { o.signals = append(o.signals, signal{kind, data}) }
}

// WithOperators has the calls of other operators by a durable run answered by d, such as what Operators returns.
func WithOperators(d protocol.Dispatcher) Option { return func(o *options) { o.children = d } }

// WithUnknown has SurvivesKills ask check where the outcome of a step that must not be repeated is not known, since the process
// was killed while it was made: whether the run has dealt with that. Without it the run must come to the same as without a
// kill.
func WithUnknown(check func(tb testing.TB, r Result)) Option {
	return func(o *options) { o.unknown = check }
}
