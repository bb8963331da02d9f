package embedtest

import (
	"fmt"
	"net"
	"net/url"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
)

const (
	servers   = 3
	readySoon = 20 * time.Second
)

// Cluster runs three servers that keep streams together, until the test ends, and returns where clients reach each. They may
// not have a leader yet.
func Cluster(tb testing.TB) (urls []string) {
	tb.Helper()
	var routes []*url.URL
	var ports []int
	for range servers {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			tb.Fatal(err)
		}
		port := l.Addr().(*net.TCPAddr).Port
		_ = l.Close()
		ports = append(ports, port)
		routes = append(routes, &url.URL{Scheme: "nats", Host: fmt.Sprintf("127.0.0.1:%d", port)})
	}
	all := make([]*server.Server, servers)
	for i, port := range ports {
		s, err := server.NewServer(&server.Options{
			ServerName: fmt.Sprintf("n%d", i), Host: "127.0.0.1", Port: -1, JetStream: true, StoreDir: tb.TempDir(), NoSigs: true, NoLog: true,
			Cluster: server.ClusterOpts{Name: "c", Host: "127.0.0.1", Port: port}, Routes: routes,
		})
		if err != nil {
			tb.Fatal(err)
		}
		all[i] = s
		s.Start()
		tb.Cleanup(func() { s.Shutdown(); s.WaitForShutdown() })
	}
	for _, s := range all {
		if !s.ReadyForConnections(readySoon) {
			tb.Fatal("a server is not ready")
		}
		urls = append(urls, s.ClientURL())
	}
	return urls
}
