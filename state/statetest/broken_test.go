package statetest_test

import (
	"context"
	"encoding/json"
	"sync"
	"time"

	"github.com/skelegent/skelegent-go/protocol"
	"github.com/skelegent/skelegent-go/state/memory"
)

// place is where a value is.
type place struct {
	scope protocol.Scope
	key   string
}

// broken is a sound store with some methods replaced. What a replacement needs to know it keeps beside.
type broken struct {
	*memory.Store
	read     func(ctx context.Context, at place) (json.RawMessage, error)
	write    func(ctx context.Context, at place, value json.RawMessage, opts protocol.StoreOptions) error
	remove   func(ctx context.Context, at place) error
	list     func(ctx context.Context, scope protocol.Scope, prefix string) ([]string, error)
	search   func(ctx context.Context, scope protocol.Scope, query string, limit int) ([]protocol.SearchResult, error)
	options  func(at place) (protocol.StoreOptions, bool, error)
	link     func(ctx context.Context, scope protocol.Scope, link protocol.MemoryLink) error
	unlink   func(ctx context.Context, scope protocol.Scope, from, to, relation string) error
	traverse func(ctx context.Context, scope protocol.Scope, from, relation string, depth int) ([]string, error)

	mu     sync.Mutex
	values map[place]json.RawMessage // a shadow that a replacement may use
	counts map[place]int
	times  map[place]time.Time
}

func (b *broken) Read(ctx context.Context, scope protocol.Scope, key string) (json.RawMessage, error) {
	if b.read != nil {
		return b.read(ctx, place{scope, key})
	}
	return b.Store.Read(ctx, scope, key)
}

func (b *broken) Write(ctx context.Context, scope protocol.Scope, key string, v json.RawMessage, opts protocol.StoreOptions) error {
	if b.write != nil {
		return b.write(ctx, place{scope, key}, v, opts)
	}
	return b.Store.Write(ctx, scope, key, v, opts)
}

func (b *broken) Delete(ctx context.Context, scope protocol.Scope, key string) error {
	if b.remove != nil {
		return b.remove(ctx, place{scope, key})
	}
	return b.Store.Delete(ctx, scope, key)
}

func (b *broken) List(ctx context.Context, scope protocol.Scope, prefix string) ([]string, error) {
	if b.list != nil {
		return b.list(ctx, scope, prefix)
	}
	return b.Store.List(ctx, scope, prefix)
}

func (b *broken) Search(ctx context.Context, scope protocol.Scope, query string, limit int) ([]protocol.SearchResult, error) {
	if b.search != nil {
		return b.search(ctx, scope, query, limit)
	}
	return b.Store.Search(ctx, scope, query, limit)
}

func (b *broken) Options(ctx context.Context, scope protocol.Scope, key string) (protocol.StoreOptions, bool, error) {
	if b.options != nil {
		return b.options(place{scope, key})
	}
	return b.Store.Options(ctx, scope, key)
}

func (b *broken) Link(ctx context.Context, scope protocol.Scope, link protocol.MemoryLink) error {
	if b.link != nil {
		return b.link(ctx, scope, link)
	}
	return b.Store.Link(ctx, scope, link)
}

func (b *broken) Unlink(ctx context.Context, scope protocol.Scope, from, to, relation string) error {
	if b.unlink != nil {
		return b.unlink(ctx, scope, from, to, relation)
	}
	return b.Store.Unlink(ctx, scope, from, to, relation)
}

func (b *broken) Traverse(ctx context.Context, scope protocol.Scope, from, relation string, depth int) ([]string, error) {
	if b.traverse != nil {
		return b.traverse(ctx, scope, from, relation, depth)
	}
	return b.Store.Traverse(ctx, scope, from, relation, depth)
}

// aliased makes reads and writes, but not lists, use the place that alias gives.
func (b *broken) aliased(alias func(place) place) {
	b.write = func(ctx context.Context, at place, v json.RawMessage, opts protocol.StoreOptions) error {
		err := b.Store.Write(ctx, at.scope, at.key, v, opts)
		if err == nil && opts.TTL == nil {
			b.mu.Lock()
			b.values[alias(at)] = append(json.RawMessage{}, v...)
			b.mu.Unlock()
		}
		return err
	}
	b.read = func(ctx context.Context, at place) (json.RawMessage, error) {
		v, err := b.Store.Read(ctx, at.scope, at.key)
		b.mu.Lock()
		defer b.mu.Unlock()
		if other := b.values[alias(at)]; v != nil && other != nil {
			var compact json.RawMessage
			_ = json.Unmarshal(other, &compact)
			return append(json.RawMessage{}, compact...), err
		}
		return v, err
	}
}

// rewriting passes values through change before they are stored.
func (b *broken) rewriting(change func(json.RawMessage) json.RawMessage) {
	b.write = func(ctx context.Context, at place, v json.RawMessage, opts protocol.StoreOptions) error {
		if json.Valid(v) {
			v = change(v)
		}
		return b.Store.Write(ctx, at.scope, at.key, v, opts)
	}
}

// twin is a second store that gets the same writes without their TTL, and no deletes.
func (b *broken) twin() *memory.Store {
	second := memory.New(memory.Config{})
	b.write = func(ctx context.Context, at place, v json.RawMessage, opts protocol.StoreOptions) error {
		if err := b.Store.Write(ctx, at.scope, at.key, v, opts); err != nil {
			return err
		}
		return second.Write(ctx, at.scope, at.key, v, protocol.StoreOptions{})
	}
	return second
}
