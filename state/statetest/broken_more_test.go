package statetest_test

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
	"time"

	"github.com/skelegent/skelegent-go/protocol"
)

var ttlDefects = map[string]func(b *broken){
	"ttl_read": func(b *broken) {
		second := b.twin()
		b.read = func(ctx context.Context, at place) (json.RawMessage, error) {
			if at.key == "short" {
				return second.Read(ctx, at.scope, at.key)
			}
			return b.Store.Read(ctx, at.scope, at.key)
		}
	},
	"ttl_list": func(b *broken) {
		second := b.twin()
		b.list = func(ctx context.Context, scope protocol.Scope, prefix string) ([]string, error) {
			if keys, err := second.List(ctx, scope, prefix); slices.Contains(keys, "short") {
				return keys, err
			}
			return b.Store.List(ctx, scope, prefix)
		}
	},
	"ttl_search": func(b *broken) {
		second := b.twin()
		b.remove = func(ctx context.Context, at place) error {
			if err := b.Store.Delete(ctx, at.scope, at.key); err != nil {
				return err
			}
			return second.Delete(ctx, at.scope, at.key)
		}
		b.search = second.Search
	},
	"ttl_not_yet": func(b *broken) { // a long TTL overflows
		b.write = func(ctx context.Context, at place, v json.RawMessage, opts protocol.StoreOptions) error {
			if opts.TTL != nil && opts.TTL.Duration() > 365*24*time.Hour {
				zero := protocol.Millis(0)
				opts.TTL = &zero
			}
			return b.Store.Write(ctx, at.scope, at.key, v, opts)
		}
	},
	"ttl_ends_with_overwrite": func(b *broken) { // an earlier end stays
		b.write = func(ctx context.Context, at place, v json.RawMessage, opts protocol.StoreOptions) error {
			b.mu.Lock()
			defer b.mu.Unlock()
			if opts.TTL != nil {
				b.times[at] = time.Now().Add(opts.TTL.Duration())
			} else if left := time.Until(b.times[at]); left > 0 && left < time.Minute {
				m := protocol.MillisOf(left)
				opts.TTL = &m
			}
			return b.Store.Write(ctx, at.scope, at.key, v, opts)
		}
	},
	"ttl_over_and_written_again": func(b *broken) { // the remains of the expired value are in the way
		b.write = func(ctx context.Context, at place, v json.RawMessage, opts protocol.StoreOptions) error {
			b.mu.Lock()
			defer b.mu.Unlock()
			if end, ok := b.times[at]; ok && time.Since(end) > 75*time.Millisecond {
				return nil
			}
			if opts.TTL != nil {
				b.times[at] = time.Now().Add(opts.TTL.Duration())
			}
			return b.Store.Write(ctx, at.scope, at.key, v, opts)
		}
	},
}

type results = []protocol.SearchResult

// filtered drops results.
func (b *broken) filtered(drop func(ctx context.Context, scope protocol.Scope, query string, r protocol.SearchResult) bool) {
	b.search = func(ctx context.Context, scope protocol.Scope, query string, limit int) (results, error) {
		found, err := b.Store.Search(ctx, scope, query, limit)
		return slices.DeleteFunc(found, func(r protocol.SearchResult) bool { return drop(ctx, scope, query, r) }), err
	}
}

var searchDefects = map[string]func(b *broken){
	"search_finds": func(b *broken) { // only looks at strings
		b.filtered(func(_ context.Context, _ protocol.Scope, _ string, r protocol.SearchResult) bool {
			return strings.HasPrefix(*r.Snippet, "{")
		})
	},
	"search_ignores_case": func(b *broken) {
		b.filtered(func(ctx context.Context, scope protocol.Scope, query string, r protocol.SearchResult) bool {
			v, _ := b.Store.Read(ctx, scope, r.Key)
			return !strings.Contains(string(v), query)
		})
	},
	"search_best_first": func(b *broken) {
		b.search = func(ctx context.Context, scope protocol.Scope, query string, limit int) (results, error) {
			found, err := b.Store.Search(ctx, scope, query, limit)
			slices.Reverse(found)
			return found, err
		}
	},
	"search_limit": func(b *broken) {
		b.search = func(ctx context.Context, scope protocol.Scope, query string, limit int) (results, error) {
			return b.Store.Search(ctx, scope, query, limit*100)
		}
	},
	"search_nothing": func(b *broken) { // an empty query finds everything
		b.search = func(ctx context.Context, scope protocol.Scope, query string, limit int) (results, error) {
			if query != "" {
				return b.Store.Search(ctx, scope, query, limit)
			}
			keys, err := b.Store.List(ctx, scope, "")
			var all results
			for _, key := range keys {
				all = append(all, protocol.SearchResult{Key: key})
			}
			return all, err
		}
	},
	"search_snippet": func(b *broken) { // cut within a character
		b.search = func(ctx context.Context, scope protocol.Scope, query string, limit int) (results, error) {
			found, err := b.Store.Search(ctx, scope, query, limit)
			for i, r := range found {
				v, _ := b.Store.Read(ctx, scope, r.Key)
				short := string(v[:min(200, len(v))]) + "..."
				found[i].Snippet = &short
			}
			return found, err
		}
	},
	"search_is_isolated": func(b *broken) {
		b.search = func(ctx context.Context, scope protocol.Scope, query string, limit int) (results, error) {
			found, err := b.Store.Search(ctx, scope, query, limit)
			if scope == protocol.InSession("s1") && err == nil {
				more, _ := b.Store.Search(ctx, protocol.InSession("s1.x"), query, limit)
				found = append(found, more...)
			}
			return found, err
		}
	},
	"search_skips_deleted": func(b *broken) {
		b.remove = func(ctx context.Context, at place) error {
			b.mu.Lock()
			b.values[at] = json.RawMessage{}
			b.mu.Unlock()
			return b.Store.Delete(ctx, at.scope, at.key)
		}
		b.search = func(ctx context.Context, scope protocol.Scope, query string, limit int) (results, error) {
			b.mu.Lock()
			defer b.mu.Unlock()
			found, err := b.Store.Search(ctx, scope, query, limit)
			for at := range b.values {
				found = append(found, protocol.SearchResult{Key: at.key})
			}
			return found, err
		}
	},
}

// overlapping has writes last a while and calls met when one begins while another, of the same key or not, goes on.
func (b *broken) overlapping(met func(same bool) (drop bool, err error)) {
	b.write = func(ctx context.Context, at place, v json.RawMessage, opts protocol.StoreOptions) error {
		b.mu.Lock()
		same, other := b.counts[at] > 0, len(b.counts) > 1 || len(b.counts) == 1 && b.counts[at] == 0
		b.counts[at]++
		b.mu.Unlock()
		defer func() {
			b.mu.Lock()
			defer b.mu.Unlock()
			if b.counts[at]--; b.counts[at] == 0 {
				delete(b.counts, at)
			}
		}()
		time.Sleep(100 * time.Microsecond)
		if same || other {
			if drop, err := met(same); drop || err != nil {
				return err
			}
		}
		return b.Store.Write(ctx, at.scope, at.key, v, opts)
	}
}

var useDefects = map[string]func(b *broken){
	"concurrent_writers": func(b *broken) { // one of two writes of different keys is lost
		b.overlapping(func(same bool) (bool, error) { return !same, nil })
	},
	"concurrent_writers_of_one_key": func(b *broken) { // one of two writers of a key is refused
		b.overlapping(func(same bool) (bool, error) {
			if same {
				return true, protocol.ErrWriteFailed("busy").WithCode(protocol.CodeConflict)
			}
			return false, nil
		})
	},
	"written_slice_is_the_callers": func(b *broken) {
		b.write = func(ctx context.Context, at place, v json.RawMessage, opts protocol.StoreOptions) error {
			b.mu.Lock()
			b.values[at] = v
			b.mu.Unlock()
			return b.Store.Write(ctx, at.scope, at.key, v, opts)
		}
		b.read = func(ctx context.Context, at place) (json.RawMessage, error) {
			b.mu.Lock()
			defer b.mu.Unlock()
			v, err := b.Store.Read(ctx, at.scope, at.key)
			if v == nil || v[0] != '"' {
				return v, err
			}
			return slices.Clone(b.values[at]), err
		}
	},
	"read_slice_is_the_callers": func(b *broken) {
		b.write = func(ctx context.Context, at place, v json.RawMessage, opts protocol.StoreOptions) error {
			b.mu.Lock()
			delete(b.values, at)
			b.mu.Unlock()
			return b.Store.Write(ctx, at.scope, at.key, v, opts)
		}
		b.read = func(ctx context.Context, at place) (json.RawMessage, error) {
			b.mu.Lock()
			defer b.mu.Unlock()
			v, err := b.Store.Read(ctx, at.scope, at.key)
			if v == nil || at.key != "k" {
				return v, err
			}
			if b.values[at] == nil {
				b.values[at] = v
			}
			return b.values[at], nil
		}
	},
	"cancelled_read": func(b *broken) {
		b.read = func(ctx context.Context, at place) (json.RawMessage, error) {
			return b.Store.Read(context.WithoutCancel(ctx), at.scope, at.key)
		}
	},
	"cancelled_write": func(b *broken) {
		b.write = func(ctx context.Context, at place, v json.RawMessage, opts protocol.StoreOptions) error {
			return b.Store.Write(context.WithoutCancel(ctx), at.scope, at.key, v, opts)
		}
	},
	"cancelled_delete": func(b *broken) {
		b.remove = func(ctx context.Context, at place) error {
			return b.Store.Delete(context.WithoutCancel(ctx), at.scope, at.key)
		}
	},
	"cancelled_list": func(b *broken) { // an error, but not of the kind that was promised
		b.list = func(ctx context.Context, scope protocol.Scope, prefix string) ([]string, error) {
			if err := ctx.Err(); err != nil {
				return nil, err
			}
			return b.Store.List(ctx, scope, prefix)
		}
	},
	"cancelled_search": func(b *broken) {
		b.search = func(ctx context.Context, scope protocol.Scope, query string, limit int) (results, error) {
			return b.Store.Search(context.WithoutCancel(ctx), scope, query, limit)
		}
	},
}

var graphDefects = map[string]func(b *broken){
	"graph_traverse": func(b *broken) { // farthest first
		b.traverse = func(ctx context.Context, scope protocol.Scope, from, relation string, depth int) ([]string, error) {
			keys, err := b.Store.Traverse(ctx, scope, from, relation, depth)
			slices.Reverse(keys)
			return keys, err
		}
	},
	"graph_depth": func(b *broken) {
		b.traverse = func(ctx context.Context, scope protocol.Scope, from, relation string, depth int) ([]string, error) {
			return b.Store.Traverse(ctx, scope, from, relation, depth+1)
		}
	},
	"graph_cycles": func(b *broken) { // the start reaches itself
		b.traverse = func(ctx context.Context, scope protocol.Scope, from, relation string, depth int) ([]string, error) {
			keys, err := b.Store.Traverse(ctx, scope, from, relation, depth)
			for _, key := range slices.Clone(keys) {
				if back, _ := b.Store.Traverse(ctx, scope, key, relation, 1); slices.Contains(back, from) {
					keys = append(keys, from)
				}
			}
			return keys, err
		}
	},
	"graph_relations": func(b *broken) { // an empty relation is one like any other
		b.traverse = func(ctx context.Context, scope protocol.Scope, from, relation string, depth int) ([]string, error) {
			if relation == "" {
				return nil, nil
			}
			return b.Store.Traverse(ctx, scope, from, relation, depth)
		}
	},
	"graph_unlink": func(b *broken) { // all relations between two keys
		b.unlink = func(ctx context.Context, scope protocol.Scope, from, to, _ string) error {
			for _, relation := range []string{"r", "s"} {
				if err := b.Store.Unlink(ctx, scope, from, to, relation); err != nil {
					return err
				}
			}
			return nil
		}
	},
	"graph_link_again": func(b *broken) {
		b.link = func(ctx context.Context, scope protocol.Scope, link protocol.MemoryLink) error {
			if there, _ := b.Store.Traverse(ctx, scope, link.FromKey, link.Relation, 1); slices.Contains(there, link.ToKey) {
				return protocol.ErrWriteFailed("the link is there").WithCode(protocol.CodeConflict)
			}
			return b.Store.Link(ctx, scope, link)
		}
	},
	"graph_is_isolated": func(b *broken) {
		b.traverse = func(ctx context.Context, scope protocol.Scope, from, relation string, depth int) ([]string, error) {
			keys, err := b.Store.Traverse(ctx, scope, from, relation, depth)
			more, _ := b.Store.Traverse(ctx, protocol.GlobalScope(), from, relation, depth)
			return append(keys, more...), err
		}
	},
	"graph_apart_from_values": func(b *broken) {
		b.list = func(ctx context.Context, scope protocol.Scope, prefix string) ([]string, error) {
			keys, err := b.Store.List(ctx, scope, prefix)
			if to, _ := b.Store.Traverse(ctx, scope, "a", "", 1); len(to) > 0 {
				keys = append(keys, "link.a.r.b")
			}
			return keys, err
		}
	},
	"graph_keys_of_any_bytes": func(b *broken) {
		b.traverse = func(ctx context.Context, scope protocol.Scope, from, relation string, depth int) ([]string, error) {
			keys, err := b.Store.Traverse(ctx, scope, from, relation, depth)
			for i := range keys {
				keys[i] = strings.ToValidUTF8(keys[i], "?")
			}
			return keys, err
		}
	},
}
