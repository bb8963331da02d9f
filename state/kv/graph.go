package kv

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/skelegent/skelegent-go/protocol"
	"github.com/skelegent/skelegent-go/state"
)

// Link implements protocol.Graph. The keys need not have values.
func (s *Store) Link(ctx context.Context, scope protocol.Scope, link protocol.MemoryLink) error {
	call, cancel, err := s.begin(ctx)
	if err != nil {
		return err
	}
	defer cancel()
	metadata := json.RawMessage("null")
	if link.Metadata != nil {
		if metadata, err = state.Canonical(link.Metadata, s.cfg.MaxValue); err != nil {
			return err
		}
	}
	_, err = s.change(call, change{
		subject: s.prefix + linkKey(scope, link.FromKey, link.Relation, link.ToKey),
		record:  newRecord(link.ToKey, protocol.StoreOptions{}, s.cfg.Now()),
		value:   metadata,
	})
	if err != nil {
		return s.writeFailed(ctx, "link "+place(scope, link.FromKey), err)
	}
	return nil
}

// Unlink implements protocol.Graph.
func (s *Store) Unlink(ctx context.Context, scope protocol.Scope, from, to, relation string) error {
	call, cancel, err := s.begin(ctx)
	if err != nil {
		return err
	}
	defer cancel()
	if _, err := s.change(call, change{subject: s.prefix + linkKey(scope, from, relation, to)}); err != nil {
		return s.writeFailed(ctx, "unlink "+place(scope, from), err)
	}
	return nil
}

// Traverse implements protocol.Graph. Keys at the same distance are sorted; the start is not among them. One that
// meets more keys than Config.Limits.Entries is an error with code quota_exceeded.
func (s *Store) Traverse(ctx context.Context, scope protocol.Scope, from, relation string, maxDepth int) ([]string, error) {
	call, cancel, err := s.begin(ctx)
	if err != nil {
		return nil, err
	}
	defer cancel()
	reached, seen := []string{}, map[string]bool{from: true}
	for level := []string{from}; len(level) > 0 && maxDepth > 0; maxDepth-- {
		var next []string
		for _, key := range level {
			to, err := s.linked(call, scope, key, relation)
			if err != nil {
				return nil, s.translate(ctx, "traverse "+place(scope, from), err)
			}
			for _, key := range to {
				if !seen[key] {
					seen[key] = true
					next = append(next, key)
				}
			}
			if most := s.cfg.Limits.Entries; len(seen) > most {
				return nil, protocol.NewError(protocol.CodeQuotaExceeded,
					fmt.Sprintf("traverse %s: more than %d keys can be reached", place(scope, from), most))
			}
		}
		slices.Sort(next)
		reached = append(reached, next...)
		level = next
	}
	return reached, nil
}

// linked returns the keys one step from a key.
func (s *Store) linked(ctx context.Context, scope protocol.Scope, from, relation string) ([]string, error) {
	subjects, err := s.subjects(ctx, s.stream, s.prefix+linkFilter(scope, from, relation))
	if err != nil {
		return nil, err
	}
	return s.keys(ctx, subjects)
}
