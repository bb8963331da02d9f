package actors_test

import (
	"context"
	"testing"

	"github.com/nats-io/nats.go/micro"

	"github.com/skelegent/skelegent-go/actors"
	"github.com/skelegent/skelegent-go/bus"
	"github.com/skelegent/skelegent-go/protocol"
)

func BenchmarkFloorMicro(b *testing.B) {
	_, conn := server(b)
	svc, err := micro.AddService(conn.NATS(), micro.Config{Name: "floor", Version: "1.0.0"})
	if err != nil {
		b.Fatal(err)
	}
	defer svc.Stop()
	if err := svc.AddEndpoint("floor", micro.HandlerFunc(func(r micro.Request) { _ = r.Respond(r.Data()) }), micro.WithEndpointSubject("floor")); err != nil {
		b.Fatal(err)
	}
	body, _ := protocol.Marshal(protocol.Text("hello"))
	ctx, cancel := context.WithTimeout(context.Background(), 1000e9)
	defer cancel()
	b.Run("sequential", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if _, err := conn.NATS().RequestWithContext(ctx, "floor", body); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("parallel64", func(b *testing.B) {
		b.ReportAllocs()
		b.SetParallelism(32)
		b.RunParallel(func(pb *testing.PB) {
			for pb.Next() {
				if _, err := conn.NATS().RequestWithContext(ctx, "floor", body); err != nil {
					b.Error(err)
				}
			}
		})
	})
}

func BenchmarkDispatch(b *testing.B) {
	_, conn := server(b)
	n := node(b, conn, actors.Config{})
	if err := n.Register("echo", echo); err != nil {
		b.Fatal(err)
	}
	start(b, n)
	d := bus.NewDispatcher(conn)
	ctx, cancel := context.WithTimeout(context.Background(), 1000e9)
	defer cancel()
	b.Run("sequential", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if _, err := d.Dispatch(ctx, "echo", protocol.Text("hello")); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("parallel64", func(b *testing.B) {
		b.ReportAllocs()
		b.SetParallelism(32)
		b.RunParallel(func(pb *testing.PB) {
			for pb.Next() {
				if _, err := d.Dispatch(ctx, "echo", protocol.Text("hello")); err != nil {
					b.Error(err)
				}
			}
		})
	})
}
