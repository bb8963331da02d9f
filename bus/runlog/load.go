package runlog

import (
	"context"
	"errors"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/skelegent/skelegent-go/protocol"
)

// readers is how many reads a load has under way at a time.
const readers = 16

// Load returns the records of a literal subject since its last snapshot, that included, or all if there is none, in order.
// It reads the last one, and by what that says those before it, several at a time. What the records say must agree: each
// must name as its predecessor the one before it, and the first must have none. Where it does not, or one is gone, all is
// read in order instead. What is appended meanwhile may be missing; the fence of an append tells.
func (l *Log) Load(ctx context.Context, subject string) ([]Record, error) {
	if err := l.checkLiteral(subject); err != nil {
		return nil, err
	}
	last, found, err := l.Last(ctx, subject)
	if err != nil || !found {
		return nil, err
	}
	records := []Record{last} // newest first
	for {
		oldest := records[len(records)-1]
		if isSnapshot(oldest) {
			break
		}
		before, err := l.before(ctx, oldest)
		if errors.Is(err, ErrGone) {
			return l.loadInOrder(ctx, subject)
		}
		if err != nil {
			return nil, err
		}
		if len(before) == 0 {
			break
		}
		records = append(records, before...)
	}
	slices.Reverse(records)
	return records, nil
}

func isSnapshot(r Record) bool {
	return r.Kind == string(protocol.EventSnapshot) || r.Kind == string(protocol.EventClosed)
}

// before returns the records that r names, newest first, back to a snapshot. None if r is the first of its subject. ErrGone
// if what the records say is not so.
func (l *Log) before(ctx context.Context, r Record) ([]Record, error) {
	if len(r.Previous) == 0 {
		first, err := l.message(ctx, selector{Seq: 1, Next: r.Subject})
		if err == nil && first.Seq != r.Seq {
			err = ErrGone
		}
		return nil, err
	}
	found, err := l.gather(ctx, r.Previous)
	if err != nil {
		return nil, err
	}
	for i := range found {
		if found[i].Subject != r.Subject || len(r.Previous) == 0 || r.Previous[0] != found[i].Seq {
			return nil, ErrGone
		}
		if r = found[i]; isSnapshot(r) {
			return found[:i+1], nil
		}
	}
	return found, nil
}

// gather reads messages by their sequences.
func (l *Log) gather(ctx context.Context, seqs []uint64) ([]Record, error) {
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	found := make([]Record, len(seqs))
	var next atomic.Int64
	var wg sync.WaitGroup
	for range min(readers, len(seqs)) {
		wg.Go(func() {
			for i := int(next.Add(1)) - 1; i < len(seqs) && ctx.Err() == nil; i = int(next.Add(1)) - 1 {
				var err error
				if found[i], err = l.Get(ctx, seqs[i]); err != nil {
					stop(err)
				}
			}
		})
	}
	wg.Wait()
	if err := context.Cause(ctx); err != nil {
		var coded *protocol.Error
		if !errors.As(err, &coded) { // the caller's context ended
			err = l.wrap(protocol.CodeUnavailable, "load", ErrUnavailable, err)
		}
		return nil, err
	}
	return found, nil
}

func (l *Log) loadInOrder(ctx context.Context, subject string) ([]Record, error) {
	records, err := l.Tail(ctx, subject, 0)
	for i := len(records) - 1; i > 0; i-- {
		if isSnapshot(records[i]) {
			return records[i:], err
		}
	}
	return records, err
}
