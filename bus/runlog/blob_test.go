package runlog_test

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/skelegent/skelegent-go/bus"
	"github.com/skelegent/skelegent-go/bus/runlog"
	"github.com/skelegent/skelegent-go/protocol"
	"github.com/skelegent/skelegent-go/protocol/wire"
)

func openBlobs(t *testing.T) (*bus.Conn, *runlog.Blobs) {
	t.Helper()
	_, conn, _ := open(t, bus.Topology{})
	blobs := runlog.NewBlobs(conn.JetStream(), wire.Names{})
	for range 2 {
		if err := blobs.Ensure(timeout(t, time.Minute), 0); err != nil {
			t.Fatal(err)
		}
	}
	return conn, blobs
}

func content(size int) []byte { return bytes.Repeat([]byte("skelegent "), size/10+1)[:size] }

func stored(t *testing.T, conn *bus.Conn) uint64 {
	t.Helper()
	s, err := conn.JetStream().Stream(timeout(t, time.Minute), "OBJ_SKG_BLOBS")
	if err != nil {
		t.Fatal(err)
	}
	return s.CachedInfo().State.Msgs
}

func TestBlobs(t *testing.T) {
	t.Parallel()
	conn, blobs := openBlobs(t)
	ctx := timeout(t, time.Minute)
	store, err := conn.JetStream().ObjectStore(ctx, "SKG_BLOBS")
	if err != nil {
		t.Fatal(err)
	}
	for _, size := range []int{0, 1, 256 << 10, 256<<10 + 1, 3 << 20} {
		data := content(size)
		blob, err := blobs.Put(ctx, "op", "a=2Fb", data)
		if err != nil || blob.Size != size || len(blob.SHA256) != 64 {
			t.Fatalf("put %d: %+v, %v", size, blob, err)
		}
		before := stored(t, conn)
		again, err := blobs.Put(ctx, "op", "a=2Fb", data)
		if err != nil || again != blob || stored(t, conn) != before {
			t.Errorf("put %d again: %+v, %v, %d messages of %d", size, again, err, stored(t, conn), before)
		}
		got, err := blobs.Get(ctx, "op", "a=2Fb", blob)
		if err != nil || !bytes.Equal(got, data) {
			t.Errorf("get %d: %d bytes, %v", size, len(got), err)
		}
		if size == 0 {
			continue
		}
		got, err = store.GetBytes(ctx, "op/a=2Fb/"+blob.SHA256)
		if err != nil || !bytes.Equal(got, data) {
			t.Errorf("an ordinary client gets %d bytes of %d, %v", len(got), size, err)
		}
	}
	list, err := store.List(ctx)
	if err != nil || len(list) != 4 {
		t.Errorf("an ordinary client lists %v, %v", list, err)
	}
}

func TestBlobsThatAreNotThere(t *testing.T) {
	t.Parallel()
	conn, blobs := openBlobs(t)
	ctx := timeout(t, time.Minute)
	data := content(600_000)
	blob, err := blobs.Put(ctx, "op", "i", data)
	if err != nil {
		t.Fatal(err)
	}
	store, err := conn.JetStream().ObjectStore(ctx, "SKG_BLOBS")
	if err != nil {
		t.Fatal(err)
	}
	smaller, other, empty := blob, blob, runlog.Blob{SHA256: blob.SHA256}
	smaller.Size--
	other.SHA256 = strings.Repeat("0", 64)
	for name, tc := range map[string]struct {
		operator, token string
		blob            runlog.Blob
		want            error
		code            protocol.Code
	}{
		"another instance": {"op", "j", blob, runlog.ErrGone, protocol.CodeNotFound},
		"another operator": {"po", "i", blob, runlog.ErrGone, protocol.CodeNotFound},
		"another digest":   {"op", "i", other, runlog.ErrGone, protocol.CodeNotFound},
		"another size":     {"op", "i", smaller, runlog.ErrDamaged, protocol.CodeInternal},
		"no size":          {"op", "i", empty, runlog.ErrDamaged, protocol.CodeInternal},
		"negative size":    {"op", "i", runlog.Blob{SHA256: blob.SHA256, Size: -1}, runlog.ErrDamaged, protocol.CodeInternal},
		"nothing":          {"op", "i", runlog.Blob{}, runlog.ErrDamaged, protocol.CodeInternal},
		"a filter":         {"op", "*", blob, runlog.ErrSubject, protocol.CodeInvalidInput},
		"two tokens":       {"op", "i.j", blob, runlog.ErrSubject, protocol.CodeInvalidInput},
		"no token":         {"op", "", blob, runlog.ErrSubject, protocol.CodeInvalidInput},
		"no operator":      {"", "i", blob, runlog.ErrSubject, protocol.CodeInvalidInput},
	} {
		if _, err := blobs.Get(ctx, tc.operator, tc.token, tc.blob); !errors.Is(err, tc.want) || protocol.CodeOf(err) != tc.code {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := blobs.Put(ctx, "op", "*", data); !errors.Is(err, runlog.ErrSubject) {
		t.Errorf("put: %v", err)
	}
	if err := blobs.Purge(ctx, "op", "*"); !errors.Is(err, runlog.ErrSubject) {
		t.Errorf("purge: %v", err)
	}

	// A chunk that is gone is noticed, and so is one that was deleted by an ordinary client, and it can be written again.
	object := "op/i/" + blob.SHA256
	info, err := store.GetInfo(ctx, object)
	if err != nil {
		t.Fatal(err)
	}
	bucket, err := conn.JetStream().Stream(ctx, "OBJ_SKG_BLOBS")
	if err != nil {
		t.Fatal(err)
	}
	chunks := "$O.SKG_BLOBS.C." + info.NUID
	if err := bucket.Purge(ctx, jetstream.WithPurgeSubject(chunks), jetstream.WithPurgeKeep(1)); err != nil {
		t.Fatal(err)
	}
	if _, err := blobs.Get(ctx, "op", "i", blob); !errors.Is(err, runlog.ErrDamaged) {
		t.Errorf("without a chunk: %v", err)
	}
	if err := store.Delete(ctx, object); err != nil {
		t.Fatal(err)
	}
	if _, err := blobs.Get(ctx, "op", "i", blob); !errors.Is(err, runlog.ErrGone) {
		t.Errorf("deleted: %v", err)
	}
	if _, err := blobs.Put(ctx, "op", "i", data); err != nil {
		t.Fatal(err)
	}
	if got, err := blobs.Get(ctx, "op", "i", blob); err != nil || !bytes.Equal(got, data) {
		t.Errorf("written again: %d bytes, %v", len(got), err)
	}
}

// Writers of the same content at the same time leave one object and no chunks of others.
func TestBlobsAtTheSameTime(t *testing.T) {
	t.Parallel()
	conn, blobs := openBlobs(t)
	ctx, data := timeout(t, time.Minute), content(600_000)
	var writers sync.WaitGroup
	for range 8 {
		writers.Go(func() {
			blob, err := blobs.Put(ctx, "op", "i", data)
			if err != nil {
				t.Error(err)
				return
			}
			if got, err := blobs.Get(ctx, "op", "i", blob); err != nil || !bytes.Equal(got, data) {
				t.Errorf("%d bytes, %v", len(got), err)
			}
		})
	}
	writers.Wait()
	if n := stored(t, conn); n != 4 { // three chunks and a description
		t.Errorf("%d messages, want 4", n)
	}
}

func TestPurgeBlobs(t *testing.T) {
	t.Parallel()
	conn, blobs := openBlobs(t)
	ctx := timeout(t, time.Minute)
	var mine, others []runlog.Blob
	for i := range 3 {
		data := append(content(300_000), fmt.Sprint(i)...)
		a, err := blobs.Put(ctx, "op", "i", data)
		b, otherErr := blobs.Put(ctx, "op", "i2", data)
		if err := errors.Join(err, otherErr); err != nil {
			t.Fatal(err)
		}
		mine, others = append(mine, a), append(others, b)
	}
	// A writer that died before it was done, and the state store's own.
	for _, subject := range []string{"$O.SKG_BLOBS.C.op.i.0123.x", "$O.SKG_BLOBS.C.state-x"} {
		if _, err := conn.JetStream().Publish(ctx, subject, []byte("chunk")); err != nil {
			t.Fatal(err)
		}
	}
	for range 2 {
		if err := blobs.Purge(ctx, "op", "i"); err != nil {
			t.Fatal(err)
		}
	}
	if n := stored(t, conn); n != 3*3+1 {
		t.Errorf("%d messages are left", n)
	}
	for i := range mine {
		if _, err := blobs.Get(ctx, "op", "i", mine[i]); !errors.Is(err, runlog.ErrGone) {
			t.Errorf("purged: %v", err)
		}
		if _, err := blobs.Get(ctx, "op", "i2", others[i]); err != nil {
			t.Errorf("another instance's: %v", err)
		}
	}
	if _, err := blobs.Put(ctx, "op", "i", append(content(300_000), '0')); err != nil {
		t.Errorf("put after purge: %v", err)
	}
}

func TestBucketOfAnotherShape(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		cfg  jetstream.ObjectStoreConfig
		want error
	}{
		"an ordinary one": {jetstream.ObjectStoreConfig{}, nil},
		"that forgets":    {jetstream.ObjectStoreConfig{TTL: time.Hour}, runlog.ErrShape},
		"in memory":       {jetstream.ObjectStoreConfig{Storage: jetstream.MemoryStorage}, runlog.ErrShape},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, conn, _ := open(t, bus.Topology{})
			ctx := timeout(t, time.Minute)
			tc.cfg.Bucket = "SKG_BLOBS"
			if _, err := conn.JetStream().CreateObjectStore(ctx, tc.cfg); err != nil {
				t.Fatal(err)
			}
			blobs := runlog.NewBlobs(conn.JetStream(), wire.Names{})
			if err := blobs.Ensure(ctx, 1); !errors.Is(err, tc.want) || tc.want != nil && protocol.CodeOf(err) != protocol.CodeConflict {
				t.Fatalf("got %v, want %v", err, tc.want)
			}
			if tc.want != nil {
				return
			}
			blob, err := blobs.Put(ctx, "op", "i", []byte("x"))
			if err != nil {
				t.Fatal(err)
			}
			if _, err := blobs.Get(ctx, "op", "i", blob); err != nil {
				t.Error(err)
			}
			if err := blobs.Ensure(ctx, 3); !errors.Is(err, runlog.ErrShape) {
				t.Errorf("fewer replicas: %v", err)
			}
		})
	}
	_, conn, _ := open(t, bus.Topology{})
	blobs := runlog.NewBlobs(conn.JetStream(), wire.Names{})
	if _, err := blobs.Put(timeout(t, time.Minute), "op", "i", []byte("x")); !errors.Is(err, runlog.ErrUnavailable) {
		t.Errorf("without a bucket: %v", err)
	}
}

func TestFullBucket(t *testing.T) {
	t.Parallel()
	conn, blobs := openBlobs(t)
	ctx := timeout(t, time.Minute)
	bucket, err := conn.JetStream().Stream(ctx, "OBJ_SKG_BLOBS")
	if err != nil {
		t.Fatal(err)
	}
	cfg := bucket.CachedInfo().Config
	cfg.MaxBytes = 400 << 10
	if _, err := conn.JetStream().UpdateStream(ctx, cfg); err != nil {
		t.Fatal(err)
	}
	if _, err := blobs.Put(ctx, "op", "i", content(600_000)); !errors.Is(err, runlog.ErrFull) || protocol.CodeOf(err) != protocol.CodeQuotaExceeded {
		t.Errorf("got %v", err)
	}
	if n := stored(t, conn); n != 0 {
		t.Errorf("%d messages are left of it", n)
	}
}
