package runlog_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/skelegent/skelegent-go/bus"
	"github.com/skelegent/skelegent-go/bus/embed/embedtest"
	"github.com/skelegent/skelegent-go/bus/runlog"
	"github.com/skelegent/skelegent-go/protocol/wire"
)

// TestCluster writes and reads through all servers of a cluster, followers too, and several at a time.
func TestCluster(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	var logs []*runlog.Log
	var blobs []*runlog.Blobs
	for _, url := range embedtest.Cluster(t) {
		conn, err := bus.Connect(ctx, bus.ConnectConfig{URL: url})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(conn.NATS().Close)
		if err := conn.Ensure(ctx, bus.Topology{Replicas: 3}); err != nil {
			t.Fatal(err)
		}
		logs = append(logs, runlog.New(conn.JetStream(), wire.Names{}))
		blobs = append(blobs, runlog.NewBlobs(conn.JetStream(), wire.Names{}))
	}
	var all sync.WaitGroup
	for _, b := range blobs {
		all.Go(func() {
			if err := b.Ensure(ctx, 3); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()

	t.Run("loads are never stale", func(t *testing.T) { //nolint:paralleltest // one after the other on one cluster
		w := &writer{subject: "skg.log.op.stale.run"}
		for n := range 50 {
			w.log = logs[n%3]
			w.append(t, "queued")
			if got, err := logs[(n+1)%3].Load(ctx, w.subject); err != nil || len(got) != n+1 {
				t.Fatalf("%d records of %d, %v", len(got), n+1, err)
			}
		}
	})
	t.Run("one of many wins", func(t *testing.T) { //nolint:paralleltest // one after the other on one cluster
		const writers = 6
		for expect, round := uint64(0), 0; round < 30; round++ {
			seqs := make([]uint64, writers)
			for i := range writers {
				all.Go(func() {
					msg := &nats.Msg{Subject: "skg.log.op.contended.run", Header: nats.Header{}}
					var err error
					seqs[i], err = logs[i%3].Append(ctx, msg, fmt.Sprintf("%d-%d", round, i), expect)
					if err != nil && !errors.Is(err, runlog.ErrConflict) {
						t.Error(err)
					}
				})
			}
			all.Wait()
			won := 0
			for _, seq := range seqs {
				if seq > 0 {
					won, expect = won+1, seq
				}
			}
			if won != 1 {
				t.Fatalf("round %d: %d won", round, won)
			}
		}
	})
	t.Run("blobs", func(t *testing.T) { //nolint:paralleltest // one after the other on one cluster
		for round := range 3 {
			data := bytes.Repeat([]byte{byte(round)}, 600_000)
			for i, b := range append(blobs, blobs...) {
				all.Go(func() {
					blob, err := b.Put(ctx, "op", "i", data)
					if err != nil {
						t.Error(err)
						return
					}
					if got, err := blobs[(i+1)%3].Get(ctx, "op", "i", blob); err != nil || !bytes.Equal(got, data) {
						t.Errorf("%d bytes, %v", len(got), err)
					}
				})
			}
			all.Wait()
		}
		if err := blobs[0].Purge(ctx, "op", "i"); err != nil {
			t.Error(err)
		}
	})
}
