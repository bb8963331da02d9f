package agenttest

import (
	"context"
	"encoding/json"
	"slices"
	"sync"

	"github.com/skelegent/skelegent-go/actors/run"
	"github.com/skelegent/skelegent-go/protocol"
)

// Result is what became of a run.
type Result struct {
	// Output is as its caller reads it.
	Output protocol.OperatorOutput
	Err    error
	// Records is how many steps a durable run recorded: starts and outcomes each, as steptest counts them. Waits are what it
	// waited for.
	Records int
	Waits   []run.Wait

	events []Event
}

// Event is something that observers of the run were told.
type Event struct {
	Kind protocol.EventKind
	Data json.RawMessage
}

// Decode reads the data into v, a pointer to a struct.
func (e Event) Decode(v any) error { return json.Unmarshal(e.Data, v) }

// Text returns the text of the output, empty if it has none.
func (r Result) Text() string {
	text, _ := r.Output.Message.AsText()
	return text
}

// Events returns the events of these kinds, of all kinds if none is named, in the order in which they came. Those of a durable run
// are the events of its log and, among them, those that only live observers see. Observers of a run that is not durable also
// hear from its node that it started and ended; those events are not there.
func (r Result) Events(kinds ...protocol.EventKind) []Event {
	all := []Event{}
	for _, e := range r.events {
		if len(kinds) == 0 || slices.Contains(kinds, e.Kind) {
			all = append(all, e)
		}
	}
	return all
}

// Effects returns the effects of a type that the output declares, in their order.
func Effects[E protocol.Effect](r Result) []E {
	var all []E
	for _, e := range r.Output.Effects {
		if e, ok := e.(E); ok {
			all = append(all, e)
		}
	}
	return all
}

// collector is a sink that keeps what it gets.
type collector struct {
	// before returns the events that came since it was last asked, if somebody else has events too.
	before func() []Event

	mu     sync.Mutex
	events []Event
	err    error // the first of data that is no JSON
}

var _ protocol.EventSink = (*collector)(nil)

// Emit implements protocol.EventSink.
func (c *collector) Emit(kind protocol.EventKind, data any) {
	raw, err := protocol.Marshal(data)
	c.mu.Lock()
	defer c.mu.Unlock()
	if err != nil && c.err == nil {
		c.err = err
	}
	c.drain()
	c.events = append(c.events, Event{Kind: kind, Data: raw})
}

func (c *collector) drain() {
	if c.before != nil {
		c.events = append(c.events, c.before()...)
	}
}

// all returns what came, and what is wrong with it.
func (c *collector) all() ([]Event, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.drain()
	return slices.Clone(c.events), c.err
}

// read returns v as whoever gets it over the bus reads it.
func read[T any](v T) (T, error) {
	var back T
	raw, err := protocol.Marshal(v)
	if err == nil {
		err = protocol.Unmarshal(raw, &back)
	}
	return back, err
}

// perform applies the memory effects.
func perform(ctx context.Context, store protocol.StateStore, effects protocol.Effects) error {
	graph, _ := store.(protocol.Graph)
	for _, e := range effects {
		var err error
		switch e := e.(type) {
		case protocol.WriteMemory:
			err = store.Write(ctx, e.Scope, e.Key, e.Value, e.Options())
		case protocol.DeleteMemory:
			err = store.Delete(ctx, e.Scope, e.Key)
		case protocol.LinkMemory:
			if graph == nil {
				return errNoGraph
			}
			err = graph.Link(ctx, e.Scope, e.Link)
		case protocol.UnlinkMemory:
			if graph == nil {
				return errNoGraph
			}
			err = graph.Unlink(ctx, e.Scope, e.FromKey, e.ToKey, e.Relation)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

var errNoGraph = protocol.NewError(protocol.CodeUnsupported, "the state store keeps no links")
