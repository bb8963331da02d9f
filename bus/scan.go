package bus

import (
	"context"
	"math"
	"time"

	"github.com/nats-io/nats.go/jetstream"
)

const (
	scanBatch = 100              // messages asked for at a time
	scanIdle  = 30 * time.Second // after which the server removes the consumer of a reader that is gone
	scanTries = 3                // empty answers in a row before a scan ends although more was announced
)

// scan calls f with the messages of a stream that match filter from sequence since on, in order, up to those that are
// there when it begins, until f returns false.
func (c *Conn) scan(ctx context.Context, stream jetstream.Stream, filter string, since uint64, f func(jetstream.Msg) bool) error {
	cons, err := stream.CreateConsumer(ctx, jetstream.ConsumerConfig{
		FilterSubject: filter, AckPolicy: jetstream.AckNonePolicy, MemoryStorage: true, InactiveThreshold: scanIdle, Replicas: 1,
		DeliverPolicy: jetstream.DeliverByStartSequencePolicy, OptStartSeq: max(1, since),
	})
	if err != nil {
		return err
	}
	info := cons.CachedInfo()
	defer func() {
		if ctx.Err() == nil { // else the server removes it
			_ = stream.DeleteConsumer(ctx, info.Name)
		}
	}()
	left := info.NumPending
	for empty := 0; left > 0 && empty < scanTries; {
		batch, err := cons.FetchNoWait(int(min(left, scanBatch)))
		if err != nil {
			return err
		}
		got, ended := drainBatch(ctx, batch, f)
		if ended || ctx.Err() != nil {
			return ctx.Err()
		}
		if batch.Error() != nil {
			return batch.Error()
		}
		left -= min(left, got)
		if empty++; got > 0 {
			empty = 0
		}
	}
	return nil
}

func drainBatch(ctx context.Context, batch jetstream.MessageBatch, f func(jetstream.Msg) bool) (got uint64, ended bool) {
	for {
		select {
		case msg, ok := <-batch.Messages():
			if !ok {
				return got, false
			}
			got++
			if !f(msg) {
				return got, true
			}
		case <-ctx.Done():
			return got, true
		}
	}
}

// scanLast is scan over the newest messages, at least n of those that match; whole says that there are no others. Where
// the matching ones are rare it looks further and further back.
func (c *Conn) scanLast(ctx context.Context, stream jetstream.Stream, filter string, n int, f func(jetstream.Msg)) (whole bool, err error) {
	info, err := stream.Info(ctx)
	if err != nil {
		return false, err
	}
	first, last := max(1, info.State.FirstSeq), info.State.LastSeq
	for window := uint64(n); ; window = grow(window) {
		since := first
		if last-min(last, first) >= window {
			since = last - window + 1
		}
		matching, err := c.countFrom(ctx, stream, filter, since)
		if err != nil {
			return false, err
		}
		if matching >= uint64(n) || since == first {
			return since == first, c.scan(ctx, stream, filter, since, func(m jetstream.Msg) bool { f(m); return true })
		}
	}
}

// grow widens the window of scanLast.
func grow(window uint64) uint64 { return max(1, min(window, math.MaxUint64/8)) * 8 }

// countFrom counts the messages that match from a sequence on, without reading them.
func (c *Conn) countFrom(ctx context.Context, stream jetstream.Stream, filter string, since uint64) (uint64, error) {
	cons, err := stream.CreateConsumer(ctx, jetstream.ConsumerConfig{
		FilterSubject: filter, AckPolicy: jetstream.AckNonePolicy, MemoryStorage: true, InactiveThreshold: scanIdle, Replicas: 1,
		DeliverPolicy: jetstream.DeliverByStartSequencePolicy, OptStartSeq: since,
	})
	if err != nil {
		return 0, err
	}
	info := cons.CachedInfo()
	_ = stream.DeleteConsumer(ctx, info.Name) // else the server removes it
	return info.NumPending, nil
}
