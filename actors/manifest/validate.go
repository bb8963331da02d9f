package manifest

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"math"
	"net/url"
	"regexp"
	"slices"
	"strings"

	"github.com/skelegent/skelegent-go/actors"
	"github.com/skelegent/skelegent-go/actors/tool"
	"github.com/skelegent/skelegent-go/bus/task"
	"github.com/skelegent/skelegent-go/protocol"
	"github.com/skelegent/skelegent-go/protocol/wire"
)

// The kinds of operator.
const (
	kindAgent      = "agent"
	kindSingleShot = "single_shot"
	kindTool       = "tool"
	kindExec       = "exec"
)

// The kinds of provider.
const (
	kindOpenAI   = "openai"
	kindScripted = "scripted"
)

func oneOf(what, got string, known ...string) error {
	if slices.Contains(known, got) {
		return nil
	}
	return fmt.Errorf("%s %.100q is not one of %s", what, got, strings.Join(known, ", "))
}

// validate checks what the YAML library cannot know. The first error in the order of the names counts.
func (m *Manifest) validate() error {
	for _, name := range slices.Sorted(maps.Keys(m.Providers)) {
		if field, err := m.Providers[name].validate(); err != nil {
			return m.errorAt(err, append([]string{"providers", name}, field...)...)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(m.Operators)) {
		if err := wire.CheckOperator(name); err != nil {
			return m.errorAt(err, "operators", name)
		}
		o := m.Operators[name]
		if o.Kind == "" {
			o.Kind = kindAgent
			m.Operators[name] = o
		}
		if field, err := m.validateOperator(o); err != nil {
			return m.errorAt(err, "operators", name, field)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(m.Effects)) {
		if field, err := validateEffect(name, m.Effects[name]); err != nil {
			return m.errorAt(err, "effects", name, field)
		}
	}
	return nil
}

// envPattern is what can be the name of a variable. It keeps out keys that were put there by mistake: the name is in errors.
var envPattern = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)

func (p Provider) validate() (field []string, err error) {
	if err := oneOf("kind", p.Kind, kindOpenAI, kindScripted); err != nil {
		return []string{"kind"}, err
	}
	switch {
	case p.Kind == kindScripted && p.Script == "":
		return []string{"script"}, errors.New("a scripted provider needs the path of its script")
	case p.Kind != kindScripted && p.Script != "":
		return []string{"script"}, errors.New("is for the kind scripted")
	case p.Kind == kindScripted && (p.APIKey != nil || p.BaseURL != "" || p.Prices != nil):
		return []string{"kind"}, errors.New("a scripted provider has no base_url, api_key or prices")
	case p.APIKey != nil && (p.APIKey.Env == "") == (p.APIKey.File == ""):
		return []string{"api_key"}, errors.New(secretForms)
	case p.APIKey != nil && p.APIKey.Env != "" && !envPattern.MatchString(p.APIKey.Env):
		return []string{"api_key", "env"}, errors.New("must be the name of an environment variable")
	}
	if u, err := url.Parse(p.BaseURL); p.BaseURL != "" && (err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https") {
		return []string{"base_url"}, errors.New("must be an http or https address")
	}
	for _, model := range slices.Sorted(maps.Keys(p.Prices)) {
		if price := p.Prices[model]; price.Input == nil || price.Output == nil {
			return []string{"prices", model}, errors.New(`needs input and output; what costs nothing costs "0"`)
		}
	}
	return nil, nil
}

func (m *Manifest) validateOperator(o Operator) (field string, err error) {
	if err := oneOf("kind", o.Kind, kindAgent, kindSingleShot, kindTool, kindExec); err != nil {
		return "kind", err
	}
	if o.WhenBusy != "" {
		if err := oneOf("when_busy", o.WhenBusy, string(actors.Enqueue), string(actors.Reject), string(actors.Steer), string(actors.Interrupt)); err != nil {
			return "when_busy", err
		}
	}
	if o.Attempts < 0 {
		return "attempts", errors.New("must not be negative")
	}
	if s := o.Schedule; s != nil {
		if s.Message == "" {
			return "schedule", errors.New("needs a message")
		}
		if err := task.CheckCron(s.Cron); err != nil {
			return "schedule", err
		}
	}
	if o.Concurrency < 0 {
		return "concurrency", errors.New("must not be negative")
	}
	model := o.Kind == kindAgent || o.Kind == kindSingleShot
	switch {
	case model && o.Provider == "":
		return "provider", fmt.Errorf("kind %s needs a provider", o.Kind)
	case !model && o.ofModel():
		return "kind", fmt.Errorf("kind %s takes no provider, model, system, limits, ceiling, max_tokens or temperature", o.Kind)
	case o.Kind != kindAgent && len(o.Tools) > 0:
		return "tools", fmt.Errorf("kind %s has no tools", o.Kind)
	case o.Kind == kindTool && o.Tool == "":
		return "tool", errors.New("kind tool needs the name of a tool")
	case o.Kind != kindTool && o.Tool != "":
		return "tool", errors.New("is for the kind tool; an agent has tools")
	case o.Kind == kindExec && noCommand(o.Command):
		return "command", errors.New("kind exec needs a command")
	case o.Kind != kindExec && len(o.Command) > 0:
		return "command", errors.New("is for the kind exec")
	}
	if _, ok := m.Providers[o.Provider]; model && !ok {
		return "provider", fmt.Errorf("there is no provider %.100q", o.Provider)
	}
	if o.Tool != "" {
		if err := oneOf("tool", o.Tool, tool.Builtins()...); err != nil {
			return "tool", err
		}
	}
	if t := o.Temperature; t != nil && (math.IsNaN(*t) || math.IsInf(*t, 0) || *t < 0) {
		return "temperature", errors.New("must be a number, zero or more")
	}
	return "tools", m.validateTools(o.Tools)
}

// ofModel reports whether something is set that is for a model.
func (o Operator) ofModel() bool {
	return o.Provider != "" || o.Model != "" || o.System != "" || o.Limits != nil || o.Ceiling != nil || o.MaxTokens != 0 || o.Temperature != nil
}

func noCommand(c []string) bool { return len(c) == 0 || c[0] == "" }

func (m *Manifest) validateTools(tools []Tool) error {
	seen := map[string]bool{}
	for _, t := range tools {
		err := m.validateTool(t)
		name := cmp.Or(t.As, t.name, t.Tool, t.Operator)
		if err == nil {
			err = tool.CheckName(name)
		}
		if err == nil && seen[name] {
			err = fmt.Errorf("there are two tools %q; give one of them another name with as", name)
		}
		if err != nil {
			return &lineError{err, t.line}
		}
		seen[name] = true
	}
	return nil
}

func (m *Manifest) validateTool(t Tool) error {
	switch {
	case t.name != "":
		if _, ok := m.Operators[t.name]; !ok && !slices.Contains(tool.Builtins(), t.name) {
			return fmt.Errorf("there is no tool %.100q: built in are %s; an operator of another node is {operator: ID}",
				t.name, strings.Join(tool.Builtins(), ", "))
		}
		return nil
	case (t.Tool == "") == (t.Operator == ""):
		return errors.New("an entry is a name, or names either a tool or an operator")
	case t.Operator != "":
		return wire.CheckOperator(t.Operator)
	case t.Description != "":
		return errors.New("a tool has its own description")
	}
	return oneOf("tool", t.Tool, tool.Builtins()...)
}

func validateEffect(name string, e Effect) (field string, err error) {
	switch {
	case name == "":
		return "", errors.New("an effect needs a name")
	case protocol.ReservedFamily(name):
		return "", fmt.Errorf("%q is the name of a built-in kind", name)
	case e.Kind != kindExec:
		return "kind", oneOf("kind", e.Kind, kindExec)
	case noCommand(e.Command):
		return "command", errors.New("kind exec needs a command")
	case e.Concurrency < 0:
		return "concurrency", errors.New("must not be negative")
	}
	return "", nil
}
