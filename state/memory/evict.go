package memory

import (
	"time"

	"github.com/skelegent/skelegent-go/protocol"
)

// The functions of this file are called with the lock held.

func (it *item) expired(now time.Time) bool {
	return !it.expires.IsZero() && !now.Before(it.expires)
}

// get returns the item of a key, or nil; one that has expired is removed.
func (s *Store) get(scope protocol.Scope, key string) *item {
	it := s.scopes[scope][key]
	if it != nil && it.expired(s.cfg.Now()) {
		s.remove(it)
		return nil
	}
	return it
}

// durable says whether a write makes its value durable. One that says nothing of the lifetime leaves it as it was.
func (s *Store) durable(scope protocol.Scope, key string, opts protocol.StoreOptions) bool {
	if opts.Lifetime != nil {
		return *opts.Lifetime == protocol.LifetimeDurable
	}
	old := s.get(scope, key)
	return old != nil && old.durable
}

// remove takes an item out; nil is none.
func (s *Store) remove(it *item) {
	if it == nil {
		return
	}
	if it.place != nil {
		s.recent.Remove(it.place)
	}
	s.count--
	delete(s.scopes[it.scope], it.key)
	if len(s.scopes[it.scope]) == 0 {
		delete(s.scopes, it.scope)
	}
}

// bound makes a new item the last used and evicts what is then too much.
func (s *Store) bound(it *item) {
	if s.cfg.Bound <= 0 || it.durable {
		return
	}
	it.place = s.recent.PushFront(it)
	for s.recent.Len() > s.cfg.Bound {
		s.remove(s.recent.Back().Value.(*item))
	}
}

// sweep removes what has expired, each time the writes since the last sweep make up half of the items: values that
// nobody reads again must not stay for ever.
func (s *Store) sweep() {
	if s.writes++; s.writes < max(s.count/2, 64) {
		return
	}
	s.writes = 0
	now := s.cfg.Now()
	for _, items := range s.scopes {
		for _, it := range items {
			if it.expired(now) {
				s.remove(it)
			}
		}
	}
}
