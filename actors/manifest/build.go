package manifest

import (
	"cmp"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"go.uber.org/zap"

	"github.com/skelegent/skelegent-go/actors"
	"github.com/skelegent/skelegent-go/actors/agent"
	"github.com/skelegent/skelegent-go/actors/command"
	"github.com/skelegent/skelegent-go/actors/effect"
	"github.com/skelegent/skelegent-go/actors/provider"
	"github.com/skelegent/skelegent-go/actors/provider/openai"
	"github.com/skelegent/skelegent-go/actors/provider/scripted"
	"github.com/skelegent/skelegent-go/actors/provider/secret"
	"github.com/skelegent/skelegent-go/actors/tool"
	"github.com/skelegent/skelegent-go/protocol"
)

// Deps are what operators are made with.
type Deps struct {
	// Dispatcher is how agents call operators as tools.
	Dispatcher protocol.Dispatcher
	// State is what the tool recall reads; without it, it is an error to use that tool.
	State protocol.StateReader
	// Providers take the place of the manifest's, by name; for tests.
	Providers map[string]provider.Provider
	Logger    *zap.Logger
}

// Registry is where operators and executors go: an actors.Node.
type Registry interface {
	Register(id protocol.OperatorID, op protocol.Operator, opts ...actors.Option) error
	RegisterEffect(effectType string, e effect.Executor, opts effect.Options) error
}

// Register makes everything that the manifest names and registers it at r. Nothing is asked of any model or server.
func (m *Manifest) Register(r Registry, deps Deps) error {
	providers, err := m.providers(deps)
	if err != nil {
		return err
	}
	for _, name := range slices.Sorted(maps.Keys(m.Operators)) {
		o := m.Operators[name]
		op, err := m.operator(name, o, providers, deps)
		if err != nil {
			return m.errorAt(err, "operators", name)
		}
		if err := r.Register(protocol.OperatorID(name), op, o.options()...); err != nil {
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

// options are how the operator is hosted.
func (o Operator) options() []actors.Option {
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

// durable is whether the operator's runs survive a crash: an agent's do unless the manifest says otherwise.
func (o Operator) durable() bool {
	if o.Durable != nil {
		return *o.Durable
	}
	return o.Kind == kindAgent
}

func (m *Manifest) providers(deps Deps) (map[string]provider.Provider, error) {
	all := map[string]provider.Provider{}
	for _, name := range slices.Sorted(maps.Keys(m.Providers)) {
		if p, ok := deps.Providers[name]; ok {
			all[name] = p
			continue
		}
		p := m.Providers[name]
		if p.Kind == kindScripted {
			script, err := scripted.Load(m.path(p.Script))
			if err != nil {
				return nil, m.errorAt(err, "providers", name, "script")
			}
			all[name] = script
			continue
		}
		all[name] = openai.New(openai.Config{BaseURL: p.BaseURL, APIKey: m.secret(p.APIKey), Prices: p.priceList()})
	}
	return all, nil
}

func (m *Manifest) secret(s *Secret) secret.Source {
	switch {
	case s == nil:
		return secret.None()
	case s.Env != "":
		return secret.Env(s.Env)
	}
	return secret.File(m.path(s.File))
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

func (m *Manifest) operator(name string, o Operator, providers map[string]provider.Provider, deps Deps) (protocol.Operator, error) {
	switch o.Kind {
	case kindExec:
		return command.Operator(command.Spec{Command: m.command(o.Command), Dir: m.dir}), nil
	case kindTool:
		t, err := tool.Builtin(o.Tool, tool.Deps{State: deps.State})
		if err != nil {
			return nil, err
		}
		return tool.AsOperator(t), nil
	}
	cfg := agent.Config{
		Name: name, Provider: providers[o.Provider], Model: o.Model, System: o.System, MaxTokens: o.MaxTokens,
		Temperature: o.Temperature, Limits: o.Limits.limits(), Logger: deps.Logger,
	}
	if o.Ceiling != nil {
		ceiling := o.Ceiling.limits()
		cfg.Ceiling = &ceiling
	}
	if o.Kind == kindSingleShot {
		return agent.SingleShot(cfg)
	}
	for _, t := range o.Tools {
		made, err := m.tool(t, deps)
		if err != nil {
			return nil, err
		}
		cfg.Tools = append(cfg.Tools, made)
	}
	return agent.New(cfg)
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

// tool makes an entry of an agent's tools.
func (m *Manifest) tool(t Tool, deps Deps) (tool.Tool, error) {
	made, err := m.bareTool(t, deps)
	if err != nil || !t.Approval {
		return made, err
	}
	return tool.Approved(made), nil
}

// bareTool makes it without what a person has to say. A bare name is a built-in tool, or else an operator of the manifest.
func (m *Manifest) bareTool(t Tool, deps Deps) (tool.Tool, error) {
	builtin, id := t.Tool, t.Operator
	if slices.Contains(tool.Builtins(), t.name) {
		builtin = t.name
	} else if t.name != "" {
		id = t.name
	}
	if id != "" {
		description := cmp.Or(t.Description, m.Operators[id].Description, "Asks the operator "+id+".")
		return tool.FromOperator(cmp.Or(t.As, id), description, deps.Dispatcher, protocol.OperatorID(id)), nil
	}
	made, err := tool.Builtin(builtin, tool.Deps{State: deps.State})
	if err != nil || t.As == "" {
		return made, err
	}
	return tool.Alias(made, t.As), nil
}
