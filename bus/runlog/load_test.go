package runlog_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/nats-io/nats.go"

	"github.com/skelegent/skelegent-go/bus"
	"github.com/skelegent/skelegent-go/bus/runlog"
	"github.com/skelegent/skelegent-go/protocol"
	"github.com/skelegent/skelegent-go/protocol/wire"
)

// writer appends to one subject as an owner does.
type writer struct {
	log     *runlog.Log
	subject string
	tail    []uint64
	n       int
}

func (w *writer) append(t testing.TB, kind string) uint64 {
	t.Helper()
	return w.appendSaying(t, kind, runlog.EncodePrevious(w.tail))
}

func (w *writer) appendSaying(t testing.TB, kind, previous string) uint64 {
	t.Helper()
	w.n++
	h := nats.Header{wire.HeaderKind: {kind}}
	if previous != "" {
		h.Set(wire.HeaderPrevious, previous)
	}
	var expect uint64
	if len(w.tail) > 0 {
		expect = w.tail[len(w.tail)-1]
	}
	msg := &nats.Msg{Subject: w.subject, Header: h, Data: fmt.Append(nil, w.n)}
	seq, err := w.log.Append(t.Context(), msg, nats.NewInbox(), expect)
	if err != nil {
		t.Fatal(err)
	}
	if kind == "snapshot" || kind == "closed" {
		w.tail = nil
	}
	w.tail = append(w.tail, seq)
	return seq
}

// counted counts the reads of the log of each kind from now on.
func counted(t *testing.T, conn *bus.Conn) func() (last, next, bySeq int) {
	t.Helper()
	sub, err := conn.NATS().SubscribeSync("$JS.API.STREAM.MSG.GET.SKG_LOG")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = sub.Unsubscribe() })
	return func() (last, next, bySeq int) {
		for {
			m, err := sub.NextMsg(100 * time.Millisecond)
			switch {
			case err != nil:
				return last, next, bySeq
			case strings.Contains(string(m.Data), "last_by_subj"):
				last++
			case strings.Contains(string(m.Data), "next_by_subj"):
				next++
			default:
				bySeq++
			}
		}
	}
}

func texts(records []runlog.Record) (all []string) {
	for _, r := range records {
		all = append(all, string(r.Data))
	}
	return all
}

func from(first, last int) (all []string) {
	for i := first; i <= last; i++ {
		all = append(all, fmt.Sprint(i))
	}
	return all
}

func TestLoad(t *testing.T) {
	t.Parallel()
	type reads struct{ Last, Next, BySeq int }
	many := func(n int) func(testing.TB, *writer, *writer) {
		return func(t testing.TB, w, other *writer) {
			for range n {
				w.append(t, "queued")
				other.append(t, "queued")
			}
		}
	}
	for name, tc := range map[string]struct {
		write func(t testing.TB, w, other *writer)
		want  []string
		reads reads
	}{
		"nothing": {many(0), nil, reads{1, 0, 0}},
		"one":     {many(1), from(1, 1), reads{1, 1, 0}},
		"some":    {many(20), from(1, 20), reads{1, 1, 19}},
		"many":    {many(200), from(1, 200), reads{1, 1, 199}}, // 64 at a time
		"snapshot": {func(t testing.TB, w, other *writer) {
			many(10)(t, w, other)
			w.append(t, "snapshot")
			many(5)(t, w, other)
		}, from(11, 16), reads{1, 0, 5}},
		"closed is the last": {func(t testing.TB, w, other *writer) {
			many(10)(t, w, other)
			w.append(t, "closed")
		}, from(11, 11), reads{1, 0, 0}},
		"a snapshot that the writer did not know": {func(t testing.TB, w, other *writer) {
			many(3)(t, w, other)
			tail := w.tail
			w.append(t, "snapshot")
			w.tail = append(tail, w.tail...)
			many(2)(t, w, other)
		}, from(4, 6), reads{1, 0, 5}},
		"a writer that says nothing": {func(t testing.TB, w, other *writer) {
			many(3)(t, w, other)
			w.appendSaying(t, "queued", "")
			many(2)(t, w, other)
		}, from(1, 6), reads{1, 7, 5}},
		"the last says nothing": {func(t testing.TB, w, other *writer) {
			many(3)(t, w, other)
			w.append(t, "snapshot")
			w.appendSaying(t, "queued", "")
		}, from(4, 5), reads{1, 7, 0}},
		"a writer of garbage": {func(t testing.TB, w, other *writer) {
			many(3)(t, w, other)
			w.appendSaying(t, "queued", "9 9 9")
		}, from(1, 4), reads{1, 6, 0}},
		"another's record": {func(t testing.TB, w, other *writer) {
			many(3)(t, w, other)
			w.appendSaying(t, "queued", runlog.EncodePrevious(other.tail))
		}, from(1, 4), reads{1, 5, 3}},
		"one left out": {func(t testing.TB, w, other *writer) {
			many(3)(t, w, other)
			w.appendSaying(t, "queued", runlog.EncodePrevious([]uint64{w.tail[0], w.tail[2]}))
		}, from(1, 4), reads{1, 5, 2}},
		"one that is gone": {func(t testing.TB, w, other *writer) {
			many(3)(t, w, other)
			w.appendSaying(t, "queued", runlog.EncodePrevious([]uint64{w.tail[2], 100_000}))
		}, from(1, 4), reads{1, 5, -1}}, // one or two: whichever is first ends it
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, conn, log := open(t, bus.Topology{})
			w := &writer{log: log, subject: "skg.log.op.i.run"}
			tc.write(t, w, &writer{log: log, subject: "skg.log.op.j.run"})
			count := counted(t, conn)
			got, err := log.Load(timeout(t, time.Minute), w.subject)
			if diff := cmp.Diff(tc.want, texts(got)); err != nil || diff != "" {
				t.Errorf("%v (-want +got):\n%s", err, diff)
			}
			last, next, bySeq := count()
			if tc.reads.BySeq < 0 {
				bySeq = tc.reads.BySeq
			}
			if diff := cmp.Diff(tc.reads, reads{last, next, bySeq}); diff != "" {
				t.Errorf("reads (-want +got):\n%s", diff)
			}
		})
	}
}

// Messages that a purge took away are not missed: those above it are read in order.
func TestLoadAfterPurge(t *testing.T) {
	t.Parallel()
	_, _, log := open(t, bus.Topology{})
	ctx := timeout(t, time.Minute)
	w := &writer{log: log, subject: "skg.log.op.i.run"}
	for range 5 {
		w.append(t, "queued")
	}
	if err := log.Purge(ctx, w.subject, w.tail[2]); err != nil {
		t.Fatal(err)
	}
	if got, err := log.Load(ctx, w.subject); err != nil || !cmp.Equal(texts(got), from(3, 5)) {
		t.Errorf("got %v, %v", texts(got), err)
	}
	if _, err := log.Get(ctx, w.tail[0]); !errors.Is(err, runlog.ErrGone) || protocol.CodeOf(err) != protocol.CodeNotFound {
		t.Errorf("purged: %v", err)
	}
	if err := log.Purge(ctx, w.subject, 0); err != nil {
		t.Fatal(err)
	}
	if got, err := log.Load(ctx, w.subject); err != nil || got != nil {
		t.Errorf("got %v, %v", got, err)
	}
	// The fence starts anew.
	w.tail = nil
	w.append(t, "queued")
}

func TestGetAndTail(t *testing.T) {
	t.Parallel()
	_, conn, log := open(t, bus.Topology{})
	ctx := timeout(t, time.Minute)
	w := &writer{log: log, subject: "skg.log.op.i.run"}
	other := &writer{log: log, subject: "skg.log.op.i.done.mail"}
	var seqs []uint64
	for range 4 {
		seqs = append(seqs, w.append(t, "queued"))
		other.append(t, "effect_done")
	}
	got, err := log.Get(ctx, seqs[2])
	if err != nil || got.Seq != seqs[2] || got.Subject != w.subject || got.Kind != "queued" || got.ID == "" || string(got.Data) != "3" ||
		got.Time.IsZero() || !cmp.Equal(got.Previous, []uint64{seqs[1], seqs[0]}) {
		t.Errorf("got %+v, %v", got, err)
	}
	ack, err := conn.JetStream().PublishMsg(ctx, &nats.Msg{Subject: "skg.signal.op.i.x", Header: nats.Header{"Skg-Run-Id": {"r"}}, Data: []byte("s")})
	if err != nil {
		t.Fatal(err)
	}
	if got, err := log.Get(ctx, ack.Sequence); err != nil || got.Header.Get("Skg-Run-Id") != "r" || got.Subject != "skg.signal.op.i.x" || got.Kind != "" {
		t.Errorf("a signal: got %+v, %v", got, err)
	}
	for _, seq := range []uint64{0, ack.Sequence + 1} {
		if _, err := log.Get(ctx, seq); !errors.Is(err, runlog.ErrGone) {
			t.Errorf("message %d: %v", seq, err)
		}
	}
	for after, want := range map[uint64][]string{0: from(1, 4), seqs[1]: from(3, 4), seqs[3]: nil, seqs[3] + 1000: nil} {
		if got, err := log.Tail(ctx, w.subject, after); err != nil || !cmp.Equal(texts(got), want) {
			t.Errorf("tail behind %d: got %v, %v", after, texts(got), err)
		}
	}
	for _, subject := range []string{"", "skg.log.>", "skg.log.op.*.run", "a b"} {
		_, tailErr := log.Tail(ctx, subject, 0)
		_, loadErr := log.Load(ctx, subject)
		for _, err := range []error{tailErr, loadErr, log.Purge(ctx, subject, 0)} {
			if !errors.Is(err, runlog.ErrSubject) || protocol.CodeOf(err) != protocol.CodeInvalidInput {
				t.Errorf("%q: %v", subject, err)
			}
		}
	}
}

func TestReadsEndWithTheirContext(t *testing.T) {
	t.Parallel()
	_, conn, log := open(t, bus.Topology{})
	w := &writer{log: log, subject: "skg.log.op.i.run"}
	for range 3 {
		w.append(t, "queued")
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := log.Load(ended, w.subject); !errors.Is(err, runlog.ErrUnavailable) || !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
	if err := conn.JetStream().DeleteStream(timeout(t, time.Minute), "SKG_LOG"); err != nil {
		t.Fatal(err)
	}
	ctx := timeout(t, time.Minute)
	_, loadErr := log.Load(ctx, w.subject)
	_, tailErr := log.Tail(ctx, w.subject, 0)
	_, getErr := log.Get(ctx, 1)
	for _, err := range []error{loadErr, tailErr, getErr, log.Purge(ctx, w.subject, 0)} {
		if !errors.Is(err, runlog.ErrUnavailable) || protocol.CodeOf(err) != protocol.CodeUnavailable {
			t.Errorf("without a stream: %v", err)
		}
	}
}
