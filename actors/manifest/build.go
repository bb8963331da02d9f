package manifest

import (
	"context"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"go.uber.org/zap"

	"github.com/skelegent/skelegent-go/actors"
	"github.com/skelegent/skelegent-go/actors/agent"
	"github.com/skelegent/skelegent-go/actors/command"
	"github.com/skelegent/skelegent-go/actors/compose"
	"github.com/skelegent/skelegent-go/actors/effect"
	"github.com/skelegent/skelegent-go/actors/provider"
	"github.com/skelegent/skelegent-go/actors/skill"
	"github.com/skelegent/skelegent-go/actors/tool"
	"github.com/skelegent/skelegent-go/protocol"
)

// Deps are what operators are made with.
type Deps struct {
	// Dispatcher is how agents call operators as tools, and patterns their members.
	Dispatcher protocol.Dispatcher
	// State is what the tool recall reads; without it, it is an error to use that tool.
	State protocol.StateReader
	// Providers take the place of the manifest's, by name, as they are: without the limits and the breaker that it names. For
	// tests.
	Providers map[string]provider.Provider
	// Agent says what an operator that asks a model is made of, in place of what the manifest says: for replays and tests. It is
	// called for each of them; nil leaves all as they are.
	Agent func(operator string, cfg agent.Config) agent.Config
	// Skills are those that links of chains may name; none if nil.
	Skills *compose.Skills
	// Home is whose skills the scope user names; without it, it is an error to use that.
	Home string
	// Trusted is asked before something of a skill is read or run; see kit.Config. If it is nil, only skills of directories that
	// the manifest names, and the user's, are trusted.
	Trusted func(d skill.Descriptor) error
	// Logger is silent if nil.
	Logger *zap.Logger
}

// Registry is where operators and executors go: an actors.Node.
type Registry interface {
	Register(id protocol.OperatorID, op protocol.Operator, opts ...actors.Option) error
	RegisterEffect(effectType string, e effect.Executor, opts effect.Options) error
}

// Register makes everything that the manifest names and registers it at r. Nothing is asked of any model or server; skills are
// looked for, until ctx ends. Each provider is made once, so that its limits are those of all operators together.
func (m *Manifest) Register(ctx context.Context, r Registry, deps Deps) error {
	if deps.Logger == nil {
		deps.Logger = zap.NewNop()
	}
	providers, err := m.providers(deps)
	if err != nil {
		return err
	}
	for _, name := range slices.Sorted(maps.Keys(m.Operators)) {
		o := m.Operators[name]
		op, err := m.operator(ctx, name, o, providers, deps)
		if err != nil {
			return m.errorAt(err, "operators", name)
		}
		if err := r.Register(protocol.OperatorID(name), op, o.hosting()...); err != nil {
			return m.errorAt(err, "operators", name)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(m.Effects)) {
		e := m.Effects[name]
		executor := command.Executor(command.Spec{Command: m.command(e.Command), Dir: m.dir})
		err := r.RegisterEffect(name, executor, effect.Options{
			Idempotent: e.Idempotent, Concurrency: e.Concurrency, Attempts: e.Attempts,
			Backoff: e.Backoff.value(), Timeout: e.Timeout.value(),
		})
		if err != nil {
			return m.errorAt(err, "effects", name)
		}
	}
	return nil
}

// hosting is how the operator is hosted.
func (o Operator) hosting() []actors.Option {
	opts := []actors.Option{
		actors.Description(o.Description), actors.Metadata("kind", o.Kind), actors.Attempts(o.Attempts),
		actors.WhenBusy(actors.Busy(o.WhenBusy)), actors.Version(o.Version),
	}
	if o.durable() {
		opts = append(opts, actors.Durable())
	}
	if o.Concurrency > 0 {
		opts = append(opts, actors.Concurrency(o.Concurrency))
	}
	if o.Waiting != 0 {
		opts = append(opts, actors.Waiting(o.Waiting))
	}
	if o.Timeout != nil {
		opts = append(opts, actors.MaxDuration(o.Timeout.value()))
	}
	if o.Retention != nil {
		opts = append(opts, actors.Retention(o.Retention.value()))
	}
	if o.Model != "" {
		opts = append(opts, actors.Metadata("model", o.Model))
	}
	if s := o.Schedule; s != nil {
		in := protocol.Text(s.Message)
		in.Trigger = protocol.TriggerSchedule
		if s.Session != "" {
			in = in.WithSession(protocol.SessionID(s.Session))
		}
		opts = append(opts, actors.Schedule(s.Cron, in))
	}
	return opts
}

func (m *Manifest) path(p string) string {
	if filepath.IsAbs(p) {
		return p
	}
	return filepath.Join(m.dir, p)
}

// command makes a program that is named by a relative path one of the manifest's directory.
func (m *Manifest) command(c []string) []string {
	c = slices.Clone(c)
	if strings.HasPrefix(c[0], "./") || strings.HasPrefix(c[0], "../") {
		c[0] = m.path(c[0])
	}
	return c
}

func (m *Manifest) operator(
	ctx context.Context, name string, o Operator, providers map[string]provider.Provider, deps Deps,
) (protocol.Operator, error) {
	switch {
	case o.Kind == kindExec:
		return command.Operator(command.Spec{Command: m.command(o.Command), Dir: m.dir}), nil
	case o.Kind == kindTool:
		t, err := tool.Builtin(o.Tool, tool.Deps{State: deps.State})
		if err != nil {
			return nil, err
		}
		return tool.AsOperator(t), nil
	case o.pattern():
		return o.makePattern(deps.Dispatcher)
	case o.composed():
		return m.compose(name, o, deps)
	}
	return m.agent(ctx, name, o, providers[o.Provider], deps)
}

func (l *Limits) limits() agent.Limits {
	if l == nil {
		return agent.Limits{}
	}
	return agent.Limits{
		MaxTurns: l.MaxTurns, MaxCost: l.MaxCost.value(), MaxDuration: l.MaxDuration.value(),
		MaxToolCalls: l.MaxToolCalls, MaxConsecutiveFailures: l.MaxConsecutiveFailures,
	}
}
