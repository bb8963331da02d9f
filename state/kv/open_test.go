package kv_test

import (
	"strings"
	"sync"
	"testing"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/skelegent/skelegent-go/protocol"
	"github.com/skelegent/skelegent-go/protocol/wire"
	"github.com/skelegent/skelegent-go/state/kv"
)

func TestOpenCreatesABucketThatOnlyTheLeaderReads(t *testing.T) {
	t.Parallel()
	js := start(t)
	open(t, js, nil)
	got := streamInfo(t, js, "KV_SKG_STATE").Config
	if got.AllowDirect || got.MaxMsgsPerSubject != 1 || got.Storage != jetstream.FileStorage || !got.AllowMsgTTL {
		t.Errorf("got %+v", got)
	}
	if streamInfo(t, js, "OBJ_SKG_BLOBS").Config.AllowDirect {
		t.Error("the object store allows direct reads")
	}
	if _, err := js.KeyValue(t.Context(), "SKG_STATE"); err != nil {
		t.Errorf("other clients do not take it for a bucket: %v", err)
	}
}

func TestOpenTurnsOffDirectReadsOfABucketThatExists(t *testing.T) {
	t.Parallel()
	js := start(t)
	if _, err := js.CreateKeyValue(t.Context(), jetstream.KeyValueConfig{Bucket: "SKG_STATE"}); err != nil {
		t.Fatal(err)
	}
	if _, err := js.CreateObjectStore(t.Context(), jetstream.ObjectStoreConfig{Bucket: "SKG_BLOBS"}); err != nil {
		t.Fatal(err)
	}
	if !streamInfo(t, js, "KV_SKG_STATE").Config.AllowDirect {
		t.Fatal("the client library no longer allows direct reads: this test shows nothing")
	}
	s := open(t, js, func(c *kv.Config) { c.Create = false })
	for _, name := range []string{"KV_SKG_STATE", "OBJ_SKG_BLOBS"} {
		if streamInfo(t, js, name).Config.AllowDirect {
			t.Errorf("%s allows direct reads", name)
		}
	}
	write(t, s, "k", `1`)
	wants(t, s, "k", `1`)
}

func TestOpenWithoutABucketSaysWhatToDo(t *testing.T) {
	t.Parallel()
	_, err := kv.Open(t.Context(), start(t), kv.Config{})
	wantCode(t, err, protocol.CodeUnavailable)
	if err == nil || !strings.Contains(err.Error(), "SKG_STATE") || !strings.Contains(err.Error(), "start a node") {
		t.Errorf("got %v", err)
	}
}

func TestOpenRefusesAnotherShape(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name   string
		change func(*jetstream.KeyValueConfig)
		want   string
	}{
		{"history", func(c *jetstream.KeyValueConfig) { c.History = 5 }, "history is 5, must be 1"},
		{"storage", func(c *jetstream.KeyValueConfig) { c.Storage = jetstream.MemoryStorage }, "storage is Memory, must be File"},
		{"max age", func(c *jetstream.KeyValueConfig) { c.TTL = 3600e9 }, "max age is 1h0m0s, must be 0s"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			js := start(t)
			cfg := jetstream.KeyValueConfig{Bucket: "SKG_STATE"}
			test.change(&cfg)
			if _, err := js.CreateKeyValue(t.Context(), cfg); err != nil {
				t.Fatal(err)
			}
			_, err := kv.Open(t.Context(), js, kv.Config{Create: true})
			wantCode(t, err, protocol.CodeConflict)
			if err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("got %v, want it to say %q", err, test.want)
			}
		})
	}
	t.Run("replicas", func(t *testing.T) {
		t.Parallel()
		js := start(t)
		open(t, js, nil)
		_, err := kv.Open(t.Context(), js, kv.Config{Replicas: 3})
		if protocol.CodeOf(err) != protocol.CodeConflict || !strings.Contains(err.Error(), "replicas is 1, must be 3") {
			t.Errorf("got %v", err)
		}
	})
}

func TestOpenRefusesBadConfiguration(t *testing.T) {
	t.Parallel()
	js := start(t)
	for _, cfg := range []kv.Config{{Replicas: -1}, {Replicas: 6}, {MaxBytes: -1}, {Timeout: -1}} {
		_, err := kv.Open(t.Context(), js, cfg)
		wantCode(t, err, protocol.CodeInvalidInput)
	}
}

func TestOpenFromManyNodesAtOnce(t *testing.T) {
	t.Parallel()
	js := start(t)
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			if _, err := kv.Open(t.Context(), js, kv.Config{Create: true}); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
}

func TestPrefixesAreApart(t *testing.T) {
	t.Parallel()
	js := start(t)
	other, err := wire.NewNames("acme")
	if err != nil {
		t.Fatal(err)
	}
	mine, theirs := open(t, js, nil), open(t, js, func(c *kv.Config) { c.Names = other })
	write(t, mine, "k", `1`)
	wants(t, theirs, "k", "")
	if streamInfo(t, js, "KV_ACME_STATE").State.Msgs != 0 {
		t.Error("the other bucket has a message")
	}
}

func TestABucketOfAnotherDomain(t *testing.T) {
	t.Parallel()
	ns, _ := startServer(t, t.TempDir(), func(o *server.Options) { o.JetStreamDomain = "hub" })
	js, err := jetstream.NewWithDomain(connect(t, ns).Conn(), "hub")
	if err != nil {
		t.Fatal(err)
	}
	s := open(t, js, nil)
	write(t, s, "k", `1`)
	write(t, s, "k", large("x"))
	wants(t, s, "k", large("x"))
	if keys, err := s.List(t.Context(), scope, ""); err != nil || len(keys) != 1 {
		t.Errorf("got %v, %v", keys, err)
	}
}
