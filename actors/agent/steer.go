package agent

import (
	"context"
	"sync"

	"github.com/skelegent/skelegent-go/actors/engine"
	"github.com/skelegent/skelegent-go/actors/step"
	"github.com/skelegent/skelegent-go/protocol"
)

// Inbox is how a run is steered that has no log: what is put into it comes before the next model call, in its order. A durable
// run is steered by signals. It is safe for concurrent use; the zero value is empty.
type Inbox struct {
	mu    sync.Mutex
	queue []engine.Op
}

// Say tells the run something, as a message of the user.
func (b *Inbox) Say(text string) {
	b.Do(&engine.Steer{Messages: []protocol.Message{protocol.NewMessage(protocol.RoleUser, protocol.TextContent(text))}})
}

// Do has the run do something: inject, compact, or end with engine.Halt.
func (b *Inbox) Do(op engine.Op) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.queue = append(b.queue, op)
}

func (b *Inbox) take() []engine.Op {
	b.mu.Lock()
	defer b.mu.Unlock()
	ops := b.queue
	b.queue = nil
	return ops
}

type (
	inboxKey  struct{}
	streamKey struct{}
)

// WithInbox returns a context whose run, of the next agent below, takes from b.
func WithInbox(ctx context.Context, b *Inbox) context.Context {
	return context.WithValue(ctx, inboxKey{}, b)
}

func inboxFrom(ctx context.Context) *Inbox {
	b, _ := ctx.Value(inboxKey{}).(*Inbox)
	return b
}

// WithStream returns a context whose run passes what its model says to sink, piece by piece and from one goroutine: text, thinking,
// tool calls as they are assembled, and each whole answer at its end. Where a call is made again, what came since the last
// protocol.Done is void. Answers that a durable run has from its log are not streamed.
func WithStream(ctx context.Context, sink func(protocol.StreamEvent)) context.Context {
	return context.WithValue(ctx, streamKey{}, sink)
}

func streamFrom(ctx context.Context) func(protocol.StreamEvent) {
	sink, _ := ctx.Value(streamKey{}).(func(protocol.StreamEvent))
	return sink
}

// alone returns the context for what the run calls: the inbox and the stream are its own.
func alone(ctx context.Context) context.Context {
	if inboxFrom(ctx) != nil {
		ctx = context.WithValue(ctx, inboxKey{}, (*Inbox)(nil))
	}
	if streamFrom(ctx) != nil {
		ctx = context.WithValue(ctx, streamKey{}, (func(protocol.StreamEvent))(nil))
	}
	return ctx
}

// hear takes in what was said to the run since the last model call.
func (r *run) hear(ctx context.Context, at step.At) *stop {
	said, err := at.Steer(ctx)
	if err != nil {
		return r.broken(ctx, err)
	}
	if len(said) > 0 {
		if end := r.do(ctx, &engine.Steer{Messages: said}); end != nil {
			return end
		}
	}
	if r.inbox == nil || r.durable {
		return nil
	}
	for _, op := range r.inbox.take() {
		if end := r.do(ctx, op); end != nil {
			return end
		}
	}
	return nil
}
