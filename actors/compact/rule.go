package compact

import (
	"cmp"

	"go.uber.org/zap"

	"github.com/skelegent/skelegent-go/actors/engine"
	"github.com/skelegent/skelegent-go/actors/tokens"
	"github.com/skelegent/skelegent-go/protocol"
)

// Priority is that of the rule: behind the limits, before telemetry.
const Priority = 50

// DefaultFill is the part of the usable window at which Rule compacts.
const DefaultFill = 0.9

// pressure is the part of the usable window from which on observers are told.
const pressure = 0.8

// ExitOverflow is how a run ends whose conversation does not fit into the window of the model, whatever was tried.
var ExitOverflow = protocol.CustomExit("context_overflow")

// Config says when Rule compacts, and how. Whichever of Messages, Fill and When holds is enough. The zero value compacts with Tiered
// when the window of a known model is nearly full.
type Config struct {
	// Strategy is Tiered(0) if nil.
	Strategy engine.Strategy
	// Fallback is tried where Strategy fails, or does not help, and the conversation does not fit into the window; nil for none.
	Fallback engine.Strategy
	// Flush saves what must survive, before. If it fails, nothing is compacted.
	Flush engine.Op
	// Messages is how many messages there may be, without the system prompt; 0 is any number.
	Messages int
	// Fill is how full the usable window may be, 0 to 1; DefaultFill if 0, negative to not look at that.
	Fill float64
	// When, if not nil, is a condition of its own. It must follow from the Context.
	When func(c *engine.Context) bool
	// Window is how many tokens the model can hold, its answer included. If 0, WindowOf says it by the name of the model, false if
	// it does not know; if that is nil, tokens.Window does. Without a window neither Fill nor ExitOverflow apply.
	Window   int
	WindowOf func(model string) (int, bool)
	// Reserve is how much of the window is kept free for the answer, in tokens; if 0, a tenth of it or the longest answer,
	// whichever is more, but not more than half.
	Reserve int
	// Priority is that of the rule; Priority if 0.
	Priority int
	// Logger is silent if nil. A compaction that fails is a warning.
	Logger *zap.Logger
}

func (cfg Config) withDefaults() Config {
	if cfg.Strategy == nil {
		cfg.Strategy = Tiered(0)
	}
	if cfg.WindowOf == nil {
		cfg.WindowOf = tokens.Window
	}
	if cfg.Logger == nil {
		cfg.Logger = zap.NewNop()
	}
	cfg.Fill, cfg.Priority = cmp.Or(cfg.Fill, DefaultFill), cmp.Or(cfg.Priority, Priority)
	return cfg
}

// Rule compacts before a model call where cfg says so. Observers are told when the usable window is more than 80 % full, and of each
// compaction.
//
// Where a compaction fails, the run goes on with the conversation as it is, unless the error ends runs, as engine.Halt does. A
// conversation that does not fit into the window, after all that was tried, ends the run as ExitOverflow. One that failed or did not
// help is not tried again before the conversation has grown, each time by more, or does not fit any more.
func Rule(cfg Config) []engine.Rule {
	k := &keeper{cfg.withDefaults()}
	return []engine.Rule{engine.Before(engine.OpInfer, "compaction", k.cfg.Priority, engine.OpFunc("compaction", k.look))}
}

// When compacts before a model call where holds is true; see Rule.
func When(holds func(c *engine.Context) bool, s engine.Strategy) []engine.Rule {
	return Rule(Config{Strategy: s, When: holds, Fill: -1})
}

// space is how much room a conversation has, in tokens.
type space struct {
	window, reserve, answer int
	known                   bool
}

func (cfg Config) space(c *engine.Context) space {
	s := space{window: cfg.Window, known: true}
	if s.window <= 0 {
		s.window, s.known = cfg.WindowOf(c.Params.Model)
	}
	if !s.known || s.window <= 0 {
		return space{}
	}
	s.reserve = cfg.Reserve
	if s.reserve <= 0 {
		s.reserve = min(max(int(c.Params.MaxTokens), s.window/10, 1), s.window/2)
	}
	s.answer = s.reserve
	if longest := int(c.Params.MaxTokens); longest > 0 {
		s.answer = min(longest, s.reserve)
	}
	return s
}

// usable is what is not kept for the answer.
func (s space) usable() int { return s.window - s.reserve }

// fits reports whether a model can be asked with so many tokens and answer.
func (s space) fits(tokens int) bool { return !s.known || tokens+s.answer <= s.window }

// due returns why the conversation is to be compacted, empty if it is not.
func (cfg Config) due(c *engine.Context, s space, tokens int) string {
	switch {
	case cfg.Messages > 0 && len(c.Conversation()) > cfg.Messages:
		return "more messages than allowed"
	case s.known && cfg.Fill > 0 && float64(tokens) > cfg.Fill*float64(s.usable()):
		return "the window is nearly full"
	case cfg.When != nil && cfg.When(c):
		return "on condition"
	}
	return ""
}
