package main

import (
	"context"
	"strings"
	"sync"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/skelegent/skelegent-go/bus"
	"github.com/skelegent/skelegent-go/protocol"
)

// stream shows the tokens of one run on a terminal while they come.
type stream struct {
	sub  *nats.Subscription
	end  context.CancelFunc
	done sync.WaitGroup
	show telling
}

// follow begins to show a run that is about to be dispatched. All kinds of event are subscribed to, not the tokens
// alone: their numbers tell whether one was lost, and a model call that is made again takes back what it said.
func (a *app) follow(ctx context.Context, s *session, operator, instance string, run protocol.RunID) (*stream, error) {
	live, _ := bus.EventSubjects(s.Names(), operator, instance)
	s.tolerate(live) // without tokens the answer is still printed
	sub, err := s.NATS().SubscribeSync(live)
	if err != nil {
		return nil, bus.Translate("subscribe to "+live, err)
	}
	ctx, cancel := context.WithCancel(ctx)
	f := &stream{sub: sub, end: cancel, show: telling{run: run, print: func(s string) { a.out.print(a.out.text(s)) }}}
	f.done.Go(func() {
		for {
			m, err := sub.NextMsgWithContext(ctx)
			if err != nil {
				return
			}
			f.feed(m)
		}
	})
	return f, nil
}

func (f *stream) feed(m *nats.Msg) {
	if event, err := protocol.DecodeEvent(m.Data); err == nil {
		f.show.event(event)
	}
}

// finish prints what is not yet there of the whole answer. It comes behind all of the run's events, so they are here.
func (f *stream) finish(text string) {
	f.end()
	f.done.Wait()
	for n, _, err := f.sub.Pending(); err == nil && n > 0; n-- {
		if m, err := f.sub.NextMsg(time.Second); err == nil {
			f.feed(m)
		}
	}
	f.show.finish(text)
}

func (f *stream) stop() {
	f.end()
	f.done.Wait()
	_ = f.sub.Unsubscribe() // the connection may be gone, and then so is the subscription
	f.show.stop()
}

// telling is what has been printed of a run, so that nothing is printed twice.
type telling struct {
	run   protocol.RunID
	print func(string)

	seq      uint64          // of the last event
	turn     strings.Builder // what the model has said since its last call began
	answered bool            // that call is over: what it said counts
	broken   bool            // an event of the call was lost: wait for the whole answer
	ended    bool
}

func (t *telling) event(e protocol.Event) {
	if e.Run != t.run {
		return
	}
	lost := e.Seq > t.seq+1
	t.seq = e.Seq
	t.broken = t.broken || lost
	switch e.Kind {
	case protocol.EventInferenceStarted:
		if t.turn.Len() > 0 && !t.answered {
			t.print("\n(the model is asked again)")
		}
		t.newTurn()
	case protocol.EventInferenceCompleted:
		t.answered = true
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
	default:
	}
}

func (t *telling) newTurn() {
	t.endLine()
	t.turn.Reset()
	t.answered, t.broken = false, false
}

func (t *telling) endLine() {
	if said := t.turn.String(); said != "" && !strings.HasSuffix(said, "\n") {
		t.print("\n")
	}
}

// finish is called with the answer once the run has ended.
func (t *telling) finish(text string) {
	t.ended = true
	if rest, ok := strings.CutPrefix(text, t.turn.String()); ok {
		t.print(rest + "\n")
		return
	}
	if strings.TrimSpace(text) == strings.TrimSpace(t.turn.String()) {
		t.endLine()
		return
	}
	t.endLine()
	t.print(text + "\n")
}

// stop leaves the cursor at the begin of a line where there was no answer.
func (t *telling) stop() {
	if !t.ended {
		t.endLine()
	}
}
