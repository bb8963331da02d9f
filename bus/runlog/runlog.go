package runlog

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/skelegent/skelegent-go/protocol"
	"github.com/skelegent/skelegent-go/protocol/wire"
)

// What an append can end in, beside success. Each is wrapped in a *protocol.Error: use errors.Is.
var (
	// ErrConflict: the last sequence of the subject is another one. Read the tail and decide anew.
	ErrConflict = errors.New("another writer was first")
	// ErrUnknown: nothing answered until the context ended. The message may be there or may come to be.
	ErrUnknown = errors.New("outcome unknown")
	// ErrFull: the stream or the account is at its limit.
	ErrFull = errors.New("log is full")
	// ErrUnavailable: no stream of that name answers, or it has no quorum.
	ErrUnavailable = errors.New("log is unavailable")
	// ErrTooLarge: the message is larger than the server accepts.
	ErrTooLarge = errors.New("message too large")
)

// Log is the log stream.
type Log struct {
	js   jetstream.JetStream
	name string
	try  time.Duration

	mu     sync.Mutex
	stream jetstream.Stream // looked up at the first read
}

// New returns the log of names. It asks the server nothing.
func New(js jetstream.JetStream, names wire.Names) *Log {
	return &Log{js: js, name: names.Stream(wire.StreamLog), try: defaultTry}
}

// defaultTry is how long one attempt waits for the server's answer before it is repeated.
const defaultTry = 2 * time.Second

// Record is a message of the log.
type Record struct {
	Seq  uint64
	ID   string // the message id that it was appended with
	Time time.Time
	Data []byte
}

// Append publishes msg, which must have its subject and may have headers, if the last sequence of the subject is
// expect (0: there is none). id must be unique to this content; it is what settles an unknown outcome. It returns the
// sequence of the message, or an error of the list above, or that of ctx. Safe to call again with the same
// arguments after ErrUnknown.
func (l *Log) Append(ctx context.Context, msg *nats.Msg, id string, expect uint64) (uint64, error) {
	doubtful := false
	patience := time.Now().Add(l.try)
	for {
		try, cancel := context.WithTimeout(ctx, l.try)
		ack, err := l.js.PublishMsg(try, msg, jetstream.WithMsgID(id), jetstream.WithExpectStream(l.name),
			jetstream.WithExpectLastSequencePerSubject(expect))
		cancel()
		switch {
		case err == nil:
			return ack.Sequence, nil
		case isConflict(err):
			// An earlier attempt of ours may be what the fence met; so may an earlier call's.
			last, found, lastErr := l.Last(ctx, msg.Subject)
			if lastErr != nil {
				return 0, wrap(protocol.CodeTimeout, msg.Subject, ErrUnknown, lastErr)
			}
			if found && last.ID == id {
				return last.Seq, nil
			}
			return 0, wrap(protocol.CodeConflict, msg.Subject, ErrConflict, err)
		case ctx.Err() != nil:
			return 0, wrap(protocol.CodeTimeout, msg.Subject, ErrUnknown, err)
		case errors.Is(err, context.DeadlineExceeded), errors.Is(err, nats.ErrTimeout):
			doubtful = true
		case errors.Is(err, nats.ErrMaxPayload):
			return 0, wrap(protocol.CodeQuotaExceeded, msg.Subject, ErrTooLarge, err)
		case isFull(err):
			return 0, wrap(protocol.CodeQuotaExceeded, msg.Subject, ErrFull, err)
		case transient(err) && (doubtful || time.Now().Before(patience)):
			if !sleep(ctx, 100*time.Millisecond) {
				return 0, wrap(protocol.CodeTimeout, msg.Subject, ErrUnknown, err)
			}
		default:
			return 0, wrap(protocol.CodeUnavailable, msg.Subject, ErrUnavailable, err)
		}
	}
}

// Last returns the last message of subject, as the leader has it; false if there is none.
func (l *Log) Last(ctx context.Context, subject string) (Record, bool, error) {
	stream, err := l.handle(ctx)
	if err != nil {
		return Record{}, false, wrap(protocol.CodeUnavailable, subject, ErrUnavailable, err)
	}
	raw, err := stream.GetLastMsgForSubject(ctx, subject)
	if errors.Is(err, jetstream.ErrMsgNotFound) {
		return Record{}, false, nil
	}
	if err != nil {
		return Record{}, false, wrap(protocol.CodeUnavailable, subject, ErrUnavailable, err)
	}
	return Record{Seq: raw.Sequence, ID: raw.Header.Get(nats.MsgIdHdr), Time: raw.Time, Data: raw.Data}, true, nil
}

// handle returns the stream. Its configuration has no direct reads, so reading by it asks the leader.
func (l *Log) handle(ctx context.Context) (jetstream.Stream, error) {
	l.mu.Lock()
	stream := l.stream
	l.mu.Unlock()
	if stream != nil {
		return stream, nil
	}
	stream, err := l.js.Stream(ctx, l.name)
	if err != nil {
		return nil, err
	}
	l.mu.Lock()
	l.stream = stream
	l.mu.Unlock()
	return stream, nil
}

func wrap(code protocol.Code, subject string, sentinel, cause error) error {
	return protocol.NewError(code, fmt.Sprintf("log %s: %v", subject, sentinel)).Because(errors.Join(sentinel, cause))
}

func isConflict(err error) bool { return hasCode(err, 10071) }

func isFull(err error) bool { return hasCode(err, 10077) || hasCode(err, 10023) || hasCode(err, 10047) }

func hasCode(err error, code jetstream.ErrorCode) bool {
	var api *jetstream.APIError
	return errors.As(err, &api) && api.ErrorCode == code
}

// codeIDInProcess says that an earlier attempt with the same message id is still on its way to the replicas.
const codeIDInProcess jetstream.ErrorCode = 10158

// transient reports whether a repeated attempt may get through: the earlier one may have been stored.
func transient(err error) bool {
	var api *jetstream.APIError
	return errors.Is(err, jetstream.ErrNoStreamResponse) || errors.Is(err, nats.ErrNoResponders) ||
		errors.Is(err, nats.ErrDisconnected) || errors.As(err, &api) && (api.Code == 503 || api.ErrorCode == codeIDInProcess)
}

func sleep(ctx context.Context, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-ctx.Done():
		return false
	}
}
