package operator

import (
	"sync"
	"sync/atomic"
	"time"
)

// Stats are an operator's figures on one node since its start. Safe for concurrent use.
type Stats struct {
	running, waiting atomic.Int64
	refused          atomic.Uint64

	mu        sync.Mutex
	requests  uint64
	errors    uint64
	lastError string
	time      time.Duration
}

// Snapshot is what Stats were at one time.
type Snapshot struct {
	Requests  uint64        // that ran, however they ended
	Errors    uint64        // of these, those answered with an error, and what was refused
	LastError string        // "code:message"
	Time      time.Duration // all requests took, from the start of the run to the reply
	Running   int64
	Waiting   int64
	Refused   uint64 // beyond the limits, or while shutting down
}

// Snapshot returns the figures of now.
func (s *Stats) Snapshot() Snapshot {
	s.mu.Lock()
	defer s.mu.Unlock()
	return Snapshot{
		Requests: s.requests, Errors: s.errors, LastError: s.lastError, Time: s.time,
		Running: s.running.Load(), Waiting: s.waiting.Load(), Refused: s.refused.Load(),
	}
}

func (s *Stats) ran(took time.Duration, failure string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.requests++
	s.time += took
	if failure != "" {
		s.errors++
		s.lastError = failure
	}
}

func (s *Stats) refuse(failure string) {
	s.refused.Add(1)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.errors++
	s.lastError = failure
}

func (s *Stats) mean() time.Duration {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.requests == 0 {
		return 0
	}
	return s.time / time.Duration(s.requests)
}
