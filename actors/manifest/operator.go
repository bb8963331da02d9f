package manifest

import (
	"go.yaml.in/yaml/v3"

	"github.com/skelegent/skelegent-go/actors/compose/portable"
)

// The kinds of operator.
const (
	kindAgent      = "agent"
	kindSingleShot = "single_shot"
	kindTool       = "tool"
	kindExec       = "exec"
	kindSequential = "sequential"
	kindParallel   = "parallel"
	kindLoop       = "loop"
	kindSupervisor = "supervisor"
	kindSwarm      = "swarm"

	kindChain       = "chain"
	kindCoordinator = "coordinator"
	kindDelegate    = "delegate"

	kindPortable = "portable" // an agent that another file describes
)

// Operator is one operator of the node.
type Operator struct {
	Kind        string    `yaml:"kind"` // agent if empty
	Description string    `yaml:"description"`
	Concurrency int       `yaml:"concurrency"`
	Waiting     int       `yaml:"waiting"`
	Durable     *bool     `yaml:"durable"` // if not given, true for agents and what is made of operators, false for others
	WhenBusy    string    `yaml:"when_busy"`
	Attempts    int       `yaml:"attempts"`
	Version     string    `yaml:"version"`
	Retention   *Duration `yaml:"retention"` // of idle instances; 30 days if not given
	Schedule    *Schedule `yaml:"schedule"`
	Timeout     *Duration `yaml:"timeout"` // of kind exec, or the longest run

	// Of what asks a model.
	Provider    string          `yaml:"provider"`
	Model       string          `yaml:"model"`
	System      string          `yaml:"system"`
	Limits      *Limits         `yaml:"limits"`
	Ceiling     *Limits         `yaml:"ceiling"` // what an input's config cannot exceed
	MaxTokens   uint32          `yaml:"max_tokens"`
	Temperature *float64        `yaml:"temperature"`
	Options     map[string]JSON `yaml:"options"` // of the provider, by its own names
	Output      *Output         `yaml:"output"`
	Compaction  *Compaction     `yaml:"compaction"`
	Rules       *Rules          `yaml:"rules"`

	// Of agents.
	File         string    `yaml:"file"`    // of kind portable
	Context      *Context  `yaml:"context"` // what it is shown before what was said
	Tools        []Tool    `yaml:"tools"`
	ToolChoice   string    `yaml:"tool_choice"`    // auto if empty
	MaxParallel  Count     `yaml:"max_parallel"`   // calls of one answer at the same time; 8 if not given
	RunSafeCalls bool      `yaml:"run_safe_calls"` // do not wait for the approval of others
	ApprovalTime *Duration `yaml:"approval_time"`  // how long a person may take; for ever if not given

	Tool    string   `yaml:"tool"`    // of kind tool: a built-in one
	Command []string `yaml:"command"` // of kind exec

	// Of patterns.
	Operators     []Member            `yaml:"operators"`
	Operator      *Member             `yaml:"operator"` // of a delegate, too
	UntilContains string              `yaml:"until_contains"`
	MaxIterations Count               `yaml:"max_iterations"`
	Selector      string              `yaml:"selector"`
	MaxRounds     Count               `yaml:"max_rounds"`
	Start         *Member             `yaml:"start"`
	Transitions   map[string][]Member `yaml:"transitions"`
	MaxHandoffs   Count               `yaml:"max_handoffs"`

	// Of what is composed.
	Routes       []SignalRoute `yaml:"routes"` // of a coordinator
	Fallback     *Member       `yaml:"fallback"`
	Links        []Link        `yaml:"links"`          // of a chain
	KeepGoing    bool          `yaml:"keep_going"`     // run the links behind a conclusion, too
	MaxToolCalls Count         `yaml:"max_tool_calls"` // of a chain, for one input; 1000 if not given
	Stub         bool          `yaml:"stub"`           // a delegate that nobody is behind yet
	InputSchema  JSON          `yaml:"input_schema"`   // of a delegate; any object if not given

	Skills      []Skill      `yaml:"skills"`
	SkillPolicy *SkillPolicy `yaml:"skill_policy"`

	portable *portable.Manifest
}

// operatorKeys are the keys that not all kinds have.
var operatorKeys = map[string][]string{
	"provider":    {kindAgent, kindSingleShot, kindPortable},
	"model":       {kindAgent, kindSingleShot, kindPortable},
	"system":      {kindAgent, kindSingleShot},
	"limits":      {kindAgent, kindSingleShot, kindPortable},
	"ceiling":     {kindAgent, kindSingleShot, kindPortable},
	"max_tokens":  {kindAgent, kindSingleShot, kindPortable},
	"temperature": {kindAgent, kindSingleShot, kindPortable},
	"options":     {kindAgent, kindSingleShot, kindPortable},
	"output":      {kindAgent, kindSingleShot, kindPortable},
	"compaction":  {kindAgent, kindSingleShot, kindPortable},
	"rules":       {kindAgent, kindSingleShot, kindPortable},

	"file":           {kindPortable},
	"skills":         {kindAgent, kindPortable},
	"skill_policy":   {kindAgent, kindPortable},
	"context":        {kindAgent, kindPortable},
	"tools":          {kindAgent, kindChain, kindPortable},
	"tool_choice":    {kindAgent, kindPortable},
	"max_parallel":   {kindAgent, kindPortable},
	"run_safe_calls": {kindAgent, kindPortable},
	"approval_time":  {kindAgent, kindPortable},

	"tool":    {kindTool},
	"command": {kindExec},

	"operators":      {kindSequential, kindParallel, kindSupervisor},
	"operator":       {kindLoop, kindDelegate},
	"until_contains": {kindLoop, kindSupervisor},
	"max_iterations": {kindLoop},
	"selector":       {kindSupervisor},
	"max_rounds":     {kindSupervisor},
	"start":          {kindSwarm},
	"transitions":    {kindSwarm},
	"max_handoffs":   {kindSwarm},

	"routes":         {kindCoordinator},
	"fallback":       {kindCoordinator},
	"links":          {kindChain},
	"keep_going":     {kindChain},
	"max_tool_calls": {kindChain},
	"stub":           {kindDelegate},
	"input_schema":   {kindDelegate},
}

// asks reports whether the operator asks a model.
func (o Operator) asks() bool {
	return o.Kind == kindAgent || o.Kind == kindSingleShot || o.Kind == kindPortable
}

// pattern reports whether the operator is made of others.
func (o Operator) pattern() bool {
	switch o.Kind {
	case kindSequential, kindParallel, kindLoop, kindSupervisor, kindSwarm:
		return true
	}
	return false
}

// durable is whether the operator's runs survive a crash: an agent's, and those of what is made of other operators, do unless the
// manifest says otherwise.
func (o Operator) durable() bool {
	if o.Durable != nil {
		return *o.Durable
	}
	return o.Kind == kindAgent || o.Kind == kindPortable || o.pattern() || o.composed()
}

// limited reports whether money is.
func (o Operator) limited() bool {
	return o.Limits != nil && o.Limits.MaxCost != nil || o.Ceiling != nil && o.Ceiling.MaxCost != nil
}

// Schedule is what an operator is told again and again.
type Schedule struct {
	Cron    string `yaml:"cron"` // six fields, seconds first, or @every and a duration
	Message string `yaml:"message"`
	Session string `yaml:"session"` // none: each time an instance of its own
}

// Limits bound a run.
type Limits struct {
	MaxTurns               uint32    `yaml:"max_turns"`
	MaxCost                *Decimal  `yaml:"max_cost"`
	MaxDuration            *Duration `yaml:"max_duration"`
	MaxToolCalls           uint32    `yaml:"max_tool_calls"`
	MaxConsecutiveFailures uint32    `yaml:"max_consecutive_failures"`
}

// Member is an operator that a pattern has work: the name of one of the manifest, or {operator: ID} for any node's.
type Member struct {
	Operator string `yaml:"operator"`

	own  bool // it must be in the manifest
	line int
}

// UnmarshalYAML reads a name or a mapping, strictly.
func (m *Member) UnmarshalYAML(n *yaml.Node) error {
	m.line = n.Line
	switch n.Kind {
	case yaml.ScalarNode:
		m.Operator, m.own = n.Value, true
		return nil
	case yaml.MappingNode:
		type plain Member
		return decodeMapping(n, (*plain)(m), "operator")
	default:
		return errorOf(n, "a member must be the name of an operator of this manifest or {operator: ID}")
	}
}
