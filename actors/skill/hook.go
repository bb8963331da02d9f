package skill

import (
	"slices"
	"strconv"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"
)

// Limits of hooks.
const (
	MaxHookRules       = 64 // of one event
	MaxHookActions     = 32 // of one rule
	MaxHookText        = 32 << 10
	MaxHookReason      = 1024
	MaxHookSuggestions = 16
	MaxHookTimeout     = 300 * time.Second
	DefaultHookTimeout = 10 * time.Second
)

// Hooks are what a skill wants done before and after calls of tools, in the order of its file.
type Hooks struct {
	PreToolUse  []HookRule `json:"pre_tool_use,omitempty"`
	PostToolUse []HookRule `json:"post_tool_use,omitempty"`
}

// IsZero reports whether there are none.
func (h Hooks) IsZero() bool { return len(h.PreToolUse) == 0 && len(h.PostToolUse) == 0 }

func (h Hooks) clone() Hooks {
	return Hooks{PreToolUse: cloneRules(h.PreToolUse), PostToolUse: cloneRules(h.PostToolUse)}
}

func cloneRules(rules []HookRule) []HookRule {
	rules = slices.Clone(rules)
	for i := range rules {
		rules[i].Actions = slices.Clone(rules[i].Actions)
		for k := range rules[i].Actions {
			rules[i].Actions[k].Suggestions = slices.Clone(rules[i].Actions[k].Suggestions)
		}
	}
	return rules
}

// HookRule is what is done at the calls of some tools.
type HookRule struct {
	Matcher string       `json:"matcher"`
	Actions []HookAction `json:"actions,omitempty"`
}

// Matches reports whether the rule is for the tool. The matcher is read as an entry of Permits is, and may be several with | in
// between.
func (r HookRule) Matches(tool string) bool {
	return slices.ContainsFunc(splitMatcher(r.Matcher), func(entry string) bool { return matchTool(entry, tool) })
}

// splitMatcher returns the alternatives of a matcher; a | in parentheses is part of one.
func splitMatcher(m string) []string {
	if !balanced(m, '(', ')') {
		return strings.Split(m, "|")
	}
	var all []string
	depth, from := 0, 0
	for i := range len(m) {
		switch m[i] {
		case '(':
			depth++
		case ')':
			depth--
		case '|':
			if depth == 0 {
				all = append(all, m[from:i])
				from = i + 1
			}
		}
	}
	return append(all, m[from:])
}

// HookType says what an action does.
type HookType string

// The types of actions.
const (
	HookCommand    HookType = "command"    // runs Command
	HookPrompt     HookType = "prompt"     // shows Prompt to the model
	HookPermission HookType = "permission" // decides about the call
)

// Decision is what a hook says about a call.
type Decision string

// The decisions.
const (
	DecisionAllow Decision = "allow"
	DecisionDeny  Decision = "deny"
	DecisionAsk   Decision = "ask"
)

// HookAction is one thing that is done. Only the fields of its type are set.
type HookAction struct {
	Type HookType `json:"type"`

	Command string        `json:"command,omitempty"`
	Shell   string        `json:"shell,omitempty"`
	Timeout time.Duration `json:"timeout,omitempty"` // of a command, in nanoseconds; 1 s to MaxHookTimeout

	Prompt string `json:"prompt,omitempty"`

	Decision    Decision `json:"decision,omitempty"`
	Reason      string   `json:"reason,omitempty"`
	Suggestions []string `json:"suggestions,omitempty"`
}

// hookEvents are the names of the events as they are written.
var hookEvents = map[string]string{
	"PreToolUse": "PreToolUse", "pre_tool_use": "PreToolUse",
	"PostToolUse": "PostToolUse", "post_tool_use": "PostToolUse",
}

// hooks reads the field hooks. What is not understood is an error, whatever it is: hooks may be guards.
func (p *parser) hooks(n *yaml.Node) Hooks {
	var h Hooks
	if n.Kind != yaml.MappingNode {
		p.fail(p.line(n), RuleHooks, "hooks must be a mapping of events")
		return h
	}
	seen := map[string]bool{}
	for key, value := range pairs(n) {
		event, ok := hookEvents[key.Value]
		switch {
		case !ok:
			p.fail(p.line(key), RuleHooks, "unsupported event "+quoted(key.Value)+"; there are PreToolUse and PostToolUse")
			continue
		case seen[event]:
			p.fail(p.line(key), RuleHooks, "the event "+event+" is given twice")
			continue
		}
		seen[event] = true
		rules := p.hookRules(value)
		if event == "PreToolUse" {
			h.PreToolUse = rules
		} else {
			h.PostToolUse = rules
		}
	}
	return h
}

func (p *parser) hookRules(n *yaml.Node) []HookRule {
	if n.Kind != yaml.SequenceNode || len(n.Content) > MaxHookRules {
		p.fail(p.line(n), RuleHooks, "an event must be a list of at most "+strconv.Itoa(MaxHookRules)+" rules")
		return nil
	}
	var rules []HookRule
	for _, item := range n.Content {
		f, ok := p.hookFields(item, "matcher", "hooks")
		if !ok {
			continue
		}
		r := HookRule{}
		m := f["matcher"]
		if m == nil || m.Kind != yaml.ScalarNode || !validMatcher(m.Value) {
			p.fail(p.line(item), RuleHooks, `a rule needs a matcher: the name of a tool, a glob, or "*" for all`)
		} else {
			r.Matcher = m.Value
		}
		list := f["hooks"]
		if list == nil || list.Kind != yaml.SequenceNode || len(list.Content) > MaxHookActions {
			p.fail(p.line(item), RuleHooks, "a rule needs hooks: a list of at most "+strconv.Itoa(MaxHookActions)+" actions")
			continue
		}
		for _, a := range list.Content {
			r.Actions = append(r.Actions, p.hookAction(a))
		}
		rules = append(rules, r)
	}
	return rules
}

// validMatcher reports whether a matcher can match anything: a guard that never fires is none.
func validMatcher(m string) bool {
	if m == "" || len(m) > MaxPattern || hasUnseen(m) {
		return false
	}
	for _, entry := range splitMatcher(m) {
		if entry == "" || strings.TrimSpace(entry) != entry {
			return false
		}
		if _, ok := compileGlob(entry); !ok {
			return false
		}
	}
	return true
}

func (p *parser) hookAction(n *yaml.Node) HookAction {
	all := []string{"type", "command", "shell", "timeout", "prompt", "decision", "reason", "suggestions"}
	f, ok := p.hookFields(n, all...)
	if !ok {
		return HookAction{}
	}
	var a HookAction
	var own []string
	if t := f["type"]; t != nil {
		a.Type = HookType(t.Value)
	}
	switch a.Type {
	case HookCommand:
		own = all[1:4]
		a.Command = p.hookText(n, f, "command", MaxHookText)
		a.Timeout = p.hookTimeout(f["timeout"])
		if s := f["shell"]; s != nil {
			if a.Shell = s.Value; a.Shell != ShellBash && a.Shell != ShellPowerShell {
				p.fail(p.line(s), RuleHooks, "shell must be bash or powershell")
			}
		}
	case HookPrompt:
		own = all[4:5]
		a.Prompt = p.hookText(n, f, "prompt", MaxHookText)
	case HookPermission:
		own = all[5:]
		a.Decision = Decision(p.hookText(n, f, "decision", MaxHookReason))
		if a.Decision != DecisionAllow && a.Decision != DecisionDeny && a.Decision != DecisionAsk {
			p.fail(p.line(n), RuleHooks, "decision must be allow, deny or ask")
		}
		if f["reason"] != nil {
			a.Reason = p.hookText(n, f, "reason", MaxHookReason)
		}
		a.Suggestions = p.hookSuggestions(f["suggestions"])
	default:
		p.fail(p.line(n), RuleHooks, "an action needs a type: command, prompt or permission")
		return a
	}
	for key := range f {
		if key != "type" && !slices.Contains(own, key) {
			p.fail(p.line(n), RuleHooks, "an action of type "+string(a.Type)+" has no "+key)
		}
	}
	return a
}

// hookFields returns the values of a mapping that has only those keys.
func (p *parser) hookFields(n *yaml.Node, known ...string) (map[string]*yaml.Node, bool) {
	if n.Kind != yaml.MappingNode {
		p.fail(p.line(n), RuleHooks, "rules and actions of hooks must be mappings")
		return nil, false
	}
	f := map[string]*yaml.Node{}
	for key, value := range pairs(n) {
		if !slices.Contains(known, key.Value) {
			p.fail(p.line(key), RuleHooks, "unknown key "+quoted(key.Value)+" in hooks")
			return nil, false
		}
		f[key.Value] = value
	}
	return f, true
}

// hookText returns a text that must be there.
func (p *parser) hookText(n *yaml.Node, f map[string]*yaml.Node, key string, most int) string {
	v := f[key]
	if v == nil || v.Kind != yaml.ScalarNode || isNull(v) || strings.TrimSpace(v.Value) == "" || len(v.Value) > most ||
		strings.ContainsRune(v.Value, 0) {
		p.fail(p.line(n), RuleHooks, key+" must be a text of at most "+strconv.Itoa(most)+" bytes")
		return ""
	}
	return v.Value
}

// hookTimeout reads a timeout in seconds. A longer one than allowed becomes the longest, with a warning.
func (p *parser) hookTimeout(n *yaml.Node) time.Duration {
	if n == nil {
		return DefaultHookTimeout
	}
	s, err := strconv.ParseInt(n.Value, 10, 32)
	if n.Kind != yaml.ScalarNode || err != nil || s < 1 {
		p.fail(p.line(n), RuleHooks, "timeout must be a number of seconds, 1 or more")
		return DefaultHookTimeout
	}
	d := time.Duration(s) * time.Second
	if d > MaxHookTimeout {
		p.warn(p.line(n), RuleHooks, "timeout is cut to "+MaxHookTimeout.String())
		d = MaxHookTimeout
	}
	return d
}

func (p *parser) hookSuggestions(n *yaml.Node) []string {
	if n == nil {
		return nil
	}
	if n.Kind != yaml.SequenceNode || len(n.Content) > MaxHookSuggestions {
		p.fail(p.line(n), RuleHooks, "suggestions must be a list of at most "+strconv.Itoa(MaxHookSuggestions)+" texts")
		return nil
	}
	var all []string
	for _, item := range n.Content {
		if item.Kind != yaml.ScalarNode || isNull(item) || len(item.Value) > MaxHookReason {
			p.fail(p.line(item), RuleHooks, "suggestions must be texts of at most "+strconv.Itoa(MaxHookReason)+" bytes")
			continue
		}
		all = append(all, item.Value)
	}
	return all
}
