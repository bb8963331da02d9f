package step

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"slices"

	"github.com/skelegent/skelegent-go/actors/run"
	"github.com/skelegent/skelegent-go/protocol"
)

// Steer returns what was said to the run since it last heard, as messages of the user, for a model call at this place: the
// signals steer, and the inputs that want to be heard by the open run, in the order in which they were stored. They are
// recorded beside the step, which takes no place of its own. Once the step itself is recorded nothing is added any more.
//
// The body of a signal is a text, or an object with a message; any other is given as it is written, an empty one is not.
func (a At) Steer(ctx context.Context) ([]protocol.Message, error) {
	if a.in == nil {
		return nil, nil
	}
	beside := a.in.at(a.path + "s")
	e, found, err := beside.lookup(ctx, run.StepSteer, run.SignalSteer)
	if err != nil {
		return nil, err
	}
	if found {
		return beside.said(e)
	}
	if _, done, err := a.read(ctx); done || err != nil {
		return nil, err
	}
	said, e := heard(a.in.rec)
	if len(e.Signals)+len(e.Inputs) == 0 {
		return nil, nil
	}
	if e.Result, err = protocol.Marshal(said); err != nil {
		return nil, err
	}
	if e, err = beside.record(ctx, run.StepSteer, run.SignalSteer, e); err != nil {
		return nil, err
	}
	return beside.said(e)
}

// said are the messages that are recorded.
func (a At) said(e run.Entry) ([]protocol.Message, error) {
	contents, err := decode[[]protocol.Content](a, e)
	if err != nil {
		return nil, err
	}
	messages := make([]protocol.Message, len(contents))
	for i, c := range contents {
		messages[i] = protocol.NewMessage(protocol.RoleUser, c)
	}
	return messages, nil
}

// heard returns what is there, and the entry that takes it.
func heard(rec Recorder) (said []protocol.Content, e run.Entry) {
	type utterance struct {
		seq     uint64
		content protocol.Content
	}
	var all []utterance
	for _, s := range rec.Peek(run.SignalSteer) {
		e.Signals = append(e.Signals, s.Seq)
		if c := spoken(s.Data); !c.IsZero() {
			all = append(all, utterance{s.Seq, c})
		}
	}
	for _, w := range rec.Steering() {
		var in protocol.OperatorInput
		if len(w.Body) == 0 || protocol.Unmarshal(w.Body, &in) != nil {
			continue // it has a turn of its own, and is read or refused there
		}
		e.Inputs = append(e.Inputs, w.Run)
		all = append(all, utterance{w.Seq, in.Message})
	}
	slices.SortStableFunc(all, func(a, b utterance) int { return cmp.Compare(a.seq, b.seq) })
	for _, u := range all {
		said = append(said, u.content)
	}
	return said, e
}

// spoken is what the body of a signal says; zero for nothing.
func spoken(body json.RawMessage) protocol.Content {
	body = bytes.TrimSpace(body)
	if len(body) == 0 || string(body) == "null" {
		return protocol.Content{}
	}
	var text string
	if json.Unmarshal(body, &text) == nil {
		if text == "" {
			return protocol.Content{}
		}
		return protocol.TextContent(text)
	}
	var object struct {
		Message protocol.Content `json:"message"`
	}
	if json.Unmarshal(body, &object) == nil && !object.Message.IsZero() {
		return object.Message
	}
	return protocol.TextContent(string(body))
}
