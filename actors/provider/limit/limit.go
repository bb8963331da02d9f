package limit

import (
	"context"
	"errors"
	"maps"
	"time"

	"go.uber.org/zap"

	"github.com/skelegent/skelegent-go/actors/provider"
	"github.com/skelegent/skelegent-go/actors/provider/middleware"
	"github.com/skelegent/skelegent-go/actors/tokens"
	"github.com/skelegent/skelegent-go/protocol"
)

// Defaults of Config.
const (
	DefaultMaxWaiting = 1000
	DefaultMaxPause   = 2 * time.Minute
	DefaultPause      = time.Second
	DefaultMaxOutput  = 4096
)

// Config says what is limited. The zero Config limits nothing, but pauses a model when the provider refuses a call.
type Config struct {
	// Default is for the models that Models does not name, each by itself.
	Default Limits
	// Models are the limits of certain models, by the names that requests give.
	Models map[string]Limits
	// Model is the name under which requests count that name none.
	Model string
	// MaxWaiting is how many calls of a model may wait; DefaultMaxWaiting if 0, none if negative.
	MaxWaiting int
	// MaxPause is the longest pause that a provider can ask for; DefaultMaxPause if 0.
	MaxPause time.Duration
	// Pause is how long a model pauses when the provider refuses a call and does not say for how long; DefaultPause if 0.
	Pause time.Duration
	// MaxOutput is how many tokens are reserved for an answer that the request does not bound; DefaultMaxOutput if 0.
	MaxOutput int
	// Counter counts the input before a call; tokens.Estimate if nil.
	Counter tokens.Counter
	// Limiter takes the place of one for this provider alone; then Default, Models, MaxWaiting, MaxPause and Pause are
	// that one's own.
	Limiter Limiter
	// Logger is silent if nil.
	Logger *zap.Logger
}

func (c Config) withDefaults() Config {
	c.Models = maps.Clone(c.Models)
	if c.MaxWaiting == 0 {
		c.MaxWaiting = DefaultMaxWaiting
	}
	if c.MaxPause <= 0 {
		c.MaxPause = DefaultMaxPause
	}
	if c.Pause <= 0 {
		c.Pause = DefaultPause
	}
	if c.MaxOutput <= 0 {
		c.MaxOutput = DefaultMaxOutput
	}
	if c.Counter == nil {
		c.Counter = tokens.Estimate{}
	}
	if c.Logger == nil {
		c.Logger = zap.NewNop()
	}
	return c
}

func (c Config) limits(model string) Limits {
	if l, ok := c.Models[model]; ok {
		return l
	}
	return c.Default
}

// New returns p with its calls limited. All who use what it returns share the limits. It is a Pricer and a Quoter if p is.
func New(p provider.Provider, cfg Config) provider.Provider {
	cfg = cfg.withDefaults()
	if cfg.Limiter == nil {
		cfg.Limiter = NewLocal(cfg)
	}
	return middleware.NewStack().Transform(gate{cfg}).Build().Wrap(p)
}

// gate lets calls wait for the limiter.
type gate struct{ cfg Config }

// Infer implements middleware.Infer.
func (g gate) Infer(
	ctx context.Context, req protocol.InferRequest, sink func(protocol.StreamEvent), next middleware.Next,
) (protocol.InferResponse, error) {
	model := req.Model
	if model == "" {
		model = g.cfg.Model
	}
	release, err := g.cfg.Limiter.Acquire(ctx, model, g.reserve(req))
	if err != nil {
		return protocol.InferResponse{}, err
	}
	var used Usage // stays so if next panics
	defer func() { release(used) }()
	resp, err := next(ctx, req, sink)
	used = usageOf(resp, err)
	return resp, err
}

// reserve is how many tokens a call may take.
func (g gate) reserve(req protocol.InferRequest) int {
	output := g.cfg.MaxOutput
	if req.MaxTokens != nil {
		output = int(*req.MaxTokens)
	}
	return clamp(g.cfg.Counter.Count(req)) + output
}

func usageOf(resp protocol.InferResponse, err error) Usage {
	if err == nil {
		in, out := min(resp.Usage.InputTokens, maxTokens), min(resp.Usage.OutputTokens, maxTokens)
		return Usage{Tokens: int(in + out), Counted: in+out > 0} // servers that do not count say 0
	}
	e := protocol.AsError(err)
	switch e.Kind {
	case protocol.KindProviderRateLimited: // a quota that is used up is not retryable, and no wait helps
		ours := errors.Is(err, ErrQueueFull) || errors.Is(err, ErrTooLate)
		return Usage{Counted: true, Refused: e.Retryable && !ours, RetryAfter: e.RetryAfter}
	case protocol.KindProviderInvalidRequest, protocol.KindProviderAuthFailed: // the model did not see it
		return Usage{Counted: true}
	default:
		return Usage{}
	}
}

// maxName is as much of a model's name as is logged; names come from inputs.
const maxName = 128

func name(model string) string { return model[:min(len(model), maxName)] }
