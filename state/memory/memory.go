package memory

import (
	"bytes"
	"cmp"
	"container/list"
	"context"
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/skelegent/skelegent-go/protocol"
	"github.com/skelegent/skelegent-go/state"
)

var (
	_ protocol.StateStore = (*Store)(nil)
	_ protocol.Graph      = (*Store)(nil)
)

// Config says how much a Store keeps. The zero value is a store without bound.
type Config struct {
	// Bound is how many values that are not durable are kept, over all scopes; 0 or less: any number.
	Bound int
	// MaxValue is the longest value in bytes; state.DefaultMaxValue if 0.
	MaxValue int
	// Limits bound a search; see state.Limits for the defaults.
	Limits state.Limits
	// Now is the clock that ends a time to live; time.Now if nil.
	Now func() time.Time
}

// Store is a StateStore and a Graph. Make one with New.
type Store struct {
	cfg Config

	mu     sync.Mutex
	scopes map[protocol.Scope]map[string]*item
	recent list.List // of *item that may be evicted, the last used in front; only in a bounded store
	count  int       // items in scopes
	writes int       // since the last sweep of what has expired
	links  map[protocol.Scope]map[string]map[edge]json.RawMessage
}

type item struct {
	scope   protocol.Scope
	key     string
	value   json.RawMessage
	opts    protocol.StoreOptions
	expires time.Time // zero: never
	durable bool
	place   *list.Element // nil if it cannot be evicted
}

// New returns an empty store.
func New(cfg Config) *Store {
	cfg.MaxValue = cmp.Or(cfg.MaxValue, state.DefaultMaxValue)
	cfg.Limits = cfg.Limits.WithDefaults()
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	return &Store{
		cfg:    cfg,
		scopes: map[protocol.Scope]map[string]*item{},
		links:  map[protocol.Scope]map[string]map[edge]json.RawMessage{},
	}
}

// Read implements protocol.StateReader. It counts as a use of the value.
func (s *Store) Read(ctx context.Context, scope protocol.Scope, key string) (json.RawMessage, error) {
	if err := ended(ctx); err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	it := s.get(scope, key)
	if it == nil {
		return nil, nil
	}
	if it.place != nil {
		s.recent.MoveToFront(it.place)
	}
	return bytes.Clone(it.value), nil
}

// Options returns the options that a value was written with, its TTL what is left of it, and false where there
// is no value. It does not count as a use.
func (s *Store) Options(ctx context.Context, scope protocol.Scope, key string) (protocol.StoreOptions, bool, error) {
	if err := ended(ctx); err != nil {
		return protocol.StoreOptions{}, false, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	it := s.get(scope, key)
	if it == nil {
		return protocol.StoreOptions{}, false, nil
	}
	opts := copyOptions(it.opts)
	if !it.expires.IsZero() {
		left := protocol.MillisOf(it.expires.Sub(s.cfg.Now()))
		opts.TTL = &left
	}
	return opts, true, nil
}

// List implements protocol.StateReader.
func (s *Store) List(ctx context.Context, scope protocol.Scope, prefix string) ([]string, error) {
	if err := ended(ctx); err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	keys := []string{}
	now := s.cfg.Now()
	for key, it := range s.scopes[scope] {
		if strings.HasPrefix(key, prefix) && !it.expired(now) {
			keys = append(keys, key)
		}
	}
	slices.Sort(keys)
	return keys, nil
}

// Search implements protocol.StateReader. It does not count as a use.
func (s *Store) Search(ctx context.Context, scope protocol.Scope, query string, limit int) ([]protocol.SearchResult, error) {
	if err := ended(ctx); err != nil {
		return nil, err
	}
	search, err := state.NewSearch(query, limit, s.cfg.Limits)
	if err != nil {
		return nil, err
	}
	if search.Empty() {
		return search.Results(), nil
	}
	for key, value := range s.values(scope) {
		if err := search.Add(key, value); err != nil {
			return nil, err
		}
	}
	return search.Results(), nil
}

// values returns what a scope has. The values are the stored slices, which are replaced but never written to.
func (s *Store) values(scope protocol.Scope) map[string]json.RawMessage {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := s.cfg.Now()
	all := map[string]json.RawMessage{}
	for key, it := range s.scopes[scope] {
		if !it.expired(now) {
			all[key] = it.value
		}
	}
	return all
}

// Write implements protocol.StateStore. In a bounded store it may evict another value. A TTL of 0 ends at once.
func (s *Store) Write(ctx context.Context, scope protocol.Scope, key string, value json.RawMessage, opts protocol.StoreOptions) error {
	if err := ended(ctx); err != nil {
		return err
	}
	value, err := state.Canonical(value, s.cfg.MaxValue)
	if err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	it := &item{scope: scope, key: key, value: value, opts: copyOptions(opts), durable: s.durable(scope, key, opts)}
	if opts.TTL != nil {
		it.expires = s.cfg.Now().Add(opts.TTL.Duration())
	}
	s.remove(s.scopes[scope][key])
	if s.scopes[scope] == nil {
		s.scopes[scope] = map[string]*item{}
	}
	s.scopes[scope][key] = it
	s.count++
	s.bound(it)
	s.sweep()
	return nil
}

// Delete implements protocol.StateStore.
func (s *Store) Delete(ctx context.Context, scope protocol.Scope, key string) error {
	if err := ended(ctx); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.remove(s.scopes[scope][key])
	return nil
}

// ClearTransient removes the values of a scope that were written with lifetime transient.
func (s *Store) ClearTransient(ctx context.Context, scope protocol.Scope) error {
	if err := ended(ctx); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for it := range maps.Values(maps.Clone(s.scopes[scope])) {
		if l := it.opts.Lifetime; l != nil && *l == protocol.LifetimeTransient {
			s.remove(it)
		}
	}
	return nil
}

func ended(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return protocol.AsError(err)
	}
	return nil
}

func copyOptions(o protocol.StoreOptions) protocol.StoreOptions {
	return protocol.StoreOptions{
		Tier: clone(o.Tier), Lifetime: clone(o.Lifetime), ContentKind: clone(o.ContentKind),
		Salience: clone(o.Salience), TTL: clone(o.TTL),
	}
}

func clone[T any](p *T) *T {
	if p == nil {
		return nil
	}
	v := *p
	return &v
}
