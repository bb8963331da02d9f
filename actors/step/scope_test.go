package step_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/skelegent/skelegent-go/actors/step"
	"github.com/skelegent/skelegent-go/actors/step/steptest"
	"github.com/skelegent/skelegent-go/protocol"
)

func TestPathsAndKeys(t *testing.T) {
	t.Parallel()
	var keys []string
	keep := func(ctx context.Context) (int, error) {
		keys = append(keys, step.Key(ctx))
		return 0, nil
	}
	r := begin(steptest.Config{})
	text(t, r, code(func(ctx context.Context) (string, error) {
		keys = append(keys, step.Key(ctx))
		_, err := step.Do(ctx, "a", keep)
		if err == nil {
			_, err = step.Do(ctx, "b", func(ctx context.Context) (int, error) {
				_, _ = keep(ctx)
				_, _ = step.Do(ctx, "c", keep)
				return step.Do(ctx, "d", func(ctx context.Context) (int, error) { return step.Do(ctx, "e", keep) })
			})
		}
		if err == nil {
			_, err = step.Do(ctx, "f", keep)
		}
		return "", err
	}))
	if d := cmp.Diff([]string{"", "r1/1", "r1/2", "r1/2.1", "r1/2.2.1", "r1/3"}, keys); d != "" {
		t.Error(d)
	}
}

func TestScopeIsSafeForConcurrentUse(t *testing.T) {
	t.Parallel()
	const n = 50
	r := begin(steptest.Config{})
	text(t, r, code(func(ctx context.Context) (string, error) {
		var mu sync.Mutex
		var paths []string
		var all sync.WaitGroup
		for range n {
			all.Go(func() {
				_, err := step.Do(ctx, "x", func(ctx context.Context) (int, error) {
					mu.Lock()
					defer mu.Unlock()
					paths = append(paths, step.Key(ctx))
					return 0, nil
				})
				if err != nil {
					t.Error(err)
				}
			})
		}
		all.Wait()
		slices.Sort(paths)
		if got := len(slices.Compact(paths)); got != n {
			t.Errorf("%d paths", got)
		}
		return "", nil
	}))
	if r.Records() != n {
		t.Errorf("%d records", r.Records())
	}
}

func TestOutsideOfADurableRun(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ctx := t.Context()
		own := errors.New("own")
		if _, err := step.Do(ctx, "x", func(context.Context) (int, error) { return 0, own }, step.Once()); !errors.Is(err, own) {
			t.Errorf("got %v", err)
		}
		start := time.Now()
		if err := step.Sleep(ctx, time.Hour); err != nil || time.Since(start) != time.Hour {
			t.Errorf("slept %v, %v", time.Since(start), err)
		}
		ended, cancel := context.WithCancel(ctx)
		cancel()
		if err := step.Sleep(ended, time.Hour); !errors.Is(err, context.Canceled) {
			t.Errorf("got %v", err)
		}
		_, err := step.Await[string](ctx, "x")
		wantCode(t, err, protocol.CodeUnsupported)
		_, err = step.Approval(ctx, protocol.ApprovalRequest{})
		wantCode(t, err, protocol.CodeUnsupported)
		_, err = step.Call(ctx, "x", "y", protocol.Text("z"))
		wantCode(t, err, protocol.CodeUnsupported)
		_, durable := step.InfoFrom(ctx)
		at := step.Next(ctx)
		if known, err := at.Known(ctx); durable || at.Durable() || at.Path()+at.Key()+step.Key(ctx) != "" || known || err != nil {
			t.Errorf("got %v %+v, known %v, %v", durable, at, known, err)
		}
		if said, err := at.Steer(ctx); said != nil || err != nil {
			t.Errorf("got %v, %v", said, err)
		}
	})
}

func TestUnwinding(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		err  error
		want bool
	}{
		{nil, false},
		{errors.New("x"), false},
		{&step.Unwind{Lost: true}, true},
		{fmt.Errorf("x: %w", &step.Unwind{Cancelled: true}), true},
		{protocol.ErrToolFailed("x").Because(&step.Unwind{Released: true}), true},
		{protocol.ErrToolFailed("x").Because(step.ErrChanged), true},
		{step.ErrExpired, false},
		{step.ErrOutcomeUnknown, false},
	} {
		if got := step.Unwinding(c.err); got != c.want {
			t.Errorf("%v: got %v", c.err, got)
		}
	}
}

func TestCancelAndPauseAreHeardAtABoundary(t *testing.T) {
	t.Parallel()
	r := begin(steptest.Config{})
	op := code(func(ctx context.Context) (string, error) {
		if _, err := step.Do(ctx, "a", func(context.Context) (int, error) { r.Signal("pause", nil); return 0, nil }); err != nil {
			return "", err
		}
		if _, err := step.Do(ctx, "b", func(context.Context) (int, error) { r.Signal("cancel", "enough"); return 0, nil }); err != nil {
			return "", err
		}
		return step.Do(ctx, "c", func(context.Context) (string, error) { t.Error("begun"); return "", nil })
	})
	if w := waits(t, r, op); !w.Paused || r.Records() != 1 {
		t.Fatalf("got %+v after %d records", w, r.Records())
	}
	r.Signal("resume", nil)
	var u *step.Unwind
	if _, err := r.Execute(t.Context(), op); !errors.As(err, &u) || !u.Cancelled || r.Records() != 2 {
		t.Fatalf("got %v after %d records", err, r.Records())
	}
	events := r.Events()
	if last := events[len(events)-1]; last.Kind != protocol.EventCancelled || r.Fold().Open != nil {
		t.Errorf("the run ended with %s", last.Kind)
	}
}
