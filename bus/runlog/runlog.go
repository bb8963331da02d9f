package runlog

import (
	"context"
	"errors"
	"strings"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/skelegent/skelegent-go/protocol"
	"github.com/skelegent/skelegent-go/protocol/wire"
)

// What a call can end in, beside success. Each is wrapped in a *protocol.Error: use errors.Is.
var (
	// ErrConflict: the last sequence of the subject is another one. Read the tail and decide anew.
	ErrConflict = errors.New("another writer was first")
	// ErrUnknown: nothing answered until the context ended. The message may be there or may come to be.
	ErrUnknown = errors.New("outcome unknown")
	// ErrFull: the stream or the account is at its limit.
	ErrFull = errors.New("stream is full")
	// ErrUnavailable: no stream of that name answers, or it has no quorum.
	ErrUnavailable = errors.New("stream is unavailable")
	// ErrTooLarge: the message is larger than the server accepts.
	ErrTooLarge = errors.New("message too large")
	// ErrGone: there is no such message, or no longer.
	ErrGone = errors.New("message is not there")
	// ErrDamaged: a blob is not what it was written as.
	ErrDamaged = errors.New("blob is damaged")
	// ErrShape: the bucket exists, but is not as it must be.
	ErrShape = errors.New("exists with another shape")
	// ErrSubject: not one subject, or not the name of one instance.
	ErrSubject = errors.New("not a literal subject or token")
)

// Log is the log stream.
type Log struct {
	stream
	names wire.Names
}

// New returns the log of names. It asks the server nothing.
func New(js jetstream.JetStream, names wire.Names) *Log {
	return &Log{stream: newStream(js, names.Stream(wire.StreamLog), "log"), names: names}
}

// Record is a message of the log.
type Record struct {
	Seq     uint64
	Subject string
	ID      string // the message id that it was appended with
	Kind    string // the kind of its event, as its writer says in the header
	// Previous are the sequences of the records before it, newest first, as its writer says: at most 64, back to the last
	// snapshot. Empty where it does not say, or nothing sensible.
	Previous []uint64
	Time     time.Time
	Header   nats.Header
	Data     []byte
}

func (r *Record) readHeader() {
	r.ID, r.Kind = r.Header.Get(nats.MsgIdHdr), r.Header.Get(wire.HeaderKind)
	r.Previous = DecodePrevious(r.Header.Get(wire.HeaderPrevious))
}

// Last returns the last message of subject, as the leader has it; false if there is none.
func (l *Log) Last(ctx context.Context, subject string) (Record, bool, error) {
	r, err := l.message(ctx, selector{Last: subject})
	if errors.Is(err, ErrGone) {
		return Record{}, false, nil
	}
	return r, err == nil, err
}

// Get returns the message with a sequence, whatever its subject: of a signal too. ErrGone if there is none.
func (l *Log) Get(ctx context.Context, seq uint64) (Record, error) {
	if seq == 0 {
		return Record{}, l.wrap(protocol.CodeNotFound, "message 0", ErrGone, nil)
	}
	return l.message(ctx, selector{Seq: seq})
}

// Tail returns every record of a literal subject behind the sequence after, in order, one read for each.
func (l *Log) Tail(ctx context.Context, subject string, after uint64) ([]Record, error) {
	if err := l.checkLiteral(subject); err != nil {
		return nil, err
	}
	var found []Record
	err := l.each(ctx, subject, after, func(r Record) bool {
		found = append(found, r)
		return true
	})
	if err != nil {
		return nil, err
	}
	return found, nil
}

// Purge removes what a literal subject has below the sequence keep, or all of it if that is 0.
func (l *Log) Purge(ctx context.Context, subject string, keep uint64) error {
	if err := l.checkLiteral(subject); err != nil {
		return err
	}
	return l.purge(ctx, subject, keep)
}

// PurgeSignals removes the signals of an instance.
func (l *Log) PurgeSignals(ctx context.Context, operator, token string) error {
	subject := strings.TrimSuffix(l.names.All("signal"), ">") + operator + "." + token
	if err := l.checkLiteral(subject); err != nil {
		return err
	}
	return l.purge(ctx, subject+".*", 0)
}

// CountSignals returns how many signals to an instance are stored.
func (l *Log) CountSignals(ctx context.Context, operator, token string) (n uint64, err error) {
	subject := strings.TrimSuffix(l.names.All("signal"), ">") + operator + "." + token
	if err := l.checkLiteral(subject); err != nil {
		return 0, err
	}
	found, err := l.subjects(ctx, subject+".*")
	for _, count := range found {
		n += count
	}
	return n, err
}

// checkLiteral sees to it that what is meant is one subject: none at all would be the whole stream.
func (s *stream) checkLiteral(subject string) error {
	if subject == "" || strings.ContainsAny(subject, "*> \t\r\n") {
		return s.wrap(protocol.CodeInvalidInput, subject, ErrSubject, nil)
	}
	return nil
}
