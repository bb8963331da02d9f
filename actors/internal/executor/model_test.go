package executor

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/skelegent/skelegent-go/protocol"
)

// This file explores the ledger: two messages of an instance with two effects each, two executors that do what perform does,
// one step at a time, and everything that may go wrong between two steps. ledger.decide is the one of production; the
// stream, the ledger's subject and what is outside are played. See package actors/run/model for the larger one.

const (
	playedMessages = 2
	playedEffects  = 2
)

// place is where an executor is in perform.
type place int

const (
	idle      place = iota
	atRead          // the ledger
	atResolve       // what somebody else may have done
	atActing        // record that it is about to act
	atAct
	atRelease // record that it did not act
	atDone    // record that all is done
	atAck
)

// executing is an executor with a message.
type executing struct {
	at       place
	m        int  // the message
	newest   bool // no other delivery of the message came later, and its time is not over
	led      ledger
	i        int
	outcomes []protocol.EffectOutcome
}

// played is the world at a moment.
type played struct {
	state                                    [playedMessages + 1]byte // of a message: ready, out, gone
	ex                                       [2]executing
	led                                      ledger
	performed                                [playedMessages + 1][playedEffects + 1]int
	unsure                                   [playedMessages + 1][playedEffects + 1]bool // recorded as unknown
	crashes, expiries, lost, unknown, leaves int
}

// ledgerRules are what can be left out.
type ledgerRules struct {
	idempotent                                 bool
	noFence, noActing, noDoubt, ackFirst, rush bool
}

// key tells worlds apart.
func (p played) key() string {
	b := make([]byte, 0, 128)
	ledgerKey := func(l ledger) {
		b = append(b, byte(l.seq), byte(l.through), byte(l.last.M), byte(l.last.I))
		b = append(append(b, l.kind...), statuses(l.last.Outcomes)...)
	}
	b = append(b, p.state[:]...)
	ledgerKey(p.led)
	for m := range p.performed {
		for i, n := range p.performed[m] {
			b = append(b, byte(n))
			if p.unsure[m][i] {
				b = append(b, '?')
			}
		}
	}
	for _, e := range p.ex {
		b = append(b, '|', byte(e.at), byte(e.m), byte(e.i))
		if e.newest {
			b = append(b, '!')
		}
		b = append(append(b, statuses(e.outcomes)...), '/')
		ledgerKey(e.led)
	}
	return string(append(b, '|', byte(p.crashes), byte(p.expiries), byte(p.lost), byte(p.unknown), byte(p.leaves)))
}

func statuses(outcomes []protocol.EffectOutcome) string {
	s := make([]byte, len(outcomes))
	for i, o := range outcomes {
		s[i] = o.Status[0]
	}
	return string(s)
}

// take gives an executor a message.
func (p played) take(x, m int) (played, string) {
	p.state[m] = 'o'
	p.ex[x] = executing{at: atRead, m: m, newest: true}
	return p, fmt.Sprintf("message %d goes to executor %d", m, x+1)
}

// back gives the message of an executor back, if it is not somebody else's by now.
func (p played) back(x int) played {
	if e := p.ex[x]; e.newest && p.state[e.m] == 'o' {
		p.state[e.m] = 'r'
	}
	p.ex[x] = executing{}
	return p
}

// write appends to the ledger as book.write does; false is a conflict.
func (p played) write(r ledgerRules, x int, kind protocol.EventKind, i int) (played, bool) {
	e := &p.ex[x]
	if e.led.seq != p.led.seq && !r.noFence {
		return p.back(x), false
	}
	rec := record{M: uint64(e.m), Through: uint64(e.m) - 1, I: i, Outcomes: slices.Clone(e.outcomes)}
	if kind == protocol.EventEffectDone {
		rec.Through, rec.I = uint64(e.m), 0
	}
	for n, o := range rec.Outcomes {
		p.unsure[e.m][n+1] = o.Status == protocol.OutcomeUnknown
	}
	p.led = ledger{seq: p.led.seq + 1, kind: kind, through: rec.Through, last: rec}
	e.led = p.led
	return p, true
}

// next is where perform goes on after effect i.
func (e *executing) next(r ledgerRules) {
	switch e.i++; {
	case e.i > playedEffects:
		e.at = atDone
	case r.idempotent || r.noActing:
		e.at = atAct
	default:
		e.at = atActing
	}
}

// read reads the ledger and asks it what to do.
func (p played) read(r ledgerRules, x int) (played, string) {
	e := &p.ex[x]
	e.led = p.led
	step, from, outcomes, doubtful := e.led.decide(uint64(e.m))
	if r.rush && step == stepWait {
		step, from = stepPerform, 1
	}
	switch step {
	case stepDone:
		e.at = atAck
		return p, "finds that all is done"
	case stepWait:
		return p.back(x), "has to wait"
	case stepPerform:
	}
	if r.idempotent {
		from, outcomes, doubtful = 1, nil, false
	}
	e.i, e.outcomes = from-1, slices.Clone(outcomes)
	if e.next(r); doubtful && !r.noDoubt && e.i <= playedEffects {
		e.at = atResolve
	}
	return p, fmt.Sprintf("reads the ledger: from %d, doubtful %v", from, doubtful)
}

// step does the next thing of an executor.
func (p played) step(r ledgerRules, x int) (played, string) {
	e := &p.ex[x]
	e.outcomes = slices.Clip(e.outcomes)
	name := fmt.Sprintf("executor %d, message %d: ", x+1, e.m)
	what := ""
	ok := true
	switch e.at {
	case atRead:
		p, what = p.read(r, x)
	case atResolve:
		what = fmt.Sprintf("cannot know what became of effect %d", e.i)
		e.outcomes = append(e.outcomes, protocol.EffectOutcome{Status: protocol.OutcomeUnknown})
		e.next(r)
	case atActing:
		what = fmt.Sprintf("records that it acts on effect %d", e.i)
		if p, ok = p.write(r, x, protocol.EventEffectActing, e.i); ok {
			p.ex[x].at = atAct
		}
	case atAct:
		what = fmt.Sprintf("performs effect %d", e.i)
		p.performed[e.m][e.i]++
		e.outcomes = append(e.outcomes, protocol.EffectOutcome{Status: protocol.OutcomeOK})
		e.next(r)
		if r.ackFirst && e.at == atDone {
			p.state[e.m] = 'g'
		}
	case atRelease:
		what = fmt.Sprintf("records that it did not act on effect %d", e.i)
		if p, ok = p.write(r, x, protocol.EventEffectReleased, e.i); ok {
			p = p.back(x)
		}
	case atDone:
		what = "records that all is done"
		if p, ok = p.write(r, x, protocol.EventEffectDone, 0); ok {
			p.ex[x].at = atAck
		}
	case atAck:
		what = "acknowledges"
		p.state[e.m], p.ex[x] = 'g', executing{}
	case idle:
	}
	if !ok {
		what = "conflict"
	}
	return p, name + what
}

// writes reports whether an executor is about to write.
func (e executing) writes() bool { return e.at == atActing || e.at == atDone || e.at == atRelease }

// successors calls f with every world that may follow; fault says that something goes wrong on the way.
func (p played) successors(r ledgerRules, f func(to played, how string, fault bool)) {
	for x, e := range p.ex {
		if e.at == idle {
			for m := 1; m <= playedMessages; m++ {
				if p.state[m] == 'r' {
					to, how := p.take(x, m)
					f(to, how, false)
				}
			}
			continue
		}
		to, how := p.step(r, x)
		f(to, how, false)
		if p.crashes > 0 {
			to := p.back(x)
			to.crashes--
			f(to, fmt.Sprintf("executor %d crashes", x+1), true)
		}
		if p.expiries > 0 && p.state[e.m] == 'o' && e.newest {
			to := p
			to.state[e.m], to.ex[x].newest = 'r', false
			to.expiries--
			f(to, fmt.Sprintf("the time to acknowledge message %d passes", e.m), true)
		}
		if p.lost > 0 && e.at == atAck {
			to := p.back(x)
			to.lost--
			f(to, fmt.Sprintf("the acknowledgement of message %d is lost", e.m), true)
		}
		if p.unknown > 0 && e.writes() {
			// The executor gives up; the record is there, or is not.
			to := p.back(x)
			to.unknown--
			f(to, fmt.Sprintf("executor %d cannot write, and gives up", x+1), true)
			if to, how := p.step(r, x); to.led.seq > p.led.seq {
				to.unknown--
				if to.ex[x].at != idle {
					to = to.back(x)
				}
				f(to, how+", hears nothing of it, and gives up", true)
			}
		}
		if p.leaves > 0 && e.at == atAct && !r.idempotent && !r.noActing {
			to := p
			to.ex[x].at = atRelease
			to.leaves--
			f(to, fmt.Sprintf("executor %d leaves", x+1), true)
		}
	}
}

// broken says what is wrong with a world, or with how it came about.
func (p played) broken(r ledgerRules, from *played) string {
	for m := 1; m <= playedMessages; m++ {
		for i := 1; i <= playedEffects; i++ {
			n := p.performed[m][i]
			if n > 1 && !r.idempotent {
				return fmt.Sprintf("effect %d of message %d was performed %d times", i, m, n)
			}
			if from != nil && n > from.performed[m][i] && n == 1 {
				if bad := from.early(m, i); bad != "" {
					return bad
				}
			}
		}
		if p.state[m] == 'g' && p.led.through < uint64(m) {
			return fmt.Sprintf("message %d was acknowledged and is not done", m)
		}
	}
	for i, o := range p.led.last.Outcomes {
		if m := p.led.last.M; o.Status == protocol.OutcomeOK && p.performed[m][i+1] == 0 {
			return fmt.Sprintf("effect %d of message %d was not performed, and the ledger says it was", i+1, m)
		}
	}
	return ""
}

// early says which earlier effect was neither performed nor given up as unknown.
func (p played) early(m, i int) string {
	for em := 1; em <= m; em++ {
		for ei := 1; ei <= playedEffects && (em < m || ei < i); ei++ {
			if p.performed[em][ei] == 0 && !p.doubted(em, ei) {
				return fmt.Sprintf("effect %d of message %d was performed before effect %d of message %d", i, m, ei, em)
			}
		}
	}
	return ""
}

func (p played) doubted(m, i int) bool {
	for _, e := range p.ex {
		if e.m == m && len(e.outcomes) >= i && e.outcomes[i-1].Status == protocol.OutcomeUnknown {
			return true
		}
	}
	return p.unsure[m][i]
}

// rest says what is wrong with a world in which nothing is left to do.
func (p played) rest(first played) string {
	for m := 1; m <= playedMessages; m++ {
		if p.state[m] != 'g' {
			return fmt.Sprintf("message %d stays for ever", m)
		}
	}
	if p.led.through != playedMessages {
		return "not all is done"
	}
	for m := 1; m <= playedMessages; m++ {
		for i := 1; i <= playedEffects; i++ {
			if p.performed[m][i] == 0 && !p.unsure[m][i] {
				return fmt.Sprintf("effect %d of message %d was never performed", i, m)
			}
		}
	}
	clean := p.crashes == first.crashes && p.expiries == first.expiries && p.unknown == first.unknown
	for i, o := range p.led.last.Outcomes {
		if clean && o.Status != protocol.OutcomeOK {
			return fmt.Sprintf("nothing went wrong, and effect %d is %s", i+1, o.Status)
		}
	}
	return ""
}

// exploreLedger visits every world, and returns how many there are and the shortest way to one that is broken.
func exploreLedger(first played, r ledgerRules) (states int, broken string) {
	type seen struct {
		p    played
		from int
		how  string
	}
	all := []seen{{p: first, from: -1}}
	known := map[string]bool{first.key(): true}
	for at := 0; at < len(all) && broken == ""; at++ {
		trace := func(last string) string {
			way := []string{last}
			for i := at; all[i].from >= 0; i = all[i].from {
				way = append(way, all[i].how)
			}
			slices.Reverse(way)
			return strings.Join(way, "\n")
		}
		moved := false
		p := all[at].p
		p.successors(r, func(to played, how string, fault bool) {
			moved = moved || !fault
			if bad := to.broken(r, &p); bad != "" && broken == "" {
				broken = trace(how + "\nBROKEN: " + bad)
			}
			if key := to.key(); !known[key] {
				known[key] = true
				all = append(all, seen{to, at, how})
			}
		})
		if !moved {
			if bad := p.rest(first); bad != "" && broken == "" {
				broken = trace("BROKEN: " + bad)
			}
		}
	}
	return len(all), broken
}

func TestLedgerModel(t *testing.T) {
	t.Parallel()
	faults := func(p played) played {
		for m := 1; m <= playedMessages; m++ {
			p.state[m] = 'r'
		}
		return p
	}
	for _, tc := range []struct {
		name   string
		first  played
		rules  ledgerRules
		breaks string // what is wrong with it, empty if nothing is
	}{
		{"nothing goes wrong", played{}, ledgerRules{}, ""},
		{"crashes", played{crashes: 2, lost: 1}, ledgerRules{}, ""},
		{"zombies", played{expiries: 2, crashes: 1}, ledgerRules{}, ""},
		{"unknown outcomes", played{unknown: 2, expiries: 1}, ledgerRules{}, ""},
		{"nodes that leave", played{leaves: 2, crashes: 1, expiries: 1}, ledgerRules{}, ""},
		{"idempotent", played{crashes: 1, expiries: 1, lost: 1, unknown: 1}, ledgerRules{idempotent: true}, ""},

		{"without the fence", played{expiries: 1}, ledgerRules{noFence: true}, "performed 2 times"},
		{"without effect_acting", played{crashes: 1}, ledgerRules{noActing: true}, "performed 2 times"},
		{"without doubt", played{crashes: 1}, ledgerRules{noDoubt: true}, "performed 2 times"},
		{"acknowledged first", played{}, ledgerRules{ackFirst: true}, "acknowledged and is not done"},
		{"without the order", played{}, ledgerRules{rush: true}, "performed before"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			states, broken := exploreLedger(faults(tc.first), tc.rules)
			t.Logf("%d states %s", states, broken)
			if tc.breaks == "" && broken != "" || !strings.Contains(broken, tc.breaks) {
				t.Errorf("wanted %q, got %s", tc.breaks, broken)
			}
		})
	}
}
