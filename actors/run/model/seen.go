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
	signals  []uint64         // the sequences of those that were noted
	cancels  []protocol.RunID // runs for which a cancel was noted
	asked    []question       // what a person was asked
	requests []request        // every effect that was committed, in order
	spawned  protocol.Decimal // what the detached children of the open run cost
}

type ended struct {
	run    protocol.RunID
	kind   protocol.EventKind
	answer string
	into   protocol.RunID // the run that took the input up
}

type question struct {
	run  protocol.RunID
	path string
	seq  uint64
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
	if bad := s.costs(n.fold.Open); bad != "" {
		return s, bad
	}
	return s, s.order()
}

// costs checks that a run costs what its steps and its children cost, each once.
func (s *seen) costs(o *run.Open) string {
	if o == nil {
		s.spawned = protocol.Decimal{}
		return ""
	}
	sum := s.spawned
	for _, e := range o.Journal {
		if e.Cost != nil {
			sum.Decimal = sum.Add(e.Cost.Decimal)
		}
	}
	if !sum.Equal(o.Cost.Decimal) {
		return fmt.Sprintf("the fold says that %s cost %s, its steps and children cost %s", o.Run, o.Cost, sum)
	}
	return ""
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
		if end := d.Child; end != nil && end.Output != nil && before.Open != nil {
			var out protocol.OperatorOutput
			must(protocol.Unmarshal(end.Output, &out))
			if c := before.Open.Children[end.Run]; c != nil && c.Detached && !c.Done {
				s.spawned.Decimal = s.spawned.Add(out.Metadata.Cost.Decimal)
			}
		}
		if g := d.Signal; g != nil {
			s.signals = append(slices.Clip(s.signals), g.Seq)
		}
		if g := d.Signal; g != nil && g.Type == run.SignalCancel && g.Run != "" && !s.over(g.Run) {
			s.cancels = append(slices.Clip(s.cancels), g.Run)
		}
	case run.Suspended:
		if a := d.Wait.Approval; a != nil && !slices.ContainsFunc(s.asked, func(q question) bool { return q.run == i.Run && q.path == a.WaitPoint }) {
			s.asked = append(slices.Clip(s.asked), question{i.Run, a.WaitPoint, n.record.Seq})
		}
	case run.Entry:
		if d.Name == asking {
			q := slices.IndexFunc(s.asked, func(q question) bool { return q.run == i.Run && q.path == d.Path })
			if q < 0 || slices.Min(d.Signals) < s.asked[q].seq {
				return fmt.Sprintf("step %s of %s was decided by an answer that was given before the question", d.Path, i.Run)
			}
		}
		if path := string(i.Run) + "/" + d.Path; i.Kind == protocol.EventStepCompleted {
			s.steps = append(slices.Clip(s.steps), path)
		}
		for _, id := range d.Inputs {
			if _, taken := n.fold.Ended(id); !taken {
				continue
			}
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
