package main

import (
	"context"
	"strings"
	"sync"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/skelegent/skelegent-go/actors/run"
	"github.com/skelegent/skelegent-go/bus"
	"github.com/skelegent/skelegent-go/protocol"
	"github.com/skelegent/skelegent-go/protocol/wire"
)

// stream shows the tokens of one run on a terminal while they come.
type stream struct {
	subs []*nats.Subscription
	msgs chan *nats.Msg
	log  string // what the subjects of committed events begin with
	end  context.CancelFunc
	done sync.WaitGroup
	show telling

	suspended func(*run.Wait)
	held      *run.Wait // to be told of
}

// streamBuffer is how many events wait to be shown. What is beyond is lost, and then the answer is shown as a whole.
const streamBuffer = 16 << 10

// followRun begins to show a run that is about to be dispatched. All kinds of event are subscribed to, not the tokens
// alone: their numbers tell whether one was lost, and a model call that is made again takes back what it said. Of a run that
// has a log, what is committed comes as an event of the log, and the rest live as ever.
//
// print shows a piece of the answer; suspended, if not nil, is told what the run waits for.
func followRun(ctx context.Context, s *session, j *job, print func(string), suspended func(*run.Wait)) (*stream, error) {
	live, _ := bus.EventSubjects(s.Names(), string(j.operator), j.instance())
	log := s.Names().Event(s.Names().RunLog(string(j.operator), wire.Escape(j.instance())))
	f := &stream{
		msgs: make(chan *nats.Msg, streamBuffer), log: log, suspended: suspended,
		show: telling{run: j.run, print: print},
	}
	for _, subject := range []string{live, log} {
		s.tolerate(subject) // without tokens the answer is still printed
		sub, err := s.NATS().ChanSubscribe(subject, f.msgs)
		if err != nil {
			return nil, bus.Translate("subscribe to "+subject, err)
		}
		f.subs = append(f.subs, sub)
	}
	ctx, f.end = context.WithCancel(ctx)
	f.done.Go(func() {
		for {
			var quiet <-chan time.Time
			if f.held != nil {
				quiet = time.After(quietFor)
			}
			select {
			case m := <-f.msgs:
				f.feed(m)
			case <-quiet:
				f.show.endLine()
				f.suspended(f.held)
				f.held = nil
			case <-ctx.Done():
				return
			}
		}
	})
	return f, nil
}

// quietFor is how long nothing must come before it is told what the run waits for: tokens come a little later than what is
// committed behind them.
const quietFor = 30 * time.Millisecond

func (f *stream) feed(m *nats.Msg) {
	event, err := protocol.DecodeEvent(m.Data)
	if err != nil {
		return
	}
	if m.Subject != f.log {
		f.show.live(event)
		return
	}
	if event.Run != f.show.run {
		return
	}
	for _, part := range append([]protocol.EventPart{{Kind: event.Kind, Data: event.Data}}, event.Also...) {
		f.show.committed(part.Kind)
		var d run.Suspended
		if part.Kind == protocol.EventSuspended && f.suspended != nil && protocol.Unmarshal(part.Data, &d) == nil {
			f.held = &d.Wait
		}
	}
}

// finish prints what is not yet there of the whole answer. It comes behind most of the run's events, so they are here.
func (f *stream) finish(text string) {
	f.end()
	f.done.Wait()
	for {
		select {
		case m := <-f.msgs:
			f.feed(m)
			continue
		default:
		}
		break
	}
	f.show.finish(text)
}

func (f *stream) stop() {
	f.end()
	f.done.Wait()
	for _, sub := range f.subs {
		_ = sub.Unsubscribe() // the connection may be gone, and then so is the subscription
	}
	f.show.stop()
}

// telling is what has been printed of a run, so that nothing is printed twice.
type telling struct {
	run   protocol.RunID
	print func(string)

	seq     uint64          // of the last event
	turn    strings.Builder // what the model has said since its last call began
	midline bool            // the cursor stands behind it
	// Calls that began and calls that are over: of a run with a log, one may be heard to be over before it is heard to begin.
	began, over int
	broken      bool // an event of the call was lost: wait for the whole answer
}

// live takes an event that no log keeps.
func (t *telling) live(e protocol.Event) {
	if e.Run != t.run {
		return
	}
	lost := e.Seq > t.seq+1
	t.seq = e.Seq
	t.broken = t.broken || lost
	switch e.Kind {
	case protocol.EventInferenceStarted:
		if t.over < t.began {
			t.over = t.began
			if t.turn.Len() > 0 {
				t.endLine()
				t.print("(the model is asked again)\n")
			}
		}
		t.began++
		t.newTurn()
	case protocol.EventInferenceCompleted:
		t.over++
	case protocol.EventProgress:
		var data struct {
			Content string `json:"content"`
		}
		if t.broken || protocol.Unmarshal(e.Data, &data) != nil {
			t.broken = true
			return
		}
		t.turn.WriteString(data.Content)
		t.print(data.Content)
		if data.Content != "" {
			t.midline = !strings.HasSuffix(data.Content, "\n")
		}
	default:
	}
}

// committed takes an event of the run's log.
func (t *telling) committed(kind protocol.EventKind) {
	if kind == protocol.EventInferenceCompleted {
		t.over++
	}
}

func (t *telling) newTurn() {
	t.endLine()
	t.turn.Reset()
	t.broken = false
}

// endLine leaves the cursor at the begin of a line.
func (t *telling) endLine() {
	if t.midline {
		t.print("\n")
	}
	t.midline = false
}

// finish is called with the answer once the run has ended.
func (t *telling) finish(text string) {
	rest, ok := strings.CutPrefix(text, t.turn.String())
	switch {
	case ok && rest == "" && t.turn.Len() > 0, !ok && strings.TrimSpace(text) == strings.TrimSpace(t.turn.String()):
		t.endLine()
	case ok:
		t.print(rest + "\n")
		t.midline = false
	default:
		t.endLine()
		t.print(text + "\n")
	}
}

// stop leaves the cursor at the begin of a line where there was no answer.
func (t *telling) stop() { t.endLine() }
