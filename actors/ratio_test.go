package actors_test

import (
	"context"
	"flag"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/nats-io/nats.go/micro"
	"go.uber.org/zap"

	"github.com/skelegent/skelegent-go/actors"
	"github.com/skelegent/skelegent-go/bus"
	"github.com/skelegent/skelegent-go/bus/embed"
	"github.com/skelegent/skelegent-go/protocol"
)

var ratio = flag.Duration("ratio", 0, "measure dispatch beside its floor, this long for each of five rounds")

// figures of one case and round.
type figures struct {
	p50, p99 time.Duration // one at a time
	rate     float64       // at 64 in flight, a second
	allocs   float64       // one at a time, in the whole process
}

// TestRatio prints what a dispatch costs beside a raw request to a micro service that echoes the same bytes; client,
// server and service in this process. It judges nothing: machines are noisy.
func TestRatio(t *testing.T) { //nolint:paralleltest // it measures
	if *ratio == 0 {
		t.Skip("run by make bench")
	}
	s, err := embed.Start(embed.Config{Dir: t.TempDir(), Listen: "127.0.0.1:0", NoSync: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Stop(context.Background()) })
	conn := connect(t, s)
	n := node(t, conn, actors.Config{Logger: zap.NewNop()})
	if err := n.Register("echo", echo); err != nil {
		t.Fatal(err)
	}
	start(t, n)
	svc, err := micro.AddService(conn.NATS(), micro.Config{Name: "floor", Version: "1.0.0"})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = svc.Stop() }()
	respond := micro.HandlerFunc(func(r micro.Request) { _ = r.Respond(r.Data()) })
	if err := svc.AddEndpoint("floor", respond, micro.WithEndpointSubject("skg.op.floor")); err != nil {
		t.Fatal(err)
	}
	if err := conn.NATS().Flush(); err != nil { // the callers are other connections
		t.Fatal(err)
	}
	tcp, err := bus.Connect(t.Context(), bus.ConnectConfig{URL: s.URL()})
	if err != nil {
		t.Fatal(err)
	}
	defer tcp.NATS().Close()
	for _, c := range []struct { //nolint:paralleltest // it measures
		name   string
		caller *bus.Conn
	}{{"caller in process", connect(t, s)}, {"caller over TCP", tcp}} {
		t.Run(c.name, func(t *testing.T) {
			d := bus.NewDispatcher(c.caller)
			compare(t, measured{"floor: micro request and reply", func(ctx context.Context, body []byte) error {
				_, err := c.caller.NATS().RequestWithContext(ctx, "skg.op.floor", body)
				return err
			}}, measured{"dispatch to an operator", func(ctx context.Context, _ []byte) error {
				_, err := d.Dispatch(ctx, "echo", protocol.Text("hello"))
				return err
			}})
		})
	}
}

// measured is something that can be called again and again.
type measured struct {
	name string
	call func(ctx context.Context, body []byte) error
}

func compare(t *testing.T, floorCase, ourCase measured) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), time.Hour)
	defer cancel()
	body, err := protocol.Marshal(protocol.Text("hello"))
	if err != nil {
		t.Fatal(err)
	}
	cases := []struct {
		name string
		call func() error
		all  []figures
	}{
		{name: floorCase.name, call: func() error { return floorCase.call(ctx, body) }},
		{name: ourCase.name, call: func() error { return ourCase.call(ctx, body) }},
	}
	for range 5 {
		for i := range cases {
			cases[i].all = append(cases[i].all, measure(t, cases[i].call, *ratio))
		}
	}
	floor, ours := median(cases[0].all), median(cases[1].all)
	for i, f := range []figures{floor, ours} {
		t.Logf("%-32s p50 %8s  p99 %8s  %8.0f/s at 64 in flight  %5.1f allocations", cases[i].name, f.p50, f.p99, f.rate, f.allocs)
	}
	t.Logf("ratio: p50 %.2f times the floor, throughput %.0f%% of it, %.1f allocations above it",
		float64(ours.p50)/float64(floor.p50), 100*ours.rate/floor.rate, ours.allocs-floor.allocs)
}

func measure(t *testing.T, call func() error, d time.Duration) figures {
	t.Helper()
	must := func() {
		if err := call(); err != nil {
			t.Error(err)
		}
	}
	for range 1000 {
		must()
	}
	runtime.GC()
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	var times []time.Duration
	for end := time.Now().Add(d); time.Now().Before(end); {
		begin := time.Now()
		must()
		times = append(times, time.Since(begin))
	}
	runtime.ReadMemStats(&after)
	slices.Sort(times)
	var count atomic.Int64
	var wg sync.WaitGroup
	begin := time.Now()
	for range 64 {
		wg.Go(func() {
			for time.Since(begin) < d {
				must()
				count.Add(1)
			}
		})
	}
	wg.Wait()
	return figures{
		p50: times[len(times)/2], p99: times[len(times)*99/100],
		rate:   float64(count.Load()) / time.Since(begin).Seconds(),
		allocs: float64(after.Mallocs-before.Mallocs) / float64(len(times)),
	}
}

// median takes each figure's own.
func median(all []figures) figures {
	mid := func(f func(figures) float64) float64 {
		var v []float64
		for _, x := range all {
			v = append(v, f(x))
		}
		slices.Sort(v)
		return v[len(v)/2]
	}
	return figures{
		p50:  time.Duration(mid(func(f figures) float64 { return float64(f.p50) })),
		p99:  time.Duration(mid(func(f figures) float64 { return float64(f.p99) })),
		rate: mid(func(f figures) float64 { return f.rate }), allocs: mid(func(f figures) float64 { return f.allocs }),
	}
}
