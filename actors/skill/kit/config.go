package kit

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"time"

	"go.uber.org/zap"

	"github.com/skelegent/skelegent-go/actors/skill"
	"github.com/skelegent/skelegent-go/actors/skill/runner"
	"github.com/skelegent/skelegent-go/actors/tool"
	"github.com/skelegent/skelegent-go/protocol"
)

// The names of the tools by which a model uses skills of files.
const (
	ToolActivate = "activate_skill"
	ToolRead     = "read_skill_resource"
	ToolRun      = "run_skill_script"
)

// Defaults of Limits.
const (
	DefaultCommandTime    = 10 * time.Second
	DefaultActivationTime = time.Minute
	DefaultScriptTime     = 30 * time.Second
	DefaultHookTime       = 5 * time.Minute
	DefaultMaxContent     = tool.DefaultMaxText
	DefaultMaxResource    = runner.DefaultMaxFile
	DefaultMaxOutput      = 64 << 10
)

// MaxShown is how many bytes the instructions of all active skills may take together: no compaction makes room for them. One
// skill more is refused.
const MaxShown = 512 << 10

// MaxActive is how many skills can be active in a conversation.
const MaxActive = 64

// Code is a skill that is Go code. What is in package builtin is such.
type Code interface {
	// Name is the skill's, the same each time.
	Name() string
	// Description says in a sentence what the skill is for.
	Description() string
	// Tools returns the skill's tools, made anew each time.
	Tools() []tool.Tool
	// Prompt is what a system prompt says of the skill; empty if nothing.
	Prompt() string
}

// HookFailure says what becomes of a call where a hook could not say anything: its program did not start or did not end in time,
// wrote too much, ended with another exit code than 0 and 2, or gave an answer that cannot be read.
type HookFailure string

// The ways. An empty one is FailClosed.
const (
	FailClosed HookFailure = "closed" // as if the hook had blocked: the call is not made, or its result withheld
	FailOpen   HookFailure = "open"   // as if there were no such hook; the log has a warning
)

// Limits bound what skills may take. What is zero is the default.
type Limits struct {
	Command    time.Duration // of one command in a body; 10 s
	Activation time.Duration // of all commands of an activation; 1 min
	Script     time.Duration // 30 s; the runner has a limit, too
	Hooks      time.Duration // of all hook commands before a call, and of those behind it; 5 min
	// Content is how many bytes an activation may show: with more it is refused, for half a skill is none. It is never more than
	// agent.Config.MaxResultText; tool.DefaultMaxText.
	Content  int
	Resource int64 // bytes of a resource; 1 MiB. The agent may show less of it
	Output   int   // bytes of each output of a script or a hook; 64 KiB
}

// Config is what a Kit is made of. The zero Config is usable: it has no skills.
type Config struct {
	// Catalogue is what was discovered already. Kit.Discover adds to it.
	Catalogue *skill.Catalogue
	// Scopes are where Kit.Discover looks, and Discovery how.
	Scopes    []skill.Scope
	Discovery skill.Options
	// Code are skills of the program. Of two with one name the first counts.
	Code []Code
	// Runner runs the commands, scripts and hooks of skills. Without one there is no run_skill_script, a command in a body says that
	// it was not run, and a hook that is a command has failed.
	Runner runner.Runner
	// Spec may change what the programs of a skill see and can use, such as Writable, ReadOnly or Network; nil leaves them the
	// skill's directory alone. It is called for each program, also at the same time.
	Spec func(d skill.Descriptor, s *runner.Spec)
	// Trusted is asked each time before something of a skill is read or run; nil trusts all. A skill that it has an error for
	// stays in the catalogue, and the model is told the error when it asks for the skill; so its text should say what to do.
	Trusted func(d skill.Descriptor) error
	// State is read when a run of a session begins: the skills that were active before are activated anew. Activations are declared
	// as effects that write there. If it is nil, each run begins with those alone that its messages show.
	State protocol.StateReader
	// Session names the conversation, as SESSION_ID; the invocation's instance if nil. In a run it must be the same each time.
	Session func(ctx context.Context) string
	// OnHookFailure is FailClosed if empty.
	OnHookFailure HookFailure
	// HooksAtDiscovery has the hooks of all trusted skills count from the begin of each run; else only those of active ones do.
	HooksAtDiscovery bool
	// Overrides lets hooks make calls go without the approval that their tools need: by allow, and by the modes auto, acceptEdits
	// and bypassPermissions.
	Overrides bool
	// Names are other names of tools, by which skills may know them, such as Bash for shell. DefaultNames if nil.
	Names map[string]string
	// ReadOnly are the tools that may be called in the mode plan; DefaultReadOnly if nil.
	ReadOnly []string
	Limits   Limits
	// Logger is silent if nil. No text of a skill, no argument, input or output goes to it.
	Logger *zap.Logger
}

// DefaultNames returns the names that skills in the wild use for what the tools of package builtin do.
func DefaultNames() map[string]string { return maps.Clone(defaultNames) }

var defaultNames = map[string]string{"Bash": "shell", "Read": "read_file", "Write": "write_file", "LS": "list_dir"}

// DefaultReadOnly returns the tools of this library that change nothing and run nothing.
func DefaultReadOnly() []string {
	return []string{
		ToolRead, "read_file", "list_dir", "add", "subtract", "multiply", "divide", "get_weather",
		tool.NameClock, tool.NameRecall, tool.NameMemorySearch, tool.NameMemoryRecall,
	}
}

func (c Config) withDefaults() Config {
	l := &c.Limits
	set(&l.Command, DefaultCommandTime)
	set(&l.Activation, DefaultActivationTime)
	set(&l.Script, DefaultScriptTime)
	set(&l.Hooks, DefaultHookTime)
	set(&l.Content, DefaultMaxContent)
	set(&l.Resource, DefaultMaxResource)
	set(&l.Output, DefaultMaxOutput)
	set(&c.OnHookFailure, FailClosed)
	if c.Names == nil {
		c.Names = defaultNames
	}
	c.Names = maps.Clone(c.Names)
	if c.ReadOnly == nil {
		c.ReadOnly = DefaultReadOnly()
	}
	if c.Session == nil {
		c.Session = func(ctx context.Context) string { return protocol.InvocationFrom(ctx).Instance }
	}
	if c.Logger == nil {
		c.Logger = zap.NewNop()
	}
	return c
}

// set gives what is zero its default.
func set[T comparable](v *T, to T) {
	if *v == *new(T) {
		*v = to
	}
}

func (c Config) validate() error {
	l := c.Limits
	if l.Command < 0 || l.Activation < 0 || l.Script < 0 || l.Hooks < 0 || l.Content < 0 || l.Resource < 0 || l.Output < 0 {
		return errors.New("limits must not be negative")
	}
	if c.OnHookFailure != FailClosed && c.OnHookFailure != FailOpen {
		return fmt.Errorf("OnHookFailure must be %s or %s", FailClosed, FailOpen)
	}
	for _, code := range c.Code {
		if code == nil || code.Name() == "" {
			return errors.New("a skill of code has no name")
		}
	}
	return nil
}

func refuse(text string) *protocol.Error {
	return protocol.NewError(protocol.CodeInvalidInput, "skills: "+text)
}
