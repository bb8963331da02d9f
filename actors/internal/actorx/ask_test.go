package actorx_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/skelegent/skelegent-go/actors/internal/actorx"
)

type question struct {
	n     int
	reply actorx.Reply[int]
}

func ask(ctx context.Context, r *actorx.Ref, n int) (int, error) {
	return actorx.Ask(ctx, r, func(reply actorx.Reply[int]) any { return question{n, reply} })
}

func TestAsk(t *testing.T) {
	t.Parallel()
	refusal := errors.New("refused")
	sys := newSystem(t, actorx.Config{Backoff: fast})
	kept := make(chan actorx.Reply[int], 10)
	r := spawn(t, sys, "a", receive(func(c *actorx.Context, msg any) {
		q := msg.(question)
		switch q.n {
		case 1:
			q.reply.Fail(refusal)
		case 2:
			panic("boom")
		case 3:
			kept <- q.reply
		case 4:
			c.StopSelf()
		default:
			q.reply.Send(q.n * 2)
		}
	}))
	if got, err := ask(t.Context(), r, 21); got != 42 || err != nil {
		t.Errorf("answer: got %d, %v", got, err)
	}
	if _, err := ask(t.Context(), r, 1); !errors.Is(err, refusal) {
		t.Errorf("fail: got %v", err)
	}
	var p *actorx.PanicError
	if _, err := ask(t.Context(), r, 2); !errors.As(err, &p) || p.Value != "boom" {
		t.Errorf("crash: got %v", err)
	}
	done, cancel := context.WithCancelCause(t.Context())
	go func() {
		late := <-kept
		cancel(refusal)
		kept <- late
	}()
	if _, err := ask(done, r, 3); !errors.Is(err, refusal) {
		t.Errorf("cancelled: got %v", err)
	}
	if late := await(t, "reply", kept); late.Send(1) || late.Fail(refusal) {
		t.Error("a late answer was accepted")
	}
	if got := sys.Stats().LateReplies; got != 2 {
		t.Errorf("late replies: got %d, want 2", got)
	}
	if _, err := ask(done, r, 0); !errors.Is(err, refusal) {
		t.Errorf("cancelled before: got %v", err)
	}
	if _, err := ask(t.Context(), r, 4); !errors.Is(err, actorx.ErrStopped) {
		t.Errorf("ended without an answer: got %v", err)
	}
	if _, err := ask(t.Context(), r, 0); !errors.Is(err, actorx.ErrStopped) {
		t.Errorf("ended before: got %v", err)
	}
	if (actorx.Reply[int]{}).Send(1) || (actorx.Reply[int]{}).Fail(nil) {
		t.Error("the zero Reply answered")
	}
}

// Known race 1 of the library: its future lets a second answer, or one at the timeout, overwrite the first.
func TestRaceFutureDoubleReply(t *testing.T) {
	t.Parallel()
	r := spawn(t, newSystem(t, actorx.Config{}), "a", receive(func(_ *actorx.Context, msg any) {
		q := msg.(question)
		if q.n < 0 { // answer from elsewhere, at about the time the asker gives up
			go q.reply.Send(1)
			return
		}
		first := q.reply.Send(1)
		second := q.reply.Send(2)
		go q.reply.Send(3)
		if !first || second {
			panic("the second answer won")
		}
	}))
	for range 3000 {
		if got, err := ask(t.Context(), r, 0); got != 1 || err != nil {
			t.Fatalf("got %d, %v, want the first answer", got, err)
		}
	}
	answered := 0
	for range 4000 {
		ctx, cancel := context.WithTimeout(t.Context(), 3*time.Microsecond)
		got, err := ask(ctx, r, -1)
		cancel()
		if (err == nil) != (got == 1) || err != nil && !errors.Is(err, context.DeadlineExceeded) {
			t.Fatalf("got %d and %v: both or neither", got, err)
		}
		if err == nil {
			answered++
		}
	}
	t.Logf("%d of 4000 answers were in time", answered)
}

func TestAskWhileStopping(t *testing.T) {
	t.Parallel()
	for range 200 {
		sys := actorx.NewSystem(actorx.Config{})
		r := spawn(t, sys, "a", receive(func(_ *actorx.Context, msg any) { msg.(question).reply.Send(7) }))
		type outcome struct {
			got int
			err error
		}
		out := make(chan outcome, 1)
		go func() {
			got, err := ask(t.Context(), r, 0)
			out <- outcome{got, err}
		}()
		stop(t, sys)
		if o := await(t, "outcome", out); (o.err != nil || o.got != 7) && !errors.Is(o.err, actorx.ErrStopped) {
			t.Fatalf("got %+v", o)
		}
	}
}
