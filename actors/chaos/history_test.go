//go:build unix

package chaos_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/skelegent/skelegent-go/actors/run"
	"github.com/skelegent/skelegent-go/bus"
	"github.com/skelegent/skelegent-go/protocol"
	"github.com/skelegent/skelegent-go/protocol/wire"
)

// record is a message of the log.
type record struct {
	Seq     uint64
	At      time.Time // when it was stored
	Subject string
	Event   protocol.Event
}

// readLog reads the whole log, and keeps a copy in the directory.
func readLog(ctx context.Context, conn *bus.Conn, dir string) (records []record, err error) {
	stream, err := conn.JetStream().Stream(ctx, conn.Names().Stream(wire.StreamLog))
	if err != nil {
		return nil, err
	}
	last := stream.CachedInfo().State.LastSeq
	consumer, err := stream.OrderedConsumer(ctx, jetstream.OrderedConsumerConfig{})
	if err != nil {
		return nil, err
	}
	messages, err := consumer.Messages()
	if err != nil {
		return nil, err
	}
	defer messages.Stop()
	file, err := os.Create(filepath.Join(dir, "log.txt"))
	if err != nil {
		return nil, err
	}
	defer func() { _ = file.Close() }() // it is for people
	out := bufio.NewWriter(file)
	defer func() { _ = out.Flush() }()
	for seq := uint64(0); seq < last; {
		m, err := messages.Next(jetstream.NextContext(ctx))
		if err != nil {
			return nil, err
		}
		meta, err := m.Metadata()
		if err != nil {
			return nil, err
		}
		seq = meta.Sequence.Stream
		r := record{Seq: seq, At: meta.Timestamp, Subject: m.Subject()}
		_, _ = fmt.Fprintf(out, "%d %s %s %s\n", r.Seq, r.At.Local().Format("15:04:05.000000"), r.Subject, m.Data())
		if strings.HasPrefix(r.Subject, "skg.log.") {
			if r.Event, err = protocol.DecodeEvent(m.Data()); err != nil {
				return nil, fmt.Errorf("record %d: %w", seq, err)
			}
		}
		records = append(records, r)
	}
	return records, nil
}

// ran is a run as the log tells it, independently of package run.
type ran struct {
	id       protocol.RunID
	operator protocol.OperatorID
	instance string
	entered  uint64 // the record by which it came into the log: queued, or claimed at once
	claims   []claim
	steps    map[string][]made // by name
	ends     []end
}

type claim struct {
	at      time.Time
	node    string
	attempt int
	resumed bool
	ack     string // of the carrier: its fifth token counts the deliveries
}

type made struct {
	at      time.Time
	payment string
}

type end struct {
	seq    uint64
	at     time.Time
	kind   protocol.EventKind
	output json.RawMessage
}

// history is what the log tells.
type history struct {
	runs     map[protocol.RunID]*ran
	ordered  []*ran // by when they entered
	outcomes map[string][]protocol.EffectOutcome
	records  map[string][]run.Record // of the instances, by subject, without snapshots
}

func newHistory(records []record) (*history, error) {
	h := &history{runs: map[protocol.RunID]*ran{}, outcomes: map[string][]protocol.EffectOutcome{}, records: map[string][]run.Record{}}
	for _, r := range records {
		var err error
		switch {
		case strings.HasSuffix(r.Subject, ".run"):
			err = h.ofRun(r)
		case strings.Contains(r.Subject, ".done."):
			err = h.ofLedger(r)
		}
		if err != nil {
			return nil, fmt.Errorf("record %d: %w", r.Seq, err)
		}
	}
	return h, nil
}

func (h *history) ofLedger(r record) error {
	if r.Event.Kind != protocol.EventEffectDone {
		return nil
	}
	var done struct {
		Outcomes []protocol.EffectOutcome `json:"outcomes"`
	}
	if err := json.Unmarshal(r.Event.Data, &done); err != nil {
		return err
	}
	for _, o := range done.Outcomes {
		h.outcomes[o.EffectID] = append(h.outcomes[o.EffectID], o)
	}
	return nil
}

func (h *history) ofRun(r record) error {
	folded := run.Record{Seq: r.Seq}
	if r.Event.Kind != protocol.EventSnapshot { // or it counts for its sequence alone
		folded.Event = r.Event
	}
	h.records[r.Subject] = append(h.records[r.Subject], folded)
	for _, p := range append([]protocol.EventPart{{Kind: r.Event.Kind, Data: r.Event.Data}}, r.Event.Also...) {
		if err := h.part(r, p); err != nil {
			return fmt.Errorf("%s: %w", p.Kind, err)
		}
	}
	return nil
}

func (h *history) part(r record, p protocol.EventPart) error {
	switch p.Kind { //nolint:exhaustive // the others are not looked at
	case protocol.EventInvocationStarted:
		var s run.Started
		if err := json.Unmarshal(p.Data, &s); err != nil {
			return err
		}
		a := h.enter(r)
		a.claims = append(a.claims, claim{r.At, s.Node, s.Attempt, s.Resumed, s.Carrier.Ack})
	case protocol.EventQueued:
		h.enter(r)
	case protocol.EventStepCompleted:
		var e run.Entry
		var paid receipt
		if err := json.Unmarshal(p.Data, &e); err != nil {
			return err
		}
		if e.Step == run.StepCode {
			if err := json.Unmarshal(e.Result, &paid); err != nil {
				return err
			}
			a := h.enter(r)
			a.steps[e.Name] = append(a.steps[e.Name], made{r.At, paid.Payment})
		}
	case protocol.EventCompleted, protocol.EventFailed, protocol.EventCancelled, protocol.EventRefused:
		var c run.Completed
		if err := json.Unmarshal(p.Data, &c); err != nil {
			return err
		}
		a := h.enter(r)
		a.ends = append(a.ends, end{r.Seq, r.At, p.Kind, c.Output})
	}
	return nil
}

// enter returns the run of a record, which is new if no earlier one was of it.
func (h *history) enter(r record) *ran {
	a := h.runs[r.Event.Run]
	if a == nil {
		a = &ran{id: r.Event.Run, operator: r.Event.Operator, instance: r.Event.Instance, entered: r.Seq, steps: map[string][]made{}}
		h.runs[a.id], h.ordered = a, append(h.ordered, a)
	}
	return a
}

// takeovers counts the claims of a run that went on where it was not suspended.
func (a *ran) takeovers() (n int) {
	for _, c := range a.claims {
		if c.attempt > 1 && !c.resumed {
			n++
		}
	}
	return n
}

// answerOf is what a completed run said.
func answerOf(output json.RawMessage) (a answer, err error) {
	var out protocol.OperatorOutput
	if err := protocol.Unmarshal(output, &out); err != nil {
		return a, err
	}
	return read[answer](out.Message)
}
