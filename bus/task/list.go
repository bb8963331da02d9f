package task

import (
	"context"
	"errors"
	"strings"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/skelegent/skelegent-go/bus"
)

// Timer is a schedule as it is set.
type Timer struct {
	Subject  string      `json:"subject"` // what Cancel takes
	Name     string      `json:"name"`
	Target   string      `json:"target"`   // where it goes when it is due
	Schedule string      `json:"schedule"` // as the server has it
	Zone     string      `json:"zone,omitempty"`
	Due      time.Time   `json:"due,omitzero"` // of one that does not repeat
	Set      time.Time   `json:"set"`
	Header   nats.Header `json:"header,omitempty"`
	Size     int         `json:"size"` // of the body in bytes
}

// Timers returns the schedules whose subject matches a filter, all if that is empty, in the order in which they were set.
// One that is set again meanwhile may be missing. It is for people: it reads them one after the other.
func (t *Tasks) Timers(ctx context.Context, filter string) ([]Timer, error) {
	const attempted = "list timers"
	if filter == "" {
		filter = t.conn.Names().All("timer")
	}
	if _, err := t.checkFilter(filter); err != nil {
		return nil, err
	}
	ctx, cancel := bounded(ctx)
	defer cancel()
	stream, err := t.conn.JetStream().Stream(ctx, t.timers)
	if err != nil {
		return nil, bus.Translate(attempted, err)
	}
	var found []Timer
	last := stream.CachedInfo().State.LastSeq
	for seq := uint64(0); seq < last; {
		msg, err := stream.GetMsg(ctx, seq+1, jetstream.WithGetMsgSubject(filter))
		if errors.Is(err, jetstream.ErrMsgNotFound) {
			break
		}
		if err != nil {
			return nil, bus.Translate(attempted, err)
		}
		if seq = msg.Sequence; seq <= last && msg.Header.Get(jetstream.ScheduleHeader) != "" {
			found = append(found, timerOf(msg))
		}
	}
	return found, nil
}

func timerOf(msg *jetstream.RawStreamMsg) Timer {
	t := Timer{
		Subject: msg.Subject, Name: nameOf(msg.Subject), Target: msg.Header.Get(jetstream.ScheduleTargetHeader),
		Schedule: msg.Header.Get(jetstream.ScheduleHeader), Zone: msg.Header.Get(HeaderTimeZone),
		Set: msg.Time, Header: copyHeader(msg.Header), Size: len(msg.Data),
	}
	if due, ok := strings.CutPrefix(t.Schedule, "@at "); ok {
		t.Due, _ = time.Parse(time.RFC3339Nano, due) // else it stays zero; Schedule has what there is
	}
	return t
}
