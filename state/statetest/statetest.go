package statetest

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"testing"

	"github.com/skelegent/skelegent-go/protocol"
)

// T is what a clause needs of a *testing.T.
type T interface {
	// Helper marks the caller as a helper.
	Helper()
	// Context ends shortly after the clause.
	Context() context.Context
	// Errorf records a failure and goes on.
	Errorf(format string, args ...any)
	// Fatalf records a failure and ends the clause; it does not return.
	Fatalf(format string, args ...any)
}

// Clause is one promise.
type Clause struct {
	// Name is that of the subtest.
	Name string
	// Asks says why the clause cannot be checked on a store, empty if it can.
	Asks func(s protocol.StateStore) string
	// Check fails t if s, which must be empty, breaks the promise.
	Check func(t T, s protocol.StateStore)
}

// OptionReader is a store that can say how a value was written. The interfaces of protocol do not demand it.
type OptionReader interface {
	// Options returns the options of the last write of a key, with what is left of its TTL; false where there is no
	// value.
	Options(ctx context.Context, scope protocol.Scope, key string) (protocol.StoreOptions, bool, error)
}

// Clauses returns all of them, in the order in which they are best read.
func Clauses() []Clause {
	return slices.Concat(basicClauses, scopeClauses, keyClauses, valueClauses, listClauses, ttlClauses, searchClauses,
		useClauses, graphClauses)
}

// Run checks every clause against a store of its own, in parallel. The stores that open returns must be empty; what they
// need to be closed belongs into t.Cleanup.
func Run(t *testing.T, open func(t testing.TB) protocol.StateStore) {
	t.Helper()
	for _, c := range Clauses() {
		t.Run(c.Name, func(t *testing.T) {
			t.Parallel()
			s := open(t)
			if c.Asks != nil {
				if why := c.Asks(s); why != "" {
					t.Skip(why)
				}
			}
			c.Check(t, s)
		})
	}
}

// session is the scope of clauses that are not about scopes.
var session = protocol.InSession("s1")

// bench is a store under a clause: every call must succeed.
type bench struct {
	T
	store protocol.StateStore
}

func (b bench) write(scope protocol.Scope, key, value string) {
	b.Helper()
	b.writeWith(scope, key, value, protocol.StoreOptions{})
}

func (b bench) writeWith(scope protocol.Scope, key, value string, opts protocol.StoreOptions) {
	b.Helper()
	if err := b.store.Write(b.Context(), scope, key, json.RawMessage(value), opts); err != nil {
		b.Fatalf("write %s/%.40q: %v", scope, key, err)
	}
}

func (b bench) delete(scope protocol.Scope, key string) {
	b.Helper()
	if err := b.store.Delete(b.Context(), scope, key); err != nil {
		b.Fatalf("delete %s/%.40q: %v", scope, key, err)
	}
}

func (b bench) read(scope protocol.Scope, key string) json.RawMessage {
	b.Helper()
	got, err := b.store.Read(b.Context(), scope, key)
	if err != nil {
		b.Fatalf("read %s/%.40q: %v", scope, key, err)
	}
	return got
}

// wants reads a key; want is empty for no value.
func (b bench) wants(scope protocol.Scope, key, want string) {
	b.Helper()
	got := b.read(scope, key)
	if string(got) != want {
		b.Errorf("read %.80q/%.40q: got %.80q, want %.80q", scope, key, got, want)
	}
	if want == "" && got != nil {
		b.Errorf("read %.80q/%.40q: got an empty slice, want nil", scope, key)
	}
}

func (b bench) list(scope protocol.Scope, prefix string) []string {
	b.Helper()
	keys, err := b.store.List(b.Context(), scope, prefix)
	if err != nil {
		b.Fatalf("list %.80q: %v", scope, err)
	}
	return keys
}

func (b bench) lists(scope protocol.Scope, prefix string, want ...string) { //nolint:unparam // it says at the call what is listed
	b.Helper()
	if got := b.list(scope, prefix); !slices.Equal(got, want) {
		b.Errorf("list %.80q with prefix %.40q: got %.200q, want %.200q", scope, prefix, got, want)
	}
}

func (b bench) search(scope protocol.Scope, query string, limit int) []protocol.SearchResult {
	b.Helper()
	found, err := b.store.Search(b.Context(), scope, query, limit)
	if err != nil {
		b.Fatalf("search %.80q for %q: %v", scope, query, err)
	}
	return found
}

func (b bench) finds(scope protocol.Scope, query string, limit int, want ...string) {
	b.Helper()
	var got []string
	for _, r := range b.search(scope, query, limit) {
		got = append(got, r.Key)
	}
	if !slices.Equal(got, want) {
		b.Errorf("search %.80q for %q, limit %d: got %.200q, want %.200q", scope, query, limit, got, want)
	}
}

// fails checks that err is an *protocol.Error with the code.
func (b bench) fails(what string, err error, code protocol.Code) {
	b.Helper()
	var coded *protocol.Error
	switch {
	case err == nil:
		b.Errorf("%s: no error, want %s", what, code)
	case !errors.As(err, &coded):
		b.Errorf("%s: got %T (%v), want an *protocol.Error", what, err, err)
	case coded.Code != code:
		b.Errorf("%s: got code %s (%v), want %s", what, coded.Code, err, code)
	}
}

// clause makes a Clause of a check on a bench.
func clause(name string, check func(b bench)) Clause {
	return Clause{Name: name, Check: func(t T, s protocol.StateStore) { check(bench{t, s}) }}
}
