package kv_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/skelegent/skelegent-go/protocol"
	"github.com/skelegent/skelegent-go/state/kv"
)

// writeIf is WriteIf with a value and no more.
func writeIf(t testing.TB, s *kv.Store, key, value string, revision uint64) (uint64, error) {
	t.Helper()
	return s.WriteIf(t.Context(), scope, key, json.RawMessage(value), protocol.StoreOptions{}, revision)
}

func TestWriteIf(t *testing.T) {
	t.Parallel()
	s := open(t, start(t), nil)
	one, err := writeIf(t, s, "k", `1`, 0)
	wantCode(t, err, "")
	_, err = writeIf(t, s, "k", `2`, 0)
	wantCode(t, err, protocol.CodeConflict)
	if !errors.Is(err, &protocol.Error{Kind: protocol.KindStateWriteFailed}) || protocol.IsRetryable(err) {
		t.Errorf("got %+v", err)
	}
	two, err := writeIf(t, s, "k", `2`, one)
	wantCode(t, err, "")
	for _, wrong := range []uint64{one, two + 1} {
		_, err = writeIf(t, s, "k", `3`, wrong)
		wantCode(t, err, protocol.CodeConflict)
	}
	entry, found, err := s.Entry(t.Context(), scope, "k")
	if !found || err != nil || entry.Revision != two || string(entry.Value) != `2` {
		t.Errorf("got %+v, %v, %v", entry, found, err)
	}
	wantCode(t, s.DeleteIf(t.Context(), scope, "k", one), protocol.CodeConflict)
	wantCode(t, s.DeleteIf(t.Context(), scope, "k", two), "")
	wants(t, s, "k", "")
	wantCode(t, s.DeleteIf(t.Context(), scope, "k", two), protocol.CodeConflict)
	_, err = writeIf(t, s, "k", `4`, 0) // the marker of a delete is no value
	wantCode(t, err, "")
}

func TestByIsKeptWithValuesAndDeletes(t *testing.T) {
	t.Parallel()
	s := open(t, start(t), nil)
	by := func(n int) kv.WriteOption { return kv.WithBy(json.RawMessage(fmt.Sprintf(`{"m":%d}`, n))) }
	rev, err := s.WriteIf(t.Context(), scope, "k", json.RawMessage(`1`), protocol.StoreOptions{}, 0, by(1))
	wantCode(t, err, "")
	entry, _, _ := s.Entry(t.Context(), scope, "k")
	if string(entry.By) != `{"m":1}` {
		t.Errorf("by: got %s", entry.By)
	}
	wantCode(t, s.DeleteIf(t.Context(), scope, "k", rev, by(2)), "")
	entry, found, err := s.Entry(t.Context(), scope, "k")
	if found || err != nil || string(entry.By) != `{"m":2}` || entry.Revision <= rev {
		t.Errorf("after a delete: got %+v, %v, %v", entry, found, err)
	}
	// A delete of what is deleted, by somebody who knows: the note changes.
	wantCode(t, s.DeleteIf(t.Context(), scope, "k", entry.Revision, by(3)), "")
	_, err = writeIf(t, s, "k", `2`, entry.Revision)
	wantCode(t, err, protocol.CodeConflict)
	if _, err = s.WriteIf(t.Context(), scope, "k", json.RawMessage(`1`), protocol.StoreOptions{}, 0, kv.WithBy(json.RawMessage(`{`))); err == nil {
		t.Error("a note that is not JSON was taken")
	}
}

func TestPlainChangesKeepTheNote(t *testing.T) {
	t.Parallel()
	s := open(t, start(t), nil)
	_, err := s.WriteIf(t.Context(), scope, "k", json.RawMessage(`1`), protocol.StoreOptions{}, 0, kv.WithBy(json.RawMessage(`{"m":1}`)))
	wantCode(t, err, "")
	for name, change := range map[string]func() error{
		"write":  func() error { return s.Write(t.Context(), scope, "k", json.RawMessage(`2`), protocol.StoreOptions{}) },
		"delete": func() error { return s.Delete(t.Context(), scope, "k") },
	} {
		wantCode(t, change(), "")
		if entry, _, err := s.Entry(t.Context(), scope, "k"); err != nil || string(entry.By) != `{"m":1}` {
			t.Errorf("after a %s: %s, %v", name, entry.By, err)
		}
	}
}

// A writer that read nothing, and comes late, does not undo a deletion: not if it takes the revision to the letter.
func TestExactly(t *testing.T) {
	t.Parallel()
	s := open(t, start(t), nil)
	one, err := writeIf(t, s, "k", `1`, 0)
	wantCode(t, err, "")
	wantCode(t, s.DeleteIf(t.Context(), scope, "k", one), "")
	late := func(opts ...kv.WriteOption) error {
		_, err := s.WriteIf(t.Context(), scope, "k", json.RawMessage(`"late"`), protocol.StoreOptions{}, 0, opts...)
		return err
	}
	wantCode(t, late(kv.Exactly()), protocol.CodeConflict)
	wants(t, s, "k", "")
	entry, _, err := s.Entry(t.Context(), scope, "k")
	wantCode(t, err, "")
	_, err = s.WriteIf(t.Context(), scope, "k", json.RawMessage(`2`), protocol.StoreOptions{}, entry.Revision, kv.Exactly())
	wantCode(t, err, "")
	wants(t, s, "k", `2`)
}

func TestWriteIfCountsExactly(t *testing.T) {
	t.Parallel()
	js := start(t)
	const goroutines, increments = 4, 10
	var wg sync.WaitGroup
	for range goroutines {
		s := open(t, js, nil) // each a node of its own
		wg.Go(func() {
			for done := 0; done < increments; {
				entry, _, err := s.Entry(t.Context(), scope, "n")
				if err != nil {
					t.Error(err)
					return
				}
				var n int
				if entry.Value != nil {
					_ = json.Unmarshal(entry.Value, &n)
				}
				_, err = s.WriteIf(t.Context(), scope, "n", json.RawMessage(fmt.Sprint(n+1)), protocol.StoreOptions{}, entry.Revision)
				switch protocol.CodeOf(err) {
				case "":
					done++
				case protocol.CodeConflict:
				default:
					t.Error(err)
					return
				}
			}
		})
	}
	wg.Wait()
	wants(t, open(t, js, nil), "n", fmt.Sprint(goroutines*increments))
}

func TestALostAnswerIsNoConflict(t *testing.T) {
	t.Parallel()
	js := start(t)
	lost := &lossy{JetStream: js, after: func(n int, _ *nats.Msg) error {
		if n%2 == 1 {
			return context.DeadlineExceeded // stored, but nobody says so
		}
		return nil
	}}
	s := open(t, lost, nil)
	rev, err := writeIf(t, s, "k", `1`, 0)
	wantCode(t, err, "")
	if entry, _, _ := s.Entry(t.Context(), scope, "k"); entry.Revision != rev || string(entry.Value) != `1` {
		t.Errorf("got %+v, want revision %d", entry, rev)
	}
	if rev, err = writeIf(t, s, "k", `2`, rev); err != nil {
		t.Fatal(err)
	}
	write(t, s, "k", `3`)
	wants(t, s, "k", `3`)
	if err := s.Delete(t.Context(), scope, "k"); err != nil {
		t.Error(err)
	}
	if got, want := streamInfo(t, js, "KV_SKG_STATE").State.LastSeq, rev+2; got != want {
		t.Errorf("the bucket is at %d, want %d: something was stored twice", got, want)
	}
}

func TestALostWriteIsSentAgain(t *testing.T) {
	t.Parallel()
	s := open(t, &lossy{JetStream: start(t), before: func(n int, _ *nats.Msg) error {
		if n%3 != 0 {
			return nats.ErrTimeout // never arrived
		}
		return nil
	}}, nil)
	_, err := writeIf(t, s, "k", `1`, 0)
	wantCode(t, err, "")
	wants(t, s, "k", `1`)
}

func TestAnAnswerLostUntilTheDeadlineIsUnknown(t *testing.T) {
	t.Parallel()
	lost := &lossy{JetStream: start(t), before: func(int, *nats.Msg) error { return nats.ErrTimeout }}
	s := open(t, lost, func(c *kv.Config) { c.Timeout = 300 * time.Millisecond })
	_, err := writeIf(t, s, "k", `1`, 0)
	wantCode(t, err, protocol.CodeTimeout)
	if lost.count() < 2 {
		t.Errorf("%d attempts", lost.count())
	}
}

// TestReplacedWhileInDoubt has our write land, its answer lost, and somebody else replace it before we look.
func TestReplacedWhileInDoubt(t *testing.T) {
	t.Parallel()
	js := start(t)
	other := open(t, js, nil)
	doubtful := func() *kv.Store {
		return open(t, &lossy{JetStream: js, after: func(n int, _ *nats.Msg) error {
			if n > 1 {
				return nil
			}
			write(t, other, "k", `"theirs"`)
			return nats.ErrTimeout
		}}, nil)
	}
	_, err := writeIf(t, doubtful(), "k", `"mine"`, 0)
	wantCode(t, err, protocol.CodeTimeout) // neither success nor conflict can be told
	wants(t, other, "k", `"theirs"`)

	write(t, doubtful(), "k", `"plain"`) // a plain write is simply made again
	wants(t, other, "k", `"plain"`)
}

// TestWhatAnotherProgramWrites reads entries that were put into the bucket by hand.
func TestWhatAnotherProgramWrites(t *testing.T) {
	t.Parallel()
	js := start(t)
	s := open(t, js, nil)
	bucket, err := js.KeyValue(t.Context(), "SKG_STATE")
	if err != nil {
		t.Fatal(err)
	}
	for key, value := range map[string]string{
		"session.s1.plain":     `{"value":{"a":1},"unknown":true}`,
		"session.s1.null":      `{"value":null}`,
		"session.s1.over":      `{"value":1,"expires":"2001-01-01T00:00:00Z"}`,
		"session.s1.to=2Ecome": `{"value":2,"expires":"2999-01-01T00:00:00.5+02:00","tier":"cold"}`,
		"session.s1.garbage":   `hello`,
		"session.s1.empty":     `{}`,
	} {
		if _, err := bucket.Put(t.Context(), key, []byte(value)); err != nil {
			t.Fatal(err)
		}
	}
	wants(t, s, "plain", `{"a":1}`)
	wants(t, s, "null", `null`)
	wants(t, s, "over", "")
	wants(t, s, "to.come", `2`)
	for _, key := range []string{"garbage", "empty"} {
		_, err := s.Read(t.Context(), scope, key)
		if !errors.Is(err, &protocol.Error{Kind: protocol.KindStateSerialization}) {
			t.Errorf("%s: got %v", key, err)
		}
	}
	keys, err := s.List(t.Context(), scope, "")
	if want := []string{"empty", "garbage", "null", "plain", "to.come"}; err != nil || !slices.Equal(keys, want) {
		t.Errorf("list: got %v, %v, want %v", keys, err, want)
	}
	if found, err := s.Search(t.Context(), scope, "a", 9); err != nil || len(found) != 1 {
		t.Errorf("search: got %v, %v", found, err)
	}
	if err := bucket.Delete(t.Context(), "session.s1.plain"); err != nil {
		t.Fatal(err)
	}
	wants(t, s, "plain", "")
	write(t, s, "garbage", `"mended"`)
	wants(t, s, "garbage", `"mended"`)
}

// TestWhatIsInTheBucket is the form that other programs rely on.
func TestWhatIsInTheBucket(t *testing.T) {
	t.Parallel()
	js := start(t)
	now := time.Date(2030, 1, 2, 3, 4, 5, 6, time.UTC)
	s := open(t, js, func(c *kv.Config) { c.Now = func() time.Time { return now } })
	tier, kind, ttl := protocol.TierWarm, protocol.ContentSemantic, protocol.Millis(1500)
	err := s.Write(t.Context(), protocol.OfOperator("coder/a.b", "coder"), "user:name", json.RawMessage(`{"t": "<&>"}`),
		protocol.StoreOptions{Tier: &tier, ContentKind: &kind, TTL: &ttl})
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Link(t.Context(), protocol.GlobalScope(), protocol.MemoryLink{FromKey: "a", ToKey: "b", Relation: "is a"}); err != nil {
		t.Fatal(err)
	}
	bucket, err := js.KeyValue(t.Context(), "SKG_STATE")
	if err != nil {
		t.Fatal(err)
	}
	for key, want := range map[string]string{
		"operator.coder=2Fa=2Eb.coder.user=3Aname": `{"value":{"t":"<&>"},"tier":"warm","content_kind":"semantic","expires":"2030-01-02T03:04:06.500000006Z"}`,
		"link.global.a.is=20a.b":                   `{"value":null}`,
	} {
		got, err := bucket.Get(t.Context(), key)
		if err != nil {
			t.Errorf("%s: %v", key, err)
		} else if string(got.Value()) != want {
			t.Errorf("%s: got %s, want %s", key, got.Value(), want)
		}
	}
	stream, err := js.Stream(t.Context(), "KV_SKG_STATE")
	if err != nil {
		t.Fatal(err)
	}
	msg, err := stream.GetMsg(t.Context(), 1)
	if err != nil || msg.Header.Get("Nats-TTL") != "61" {
		t.Errorf("the server is told to remove it after %q s (%v), want 61", msg.Header.Get("Nats-TTL"), err)
	}
}
