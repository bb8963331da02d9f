package manifest

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/skelegent/skelegent-go/actors/pattern"
	"github.com/skelegent/skelegent-go/protocol"
	"github.com/skelegent/skelegent-go/protocol/wire"
)

// The bounds of a pattern.
const (
	maxMembers = 256
	maxRounds  = 1000 // iterations and handoffs, too
)

// The selectors of a supervisor.
const (
	selectRoundRobin = "round_robin"
	selectRandom     = "random"
	selectHandoff    = "handoff" // the first member begins, then those to whom the work is handed
)

// members are all operators that this one may have work, of a swarm without the keys of its transitions.
func (o Operator) members() []Member {
	all := slices.Clone(o.Operators)
	for _, m := range []*Member{o.Operator, o.Start, o.Fallback} {
		if m != nil {
			all = append(all, *m)
		}
	}
	for _, from := range slices.Sorted(maps.Keys(o.Transitions)) {
		all = append(all, o.Transitions[from]...)
	}
	for _, r := range o.Routes {
		all = append(all, r.Operator)
	}
	for _, l := range o.Links {
		if l.Operator != nil {
			all = append(all, *l.Operator)
		}
	}
	return all
}

// validatePattern checks what is made of other operators.
func (m *Manifest) validatePattern(o Operator) error {
	switch o.Kind {
	case kindSequential, kindParallel:
		return m.validateMembers(o, "operators")
	case kindLoop:
		return m.validateLoop(o)
	case kindSupervisor:
		return m.validateSupervisor(o)
	}
	return m.validateSwarm(o)
}

func (m *Manifest) validateMembers(o Operator, key string) error {
	switch all := o.members(); {
	case len(all) == 0:
		return at(fmt.Errorf("kind %s needs %s", o.Kind, key), key)
	case len(all) > maxMembers:
		return at(fmt.Errorf("more than %d members", maxMembers), key)
	default:
		for _, member := range all {
			if err := m.validateMember(member); err != nil {
				return at(&lineError{err, member.line}, key)
			}
		}
		return nil
	}
}

func (m *Manifest) validateMember(member Member) error {
	if _, ok := m.Operators[member.Operator]; member.own && !ok {
		return fmt.Errorf("there is no operator %.100q; one of another node is {operator: ID}", member.Operator)
	}
	return wire.CheckOperator(member.Operator)
}

func (m *Manifest) validateLoop(o Operator) error {
	switch {
	case o.UntilContains == "":
		return at(errors.New("a loop needs the text that ends it"), "until_contains")
	case o.MaxIterations > maxRounds:
		return at(fmt.Errorf("is more than %d", maxRounds), "max_iterations")
	}
	return m.validateMembers(o, "operator")
}

func (m *Manifest) validateSupervisor(o Operator) error {
	if err := oneOf("selector", o.Selector, selectRoundRobin, selectRandom, selectHandoff); err != nil {
		return at(err, "selector")
	}
	if o.MaxRounds > maxRounds {
		return at(fmt.Errorf("is more than %d", maxRounds), "max_rounds")
	}
	return m.validateMembers(o, "operators")
}

func (m *Manifest) validateSwarm(o Operator) error {
	if o.Start == nil {
		return at(errors.New("a swarm needs the operator that begins"), "start")
	}
	if err := m.validateMember(*o.Start); err != nil {
		return at(&lineError{err, o.Start.line}, "start")
	}
	switch {
	case o.MaxHandoffs > maxRounds:
		return at(fmt.Errorf("is more than %d", maxRounds), "max_handoffs")
	case len(o.Transitions) == 0:
		return at(errors.New("a swarm needs who may hand the work to whom"), "transitions")
	}
	if err := m.validateMembers(o, "transitions"); err != nil {
		return err
	}
	reached := idsOf(o.members())
	for _, from := range slices.Sorted(maps.Keys(o.Transitions)) {
		if !slices.Contains(reached, protocol.OperatorID(from)) {
			return at(errors.New("is not the start, and no transition leads to it"), "transitions", from)
		}
	}
	return nil
}

// validateNesting refuses patterns that are within themselves: their runs would begin others without end. Of agents in between,
// that depends on what a model says.
func (m *Manifest) validateNesting() error {
	next := func(name string) (names []string) {
		for _, member := range m.Operators[name].members() {
			names = append(names, member.Operator)
		}
		return names
	}
	if way := cycle(slices.Sorted(maps.Keys(m.Operators)), next); way != nil {
		return m.errorAt(fmt.Errorf("the pattern is within itself: %s", strings.Join(way, ", ")), "operators", way[0])
	}
	return nil
}

func idsOf(members []Member) []protocol.OperatorID {
	ids := make([]protocol.OperatorID, len(members))
	for i, m := range members {
		ids[i] = protocol.OperatorID(m.Operator)
	}
	return ids
}

// makePattern makes an operator of others.
func (o Operator) makePattern(d protocol.Dispatcher) (protocol.Operator, error) {
	ids := idsOf(o.Operators)
	switch o.Kind {
	case kindSequential:
		return pattern.Sequential(d, ids...), nil
	case kindParallel:
		return pattern.Parallel(d, ids...), nil
	case kindLoop:
		return pattern.Loop(d, pattern.LoopConfig{
			Operator: protocol.OperatorID(o.Operator.Operator), Done: saying(o.UntilContains), MaxIterations: int(o.MaxIterations),
		})
	case kindSupervisor:
		cfg := pattern.SupervisorConfig{Operators: ids, Select: o.selector(), MaxRounds: int(o.MaxRounds)}
		if o.UntilContains != "" {
			cfg.Done = saying(o.UntilContains)
		}
		return pattern.Supervisor(d, cfg)
	}
	transitions := map[protocol.OperatorID][]protocol.OperatorID{}
	for from, to := range o.Transitions {
		transitions[protocol.OperatorID(from)] = idsOf(to)
	}
	return pattern.Swarm(d, pattern.SwarmConfig{
		Start: protocol.OperatorID(o.Start.Operator), Transitions: transitions, MaxHandoffs: int(o.MaxHandoffs),
	})
}

func (o Operator) selector() pattern.Selector {
	switch o.Selector {
	case selectRandom:
		return pattern.Random(nil)
	case selectHandoff:
		return func(_ context.Context, c pattern.Choice) (protocol.OperatorID, error) {
			if c.Round > 0 {
				return "", nil
			}
			return c.Operators[0], nil
		}
	}
	return pattern.RoundRobin()
}

// saying reports whether an output has that text.
func saying(text string) func(protocol.OperatorOutput) bool {
	return func(out protocol.OperatorOutput) bool {
		return strings.Contains(protocol.NewMessage(protocol.RoleAssistant, out.Message).Text(), text)
	}
}
