package manifest

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/skelegent/skelegent-go/actors/compose"
	"github.com/skelegent/skelegent-go/actors/compose/serve"
	"github.com/skelegent/skelegent-go/actors/tool"
	"github.com/skelegent/skelegent-go/protocol"
	"github.com/skelegent/skelegent-go/protocol/wire"
)

// The bounds of what is composed.
const (
	maxLinks        = 256
	maxSignalRoutes = 256
	maxLabels       = 100 // signals of a route or a link
)

// SignalRoute says for which signals an operator is.
type SignalRoute struct {
	Signals  []compose.Signal `yaml:"signals"`
	Operator Member           `yaml:"operator"`

	line int
}

// UnmarshalYAML reads a mapping, strictly.
func (r *SignalRoute) UnmarshalYAML(n *yaml.Node) error {
	if r.line = n.Line; n.Kind != yaml.MappingNode {
		return errorOf(n, "a route must be {signals: [NAME], operator: NAME}")
	}
	type plain SignalRoute
	return decodeMapping(n, (*plain)(r), "signals", "operator")
}

// Link is a skill of a chain, in the words of the manifest; see serve.LinkConfig. One that only names a skill is one that the
// program has.
type Link struct {
	ID          string           `yaml:"id"`
	Description string           `yaml:"description"`
	When        []compose.Signal `yaml:"when"`
	Unless      []compose.Signal `yaml:"unless"`
	Tool        string           `yaml:"tool"`     // one of the chain's tools
	Operator    *Member          `yaml:"operator"` // asked with the investigation
	Args        JSON             `yaml:"args"`     // in place of the investigation
	Apply       bool             `yaml:"apply"`    // the tool's result may change the investigation; an operator's always may
	Confidence  *Delta           `yaml:"confidence"`
	Signals     []compose.Signal `yaml:"signals"`
	Evidence    string           `yaml:"evidence"`
	Then        string           `yaml:"then"` // conclude or discard

	name string // of a skill of the program
	line int
}

// UnmarshalYAML reads a name or a mapping, strictly.
func (l *Link) UnmarshalYAML(n *yaml.Node) error {
	l.line = n.Line
	switch n.Kind {
	case yaml.ScalarNode:
		l.name = n.Value
		return nil
	case yaml.MappingNode:
		type plain Link
		return decodeMapping(n, (*plain)(l), "id", "description", "when", "unless", "tool", "operator", "args", "apply", "confidence",
			"signals", "evidence", "then")
	default:
		return errorOf(n, "a link must be the name of a skill or a mapping with an id")
	}
}

// Delta is a change of confidence, -1 to 1.
type Delta float64

// UnmarshalYAML reads the number.
func (d *Delta) UnmarshalYAML(n *yaml.Node) error {
	var v float64
	if n.Kind != yaml.ScalarNode || n.Decode(&v) != nil || !(v >= -1 && v <= 1) {
		return errorOf(n, "%.100q does not fit here: a number from -1 to 1 is needed", n.Value)
	}
	*d = Delta(v)
	return nil
}

// composed reports whether the operator is of the composition kernel.
func (o Operator) composed() bool {
	return o.Kind == kindChain || o.Kind == kindCoordinator || o.Kind == kindDelegate
}

// validateComposed checks what the composition kernel makes.
func (m *Manifest) validateComposed(o Operator) error {
	switch o.Kind {
	case kindChain:
		return m.validateChain(o)
	case kindCoordinator:
		return m.validateCoordinator(o)
	}
	return m.validateDelegate(o)
}

func (m *Manifest) validateDelegate(o Operator) error {
	if o.Operator == nil && !o.Stub {
		return at(errors.New("a delegate needs the operator that does the work, or stub: true until there is one"), "operator")
	}
	if o.Operator != nil && o.Stub {
		return at(errors.New("a stub has no operator"), "stub")
	}
	if len(o.InputSchema) > 0 {
		if err := checkSchema(json.RawMessage(o.InputSchema)); err != nil {
			return at(errors.New(brief(err)), "input_schema")
		}
	}
	if o.Operator == nil {
		return nil
	}
	return m.validateMembers(o, "operator")
}

func (m *Manifest) validateCoordinator(o Operator) error {
	switch {
	case len(o.Routes) == 0 && o.Fallback == nil:
		return at(errors.New("a coordinator needs routes or a fallback"), "routes")
	case len(o.Routes) > maxSignalRoutes:
		return at(fmt.Errorf("more than %d routes", maxSignalRoutes), "routes")
	}
	for _, r := range o.Routes {
		err := validateSignals(r.Signals)
		if err == nil && len(r.Signals) == 0 {
			err = errors.New("a route needs signals; fallback is for inputs without any of them")
		}
		if err == nil {
			err = m.validateMember(r.Operator)
		}
		if err != nil {
			return at(&lineError{err, r.line}, "routes")
		}
	}
	if o.Fallback != nil {
		return at(m.validateMember(*o.Fallback), "fallback")
	}
	return nil
}

func validateSignals(signals []compose.Signal) error {
	if len(signals) > maxLabels {
		return fmt.Errorf("more than %d signals", maxLabels)
	}
	if slices.Contains(signals, "") {
		return errors.New("a signal is empty")
	}
	return nil
}

func (m *Manifest) validateChain(o Operator) error {
	switch {
	case len(o.Links) == 0:
		return at(errors.New("a chain needs links"), "links")
	case len(o.Links) > maxLinks:
		return at(fmt.Errorf("more than %d links", maxLinks), "links")
	}
	if err := m.validateTools(o); err != nil {
		return at(err, "tools")
	}
	seen := map[string]bool{}
	for _, l := range o.Links {
		err := m.validateLink(o, l)
		if id := l.id(); err == nil && seen[id] {
			err = fmt.Errorf("there are two links %q", id)
		}
		if err != nil {
			return at(&lineError{err, l.line}, "links")
		}
		seen[l.id()] = true
	}
	return nil
}

func (l Link) id() string {
	if l.name != "" {
		return l.name
	}
	return l.ID
}

func (m *Manifest) validateLink(o Operator, l Link) error {
	if l.name != "" {
		return nil // whether the program has it is known when it registers
	}
	for _, signals := range [][]compose.Signal{l.When, l.Unless, l.Signals} {
		if err := validateSignals(signals); err != nil {
			return err
		}
	}
	switch {
	case l.Tool != "" && l.Operator != nil:
		return errors.New("a link has a tool or an operator, not both")
	case l.Operator != nil:
		if err := m.validateMember(*l.Operator); err != nil {
			return err
		}
	case l.Tool != "" && !slices.ContainsFunc(o.Tools, func(t Tool) bool { return t.shown() == l.Tool }):
		return fmt.Errorf("there is no tool %.100q among the tools of the chain", l.Tool)
	}
	_, err := serve.Link(l.config())
	if err != nil {
		return errors.New(strings.TrimPrefix(brief(err), "invalid argument: "))
	}
	return nil
}

// config is the link as a skill. The operator is a tool of the chain, under its own name behind a dot, which no tool of an
// agent has.
func (l Link) config() serve.LinkConfig {
	cfg := serve.LinkConfig{
		ID: l.ID, Description: l.Description, When: l.When, Unless: l.Unless, Tool: l.Tool, Signals: l.Signals,
		Evidence: l.Evidence, Then: serve.Then(l.Then), Apply: l.Apply || l.Operator != nil,
	}
	if l.Args != nil {
		cfg.Args = json.RawMessage(l.Args)
	}
	if l.Confidence != nil {
		cfg.Confidence = float64(*l.Confidence)
	}
	if l.Operator != nil {
		cfg.Tool = operatorTool(l.Operator.Operator)
	}
	return cfg
}

func operatorTool(id string) string { return "operator." + id }

// compose makes an operator of the composition kernel.
func (m *Manifest) compose(name string, o Operator, deps Deps) (protocol.Operator, error) {
	switch o.Kind {
	case kindChain:
		return m.chain(name, o, deps)
	case kindCoordinator:
		cfg := serve.CoordinatorConfig{}
		for _, r := range o.Routes {
			cfg.Routes = append(cfg.Routes, serve.Route{Signals: r.Signals, Operator: protocol.OperatorID(r.Operator.Operator)})
		}
		if o.Fallback != nil {
			cfg.Fallback = protocol.OperatorID(o.Fallback.Operator)
		}
		return serve.Coordinator(deps.Dispatcher, cfg)
	}
	t, err := m.delegate(name, o, deps)
	if err != nil {
		return nil, err
	}
	return tool.AsOperator(t), nil
}

// delegate makes the tool that a delegate is.
func (m *Manifest) delegate(name string, o Operator, deps Deps) (tool.Tool, error) {
	executor := compose.Stub(name)
	if o.Operator != nil {
		executor = compose.Remote(deps.Dispatcher, protocol.OperatorID(o.Operator.Operator))
	}
	meta := protocol.ToolMetadata{Name: name, Description: o.Description, InputSchema: json.RawMessage(o.InputSchema)}
	return compose.DelegateToolWithSchema(meta, nil, executor)
}

func (m *Manifest) chain(name string, o Operator, deps Deps) (protocol.Operator, error) {
	tools, err := compose.NewTools()
	if err != nil {
		return nil, err
	}
	for _, t := range o.Tools {
		made, err := m.tool(t, deps)
		if err == nil {
			err = tools.Register(made)
		}
		if err != nil {
			return nil, at(&lineError{err, t.line}, "tools")
		}
	}
	skills := &compose.Skills{}
	var ids []string
	for _, l := range o.Links {
		skill, err := m.link(l, tools, deps)
		if err == nil {
			err = skills.Register(skill)
		}
		if err != nil {
			return nil, at(&lineError{err, l.line}, "links")
		}
		ids = append(ids, skill.ID())
	}
	agent, err := compose.NewAgent(name, skills, tools, compose.AgentConfig{Skills: ids, KeepGoing: o.KeepGoing, Logger: deps.Logger})
	if err != nil {
		return nil, err
	}
	return serve.Chain(agent, serve.ChainConfig{MaxToolCalls: int(o.MaxToolCalls)}), nil
}

// link makes a skill, and registers the operator that it asks.
func (m *Manifest) link(l Link, tools *compose.Tools, deps Deps) (compose.Skill, error) {
	if l.name != "" {
		if deps.Skills == nil {
			return nil, compose.ErrSkillNotFound(l.name)
		}
		return deps.Skills.Get(l.name)
	}
	if l.Operator != nil {
		id := protocol.OperatorID(l.Operator.Operator)
		t, err := compose.DelegateTool(operatorTool(string(id)), m.Operators[string(id)].Description, compose.Remote(deps.Dispatcher, id))
		if err == nil {
			err = tools.Register(t)
		}
		if err != nil {
			return nil, err
		}
	}
	return serve.Link(l.config())
}

// checkRemote checks an entry of tools that is a tool or a delegate of another node.
func (t Tool) checkRemote() error {
	id := t.Remote + t.Delegate
	if err := wire.CheckOperator(id); err != nil {
		return err
	}
	if len(t.InputSchema) > 0 {
		if err := tool.CheckSchema(json.RawMessage(t.InputSchema)); err != nil {
			return errors.New(brief(err))
		}
	}
	return nil
}
