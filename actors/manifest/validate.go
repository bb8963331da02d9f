package manifest

import (
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	"github.com/skelegent/skelegent-go/actors"
	"github.com/skelegent/skelegent-go/actors/tool"
	"github.com/skelegent/skelegent-go/bus/task"
	"github.com/skelegent/skelegent-go/protocol"
	"github.com/skelegent/skelegent-go/protocol/wire"
)

func oneOf(what, got string, known ...string) error {
	if slices.Contains(known, got) {
		return nil
	}
	return fmt.Errorf("%s %.100q is not one of %s", what, got, strings.Join(known, ", "))
}

// misplaced returns the first key of v, a struct, that is given although it is not for that kind, and for which ones it is. Keys
// that kinds does not name are for all.
func misplaced(v any, kind string, kinds map[string][]string) (key string, instead []string) {
	value := reflect.ValueOf(v)
	for i := range value.NumField() {
		key := value.Type().Field(i).Tag.Get("yaml")
		if instead, ok := kinds[key]; ok && !value.Field(i).IsZero() && !slices.Contains(instead, kind) {
			return key, instead
		}
	}
	return "", nil
}

func isFor(kinds []string) error {
	if len(kinds) == 1 {
		return fmt.Errorf("is for the kind %s", kinds[0])
	}
	return fmt.Errorf("is for the kinds %s", strings.Join(kinds, ", "))
}

// validate checks what the YAML library cannot know. The first error in the order of the names counts.
func (m *Manifest) validate() error {
	if err := m.validateProviders(); err != nil {
		return err
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
		if err := m.validateOperator(name, o); err != nil {
			return m.errorAt(err, "operators", name)
		}
	}
	if err := m.validateNesting(); err != nil {
		return err
	}
	for _, name := range slices.Sorted(maps.Keys(m.Effects)) {
		if err := validateEffect(name, m.Effects[name]); err != nil {
			if name == "" {
				return m.errorAt(err, "effects")
			}
			return m.errorAt(err, "effects", name)
		}
	}
	return nil
}

func (m *Manifest) validateOperator(name string, o Operator) error {
	err := oneOf("kind", o.Kind, kindAgent, kindSingleShot, kindTool, kindExec,
		kindSequential, kindParallel, kindLoop, kindSupervisor, kindSwarm,
		kindChain, kindCoordinator, kindDelegate, kindPortable)
	if err != nil {
		return at(err, "kind")
	}
	if key, kinds := misplaced(o, o.Kind, operatorKeys); key != "" {
		return at(isFor(kinds), key)
	}
	if err := validateHosting(o); err != nil {
		return err
	}
	if o.Kind == kindPortable {
		if o, err = m.portable(name, o); err != nil {
			return err
		}
		m.Operators[name] = o
	}
	switch {
	case o.asks():
		return m.validateModel(o)
	case o.pattern():
		return m.validatePattern(o)
	case o.composed():
		return m.validateComposed(o)
	case o.Kind == kindTool && o.Tool == "":
		return at(errors.New("kind tool needs the name of a tool"), "tool")
	case o.Kind == kindTool:
		return at(oneOf("tool", o.Tool, tool.Builtins()...), "tool")
	case noCommand(o.Command):
		return at(errors.New("kind exec needs a command"), "command")
	}
	return nil
}

// validateHosting checks what every operator may have.
func validateHosting(o Operator) error {
	if o.WhenBusy != "" {
		if err := oneOf("when_busy", o.WhenBusy, string(actors.Enqueue), string(actors.Reject), string(actors.Steer), string(actors.Interrupt)); err != nil {
			return at(err, "when_busy")
		}
	}
	if o.Attempts < 0 {
		return at(errors.New("must not be negative"), "attempts")
	}
	if s := o.Schedule; s != nil {
		if s.Message == "" {
			return at(errors.New("needs a message"), "schedule")
		}
		if err := task.CheckCron(s.Cron); err != nil {
			return at(err, "schedule")
		}
	}
	if o.Concurrency < 0 {
		return at(errors.New("must not be negative"), "concurrency")
	}
	return nil
}

func noCommand(c []string) bool { return len(c) == 0 || c[0] == "" }

func validateEffect(name string, e Effect) error {
	switch {
	case name == "":
		return errors.New("an effect needs a name")
	case protocol.ReservedFamily(name):
		return fmt.Errorf("%q is the name of a built-in kind", name)
	case e.Kind != kindExec:
		return at(oneOf("kind", e.Kind, kindExec), "kind")
	case noCommand(e.Command):
		return at(errors.New("kind exec needs a command"), "command")
	case e.Concurrency < 0:
		return at(errors.New("must not be negative"), "concurrency")
	}
	return nil
}
