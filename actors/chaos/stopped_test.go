//go:build unix

package chaos_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/skelegent/skelegent-go/protocol"
)

// A node that was stopped wakes up with tasks that it was given before, and that another node has been given since and works
// on. It leaves them to that one: nothing is taken over, nothing is paid twice.
func TestStoppedNodeWakesUp(t *testing.T) {
	t.Parallel()
	const tasks = 12
	by := max(*seed, 1)
	w := newWorld(t.Context(), t, plan{
		serverCount: 1, nodeCount: 2, sessions: tasks, turns: 1, together: tasks, pace: time.Millisecond,
	}, keptDir(t, by), rand.New(rand.NewPCG(by, by)))
	l := newLoad(w)
	for _, j := range l.jobs {
		j.Kind = hold
	}
	ctx := t.Context()
	for waiting := 0; waiting < 2; { // until both ask for tasks
		if c, err := w.conn.JetStream().Consumer(ctx, "SKG_TASKS", "in_"+chat); err == nil {
			waiting = c.CachedInfo().NumWaiting
		}
		if pause(ctx, 50*time.Millisecond) != nil {
			t.Fatal("the nodes did not start")
		}
	}
	if !w.nodes[0].signal(faultStop, syscall.SIGSTOP) {
		t.Fatal("no node to stop")
	}
	l.submitAll(ctx)
	if pause(ctx, taskWait+taskWait/2) != nil { // the tasks that it was given have come to the other node, which holds them
		t.Fatal(ctx.Err())
	}
	w.nodes[0].resume()
	if pause(ctx, 2*holdFor) != nil {
		t.Fatal(ctx.Err())
	}
	if err := w.idle(ctx); err != nil {
		t.Fatal(err)
	}
	records, err := readLog(ctx, w.conn, w.dir)
	if err != nil {
		t.Fatal(err)
	}
	h, err := newHistory(records)
	if err != nil {
		t.Fatal(err)
	}
	lines, err := readOutside(w.dir)
	if err != nil {
		t.Fatal(err)
	}
	stalled := slices.ContainsFunc(lines, func(l line) bool { return l.What == lineStall && l.Slot != w.nodes[0].name })
	again := 0
	for _, j := range l.jobs {
		a := h.runs[j.run]
		if a == nil || len(a.ends) != 1 || a.ends[0].kind != protocol.EventCompleted {
			t.Fatalf("%s: %+v", j.run, a)
		}
		if len(a.claims) != 1 && !stalled { // or the machine was too busy for the other node, too
			t.Errorf("%s was claimed by %s", j.run, fmt.Sprint(a.claims))
		}
		if c := a.claims[0]; c.node == w.nodes[1].name && !strings.Contains(c.ack, ".in_"+chat+".1.") {
			again++
		}
	}
	if again == 0 {
		t.Error("no task was first given to the node that was stopped, and then to the other: nothing was tested")
	}
	t.Logf("%d of %d tasks came to the other node", again, tasks)
}
