package inspect

import (
	"context"
	"errors"
	"strings"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/skelegent/skelegent-go/bus"
	"github.com/skelegent/skelegent-go/protocol"
	"github.com/skelegent/skelegent-go/protocol/wire"
)

// maxLooked bounds how many tasks of an operator are looked at for one run.
const maxLooked = 1000

// waiting looks for a run that no log has: among the tasks of its operator, and among the timers. Nil if it is not there.
func (r *Reader) waiting(ctx context.Context, t target, id protocol.RunID) (*Result, error) {
	if found, err := r.scheduled(ctx, t, id); found != nil || err != nil {
		return found, err
	}
	return r.enqueued(ctx, t, id)
}

// scheduled looks for a task that is to begin later. Its timer is named after the run.
func (r *Reader) scheduled(ctx context.Context, t target, id protocol.RunID) (*Result, error) {
	if id == "" {
		id = protocol.RunID(t.instance) // as it is where there is no session
	}
	const attempted = "look for a timer"
	stream, err := r.stream(ctx, attempted, wire.StreamTimers)
	if err != nil {
		return nil, err
	}
	name := string(t.workflow) + "/" + string(id)
	msg, err := stream.GetLastMsgForSubject(ctx, r.conn.Names().TimerTask(t.operator, name))
	if errors.Is(err, jetstream.ErrMsgNotFound) {
		return nil, nil //nolint:nilnil // there is none
	}
	if err != nil {
		return nil, bus.Translate(attempted, err)
	}
	result := &Result{Workflow: t.workflow, Run: id, State: StateScheduled}
	if due, ok := dueOf(msg.Header); ok {
		result.Due = &due
	}
	return result, nil
}

// dueOf is when a schedule of one time is due.
func dueOf(h nats.Header) (time.Time, bool) {
	const at = "@at "
	text := h.Get(jetstream.ScheduleHeader)
	if len(text) <= len(at) || text[:len(at)] != at {
		return time.Time{}, false
	}
	due, err := time.Parse(time.RFC3339Nano, text[len(at):])
	return due, err == nil
}

// enqueued looks for a task that nobody has begun.
func (r *Reader) enqueued(ctx context.Context, t target, id protocol.RunID) (*Result, error) {
	const attempted = "look for a task"
	stream, err := r.stream(ctx, attempted, wire.StreamTasks)
	if err != nil {
		return nil, err
	}
	subject, seq := r.conn.Names().Task(t.operator), uint64(0)
	for range maxLooked {
		msg, err := stream.GetMsg(ctx, seq+1, jetstream.WithGetMsgSubject(subject))
		if errors.Is(err, jetstream.ErrMsgNotFound) {
			return nil, nil //nolint:nilnil // there is none
		}
		if err != nil {
			return nil, bus.Translate(attempted, err)
		}
		seq = msg.Sequence
		if found, ok := taskOf(msg, t); ok && (id == "" || found == id) {
			return &Result{Workflow: t.workflow, Run: found, State: StateQueued}, nil
		}
	}
	return nil, nil //nolint:nilnil // there is none among the first
}

// taskOf returns the run of a task if it is one for the instance. One without a run id gets it when it is begun.
func taskOf(msg *jetstream.RawStreamMsg, t target) (protocol.RunID, bool) {
	id := protocol.RunID(msg.Header.Get(wire.HeaderRunID))
	in, err := bus.DecodeInput(msg.Data)
	if err != nil {
		return "", false
	}
	if in.Session != nil {
		return id, string(*in.Session) == t.instance
	}
	return id, id != "" && string(id) == t.instance
}

// Timers returns how many timers each operator has: sleeps, deadlines, and tasks to begin later or again and again.
func (r *Reader) Timers(ctx context.Context) (map[string]int, error) {
	const attempted = "count timers"
	stream, err := r.stream(ctx, attempted, wire.StreamTimers)
	if err != nil {
		return nil, err
	}
	info, err := stream.Info(ctx, jetstream.WithSubjectFilter(r.conn.Names().All("timer")))
	if err != nil {
		return nil, bus.Translate(attempted, err)
	}
	count := map[string]int{}
	for subject := range info.State.Subjects {
		if operator, ok := timerOperator(subject); ok {
			count[operator]++
		}
	}
	return count, nil
}

// timerOperator reads the operator out of PREFIX.timer.wake.OPERATOR.INSTANCE.NAME or PREFIX.timer.task.OPERATOR.NAME.
func timerOperator(subject string) (string, bool) {
	tokens := strings.SplitN(subject, ".", 5)
	if len(tokens) < 5 {
		return "", false
	}
	return tokens[3], true
}
