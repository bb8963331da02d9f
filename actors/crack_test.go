package actors_test

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/skelegent/skelegent-go/actors"
	"github.com/skelegent/skelegent-go/actors/effect"
	"github.com/skelegent/skelegent-go/bus"
	"github.com/skelegent/skelegent-go/bus/embed"
	"github.com/skelegent/skelegent-go/protocol"
	"github.com/skelegent/skelegent-go/state/memory"
)

// TestSignalsInTheCracks sends each signal before every message (each fourth, without -crash.long) of a run that changes anything, before it begins, and after it
// has ended. An approval nobody asked for, or the second one, changes nothing; what is said to a run is heard at most once; a
// run that is cancelled has done all that it declared, or nothing.
func TestSignalsInTheCracks(t *testing.T) {
	t.Parallel()
	boundaries := len(cracked(t, "approve", 0))
	for _, kind := range []string{"approve", "steer", "cancel"} {
		for i := -1; i <= boundaries+1; i++ {
			if i == 0 { // without a signal
				continue
			}
			if !*crashLong && i%4 != 0 && i >= 0 && i <= boundaries {
				continue
			}
			t.Run(fmt.Sprintf("%s at %d", kind, i), func(t *testing.T) {
				t.Parallel()
				cracked(t, kind, i)
			})
		}
	}
}

// cracked runs the agent of TestCrashAtEveryBoundary with a signal before message i; -1 is before it begins, and one that never
// comes is after it has ended.
func cracked(t *testing.T, kind string, i int) []string {
	t.Helper()
	dir := t.TempDir()
	s, err := embed.Start(embed.Config{Dir: dir, Listen: "127.0.0.1:0", NoSync: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Stop(context.Background()) })
	o := newOutside()
	healthy := connect(t, s)
	executors := node(t, healthy, actors.Config{Name: "executors", State: memory.New(memory.Config{})})
	if err := executors.RegisterEffect("mail", effect.Func(o.mailer), effect.Options{}); err != nil {
		t.Fatal(err)
	}
	start(t, executors)
	ctx := within(t, 50*time.Second)
	d := bus.NewDispatcher(healthy)
	var once sync.Once
	send := func() {
		once.Do(func() {
			payload := protocol.SignalPayload{SignalType: kind}
			if kind == "steer" {
				payload.Data = json.RawMessage(`"` + hint + `"`)
			}
			if err := d.Signal(ctx, "agent/s", payload); err != nil {
				t.Error(err)
			}
		})
	}
	c := newCutter(i, false)
	c.hook = send
	n := node(t, through(t, s, dir, c), actors.Config{Name: "one", WithoutEffects: true})
	o.register(t, n)
	start(t, n)
	begun := make(chan struct{})
	go approve(ctx, t, healthy, sync.OnceFunc(func() { close(begun) }))
	if i < 0 {
		send()
	}
	c.arm()
	first := submitted(ctx, t, healthy, "r1", "first")
	<-begun
	second := submitted(ctx, t, healthy, "r2", "second")
	got := [2]string{first(), second()}
	if ctx.Err() != nil {
		dump(t, healthy)
	}
	if i > len(c.boundaries()) {
		send()
	}
	waitState(ctx, t, d, "agent/s", "idle")
	judge(t, o, kind, i, got)
	return c.boundaries()
}

func judge(t *testing.T, o *outside, kind string, i int, got [2]string) {
	t.Helper()
	o.mu.Lock()
	defer o.mu.Unlock()
	cancelled := kind == "cancel" && i > 0
	switch {
	case got[0] == "all done" && got[1] == "second, after 2 messages":
	case cancelled && got[0] == "error: the run was cancelled" && got[1] == "second, after 0 messages":
		if len(o.mails) > 0 {
			t.Errorf("cancelled, and mailed %v", o.mails)
		}
	case cancelled && got[0] == "all done" && got[1] == "error: the run was cancelled":
	default:
		t.Errorf("answers %q", got)
	}
	for what, n := range o.paid {
		if n != 1 {
			t.Errorf("paid %d times for %s", n, what)
		}
	}
	if o.tools["charge"] > 1 || o.hints > 1 || len(o.mails) > 3 || !slices.IsSorted(o.mails) {
		t.Errorf("tools %v, hints %d, mails %v", o.tools, o.hints, o.mails)
	}
	if kind == "steer" && (i < 0 || i > 50) && o.hints > 0 {
		t.Error("a run heard what was said to none")
	}
}
