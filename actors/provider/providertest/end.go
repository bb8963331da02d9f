package providertest

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/skelegent/skelegent-go/protocol"
)

// soon is a deadline that passes while a server is silent.
const soon = 50 * time.Millisecond

func endCases() []Case {
	return []Case{
		{"deadline, silent server", func(ctx context.Context, e *env) error { return silence(ctx, e, 0) }},
		{"deadline, silent after the head", func(ctx context.Context, e *env) error { return silence(ctx, e, 1<<20) }},
		{"deadline, silent in the middle", func(ctx context.Context, e *env) error { return silence(ctx, e, 2) }},
		{"deadline, silent in an error", silentError},
		{"cancelled in the middle", cancelMiddle},
		{"cancelled while waiting", cancelWaiting},
		{"ended before", endedBefore},
	}
}

// hang sends the first nth of an answer, nothing if 0, says so, and waits until the client is gone, and says that.
func (e *env) hang(n int, stream bool) (begun, gone chan struct{}) {
	begun, gone = make(chan struct{}), make(chan struct{})
	contentType, body := e.Render(story(), stream)
	e.serve(func(w http.ResponseWriter, r *http.Request) {
		if n > 0 {
			send(w, contentType, body[:len(body)/n])
		}
		close(begun)
		e.gone(r, gone)
	})
	return begun, gone
}

func await(ctx context.Context, c chan struct{}, what string) error {
	select {
	case <-c:
		return nil
	case <-ctx.Done():
		return errors.New(what)
	}
}

const stillOpen = "the connection stays open after the call"

// over checks an error that comes from a context.
func over(r result, code protocol.Code, cause error) error {
	if got := protocol.CodeOf(r.err); got != code {
		return fmt.Errorf("code %q (%w), want %s", got, r.err, code)
	}
	if !errors.Is(r.err, cause) {
		return fmt.Errorf("the error is not %w", cause)
	}
	return safe(r.err)
}

func silence(ctx context.Context, e *env, n int) error {
	return ways(func(stream bool) error {
		return late(ctx, e, stream, func() (begun, gone chan struct{}) { return e.hang(n, stream) })
	})
}

// late calls with a deadline. One that passed before the server was asked says nothing, so the next one is longer.
func late(ctx context.Context, e *env, stream bool, serve func() (begun, gone chan struct{})) error {
	for wait := soon; ; wait *= 2 {
		begun, gone := serve()
		short, cancel := context.WithTimeout(ctx, wait)
		r := e.call(short, Prompt, stream, nil)
		cancel()
		err := over(r, protocol.CodeTimeout, context.DeadlineExceeded)
		select {
		case <-begun:
			return errors.Join(err, await(ctx, gone, stillOpen))
		default:
		}
		if err != nil || ctx.Err() != nil {
			return errors.Join(err, ctx.Err())
		}
	}
}

func silentError(ctx context.Context, e *env) error {
	return ways(func(stream bool) error {
		return late(ctx, e, stream, func() (begun, gone chan struct{}) {
			begun, gone = make(chan struct{}), make(chan struct{})
			e.serve(func(w http.ResponseWriter, r *http.Request) {
				w.WriteHeader(http.StatusInternalServerError)
				flush(w)
				close(begun)
				e.gone(r, gone)
			})
			return begun, gone
		})
	})
}

// cancelMiddle cancels a stream from its sink.
func cancelMiddle(ctx context.Context, e *env) error {
	_, gone := e.hang(2, true)
	inner, cancel := context.WithCancel(ctx)
	defer cancel()
	r := e.call(inner, Prompt, true, func(protocol.StreamEvent) { cancel() })
	return errors.Join(
		over(r, protocol.CodeCancelled, context.Canceled),
		when(len(r.events) == 0, "nothing was streamed before"),
		await(ctx, gone, stillOpen))
}

func cancelWaiting(ctx context.Context, e *env) error {
	return ways(func(stream bool) error {
		begun, gone := e.hang(0, stream)
		inner, cancel := context.WithCancel(ctx)
		defer cancel()
		go func() { // ends with the case at the latest, by ctx
			if await(ctx, begun, "") == nil {
				cancel()
			}
		}()
		r := e.call(inner, Prompt, stream, nil)
		return errors.Join(over(r, protocol.CodeCancelled, context.Canceled), await(ctx, gone, stillOpen))
	})
}

func endedBefore(ctx context.Context, e *env) error {
	inner, cancel := context.WithCancel(ctx)
	cancel()
	return ways(func(stream bool) error {
		r := e.call(inner, Prompt, stream, nil)
		return errors.Join(
			over(r, protocol.CodeCancelled, context.Canceled),
			when(e.asked.Load() > 0, "the server was asked"))
	})
}
