package responses

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"math"

	goopenai "github.com/sashabaranov/go-openai"

	"github.com/skelegent/skelegent-go/actors/provider/internal/exchange"
	"github.com/skelegent/skelegent-go/protocol"
)

// stream reads events up to the one that ends the answer. Its error is an *Error. The last event has the whole answer in
// it, so limit is also that of an event.
func (a *answer) stream(ctx context.Context, ex *exchange.Exchange, body io.Reader, limit int64) error {
	events := exchange.NewEvents(body, int(min(limit, math.MaxInt32)))
	for n := 0; a.final.Status == ""; n++ {
		ev, err := events.Next()
		switch {
		case errors.Is(err, io.EOF) && ctx.Err() != nil:
			return exchange.Ended(ctx)
		case errors.Is(err, io.EOF) && n == 0:
			return protocol.ErrInvalidResponse("an empty stream")
		case errors.Is(err, io.EOF):
			return protocol.ErrProviderTransient("the stream ended without an end of the response", 0)
		case err != nil:
			return ex.Failure(ctx, err)
		}
		if string(ev.Data) == "[DONE]" { // of servers that also speak chat completions
			continue
		}
		if err := a.event(ctx, ex, ev); err != nil {
			return err
		}
	}
	return nil
}

// event takes one event.
func (a *answer) event(ctx context.Context, ex *exchange.Exchange, ev exchange.Event) error {
	var head struct {
		Type  goopenai.ResponseStreamEventType `json:"type"`
		Error json.RawMessage                  `json:"error"`
	}
	if err := json.Unmarshal(ev.Data, &head); err != nil {
		return ex.Failure(ctx, err)
	}
	if head.Type == "" {
		head.Type = goopenai.ResponseStreamEventType(ev.Name)
	}
	if head.Type == goopenai.ResponseStreamEventError ||
		head.Type == "" && len(head.Error) > 0 && string(head.Error) != "null" {
		return ex.Reported(readError(ev.Data))
	}
	take, ok := takers[head.Type]
	if !ok { // may have other things by the names that we know
		return nil
	}
	var e event
	if err := exchange.Unmarshal(ev.Data, &e); err != nil {
		return ex.Failure(ctx, err)
	}
	return take(a, ex, e)
}

// taker takes an event.
type taker func(a *answer, ex *exchange.Exchange, e event) error

// takers are of the events that tell something new; others repeat it.
var takers = map[goopenai.ResponseStreamEventType]taker{
	goopenai.ResponseStreamEventOutputItemAdded: takeItem,
	goopenai.ResponseStreamEventOutputItemDone:  takeItem,

	goopenai.ResponseStreamEventOutputTextDelta:        takePiece(itemMessage, false),
	goopenai.ResponseStreamEventRefusalDelta:           takePiece(itemMessage, true),
	goopenai.ResponseStreamEventFunctionArgumentsDelta: takePiece(itemCall, false),

	goopenai.ResponseStreamEventReasoningSummaryTextDelta: takeThinking(false),
	goopenai.ResponseStreamEventReasoningTextDelta:        takeThinking(true),

	goopenai.ResponseStreamEventCompleted:  takeEnd(goopenai.ResponseStatusCompleted),
	goopenai.ResponseStreamEventIncomplete: takeEnd(goopenai.ResponseStatusIncomplete),
	goopenai.ResponseStreamEventFailed:     takeEnd(goopenai.ResponseStatusFailed),
}

func takeItem(a *answer, _ *exchange.Exchange, e event) error { return a.take(e.OutputIndex, e.Item) }

func takePiece(kind string, refused bool) taker {
	return func(a *answer, _ *exchange.Exchange, e event) error {
		o, err := a.at(e.OutputIndex, kind)
		if err != nil {
			return err
		}
		o.refused = o.refused || refused
		a.extend(o, e.Delta)
		return nil
	}
}

// takeThinking puts a paragraph between the parts of thinking, as item.text does.
func takeThinking(shown bool) taker {
	return func(a *answer, _ *exchange.Exchange, e event) error {
		o, err := a.at(e.OutputIndex, itemReasoning)
		if err != nil || e.Delta == "" {
			return err
		}
		id := partID{shown, e.SummaryIndex}
		if shown {
			id.index = e.ContentIndex
		}
		if o.text.Len() > 0 && o.last != id {
			a.extend(o, paragraph)
		}
		o.last = id
		a.extend(o, e.Delta)
		return nil
	}
}

// takeEnd ends the answer as the event says, whatever the response in it does.
func takeEnd(status goopenai.ResponseStatus) taker {
	return func(a *answer, ex *exchange.Exchange, e event) error {
		e.Response.Status = status
		return a.end(ex, e.Response)
	}
}
