package kv_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/skelegent/skelegent-go/protocol"
	"github.com/skelegent/skelegent-go/state"
	"github.com/skelegent/skelegent-go/state/kv"
)

func TestARestartedServerStillHasIt(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	ns, stop := startServer(t, dir, nil)
	s := open(t, connect(t, ns), nil)
	write(t, s, "small", `1`)
	write(t, s, "large", large("x"))
	if err := s.Link(t.Context(), scope, protocol.MemoryLink{FromKey: "a", ToKey: "b", Relation: "r"}); err != nil {
		t.Fatal(err)
	}
	stop()
	ns, _ = startServer(t, dir, nil)
	s = open(t, connect(t, ns), func(c *kv.Config) { c.Create = false })
	wants(t, s, "small", `1`)
	wants(t, s, "large", large("x"))
	if to, err := s.Traverse(t.Context(), scope, "a", "", 1); err != nil || !slices.Equal(to, []string{"b"}) {
		t.Errorf("got %v, %v", to, err)
	}
}

func TestTwoStoresSeeTheSame(t *testing.T) {
	t.Parallel()
	ns, _ := startServer(t, t.TempDir(), nil)
	a, b := open(t, connect(t, ns), nil), open(t, connect(t, ns), nil)
	for i := range 100 {
		write(t, a, "k", fmt.Sprint(i))
		wants(t, b, "k", fmt.Sprint(i))
	}
	if err := b.Delete(t.Context(), scope, "k"); err != nil {
		t.Fatal(err)
	}
	wants(t, a, "k", "")
}

func TestAFullBucket(t *testing.T) {
	t.Parallel()
	js := start(t)
	s := open(t, js, func(c *kv.Config) { c.MaxBytes = 64 << 10 })
	value := json.RawMessage(`"` + strings.Repeat("x", 1000) + `"`)
	var err error
	var n int
	for ; err == nil && n < 200; n++ {
		err = s.Write(t.Context(), scope, fmt.Sprint(n), value, protocol.StoreOptions{})
	}
	wantCode(t, err, protocol.CodeQuotaExceeded)
	if err == nil || !strings.Contains(err.Error(), "full") || !errors.Is(err, &protocol.Error{Kind: protocol.KindStateWriteFailed}) {
		t.Errorf("got %+v", err)
	}
	for i := range n - 1 { // what is there can be replaced, and deleted
		key := fmt.Sprint(i)
		if err := s.Write(t.Context(), scope, key, json.RawMessage(`1`), protocol.StoreOptions{}); err != nil {
			t.Errorf("replace %s: %v", key, err)
		}
		if err := s.Delete(t.Context(), scope, key); err != nil {
			t.Errorf("delete %s: %v", key, err)
		}
		wants(t, s, key, "")
	}
}

// TestDeleteWithoutRoomForAMarker has values that are smaller than the marker of a delete.
func TestDeleteWithoutRoomForAMarker(t *testing.T) {
	t.Parallel()
	js := start(t)
	s := open(t, js, func(c *kv.Config) { c.MaxBytes = 8 << 10 })
	bucket, err := js.KeyValue(t.Context(), "SKG_STATE")
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for ; err == nil; n++ { // as another program writes: without headers
		_, err = bucket.Put(t.Context(), fmt.Sprintf("session.s1.%d", n), []byte(`{"value":1}`))
	}
	before := streamInfo(t, js, "KV_SKG_STATE").State.Msgs
	for i := range 10 {
		if err := s.Delete(t.Context(), scope, fmt.Sprint(i)); err != nil {
			t.Errorf("delete %d of %d: %v", i, n, err)
		}
		wants(t, s, fmt.Sprint(i), "")
	}
	if after := streamInfo(t, js, "KV_SKG_STATE").State.Msgs; after >= before {
		t.Errorf("%d messages before, %d after: the way without a marker was not taken", before, after)
	}
}

func TestAServerThatIsGone(t *testing.T) {
	t.Parallel()
	ns, stop := startServer(t, t.TempDir(), nil)
	js := connect(t, ns)
	s := open(t, js, func(c *kv.Config) { c.Timeout = 500 * time.Millisecond })
	write(t, s, "k", `1`)
	stop()
	for what, call := range map[string]func() error{
		"read":   func() error { _, err := s.Read(t.Context(), scope, "k"); return err },
		"write":  func() error { return s.Write(t.Context(), scope, "k", json.RawMessage(`2`), protocol.StoreOptions{}) },
		"delete": func() error { return s.Delete(t.Context(), scope, "k") },
		"list":   func() error { _, err := s.List(t.Context(), scope, ""); return err },
		"search": func() error { _, err := s.Search(t.Context(), scope, "1", 1); return err },
		"link":   func() error { return s.Link(t.Context(), scope, protocol.MemoryLink{}) },
		"walk":   func() error { _, err := s.Traverse(t.Context(), scope, "a", "", 1); return err },
		"sweep":  func() error { _, err := s.Sweep(t.Context()); return err },
		"open": func() error {
			_, err := kv.Open(t.Context(), js, kv.Config{Timeout: 500 * time.Millisecond})
			return err
		},
	} {
		began := time.Now()
		err := call()
		if code := protocol.CodeOf(err); code != protocol.CodeUnavailable && code != protocol.CodeTimeout || !protocol.IsRetryable(err) {
			t.Errorf("%s: got %v", what, err)
		}
		if took := time.Since(began); took > 5*time.Second {
			t.Errorf("%s: took %v", what, took)
		}
	}
	js.Conn().Close()
	_, err := s.Read(t.Context(), scope, "k")
	wantCode(t, err, protocol.CodeUnavailable)
}

func TestAnOutageShorterThanTheTimeoutIsSurvived(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	ns, stop := startServer(t, dir, nil)
	proxy := &switchboard{ns: ns}
	nc, err := nats.Connect("", nats.SetCustomDialer(proxy), nats.MaxReconnects(-1), nats.ReconnectWait(10*time.Millisecond))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(nc.Close)
	s := open(t, newJetStream(t, nc), func(c *kv.Config) { c.Attempt, c.Timeout = 300*time.Millisecond, 20*time.Second })
	write(t, s, "k", `1`)
	stop()
	result := make(chan error, 1)
	go func() {
		result <- s.Write(context.WithoutCancel(t.Context()), scope, "k", json.RawMessage(`2`), protocol.StoreOptions{})
	}()
	ns, _ = startServer(t, dir, nil)
	proxy.set(ns)
	if err := <-result; err != nil {
		t.Fatal(err)
	}
	wants(t, s, "k", `2`)
}

func TestCallsEndWithTheirContext(t *testing.T) {
	t.Parallel()
	ns, stop := startServer(t, t.TempDir(), nil)
	s := open(t, connect(t, ns), nil)
	stop()
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	began := time.Now()
	_, err := s.Read(ctx, scope, "k")
	if code := protocol.CodeOf(err); code != protocol.CodeUnavailable && code != protocol.CodeTimeout {
		t.Errorf("got %v", err)
	}
	ctx, cancel = context.WithCancel(t.Context())
	time.AfterFunc(50*time.Millisecond, cancel)
	_, err = s.Read(ctx, scope, "k")
	wantCode(t, err, protocol.CodeCancelled)
	if took := time.Since(began); took > 3*time.Second {
		t.Errorf("took %v", took)
	}
}

func TestSearchAndTraverseLimits(t *testing.T) {
	t.Parallel()
	s := open(t, start(t), func(c *kv.Config) { c.Limits = state.Limits{Entries: 3} })
	for i := range 4 {
		write(t, s, fmt.Sprint(i), `1`)
		if err := s.Link(t.Context(), scope, protocol.MemoryLink{FromKey: "a", ToKey: fmt.Sprint(i), Relation: "r"}); err != nil {
			t.Fatal(err)
		}
	}
	_, err := s.Search(t.Context(), scope, "1", 1)
	wantCode(t, err, protocol.CodeQuotaExceeded)
	_, err = s.Traverse(t.Context(), scope, "a", "", 1)
	wantCode(t, err, protocol.CodeQuotaExceeded)
}

// TestTheServerRemovesWhatExpired shows that the bucket honours the header that writes with a TTL carry, and leaves
// nothing behind. It is set by hand: the store adds a minute of grace, which a test need not wait for.
func TestTheServerRemovesWhatExpired(t *testing.T) {
	t.Parallel()
	js := start(t)
	open(t, js, nil)
	msg := nats.NewMsg("$KV.SKG_STATE.session.s1.k")
	msg.Header.Set("Nats-TTL", "1")
	msg.Data = []byte(`{"value":1}`)
	if _, err := js.PublishMsg(t.Context(), msg); err != nil {
		t.Fatal(err)
	}
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for end := time.Now().Add(20 * time.Second); streamInfo(t, js, "KV_SKG_STATE").State.Msgs > 0; <-tick.C {
		if time.Now().After(end) {
			t.Fatal("the server keeps a message whose time is over")
		}
	}
	s := open(t, js, nil)
	wants(t, s, "k", "")
	if _, err := writeIf(t, s, "k", `2`, 0); err != nil {
		t.Error(err)
	}
}
