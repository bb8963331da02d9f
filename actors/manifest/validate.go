package manifest

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

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
	return fmt.Errorf("%s %q is not one of %s", what, got, strings.Join(known, ", "))
}

// validate checks what the YAML library cannot know. The first error in the order of the names counts.
func (m *Manifest) validate() error {
	for _, name := range slices.Sorted(maps.Keys(m.Providers)) {
		if field, err := m.Providers[name].validate(); err != nil {
			return m.errorAt(err, "providers", name, field)
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

func (p Provider) validate() (field string, err error) {
	if err := oneOf("kind", p.Kind, kindOpenAI, kindScripted); err != nil {
		return "kind", err
	}
	switch {
	case p.Kind == kindScripted && p.Script == "":
		return "script", errors.New("a scripted provider needs the path of its script")
	case p.Kind != kindScripted && p.Script != "":
		return "script", errors.New("is for the kind scripted")
	case p.Kind == kindScripted && (p.APIKey != nil || p.BaseURL != ""):
		return "kind", errors.New("a scripted provider has no base_url and no api_key")
	case p.APIKey != nil && (p.APIKey.Env == "") == (p.APIKey.File == ""):
		return "api_key", errors.New("must be {env: NAME} or {file: PATH}")
	}
	return "", nil
}

func (m *Manifest) validateOperator(o Operator) (field string, err error) {
	if err := oneOf("kind", o.Kind, kindAgent, kindSingleShot, kindTool, kindExec); err != nil {
		return "kind", err
	}
	if o.Durable {
		return "durable", errors.New("this version runs operators without a log only; leave durable out")
	}
	if o.Concurrency < 0 {
		return "concurrency", errors.New("must not be negative")
	}
	model := o.Kind == kindAgent || o.Kind == kindSingleShot
	switch {
	case model && o.Provider == "":
		return "provider", fmt.Errorf("kind %s needs a provider", o.Kind)
	case !model && (o.Provider != "" || o.Model != "" || o.System != "" || o.Limits != nil || o.Ceiling != nil):
		return "kind", fmt.Errorf("kind %s takes no provider, model, system, limits or ceiling", o.Kind)
	case o.Kind != kindAgent && len(o.Tools) > 0:
		return "tools", fmt.Errorf("kind %s has no tools", o.Kind)
	case o.Kind == kindTool && o.Tool == "":
		return "tool", errors.New("kind tool needs the name of a tool")
	case o.Kind != kindTool && o.Tool != "":
		return "tool", errors.New("is for the kind tool; an agent has tools")
	case o.Kind == kindExec && len(o.Command) == 0:
		return "command", errors.New("kind exec needs a command")
	case o.Kind != kindExec && len(o.Command) > 0:
		return "command", errors.New("is for the kind exec")
	}
	if _, ok := m.Providers[o.Provider]; model && !ok {
		return "provider", fmt.Errorf("there is no provider %q", o.Provider)
	}
	for _, t := range o.Tools {
		if err := t.validate(); err != nil {
			return "tools", err
		}
	}
	for name, l := range map[string]*Limits{"limits": o.Limits, "ceiling": o.Ceiling} {
		if l != nil && l.MaxCost != nil && l.MaxCost.IsNegative() {
			return name, errors.New("max_cost must not be negative")
		}
	}
	return "", nil
}

func (t Tool) validate() error {
	switch {
	case t.name != "":
		return nil
	case (t.Tool == "") == (t.Operator == ""):
		return errors.New("an entry is a name, or names either a tool or an operator")
	case t.Operator != "":
		return wire.CheckOperator(t.Operator)
	case t.Description != "":
		return errors.New("a tool has its own description")
	}
	return nil
}

func validateEffect(name string, e Effect) (field string, err error) {
	switch {
	case protocol.ReservedFamily(name):
		return "", fmt.Errorf("%q is the name of a built-in kind", name)
	case e.Kind != kindExec:
		return "kind", oneOf("kind", e.Kind, kindExec)
	case len(e.Command) == 0:
		return "command", errors.New("kind exec needs a command")
	case e.Concurrency < 0:
		return "concurrency", errors.New("must not be negative")
	}
	return "", nil
}
