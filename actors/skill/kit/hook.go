package kit

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
	"time"

	"github.com/skelegent/skelegent-go/actors/skill"
)

// event is what hooks are told.
type event struct {
	name   string
	tool   string
	input  json.RawMessage
	output *string // of PostToolUse
	failed bool
}

// message is what a prompt of a hook tells the model.
type message struct{ skill, event, tool, prompt string }

func (m message) text() string {
	return "<skill_hook skill=\"" + attribute(m.skill) + "\" event=\"" + m.event + "\" tool=\"" + attribute(m.tool) + "\">\n" +
		line(neutral(m.prompt)) + "</skill_hook>"
}

// verdict is what hooks say together about a call.
type verdict struct {
	answer
	Messages []message
	skill    string // whose the reason is
}

// blocks reports whether the call must not be made, or its result not be shown.
func (v verdict) blocks() bool { return v.Block || v.Decision == skill.DecisionDeny }

// why says whose hook it was, and its reason.
func (v verdict) why(did string) string {
	text := "A hook of the skill " + shown(v.skill) + " " + did
	if v.Reason != "" {
		text += ": " + neutral(v.Reason)
	}
	if len(v.Suggestions) > 0 {
		text += " (suggestions: " + neutral(strings.Join(v.Suggestions, "; ")) + ")"
	}
	return text
}

// rank says how much an answer counts: deny before ask before allow, and a block before all.
func (a answer) rank() int {
	switch {
	case a.Block:
		return 4
	case a.Decision == skill.DecisionDeny:
		return 3
	case a.Decision == skill.DecisionAsk:
		return 2
	case a.Decision == skill.DecisionAllow:
		return 1
	}
	return 0
}

// merge adds what one more action says. The reason is that of the strongest, and of equals of the last that has one.
func (v *verdict) merge(of string, a answer) {
	if rank := a.rank(); rank > v.rank() || rank == v.rank() && a.Reason != "" {
		v.skill, v.Reason, v.Suggestions, v.Decision = of, a.Reason, a.Suggestions, a.Decision
	}
	v.Block = v.Block || a.Block
	if a.Input != nil {
		v.Input = a.Input
	}
	if a.Mode != "" {
		v.Mode = a.Mode
	}
	v.Stop = v.Stop || a.Stop
}

// hooks asks the hooks that are for the call: of the skills by name, of each the rules and actions in the order of the file. One
// that blocks or denies, or says that it is the last, ends that. The error is that ctx ended, or that a durable run has to leave.
func (k *Kit) hooks(ctx context.Context, s *session, e event) (verdict, error) {
	var v verdict
	until := time.Now().Add(k.cfg.Limits.Hooks)
	for _, of := range s.hooked() {
		d := of.Skill
		rules := d.Hooks.PreToolUse
		if e.output != nil {
			rules = d.Hooks.PostToolUse
		}
		for _, r := range rules {
			if !slices.ContainsFunc(k.namesOf(e.tool), r.Matches) {
				continue
			}
			for _, action := range r.Actions {
				a, err := k.action(ctx, d, action, e, until)
				if err != nil {
					return v, err
				}
				if e.output != nil {
					a.Input = nil
				}
				if action.Type == skill.HookPrompt {
					v.Messages = append(v.Messages, message{d.Name, e.name, e.tool, action.Prompt})
				}
				v.merge(d.Name, a)
				if v.blocks() || v.Stop {
					return v, nil
				}
				if v.Input != nil {
					e.input = v.Input
				}
			}
		}
	}
	return v, nil
}

// action returns what one action says.
func (k *Kit) action(ctx context.Context, d skill.Descriptor, a skill.HookAction, e event, until time.Time) (answer, error) {
	switch a.Type {
	case skill.HookCommand:
		return k.command(ctx, d, a, e, until)
	case skill.HookPermission:
		said := answer{Decision: a.Decision, Reason: oneLine(a.Reason), Suggestions: a.Suggestions}
		if said.Reason == "" && said.Decision == skill.DecisionDeny {
			said.Reason = "Hook denied"
		}
		return said, nil
	default: // a prompt only tells
		return answer{}, nil
	}
}
