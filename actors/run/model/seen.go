package model

import (
	"fmt"
	"slices"

	"github.com/skelegent/skelegent-go/actors/run"
	"github.com/skelegent/skelegent-go/protocol"
)

// seen is what an observer of the log has noted, who knows nothing of the fold's bookkeeping. It is never changed in place.
type seen struct {
	entered  []protocol.RunID // the inputs in their order
	ended    []ended          // the runs in the order of their ends
	steps    []string         // run/path of those that are recorded
	cancels  []protocol.RunID // runs for which a cancel was noted
	requests []request        // every effect that was committed, in order
}

type ended struct {
	run    protocol.RunID
	kind   protocol.EventKind
	answer string
	into   protocol.RunID // the run that took the input up
}

type request struct {
	id, content string
	seq         uint64 // of the commit
}

// and returns what is seen when a log gets a record, and what is wrong with that; before is the fold without it.
func (s seen) and(before *run.Fold, n *node, items []run.Item) (seen, string) {
	for _, i := range items {
		if bad := s.item(before, n, i); bad != "" {
			return s, bad
		}
	}
	if c := n.fold.Last; c != nil && c.Seq == n.record.Seq {
		for _, r := range c.Requests {
			s.requests = append(slices.Clip(s.requests), request{effectID(r), effectContent(r), c.Seq})
		}
	}
	if o := n.fold.Open; o != nil {
		var distinct int64
		for _, e := range o.Journal {
			if e.Cost != nil {
				distinct += e.Cost.IntPart()
			}
		}
		if got := o.Cost.IntPart(); got != distinct {
			return s, fmt.Sprintf("the fold says that %s cost %d, its steps cost %d", o.Run, got, distinct)
		}
	}
	return s, s.order()
}

func (s *seen) item(before *run.Fold, n *node, i run.Item) string {
	switch d := i.Data.(type) {
	case run.Started:
		if d.Input != nil {
			s.entered = append(slices.Clip(s.entered), i.Run)
		}
	case run.Queued:
		s.entered = append(slices.Clip(s.entered), d.Input.Run)
	case run.Refused:
		return s.end(ended{run: i.Run, kind: i.Kind, answer: failure(d.Error)})
	case run.Noted:
		if g := d.Signal; g != nil && g.Type == run.SignalCancel && g.Run != "" && !s.over(g.Run) {
			s.cancels = append(slices.Clip(s.cancels), g.Run)
		}
	case run.Entry:
		if path := string(i.Run) + "/" + d.Path; i.Kind == protocol.EventStepCompleted {
			s.steps = append(slices.Clip(s.steps), path)
		}
		for _, id := range d.Inputs {
			if slices.Contains(s.cancels, id) {
				return fmt.Sprintf("%s was told to stop, and was taken up by %s", id, i.Run)
			}
			if bad := s.end(ended{run: id, kind: protocol.EventNoted, into: i.Run}); bad != "" {
				return bad
			}
		}
	case run.Completed, run.Failed, run.Cancelled:
		if i.Kind != protocol.EventCancelled && (before.Stopping() || slices.Contains(s.cancels, i.Run)) {
			return fmt.Sprintf("%s was told to stop, and %s", i.Run, i.Kind)
		}
		return s.end(ended{run: i.Run, kind: i.Kind, answer: answer(n.fold.Last)})
	}
	return ""
}

func (s *seen) end(e ended) string {
	if s.over(e.run) {
		return fmt.Sprintf("%s ended twice", e.run)
	}
	s.ended = append(slices.Clip(s.ended), e)
	return ""
}

func (s *seen) over(id protocol.RunID) bool {
	_, ok := s.endOf(id)
	return ok
}

func (s *seen) endOf(id protocol.RunID) (ended, bool) {
	i := slices.IndexFunc(s.ended, func(e ended) bool { return e.run == id })
	if i < 0 {
		return ended{}, false
	}
	return s.ended[i], true
}

// order checks that the runs end in the order in which their inputs came into the log, but for those that never run.
func (s *seen) order() string {
	rest := s.entered
	for _, e := range s.ended {
		if e.kind == protocol.EventRefused || e.kind == protocol.EventNoted {
			continue
		}
		i := slices.Index(rest, e.run)
		if i < 0 {
			return fmt.Sprintf("%s ended out of turn", e.run)
		}
		for _, passed := range rest[:i] {
			if e, ok := s.endOf(passed); !ok || e.kind != protocol.EventNoted {
				return fmt.Sprintf("%s ended before %s, which came first", s.ended[len(s.ended)-1].run, passed)
			}
		}
		rest = rest[i+1:]
	}
	return ""
}

// answer is what callers hear of a commit.
func answer(c *run.Commit) string {
	if c.Output != nil {
		return string(c.Output)
	}
	return failure(c.Error)
}

func failure(e *protocol.Error) string { return "error: " + e.Message }

func effectID(r protocol.EffectRequest) string {
	return protocol.EffectRequestID(r.Operator, r.Instance, r.Kind, r.M)
}

func effectContent(r protocol.EffectRequest) string {
	body, err := protocol.Marshal(r)
	must(err)
	return string(body)
}
