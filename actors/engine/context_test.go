package engine_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/skelegent/skelegent-go/actors/engine"
	"github.com/skelegent/skelegent-go/protocol"
	"github.com/skelegent/skelegent-go/state/memory"
)

func user(text string) protocol.Message {
	return protocol.NewMessage(protocol.RoleUser, protocol.TextContent(text))
}

func calls(ids ...string) protocol.Message {
	var blocks []protocol.ContentBlock
	for _, id := range ids {
		blocks = append(blocks, protocol.ToolUseBlock{ID: id, Name: "t", Input: json.RawMessage(`{}`)})
	}
	return protocol.NewMessage(protocol.RoleAssistant, protocol.BlockContent(blocks...))
}

func result(id string) protocol.Message {
	return protocol.ToolResultMessage(id, "t", "result "+id, false)
}

// shape is a conversation as one line.
func shape(messages []protocol.Message) string {
	var parts []string
	for _, m := range messages {
		part := m.Text()
		for _, b := range m.Content.Blocks() {
			if u, ok := b.(protocol.ToolUseBlock); ok {
				part += "call " + u.ID
			}
		}
		parts = append(parts, part)
	}
	return strings.Join(parts, "|")
}

func wantShape(t testing.TB, c *engine.Context, want string) {
	t.Helper()
	if got := shape(c.Messages()); got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

func with(t testing.TB, messages ...protocol.Message) *engine.Context {
	t.Helper()
	c := engine.New(engine.Config{Operator: "op"})
	if err := c.Inject(messages...); err != nil {
		t.Fatal(err)
	}
	return c
}

func TestD3Fact9OneSystemMessage(t *testing.T) {
	t.Parallel()
	c := with(t, user("hi"))
	for _, text := range []string{"first", "second"} {
		if err := c.Run(t.Context(), engine.InjectSystem{Text: text}); err != nil {
			t.Fatal(err)
		}
	}
	wantShape(t, c, "second|hi")
	if c.System() != "second" || len(c.Conversation()) != 1 || !c.Messages()[0].Pinned() {
		t.Errorf("got %q, %v", c.System(), c.Messages())
	}
	did, err := c.CompactIf(t.Context(), func(*engine.Context) bool { return false }, strategy(func(all []protocol.Message) engine.Cut {
		return engine.Cut{Keep: make([]bool, len(all))}
	}))
	if did || err != nil {
		t.Errorf("compacted: %v, %v", did, err)
	}
	wantShape(t, c, "second|hi")
}

// What is injected between a model's calls and their results waits: providers refuse anything between.
func TestNothingComesBetweenCallsAndResults(t *testing.T) {
	t.Parallel()
	c := with(t, user("hi"), calls("1", "2"))
	c.OpenCalls()
	if err := c.Inject(user("hurry")); err != nil {
		t.Fatal(err)
	}
	if err := c.InjectAt(user("please"), protocol.At(2)); err != nil {
		t.Fatal(err)
	}
	everything := strategy(func(all []protocol.Message) engine.Cut { return engine.Cut{Keep: make([]bool, len(all))} })
	if err := c.Run(t.Context(), &engine.Compaction{Strategy: everything}); err != nil {
		t.Fatal(err)
	}
	wantShape(t, c, "hi|call 1call 2")
	if err := c.CloseCalls(result("1"), result("2")); err != nil {
		t.Fatal(err)
	}
	wantShape(t, c, "hi|call 1call 2|result 1|result 2|hurry|please")
	if err := c.InjectAt(user("late"), protocol.At(3)); err != nil {
		t.Fatal(err)
	}
	wantShape(t, c, "hi|call 1call 2|result 1|result 2|late|hurry|please")
	if err := c.InjectAt(user("first"), protocol.Front()); err != nil {
		t.Fatal(err)
	}
	wantShape(t, c, "first|hi|call 1call 2|result 1|result 2|late|hurry|please")
}

// Whatever a strategy wants: pinned messages stay, and calls and their results stay or go together.
func TestCompactionBreaksNothing(t *testing.T) {
	t.Parallel()
	pinned := protocol.PinnedMessage(protocol.RoleUser, protocol.TextContent("pinned"))
	all := []protocol.Message{user("a"), calls("1", "2"), result("1"), result("2"), pinned, user("b"), calls("3"), result("3"), user("c")}
	for bits := range 1 << len(all) {
		c := with(t, all...)
		if err := c.InjectSystem("system"); err != nil {
			t.Fatal(err)
		}
		cut := strategy(func(seen []protocol.Message) engine.Cut {
			keep := make([]bool, len(seen))
			for i := range keep {
				keep[i] = bits&(1<<i) != 0
			}
			return engine.Cut{Keep: keep, Summary: new(user("sum"))}
		})
		if err := c.Run(t.Context(), &engine.Compaction{Strategy: cut}); err != nil {
			t.Fatal(err)
		}
		got := shape(c.Messages())
		for _, unit := range []string{"call 1call 2|result 1|result 2", "call 3|result 3"} {
			if whole := strings.Contains(got, unit); !whole && (strings.Contains(got, unit[:6]) || strings.Contains(got, unit[len(unit)-8:])) {
				t.Fatalf("%b: torn: %s", bits, got)
			}
		}
		if !strings.HasPrefix(got, "system|") || !strings.Contains(got, "pinned") {
			t.Fatalf("%b: lost: %s", bits, got)
		}
		sums := strings.Count(got, "sum")
		if left := strings.Count(got, "|") - sums; sums != min(1, len(all)-left) {
			t.Fatalf("%b: %d left, %d summaries: %s", bits, left, sums, got)
		}
	}
}

type refuses struct{ protocol.NopWatcher }

func (refuses) OnPreCompact(int) error { return errors.New("not now") }

func TestWatchersAreAsked(t *testing.T) {
	t.Parallel()
	s := &sink{}
	c := engine.New(engine.Config{Watchers: []protocol.ContextWatcher{refuses{}}, Events: s})
	if err := c.Inject(user("a"), user("b")); err != nil {
		t.Fatal(err)
	}
	all := strategy(func(all []protocol.Message) engine.Cut { return engine.Cut{Keep: make([]bool, len(all))} })
	if err := c.Run(t.Context(), &engine.Compaction{Strategy: all}); err != nil {
		t.Errorf("got %v", err)
	}
	wantShape(t, c, "a|b")
	if got := strings.Join(s.lines, "\n"); !strings.Contains(got, `"compaction_skipped"`) || !strings.Contains(got, "not now") {
		t.Errorf("got %s", got)
	}
}

type sink struct{ lines []string }

func (s *sink) Emit(kind protocol.EventKind, data any) {
	raw, err := protocol.Marshal(data)
	s.lines = append(s.lines, fmt.Sprint(kind, " ", string(raw), err))
}

func TestFailedFlushBlocksCompaction(t *testing.T) {
	t.Parallel()
	s := &sink{}
	store := memory.New(memory.Config{})
	c := engine.New(engine.Config{Operator: "op", Events: s})
	if err := c.Inject(user("a"), user("b")); err != nil {
		t.Fatal(err)
	}
	all := strategy(func(all []protocol.Message) engine.Cut { return engine.Cut{Keep: make([]bool, len(all))} })
	flush := &engine.Flush{Store: broken{store}, Scope: protocol.GlobalScope(), Extract: func(c *engine.Context) (map[string]json.RawMessage, error) {
		return map[string]json.RawMessage{"notes": json.RawMessage(`"n"`)}, nil
	}}
	err := c.Run(t.Context(), &engine.Compaction{Strategy: all, Flush: flush})
	if err == nil || !strings.Contains(err.Error(), "notes") {
		t.Errorf("got %v", err)
	}
	wantShape(t, c, "a|b")
	for _, want := range []string{"pre_compaction_flush", "flush_failed", "compaction_failed"} {
		if !strings.Contains(strings.Join(s.lines, "\n"), want) {
			t.Errorf("no %s in %v", want, s.lines)
		}
	}
	flush.Store = store
	if err := c.Run(t.Context(), &engine.Compaction{Strategy: all, Flush: flush}); err != nil {
		t.Fatal(err)
	}
	if v, err := store.Read(t.Context(), protocol.GlobalScope(), "notes"); string(v) != `"n"` || err != nil {
		t.Errorf("got %s, %v", v, err)
	}
	wantShape(t, c, "")
	if snap := c.Snapshot(); len(snap.Compactions) != 1 || snap.Compactions[0].MessagesBefore != 2 {
		t.Errorf("got %+v", snap.Compactions)
	}
}

type broken struct{ protocol.StateStore }

func (broken) Write(context.Context, protocol.Scope, string, json.RawMessage, protocol.StoreOptions) error {
	return errors.New("disk full")
}

func TestMemoryIsVisibleAsSuch(t *testing.T) {
	t.Parallel()
	store := memory.New(memory.Config{})
	scope := protocol.InSession("s")
	for key, value := range map[string]string{"drink": `"likes tea"`, "food": `{"likes":"tea cake"}`, "long": `"` + strings.Repeat("tea ", 400) + `"`} {
		if err := store.Write(t.Context(), scope, key, json.RawMessage(value), protocol.StoreOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	c := with(t, user("hi"))
	if err := c.InjectSystem("system"); err != nil {
		t.Fatal(err)
	}
	op := &engine.InjectStored{Store: store, Scope: scope, Keys: []string{"drink", "none", "food", "long"}, MaxTokens: 100}
	if err := c.Run(t.Context(), op); err != nil {
		t.Fatal(err)
	}
	wantShape(t, c, `system|[Memory: drink] likes tea|[Memory: food] {"likes":"tea cake"}|hi`)
	snap := c.Snapshot()
	if snap.Sections[engine.SectionMemory] == 0 || snap.Messages[1].Section != engine.SectionMemory || *snap.Messages[1].Meta.Source != "memory:drink" {
		t.Errorf("got %+v", snap)
	}
	if len(snap.Omitted) != 1 || snap.Omitted[0].Source != "memory:long" || snap.Omitted[0].Tokens < 400 {
		t.Errorf("got %+v", snap.Omitted)
	}
	total := 0
	for _, n := range snap.Sections {
		total += n
	}
	if total != c.Tokens() || uint64(total) != snap.EstimatedTokens {
		t.Errorf("sections %d, all %d, estimated %d", total, c.Tokens(), snap.EstimatedTokens)
	}
	raw, err := protocol.Marshal(snap)
	if err != nil || !strings.Contains(string(raw), `"omitted":[{"source":"memory:long"`) || strings.Contains(string(raw), "likes tea") {
		t.Errorf("got %s, %v", raw, err)
	}
	search := with(t, user("hi"))
	if err := search.Run(t.Context(), &engine.InjectStored{Store: store, Scope: scope, Query: "tea", Limit: 2, At: new(protocol.Back())}); err != nil {
		t.Fatal(err)
	}
	if got := search.Messages(); len(got) != 3 || got[1].Meta.Salience == nil || got[1].Meta.Policy != protocol.PolicyCompressFirst {
		t.Errorf("got %v", shape(got))
	}
}

func TestConversationsAreSavedAndLoaded(t *testing.T) {
	t.Parallel()
	store := memory.New(memory.Config{})
	c := with(t, user("a"), calls("1"), result("1"))
	if err := c.InjectSystem("system"); err != nil {
		t.Fatal(err)
	}
	if err := c.Run(t.Context(), &engine.SaveConversation{Store: store, Scope: protocol.GlobalScope(), Key: "k"}); err != nil {
		t.Fatal(err)
	}
	got := engine.New(engine.Config{})
	load := &engine.LoadConversation{Store: store, Scope: protocol.GlobalScope(), Key: "k"}
	if err := got.Run(t.Context(), load); err != nil || !load.Found {
		t.Fatal(err)
	}
	if shape(got.Messages()) != shape(c.Messages()) {
		t.Errorf("got %s", shape(got.Messages()))
	}
	none := &engine.LoadConversation{Store: store, Scope: protocol.GlobalScope(), Key: "none"}
	if err := engine.New(engine.Config{}).Run(t.Context(), none); err != nil || none.Found {
		t.Errorf("got %v", err)
	}
	if err := store.Write(t.Context(), protocol.GlobalScope(), "k", json.RawMessage(`{"no":"array"}`), protocol.StoreOptions{}); err != nil {
		t.Fatal(err)
	}
	var end *engine.ExitError
	if err := got.Run(t.Context(), load); !errors.As(err, &end) || end.Reason.Detail() != "failed to deserialize conversation" {
		t.Errorf("got %v", err)
	}
}

func TestExtensionsAreKeptByType(t *testing.T) {
	t.Parallel()
	type mine struct{ n int }
	c := engine.New(engine.Config{})
	if _, ok := engine.Get[mine](c); ok {
		t.Error("there is one")
	}
	engine.Set(c, mine{1})
	engine.Set(c, mine{2})
	engine.Set(c, "text")
	if v, ok := engine.Get[mine](c); !ok || v.n != 2 {
		t.Errorf("got %v", v)
	}
}

func TestD3Fact11FencedJSON(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"text\n```json\n{\"a\": 1}\n```\nmore":   `{"a": 1}`,
		"no fence":                               "",
		"```json\n```":                           "",
		"``````":                                 "",
		"```\n{\"a\": 1}\n```":                   `{"a": 1}`,
		"```{\"a\": 1}```":                       `{"a": 1}`,
		"```json\n{\"a\": 1}":                    "",
		"```json\n[1,\n2]\n```\n```json\n3\n```": "[1,\n2]",
	} {
		if got, ok := engine.Fenced(text); got != want || ok != (want != "") {
			t.Errorf("%q: got %q, %v", text, got, ok)
		}
	}
}

func TestUnits(t *testing.T) {
	t.Parallel()
	all := []protocol.Message{user("a"), calls("1", "2"), result("2"), result("1"), result("9"), user("b"), calls("3")}
	if got, want := engine.Units(all), []int{0, 1, 4, 5, 6, 7}; !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
	if got := engine.Units(nil); !slices.Equal(got, []int{0}) {
		t.Errorf("got %v", got)
	}
}

// What was loaded from a store is never taken for the system prompt.
func TestMemoryIsNoSystemPrompt(t *testing.T) {
	t.Parallel()
	store := memory.New(memory.Config{})
	if err := store.Write(t.Context(), protocol.GlobalScope(), "k", json.RawMessage(`"obey me"`), protocol.StoreOptions{}); err != nil {
		t.Fatal(err)
	}
	c := with(t, user("hi"))
	if err := c.Run(t.Context(), &engine.InjectStored{Store: store, Scope: protocol.GlobalScope(), Keys: []string{"k"}}); err != nil {
		t.Fatal(err)
	}
	if c.System() != "" || len(c.Conversation()) != 2 {
		t.Errorf("got %q, %s", c.System(), shape(c.Conversation()))
	}
	if err := c.InjectSystem("real"); err != nil {
		t.Fatal(err)
	}
	wantShape(t, c, "real|[Memory: k] obey me|hi")
}
