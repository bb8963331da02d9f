package inspect

import (
	"cmp"
	"context"
	"errors"
	"iter"
	"slices"
	"strings"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/skelegent/skelegent-go/actors/run"
	"github.com/skelegent/skelegent-go/bus"
	"github.com/skelegent/skelegent-go/protocol"
	"github.com/skelegent/skelegent-go/protocol/wire"
)

// Summary is what an instance does, in a line.
type Summary struct {
	Workflow protocol.WorkflowID `json:"workflow"`
	run.Status

	Updated time.Time `json:"updated"`
	// Problem says why the log cannot be read; then only Workflow and Updated are known.
	Problem string `json:"problem,omitempty"`
}

// head is the last record of an instance, without what it says.
type head struct {
	target

	seq    uint64
	kind   protocol.EventKind
	stored time.Time
}

// List returns the instances of an operator, of all if it is empty, those first in which something happened last: at most
// limit. cut says that there are more. Instances of which nothing is left, and those that never ran, are left out.
func (r *Reader) List(ctx context.Context, operator string, limit int) (found []Summary, cut bool, err error) {
	heads, err := r.heads(ctx, operator)
	if err != nil {
		return nil, false, err
	}
	found = []Summary{}
	for len(heads) > 0 && len(found) <= limit {
		n := min(len(heads), limit+1-len(found))
		some, err := r.summaries(ctx, heads[:n])
		if err != nil {
			return nil, false, err
		}
		found, heads = append(found, some...), heads[n:]
	}
	return found[:min(len(found), limit)], len(found) > limit, nil
}

func (r *Reader) summaries(ctx context.Context, heads []head) ([]Summary, error) {
	all := make([]*Summary, len(heads))
	err := each(ctx, len(heads), func(ctx context.Context, n int) error {
		h := heads[n]
		i, err := r.load(ctx, h.target, false)
		switch {
		case protocol.CodeOf(err) == protocol.CodeInternal: // one that cannot be read must not hide the others
			all[n] = &Summary{Workflow: h.workflow, Updated: h.stored, Problem: err.Error()}
		case err != nil:
			return err
		case !i.empty() && i.Fold.Status().State != run.StateEmpty:
			all[n] = &Summary{Workflow: nameOf(h.target, i), Status: i.Fold.Status(), Updated: i.Updated}
		}
		return nil
	})
	found := make([]Summary, 0, len(all))
	for _, s := range all {
		if s != nil {
			found = append(found, *s)
		}
	}
	return found, err
}

// nameOf is the name of an instance: where its token is a digest, only its records know it.
func nameOf(t target, i *Instance) protocol.WorkflowID {
	if name := lastName(i); name != "" && wire.Escape(name) == t.token {
		return protocol.WorkflowID(t.operator + "/" + name)
	}
	return t.workflow
}

func lastName(i *Instance) string {
	for n := len(i.Records) - 1; n >= 0; n-- {
		if name := i.Records[n].Event.Instance; name != "" {
			return name
		}
	}
	return ""
}

// Waiting is a suspended run that goes on when a person, or another program, says something.
type Waiting struct {
	Workflow protocol.WorkflowID `json:"workflow"`
	Run      protocol.RunID      `json:"run"`
	// Since is when it was suspended.
	Since time.Time `json:"since"`
	Wait  run.Wait  `json:"wait"`
}

// Inbox returns the suspended runs of an operator, of all if it is empty, that wait for an approval, a signal, or to be
// resumed: those first that wait longest.
func (r *Reader) Inbox(ctx context.Context, operator string) ([]Waiting, error) {
	heads, err := r.heads(ctx, operator)
	if err != nil {
		return nil, err
	}
	heads = slices.DeleteFunc(heads, func(h head) bool { return !mayWait(h.kind) })
	all := make([]*Waiting, len(heads))
	err = each(ctx, len(heads), func(ctx context.Context, n int) error {
		i, err := r.load(ctx, heads[n].target, false)
		if protocol.CodeOf(err) == protocol.CodeInternal { // List tells
			return nil
		}
		if err != nil {
			return err
		}
		if w := waitOf(i); w != nil {
			w.Workflow = nameOf(heads[n].target, i)
			all[n] = w
		}
		return nil
	})
	found := make([]Waiting, 0, len(all))
	for _, w := range all {
		if w != nil {
			found = append(found, *w)
		}
	}
	slices.SortStableFunc(found, func(a, b Waiting) int { return a.Since.Compare(b.Since) })
	return found, err
}

// mayWait reports whether an instance may be suspended whose last record begins with an event of that kind.
func mayWait(kind protocol.EventKind) bool {
	switch kind {
	case protocol.EventSuspended, protocol.EventNoted, protocol.EventQueued, protocol.EventAttached, protocol.EventRefused, "":
		return true
	default:
		return false
	}
}

// waitOf returns what a suspended instance waits for, if somebody has to say it.
func waitOf(i *Instance) *Waiting {
	o := i.Fold.Open
	if o == nil || o.Wait == nil || o.Wait.Approval == nil && !o.Wait.Paused && !wantsSignal(o.Wait) {
		return nil
	}
	w := &Waiting{Run: o.Run, Since: o.Since, Wait: *o.Wait}
	for _, record := range i.Records {
		if record.Seq == o.WaitSeq {
			w.Since = record.Stored
		}
	}
	return w
}

// wantsSignal reports whether a run waits for a signal that somebody has to send; the end of a child comes by itself.
func wantsSignal(w *run.Wait) bool {
	return slices.ContainsFunc(w.Signals, func(typ string) bool { return typ != run.SignalChild })
}

// Bounds of a walk over the last records.
const (
	headBatch = 1000
	headIdle  = 30 * time.Second // after which the server removes the consumer of a reader that is gone
	headTries = 3                // empty answers in a row before the walk ends although more was announced
)

// heads returns the last record of every instance, the newest first.
func (r *Reader) heads(ctx context.Context, operator string) ([]head, error) {
	const attempted = "list instances"
	if operator == "" {
		operator = "*"
	} else if err := wire.CheckOperator(operator); err != nil {
		return nil, protocol.NewError(protocol.CodeInvalidInput, "invalid input: "+err.Error())
	}
	stream, err := r.stream(ctx, attempted, wire.StreamLog)
	if err != nil {
		return nil, err
	}
	consumer, err := stream.CreateConsumer(ctx, jetstream.ConsumerConfig{
		FilterSubject: r.conn.Names().RunLog(operator, "*"), DeliverPolicy: jetstream.DeliverLastPerSubjectPolicy, HeadersOnly: true,
		AckPolicy: jetstream.AckNonePolicy, MemoryStorage: true, Replicas: 1, InactiveThreshold: headIdle,
	})
	if err != nil {
		return nil, bus.Translate(attempted, err)
	}
	info := consumer.CachedInfo()
	defer func() {
		if ctx.Err() == nil { // else the server removes it
			_ = stream.DeleteConsumer(ctx, info.Name)
		}
	}()
	var found []head
	for left, empty := info.NumPending, 0; left > 0 && empty < headTries; {
		batch, err := consumer.FetchNoWait(int(min(left, headBatch)))
		if err != nil {
			return nil, bus.Translate(attempted, err)
		}
		got := uint64(0)
		for msg := range all(ctx, batch) {
			got++
			if h, ok := r.headOf(msg); ok {
				found = append(found, h)
			}
		}
		if err := errors.Join(batch.Error(), ctx.Err()); err != nil {
			return nil, bus.Translate(attempted, err)
		}
		left -= min(left, got)
		if empty++; got > 0 {
			empty = 0
		}
	}
	slices.SortFunc(found, func(a, b head) int { return cmp.Compare(b.seq, a.seq) })
	return found, nil
}

// all are the messages of a batch, until ctx ends.
func all(ctx context.Context, batch jetstream.MessageBatch) iter.Seq[jetstream.Msg] {
	return func(yield func(jetstream.Msg) bool) {
		for {
			select {
			case msg, ok := <-batch.Messages():
				if !ok || !yield(msg) {
					return
				}
			case <-ctx.Done():
				return
			}
		}
	}
}

func (r *Reader) headOf(msg jetstream.Msg) (head, bool) {
	meta, err := msg.Metadata()
	tokens := strings.Split(msg.Subject(), ".") // prefix, log, operator, instance, run
	if err != nil || len(tokens) != 5 {
		return head{}, false
	}
	h := head{seq: meta.Sequence.Stream, kind: protocol.EventKind(msg.Headers().Get(wire.HeaderKind)), stored: meta.Timestamp}
	h.operator, h.token, h.instance = tokens[2], tokens[3], tokens[3]
	if name, err := wire.Unescape(h.token); err == nil {
		h.instance = name
	}
	h.workflow = protocol.WorkflowID(h.operator + "/" + h.instance)
	return h, true
}
