package agenttest_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/skelegent/skelegent-go/actors/agenttest"
)

var noon = time.Date(2026, 1, 2, 12, 0, 0, 0, time.UTC)

func TestClockWakesWhoSleeps(t *testing.T) {
	t.Parallel()
	c := agenttest.NewClock(noon)
	var wg sync.WaitGroup
	woken := make(chan time.Duration, 3)
	for _, d := range []time.Duration{time.Minute, time.Hour, 2 * time.Minute} {
		wg.Go(func() {
			if err := c.Sleep(t.Context(), d); err != nil {
				t.Error(err)
			}
			woken <- d
		})
	}
	if err := c.WaitForSleepers(t.Context(), 3); err != nil || c.Waiters() != 3 {
		t.Fatalf("%d sleep, %v", c.Waiters(), err)
	}
	c.Advance(time.Minute - 1)
	if c.Waiters() != 3 {
		t.Error("somebody woke early")
	}
	c.Advance(1)
	if got := <-woken; got != time.Minute || c.Waiters() != 2 {
		t.Errorf("%v woke", got)
	}
	c.Advance(time.Hour)
	wg.Wait()
	if got := c.Now().Sub(noon); got != time.Hour+time.Minute || c.Waiters() != 0 {
		t.Errorf("%v passed, %d sleep", got, c.Waiters())
	}
	if err := c.WaitForSleepers(t.Context(), 0); err != nil {
		t.Error(err)
	}
}

func TestClockEndsWithTheContext(t *testing.T) {
	t.Parallel()
	c := agenttest.NewClock(noon)
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 2)
	go func() { done <- c.Sleep(ctx, time.Hour) }()
	if err := c.WaitForSleepers(t.Context(), 1); err != nil {
		t.Fatal(err)
	}
	go func() { done <- c.WaitForSleepers(ctx, 2) }()
	cancel()
	for range 2 {
		if err := <-done; !errors.Is(err, context.Canceled) {
			t.Errorf("got %v", err)
		}
	}
	if c.Waiters() != 0 {
		t.Error("it still sleeps")
	}
	if err := c.Sleep(ctx, 0); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
	if err := c.Skip(ctx, time.Hour); !errors.Is(err, context.Canceled) || !c.Now().Equal(noon) {
		t.Errorf("got %v", err)
	}
}

func TestClockSkips(t *testing.T) {
	t.Parallel()
	c := agenttest.NewClock(noon)
	if err := errors.Join(c.Sleep(t.Context(), -1), c.Skip(t.Context(), -1), c.Skip(t.Context(), time.Hour)); err != nil {
		t.Error(err)
	}
	if got := c.Now().Sub(noon); got != time.Hour {
		t.Errorf("%v passed", got)
	}
	defer func() {
		if recover() == nil {
			t.Error("time went back")
		}
	}()
	c.Advance(-1)
}
