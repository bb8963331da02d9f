package kv_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net"
	"net/url"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/skelegent/skelegent-go/protocol"
	"github.com/skelegent/skelegent-go/state/kv"
)

// startCluster runs three servers and returns a client of each.
func startCluster(t *testing.T) []jetstream.JetStream {
	t.Helper()
	var routes []*url.URL
	var ports []int
	for range 3 {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		port := l.Addr().(*net.TCPAddr).Port
		l.Close()
		ports = append(ports, port)
		routes = append(routes, &url.URL{Scheme: "nats", Host: fmt.Sprintf("127.0.0.1:%d", port)})
	}
	servers := make([]*server.Server, 3)
	for i := range servers {
		ns, err := server.NewServer(&server.Options{
			ServerName: fmt.Sprintf("n%d", i), Host: "127.0.0.1", Port: -1, JetStream: true, StoreDir: t.TempDir(), NoSigs: true, NoLog: true,
			Cluster: server.ClusterOpts{Name: "c", Host: "127.0.0.1", Port: ports[i]}, Routes: routes,
		})
		if err != nil {
			t.Fatal(err)
		}
		servers[i] = ns
		ns.Start()
		t.Cleanup(func() { ns.Shutdown(); ns.WaitForShutdown() })
	}
	var clients []jetstream.JetStream
	for _, ns := range servers {
		if !ns.ReadyForConnections(20 * time.Second) {
			t.Fatal("a server is not ready")
		}
		clients = append(clients, connect(t, ns))
	}
	return clients
}

// TestCluster writes and reads through all servers of a cluster, followers of the bucket too.
func TestCluster(t *testing.T) {
	t.Parallel()
	clients := startCluster(t)
	ctx, cancel := context.WithTimeout(t.Context(), 90*time.Second)
	defer cancel()
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	var stores []*kv.Store
	for len(stores) < 3 {
		s, err := kv.Open(ctx, clients[len(stores)], kv.Config{Create: true, Replicas: 3, Timeout: 15 * time.Second})
		switch {
		case err == nil:
			stores = append(stores, s)
		case ctx.Err() != nil:
			t.Fatal(err)
		default: // the cluster has no leader yet
			<-tick.C
		}
	}
	t.Run("reads are never stale", func(t *testing.T) { //nolint:paralleltest // one after the other on one cluster
		for i := range 150 {
			writer, reader := stores[i%3], stores[(i+1)%3]
			write(t, writer, "k", fmt.Sprint(i))
			wants(t, reader, "k", fmt.Sprint(i))
		}
		write(t, stores[0], "large", large("x"))
		wants(t, stores[1], "large", large("x"))
		wants(t, stores[2], "large", large("x"))
	})
	t.Run("counters are exact", func(t *testing.T) { //nolint:paralleltest // one after the other on one cluster
		var wg sync.WaitGroup
		for _, s := range stores {
			wg.Go(func() {
				for done := 0; done < 15; {
					entry, _, err := s.Entry(ctx, scope, "n")
					if err != nil {
						t.Error(err)
						return
					}
					n := 0
					if entry.Value != nil {
						_ = json.Unmarshal(entry.Value, &n)
					}
					_, err = s.WriteIf(ctx, scope, "n", json.RawMessage(fmt.Sprint(n+1)), protocol.StoreOptions{}, entry.Revision)
					if code := protocol.CodeOf(err); code == "" {
						done++
					} else if code != protocol.CodeConflict {
						t.Error(err)
						return
					}
				}
			})
		}
		wg.Wait()
		wants(t, stores[0], "n", "45")
	})
	t.Run("plain writers of one key", func(t *testing.T) { //nolint:paralleltest // one after the other on one cluster
		var wg sync.WaitGroup
		for i, s := range stores {
			wg.Go(func() {
				for j := range 15 {
					if err := s.Write(ctx, scope, "hot", json.RawMessage(fmt.Sprint(i*100+j)), protocol.StoreOptions{}); err != nil {
						t.Error(err)
						return
					}
				}
			})
		}
		wg.Wait()
	})
}
