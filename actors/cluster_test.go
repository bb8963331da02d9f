package actors_test

import (
	"context"
	"fmt"
	"net"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	natsserver "github.com/nats-io/nats-server/v2/server"

	"github.com/skelegent/skelegent-go/actors"
	"github.com/skelegent/skelegent-go/actors/effect"
	"github.com/skelegent/skelegent-go/bus"
	"github.com/skelegent/skelegent-go/protocol"
)

// startCluster runs three JetStream servers and returns them with the address of all.
func startCluster(t *testing.T) (servers []*natsserver.Server, urls string) {
	t.Helper()
	var routes []*url.URL
	var ports []int
	for range 3 {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		port := l.Addr().(*net.TCPAddr).Port
		_ = l.Close()
		ports = append(ports, port)
		routes = append(routes, &url.URL{Scheme: "nats", Host: fmt.Sprintf("127.0.0.1:%d", port)})
	}
	var all []string
	for i := range 3 {
		s, err := natsserver.NewServer(&natsserver.Options{
			ServerName: fmt.Sprintf("n%d", i), Host: "127.0.0.1", Port: -1, JetStream: true, StoreDir: t.TempDir(), NoSigs: true, NoLog: true,
			Cluster: natsserver.ClusterOpts{Name: "c", Host: "127.0.0.1", Port: ports[i]}, Routes: routes,
		})
		if err != nil {
			t.Fatal(err)
		}
		s.Start()
		t.Cleanup(func() { s.Shutdown(); s.WaitForShutdown() })
		servers = append(servers, s)
	}
	for _, s := range servers {
		if !s.ReadyForConnections(20 * time.Second) {
			t.Fatal("a server is not ready")
		}
		all = append(all, s.ClientURL())
	}
	return servers, strings.Join(all, ",")
}

// Three servers, three copies, two nodes; a server leaves in the middle. Every run is answered in the end, no effect is
// performed twice, and one that is not performed is told.
func TestCluster(t *testing.T) {
	t.Parallel()
	servers, urls := startCluster(t)
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	open := func() *bus.Conn {
		conn, err := bus.Connect(ctx, bus.ConnectConfig{URL: urls})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { closeConn(t, conn) })
		return conn
	}
	conn := open()
	topology := bus.Topology{Replicas: 3}
	if err := conn.Ensure(ctx, topology); err != nil {
		t.Fatal(err)
	}
	rec := &recorder{}
	for range 2 {
		n := node(t, open(), actors.Config{Topology: topology, WithoutEffects: true, AckWait: 3 * time.Second})
		if err := n.Register("op", declares(custom("mail", `1`))); err != nil {
			t.Fatal(err)
		}
		if err := n.RegisterEffect("mail", rec, effect.Options{}); err != nil {
			t.Fatal(err)
		}
		start(t, n)
	}
	d := bus.NewDispatcher(conn)
	const total = 200
	var wg sync.WaitGroup
	half := make(chan struct{})
	for w := range 4 {
		wg.Go(func() {
			for i := range total / 4 {
				run := protocol.RunID(fmt.Sprintf("r%d-%d", w, i))
				for ctx.Err() == nil { // a request or its answer may be lost with the server: then it is sent again
					try, cancel := context.WithTimeout(protocol.WithCall(ctx, protocol.Call{Run: run}), 5*time.Second)
					_, err := d.Dispatch(try, "op", protocol.Text("go"))
					cancel()
					if err == nil {
						break
					}
				}
				if w == 0 && i == total/8 {
					close(half)
				}
			}
		})
	}
	wait(t, half)
	servers[2].Shutdown()
	wg.Wait()
	if ctx.Err() != nil {
		t.Fatal("not all runs were answered")
	}
	emptyEffects(t, conn)
	seen := map[string]int{}
	for _, id := range rec.ids() {
		seen[id]++
	}
	for _, l := range deadLetters(t, conn) {
		seen[l.ID]++ // its outcome is unknown, or it was not performed: told, in any case
		if n := seen[l.ID]; n > 2 {
			t.Errorf("%s: %d times", l.ID, n)
		}
	}
	once := map[string]int{}
	for _, id := range rec.ids() {
		if once[id]++; once[id] > 1 {
			t.Errorf("%s was performed %d times", id, once[id])
		}
	}
	if len(seen) != total {
		t.Errorf("%d of %d effects were performed or told", len(seen), total)
	}
}
