package kit

import (
	"context"
	"slices"

	"github.com/skelegent/skelegent-go/actors/engine"
	"github.com/skelegent/skelegent-go/actors/rule"
	"github.com/skelegent/skelegent-go/actors/skill"
	"github.com/skelegent/skelegent-go/actors/step"
	"github.com/skelegent/skelegent-go/actors/tool"
	"github.com/skelegent/skelegent-go/protocol"
)

// Priority is that of the rules: behind limits, loop detectors and compaction, before telemetry.
const Priority = 40

const ruleName = "skills"

// rules returns what enforces what skills say.
func (k *Kit) rules() []engine.Rule {
	begin := engine.OpFunc(ruleName, k.begin)
	return []engine.Rule{
		engine.After(engine.OpInjectMessages, ruleName, Priority, begin),
		engine.After(engine.OpLoad, ruleName, Priority, begin),
		rule.BeforeTool("", ruleName, Priority, k.before),
		rule.AfterTool("", ruleName, Priority, k.after),
	}
}

func isOwn(tool string) bool { return tool == ToolActivate || tool == ToolRead || tool == ToolRun }

// before is the rule before each call: is it permitted, and what do hooks say?
func (k *Kit) before(ctx context.Context, c *engine.Context, call *engine.ToolCall) error {
	s := k.of(c)
	name := call.Call.Name
	if isOwn(name) {
		call.With(func(ctx context.Context) context.Context { return tool.Provide(ctx, s) })
	}
	if call.Skipped {
		return nil
	}
	if !isOwn(name) { // those look themselves, in the order of what else can be wrong
		if refusal := s.refuses(k, name); refusal != "" {
			call.Skip(refusal, true)
			return nil
		}
	}
	v, err := k.hooks(ctx, s, event{name: "PreToolUse", tool: name, input: call.Call.Input})
	if err != nil {
		return err
	}
	s.mode = s.mode.changed(v.Mode, k.cfg.Overrides)
	if v.Input != nil {
		call.Call.Input = v.Input
	}
	switch {
	case v.blocks():
		call.Skip("The call was not made. "+v.why("blocked it"), true)
	case s.mode == modePlan && !slices.Contains(k.cfg.ReadOnly, name):
		call.Skip("The call was not made: a skill set the mode plan, in which only these tools may be called: "+
			clip(joined(k.cfg.ReadOnly), maxReason), true)
	case v.Decision == skill.DecisionAsk:
		call.Ask(protocol.PolicyPredicate(v.why("asks")))
	case k.cfg.Overrides && (v.Decision == skill.DecisionAllow || s.mode.waives(k, name)):
		call.Waive()
	}
	return k.tell(c, s, v.Messages)
}

// after is the rule behind each call: what do hooks say, and did it activate skills?
func (k *Kit) after(ctx context.Context, c *engine.Context, call *engine.ToolCall) error {
	if call.Skipped {
		return nil
	}
	s := k.of(c)
	v, err := k.hooks(ctx, s, event{
		name: "PostToolUse", tool: call.Call.Name, input: call.Call.Input, output: &call.Result, failed: call.IsError,
	})
	if err != nil {
		return err
	}
	s.mode = s.mode.changed(v.Mode, k.cfg.Overrides)
	if v.blocks() {
		if call.Call.Name == ToolActivate {
			s.takeBack(ctx, c)
		}
		call.Result, call.IsError = "The call was made, and its result is withheld. "+v.why("withheld it"), true
	}
	if err := k.tell(c, s, v.Messages); err != nil {
		return err
	}
	if call.Call.Name != ToolActivate || call.IsError {
		return nil
	}
	names := namesIn(call.Result)
	if len(names) == 0 {
		return nil
	}
	snap, err := step.Do(ctx, snapshotStep, func(context.Context) (snapshot, error) {
		return snapshot{Active: k.known(withArguments(names, call.Call.Input))}, nil
	})
	if err != nil {
		return err
	}
	s.add(snap.Active...)
	s.showed(len(call.Result))
	call.Policy = protocol.PolicyPinned
	return nil
}

// tell adds what hooks tell the model, behind the results of all calls of the answer, each once.
func (k *Kit) tell(c *engine.Context, s *session, messages []message) error {
	if turn := c.Metrics().Turns; s.told == nil || s.turn != turn {
		s.told, s.turn = map[string]bool{}, turn
	}
	for _, m := range messages {
		text := m.text()
		if s.told[text] {
			continue
		}
		s.told[text] = true
		said := protocol.NewMessage(protocol.RoleUser, protocol.TextContent(text))
		said.Meta.Source = new(source + m.skill)
		if err := c.Inject(said); err != nil {
			return err
		}
	}
	return nil
}
