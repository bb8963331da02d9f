package statetest

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/skelegent/skelegent-go/protocol"
)

var searchClauses = []Clause{
	clause("search_finds", func(b bench) {
		b.write(session, "a", `"the lighthouse keeper"`)
		b.write(session, "b", `{"place":"a lighthouse"}`)
		b.write(session, "c", `"a boat"`)
		found := map[string]bool{}
		for _, r := range b.search(session, "lighthouse", 10) {
			found[r.Key] = true
		}
		if len(found) != 2 || !found["a"] || !found["b"] {
			b.Errorf("got %v", found)
		}
	}),
	clause("search_ignores_case", func(b bench) {
		b.write(session, "k", `"Grüße aus OSLO"`)
		for _, query := range []string{"oslo", "Oslo", "GRÜSSE"[:4]} {
			if len(b.search(session, query, 10)) != 1 {
				b.Errorf("search for %q: not found", query)
			}
		}
	}),
	clause("search_best_first", func(b bench) {
		b.write(session, "rare", `"go and many other words that are long"`)
		b.write(session, "often", `"go go go go"`)
		b.write(session, "some", `"go and go and so on"`)
		b.finds(session, "go", 10, "often", "some", "rare")
		results := b.search(session, "go", 10)
		for i := 1; i < len(results); i++ {
			if results[i].Score > results[i-1].Score {
				b.Errorf("scores rise: %v", results)
			}
		}
	}),
	clause("search_limit", func(b bench) {
		for i := range 5 {
			b.write(session, fmt.Sprint(i), `"needle"`)
		}
		if got := len(b.search(session, "needle", 3)); got != 3 {
			b.Errorf("limit 3: got %d results", got)
		}
	}),
	clause("search_nothing", func(b bench) {
		b.write(session, "k", `"needle"`)
		b.finds(session, "haystack", 10)
		b.finds(protocol.InSession("nobody"), "needle", 10)
		b.finds(session, "", 10)
		b.finds(session, "needle", 0)
	}),
	clause("search_snippet", func(b bench) {
		for pad := range 4 {
			b.write(session, "k", `"`+strings.Repeat("x", pad)+strings.Repeat("日本", 200)+`"`)
			for _, r := range b.search(session, "本", 1) {
				if r.Snippet != nil && (!utf8.ValidString(*r.Snippet) || len(*r.Snippet) > 1024) {
					b.Errorf("snippet of %d bytes: %.300q", len(*r.Snippet), *r.Snippet)
				}
			}
		}
	}),
	clause("search_is_isolated", func(b bench) {
		other := protocol.InSession("s1.x")
		b.write(session, "mine", `"needle"`)
		b.write(other, "theirs", `"needle"`)
		for _, r := range b.search(session, "needle", 10) {
			if r.Key == "theirs" {
				b.Errorf("a search found another scope's value")
			}
		}
	}),
	clause("search_skips_deleted", func(b bench) {
		b.write(session, "gone", `"needle"`)
		b.delete(session, "gone")
		for _, r := range b.search(session, "needle", 10) {
			b.Errorf("a search found the deleted %q", r.Key)
		}
	}),
}
