package record

import (
	"encoding/json"

	"github.com/skelegent/skelegent-go/actors/run"
	"github.com/skelegent/skelegent-go/protocol"
)

// FromRecords makes the record of one run from the records of its instance's log, which have to be in order and to begin no later
// than the run: the last one of them if id is empty. The error is that of FromLog, and not_found if the run is not there.
func FromRecords(records []run.Record, id protocol.RunID) (*Run, error) {
	if id == "" {
		for _, r := range records {
			if r.Event.Run != "" {
				id = r.Event.Run
			}
		}
	}
	c := &collector{at: map[string]int{}}
	for _, r := range records {
		if r.Event.Run != id || id == "" {
			continue
		}
		c.found, c.log.Operator = true, r.Event.Operator
		c.event(r.Event.Kind, r.Event.Data)
		for _, part := range r.Event.Also {
			c.event(part.Kind, part.Data)
		}
	}
	if !c.found {
		return nil, protocol.NewError(protocol.CodeNotFound, "run record: the run is not in the log")
	}
	return FromLog(c.log)
}

// collector makes a Log of events.
type collector struct {
	log   Log
	at    map[string]int // where the steps are, by path
	found bool
}

func (c *collector) event(kind protocol.EventKind, data json.RawMessage) {
	switch kind {
	case protocol.EventInvocationStarted:
		read(data, func(d *run.Started) {
			if d.Input != nil {
				c.log.Input = d.Input.Body
			}
			if d.Made.Model != "" {
				c.log.Model = d.Made.Model
			}
		})
	case protocol.EventQueued:
		read(data, func(d *run.Queued) { c.log.Input = d.Input.Body })
	case protocol.EventToolCallAssembled, protocol.EventToolResultReceived, protocol.EventInferenceCompleted,
		protocol.EventStepStarted, protocol.EventStepCompleted:
		read(data, func(e *run.Entry) { c.step(e, data) })
	case protocol.EventCompleted:
		read(data, func(d *run.Completed) {
			out := new(protocol.OperatorOutput)
			if protocol.Unmarshal(d.Output, out) == nil {
				c.log.Output = out
			}
		})
	case protocol.EventFailed:
		read(data, func(d *run.Failed) { c.log.Error = d.Error })
	case protocol.EventCancelled:
		read(data, func(d *run.Cancelled) { c.log.Error = run.CancelledError(d.Reason) })
	default:
	}
}

// step adds what an event says of a step to what others did.
func (c *collector) step(e *run.Entry, data json.RawMessage) {
	i, known := c.at[e.Path]
	if !known {
		i = len(c.log.Steps)
		c.at[e.Path] = i
		c.log.Steps = append(c.log.Steps, Step{Path: e.Path})
	}
	s := &c.log.Steps[i]
	s.Kind, s.Name, s.Result, s.Error = e.Step, e.Name, e.Result, e.Error
	s.Elsewhere = e.Blob != nil && e.Result == nil
	var info struct {
		CallID string          `json:"call_id"`
		Input  json.RawMessage `json:"input"`
	}
	if json.Unmarshal(data, &info) == nil {
		if info.CallID != "" {
			s.CallID = info.CallID
		}
		if len(info.Input) > 0 && string(info.Input) != "null" {
			s.Input = info.Input
		}
	}
}

// read calls f with the data of an event, if it can be read.
func read[T any](data json.RawMessage, f func(*T)) {
	v := new(T)
	if json.Unmarshal(data, v) == nil {
		f(v)
	}
}
