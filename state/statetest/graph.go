package statetest

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/skelegent/skelegent-go/protocol"
)

// links is a clause about the relations of a store.
func links(name string, check func(b bench, g protocol.Graph)) Clause {
	return Clause{
		Name: name,
		Asks: func(s protocol.StateStore) string {
			if _, ok := s.(protocol.Graph); !ok {
				return "the store keeps no relations"
			}
			return ""
		},
		Check: func(t T, s protocol.StateStore) { check(bench{t, s}, s.(protocol.Graph)) },
	}
}

// link adds relations, each given as "from relation to".
func (b bench) link(g protocol.Graph, scope protocol.Scope, edges ...string) {
	b.Helper()
	for _, e := range edges {
		f := strings.Fields(e)
		if err := g.Link(b.Context(), scope, protocol.MemoryLink{FromKey: f[0], Relation: f[1], ToKey: f[2]}); err != nil {
			b.Fatalf("link %s: %v", e, err)
		}
	}
}

func (b bench) reach(g protocol.Graph, scope protocol.Scope, from, relation string, depth int) []string {
	b.Helper()
	got, err := g.Traverse(b.Context(), scope, from, relation, depth)
	if err != nil {
		b.Fatalf("traverse from %.40q: %v", from, err)
	}
	return got
}

// reaches compares without regard to the order among keys at one distance, given as one string each.
func (b bench) reaches(g protocol.Graph, from, relation string, depth int, levels ...string) {
	b.Helper()
	got := b.reach(g, session, from, relation, depth)
	at := 0
	for _, level := range levels {
		want := strings.Fields(level)
		if at+len(want) > len(got) {
			b.Errorf("from %s over %q, depth %d: got %q, want %q", from, relation, depth, got, levels)
			return
		}
		part := slices.Sorted(slices.Values(got[at : at+len(want)]))
		if slices.Sort(want); !slices.Equal(part, want) {
			b.Errorf("from %s over %q, depth %d: got %q, want %q", from, relation, depth, got, levels)
			return
		}
		at += len(want)
	}
	if at != len(got) {
		b.Errorf("from %s over %q, depth %d: got %q, want %q", from, relation, depth, got, levels)
	}
}

var graphClauses = []Clause{
	links("graph_traverse", func(b bench, g protocol.Graph) {
		b.reaches(g, "nobody", "", 3)
		b.link(g, session, "a likes b", "b likes c", "c likes d", "a likes e")
		b.reaches(g, "a", "likes", 10, "b e", "c", "d")
		b.reaches(g, "d", "likes", 10) // links have a direction
	}),
	links("graph_depth", func(b bench, g protocol.Graph) {
		b.link(g, session, "a r b", "b r c", "c r d")
		for depth, want := range []int{0, 1, 2, 3, 3} {
			if got := b.reach(g, session, "a", "r", depth); len(got) != want {
				b.Errorf("depth %d: got %q, want %d keys", depth, got, want)
			}
		}
	}),
	links("graph_cycles", func(b bench, g protocol.Graph) {
		b.link(g, session, "a r b", "b r c", "c r a", "b r b", "c r b")
		got := b.reach(g, session, "a", "r", 20)
		if slices.Sort(got); !slices.Equal(got, []string{"b", "c"}) {
			b.Errorf("a cycle from a over b and c: got %q", got)
		}
	}),
	links("graph_relations", func(b bench, g protocol.Graph) {
		b.link(g, session, "a likes b", "a knows c", "a like d", "a likes.x e")
		if got := b.reach(g, session, "a", "likes", 5); !slices.Equal(got, []string{"b"}) {
			b.Errorf("over one relation: got %q", got)
		}
		if got := b.reach(g, session, "a", "", 5); len(got) != 4 {
			b.Errorf("over all relations: got %q", got)
		}
	}),
	links("graph_unlink", func(b bench, g protocol.Graph) {
		b.link(g, session, "a r b", "a s b", "a r c")
		for range 2 { // a missing one is no error
			if err := g.Unlink(b.Context(), session, "a", "b", "r"); err != nil {
				b.Fatalf("unlink: %v", err)
			}
		}
		if slices.Contains(b.reach(g, session, "a", "r", 1), "b") {
			b.Errorf("the relation is still there")
		}
		if !slices.Contains(b.reach(g, session, "a", "s", 1), "b") || !slices.Contains(b.reach(g, session, "a", "r", 1), "c") {
			b.Errorf("others went with it")
		}
	}),
	links("graph_link_again", func(b bench, g protocol.Graph) {
		for _, m := range []string{`{"n":1}`, `null`, `{"n":2}`} {
			link := protocol.MemoryLink{FromKey: "a", ToKey: "b", Relation: "r", Metadata: json.RawMessage(m)}
			if err := g.Link(b.Context(), session, link); err != nil {
				b.Fatalf("link with metadata %s: %v", m, err)
			}
		}
		if got := b.reach(g, session, "a", "r", 1); len(got) != 1 {
			b.Errorf("a link made three times: got %q", got)
		}
	}),
	links("graph_is_isolated", func(b bench, g protocol.Graph) {
		b.link(g, protocol.OfOperator("s1", "a"), "a r b")
		b.link(g, protocol.GlobalScope(), "a r b")
		if got := b.reach(g, session, "a", "", 5); len(got) != 0 {
			b.Errorf("a traversal left its scope: got %q", got)
		}
	}),
	links("graph_apart_from_values", func(b bench, g protocol.Graph) {
		b.write(session, "k", `0`)
		b.link(g, session, "a r b")
		if got := b.list(session, ""); len(got) != 1 {
			b.Errorf("links are listed as keys: %q", got)
		}
		if got := b.search(session, "r", 10); len(got) != 0 {
			b.Errorf("links are found as values: %v", got)
		}
	}),
	links("graph_keys_of_any_bytes", func(b bench, g protocol.Graph) {
		want := append(tricky(), longKeys()...)
		for _, key := range want {
			if err := g.Link(b.Context(), session, protocol.MemoryLink{FromKey: "from.*", ToKey: key, Relation: "is > a"}); err != nil {
				b.Fatalf("link to %.40q: %v", key, err)
			}
		}
		got := b.reach(g, session, "from.*", "is > a", 1)
		slices.Sort(got)
		if slices.Sort(want); !slices.Equal(got, want) {
			b.Errorf("got %d keys, want %d: %.300q", len(got), len(want), got)
		}
	}),
}
