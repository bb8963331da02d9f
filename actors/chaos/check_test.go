//go:build unix

package chaos_test

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/skelegent/skelegent-go/actors/run"
	"github.com/skelegent/skelegent-go/bus"
	"github.com/skelegent/skelegent-go/bus/runlog"
	"github.com/skelegent/skelegent-go/protocol"
)

// checker compares the log, the outside record and the faults. What differs is a problem.
type checker struct {
	*history
	jobs    []*job
	lines   []line
	faults  []fault // of nodes and servers
	servers map[string]bool

	problems []string
	// What the report tells.
	takeovers, stale, unknown, unsent int
	extra                             map[faultKind]int
	slowest                           time.Duration
	slowestRun                        protocol.RunID
}

func (c *checker) problem(format string, args ...any) {
	c.problems = append(c.problems, fmt.Sprintf(format, args...))
}

func (c *checker) all(ctx context.Context, conn *bus.Conn) {
	c.checkRuns()
	c.checkSessions()
	c.checkFolds(ctx, conn)
	c.checkPayments()
	c.checkEffects(ctx, conn)
}

// checkRuns: every task is one run, and so is every child; each is completed once.
func (c *checker) checkRuns() {
	children := 0
	for _, j := range c.jobs {
		if j.Kind == quick || j.Kind == slow {
			children++
		}
		a := c.runs[j.run]
		if a == nil {
			c.problem("task %s is not in the log", j.run)
			continue
		}
		c.checkEnd(a)
		if len(a.ends) != 1 || a.ends[0].kind != protocol.EventCompleted {
			continue
		}
		if took := a.ends[0].at.Sub(j.submitted); took > c.slowest {
			c.slowest, c.slowestRun = took, j.run
		}
	}
	helped := 0
	for _, a := range c.ordered {
		c.takeovers += a.takeovers()
		if a.operator == helper {
			helped++
			c.checkEnd(a)
		}
	}
	if helped != children || len(c.runs) != children+len(c.jobs) {
		c.problem("%d runs in the log, %d of them children; want %d and %d", len(c.runs), helped, children+len(c.jobs), children)
	}
}

func (c *checker) checkEnd(a *ran) {
	switch {
	case len(a.ends) == 0:
		c.problem("run %s has not ended; claims %v", a.id, a.claims)
	case len(a.ends) > 1:
		c.problem("run %s ended %d times: %v", a.id, len(a.ends), a.ends)
	case a.ends[0].kind != protocol.EventCompleted:
		c.problem("run %s %s at record %d", a.id, a.ends[0].kind, a.ends[0].seq)
	}
}

// checkSessions: the runs of a session are completed in the order in which they came into its log, and each saw those before.
func (c *checker) checkSessions() {
	bySession := map[string][]*ran{}
	for _, a := range c.ordered {
		if a.operator == chat {
			bySession[a.instance] = append(bySession[a.instance], a)
		}
	}
	for session, runs := range bySession {
		saw := []int{}
		last := uint64(0)
		for i, a := range runs {
			if len(a.ends) != 1 || a.ends[0].kind != protocol.EventCompleted {
				break // reported already
			}
			if a.ends[0].seq < last {
				c.problem("session %s: run %s is number %d in the log, and was completed before the one before it", session, a.id, i+1)
			}
			last = a.ends[0].seq
			got, err := answerOf(a.ends[0].output)
			if err != nil {
				c.problem("run %s: answer: %v", a.id, err)
				break
			}
			if diff := gocmp.Diff(saw, got.Saw); diff != "" {
				c.problem("session %s: run %s did not see the turns before it (-want +got):\n%s", session, a.id, diff)
			}
			saw = append(saw, got.Number)
		}
	}
}

// checkFolds: what is loaded, from a snapshot where there is one, is what all records make; and nothing is left open.
func (c *checker) checkFolds(ctx context.Context, conn *bus.Conn) {
	log := runlog.New(conn.JetStream(), conn.Names())
	for subject, records := range c.records {
		whole := run.New(records[0].Event.Operator, records[0].Event.Instance)
		for _, r := range records {
			if err := whole.Apply(r); err != nil {
				c.problem("%s: %v", subject, err)
				break
			}
		}
		loaded := run.New(whole.Operator, whole.Instance)
		found, err := log.Load(ctx, subject)
		if err != nil {
			c.problem("load %s: %v", subject, err)
			continue
		}
		for _, r := range found {
			e, err := protocol.DecodeEvent(r.Data)
			if err == nil {
				err = loaded.Apply(run.Record{Seq: r.Seq, Event: e})
			}
			if err != nil {
				c.problem("%s: loaded record %d: %v", subject, r.Seq, err)
				break
			}
		}
		if loaded.Open != nil || len(loaded.Queue) > 0 || len(loaded.Early) > 0 {
			c.problem("%s: open %v, %d queued, %d early signals", subject, loaded.Open, len(loaded.Queue), len(loaded.Early))
		}
		if diff := gocmp.Diff(essence(whole), essence(loaded)); diff != "" {
			c.problem("%s: what is loaded is not what the records make (-records +loaded):\n%s", subject, diff)
		}
	}
}

// essence is a fold without what a snapshot may leave out.
func essence(f *run.Fold) string {
	e := *f
	e.Last, e.Tail, e.Records = nil, nil, 0
	body, err := json.Marshal(&e)
	if err != nil {
		return err.Error()
	}
	return string(body)
}

const (
	clockNoise = 50 * time.Millisecond
	// A payment is in vain when its process dies, or is stopped, before the result is recorded. So long may that take.
	nodeReach = 3 * time.Second
	// Without a server, or a leader, heartbeats do not arrive and appends wait: for so long at most.
	serverReach = 15 * time.Second
	// wakingUp is how long a process that was stopped may act on what it knew before.
	wakingUp = time.Second
)

// checkPayments: what is recorded was paid; what was paid otherwise is excused by a fault, and was not known to be done.
func (c *checker) checkPayments() {
	type step struct {
		run  protocol.RunID
		name string
	}
	paid := map[step][]line{}
	for _, l := range c.lines {
		if l.What == linePaid {
			paid[step{l.Run, l.Step}] = append(paid[step{l.Run, l.Step}], l)
		}
	}
	for _, a := range c.ordered {
		want := []string{stepModel, stepNote}
		if a.operator == helper {
			want = []string{stepHelp}
		}
		for _, name := range want {
			if n := len(a.steps[name]); n != 1 {
				c.problem("step %s of %s is recorded %d times", name, a.id, n)
				continue
			}
			counts := a.steps[name][0]
			if !slices.ContainsFunc(paid[step{a.id, name}], func(l line) bool { return l.ID == counts.payment }) {
				c.problem("step %s of %s is recorded with payment %s, which was never made", name, a.id, counts.payment)
			}
			for _, l := range paid[step{a.id, name}] {
				if l.ID != counts.payment {
					c.checkExtra(l, counts)
				}
			}
		}
	}
}

// checkExtra checks a payment that did not count.
func (c *checker) checkExtra(l line, counts made) {
	what := fmt.Sprintf("%s (process %d) paid %s for step %s of %s at %s; payment %s counted, recorded at %s", l.Slot, l.PID, l.ID,
		l.Step, l.Run, l.At.Local().Format("15:04:05.000"), counts.payment, counts.at.Local().Format("15:04:05.000"))
	why, ok := c.excuse(l)
	if !ok {
		c.problem("%s: no fault excuses it", what)
	}
	c.extra[why]++
	switch {
	case l.At.Before(counts.at.Add(clockNoise)):
	case why == faultStop || why == faultServer: // what it knew was old, and it could not know that
		c.stale++
	default:
		c.problem("%s: that was known", what)
	}
}

// excuse returns what made a payment vain: what befell the very process that paid; or else, a server.
func (c *checker) excuse(l line) (why faultKind, ok bool) {
	for _, s := range c.lines { // also where it was the machine that did not let the process run
		if s.What == lineStall && s.PID == l.PID && reaches(l.At, s.At, s.At.Add(s.For), wakingUp, nodeReach) {
			return faultStop, true
		}
	}
	for _, f := range c.faults {
		// A process that was told to leave had the time to record what it paid for.
		if f.pid == l.PID && f.kind != faultLeave && reaches(l.At, f.from, f.to, wakingUp, nodeReach) {
			return f.kind, true
		}
	}
	for _, f := range c.faults {
		if c.servers[f.slot] && reaches(l.At, f.from, f.to, serverReach, serverReach) {
			return faultServer, true
		}
	}
	return faultNone, false
}

// reaches reports whether a fault from one time to another may have to do with what was done at a time: so long after it, or
// so long before.
func reaches(at, from, to time.Time, after, before time.Duration) bool {
	return from.Before(at.Add(before)) && to.After(at.Add(-after))
}

// checkEffects: each turn's mail was sent once, in the order of the turns; or its outcome is unknown, and reported.
func (c *checker) checkEffects(ctx context.Context, conn *bus.Conn) {
	sent := map[mail][]line{}
	order := map[string][]string{}
	for _, l := range c.lines {
		if l.What == lineMail {
			sent[*l.Mail] = append(sent[*l.Mail], l)
			if !c.isUnknown(l.ID) {
				order[l.Mail.Session] = append(order[l.Mail.Session], l.ID)
			}
		}
	}
	for _, j := range c.jobs {
		lines := sent[mail{Session: j.Session, Number: j.Number}]
		unknown := len(lines) > 0 && c.isUnknown(lines[0].ID)
		switch {
		case len(lines) > 1:
			c.problem("mail of %s was sent %d times: %v", j.run, len(lines), lines)
		case len(lines) == 0:
			c.unsent++ // its outcome must be unknown: their number says
		case !unknown && len(c.outcomes[lines[0].ID]) != 1:
			c.problem("effect %s of %s has the outcomes %v", lines[0].ID, j.run, c.outcomes[lines[0].ID])
		}
	}
	var reported []string
	for id, outcomes := range c.outcomes {
		if len(outcomes) != 1 {
			c.problem("effect %s ended %d times: %v", id, len(outcomes), outcomes)
		}
		switch outcomes[0].Status {
		case protocol.OutcomeOK:
		case protocol.OutcomeUnknown:
			c.unknown++
			reported = append(reported, id)
		default:
			c.problem("effect %s %s: %v", id, outcomes[0].Status, outcomes[0].Error)
		}
	}
	if len(c.outcomes) != len(c.jobs) {
		c.problem("%d effects have an outcome, want %d", len(c.outcomes), len(c.jobs))
	}
	if c.unsent > c.unknown {
		c.problem("%d mails were not sent, and only %d outcomes are unknown", c.unsent, c.unknown)
	}
	for session, ids := range order {
		if !slices.IsSortedFunc(ids, byNumber) {
			c.problem("mails of session %s were sent in the order %v", session, ids)
		}
	}
	c.checkDead(ctx, conn, reported)
}

// byNumber compares the ids of two effects of an instance: .../<message>/<position>.
func byNumber(a, b string) int { return cmp.Or(cmp.Compare(len(a), len(b)), cmp.Compare(a, b)) }

func (c *checker) isUnknown(id string) bool {
	return len(c.outcomes[id]) > 0 && c.outcomes[id][0].Status == protocol.OutcomeUnknown
}

// checkDead: the dead letters tell of the effects whose outcome is unknown, and of nothing else.
func (c *checker) checkDead(ctx context.Context, conn *bus.Conn, reported []string) {
	letters, err := conn.DeadLetters(ctx, "", 10*len(c.jobs))
	if err != nil {
		c.problem("dead letters: %v", err)
		return
	}
	var dead []string
	for _, d := range letters {
		dead = append(dead, d.Letter.ID)
		if !slices.Contains(reported, d.Letter.ID) {
			c.problem("dead letter %s: %v", d.Letter.ID, d.Letter.Reason)
		}
	}
	for _, id := range reported {
		if !slices.Contains(dead, id) {
			c.problem("the outcome of effect %s is unknown, and nobody was told", id)
		}
	}
}
