package step

import (
	"context"
	"strconv"
	"sync"

	"github.com/shopspring/decimal"

	"github.com/skelegent/skelegent-go/protocol"
)

// scope is where steps are counted: that of a run, or of one step of it.
type scope struct {
	rec  Recorder
	path string // of the step whose scope it is; empty for that of the run

	mu   sync.Mutex
	last int             // ordinal
	left error           // the first that has to leave the code of the scope
	cost decimal.Decimal // of the steps in it, and in theirs
}

type scopeKey struct{}

// With returns a context whose steps are recorded by rec. They are counted from 1: a run that goes on needs a new one.
func With(ctx context.Context, rec Recorder) context.Context {
	return context.WithValue(ctx, scopeKey{}, &scope{rec: rec})
}

func scopeOf(ctx context.Context) *scope {
	s, _ := ctx.Value(scopeKey{}).(*scope)
	return s
}

// InfoFrom returns what the durable run of ctx is; false outside of one.
func InfoFrom(ctx context.Context) (Info, bool) {
	s := scopeOf(ctx)
	if s == nil {
		return Info{}, false
	}
	return s.rec.Info(), true
}

// Key returns the idempotency key of the step whose function has ctx: the same each time that it is made, and different for
// every other. It is empty outside of a step.
func Key(ctx context.Context) string {
	s := scopeOf(ctx)
	if s == nil || s.path == "" {
		return ""
	}
	return keyOf(s.rec, s.path)
}

func keyOf(rec Recorder, path string) string { return string(rec.Info().Run) + "/" + path }

// next gives out a path.
func (s *scope) next() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.last++
	return s.under(s.last)
}

// under is the path of the nth step.
func (s *scope) under(n int) string {
	if s.path == "" {
		return strconv.Itoa(n)
	}
	return s.path + "." + strconv.Itoa(n)
}

// leave keeps err if it has to leave the code, and returns it.
func (s *scope) leave(err error) error {
	if !Unwinding(err) {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.left == nil {
		s.left = err
	}
	return err
}

func (s *scope) leaving() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.left
}

func (s *scope) spend(cost *protocol.Decimal) {
	if cost == nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.cost = s.cost.Add(cost.Decimal)
}

func (s *scope) spent() decimal.Decimal {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.cost
}
