package memory

import (
	"context"
	"encoding/json"
	"slices"

	"github.com/skelegent/skelegent-go/protocol"
	"github.com/skelegent/skelegent-go/state"
)

// edge is where a link leads, and how.
type edge struct{ relation, to string }

// Link implements protocol.Graph. The keys need not have values.
func (s *Store) Link(ctx context.Context, scope protocol.Scope, link protocol.MemoryLink) error {
	if err := ended(ctx); err != nil {
		return err
	}
	var metadata json.RawMessage
	if link.Metadata != nil {
		var err error
		if metadata, err = state.Canonical(link.Metadata, s.cfg.MaxValue); err != nil {
			return err
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.links[scope] == nil {
		s.links[scope] = map[string]map[edge]json.RawMessage{}
	}
	if s.links[scope][link.FromKey] == nil {
		s.links[scope][link.FromKey] = map[edge]json.RawMessage{}
	}
	s.links[scope][link.FromKey][edge{link.Relation, link.ToKey}] = metadata
	return nil
}

// Unlink implements protocol.Graph.
func (s *Store) Unlink(ctx context.Context, scope protocol.Scope, from, to, relation string) error {
	if err := ended(ctx); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.links[scope][from], edge{relation, to})
	if len(s.links[scope][from]) == 0 {
		delete(s.links[scope], from)
	}
	if len(s.links[scope]) == 0 {
		delete(s.links, scope)
	}
	return nil
}

// Traverse implements protocol.Graph. Keys at the same distance are sorted; the start is not among them.
func (s *Store) Traverse(ctx context.Context, scope protocol.Scope, from, relation string, maxDepth int) ([]string, error) {
	if err := ended(ctx); err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	reached, seen := []string{}, map[string]bool{from: true}
	for level := []string{from}; len(level) > 0 && maxDepth > 0; maxDepth-- {
		var next []string
		for _, key := range level {
			for e := range s.links[scope][key] {
				if (relation == "" || e.relation == relation) && !seen[e.to] {
					seen[e.to] = true
					next = append(next, e.to)
				}
			}
		}
		slices.Sort(next)
		reached = append(reached, next...)
		level = next
	}
	return reached, nil
}
