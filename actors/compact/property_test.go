package compact_test

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/skelegent/skelegent-go/actors/compact"
	"github.com/skelegent/skelegent-go/actors/engine"
	"github.com/skelegent/skelegent-go/protocol"
)

// talk is a random conversation as agents have them, with a text of its own in each message.
func talk(r *rand.Rand) (all []protocol.Message) {
	policies := []protocol.CompactionPolicy{
		"", protocol.PolicyNormal, protocol.PolicyNormal, protocol.PolicyNormal, protocol.PolicyCompressFirst, protocol.PolicyDiscardWhenDone,
		protocol.PolicyPinned,
	}
	add := func(m protocol.Message) {
		m.Meta.Policy = policies[r.IntN(len(policies))]
		if r.IntN(3) == 0 {
			m.Meta.Salience = new(r.Float64())
		}
		all = append(all, m)
	}
	text := func(kind string) string {
		t := fmt.Sprintf("%s %d", kind, len(all))
		for range r.IntN(20) {
			t += fmt.Sprint(" w", r.IntN(9))
		}
		return t
	}
	add(user(text("user")))
	for range r.IntN(25) {
		switch r.IntN(6) {
		case 0, 1:
			add(user(text("user")))
		case 2:
			add(assistant(text("model")))
		case 3:
			add(protocol.NewMessage(protocol.RoleSystem, protocol.TextContent(text("memory"))))
		default:
			var ids []string
			for i := range 1 + r.IntN(3) {
				ids = append(ids, fmt.Sprint(len(all), "-", i))
			}
			add(calls(ids...))
			for _, i := range r.Perm(len(ids)) {
				add(protocol.ToolResultMessage(ids[i], "t", text("result "+ids[i]), r.IntN(2) == 0))
			}
		}
	}
	return all
}

// strategies are all of them, with random sizes.
func strategies(r *rand.Rand) []engine.Strategy {
	return []engine.Strategy{
		compact.SlidingWindow(r.IntN(12)), compact.PolicyTrim(r.IntN(12)), compact.TokenBudget(r.IntN(300)), compact.Tiered(r.IntN(6)),
		compact.Halve(), compact.Salience(compact.SalienceConfig{Tokens: 1 + r.IntN(300), Lambda: new(r.Float64())}),
		compact.SummarizeAndReplace(compact.SummaryConfig{KeepLast: 1 + r.IntN(6), MaxInput: r.IntN(200)}),
		compact.Extract[compact.CognitiveState](compact.ExtractConfig{KeepLast: 1 + r.IntN(6)}),
	}
}

// id is what a message says, calls included; each is another one.
func id(m protocol.Message) string { return shape([]protocol.Message{m}) }

func summary(m protocol.Message) bool {
	return m.Meta.Source != nil
}

// wantSound wants of a conversation that nothing is torn, nothing pinned is lost, the order is kept, and it can be asked.
func wantSound(t *testing.T, name string, before, after []protocol.Message) {
	t.Helper()
	place := map[string]int{}
	for i, m := range before {
		if !summary(m) {
			place[id(m)] = i
		}
	}
	last, there, summaries := -1, map[string]bool{}, 0
	for _, m := range after {
		if summary(m) {
			summaries++
			continue
		}
		at, known := place[id(m)]
		if !known || at <= last {
			t.Fatalf("%s: %q is new, or out of order: %s", name, id(m), shape(after))
		}
		last, there[id(m)] = at, true
	}
	if summaries > 1 {
		t.Fatalf("%s: %d summaries: %s", name, summaries, shape(after))
	}
	for i, starts := 0, engine.Units(before); i < len(starts)-1; i++ {
		unit := before[starts[i]:starts[i+1]]
		for _, m := range unit {
			if !summary(m) && there[id(m)] != there[id(unit[0])] {
				t.Fatalf("%s: torn at %q: %s", name, id(m), shape(after))
			}
			if m.Pinned() && !summary(m) && !there[id(m)] {
				t.Fatalf("%s: %q is lost: %s", name, id(m), shape(after))
			}
		}
	}
	for _, m := range after {
		if m.Role == protocol.RoleSystem {
			continue
		}
		if m.Role != protocol.RoleUser {
			t.Fatalf("%s: begins with %s: %s", name, m.Role, shape(after))
		}
		return
	}
	t.Fatalf("%s: nothing is left of %s", name, shape(before))
}

func TestStrategiesAreSound(t *testing.T) {
	t.Parallel()
	cuts := 0
	for seed := range uint64(150) {
		r := rand.New(rand.NewPCG(seed, 7))
		for _, s := range strategies(r) {
			m := &teller{says: []string{wholeState}}
			c := with(t, m)
			if err := c.InjectSystem("system"); err != nil {
				t.Fatal(err)
			}
			for round := range 3 { // a second cut meets what the first left
				more := talk(r)
				for i := range more { // ids of their own
					more[i] = renamed(more[i], fmt.Sprint("r", round))
				}
				if err := c.Inject(more...); err != nil {
					t.Fatal(err)
				}
				before, tokens := append([]protocol.Message{}, c.Conversation()...), c.Tokens()
				cut(t, c, s)
				after := c.Conversation()
				wantSound(t, fmt.Sprint(s.Name(), " seed ", seed), before, after)
				if len(after) < len(before) {
					cuts++
				}
				if len(m.asks) == 0 && c.Tokens() > tokens || len(after) > len(before) || c.System() != "system" {
					t.Fatalf("%s: %d tokens of %d, %d messages of %d", s.Name(), c.Tokens(), tokens, len(after), len(before))
				}
			}
		}
	}
	if cuts < 2500 {
		t.Errorf("only %d cuts", cuts)
	}
}

// renamed gives a message ids and texts of its own.
func renamed(m protocol.Message, prefix string) protocol.Message {
	meta := m.Meta
	switch {
	case len(m.Content.Blocks()) == 0:
		m = protocol.NewMessage(m.Role, protocol.TextContent(prefix+" "+m.Text()))
	default:
		var blocks []protocol.ContentBlock
		for _, b := range m.Content.Blocks() {
			switch b := b.(type) {
			case protocol.ToolUseBlock:
				b.ID = prefix + b.ID
				blocks = append(blocks, b)
			case protocol.ToolResultBlock:
				b.ToolUseID, b.Content = prefix+b.ToolUseID, prefix+" "+b.Content
				blocks = append(blocks, b)
			}
		}
		m = protocol.NewMessage(m.Role, protocol.BlockContent(blocks...))
	}
	m.Meta = meta
	return m
}
