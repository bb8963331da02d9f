package manifest

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/skelegent/skelegent-go/actors/agent"
	"github.com/skelegent/skelegent-go/actors/tool"
	"github.com/skelegent/skelegent-go/protocol"
	"github.com/skelegent/skelegent-go/protocol/wire"
)

// The bounds of tools.
const (
	maxTools  = 128                 // what providers take
	maxResult = tool.DefaultMaxText // an agent shows no more of any
)

// Tool is a tool of an agent: a name, or more about one. One of the keys tool, operator, remote, delegate, handoff and
// exec says what it is; effect alone is a tool that declares an effect.
type Tool struct {
	Tool     string   `yaml:"tool"`     // a built-in one
	Operator string   `yaml:"operator"` // an operator of any node
	Handoff  string   `yaml:"handoff"`  // the operator that goes on instead
	Exec     []string `yaml:"exec"`     // a program
	Remote   string   `yaml:"remote"`   // an operator of any node that is a tool: its input and its result are the model's
	Delegate string   `yaml:"delegate"` // an operator of any node that takes an object of JSON

	As          string    `yaml:"as"`
	Description string    `yaml:"description"`
	InputSchema JSON      `yaml:"input_schema"` // any object if not given
	Timeout     *Duration `yaml:"timeout"`      // of a call of the program; a minute if not given
	Env         []string  `yaml:"env"`          // names of variables of the node that the program gets
	Repeatable  bool      `yaml:"repeatable"`   // the program may be run again when it is not known whether it was

	Approval  bool   `yaml:"approval"`   // a person must allow each call
	Parallel  bool   `yaml:"parallel"`   // calls may run beside others
	Effect    string `yaml:"effect"`     // declare a custom effect of that type instead
	MaxResult Count  `yaml:"max_result"` // bytes that the model is shown

	name string // the short form: a built-in tool, or an operator of the manifest
	line int
}

// The forms of an entry.
const (
	formTool     = "tool"
	formOperator = "operator"
	formHandoff  = "handoff"
	formExec     = "exec"
	formRemote   = "remote"
	formDelegate = "delegate"
	formEffect   = "effect"
)

// toolKeys are the keys that not all forms have.
var toolKeys = map[string][]string{
	"description":  {formOperator, formHandoff, formExec, formRemote, formDelegate, formEffect},
	"input_schema": {formExec, formRemote, formDelegate, formEffect},
	"timeout":      {formExec},
	"env":          {formExec},
	"repeatable":   {formExec},
	"parallel":     {formTool, formOperator, formExec, formRemote, formDelegate, formEffect}, // a handoff ends the run
	"effect":       {formTool, formOperator, formEffect},                                     // the program would not run
	"max_result":   {formTool, formOperator, formExec, formRemote, formDelegate},
}

// UnmarshalYAML reads a name or a mapping, strictly.
func (t *Tool) UnmarshalYAML(n *yaml.Node) error {
	t.line = n.Line
	switch n.Kind {
	case yaml.ScalarNode:
		t.name = n.Value
		return nil
	case yaml.MappingNode:
		type plain Tool
		return decodeMapping(n, (*plain)(t), "tool", "operator", "handoff", "exec", "remote", "delegate", "as", "description", "input_schema",
			"timeout", "env", "repeatable", "approval", "parallel", "effect", "max_result")
	default:
		return errorOf(n, "a tool must be a name, {tool: NAME} or {operator: ID}")
	}
}

// form is what the entry is; empty if it is nothing, or two at once.
func (t Tool) form() string {
	var forms []string
	for form, given := range map[string]bool{
		formTool: t.Tool != "", formOperator: t.Operator != "", formHandoff: t.Handoff != "", formExec: t.Exec != nil,
		formRemote: t.Remote != "", formDelegate: t.Delegate != "",
	} {
		if given {
			forms = append(forms, form)
		}
	}
	switch {
	case len(forms) == 1:
		return forms[0]
	case len(forms) == 0 && t.Effect != "":
		return formEffect
	}
	return ""
}

// shown is the name that the model knows the tool by.
func (t Tool) shown() string {
	if t.Handoff != "" && t.As == "" {
		return tool.Handoff(protocol.OperatorID(t.Handoff), "").Metadata().Name
	}
	return cmp.Or(t.As, t.name, t.Tool, t.Operator, t.Remote, t.Delegate)
}

func (m *Manifest) validateTools(o Operator) error {
	if len(o.Tools) > maxTools {
		return fmt.Errorf("more than %d tools", maxTools)
	}
	seen := map[string]bool{}
	if o.Output != nil && o.Output.mode() == agent.OutputTool {
		seen[agent.DefaultOutputTool] = true
	}
	for _, t := range o.Tools {
		err := m.validateTool(t)
		name := t.shown()
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
	if t.name != "" {
		if _, ok := m.Operators[t.name]; !ok && !slices.Contains(tool.Builtins(), t.name) {
			return fmt.Errorf("there is no tool %.100q: built in are %s; an operator of another node is {operator: ID}",
				t.name, strings.Join(tool.Builtins(), ", "))
		}
		return nil
	}
	form := t.form()
	if form == "" {
		return errors.New("an entry is a name, or has one of tool, operator, remote, delegate, handoff and exec, or an effect alone")
	}
	if key, forms := misplaced(t, form, toolKeys); key != "" {
		return fmt.Errorf("%s is not for an entry with %s, but with %s", key, form, strings.Join(forms, ", "))
	}
	if t.Effect != "" && protocol.ReservedFamily(t.Effect) {
		return fmt.Errorf("effect %q is the name of a built-in kind", t.Effect)
	}
	if t.MaxResult > maxResult {
		return fmt.Errorf("max_result is more than %d bytes", maxResult)
	}
	switch form {
	case formTool:
		return oneOf("tool", t.Tool, tool.Builtins()...)
	case formOperator:
		return wire.CheckOperator(t.Operator)
	case formHandoff:
		return wire.CheckOperator(t.Handoff)
	case formRemote, formDelegate:
		return t.checkRemote()
	case formExec:
		if noCommand(t.Exec) {
			return errors.New("exec needs a command")
		}
	}
	return t.validateOwn(form)
}

// validateOwn checks a tool that is described by the manifest alone.
func (t Tool) validateOwn(form string) error {
	if t.As == "" {
		return fmt.Errorf("%s needs a name: as", form)
	}
	for _, name := range t.Env {
		if !envPattern.MatchString(name) {
			return errors.New("env has names of variables of the node, not values")
		}
	}
	_, err := t.declared(nil)
	if err != nil {
		return errors.New(brief(err))
	}
	return nil
}
