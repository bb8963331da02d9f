package manifest

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/skelegent/skelegent-go/actors/agent"
	"github.com/skelegent/skelegent-go/actors/tokens"
	"github.com/skelegent/skelegent-go/protocol"
)

// The bounds of an agent.
const (
	maxReminder = 16 << 10 // bytes: it is sent with each question
	maxParallel = 256
	maxRetries  = 100
)

// Output is what the last answer has to be.
type Output struct {
	Schema     JSON   `yaml:"schema"`
	SchemaFile string `yaml:"schema_file"` // the path of one in JSON
	Mode       string `yaml:"mode"`        // tool_call if empty, or text_json
	MaxRetries *int   `yaml:"max_retries"` // 3 if not given
	Native     bool   `yaml:"native"`      // also tell the provider; of text_json
}

func (o *Output) mode() agent.OutputMode {
	if o.Mode == "" {
		return agent.OutputTool
	}
	return agent.OutputMode(o.Mode)
}

// The strategies of compaction.
const (
	compactWindow    = "sliding_window"
	compactPolicy    = "policy_trim"
	compactBudget    = "token_budget"
	compactSummarize = "summarize"
)

// Compaction is how room is made in conversations that grow too long.
type Compaction struct {
	Strategy string `yaml:"strategy"`
	// Keep is how many messages stay, or for token_budget how many tokens.
	Keep        Count  `yaml:"keep"`
	MaxMessages Count  `yaml:"max_messages"` // there may be before
	Window      Count  `yaml:"window"`       // tokens that the model can hold; if not given, what is known of it
	Reserve     Count  `yaml:"reserve"`      // tokens of it that are kept for the answer
	Model       string `yaml:"model"`        // that summarizes; the operator's own if empty
}

// Rules are what an agent is watched by.
type Rules struct {
	LoopLimit Count  `yaml:"loop_limit"` // of the same call in a row; the last one is not made and ends the run
	WarnLoop  bool   `yaml:"warn_loop"`  // tell the model before
	StepLimit Count  `yaml:"step_limit"` // of tool calls
	Reminder  string `yaml:"reminder"`   // told again with each question but the first
	Telemetry string `yaml:"telemetry"`  // metrics, operations or full
}

// The verbosities of telemetry.
const (
	tellMetrics    = "metrics"
	tellOperations = "operations"
	tellFull       = "full"
)

// validateModel checks what asks a model.
func (m *Manifest) validateModel(o Operator) error {
	if o.Provider == "" {
		return at(fmt.Errorf("kind %s needs a provider", o.Kind), "provider")
	}
	p, ok := m.Providers[o.Provider]
	if !ok {
		return at(fmt.Errorf("there is no provider %.100q", o.Provider), "provider")
	}
	if o.Model == "" && p.Kind == kindRouter && p.Default == nil {
		return at(fmt.Errorf("provider %s has no default, so a model is needed", o.Provider), "model")
	}
	if t := o.Temperature; t != nil && (math.IsNaN(*t) || math.IsInf(*t, 0) || *t < 0) {
		return at(errors.New("must be a number, zero or more"), "temperature")
	}
	if o.MaxParallel > maxParallel {
		return at(fmt.Errorf("is more than %d", maxParallel), "max_parallel")
	}
	return cmp.Or(
		at(validateChoice(o), "tool_choice"), o.Output.validate(), o.Context.validate(), o.validateSkills(), m.validateCompaction(o), o.Rules.validate(o.Kind),
		at(m.validateTools(o), "tools"),
	)
}

func validateChoice(o Operator) error {
	if o.ToolChoice == "" {
		return nil
	}
	if err := oneOf("tool_choice", o.ToolChoice, choices...); err != nil {
		return err
	}
	if o.ToolChoice == string(protocol.ChoiceAny) && len(o.Tools) == 0 && (o.Output == nil || o.Output.mode() != agent.OutputTool) {
		return errors.New("any needs tools")
	}
	return nil
}

var choices = []string{string(protocol.ChoiceAuto), string(protocol.ChoiceAny), string(protocol.ChoiceNone)}

func (o *Output) validate() error {
	if o == nil {
		return nil
	}
	if o.Mode != "" {
		if err := oneOf("mode", o.Mode, string(agent.OutputTool), string(agent.OutputText)); err != nil {
			return at(err, "output", "mode")
		}
	}
	switch {
	case (o.Schema == nil) == (o.SchemaFile == ""):
		return at(errors.New("needs either a schema or a schema_file"), "output")
	case o.MaxRetries != nil && (*o.MaxRetries < 0 || *o.MaxRetries > maxRetries):
		return at(fmt.Errorf("must be 0 to %d", maxRetries), "output", "max_retries")
	case o.Native && o.mode() != agent.OutputText:
		return at(fmt.Errorf("is for the mode %s", agent.OutputText), "output", "native")
	case o.Schema == nil:
		return nil
	}
	return at(checkSchema(o.Schema.raw()), "output", "schema")
}

func (m *Manifest) validateCompaction(o Operator) error {
	c := o.Compaction
	if c == nil {
		return nil
	}
	if err := oneOf("strategy", c.Strategy, compactWindow, compactPolicy, compactBudget, compactSummarize); err != nil {
		return at(err, "compaction", "strategy")
	}
	window, known := m.window(o)
	switch {
	case c.Model != "" && c.Strategy != compactSummarize:
		return at(fmt.Errorf("is for the strategy %s", compactSummarize), "compaction", "model")
	case !known && c.MaxMessages == 0:
		return at(fmt.Errorf("the window of model %.100q is not known, so window or max_messages is needed",
			m.modelOf(o.Provider, o.Model)), "compaction")
	case c.MaxMessages == 1:
		return at(errors.New("must be 2 or more"), "compaction", "max_messages")
	case c.Reserve > 0 && !known:
		return at(errors.New("is a part of the window, which is not known"), "compaction", "reserve")
	case c.Reserve > 0 && int(c.Reserve) >= window:
		return at(fmt.Errorf("must be less than the window of %d tokens", window), "compaction", "reserve")
	case c.Strategy == compactBudget && c.Keep == 0 && !known:
		return at(errors.New("needs the tokens that stay: keep"), "compaction")
	case c.Strategy == compactBudget && known && int(c.Keep) >= window-int(c.Reserve):
		return at(fmt.Errorf("must be less than the window of %d tokens", window-int(c.Reserve)), "compaction", "keep")
	case c.Strategy != compactBudget && c.MaxMessages > 0 && c.Keep >= c.MaxMessages:
		return at(errors.New("must be less than max_messages"), "compaction", "keep")
	}
	return nil
}

// window is how many tokens the model of an operator can hold, false if that is not known.
func (m *Manifest) window(o Operator) (int, bool) {
	if c := o.Compaction; c != nil && c.Window > 0 {
		return int(c.Window), true
	}
	return tokens.Window(m.modelOf(o.Provider, o.Model))
}

func (r *Rules) validate(kind string) error {
	if r == nil {
		return nil
	}
	for _, rule := range []struct {
		key   string
		given bool
	}{
		{"loop_limit", r.LoopLimit > 0}, {"warn_loop", r.WarnLoop}, {"step_limit", r.StepLimit > 0}, {"reminder", r.Reminder != ""},
	} {
		if kind == kindSingleShot && rule.given {
			return at(isFor([]string{kindAgent}), "rules", rule.key)
		}
	}
	const leastLoop, leastWarned = 2, 3
	switch {
	case r.LoopLimit > 0 && r.LoopLimit < leastLoop:
		return at(fmt.Errorf("must be %d or more", leastLoop), "rules", "loop_limit")
	case r.WarnLoop && r.LoopLimit < leastWarned:
		return at(fmt.Errorf("needs a loop_limit of %d or more", leastWarned), "rules", "warn_loop")
	case len(r.Reminder) > maxReminder:
		return at(fmt.Errorf("is longer than %d bytes", maxReminder), "rules", "reminder")
	case r.Telemetry != "" && !slices.Contains(verbosities, r.Telemetry):
		return at(oneOf("telemetry", r.Telemetry, verbosities...), "rules", "telemetry")
	}
	return nil
}

var verbosities = []string{tellMetrics, tellOperations, tellFull}
