package statetest

import (
	"fmt"
	"slices"
	"strings"

	"github.com/skelegent/skelegent-go/protocol"
)

var basicClauses = []Clause{
	clause("read_missing", func(b bench) { b.wants(session, "none", "") }),
	clause("write_then_read", func(b bench) {
		b.write(session, "k", `{"n":1}`)
		for range 3 { // reading takes nothing away
			b.wants(session, "k", `{"n":1}`)
		}
	}),
	clause("overwrite", func(b bench) {
		b.write(session, "k", `"one"`)
		b.write(session, "k", `"two"`)
		b.wants(session, "k", `"two"`)
		b.write(session, "k", `"one"`) // also with what was there before
		b.wants(session, "k", `"one"`)
	}),
	clause("delete", func(b bench) {
		b.write(session, "k", `1`)
		b.write(session, "other", `2`)
		b.delete(session, "k")
		b.wants(session, "k", "")
		b.wants(session, "other", `2`)
	}),
	clause("delete_missing", func(b bench) {
		b.delete(session, "none")
		b.delete(session, "none")
	}),
	clause("write_after_delete", func(b bench) {
		b.write(session, "k", `1`)
		b.delete(session, "k")
		b.write(session, "k", `2`)
		if got := b.read(session, "k"); string(got) == "" {
			b.Errorf("the value is gone")
		}
	}),
}

// scopes are those that a store is most likely to take for each other.
func scopes() []protocol.Scope {
	var all []protocol.Scope
	ids := []string{"", "a", "b", "a.b", "a/b", "A", "=", "a=2Eb", "*", ">", " ", "global", "\x00", "日本", strings.Repeat("x", 300)}
	for _, id := range ids {
		all = append(all, protocol.InSession(protocol.SessionID(id)), protocol.InWorkflow(protocol.WorkflowID(id)), protocol.CustomScope(id))
		for _, op := range []string{"", "a", "b", "a.b", "b.b"} {
			all = append(all, protocol.OfOperator(protocol.WorkflowID(id), protocol.OperatorID(op)))
		}
	}
	return append(all, protocol.GlobalScope())
}

var scopeClauses = []Clause{
	clause("scopes_are_isolated", func(b bench) {
		all := scopes()
		for i, scope := range all {
			b.write(scope, "b", fmt.Sprint(i))
		}
		for i, scope := range all {
			b.wants(scope, "b", fmt.Sprint(i))
		}
	}),
	clause("deletes_are_isolated", func(b bench) {
		for _, scope := range []protocol.Scope{session, protocol.GlobalScope(), protocol.InWorkflow("s1")} {
			b.write(scope, "b", `1`)
		}
		b.delete(session, "b")
		if b.read(protocol.GlobalScope(), "b") == nil || b.read(protocol.InWorkflow("s1"), "b") == nil {
			b.Errorf("deleting a key in one scope removed it in another")
		}
	}),
	clause("lists_are_isolated", func(b bench) {
		all := scopes()
		for i, scope := range all {
			b.write(scope, fmt.Sprint("key-", i), `0`)
		}
		for i, scope := range all {
			b.lists(scope, "", fmt.Sprint("key-", i))
		}
	}),
}

// tricky are keys that a store is most likely to mistreat.
func tricky() []string {
	keys := []string{
		"", ".", "..", "a.b", "a..b", ".a", "a.", "*", ">", "a.>", "=", "==", "=2E", "a=2Eb", "a b", " ", "\t\n", "a/b", "../etc/passwd",
		"a%2Fb", "C:\\x", "user:name", "\x00", "a\x00b", "\xff\xfe", "日本", "é", "e\u0301", "A", "a", "<&>", `"quoted"`, "$SYS", "_meta", "a_meta",
		"-", "--flag", "global", "link", "null",
	}
	return keys
}

var keyClauses = []Clause{
	clause("keys_of_any_bytes", func(b bench) {
		for i, key := range tricky() {
			b.write(session, key, fmt.Sprint(i))
		}
		for i, key := range tricky() {
			b.wants(session, key, fmt.Sprint(i))
		}
	}),
	clause("keys_of_any_bytes_listed", func(b bench) {
		for _, key := range tricky() {
			b.write(session, key, `0`)
		}
		missing := map[string]bool{}
		for _, key := range tricky() {
			missing[key] = true
		}
		for _, key := range b.list(session, "") {
			if !missing[key] {
				b.Errorf("list: %q was never written, or is listed twice", key)
			}
			delete(missing, key)
		}
		for key := range missing {
			b.Errorf("list: %q is missing", key)
		}
	}),
	clause("long_keys", func(b bench) {
		for n, key := range longKeys() {
			b.write(session, key, fmt.Sprint(n))
		}
		for n, key := range longKeys() {
			if got := string(b.read(session, key)); got != fmt.Sprint(n) {
				b.Errorf("read of a key of %d bytes: got %.80q, want %d", len(key), got, n)
			}
		}
	}),
	clause("long_keys_listed", func(b bench) {
		key := strings.Repeat("long/", 2_000)
		b.write(session, key+"\xff", `1`)
		b.write(session, key+"b", `1`)
		got := b.list(session, key)
		if len(got) != 2 || !slices.Contains(got, key+"b") || !slices.Contains(got, key+"\xff") {
			b.Errorf("list of keys of 10 kB: got %d keys: %.60q", len(got), got)
		}
	}),
}

// longKeys differ only at their end.
func longKeys() []string {
	return []string{
		strings.Repeat("k", 199), strings.Repeat("k", 200), strings.Repeat("k", 201), strings.Repeat("k", 201) + ".",
		strings.Repeat("k", 10_000) + "a", strings.Repeat("k", 10_000) + "b", strings.Repeat("\xf0\x9f\xa6\xb4", 2_500),
	}
}
