package protocol_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/skelegent/skelegent-go/protocol"
)

// watcher notes what it is asked and rejects what its veto names.
type watcher struct {
	name, veto string
	log        *[]string
}

func (w watcher) ask(what string, args ...any) error {
	*w.log = append(*w.log, w.name+" "+fmt.Sprintf(what, args...))
	if w.veto != "" && strings.HasPrefix(what, w.veto) {
		return errors.New("policy violation")
	}
	return nil
}

func (w watcher) OnInject(m protocol.Message, _ protocol.Position) error {
	return w.ask("inject %s", m.Text())
}
func (w watcher) OnRemove(n int) error     { return w.ask("remove %d", n) }
func (w watcher) OnPreCompact(n int) error { return w.ask("pre %d", n) }
func (w watcher) OnPostCompact(removed, remaining int) {
	_ = w.ask("post %d %d", removed, remaining)
}

func user(s string) protocol.Message {
	return protocol.NewMessage(protocol.RoleUser, protocol.TextContent(s))
}

func texts(all []protocol.Message) string {
	var out []string
	for _, m := range all {
		out = append(out, m.Text())
	}
	return strings.Join(out, " ")
}

func filled(t *testing.T, watchers ...protocol.ContextWatcher) *protocol.OperatorContext {
	t.Helper()
	c := protocol.NewOperatorContext("coder")
	for _, s := range []string{"a", "b", "c"} {
		if err := c.Push(user(s)); err != nil {
			t.Fatal(err)
		}
	}
	for _, w := range watchers {
		c.Watch(w)
	}
	return c
}

func TestContextPositions(t *testing.T) {
	t.Parallel()
	c := filled(t)
	for _, p := range []struct {
		text string
		pos  protocol.Position
	}{{"front", protocol.Front()}, {"one", protocol.At(1)}, {"back", protocol.Back()}, {"end", protocol.At(6)}} {
		if err := c.Insert(user(p.text), p.pos); err != nil {
			t.Fatal(err)
		}
	}
	check(t, "order", texts(c.Messages()), "front one a b c back end")
	for _, at := range []int{8, -1} {
		err := c.Insert(user("x"), protocol.At(at))
		var out *protocol.OutOfBoundsError
		if !errors.As(err, &out) || out.Index != at || out.Len != 7 || c.Len() != 7 {
			t.Errorf("at %d: %v", at, err)
		}
	}
	check(t, "text", c.Insert(user("x"), protocol.At(8)).Error(), "index 8 is out of bounds (len = 7)")
}

func TestContextWatchersRejectInOrder(t *testing.T) {
	t.Parallel()
	var log []string
	c := filled(t, watcher{"w1", "", &log}, watcher{"w2", "inject", &log}, watcher{"w3", "", &log})
	err := c.Push(user("d"))
	var rejected *protocol.RejectedError
	if !errors.As(err, &rejected) || rejected.Reason != "policy violation" || err.Error() != "rejected by watcher: policy violation" {
		t.Errorf("got %v", err)
	}
	check(t, "unchanged", texts(c.Messages()), "a b c")
	if want := []string{"w1 inject d", "w2 inject d"}; !slices.Equal(log, want) {
		t.Errorf("asked %q, want %q", log, want)
	}
	log = nil
	if err := c.Insert(user("x"), protocol.At(9)); err == nil || len(log) != 0 {
		t.Errorf("watchers asked about an impossible insert: %q, %v", log, err)
	}
}

func TestContextRemove(t *testing.T) {
	t.Parallel()
	var log []string
	c := filled(t, watcher{"w", "", &log})
	none, err := c.RemoveWhere(func(protocol.Message) bool { return false })
	if err != nil || none != nil || log != nil {
		t.Errorf("removing none: %v %v, asked %q", none, err, log)
	}
	if _, err := c.TruncateFront(0); err != nil || log != nil {
		t.Errorf("truncating by 0: %v, asked %q", err, log)
	}
	gone, err := c.TruncateBack(1)
	if err != nil || texts(gone) != "c" || texts(c.Messages()) != "a b" {
		t.Errorf("back: %v %v", texts(gone), err)
	}
	if gone, err = c.TruncateFront(1); err != nil || texts(gone) != "a" || texts(c.Messages()) != "b" {
		t.Errorf("front: %v %v", texts(gone), err)
	}
	if _, err = c.TruncateBack(5); err == nil || err.Error() != "index 5 is out of bounds (len = 1)" {
		t.Errorf("got %v", err)
	}
	if want := []string{"w remove 1", "w remove 1"}; !slices.Equal(log, want) {
		t.Errorf("asked %q, want %q", log, want)
	}
	c.Watch(watcher{"v", "remove", &log})
	if _, err = c.TruncateFront(1); err == nil || c.Len() != 1 {
		t.Errorf("a rejected removal: %v, %d left", err, c.Len())
	}
}

func TestContextCompact(t *testing.T) {
	t.Parallel()
	var log []string
	c := filled(t, watcher{"w", "", &log})
	if gone, err := c.CompactTruncate(3); err != nil || gone != nil || log != nil {
		t.Errorf("nothing to do: %v %v, asked %q", gone, err, log)
	}
	gone, err := c.CompactTruncate(2)
	if err != nil || texts(gone) != "a" || texts(c.Messages()) != "b c" {
		t.Errorf("truncate: %s %v", texts(gone), err)
	}
	if err := c.Insert(protocol.PinnedMessage(protocol.RoleSystem, protocol.TextContent("p")), protocol.At(1)); err != nil {
		t.Fatal(err)
	}
	if gone, err = c.CompactByPolicy(); err != nil || texts(gone) != "b c" || texts(c.Messages()) != "p" {
		t.Errorf("by policy: %s %v", texts(gone), err)
	}
	gone, err = c.CompactWith(func(all []protocol.Message) []protocol.Message { return append(all, user("s"), user("t")) })
	if err != nil || texts(gone) != "p" || texts(c.Messages()) != "p s t" {
		t.Errorf("with: %s %v", texts(gone), err)
	}
	want := []string{"w pre 3", "w post 1 2", "w inject p", "w pre 3", "w post 2 1", "w pre 1", "w post 0 3"}
	if !slices.Equal(log, want) {
		t.Errorf("asked %q, want %q", log, want)
	}
	c.Watch(watcher{"v", "pre", &log})
	_, err = c.CompactWith(func([]protocol.Message) []protocol.Message { t.Error("called"); return nil })
	if err == nil || c.Len() != 3 || log[len(log)-1] != "v pre 3" {
		t.Errorf("a rejected compaction: %v, %d left, asked %q", err, c.Len(), log)
	}
}

func TestContextTransformAndSnapshot(t *testing.T) {
	t.Parallel()
	c := filled(t, protocol.NopWatcher{})
	c.Transform(func(m *protocol.Message) {
		m.Content = protocol.TextContent(strings.Repeat(m.Text(), 8))
		m.Meta = protocol.MessageMeta{Policy: protocol.PolicyCompressFirst}
	})
	c.Transform(func(*protocol.Message) {})
	s := c.Snapshot()
	if s.MessageCount != 3 || s.HasSystem || s.OperatorID != "coder" || s.EstimatedTokens != 3*(4+2) ||
		s.MessageMetas[2].Version != 2 || s.MessageMetas[2].Policy != protocol.PolicyCompressFirst {
		t.Errorf("got %+v", s)
	}
	if err := c.Insert(protocol.NewMessage(protocol.RoleSystem, protocol.TextContent("")), protocol.Front()); err != nil || !c.Snapshot().HasSystem {
		t.Errorf("no system message, error %v", err)
	}
	all := c.Messages()
	all[0] = user("changed")
	if c.Messages()[0].Text() != "" || c.Operator() != "coder" {
		t.Error("the slice of Messages is not the caller's own")
	}
	check(t, "empty", mustMarshal(t, protocol.NewOperatorContext("coder").Snapshot()), compact(t, goldens(t, "context_snapshot")[0]))
}
