package statetest_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/skelegent/skelegent-go/protocol"
	"github.com/skelegent/skelegent-go/state/memory"
)

// brokenStores returns stores by the name of the one clause that each of them breaks.
func brokenStores() map[string]func() protocol.StateStore {
	all := map[string]func() protocol.StateStore{}
	for _, defects := range []map[string]func(b *broken){
		basicDefects, keyDefects, valueDefects, listDefects, ttlDefects, searchDefects, useDefects, graphDefects,
	} {
		for name, damage := range defects {
			all[name] = func() protocol.StateStore {
				b := &broken{
					Store:  memory.New(memory.Config{}),
					values: map[place]json.RawMessage{}, counts: map[place]int{}, times: map[place]time.Time{},
				}
				damage(b)
				return b
			}
		}
	}
	return all
}

var basicDefects = map[string]func(b *broken){
	"read_missing": func(b *broken) { // an error in a store that was never written to
		written := false
		b.write = func(ctx context.Context, at place, v json.RawMessage, opts protocol.StoreOptions) error {
			b.mu.Lock()
			written = true
			b.mu.Unlock()
			return b.Store.Write(ctx, at.scope, at.key, v, opts)
		}
		b.read = func(ctx context.Context, at place) (json.RawMessage, error) {
			b.mu.Lock()
			defer b.mu.Unlock()
			v, err := b.Store.Read(ctx, at.scope, at.key)
			if err == nil && !written {
				err = protocol.ErrStateNotFound(at.scope.String(), at.key)
			}
			return v, err
		}
	},
	"write_then_read": func(b *broken) { // a value can be read twice
		b.read = func(ctx context.Context, at place) (json.RawMessage, error) {
			b.mu.Lock()
			defer b.mu.Unlock()
			if b.counts[at]++; b.counts[at] > 2 && at.key == "k" {
				return nil, nil
			}
			return b.Store.Read(ctx, at.scope, at.key)
		}
		b.write = func(ctx context.Context, at place, v json.RawMessage, opts protocol.StoreOptions) error {
			b.mu.Lock()
			b.counts[at] = 0
			b.mu.Unlock()
			return b.Store.Write(ctx, at.scope, at.key, v, opts)
		}
	},
	"overwrite": func(b *broken) { // a value that was there before is taken for a repetition
		b.write = func(ctx context.Context, at place, v json.RawMessage, opts protocol.StoreOptions) error {
			b.mu.Lock()
			before := place{at.scope, at.key + "\x00" + string(v)}
			b.counts[before]++
			again := b.counts[before] > 1
			b.mu.Unlock()
			if again && json.Valid(v) {
				return nil
			}
			return b.Store.Write(ctx, at.scope, at.key, v, opts)
		}
	},
	"delete": func(b *broken) { // deleted values can still be read
		second := b.twin()
		b.read = func(ctx context.Context, at place) (json.RawMessage, error) {
			v, err := b.Store.Read(ctx, at.scope, at.key)
			b.mu.Lock()
			deleted := b.counts[at] > 0
			b.mu.Unlock()
			if v == nil && err == nil && deleted {
				return second.Read(ctx, at.scope, at.key)
			}
			return v, err
		}
		b.remove = func(ctx context.Context, at place) error {
			b.mu.Lock()
			b.counts[at]++
			b.mu.Unlock()
			return b.Store.Delete(ctx, at.scope, at.key)
		}
	},
	"delete_missing": func(b *broken) {
		b.remove = func(ctx context.Context, at place) error {
			if v, err := b.Store.Read(ctx, at.scope, at.key); v == nil && err == nil {
				return protocol.ErrStateNotFound(at.scope.String(), at.key)
			}
			return b.Store.Delete(ctx, at.scope, at.key)
		}
	},
	"write_after_delete": func(b *broken) {
		b.remove = func(ctx context.Context, at place) error {
			b.mu.Lock()
			b.counts[at]++
			b.mu.Unlock()
			return b.Store.Delete(ctx, at.scope, at.key)
		}
		b.write = func(ctx context.Context, at place, v json.RawMessage, opts protocol.StoreOptions) error {
			b.mu.Lock()
			deleted := b.counts[at] > 0
			b.mu.Unlock()
			if deleted {
				return nil
			}
			return b.Store.Write(ctx, at.scope, at.key, v, opts)
		}
	},
	"scopes_are_isolated": func(b *broken) { // the parts of an operator scope are joined without escaping
		b.aliased(func(at place) place {
			return place{key: strings.Join([]string{string(at.scope.Kind()), at.scope.ID(), string(at.scope.Operator()), at.key}, ".")}
		})
	},
	"deletes_are_isolated": func(b *broken) {
		b.remove = func(ctx context.Context, at place) error {
			if err := b.Store.Delete(ctx, protocol.GlobalScope(), at.key); err != nil {
				return err
			}
			return b.Store.Delete(ctx, at.scope, at.key)
		}
	},
	"lists_are_isolated": func(b *broken) { // a filter on the session's id as a prefix
		b.list = func(ctx context.Context, scope protocol.Scope, prefix string) ([]string, error) {
			keys, err := b.Store.List(ctx, scope, prefix)
			if scope == protocol.InSession("a") {
				more, _ := b.Store.List(ctx, protocol.InSession("a.b"), prefix)
				keys = append(keys, more...)
			}
			return keys, err
		}
	},
}

var keyDefects = map[string]func(b *broken){
	"keys_of_any_bytes": func(b *broken) {
		b.aliased(func(at place) place { return place{at.scope, strings.ReplaceAll(at.key, "=2E", ".")} })
	},
	"keys_of_any_bytes_listed": func(b *broken) {
		b.list = func(ctx context.Context, scope protocol.Scope, prefix string) ([]string, error) {
			keys, err := b.Store.List(ctx, scope, prefix)
			for i := range keys {
				keys[i], _, _ = strings.Cut(keys[i], "\x00")
			}
			return keys, err
		}
	},
	"long_keys": func(b *broken) {
		b.aliased(func(at place) place { return place{at.scope, at.key[:min(200, len(at.key))]} })
	},
	"long_keys_listed": func(b *broken) {
		b.list = func(ctx context.Context, scope protocol.Scope, prefix string) ([]string, error) {
			keys, err := b.Store.List(ctx, scope, prefix)
			for i := range keys {
				if len(keys[i]) > 200 {
					keys[i] = fmt.Sprintf("digest-%d", i)
				}
			}
			return keys, err
		}
	},
}

var valueDefects = map[string]func(b *broken){
	"value_null": func(b *broken) {
		b.write = func(ctx context.Context, at place, v json.RawMessage, opts protocol.StoreOptions) error {
			if string(v) == "null" {
				return b.Store.Delete(ctx, at.scope, at.key)
			}
			return b.Store.Write(ctx, at.scope, at.key, v, opts)
		}
	},
	"value_scalars": func(b *broken) {
		b.rewriting(func(v json.RawMessage) json.RawMessage {
			if string(v) == "{}" || string(v) == "[]" {
				return json.RawMessage("null")
			}
			return v
		})
	},
	"value_numbers": func(b *broken) { // through a float
		b.rewriting(func(v json.RawMessage) json.RawMessage {
			f, err := strconv.ParseFloat(string(v), 64)
			if err != nil {
				return v
			}
			return strconv.AppendFloat(nil, f, 'f', -1, 64)
		})
	},
	"value_nested": func(b *broken) { // sorts the members of objects
		b.rewriting(func(v json.RawMessage) json.RawMessage {
			if v[0] != '{' {
				return v
			}
			var m map[string]any
			_ = json.Unmarshal(v, &m)
			sorted, _ := protocol.Marshal(m)
			return sorted
		})
	},
	"value_html": func(b *broken) {
		b.rewriting(func(v json.RawMessage) json.RawMessage {
			var out bytes.Buffer
			json.HTMLEscape(&out, v)
			return out.Bytes()
		})
	},
	"value_escapes": func(b *broken) {
		b.rewriting(func(v json.RawMessage) json.RawMessage {
			return bytes.ReplaceAll(v, []byte(`\ud83e`), []byte(`\ufffd`))
		})
	},
	"value_white_space": func(b *broken) {
		b.rewriting(func(v json.RawMessage) json.RawMessage {
			if v[0] != ' ' {
				return v
			}
			return bytes.ReplaceAll(v, []byte(" "), nil)
		})
	},
	"value_not_json": func(b *broken) {
		b.write = func(ctx context.Context, at place, v json.RawMessage, opts protocol.StoreOptions) error {
			if !json.Valid(v) || !utf8.Valid(v) {
				return nil
			}
			return b.Store.Write(ctx, at.scope, at.key, v, opts)
		}
	},
	"value_large": func(b *broken) {
		b.write = func(ctx context.Context, at place, v json.RawMessage, opts protocol.StoreOptions) error {
			if len(v) > 1<<20 {
				return protocol.ErrWriteFailed("too large").WithCode(protocol.CodeQuotaExceeded)
			}
			return b.Store.Write(ctx, at.scope, at.key, v, opts)
		}
	},
	"options_kept": func(b *broken) {
		b.options = func(at place) (protocol.StoreOptions, bool, error) {
			opts, found, err := b.Store.Options(context.Background(), at.scope, at.key)
			opts.ContentKind = nil
			return opts, found, err
		}
	},
}

var listDefects = map[string]func(b *broken){
	"list_prefix": func(b *broken) { // takes the prefix for a word
		b.list = func(ctx context.Context, scope protocol.Scope, prefix string) ([]string, error) {
			return b.Store.List(ctx, scope, strings.TrimRight(prefix, ":"))
		}
	},
	"list_sorted": func(b *broken) {
		b.list = func(ctx context.Context, scope protocol.Scope, prefix string) ([]string, error) {
			keys, err := b.Store.List(ctx, scope, prefix)
			slices.Reverse(keys)
			return keys, err
		}
	},
	"list_unknown_scope": func(b *broken) {
		b.write = func(ctx context.Context, at place, v json.RawMessage, opts protocol.StoreOptions) error {
			b.mu.Lock()
			b.counts[place{scope: at.scope}]++
			b.mu.Unlock()
			return b.Store.Write(ctx, at.scope, at.key, v, opts)
		}
		b.list = func(ctx context.Context, scope protocol.Scope, prefix string) ([]string, error) {
			b.mu.Lock()
			unknown := b.counts[place{scope: scope}] == 0
			b.mu.Unlock()
			keys, err := b.Store.List(ctx, scope, prefix)
			if err == nil && unknown {
				err = protocol.ErrStateNotFound(scope.String(), "")
			}
			return keys, err
		}
	},
	"list_many": func(b *broken) { // one page
		b.list = func(ctx context.Context, scope protocol.Scope, prefix string) ([]string, error) {
			keys, err := b.Store.List(ctx, scope, prefix)
			return keys[:min(len(keys), 256)], err
		}
	},
	"list_skips_deleted": func(b *broken) {
		b.remove = func(ctx context.Context, at place) error {
			b.mu.Lock()
			b.values[at] = json.RawMessage{}
			b.mu.Unlock()
			return b.Store.Delete(ctx, at.scope, at.key)
		}
		b.list = func(ctx context.Context, scope protocol.Scope, prefix string) ([]string, error) {
			b.mu.Lock()
			defer b.mu.Unlock()
			keys, err := b.Store.List(ctx, scope, prefix)
			for at := range b.values {
				keys = append(keys, at.key)
			}
			return keys, err
		}
	},
	"list_once": func(b *broken) { // once a revision
		b.write = func(ctx context.Context, at place, v json.RawMessage, opts protocol.StoreOptions) error {
			b.mu.Lock()
			b.counts[at]++
			b.mu.Unlock()
			return b.Store.Write(ctx, at.scope, at.key, v, opts)
		}
		b.list = func(ctx context.Context, scope protocol.Scope, prefix string) ([]string, error) {
			b.mu.Lock()
			defer b.mu.Unlock()
			keys, err := b.Store.List(ctx, scope, prefix)
			for _, key := range slices.Clone(keys) {
				for range b.counts[place{scope, key}] - 1 {
					keys = append(keys, key)
				}
			}
			return keys, err
		}
	},
}
