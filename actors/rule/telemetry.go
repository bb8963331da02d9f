package rule

import (
	"context"
	"slices"

	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"

	"github.com/skelegent/skelegent-go/actors/engine"
	"github.com/skelegent/skelegent-go/protocol"
)

// Verbosity is how much Telemetry tells.
type Verbosity uint8

// The verbosities.
const (
	// Operations tells of every op what the run took so far, and how much of that was new.
	Operations Verbosity = iota
	// Metrics tells of what the run took, where that has changed.
	Metrics
	// Full tells also what the op was about and how large the conversation is: sizes and counts, no contents.
	Full
)

// The names of what is logged and observed.
const (
	TelemetryMetrics = "skg.metrics"
	TelemetryOp      = "skg.op"
	TelemetryFull    = "skg.full"
)

// TelemetryConfig says what Telemetry tells and whom. The zero value tells observers of operations.
type TelemetryConfig struct {
	Verbosity Verbosity
	// Level is that of the log; info if zero.
	Level zapcore.Level
	// Logger is silent if nil.
	Logger *zap.Logger
}

// Telemetry tells behind each op what the run took: in the log, and to the observers of the run as an observation named
// TelemetryOp or TelemetryFull, or, with Metrics, as metrics named TelemetryMetrics whose value is what is new and whose tag
// metric says of what. It changes nothing. What a durable run replays is not told again.
func Telemetry(cfg TelemetryConfig) engine.Rule {
	if cfg.Logger == nil {
		cfg.Logger = zap.NewNop()
	}
	t := &telemetry{cfg}
	return engine.AfterAny("telemetry", PriorityTelemetry, engine.OpFunc("telemetry", t.tell))
}

type telemetry struct{ cfg TelemetryConfig }

// amounts are what is measured.
type amounts struct {
	TokensIn  uint64           `json:"tokens_in"`
	TokensOut uint64           `json:"tokens_out"`
	Cost      protocol.Decimal `json:"cost"`
	Turns     uint32           `json:"turns"`
	ToolCalls uint32           `json:"tool_calls"`
}

// report is the value of an observation.
type report struct {
	Op string `json:"op"`
	amounts

	Delta   amounts         `json:"delta"`
	Elapsed protocol.Millis `json:"elapsed_ms"`
	Detail  *detail         `json:"detail,omitempty"`
}

type metric struct {
	Name  string            `json:"name"`
	Value float64           `json:"value"`
	Tags  map[string]string `json:"tags"`
}

type observation struct {
	Key   string `json:"key"`
	Value any    `json:"value"`
}

func (t *telemetry) tell(_ context.Context, c *engine.Context) error {
	last, m := engine.Local[amounts](c, t), c.Metrics()
	now := amounts{m.TokensIn, m.TokensOut, m.Cost, m.Turns, m.ToolCalls}
	delta := now.since(*last)
	*last = now
	if c.Replays() {
		return nil
	}
	r := report{Op: c.Current().Name(), amounts: now, Delta: delta, Elapsed: protocol.MillisOf(c.Elapsed())}
	name := TelemetryOp
	switch t.cfg.Verbosity {
	case Metrics:
		if name = TelemetryMetrics; delta.none() {
			return nil
		}
		delta.each(func(what string, value float64) {
			tags := map[string]string{"metric": what, "operator": string(c.Operator())}
			c.Emit(protocol.EventMetric, metric{TelemetryMetrics, value, tags})
		})
	case Full:
		name, r.Detail = TelemetryFull, detailOf(c)
		c.Emit(protocol.EventObservation, observation{name, r})
	default:
		c.Emit(protocol.EventObservation, observation{name, r})
	}
	if entry := t.cfg.Logger.Check(t.cfg.Level, name); entry != nil {
		entry.Write(r.fields(c)...)
	}
	return nil
}

func (a amounts) since(last amounts) amounts {
	return amounts{
		a.TokensIn - last.TokensIn, a.TokensOut - last.TokensOut,
		protocol.Decimal{Decimal: a.Cost.Sub(last.Cost.Decimal)},
		a.Turns - last.Turns, a.ToolCalls - last.ToolCalls,
	}
}

func (a amounts) none() bool {
	return a.TokensIn == 0 && a.TokensOut == 0 && a.Cost.IsZero() && a.Turns == 0 && a.ToolCalls == 0
}

// each calls f for what is not zero.
func (a amounts) each(f func(what string, value float64)) {
	for _, v := range []struct {
		what  string
		value float64
	}{
		{"tokens_in", float64(a.TokensIn)},
		{"tokens_out", float64(a.TokensOut)},
		{"cost", a.Cost.InexactFloat64()},
		{"turns", float64(a.Turns)},
		{"tool_calls", float64(a.ToolCalls)},
	} {
		if v.value != 0 {
			f(v.what, v.value)
		}
	}
}

func (r report) fields(c *engine.Context) []zap.Field {
	fields := []zap.Field{
		zap.String("operator", string(c.Operator())), zap.String("op", r.Op), zap.Uint64("tokens_in", r.TokensIn),
		zap.Uint64("tokens_out", r.TokensOut), zap.Stringer("cost", r.Cost), zap.Uint32("turns", r.Turns),
		zap.Uint32("tool_calls", r.ToolCalls), zap.Uint64("delta_tokens_in", r.Delta.TokensIn),
		zap.Uint64("delta_tokens_out", r.Delta.TokensOut), zap.Uint32("delta_tool_calls", r.Delta.ToolCalls),
		zap.Duration("dur", c.Elapsed()),
	}
	if r.Detail != nil {
		fields = append(fields, zap.Any("detail", r.Detail))
	}
	return fields
}

// detail is what Full tells beside.
type detail struct {
	Messages int    `json:"messages"`
	Tokens   int    `json:"tokens"` // of all that the model is shown
	Effects  int    `json:"effects"`
	Tool     string `json:"tool,omitempty"`    // unknown if the model made it up
	Input    int    `json:"input,omitempty"`   // bytes
	Result   int    `json:"result,omitempty"`  // bytes
	Failed   bool   `json:"failed,omitempty"`  // the call
	Skipped  bool   `json:"skipped,omitempty"` // the call, or what was said
	Calls    int    `json:"calls,omitempty"`   // that an answer asks for
	Stop     string `json:"stop,omitempty"`    // why the model stopped
	Said     int    `json:"said,omitempty"`    // messages that came meanwhile
	Strategy string `json:"strategy,omitempty"`
}

func detailOf(c *engine.Context) *detail {
	d := &detail{Messages: len(c.Messages()), Tokens: c.Tokens(), Effects: len(c.Effects())}
	switch op := c.Current().(type) {
	case *engine.ToolCall:
		d.Tool, d.Input, d.Result, d.Failed, d.Skipped = "unknown", len(op.Call.Input), len(op.Result), op.IsError, op.Skipped
		if slices.ContainsFunc(c.Params.Tools, func(t protocol.ToolSchema) bool { return t.Name == op.Call.Name }) {
			d.Tool = op.Call.Name
		}
	case *engine.Response:
		d.Calls, d.Stop = len(op.Response.ToolCalls), string(op.Response.StopReason)
	case *engine.Infer:
		d.Calls, d.Stop = len(op.Response.ToolCalls), string(op.Response.StopReason)
	case *engine.Steer:
		d.Said, d.Skipped = len(op.Messages), op.Skip
	case *engine.Compaction:
		d.Strategy = op.Strategy.Name()
	}
	return d
}
