package actorx

import (
	"context"
	"testing"
	"time"

	"github.com/asynkron/protoactor-go/actor"
	"github.com/google/go-cmp/cmp"
)

// message is all of the library's context that a plain message needs.
type message struct {
	actor.Context
	msg any
}

func (m message) Message() any { return m.msg }

type crashing struct {
	receive func(msg any)
	stop    func(b *bridge)
}

func (a crashing) Receive(_ *Context, msg any) { a.receive(msg) }

func (a crashing) Stop(c *Context) { a.stop(c.b) }

// The library can let messages out of a mailbox it is about to suspend; the moment is too short to be met by hammering,
// so it is played here: what comes out after the crash is processed after the restart, and in order.
func TestMessagesFromSuspendedMailboxAreKept(t *testing.T) {
	t.Parallel()
	sys := NewSystem(Config{Backoff: Backoff{Min: time.Hour}})
	var got []any
	crashes := 0
	crashed := make(chan struct{}, 10)
	r, err := sys.Spawn("a", func() Actor {
		got = append(got, "start")
		return crashing{
			receive: func(msg any) {
				if got = append(got, msg); msg == "boom" {
					panic(msg)
				}
			},
			stop: func(b *bridge) {
				if crashes++; crashes == 1 {
					for _, msg := range []any{1, &boxed{nil}, "boom", &asked{msg: 2}} {
						b.Receive(message{msg: msg})
					}
				}
				crashed <- struct{}{}
			},
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	r.Tell("boom")
	<-crashed
	r.Tell(3)
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	if err := sys.Stop(ctx); err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff([]any{"start", "boom", "start", 1, nil, "boom", "start", 2, 3}, got); d != "" {
		t.Error(d)
	}
}
