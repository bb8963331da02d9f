package task_test

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/nats-io/nats.go"

	"github.com/skelegent/skelegent-go/bus"
	"github.com/skelegent/skelegent-go/bus/task"
	"github.com/skelegent/skelegent-go/protocol"
	"github.com/skelegent/skelegent-go/protocol/wire"
)

func TestWakeAt(t *testing.T) {
	t.Parallel()
	conn, tasks := open(t, bus.Topology{})
	wakes := consumer(t, tasks.Wakes, task.ConsumerConfig{})
	due := time.Now().Add(700 * time.Millisecond)
	header := nats.Header{"Skg-Run-Id": {"r"}, "Nats-Msg-Id": {"x"}, "Nats-Rollup": {"all"}}
	if err := tasks.WakeAt(minute(t), "op", "i", "sleep 1", due, header, []byte("body")); err != nil {
		t.Fatal(err)
	}
	m := next(t, wakes)
	if late := time.Since(due); late < 0 || late > 5*time.Second {
		t.Errorf("it came %s late", late)
	}
	if name, ok := task.TimerName(m.Headers()); m.Subject() != "skg.wake.op.i.timer" || string(m.Data()) != "body" || !ok || name != "sleep 1" {
		t.Errorf("got %s %q %v", m.Subject(), m.Data(), m.Headers())
	}
	if h := m.Headers(); h.Get("Skg-Run-Id") != "r" || h.Get("Nats-Msg-Id") != "" || h.Get("Nats-Rollup") != "" {
		t.Errorf("headers %v", m.Headers())
	}
	if seq, ok := task.Source(m.Headers()); !ok || seq != 2 { // the schedule was the first
		t.Errorf("source %d, %v", seq, ok)
	}
	if len(header) != 3 {
		t.Errorf("the caller's header is now %v", header)
	}
	// The schedule is gone. What became due stays for a while.
	if n := stored(t, conn, "SKG_TIMERS"); n != 1 {
		t.Errorf("%d messages among the timers", n)
	}
	stream, err := conn.JetStream().Stream(minute(t), "SKG_TIMERS")
	if err != nil {
		t.Fatal(err)
	}
	if left, err := stream.GetMsg(minute(t), 2); err != nil || left.Header.Get("Nats-TTL") != "24h0m0s" {
		t.Errorf("got %+v, %v", left, err)
	}
}

// A timer in the past is due at once; one that is set again or cancelled does not come at its old time.
func TestTimersAreReplacedAndCancelled(t *testing.T) {
	t.Parallel()
	_, tasks := open(t, bus.Topology{})
	wakes := consumer(t, tasks.Wakes, task.ConsumerConfig{})
	set := func(token, name string, in time.Duration, body string) {
		t.Helper()
		if err := tasks.WakeAt(minute(t), "op", token, name, time.Now().Add(in), nil, []byte(body)); err != nil {
			t.Fatal(err)
		}
	}
	set("i", "replaced", 200*time.Millisecond, "old")
	set("i", "replaced", 900*time.Millisecond, "new")
	set("i", "cancelled", 200*time.Millisecond, "cancelled")
	set("j", "a", 200*time.Millisecond, "cancelled")
	set("j", "b", 200*time.Millisecond, "cancelled")
	set("i", "past", -time.Hour, "past")
	names := wire.Names{}
	for _, subject := range []string{names.TimerWake("op", "i", "cancelled"), "skg.timer.wake.op.j.>", "skg.timer.wake.op.none.x"} {
		if err := tasks.Cancel(minute(t), subject); err != nil {
			t.Fatal(err)
		}
	}
	for _, want := range []string{"past", "new"} {
		if m := next(t, wakes); string(m.Data()) != want {
			t.Errorf("got %q, want %q", m.Data(), want)
		}
	}
	// Set again after it was cancelled, it counts again.
	set("i", "cancelled", 0, "again")
	if m := next(t, wakes); string(m.Data()) != "again" {
		t.Errorf("got %q", m.Data())
	}
	for _, subject := range []string{"", ">", "skg.timer.>", "skg.timer.wake.>", "skg.timer.wake.*.i.x", "skg.due.wake.op.i", "skg.timer.wake.op.i x"} {
		if err := tasks.Cancel(minute(t), subject); protocol.CodeOf(err) != protocol.CodeInvalidInput {
			t.Errorf("cancel %q: %v", subject, err)
		}
	}
}

func TestDelayedTask(t *testing.T) {
	t.Parallel()
	_, tasks := open(t, bus.Topology{})
	inputs := consumer(t, tasks.Inputs, task.ConsumerConfig{})
	for name, header := range map[string]nats.Header{"given": {wire.HeaderRunID: {"r"}}, "none": nil} {
		if err := tasks.TaskAt(minute(t), "op", name, time.Now().Add(300*time.Millisecond), header, []byte(name)); err != nil {
			t.Fatal(err)
		}
	}
	got := map[string]string{}
	for range 2 {
		m := next(t, inputs)
		if name, _ := task.TimerName(m.Headers()); m.Subject() != "skg.task.op" || name != string(m.Data()) {
			t.Errorf("got %s %q %v", m.Subject(), m.Data(), m.Headers())
		}
		got[string(m.Data())] = m.Headers().Get(wire.HeaderRunID)
	}
	if got["given"] != "r" || len(got["none"]) != 36 {
		t.Errorf("run ids %v", got)
	}
}

func TestRepeatedTask(t *testing.T) {
	t.Parallel()
	_, tasks := open(t, bus.Topology{})
	inputs := consumer(t, tasks.Inputs, task.ConsumerConfig{})
	if err := tasks.TaskEvery(minute(t), "op", "tick", "* * * * * *", nats.Header{task.HeaderTimeZone: {"Europe/Oslo"}}, []byte("tick")); err != nil {
		t.Fatal(err)
	}
	sources := map[uint64]bool{}
	for range 2 {
		m := next(t, inputs)
		seq, ok := task.Source(m.Headers())
		if !ok || string(m.Data()) != "tick" || m.Headers().Get(wire.HeaderRunID) != "" {
			t.Errorf("got %q %v", m.Data(), m.Headers())
		}
		sources[seq] = true
	}
	if len(sources) != 2 {
		t.Errorf("sources %v", sources)
	}
	if err := tasks.Cancel(minute(t), wire.Names{}.TimerTask("op", "tick")); err != nil {
		t.Fatal(err)
	}
	if left, err := tasks.Timers(minute(t), ""); err != nil || len(left) != 0 {
		t.Errorf("left: %v, %v", left, err)
	}
}

func TestInvalidTimers(t *testing.T) {
	t.Parallel()
	_, tasks := open(t, bus.Topology{})
	ctx := minute(t)
	for cron, says := range map[string]string{
		"":             "six fields",
		"0 9 * * *":    "six fields",
		"@at 2030":     "six fields",
		"@often":       "six fields",
		"@every":       "six fields",
		"@every 10":    "a second or more",
		"@every 10ms":  "a second or more",
		"0 0 25 * * *": "pattern is invalid",
		"a b c d e f":  "pattern is invalid",
	} {
		err := tasks.TaskEvery(ctx, "op", "x", cron, nil, nil)
		if protocol.CodeOf(err) != protocol.CodeInvalidInput || !strings.Contains(err.Error(), says) {
			t.Errorf("%q: got %v, want %q in it", cron, err, says)
		}
	}
	zone := nats.Header{task.HeaderTimeZone: {"Nowhere/At_All"}}
	large := nats.Header{"A": {strings.Repeat("a", 20_000)}}
	for name, tc := range map[string]struct {
		err  error
		code protocol.Code
	}{
		"zone":     {tasks.TaskEvery(ctx, "op", "x", "@daily", zone, nil), protocol.CodeInvalidInput},
		"run id":   {tasks.TaskEvery(ctx, "op", "x", "@daily", nats.Header{wire.HeaderRunID: {"r"}}, nil), protocol.CodeInvalidInput},
		"operator": {tasks.TaskAt(ctx, "a.b", "x", time.Now(), nil, nil), protocol.CodeInvalidInput},
		"dot":      {tasks.WakeAt(ctx, "op", "i.j", "x", time.Now(), nil, nil), protocol.CodeInvalidInput},
		"wildcard": {tasks.WakeAt(ctx, "op", "*", "x", time.Now(), nil, nil), protocol.CodeInvalidInput},
		"header":   {tasks.WakeAt(ctx, "op", "i", "x", time.Now(), large, nil), protocol.CodeQuotaExceeded},
		"body":     {tasks.WakeAt(ctx, "op", "i", "x", time.Now(), nil, make([]byte, 2<<20)), protocol.CodeQuotaExceeded},
	} {
		if protocol.CodeOf(tc.err) != tc.code {
			t.Errorf("%s: got %v, want %s", name, tc.err, tc.code)
		}
	}
}

func TestTimers(t *testing.T) {
	t.Parallel()
	_, tasks := open(t, bus.Topology{})
	wakes := consumer(t, tasks.Wakes, task.ConsumerConfig{})
	ctx, due := minute(t), time.Now().Add(time.Hour)
	for _, err := range []error{
		tasks.WakeAt(ctx, "op", "i", "a b", due, nats.Header{"Skg-Run-Id": {"r"}}, []byte("four")),
		tasks.WakeAt(ctx, "op", "i", "due", time.Now(), nil, nil),
		tasks.TaskAt(ctx, "op", "later", due, nats.Header{"Skg-Run-Id": {"r"}}, nil),
		tasks.TaskEvery(ctx, "other", "daily", "@daily", nats.Header{task.HeaderTimeZone: {"Europe/Oslo"}}, nil),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	next(t, wakes)
	all, err := tasks.Timers(ctx, "")
	if err != nil || len(all) != 3 {
		t.Fatalf("got %+v, %v", all, err)
	}
	if all[0].Set.IsZero() {
		t.Error("no time of setting")
	}
	all[0].Set = time.Time{}
	want := task.Timer{
		Subject: "skg.timer.wake.op.i.a=20b", Name: "a b", Target: "skg.due.wake.op.i", Schedule: "@at " + due.UTC().Format(time.RFC3339Nano),
		Due: due.UTC(), Header: nats.Header{"Skg-Run-Id": {"r"}}, Size: 4,
	}
	if diff := cmp.Diff(want, all[0]); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if d := all[2]; d.Schedule != "@daily" || d.Zone != "Europe/Oslo" || !d.Due.IsZero() || d.Target != "skg.due.task.other" {
		t.Errorf("got %+v", d)
	}
	for filter, want := range map[string][]string{
		"skg.timer.wake.>": {"a b"}, "skg.timer.task.>": {"later", "daily"}, "skg.timer.*.op.>": {"a b", "later"}, "skg.timer.wake.op.none.>": nil,
	} {
		found, err := tasks.Timers(ctx, filter)
		var got []string
		for _, f := range found {
			got = append(got, f.Name)
		}
		if diff := cmp.Diff(want, got); err != nil || diff != "" {
			t.Errorf("%s: %v (-want +got):\n%s", filter, err, diff)
		}
	}
	if _, err := tasks.Timers(ctx, "skg.>"); protocol.CodeOf(err) != protocol.CodeInvalidInput {
		t.Errorf("got %v", err)
	}
}

// What became due and was done does not come again when the server is stopped and started, what was not does. (Killed, it
// may come again: that is what Source is for.)
func TestRestart(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s, conn := serve(t, dir)
	if err := conn.Ensure(minute(t), bus.Topology{}); err != nil {
		t.Fatal(err)
	}
	tasks := task.New(conn)
	wakes := consumer(t, tasks.Wakes, task.ConsumerConfig{})
	set := func(tasks *task.Tasks, name string, in time.Duration) {
		t.Helper()
		if err := tasks.WakeAt(minute(t), "op", "i", name, time.Now().Add(in), nil, []byte(name)); err != nil {
			t.Fatal(err)
		}
	}
	set(tasks, "done", 0)
	if err := next(t, wakes).DoubleAck(minute(t)); err != nil {
		t.Fatal(err)
	}
	if _, err := conn.JetStream().Publish(minute(t), "skg.signal.op.i.steer", []byte("signal")); err != nil {
		t.Fatal(err)
	}
	if err := next(t, wakes).DoubleAck(minute(t)); err != nil {
		t.Fatal(err)
	}
	set(tasks, "later", 500*time.Millisecond)
	if err := s.Stop(minute(t)); err != nil {
		t.Fatal(err)
	}
	_, conn = serve(t, dir)
	tasks = task.New(conn)
	wakes = consumer(t, tasks.Wakes, task.ConsumerConfig{})
	if m := next(t, wakes); string(m.Data()) != "later" {
		t.Errorf("got %q", m.Data())
	}
	set(tasks, "last", 0)
	if m := next(t, wakes); string(m.Data()) != "last" {
		t.Errorf("got %q", m.Data())
	}
	found, err := tasks.Pending(minute(t))
	if err != nil || len(found) != 1 || found[0].Wakes.Messages != 2 {
		t.Errorf("got %+v, %v", found, err)
	}
}
