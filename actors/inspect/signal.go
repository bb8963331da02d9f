package inspect

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/skelegent/skelegent-go/actors/run"
	"github.com/skelegent/skelegent-go/bus"
	"github.com/skelegent/skelegent-go/protocol"
	"github.com/skelegent/skelegent-go/protocol/wire"
)

// Fate says what became of a signal.
type Fate string

// The fates of a signal.
const (
	FateStored  Fate = "stored"  // no run has heard of it
	FateNoted   Fate = "noted"   // a run has it, and no step has taken it
	FateTaken   Fate = "taken"   // a step took it, or it did what it says
	FateIgnored Fate = "ignored" // it concerned no run
)

// Signal is a signal that was stored for an instance.
type Signal struct {
	Seq  uint64          `json:"seq"`
	Type string          `json:"type"`
	Run  protocol.RunID  `json:"run,omitempty"` // that it names, or that was open when it came
	Time time.Time       `json:"time"`
	Data json.RawMessage `json:"data,omitempty"` // JSON: text is a string
	// From is the id of the effect that sent it, if one did.
	From string `json:"from,omitempty"`
	Fate Fate   `json:"fate"`
	// Step is the path of the step that took it.
	Step string `json:"step,omitempty"`
}

// MaxSignals is how many stored signals are read.
const MaxSignals = 1000

// Signals returns the stored signals of an instance in the order in which they came, at most 1,000, with what became of each
// as far as the log still says so.
func (r *Reader) Signals(ctx context.Context, workflow protocol.WorkflowID) ([]Signal, error) {
	t, err := parse(workflow)
	if err != nil {
		return nil, err
	}
	i, err := r.load(ctx, t, false)
	if err != nil {
		return nil, err
	}
	found, err := r.signals(ctx, t)
	if err != nil {
		return nil, err
	}
	if found == nil && i.Fold.Seq == 0 {
		return nil, protocol.ErrWorkflowNotFound(workflow)
	}
	fates := fatesOf(i.Fold, i.Records)
	for n := range found {
		if f, ok := fates[found[n].Seq]; ok {
			found[n].Fate, found[n].Step = f.fate, f.step
			found[n].Run = cmp.Or(f.run, found[n].Run)
		}
	}
	return found, nil
}

// signals reads what is stored.
func (r *Reader) signals(ctx context.Context, t target) ([]Signal, error) {
	const attempted = "read signals"
	stream, err := r.stream(ctx, attempted, wire.StreamLog)
	if err != nil {
		return nil, err
	}
	info, err := stream.Info(ctx, jetstream.WithSubjectFilter(r.conn.Names().All("signal."+t.operator+"."+t.token)))
	if err != nil {
		return nil, bus.Translate(attempted, err)
	}
	var found []Signal
	for _, subject := range slices.Sorted(maps.Keys(info.State.Subjects)) { // the server finds a literal one faster than a filter
		for seq := uint64(0); len(found) < MaxSignals; {
			msg, err := stream.GetMsg(ctx, seq+1, jetstream.WithGetMsgSubject(subject))
			if errors.Is(err, jetstream.ErrMsgNotFound) {
				break
			}
			if err != nil {
				return nil, bus.Translate(attempted, err)
			}
			seq = msg.Sequence
			found = append(found, signalOf(msg))
		}
	}
	slices.SortFunc(found, func(a, b Signal) int { return cmp.Compare(a.Seq, b.Seq) })
	return found, nil
}

func signalOf(msg *jetstream.RawStreamMsg) Signal {
	typ := msg.Subject[strings.LastIndexByte(msg.Subject, '.')+1:]
	if name, err := wire.Unescape(typ); err == nil {
		typ = name
	}
	return Signal{
		Seq: msg.Sequence, Type: typ, Run: protocol.RunID(msg.Header.Get(wire.HeaderRunID)), Time: msg.Time,
		Data: asJSON(msg.Data), From: msg.Header.Get(wire.HeaderSignalID), Fate: FateStored,
	}
}

// asJSON is a body as the log has it: nothing is nothing, JSON is itself, anything else a string.
func asJSON(body []byte) json.RawMessage {
	text := strings.TrimSpace(string(body))
	switch {
	case text == "":
		return nil
	case json.Valid([]byte(text)):
		return json.RawMessage(text)
	}
	quoted, err := protocol.Marshal(strings.ToValidUTF8(string(body), "\uFFFD"))
	if err != nil {
		return nil
	}
	return quoted
}

// fate is what the log says of a signal.
type fate struct {
	fate Fate
	step string
	run  protocol.RunID
}

// fatesOf reads what became of signals out of a log: out of the fold what came before the records.
func fatesOf(f *run.Fold, records []Record) map[uint64]fate {
	fates := map[uint64]fate{}
	for _, seq := range f.Seen {
		fates[seq] = fate{fate: FateNoted}
	}
	for _, record := range records {
		for _, part := range parts(record) {
			readFate(fates, part, record.Event.Run)
		}
	}
	return fates
}

func readFate(fates map[uint64]fate, part protocol.EventPart, id protocol.RunID) {
	switch part.Kind {
	case protocol.EventNoted:
		var d run.Noted
		if json.Unmarshal(part.Data, &d) != nil || d.Signal == nil {
			return
		}
		fates[d.Signal.Seq] = fate{fate: noted(&d), run: d.Signal.Run}
	case protocol.EventStepCompleted, protocol.EventInferenceCompleted, protocol.EventToolResultReceived:
		var e run.Entry
		if json.Unmarshal(part.Data, &e) != nil {
			return
		}
		for _, seq := range e.Signals {
			fates[seq] = fate{fate: FateTaken, step: e.Path, run: id}
		}
	default:
	}
}

// noted is the fate of a signal when it is entered in the log: what is no step's to take has its effect at once.
func noted(d *run.Noted) Fate {
	switch {
	case d.Ignored:
		return FateIgnored
	case d.Signal.Type == run.SignalCancel, d.Signal.Type == run.SignalPause, d.Signal.Type == run.SignalResume:
		return FateTaken
	}
	return FateNoted
}
