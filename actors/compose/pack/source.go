package pack

import (
	"context"
	"encoding/json"
	"math"
	"slices"

	"github.com/skelegent/skelegent-go/actors/engine"
	"github.com/skelegent/skelegent-go/protocol"
)

// Source gives the items that a run can choose from. It is shared by all runs of an agent, and must be safe for concurrent use.
type Source interface {
	// Items returns them in order. It may look at the context, which has what was put in so far, but not what was said to the
	// run; it must not change it. It is not asked again by a durable run that goes on. The error fails the run, unless it is
	// retryable.
	Items(ctx context.Context, c *engine.Context) ([]Item, error)
}

// SourceFunc is a function as a Source.
type SourceFunc func(ctx context.Context, c *engine.Context) ([]Item, error)

// Items calls f.
func (f SourceFunc) Items(ctx context.Context, c *engine.Context) ([]Item, error) {
	if f == nil {
		return nil, errNil
	}
	return f(ctx, c)
}

// Fixed gives the same items to every run.
func Fixed(items ...Item) Source {
	items = slices.Clone(items)
	return SourceFunc(func(context.Context, *engine.Context) ([]Item, error) { return slices.Clone(items), nil })
}

// Ranked gives what s does, with rank added to the rank of each: those of a source with a lower number come first.
func Ranked(rank int, s Source) Source {
	return SourceFunc(func(ctx context.Context, c *engine.Context) ([]Item, error) {
		items, err := s.Items(ctx, c)
		items = slices.Clone(items)
		for i := range items {
			items[i].Rank = added(items[i].Rank, rank)
		}
		return items, err
	})
}

// added is a sum that does not overflow.
func added(a, b int) int {
	switch {
	case b > 0 && a > math.MaxInt-b:
		return math.MaxInt
	case b < 0 && a < math.MinInt-b:
		return math.MinInt
	}
	return a + b
}

// State gives values of a store.
type State struct {
	Store protocol.StateReader
	// Scope is where they are. ScopeOf says it for each run, in its place: that of the session, for instance, by
	// protocol.InvocationFrom.
	Scope   protocol.Scope
	ScopeOf func(ctx context.Context) protocol.Scope
	// Keys are read in this order; then the keys that begin with Prefix, if it is not empty or All is set; then what Query
	// finds. A key is read once.
	Keys   []string
	Prefix string
	All    bool
	Query  string
	// Limit is how many values are read at most; DefaultStateLimit if 0.
	Limit int
	// MaxBytes is how long a value may be; DefaultMaxBytes if 0. A longer one is left out.
	MaxBytes int
	// Kind is what they are; Memory if empty.
	Kind Kind
}

// What the sources mean where they say nothing.
const (
	DefaultStateLimit = 100
	DefaultFileLimit  = 100
	DefaultMaxBytes   = 64 << 10
)

// Items implements Source. A string is shown as it is, any other value as JSON. Keys without a value are left out.
func (s State) Items(ctx context.Context, _ *engine.Context) ([]Item, error) {
	if s.Store == nil {
		return nil, errNil
	}
	scope := s.Scope
	if s.ScopeOf != nil {
		scope = s.ScopeOf(ctx)
	}
	hits, err := s.hits(ctx, scope)
	if err != nil {
		return nil, err
	}
	kind, most := orElse(s.Kind, Memory), orElse(s.MaxBytes, DefaultMaxBytes)
	var items []Item
	for _, h := range hits {
		value, err := s.Store.Read(ctx, scope, h.Key)
		switch {
		case err != nil:
			return nil, err
		case value == nil:
		case len(value) > most:
			items = append(items, unfitItem(kind, h.Key, len(value), ReasonTooLarge))
		default:
			items = append(items, NewItem(kind, h.Key, plain(value)).WithScore(h.Score))
		}
	}
	return items, nil
}

// hits are the keys to read, each once.
func (s State) hits(ctx context.Context, scope protocol.Scope) ([]protocol.SearchResult, error) {
	limit := orElse(s.Limit, DefaultStateLimit)
	seen := map[string]bool{}
	var all []protocol.SearchResult
	add := func(h protocol.SearchResult) {
		if !seen[h.Key] && len(all) < limit {
			seen[h.Key] = true
			all = append(all, h)
		}
	}
	for _, key := range s.Keys {
		add(protocol.SearchResult{Key: key})
	}
	if s.Prefix != "" || s.All {
		keys, err := s.Store.List(ctx, scope, s.Prefix)
		if err != nil {
			return nil, err
		}
		for _, key := range keys {
			add(protocol.SearchResult{Key: key})
		}
	}
	if s.Query == "" || len(all) >= limit {
		return all, nil
	}
	found, err := s.Store.Search(ctx, scope, s.Query, limit-len(all))
	for _, h := range found {
		add(h)
	}
	return all, err
}

func orElse[T comparable](v, standard T) T {
	if v == *new(T) {
		return standard
	}
	return v
}

// plain is a value as a model reads it: a text as it is.
func plain(v json.RawMessage) string {
	var text string
	if json.Unmarshal(v, &text) == nil {
		return text
	}
	return string(v)
}
