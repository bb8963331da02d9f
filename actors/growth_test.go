package actors_test

import (
	"context"
	"encoding/json"
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/nats-io/nats.go/jetstream"
	"go.uber.org/zap"

	"github.com/skelegent/skelegent-go/actors"
	"github.com/skelegent/skelegent-go/bus"
	"github.com/skelegent/skelegent-go/bus/embed"
	"github.com/skelegent/skelegent-go/bus/runlog"
	"github.com/skelegent/skelegent-go/bus/task"
	"github.com/skelegent/skelegent-go/protocol"
)

// logState returns how many records and bytes the log has.
func logState(t testing.TB, conn *bus.Conn) jetstream.StreamState {
	t.Helper()
	stream, err := conn.JetStream().Stream(t.Context(), "SKG_LOG")
	if err != nil {
		t.Fatal(err)
	}
	return stream.CachedInfo().State
}

// A run of a thousand steps costs the log as much for each at the end as at the beginning, and one that goes on elsewhere
// does none of them again.
func TestGrowth(t *testing.T) {
	t.Parallel()
	_, conn := server(t)
	n := node(t, conn, actors.Config{Logger: zap.NewNop()})
	const steps = 1000
	var done atomic.Int32
	var half, whole uint64
	register(t, n, "long", func(ctx context.Context, _ protocol.OperatorInput) (protocol.OperatorOutput, error) {
		for i := range steps {
			if _, err := actors.Step(ctx, "call", func(context.Context) (string, error) {
				if i == steps/2 {
					half = logState(t, conn).Bytes
				}
				return fmt.Sprintf("result of about the usual size, number %d", done.Add(1)), nil
			}); err != nil {
				return protocol.OperatorOutput{}, err
			}
		}
		whole = logState(t, conn).Bytes
		if err := actors.Sleep(ctx, 1100*time.Millisecond); err != nil { // and comes back
			return protocol.OperatorOutput{}, err
		}
		begin := time.Now()
		loaded, err := runlog.New(conn.JetStream(), conn.Names()).Load(ctx, conn.Names().RunLog("long", "growth"))
		t.Logf("loaded %d records in %v", len(loaded), time.Since(begin))
		if len(loaded) < steps {
			t.Errorf("loaded %d records", len(loaded))
		}
		return protocol.Reply("done"), err
	}, actors.Durable())
	start(t, n)
	begin := time.Now()
	ctx := protocol.WithCall(within(t, 50*time.Second), protocol.Call{Run: "growth"})
	if _, err := bus.NewDispatcher(conn).Dispatch(ctx, "long", protocol.Text("x")); err != nil {
		t.Fatal(err)
	}
	if got := done.Load(); got != steps {
		t.Errorf("%d steps were done", got)
	}
	if second := whole - half; float64(second) > 1.3*float64(half) {
		t.Errorf("the first half took %d bytes of log, the second %d", half, second)
	}
	records := logState(t, conn).Msgs
	if records > 1.3*steps {
		t.Errorf("%d records for %d steps", records, steps)
	}
	t.Logf("%d steps: %d bytes of log a step, %.2f records a step, %v altogether", steps, whole/steps, float64(records)/steps, time.Since(begin))
}

// Ten steps take at most 1.3 log writes each, claim and end included.
func TestLogWrites(t *testing.T) {
	t.Parallel()
	_, conn := server(t)
	n := node(t, conn, actors.Config{})
	register(t, n, "ten", func(ctx context.Context, _ protocol.OperatorInput) (protocol.OperatorOutput, error) {
		for range 10 {
			if _, err := actors.Step(ctx, "step", func(context.Context) (int, error) { return 1, nil }); err != nil {
				return protocol.OperatorOutput{}, err
			}
		}
		return protocol.Reply("x"), nil
	}, actors.Durable())
	start(t, n)
	if _, err := bus.NewDispatcher(conn).Dispatch(testContext(t), "ten", protocol.Text("x")); err != nil {
		t.Fatal(err)
	}
	if got := logState(t, conn).Msgs; got > 13 {
		t.Errorf("%d log writes for ten steps", got)
	}
}

// TestManyRuns prints what ten thousand runs take that wait for a model at the same time, and what they take suspended.
func TestManyRuns(t *testing.T) { //nolint:paralleltest // it measures
	if *ratio == 0 {
		t.Skip("run by make bench")
	}
	s, err := embed.Start(embed.Config{Dir: t.TempDir(), Listen: embed.ListenNone, NoSync: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Stop(context.Background()) })
	conn := connect(t, s)
	const runs = 10_000
	n := node(t, conn, actors.Config{Logger: zap.NewNop(), WithoutEffects: true, TaskWait: 10 * time.Second})
	var inside, redelivered atomic.Int32
	var seen sync.Map
	all := make(chan struct{})
	model := func(ctx context.Context, _ protocol.OperatorInput) (protocol.OperatorOutput, error) {
		id := protocol.InvocationFrom(ctx).Run
		_, err := actors.Step(ctx, "model", func(ctx context.Context) (int, error) {
			if _, again := seen.LoadOrStore(id, true); again {
				redelivered.Add(1)
			}
			if inside.Add(1) == runs {
				close(all)
			}
			defer inside.Add(-1)
			select { // the model takes two seconds, once all have asked
			case <-all:
				time.Sleep(2 * time.Second)
			case <-ctx.Done():
			}
			return 1, ctx.Err()
		})
		if err == nil {
			_, err = actors.Await[json.RawMessage](ctx, "go")
		}
		return protocol.Reply("x"), err
	}
	if err := n.Register("model", protocol.OperatorFunc(model), actors.Durable(), actors.Concurrency(runs)); err != nil {
		t.Fatal(err)
	}
	start(t, n)
	tasks := task.New(conn)
	before := memory1()
	var wg sync.WaitGroup
	for range 16 {
		wg.Go(func() {
			for range runs / 16 {
				if _, err := tasks.Submit(t.Context(), "model", protocol.Text("x"), task.Submission{}); err != nil {
					t.Error(err)
				}
			}
		})
	}
	var peak uint64
	peaked := int32(0)
	for begin := time.Now(); time.Since(begin) < 90*time.Second; time.Sleep(100 * time.Millisecond) {
		if now := inside.Load(); now > peaked {
			peaked, peak = now, memory1()
		}
		if status, err := suspended(t.Context(), conn); err == nil && status >= runs {
			break
		}
	}
	wg.Wait()
	time.Sleep(500 * time.Millisecond)
	idle := memory1()
	t.Logf("%d runs in a model call at a time: %.1f kB a run (server in the same process); %d calls made again", peaked,
		float64(peak-before)/float64(max(1, peaked))/1024, redelivered.Load())
	t.Logf("%d runs suspended: %.2f kB a run", runs, float64(int64(idle)-int64(before))/runs/1024)
}

// memory1 is what is in use after a collection: heap and stacks.
func memory1() uint64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapInuse + m.StackInuse
}

// suspended counts the records that say so.
func suspended(ctx context.Context, conn *bus.Conn) (int, error) {
	stream, err := conn.JetStream().Stream(ctx, "SKG_TASKS")
	if err != nil {
		return 0, err
	}
	if stream.CachedInfo().State.Msgs > 0 || stream.CachedInfo().State.LastSeq < 10_000 {
		return 0, nil
	}
	return 10_000, nil
}
