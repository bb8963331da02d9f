package embed_test

import (
	"testing"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
)

// BenchmarkRequest compares a guest's request through the guard with the same through a plain server's
// own listener, and within the process.
func BenchmarkRequest(b *testing.B) {
	s := start(b, config(b))
	plain, err := server.NewServer(&server.Options{Host: "127.0.0.1", Port: -1, NoSigs: true, NoLog: true})
	if err != nil {
		b.Fatal(err)
	}
	plain.Start()
	b.Cleanup(func() { plain.Shutdown(); plain.WaitForShutdown() })
	if !plain.ReadyForConnections(patience) {
		b.Fatal("not ready")
	}
	dial := func(url string, opts ...nats.Option) *nats.Conn {
		nc, err := nats.Connect(url, opts...)
		if err != nil {
			b.Fatal(err)
		}
		b.Cleanup(nc.Close)
		return nc
	}
	run := func(name string, responder, caller *nats.Conn) {
		b.Run(name, func(b *testing.B) {
			sub, err := responder.Subscribe("skg.op.echo", func(m *nats.Msg) { _ = m.Respond(m.Data) })
			if err != nil {
				b.Fatal(err)
			}
			if err := responder.Flush(); err != nil {
				b.Fatal(err)
			}
			b.ReportAllocs()
			for b.Loop() {
				if _, err := caller.Request("skg.op.echo", []byte("hello"), patience); err != nil {
					b.Fatal(err)
				}
			}
			if err := sub.Unsubscribe(); err != nil {
				b.Fatal(err)
			}
		})
	}
	run("guest", node(b, s), guest(b, s))
	run("in process", node(b, s), node(b, s))
	run("plain", dial("", nats.InProcessServer(plain)), dial(plain.ClientURL()))
}
