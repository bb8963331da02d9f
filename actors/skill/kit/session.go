package kit

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
	"sync"

	"go.uber.org/zap"

	"github.com/skelegent/skelegent-go/actors/engine"
	"github.com/skelegent/skelegent-go/actors/skill"
	"github.com/skelegent/skelegent-go/protocol"
)

// session is what a run knows of the skills of its conversation. It is made anew wherever the run goes on, from the messages and
// from what is recorded. The rules change it; the tools of the run read it, also beside each other.
type session struct {
	mu     sync.RWMutex
	active []inForce // in the order of activation
	bytes  int       // of what activations showed

	// Of the rules alone:
	discovered []skill.Descriptor // with HooksAtDiscovery, by name
	looked     bool               // whether that and what the state has were read
	mode       mode
	told       map[string]bool // what hooks told the model since its last answer
	turn       uint32
}

// of returns what the run knows.
func (k *Kit) of(c *engine.Context) *session { return engine.Local[session](c, k) }

// inForce is an active skill: what was known of it when it was activated, as far as that counts.
type inForce struct {
	Skill     skill.Descriptor `json:"skill"`
	Arguments string           `json:"arguments,omitempty"`
	// Unknown says that there was no skill of the name here, or none that was trusted.
	Unknown bool `json:"unknown,omitempty"`
}

// begun is an activation as the state has it.
type begun struct {
	Name      string `json:"name"`
	Arguments string `json:"arguments,omitempty"`
}

// showed counts what activations showed.
func (s *session) showed(bytes int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.bytes += bytes
}

// room is how much more activations may show.
func (s *session) room() int {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return MaxShown - s.bytes
}

// has reports whether the skill is active.
func (s *session) has(name string) bool {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return slices.ContainsFunc(s.active, func(a inForce) bool { return a.Skill.Name == name })
}

// begun returns what is active, as the state has it.
func (s *session) begun() []begun {
	s.mu.RLock()
	defer s.mu.RUnlock()
	all := make([]begun, len(s.active))
	for i, a := range s.active {
		all[i] = begun{a.Skill.Name, a.Arguments}
	}
	return all
}

// add makes skills active that are not yet.
func (s *session) add(skills ...inForce) {
	for _, a := range skills {
		if !s.has(a.Skill.Name) {
			s.mu.Lock()
			s.active = append(s.active, a)
			s.mu.Unlock()
		}
	}
}

// refuses returns what the model is told of a call that the active skills do not permit, empty if they do.
func (s *session) refuses(k *Kit, tool string) string {
	s.mu.RLock()
	defer s.mu.RUnlock()
	var who []string
	var lists [][]string
	for _, a := range s.active {
		switch {
		case a.Unknown && k.cfg.OnHookFailure == FailClosed:
			return "Skill " + shown(a.Skill.Name) + " is active in this conversation and is not installed here, or not trusted. What tools " +
				"it permits is not known, so none can be called."
		case len(a.Skill.AllowedTools) > 0:
			who, lists = append(who, a.Skill.Name), append(lists, a.Skill.AllowedTools)
		}
	}
	union := skill.Union(lists...)
	if slices.ContainsFunc(k.namesOf(tool), func(name string) bool { return skill.Permits(union, name) }) {
		return ""
	}
	return denied(who, tool, union)
}

func denied(skills []string, tool string, list []string) string {
	slices.Sort(skills)
	var names []string
	for _, name := range skills {
		names = append(names, shown(name))
	}
	subject, verb := "Skill ", " does"
	if len(names) > 1 {
		subject, verb = "Skills ", " do"
	}
	return subject + strings.Join(names, ", ") + verb + " not permit tool " + shown(tool) + "; allowed-tools: " +
		clip(oneLine(strings.Join(list, ", ")), maxReason)
}

// namesOf returns the names of a tool: its own, and by what skills may know it.
func (k *Kit) namesOf(tool string) []string {
	all := []string{tool}
	for other, name := range k.cfg.Names {
		if name == tool && other != tool {
			all = append(all, other)
		}
	}
	return all
}

// hooked returns the skills whose hooks count, by name.
func (s *session) hooked() []inForce {
	s.mu.RLock()
	defer s.mu.RUnlock()
	all := slices.Clone(s.active)
	for _, d := range s.discovered {
		if !slices.ContainsFunc(s.active, func(a inForce) bool { return a.Skill.Name == d.Name }) {
			all = append(all, inForce{Skill: d})
		}
	}
	slices.SortFunc(all, func(a, b inForce) int { return strings.Compare(a.Skill.Name, b.Skill.Name) })
	return all
}

const stateKey = "skills.active"

// scope is where the state of a conversation is: out of reach for tools by which a model remembers.
func scope(ctx context.Context, session string) protocol.Scope {
	return protocol.OfOperator(protocol.WorkflowID(session), protocol.InvocationFrom(ctx).Operator)
}

func remember(ctx context.Context, session string, all []begun) protocol.Effect {
	raw, err := protocol.Marshal(all)
	if err != nil { // texts always marshal
		raw = json.RawMessage("[]")
	}
	return protocol.WriteMemory{Scope: scope(ctx, session), Key: stateKey, Value: raw}
}

// takeBack has the state be as if an activation had not been that was withheld.
func (s *session) takeBack(ctx context.Context, c *engine.Context) {
	session := protocol.InvocationFrom(ctx).Instance
	said := slices.ContainsFunc(c.Effects(), func(e protocol.Effect) bool {
		w, ok := e.(protocol.WriteMemory)
		return ok && w.Key == stateKey && w.Scope == scope(ctx, session)
	})
	if said {
		c.PushEffect(remember(ctx, session, s.begun()))
	}
}

// remembered reads what was active in earlier turns. What cannot be read was written by others, and is nothing.
func (k *Kit) remembered(ctx context.Context) ([]begun, error) {
	instance := protocol.InvocationFrom(ctx).Instance
	if k.cfg.State == nil || instance == "" {
		return nil, nil
	}
	raw, err := k.cfg.State.Read(ctx, scope(ctx, instance), stateKey)
	if err != nil || len(raw) == 0 {
		return nil, err
	}
	var all []begun
	if bad := json.Unmarshal(raw, &all); bad != nil {
		k.log.Warn("what a session has of active skills cannot be read", zap.Error(bad))
		all = nil
	}
	return all[:min(len(all), MaxActive)], nil
}
