package runlog_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/skelegent/skelegent-go/bus"
	"github.com/skelegent/skelegent-go/bus/embed"
	"github.com/skelegent/skelegent-go/bus/runlog"
	"github.com/skelegent/skelegent-go/protocol/wire"
)

// BenchmarkLoad loads an instance whose events lie scattered among 100,000 others, by what its records say and, to compare,
// in order.
func BenchmarkLoad(b *testing.B) {
	s, err := embed.Start(embed.Config{Dir: b.TempDir(), Listen: embed.ListenNone, NoSync: true})
	if err != nil {
		b.Fatal(err)
	}
	defer func() { _ = s.Stop(context.Background()) }()
	nc, err := s.Connect()
	if err != nil {
		b.Fatal(err)
	}
	defer nc.Close()
	conn, err := bus.FromNATS(nc, wire.Names{}, nil)
	if err != nil {
		b.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(b.Context(), 10*time.Minute)
	defer cancel()
	if err := conn.Ensure(ctx, bus.Topology{}); err != nil {
		b.Fatal(err)
	}
	const others, step = 100_000, 100
	sizes := []int{20, 1000}
	scatter(ctx, b, conn, others, step, sizes)
	log := runlog.New(conn.JetStream(), wire.Names{})
	for _, size := range sizes {
		subject := fmt.Sprintf("skg.log.op.mine-%d.run", size)
		for name, load := range map[string]func() ([]runlog.Record, error){
			"Load": func() ([]runlog.Record, error) { return log.Load(ctx, subject) },
			"Tail": func() ([]runlog.Record, error) { return log.Tail(ctx, subject, 0) },
		} {
			b.Run(fmt.Sprintf("%s/%d", name, size), func(b *testing.B) {
				b.ReportAllocs()
				for b.Loop() {
					if got, err := load(); err != nil || len(got) != size {
						b.Fatalf("%d records, %v", len(got), err)
					}
				}
			})
		}
	}
}

// scatter writes events of 5,000 instances, and after each step of them those of an instance for each size. Where all have
// theirs, the others follow.
func scatter(ctx context.Context, b *testing.B, conn *bus.Conn, others, step int, sizes []int) {
	b.Helper()
	js, err := jetstream.New(conn.NATS(), jetstream.WithPublishAsyncMaxPending(4096))
	if err != nil {
		b.Fatal(err)
	}
	tails := make([][]uint64, len(sizes))
	body := make([]byte, 300)
	seq := uint64(0)
	publish := func(subject, previous string) {
		msg := &nats.Msg{Subject: subject, Data: body, Header: nats.Header{wire.HeaderKind: {"queued"}, nats.MsgIdHdr: {fmt.Sprint(seq)}}}
		if previous != "" {
			msg.Header.Set(wire.HeaderPrevious, previous)
		}
		if _, err := js.PublishMsgAsync(msg, jetstream.WithStallWait(time.Minute)); err != nil {
			b.Fatal(err)
		}
		seq++ // one publisher: the stream counts as we do
	}
	for i := range others {
		publish(fmt.Sprintf("skg.log.op.other-%d.run", i%5000), "")
		for j, size := range sizes {
			if i%step == 0 && len(tails[j]) < size {
				publish(fmt.Sprintf("skg.log.op.mine-%d.run", size), runlog.EncodePrevious(tails[j]))
				tails[j] = append(tails[j], seq)
			}
		}
	}
	select {
	case <-js.PublishAsyncComplete():
	case <-ctx.Done():
		b.Fatal(ctx.Err())
	}
}
