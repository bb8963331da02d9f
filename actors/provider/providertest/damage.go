package providertest

import (
	"context"
	"errors"
	"fmt"
	"math"
	"net/http"
	"strings"

	"github.com/skelegent/skelegent-go/actors/provider/internal/exchange"
	"github.com/skelegent/skelegent-go/protocol"
)

// unusable are the kinds of an answer that is none.
var unusable = []protocol.ErrorKind{protocol.KindProviderTransient, protocol.KindProviderInvalidResponse}

func story() Answer {
	return Answer{
		Model: Model, Text: strings.Repeat("Once upon a time. ", 50), Stop: protocol.StopEndTurn, Usage: tokens(10, 5),
		Calls: []Call{{"c1", "clock", `{"zone":"UTC"}`}},
	}
}

// body is a case about answers with status 200.
func body(name string, stream []bool, kinds []protocol.ErrorKind, serve func(e *env, stream bool) http.HandlerFunc) Case {
	return Case{name, func(ctx context.Context, e *env) error {
		var errs []error
		for _, s := range stream {
			e.serve(serve(e, s))
			if err := failed(e.call(ctx, Prompt, s, nil), kinds...); err != nil {
				errs = append(errs, fmt.Errorf("stream %v: %w", s, err))
			}
		}
		return errors.Join(errs...)
	}}
}

func constant(contentType, text string) func(*env, bool) http.HandlerFunc {
	return func(*env, bool) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) { send(w, contentType, []byte(text)) }
	}
}

// part sends the first nth of an answer and then aborts the connection, or ends in order.
func part(n int, abort bool) func(*env, bool) http.HandlerFunc {
	return func(e *env, stream bool) http.HandlerFunc {
		contentType, body := e.Render(story(), stream)
		return func(w http.ResponseWriter, _ *http.Request) {
			send(w, contentType, body[:len(body)/n])
			if abort {
				panic(http.ErrAbortHandler)
			}
		}
	}
}

func damageCases() []Case {
	both, streamed, whole := []bool{false, true}, []bool{true}, []bool{false}
	invalid := []protocol.ErrorKind{protocol.KindProviderInvalidResponse}
	transient := []protocol.ErrorKind{protocol.KindProviderTransient}
	html := "<html>" + Key + Prompt + "</html>"
	cases := []Case{
		body("garbage", both, invalid, constant("application/json", "]{"+Key+Prompt)),
		body("garbage in a stream", streamed, unusable, constant("text/event-stream", "data: {"+Key+Prompt+"\n\n")),
		body("HTML", both, invalid, constant("text/html", html)),
		body("empty", both, invalid, constant("application/json", "")),
		body("empty stream", streamed, invalid, constant("text/event-stream", "")),
		body("null", whole, invalid, constant("application/json", "null")),
		body("empty object", both, invalid, constant("application/json", "{}")),
		body("aborted after the head", both, transient, part(1<<20, true)),
		body("aborted in the middle", both, transient, part(2, true)),
		body("ends in the middle", both, unusable, part(2, false)),
		{"cut anywhere", cutAnywhere},
		{"slow drip", slowDrip},
		{"too large", tooLarge},
		{"too many calls", tooManyCalls},
		{"huge counts", hugeCounts},
		{"nobody there", nobody},
	}
	return cases
}

// cutAnywhere ends a stream after each of its bytes: the answer is the whole one, or there is an error. What may be
// missing behind the finish are the counts.
func cutAnywhere(ctx context.Context, e *env) error {
	a := Answer{Model: Model, Text: "Hello", Stop: protocol.StopToolUse, Usage: tokens(1, 1), Calls: []Call{{"c1", "clock", `{"z":1}`}}}
	contentType, whole := e.Render(a, true)
	for n := range whole {
		e.serve(func(w http.ResponseWriter, _ *http.Request) { send(w, contentType, whole[:n]) })
		r := e.call(ctx, Prompt, true, nil)
		if r.err != nil {
			if err := failed(r, unusable...); err != nil {
				return fmt.Errorf("after byte %d: %w", n, err)
			}
			continue
		}
		cost := "0.00000075"
		if r.resp.Cost == nil {
			a.Usage, cost = nil, ""
		} else {
			a.Usage = tokens(1, 1)
		}
		if err := errors.Join(e.is(a, r.resp, cost), consistent(r)); err != nil {
			return fmt.Errorf("after byte %d of %d: %w", n, len(whole), err)
		}
	}
	return nil
}

// tooManyCalls sends more parts than an answer may have.
func tooManyCalls(ctx context.Context, e *env) error {
	a := Answer{Model: Model, Stop: protocol.StopToolUse, Usage: tokens(1, 1)}
	for i := range exchange.MaxParts + 1 {
		a.Calls = append(a.Calls, Call{fmt.Sprintf("c%d", i), "f", "{}"})
	}
	return ways(func(stream bool) error {
		contentType, body := e.Render(a, stream)
		e.serve(func(w http.ResponseWriter, _ *http.Request) { send(w, contentType, body) })
		r := e.call(ctx, Prompt, stream, nil)
		if err := failed(r, protocol.KindProviderInvalidResponse); err != nil {
			return err
		}
		if want := exchange.TooManyParts().Error(); !stream && r.err.Error() != want { // a stream of it may be too large as well
			return fmt.Errorf("%w, want %s", r.err, want)
		}
		return nil
	})
}

// hugeCounts tells counts that overflow where they are added up.
func hugeCounts(ctx context.Context, e *env) error {
	a := Answer{Model: Model, Text: "x", Stop: protocol.StopEndTurn, Usage: tokens(math.MaxInt64/2, math.MaxInt64/2)}
	return ways(func(stream bool) error {
		contentType, body := e.Render(a, stream)
		e.serve(func(w http.ResponseWriter, _ *http.Request) { send(w, contentType, body) })
		r := e.call(ctx, Prompt, stream, nil)
		if u := r.resp.Usage; r.err != nil || u.InputTokens > 1<<60 || u.OutputTokens > 1<<60 || u.InputTokens < 1<<40 {
			return fmt.Errorf("%d and %d tokens, %w", u.InputTokens, u.OutputTokens, r.err)
		}
		return nil
	})
}

func slowDrip(ctx context.Context, e *env) error {
	return ways(func(stream bool) error {
		a := Answer{Model: Model, Text: "drip", Stop: protocol.StopEndTurn, Usage: tokens(10, 5)}
		contentType, body := e.Render(a, stream)
		e.serve(func(w http.ResponseWriter, _ *http.Request) {
			for i := range body {
				send(w, contentType, body[i:i+1])
			}
		})
		r := e.call(ctx, Prompt, stream, nil)
		if r.err != nil {
			return r.err
		}
		return e.is(a, r.resp, "0.0000045")
	})
}

// tooLarge checks that an endless answer is refused and its connection closed.
func tooLarge(ctx context.Context, e *env) error {
	filler := []byte(strings.Repeat("x", 64<<10))
	return ways(func(stream bool) error {
		gone := make(chan int, 1)
		contentType, body := e.Render(story(), stream)
		e.serve(func(w http.ResponseWriter, r *http.Request) {
			send(w, contentType, body[:len(body)/2])
			n := 0
			for r.Context().Err() == nil && n < 64*MaxResponse {
				k, err := w.Write(filler)
				if n += k; err != nil {
					break
				}
			}
			gone <- n
		})
		if err := failed(e.call(ctx, Prompt, stream, nil), protocol.KindProviderInvalidResponse); err != nil {
			return err
		}
		select {
		case n := <-gone:
			if n >= 64*MaxResponse {
				return errors.New("all of an endless answer was taken")
			}
			return nil
		case <-ctx.Done():
			return errors.New("the connection stays open")
		}
	})
}

func nobody(ctx context.Context, e *env) error {
	e.server.Close()
	return ways(func(stream bool) error {
		r := e.call(ctx, Prompt, stream, nil)
		return errors.Join(failed(r, protocol.KindProviderTransient), when(!protocol.IsRetryable(r.err), "not retryable"))
	})
}

func when(bad bool, text string) error {
	if bad {
		return errors.New(text)
	}
	return nil
}
