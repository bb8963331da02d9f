package dispatch

import (
	"context"
	"fmt"
	"sync"

	"github.com/skelegent/skelegent-go/protocol"
)

// maxFingerprints is how many different calls a StuckLoop remembers.
const maxFingerprints = 4096

// StuckLoop is a hook that terminates a dispatch when the same call, by its Fingerprint, is asked for too often. It counts
// all calls that it is asked about, whatever came between and whatever became of them, so there should be one for each
// conversation; under Rules there is one for each run. It remembers the last 4096 different calls.
type StuckLoop struct {
	NopHook

	most int

	mu    sync.Mutex
	count map[string]int
	order []string // of count, a ring
	next  int
}

var _ RunHook = (*StuckLoop)(nil)

// StuckLoopHook returns a hook that lets the same call be made most times.
func StuckLoopHook(most int) *StuckLoop {
	return &StuckLoop{most: max(0, most), count: map[string]int{}}
}

// ForRun implements RunHook.
func (s *StuckLoop) ForRun() Hook { return StuckLoopHook(s.most) }

// Before implements Hook.
func (s *StuckLoop) Before(_ context.Context, call protocol.ToolCall) (Decision, error) {
	if n := s.seen(Fingerprint(call)); n > s.most {
		return Terminate(fmt.Sprintf("stuck loop detected: `%s` was requested %d times with the same arguments",
			shown(call.Name), n)), nil
	}
	return Continue(), nil
}

func (s *StuckLoop) seen(fingerprint string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, known := s.count[fingerprint]; !known {
		if len(s.order) < maxFingerprints {
			s.order = append(s.order, fingerprint)
		} else {
			delete(s.count, s.order[s.next])
			s.order[s.next] = fingerprint
			s.next = (s.next + 1) % maxFingerprints
		}
	}
	s.count[fingerprint]++
	return s.count[fingerprint]
}
