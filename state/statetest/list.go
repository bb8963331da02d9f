package statetest

import (
	"fmt"
	"time"

	"github.com/skelegent/skelegent-go/protocol"
)

var listClauses = []Clause{
	clause("list_prefix", func(b bench) {
		for _, key := range []string{"user:name", "config", "user:email", "user", "User:x", "users"} {
			b.write(session, key, `0`)
		}
		got := map[string]bool{}
		for _, key := range b.list(session, "user:") {
			got[key] = true
		}
		if len(got) != 2 || !got["user:name"] || !got["user:email"] {
			b.Errorf("list with prefix user: got %v", got)
		}
		if keys := b.list(session, "nothing"); len(keys) != 0 {
			b.Errorf("list with a prefix that no key has: got %v", keys)
		}
	}),
	clause("list_sorted", func(b bench) {
		for _, key := range []string{"b", "a", "c:2", "c.1", "B", "c-1", "", "é", "c", "\xff"} {
			b.write(session, key, `0`)
		}
		b.lists(session, "", "", "B", "a", "b", "c", "c-1", "c.1", "c:2", "é", "\xff") // by bytes
	}),
	clause("list_unknown_scope", func(b bench) { b.lists(protocol.InSession("nobody"), "") }),
	clause("list_many", func(b bench) {
		const n = 300
		for i := range n {
			b.write(session, fmt.Sprintf("key-%03d", i), `0`)
		}
		if got := b.list(session, "key-"); len(got) != n {
			b.Errorf("list: got %d keys, want %d", len(got), n)
		}
	}),
	clause("list_skips_deleted", func(b bench) {
		b.write(session, "kept", `0`)
		b.write(session, "gone", `0`)
		b.delete(session, "gone")
		for _, key := range b.list(session, "") {
			if key == "gone" {
				b.Errorf("list: a deleted key is there")
			}
		}
	}),
	clause("list_once", func(b bench) {
		b.write(session, "k", `1`)
		b.write(session, "k", `2`)
		b.lists(session, "", "k")
	}),
}

// patience is how long a clause waits for a value of ttl to go.
var patience = 5 * time.Second

const ttl = 50 * time.Millisecond

// expiring writes a value with a short TTL.
func (b bench) expiring(key, value string) {
	b.Helper()
	m := protocol.MillisOf(ttl)
	b.writeWith(session, key, value, protocol.StoreOptions{TTL: &m})
}

// gone waits for a check to hold.
func (b bench) gone(what string, check func() bool) {
	b.Helper()
	tick := time.NewTicker(ttl / 3)
	defer tick.Stop()
	for end := time.Now().Add(patience); !check(); {
		if time.Now().After(end) {
			b.Errorf("%s is there %v after a write with a TTL of %v", what, patience, ttl)
			return
		}
		<-tick.C
	}
}

var ttlClauses = []Clause{
	clause("ttl_read", func(b bench) {
		b.expiring("short", `1`)
		b.gone("the value", func() bool { return b.read(session, "short") == nil })
	}),
	clause("ttl_list", func(b bench) {
		b.expiring("short", `1`)
		b.gone("the key", func() bool { return len(b.list(session, "")) == 0 })
	}),
	clause("ttl_search", func(b bench) {
		b.expiring("short", `"needle"`)
		b.gone("the result", func() bool { return len(b.search(session, "needle", 5)) == 0 })
	}),
	clause("ttl_not_yet", func(b bench) {
		for name, d := range map[string]time.Duration{"hour": time.Hour, "century": 100 * 365 * 24 * time.Hour} {
			m := protocol.MillisOf(d)
			b.writeWith(session, name, `1`, protocol.StoreOptions{TTL: &m})
			if b.read(session, name) == nil {
				b.Errorf("a value with a TTL of a %s is gone", name)
			}
		}
	}),
	clause("ttl_ends_with_overwrite", func(b bench) {
		b.write(session, "other", `0`)
		b.expiring("k", `1`)
		b.write(session, "k", `2`)
		<-time.After(3 * ttl)
		if b.read(session, "k") == nil || b.read(session, "other") == nil {
			b.Errorf("a value without TTL went with one that had it")
		}
	}),
	clause("ttl_over_and_written_again", func(b bench) {
		b.expiring("k", `1`)
		<-time.After(3 * ttl)
		b.write(session, "k", `2`)
		if b.read(session, "k") == nil {
			b.Errorf("a key whose value expired cannot be written again")
		}
	}),
}
