//go:build unix

package chaos_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/skelegent/skelegent-go/bus"
	"github.com/skelegent/skelegent-go/bus/task"
	"github.com/skelegent/skelegent-go/protocol"
)

// TestChaos kills what there is while tasks are done, and then looks whether it was done right. See the package's doc.
func TestChaos(t *testing.T) {
	t.Parallel()
	by := *seed
	if by == 0 {
		by = rand.Uint64()
	}
	if !*long {
		chaos(t, shortPlan, by)
		return
	}
	chaos(t, longPlan, by)
	chaos(t, lonePlan, by)
}

func chaos(t *testing.T, p plan, by uint64) {
	t.Helper()
	begin := time.Now()
	w := newWorld(t.Context(), t, p, keptDir(t, by), rand.New(rand.NewPCG(by, by)))
	defer w.destroy()
	l := newLoad(w)
	tormented, ok := l.run(t.Context())
	if !ok {
		l.dump()
		return
	}
	c := l.check(t.Context())
	l.report(c, by, tormented, time.Since(begin))
}

// keptDir makes a directory that stays if the test fails.
func keptDir(t *testing.T, by uint64) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "skelegent-chaos-") //nolint:usetesting // that would not stay
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("seed %d, directory %s", by, dir)
	t.Cleanup(func() {
		if t.Failed() || *keep {
			t.Logf("seed %d; everything is in %s", by, dir)
			return
		}
		_ = os.RemoveAll(dir) // in the temporary directory, it will go
	})
	return dir
}

// run does all tasks under faults, and returns how long there were faults. Then all nodes have left; it is false where that is
// not so, or something is not done.
func (l *load) run(ctx context.Context) (tormented time.Duration, ok bool) {
	t := l.t
	t.Helper()
	following, stopFollowing := context.WithCancel(ctx)
	var follower sync.WaitGroup
	follower.Go(func() { l.follow(following) })
	defer follower.Wait()
	defer stopFollowing()

	begin := time.Now()
	faults, heal := context.WithCancel(ctx)
	var monkey sync.WaitGroup
	monkey.Go(func() { l.torment(faults) })
	l.submitAll(ctx)
	_ = pause(ctx, 2*faultEvery)
	heal()
	monkey.Wait()
	tormented = time.Since(begin)

	ctx, cancel := context.WithTimeout(ctx, l.patience)
	defer cancel()
	select {
	case <-l.done:
	case <-ctx.Done():
		missing := l.missing()
		t.Errorf("%d of %d tasks are not completed:\n%s", len(missing), len(l.jobs), strings.Join(missing, "\n"))
		return tormented, false
	}
	for _, step := range []func() error{
		func() error { return l.idle(ctx) },
		func() error { return l.askAgain(ctx) },
		func() error { return l.idle(ctx) },
		l.stopNodes,
		func() error { return l.idle(ctx) },
	} {
		if err := step(); err != nil {
			t.Error(err)
			return tormented, false
		}
	}
	return tormented, true
}

// askAgain submits every task once more, now with an inbox: all are answered by what the log has.
func (l *load) askAgain(ctx context.Context) error {
	errs := make([]error, len(l.jobs))
	var wg sync.WaitGroup
	slots := make(chan struct{}, 32)
	for i, j := range l.jobs {
		slots <- struct{}{}
		wg.Go(func() {
			defer func() { <-slots }()
			if err := l.ask(ctx, j); err != nil {
				errs[i] = fmt.Errorf("task %s, asked for again: %w", j.run, err)
			}
		})
	}
	wg.Wait()
	return errors.Join(errs...)
}

func (l *load) ask(ctx context.Context, j *job) error {
	inbox := l.conn.NATS().NewInbox()
	sub, err := l.conn.NATS().SubscribeSync(inbox)
	if err != nil {
		return err
	}
	defer func() { _ = sub.Unsubscribe() }()
	var m *nats.Msg
	for m == nil { // an answer may be lost, a result is not
		if _, err := task.New(l.conn).Submit(ctx, chat, j.input(), task.Submission{
			Call: protocol.Call{Run: j.run}, Inboxes: []string{inbox},
		}); err != nil {
			return err
		}
		if m, err = sub.NextMsg(3 * time.Second); err != nil && ctx.Err() != nil {
			return err
		}
	}
	out, err := bus.DecodeReply(m)
	if err != nil {
		return err
	}
	got, err := read[answer](out.Message)
	if err == nil && got.turn != j.turn {
		err = fmt.Errorf("the answer is that of %v", got.turn)
	}
	j.answer = bytes.Clone(m.Data)
	return err
}

// dump keeps the log for people.
func (l *load) dump() {
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	if _, err := readLog(ctx, l.conn, l.dir); err != nil {
		l.t.Log(err)
	}
}

// check compares everything.
func (l *load) check(ctx context.Context) *checker {
	t := l.t
	t.Helper()
	records, err := readLog(ctx, l.conn, l.dir)
	if err != nil {
		t.Fatal(err)
	}
	h, err := newHistory(records)
	if err != nil {
		t.Fatal(err)
	}
	lines, err := readOutside(l.dir)
	if err != nil {
		t.Fatal(err)
	}
	c := &checker{history: h, jobs: l.jobs, lines: lines, servers: map[string]bool{}, extra: map[faultKind]int{}}
	for _, s := range l.slots() {
		faults, odd, _ := s.history()
		c.faults = append(c.faults, faults...)
		c.problems = append(c.problems, s.raced(l.dir)...)
		if l.serverEvery == 0 { // without a server a node does not start, and cannot leave in order
			c.problems = append(c.problems, odd...)
		}
	}
	for _, s := range l.servers {
		c.servers[s.name] = true
	}
	c.all(ctx, l.conn)
	for _, j := range l.jobs {
		if a := h.runs[j.run]; a != nil && len(a.ends) == 1 && !bytes.Equal(a.ends[0].output, j.answer) {
			c.problem("task %s was answered %s, the log has %s", j.run, j.answer, a.ends[0].output)
		}
	}
	const most = 40
	for i, p := range c.problems {
		if i == most {
			t.Errorf("and %d more", len(c.problems)-most)
			break
		}
		t.Error(p)
	}
	return c
}

func (l *load) report(c *checker, by uint64, tormented, whole time.Duration) {
	var kills, leaves, stops, servers, odd, starts, repeated int
	for _, s := range l.slots() {
		faults, ends, n := s.history()
		odd, starts = odd+len(ends), starts+n
		for _, f := range faults {
			switch {
			case c.servers[f.slot] && f.kind == faultKill:
				servers++
			case f.kind == faultKill:
				kills++
			case f.kind == faultLeave:
				leaves++
			case f.kind == faultStop:
				stops++
			}
		}
	}
	stalls := 0
	for _, line := range c.lines {
		if line.What == lineStall {
			stalls++
		}
	}
	for _, j := range l.jobs {
		repeated += j.repeated
	}
	l.t.Logf(`
seed             %d
tasks            %d in %d sessions on %d nodes and %d servers; %d submissions repeated
faults           %d nodes killed, %d stopped for %v, %d told to leave; %d servers killed; %d odd ends, %d starts, %d stalls
duration         %v with faults, %v in all
takeovers        %d
payments extra   %v, of them %d when it was known already
effects unknown  %d, of them %d not performed
slowest task     %v (%s)`,
		by, len(l.jobs), l.sessions, len(l.nodes), len(l.servers), repeated,
		kills, stops, stopFor, leaves-len(l.nodes), servers, odd, starts, stalls,
		tormented.Round(time.Millisecond), whole.Round(time.Millisecond), c.takeovers, c.extra, c.stale, c.unknown, c.unsent,
		c.slowest.Round(time.Millisecond), c.slowestRun)
}
