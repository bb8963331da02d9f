package task

import (
	"cmp"
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/skelegent/skelegent-go/bus"
	"github.com/skelegent/skelegent-go/protocol"
	"github.com/skelegent/skelegent-go/protocol/wire"
)

// Tasks is the stream of tasks and that of timers.
type Tasks struct {
	conn          *bus.Conn
	tasks, timers string // the streams
}

// New returns the tasks of a connection. It asks the server nothing.
func New(conn *bus.Conn) *Tasks {
	names := conn.Names()
	return &Tasks{conn: conn, tasks: names.Stream(wire.StreamTasks), timers: names.Stream(wire.StreamTimers)}
}

// headerSource is set by the server alone: on what it took over from another stream.
const headerSource = "Nats-Stream-Source"

// Source returns the sequence that a message had where the server took it over from: of a signal in the log, of what
// became due among the timers. A message with the same subject and Source is the same one, however often it comes. False
// for what was published as a task or wake.
func Source(h nats.Header) (seq uint64, ok bool) {
	words := strings.Fields(h.Get(headerSource)) // stream, sequence, filter, transform, subject, ...
	if len(words) < 2 {
		return 0, false
	}
	seq, err := strconv.ParseUint(words[1], 10, 64)
	return seq, err == nil && seq > 0
}

// How long one attempt waits for an answer, how long there is a pause, and how long there are attempts if ctx has no
// deadline, or nobody listens where the stream should be.
const (
	attemptFor = 2 * time.Second
	pauseFor   = 100 * time.Millisecond
	patience   = 30 * time.Second
)

// Enqueue stores an input or a wake and returns its sequence: from then on it will be done. The subject says whose it is.
// What is not answered is sent again until ctx ends, so it may be stored more than once: that is one task if it has a run id
// or is a wake. A task without a run id is sent again only where nobody heard it.
//
// The error has code timeout where it is unknown whether the task is stored, quota_exceeded where the stream is full or the
// message too large, unavailable where there is no stream, invalid_input where the subject is neither a task's nor a wake's.
// msg must not be used by others until it returns; its headers gain those of the server.
func (t *Tasks) Enqueue(ctx context.Context, msg *nats.Msg) (seq uint64, err error) {
	wake, err := t.check(msg.Subject)
	if err != nil {
		return 0, err
	}
	return t.publish(ctx, "enqueue "+msg.Subject, t.tasks, msg, wake || msg.Header.Get(wire.HeaderRunID) != "")
}

// check reports whether a subject is that of a wake, and an error if it is not that of a task either.
func (t *Tasks) check(subject string) (wake bool, err error) {
	names := t.conn.Names()
	if rest, ok := strings.CutPrefix(subject, family(names, "wake")); ok && strings.Count(rest, ".") >= 2 && literal(subject) {
		return true, nil
	}
	if rest, ok := strings.CutPrefix(subject, family(names, "task")); ok && wire.ValidOperator(rest) {
		return false, nil
	}
	return false, invalid("subject %.200q: must be %s or like %s", subject, names.Task("OPERATOR"), names.Wake("OPERATOR", "INSTANCE", "SOURCE"))
}

// family is what all subjects of a family start with.
func family(names wire.Names, name string) string { return strings.TrimSuffix(names.All(name), ">") }

// literal reports whether a subject can be published to.
func literal(subject string) bool {
	return subject != "" && !strings.ContainsAny(subject, "*> \t\r\n") &&
		!strings.HasPrefix(subject, ".") && !strings.HasSuffix(subject, ".") && !strings.Contains(subject, "..")
}

func invalid(format string, args ...any) error {
	return protocol.NewError(protocol.CodeInvalidInput, "invalid input: "+fmt.Sprintf(format, args...))
}

// publish stores msg in stream. What may have been stored, for all that was heard, is sent again only if repeat.
func (t *Tasks) publish(ctx context.Context, attempted, stream string, msg *nats.Msg, repeat bool) (uint64, error) {
	ctx, cancel := bounded(ctx)
	defer cancel()
	var doubt error
	for begin := time.Now(); ; {
		attempt, cancel := context.WithTimeout(ctx, attemptFor)
		ack, err := t.conn.JetStream().PublishMsg(attempt, msg, jetstream.WithExpectStream(stream))
		cancel()
		if err == nil {
			return ack.Sequence, nil
		}
		err = bus.Translate(attempted, err)
		switch protocol.CodeOf(err) {
		case protocol.CodeTimeout:
			if doubt = err; !repeat {
				return 0, err
			}
		case protocol.CodeUnavailable:
			if doubt == nil && time.Since(begin) > patience || t.conn.NATS().IsClosed() {
				return 0, err
			}
		default:
			return 0, err
		}
		if !pause(ctx) {
			return 0, cmp.Or(doubt, err) // an attempt before this one may have stored it
		}
	}
}

// insist repeats what does no harm twice while it is unavailable or unanswered.
func (t *Tasks) insist(ctx context.Context, attempted string, f func(context.Context) error) error {
	ctx, cancel := bounded(ctx)
	defer cancel()
	for {
		attempt, cancel := context.WithTimeout(ctx, attemptFor)
		err := bus.Translate(attempted, f(attempt))
		cancel()
		if code := protocol.CodeOf(err); code != protocol.CodeTimeout && code != protocol.CodeUnavailable {
			return err
		}
		if t.conn.NATS().IsClosed() || !pause(ctx) {
			return err
		}
	}
}

func bounded(ctx context.Context) (context.Context, context.CancelFunc) {
	if _, ok := ctx.Deadline(); ok {
		return ctx, func() {}
	}
	return context.WithTimeout(ctx, patience)
}

// pause returns false if ctx ended.
func pause(ctx context.Context) bool {
	timer := time.NewTimer(pauseFor)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}
