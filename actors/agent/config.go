package agent

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"go.uber.org/zap"

	"github.com/skelegent/skelegent-go/actors/engine"
	"github.com/skelegent/skelegent-go/actors/provider"
	"github.com/skelegent/skelegent-go/actors/tool"
	"github.com/skelegent/skelegent-go/protocol"
)

// DefaultMaxTokens is how long an answer may be unless Config says otherwise.
const DefaultMaxTokens = 4096

// Context is what a run and its rules work on; see package engine.
type Context = engine.Context

// Rule fires around what happens in a run; see package engine.
type Rule = engine.Rule

// Config is what an agent is made of. Provider is required.
type Config struct {
	// Name is for logs, and the operator's name where the agent runs outside a node.
	Name     string
	Provider provider.Provider
	// Model is the provider's default if empty.
	Model string
	// System is the system prompt; none if empty.
	System string
	// Tools are offered in this order. Of two with one name the later counts.
	Tools []tool.Tool
	// Registry is used in place of Tools if set: what is added to it or removed counts from the next model call on.
	Registry *tool.Registry
	// ToolFilter says before each model call which tools are offered; all if nil.
	ToolFilter func(c *Context, t tool.Tool) bool
	// Rules fire around everything that happens in a run; see package engine, and package rule for some that are made.
	Rules []Rule
	// Watchers see every change of the conversation. They are shared by all runs.
	Watchers []protocol.ContextWatcher
	// Assemble are run in this order when a run begins, behind the system prompt and before what was said: to load memory, for
	// instance. They are shared by all runs.
	Assemble []engine.Op
	// Output is what the last answer has to be; any text if nil.
	Output *Output
	// Limits are the agent's own; an input's config overrides them.
	Limits Limits
	// Ceiling is what neither Limits nor an input's config can exceed. What is zero or nil in it bounds nothing.
	Ceiling *Limits
	// MaxTokens is the longest answer; DefaultMaxTokens if 0.
	MaxTokens uint32
	// Temperature is the provider's default if nil.
	Temperature *float64
	// MaxResultText is how many bytes of a tool's result the model is shown; tool.DefaultMaxText if 0.
	MaxResultText int
	// MaxParallel is how many calls of one answer run at the same time, of tools that are parallel safe; DefaultMaxParallel if 0,
	// 1 for one after the other.
	MaxParallel int
	// RunSafeCalls makes the calls of an answer that need no approval also where others of it do. Otherwise they wait with them.
	RunSafeCalls bool
	// HandoffTargets are the operators to which a result of a tool may hand off by {"__handoff":true,"target":...}; see
	// tool.HandoffOf. Since what a tool returns may come from anywhere, there are none unless they are named. Tools of
	// tool.Handoff need nothing here.
	HandoffTargets []protocol.OperatorID
	// MaxSchemaAnswers is how often in a run a model is shown the schema of a tool whose input it got wrong, for each tool; 2 if 0,
	// never if negative.
	MaxSchemaAnswers int
	// ToolChoice says whether the model may, must or must not call tools; it decides by itself if nil.
	ToolChoice *protocol.ToolChoice
	// Options are passed to the provider as they are, by its own names.
	Options map[string]json.RawMessage
	// SystemFunc returns the system prompt of a run, in place of System. An input's addendum follows it.
	SystemFunc func(ctx context.Context, in protocol.OperatorInput) (string, error)
	// ResultText and ErrorText are how the model is told what a call came to, in place of the usual ways.
	ResultText func(call protocol.ToolCall, result tool.Result) string
	ErrorText  func(call protocol.ToolCall, err error) string
	// Count is how many tokens messages take; their own estimate if nil. See package tokens.
	Count func(messages []protocol.Message) int
	// NoStream asks the provider for whole answers also where somebody observes the run, so that there are no progress
	// events.
	NoStream bool
	// ApprovalTime is how long a durable run waits for a person to decide on calls that need it; 0 is for ever. Calls on which
	// nobody decided are not made, and the model is told.
	ApprovalTime time.Duration
	// Retry says when a failed model call is made again.
	Retry Retry

	// Now is time.Now if nil. Deadlines of contexts stay those of the time package.
	Now func() time.Time
	// Sleep waits for d, or less and returns an error if ctx ends; if nil, with a timer.
	Sleep func(ctx context.Context, d time.Duration) error
	// Rand returns a number in [0,1) for jitter; if nil, a random one.
	Rand func() float64
	// Logger is silent if nil. No prompts, answers or tool results go to it.
	Logger *zap.Logger
}

// DefaultMaxParallel is how many calls of an answer run at the same time unless Config says otherwise.
const DefaultMaxParallel = 8

// defaultSchemaAnswers is what MaxSchemaAnswers of 0 means.
const defaultSchemaAnswers = 2

func (c Config) withDefaults() Config {
	c.Limits = c.Limits.withDefaults()
	if c.MaxParallel <= 0 {
		c.MaxParallel = DefaultMaxParallel
	}
	if c.MaxSchemaAnswers == 0 {
		c.MaxSchemaAnswers = defaultSchemaAnswers
	}
	c.Retry = c.Retry.withDefaults()
	if c.MaxTokens == 0 {
		c.MaxTokens = DefaultMaxTokens
	}
	if c.Now == nil {
		c.Now = time.Now
	}
	if c.Sleep == nil {
		c.Sleep = sleep
	}
	if c.Rand == nil {
		c.Rand = rand.Float64
	}
	if c.Logger == nil {
		c.Logger = zap.NewNop()
	}
	return c
}

func (c Config) validate() error {
	if c.Provider == nil {
		return errors.New("a provider is required")
	}
	if err := c.Limits.validate("limits"); err != nil {
		return err
	}
	if c.Registry != nil && len(c.Tools) > 0 {
		return errors.New("tools and a registry exclude each other")
	}
	if c.ApprovalTime < 0 {
		return errors.New("approval time must not be negative")
	}
	if c.Ceiling != nil {
		return c.Ceiling.validate("ceiling")
	}
	return nil
}

func (l Limits) validate(name string) error {
	if l.MaxCost != nil && l.MaxCost.IsNegative() {
		return fmt.Errorf("%s: max cost must not be negative", name)
	}
	if l.MaxDuration < 0 {
		return fmt.Errorf("%s: max duration must not be negative", name)
	}
	return nil
}

// Agent is a model that calls tools until it is done or a limit is reached. It is a protocol.Operator, safe for
// concurrent use, and keeps nothing between inputs.
type Agent struct {
	cfg    Config
	tools  *tool.Registry
	log    *zap.Logger
	single bool // one model call and no more
	output *output
}

var _ protocol.Operator = (*Agent)(nil)

// New returns an agent. The error says what in cfg cannot be used; it has the code invalid_input.
func New(cfg Config) (*Agent, error) {
	cfg = cfg.withDefaults()
	if err := cfg.validate(); err != nil {
		return nil, cfg.refuse(err)
	}
	tools, err := cfg.Registry, error(nil)
	if tools == nil {
		if tools, err = tool.NewRegistry(cfg.Tools...); err != nil {
			return nil, cfg.refuse(err)
		}
	}
	a := &Agent{cfg: cfg, tools: tools, log: cfg.Logger.Named("agent")}
	if cfg.Output != nil {
		if a.output, err = newOutput(*cfg.Output); err != nil {
			return nil, cfg.refuse(err)
		}
		if _, taken := tools.Get(a.output.Name); taken && a.output.Mode == OutputTool {
			return nil, cfg.refuse(fmt.Errorf("output: there is a tool with the name %s", a.output.Name))
		}
	}
	if a.bounds(nil, nil).cost != nil && !cfg.priced(cfg.Model) {
		return nil, cfg.refuse(noPrice(cfg.Model))
	}
	return a, nil
}

// SingleShot returns an agent that makes one model call, without tools. An answer that was cut at MaxTokens ends with
// ExitTruncated and one that a filter stopped with safety_stop, as with any agent.
func SingleShot(cfg Config) (*Agent, error) {
	if len(cfg.Tools) > 0 || cfg.Registry != nil {
		return nil, cfg.refuse(errors.New("a single shot has no tools"))
	}
	a, err := New(cfg)
	if err == nil {
		a.single = true
	}
	return a, err
}

func (c Config) refuse(err error) error {
	return protocol.NewError(protocol.CodeInvalidInput, fmt.Sprintf("agent %q: %v", c.Name, err)).Because(err)
}

// Describe returns what the agent asks by default, for the record of its runs.
func (a *Agent) Describe() (model, systemPrompt string) { return a.cfg.Model, a.cfg.System }

// priced reports whether the provider knows, or may know, what calls of model cost.
func (c *Config) priced(model string) bool {
	p, ok := c.Provider.(provider.Pricer)
	return !ok || p.Priced(model)
}

func noPrice(model string) *protocol.Error {
	return protocol.NewError(protocol.CodeInvalidInput, fmt.Sprintf(
		"there is a money limit, but the price of model %q is not known: add it to the provider's prices or remove the limit",
		model))
}
