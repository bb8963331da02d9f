package manifest

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"

	"github.com/skelegent/skelegent-go/actors/agent"
	"github.com/skelegent/skelegent-go/actors/compact"
	"github.com/skelegent/skelegent-go/actors/engine"
	"github.com/skelegent/skelegent-go/actors/provider"
	"github.com/skelegent/skelegent-go/actors/rule"
	"github.com/skelegent/skelegent-go/actors/tokens"
	"github.com/skelegent/skelegent-go/protocol"
)

// agent makes an operator that asks a model.
func (m *Manifest) agent(
	ctx context.Context, name string, o Operator, p provider.Provider, deps Deps,
) (protocol.Operator, error) {
	cfg := agent.Config{
		Name: name, Provider: p, Model: o.Model, System: o.System, MaxTokens: o.MaxTokens,
		Temperature: o.Temperature, Limits: o.Limits.limits(), Options: o.options(), Logger: deps.Logger,
		MaxParallel: int(o.MaxParallel), RunSafeCalls: o.RunSafeCalls, ApprovalTime: o.ApprovalTime.value(),
	}
	if o.Ceiling != nil {
		ceiling := o.Ceiling.limits()
		cfg.Ceiling = &ceiling
	}
	if o.ToolChoice != "" {
		choice := protocol.ChooseTools(protocol.ToolChoiceKind(o.ToolChoice))
		cfg.ToolChoice = &choice
	}
	var err error
	if cfg.Output, err = m.output(o.Output); err != nil {
		return nil, err
	}
	if cfg.Rules, err = m.rules(o, p, deps.Logger); err != nil {
		return nil, err
	}
	cfg.Count = m.counter(o)
	if o.Kind == kindSingleShot {
		return agent.SingleShot(deps.config(name, cfg))
	}
	for _, t := range o.Tools {
		made, err := m.tool(t, deps)
		if err != nil {
			return nil, at(&lineError{err, t.line}, "tools")
		}
		cfg.Tools = append(cfg.Tools, made)
	}
	if cfg.Assemble, err = m.assemble(o, deps); err != nil {
		return nil, err
	}
	if o.portable != nil {
		if err := m.portableAgent(&cfg, o, deps); err != nil {
			return nil, err
		}
	}
	if cfg, err = m.equip(ctx, name, cfg, o, deps); err != nil {
		return nil, err
	}
	return agent.New(deps.config(name, cfg))
}

// config is what an agent is made of.
func (d Deps) config(name string, cfg agent.Config) agent.Config {
	if d.Agent == nil {
		return cfg
	}
	return d.Agent(name, cfg)
}

// counter counts tokens by the model's own vocabulary, where it is known and how many they are decides something: what fits
// into a window, or what a call can cost. Nil is an estimate.
func (m *Manifest) counter(o Operator) func([]protocol.Message) int {
	_, window := m.window(o)
	if !o.limited() && (o.Compaction == nil || !window) {
		return nil
	}
	c := tokens.For(m.modelOf(o.Provider, o.Model))
	if !c.Exact() {
		return nil
	}
	return func(messages []protocol.Message) int { return c.Messages(messages...) }
}

func (o Operator) options() map[string]json.RawMessage {
	if o.Options == nil {
		return nil
	}
	all := make(map[string]json.RawMessage, len(o.Options))
	for name, v := range o.Options {
		all[name] = v.raw()
	}
	return all
}

func (m *Manifest) output(o *Output) (*agent.Output, error) {
	if o == nil {
		return nil, nil //nolint:nilnil // any text
	}
	out := &agent.Output{Schema: json.RawMessage(o.Schema), Mode: o.mode(), Native: o.Native}
	if o.SchemaFile != "" {
		raw, err := readJSON(m.path(o.SchemaFile))
		if err == nil {
			err = checkSchema(raw)
		}
		if err != nil {
			return nil, at(err, "output", "schema_file")
		}
		out.Schema = raw
	}
	if n := o.MaxRetries; n != nil {
		if out.MaxRetries = *n; *n == 0 {
			out.MaxRetries = -1 // never
		}
	}
	return out, nil
}

// rules are what an agent is watched by. Telemetry goes to the log where that shows details.
func (m *Manifest) rules(o Operator, p provider.Provider, log *zap.Logger) ([]engine.Rule, error) {
	var all []engine.Rule
	if r := o.Rules; r != nil {
		if r.LoopLimit > 0 {
			var opts []rule.LoopOption
			if r.WarnLoop {
				opts = append(opts, rule.WarnFirst())
			}
			all = append(all, rule.LoopDetector(int(r.LoopLimit), opts...)...)
		}
		if r.StepLimit > 0 {
			all = append(all, rule.StepLimit(uint32(r.StepLimit))...)
		}
		if r.Reminder != "" {
			all = append(all, rule.Remind(r.Reminder)...)
		}
		if r.Telemetry != "" {
			v := map[string]rule.Verbosity{tellMetrics: rule.Metrics, tellOperations: rule.Operations, tellFull: rule.Full}[r.Telemetry]
			all = append(all, rule.Telemetry(rule.TelemetryConfig{Verbosity: v, Level: zapcore.DebugLevel, Logger: log}))
		}
	}
	compaction, err := m.compaction(o, p, log)
	return slices.Concat(all, compaction), err
}

// What stays of a conversation where the manifest does not say it.
const (
	defaultKeep       = 20
	defaultKeepLatest = 4 // behind a summary
)

func (m *Manifest) compaction(o Operator, p provider.Provider, log *zap.Logger) ([]engine.Rule, error) {
	c := o.Compaction
	if c == nil {
		return nil, nil
	}
	if pricer, ok := p.(provider.Pricer); ok && c.Model != "" && o.limited() && !pricer.Priced(c.Model) {
		return nil, at(fmt.Errorf("there is a money limit, but the price of model %.100q is not known: add it to the provider's "+
			"prices or remove the limit", c.Model), "compaction", "model")
	}
	return compact.Rule(compact.Config{
		Strategy: m.strategy(o), Fallback: compact.Halve(), Messages: int(c.MaxMessages), Window: int(c.Window),
		Reserve: int(c.Reserve), Logger: log,
	}), nil
}

func (m *Manifest) strategy(o Operator) engine.Strategy {
	c := o.Compaction
	keep := func(otherwise int) int {
		if c.MaxMessages > 0 {
			otherwise = min(otherwise, int(c.MaxMessages)/2)
		}
		return cmp.Or(int(c.Keep), otherwise)
	}
	switch c.Strategy {
	case compactPolicy:
		return compact.PolicyTrim(keep(defaultKeep))
	case compactBudget:
		window, _ := m.window(o)
		return compact.TokenBudget(cmp.Or(int(c.Keep), (window-int(c.Reserve))/2))
	case compactSummarize:
		return compact.SummarizeAndReplace(compact.SummaryConfig{Model: c.Model, KeepLast: keep(defaultKeepLatest)})
	}
	return compact.SlidingWindow(keep(defaultKeep))
}
