package inspect

import (
	"context"
	"errors"
	"slices"
	"sync"

	"github.com/skelegent/skelegent-go/bus/runlog"
	"github.com/skelegent/skelegent-go/protocol"
)

// readers is how many reads are under way at a time.
const readers = 16

// upTo returns the records of an instance up to a sequence, beginning with the snapshot before it, or the first that there is.
func (r *Reader) upTo(ctx context.Context, t target, end uint64) ([]runlog.Record, error) {
	subject := r.subject(t)
	last, err := r.log.Get(ctx, end)
	if err != nil {
		return nil, err
	}
	if last.Subject != subject {
		return nil, protocol.NewError(protocol.CodeInternal, "the log names a record that is another's")
	}
	records := []runlog.Record{last} // newest first
	for {
		oldest := records[len(records)-1]
		if len(records) > 1 && isSnapshot(oldest) || len(oldest.Previous) == 0 {
			break
		}
		before, err := r.before(ctx, oldest)
		if errors.Is(err, runlog.ErrGone) { // it says what is not so, or no more
			return r.inOrder(ctx, subject, end)
		}
		if err != nil {
			return nil, err
		}
		records = append(records, before...)
	}
	slices.Reverse(records)
	return records, nil
}

// before returns the records that one names as those before it, newest first, back to a snapshot.
func (r *Reader) before(ctx context.Context, record runlog.Record) ([]runlog.Record, error) {
	found := make([]runlog.Record, len(record.Previous))
	err := each(ctx, len(found), func(ctx context.Context, i int) (err error) {
		found[i], err = r.log.Get(ctx, record.Previous[i])
		return err
	})
	if err != nil {
		return nil, err
	}
	for i := range found {
		if found[i].Subject != record.Subject || len(record.Previous) == 0 || record.Previous[0] != found[i].Seq {
			return nil, runlog.ErrGone
		}
		if record = found[i]; isSnapshot(record) {
			return found[:i+1], nil
		}
	}
	return found, nil
}

// inOrder is upTo where the records do not say, or wrongly.
func (r *Reader) inOrder(ctx context.Context, subject string, end uint64) ([]runlog.Record, error) {
	all, err := r.log.Tail(ctx, subject, 0)
	if err != nil {
		return nil, err
	}
	all = slices.DeleteFunc(all, func(x runlog.Record) bool { return x.Seq > end })
	for i := len(all) - 2; i > 0; i-- {
		if isSnapshot(all[i]) {
			return all[i:], nil
		}
	}
	return all, nil
}

func isSnapshot(r runlog.Record) bool {
	return r.Kind == string(protocol.EventSnapshot) || r.Kind == string(protocol.EventClosed)
}

// each calls f for 0 to n-1, several at a time, and returns the first error, which ends the others.
func each(ctx context.Context, n int, f func(ctx context.Context, i int) error) error {
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	next := make(chan int)
	var wg sync.WaitGroup
	for range min(readers, n) {
		wg.Go(func() {
			for i := range next {
				if err := f(ctx, i); err != nil {
					stop(err)
				}
			}
		})
	}
	for i := range n {
		select {
		case next <- i:
			continue
		case <-ctx.Done():
		}
		break
	}
	close(next)
	wg.Wait()
	return context.Cause(ctx)
}
