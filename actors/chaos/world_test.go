//go:build unix

package chaos_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/skelegent/skelegent-go/bus"
	"github.com/skelegent/skelegent-go/bus/task"
	"github.com/skelegent/skelegent-go/protocol/wire"
)

// plan says how large it all is.
type plan struct {
	serverCount, nodeCount int
	sessions, turns        int           // tasks are their product
	together               int           // sessions that are talked to at a time
	pace                   time.Duration // between two submissions
	serverEvery            time.Duration // between two servers that are killed; 0 is never
	stopEvery              int           // of so many faults one is a stop, and of so many one a SIGTERM
	leaveEvery             int
	patience               time.Duration // after the faults, until all has to be done
}

func (p plan) tasks() int { return p.sessions * p.turns }

var (
	shortPlan = plan{
		serverCount: 1, nodeCount: 3, sessions: 20, turns: 10, together: 20, pace: 40 * time.Millisecond,
		stopEvery: 6, leaveEvery: 5, patience: 40 * time.Second,
	}
	longPlan = plan{
		serverCount: 3, nodeCount: 5, sessions: 200, turns: 10, together: 40, pace: 40 * time.Millisecond,
		serverEvery: 12 * time.Second, stopEvery: 10, leaveEvery: 6, patience: 2 * time.Minute,
	}
	// lonePlan has one server that is killed: then everything waits, and must go on with what that had acknowledged.
	lonePlan = plan{
		serverCount: 1, nodeCount: 3, sessions: 60, turns: 10, together: 30, pace: 40 * time.Millisecond,
		serverEvery: 4 * time.Second, stopEvery: 6, leaveEvery: 5, patience: 2 * time.Minute,
	}
)

// world is all processes, and the connection of the test.
type world struct {
	plan
	t    testing.TB
	dir  string
	conn *bus.Conn

	servers, nodes []*slot
	keepers        sync.WaitGroup
	release        context.CancelFunc // ends the keepers

	mu     sync.Mutex
	random *rand.Rand
	calm   bool // faults are over: what has ended begins again at once
}

func newWorld(ctx context.Context, t testing.TB, p plan, dir string, random *rand.Rand) *world {
	t.Helper()
	w := &world{plan: p, t: t, dir: dir, random: random}
	client := freePorts(2 * p.serverCount)
	client, cluster := client[:p.serverCount], client[p.serverCount:]
	var urls []string
	for i, port := range client {
		routes := ""
		if p.serverCount > 1 { // its own first
			order := append([]int{cluster[i]}, append(cluster[:i:i], cluster[i+1:]...)...)
			routes = strings.Trim(fmt.Sprint(order), "[]")
			routes = strings.ReplaceAll(routes, " ", ",")
		}
		s, err := newSlot(dir, "server", fmt.Sprintf("server-%d", i), fmt.Sprintf("%s=%d", envPort, port), envRoutes+"="+routes)
		if err != nil {
			t.Fatal(err)
		}
		w.servers = append(w.servers, s)
		urls = append(urls, fmt.Sprintf("nats://127.0.0.1:%d", port))
	}
	for i := range p.nodeCount {
		s, err := newSlot(dir, "node", fmt.Sprintf("node-%d", i),
			envURLs+"="+strings.Join(urls, ","), fmt.Sprintf("%s=%d", envReplicas, p.serverCount))
		if err != nil {
			t.Fatal(err)
		}
		w.nodes = append(w.nodes, s)
	}
	keeping, release := context.WithCancel(context.WithoutCancel(ctx))
	w.release = release
	t.Cleanup(w.destroy)
	w.keepAll(keeping, w.servers)
	w.connect(ctx, strings.Join(urls, ","))
	w.keepAll(keeping, w.nodes)
	return w
}

// destroy ends everything. It may be called again.
func (w *world) destroy() {
	w.release()
	w.keepers.Wait()
	if w.conn != nil {
		w.conn.NATS().Close()
	}
	for _, s := range w.slots() {
		s.destroy()
	}
}

func (w *world) slots() []*slot { return append(append([]*slot(nil), w.nodes...), w.servers...) }

func (w *world) keepAll(ctx context.Context, slots []*slot) {
	for _, s := range slots {
		w.keepers.Go(func() {
			if err := s.keep(ctx, w.downFor); err != nil {
				w.t.Errorf("start %s: %v", s.name, err)
			}
		})
	}
}

// connect connects the test, when the servers are there, and has the streams made.
func (w *world) connect(ctx context.Context, urls string) {
	w.t.Helper()
	for {
		conn, err := bus.Connect(ctx, bus.ConnectConfig{URL: urls, Name: "test"})
		if err == nil {
			w.conn = conn
			break
		}
		if pause(ctx, 50*time.Millisecond) != nil {
			w.t.Fatal(err)
		}
	}
	if err := w.conn.Ensure(ctx, bus.Topology{Replicas: w.serverCount}); err != nil {
		w.t.Fatal(err)
	}
}

// pick returns a number below n, as the seed has it.
func (w *world) pick(n int) int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.random.IntN(n)
}

// downFor is how long a process is away.
func (w *world) downFor() time.Duration {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.calm {
		return 100 * time.Millisecond
	}
	return time.Duration(w.random.Int64N(int64(2 * time.Second)))
}

// askFor is how long a question may take: the answer of a leader that is gone never comes.
const askFor = 2 * time.Second

// idle waits until nothing is left to do, and says what is if ctx ends before.
func (w *world) idle(ctx context.Context) error {
	names := w.conn.Names()
	for {
		var left []string
		for _, name := range []string{wire.StreamTasks, wire.StreamEffects} {
			attempt, cancel := context.WithTimeout(ctx, askFor)
			stream, err := w.conn.JetStream().Stream(attempt, names.Stream(name))
			cancel()
			switch {
			case err != nil:
				left = append(left, err.Error())
			case stream.CachedInfo().State.Msgs > 0:
				left = append(left, fmt.Sprintf("%d messages in %s", stream.CachedInfo().State.Msgs, name))
			}
		}
		attempt, cancel := context.WithTimeout(ctx, askFor)
		timers, err := task.New(w.conn).Timers(attempt, "")
		cancel()
		if err != nil || len(timers) > 0 {
			left = append(left, fmt.Sprintf("timers %v %v", timers, err))
		}
		if len(left) == 0 {
			return nil
		}
		if pause(ctx, 100*time.Millisecond) != nil {
			return fmt.Errorf("left to do: %s", strings.Join(left, ", "))
		}
	}
}

// stopNodes tells all nodes to leave, and waits for that. Those that do not leave in time are an error.
func (w *world) stopNodes() error {
	w.release()
	w.keepers.Wait()
	late := time.After(2 * drainFor)
	for _, s := range w.nodes {
		s.signal(faultLeave, syscall.SIGTERM)
	}
	for _, s := range w.nodes {
		select {
		case <-s.last():
		case <-late:
			return fmt.Errorf("%s does not leave", s.name)
		}
	}
	return nil
}
