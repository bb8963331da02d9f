package kv_test

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/skelegent/skelegent-go/protocol"
	"github.com/skelegent/skelegent-go/state/kv"
)

func large(fill string) string { return `"` + strings.Repeat(fill, 2<<20) + `"` }

func TestLargeValuesAreBlobs(t *testing.T) {
	t.Parallel()
	js := start(t)
	s := open(t, js, nil)
	write(t, s, "k", large("a"))
	wants(t, s, "k", large("a"))
	first := blobs(t, js)
	if len(first) != 1 || !strings.HasPrefix(first[0], kv.BlobPrefix+"session.s1.k/") {
		t.Fatalf("got %v", first)
	}
	write(t, s, "k", large("b"))
	wants(t, s, "k", large("b"))
	if second := blobs(t, js); len(second) != 1 || second[0] == first[0] {
		t.Errorf("after large over large: got %v", second)
	}
	if found, err := s.Search(t.Context(), scope, "bbb", 1); err != nil || len(found) != 1 {
		t.Errorf("search: got %d results, %v", len(found), err)
	}
	write(t, s, "k", `"small"`)
	wants(t, s, "k", `"small"`)
	if left := blobs(t, js); len(left) != 0 {
		t.Errorf("after small over large: got %v", left)
	}
	write(t, s, "k", large("c"))
	if err := s.Delete(t.Context(), scope, "k"); err != nil {
		t.Fatal(err)
	}
	if left := blobs(t, js); len(left) != 0 {
		t.Errorf("after a delete: got %v", left)
	}
	if st := streamInfo(t, js, "OBJ_SKG_BLOBS").State; st.Msgs > 0 {
		t.Errorf("the object store still holds %d messages", st.Msgs)
	}
}

func TestAConflictLeavesNoBlob(t *testing.T) {
	t.Parallel()
	js := start(t)
	other := open(t, js, nil)
	write(t, other, "k", `0`)
	entry, _, err := other.Entry(t.Context(), scope, "k")
	if err != nil {
		t.Fatal(err)
	}
	s := kv.ForceBlobs(open(t, &lossy{JetStream: js, before: func(_ int, m *nats.Msg) error {
		write(t, other, "k", `"faster"`) // between the blob and the entry
		return nil
	}}, nil))
	_, err = writeIf(t, s, "k", `"mine"`, entry.Revision)
	wantCode(t, err, protocol.CodeConflict)
	if left := blobs(t, js); len(left) != 0 {
		t.Errorf("got %v", left)
	}
}

func TestAMissingBlobIsAClearError(t *testing.T) {
	t.Parallel()
	js := start(t)
	s := kv.ForceBlobs(open(t, js, nil))
	write(t, s, "k", `"needle"`)
	write(t, s, "whole", `"needle"`)
	obs, err := js.ObjectStore(t.Context(), "SKG_BLOBS")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range blobs(t, js) {
		if strings.Contains(name, "session.s1.k/") {
			if err := obs.Delete(t.Context(), name); err != nil {
				t.Fatal(err)
			}
		}
	}
	_, err = s.Read(t.Context(), scope, "k")
	if !errors.Is(err, &protocol.Error{Kind: protocol.KindStateSerialization, Code: protocol.CodeInternal}) || !strings.Contains(err.Error(), "blob") {
		t.Errorf("got %v", err)
	}
	if found, err := s.Search(t.Context(), scope, "needle", 9); err != nil || len(found) != 1 {
		t.Errorf("a search beside it: got %v, %v", found, err)
	}
	write(t, s, "k", `"again"`) // and it can be mended
	wants(t, s, "k", `"again"`)
}

func TestADamagedBlobIsAnError(t *testing.T) {
	t.Parallel()
	js := start(t)
	s := kv.ForceBlobs(open(t, js, nil))
	write(t, s, "k", `"needle"`)
	_, id, _ := strings.Cut(blobs(t, js)[0], "k/")
	stream, err := js.Stream(t.Context(), "OBJ_SKG_BLOBS")
	if err != nil {
		t.Fatal(err)
	}
	if err := stream.Purge(t.Context(), jetstream.WithPurgeSubject("$O.SKG_BLOBS.C.state-"+id)); err != nil {
		t.Fatal(err)
	}
	publish(t, js, "$O.SKG_BLOBS.C.state-"+id, `"noodle"`)
	_, err = s.Read(t.Context(), scope, "k")
	wantCode(t, err, protocol.CodeInternal)
}

func TestReadersOfBlobsThatAreReplaced(t *testing.T) {
	t.Parallel()
	js := start(t)
	s := kv.ForceBlobs(open(t, js, nil))
	write(t, s, "k", `0`)
	stop := make(chan struct{})
	var wg sync.WaitGroup
	wg.Go(func() {
		defer close(stop)
		for range 50 {
			write(t, s, "k", `1`)
		}
	})
	for range 2 {
		wg.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
					if v, err := s.Read(t.Context(), scope, "k"); err != nil || v == nil {
						t.Errorf("got %s, %v", v, err)
						return
					}
				}
			}
		})
	}
	wg.Wait()
}

func TestSweepRemovesWhatNothingRefersTo(t *testing.T) {
	t.Parallel()
	js := start(t)
	now := time.Now()
	s := kv.ForceBlobs(open(t, js, func(c *kv.Config) { c.Now = func() time.Time { return now } }))
	if n, err := s.Sweep(t.Context()); n != 0 || err != nil {
		t.Errorf("of nothing: got %d, %v", n, err)
	}
	write(t, s, "kept", `"kept"`)
	for _, name := range []string{kv.BlobPrefix + "session.s1.gone/1", kv.BlobPrefix + "session.s1.kept/1", "coder/inst/sha"} {
		meta := base64.URLEncoding.EncodeToString([]byte(name))
		publish(t, js, "$O.SKG_BLOBS.M."+meta, fmt.Sprintf(`{"name":%q,"bucket":"SKG_BLOBS","nuid":"x"}`, name))
	}
	for _, nuid := range []string{"state-unfinished", "another"} { // chunks of blobs that got no name
		publish(t, js, "$O.SKG_BLOBS.C."+nuid, "x")
	}
	if n, err := s.Sweep(t.Context()); n != 0 || err != nil {
		t.Errorf("of fresh blobs: got %d, %v", n, err)
	}
	now = now.Add(2 * time.Hour)
	if n, err := s.Sweep(t.Context()); n != 3 || err != nil {
		t.Errorf("got %d, %v, want 3", n, err)
	}
	if left := blobs(t, js); len(left) != 2 {
		t.Errorf("left: %v", left)
	}
	wants(t, s, "kept", `"kept"`)
}

func TestAValueOverTheLimitIsRefused(t *testing.T) {
	t.Parallel()
	js := start(t)
	s := open(t, js, func(c *kv.Config) { c.MaxValue = 100 })
	err := s.Write(t.Context(), scope, "k", json.RawMessage(large("x")), protocol.StoreOptions{})
	wantCode(t, err, protocol.CodeQuotaExceeded)
	if left := blobs(t, js); len(left) != 0 {
		t.Errorf("got %v", left)
	}
}

// TestBlobsAreOrdinaryObjects reads one as other programs do.
func TestBlobsAreOrdinaryObjects(t *testing.T) {
	t.Parallel()
	js := start(t)
	s := open(t, js, nil)
	write(t, s, "k", large("z"))
	var obs jetstream.ObjectStore
	obs, err := js.ObjectStore(t.Context(), "SKG_BLOBS")
	if err != nil {
		t.Fatal(err)
	}
	if got, err := obs.GetString(t.Context(), blobs(t, js)[0]); err != nil || got != large("z") {
		t.Errorf("got %d bytes, %v", len(got), err)
	}
}

// publish puts a message into the object store. The client library's own Put may leave a goroutine behind.
func publish(t testing.TB, js jetstream.JetStream, subject, data string) {
	t.Helper()
	if _, err := js.Publish(t.Context(), subject, []byte(data)); err != nil {
		t.Fatal(err)
	}
}
