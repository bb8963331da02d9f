package limit_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/skelegent/skelegent-go/actors/provider/limit"
	"github.com/skelegent/skelegent-go/protocol"
)

func TestRequestsAMinute(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l := limit.NewLocal(limit.Config{Default: limit.Limits{Requests: 2}})
		calls := newLine()
		for n := range 5 {
			calls.join(t.Context(), n, l, 0, 0, limit.Usage{})
			synctest.Wait()
		}
		calls.wg.Wait()
		for n, want := range []time.Duration{0, 0, 30 * time.Second, time.Minute, 90 * time.Second} {
			if calls.went[n].Round(time.Millisecond) != want || calls.errs[n] != nil {
				t.Errorf("call %d went after %v, want %v; error %v", n, calls.went[n], want, calls.errs[n])
			}
		}
	})
}

func TestTokensAreReservedAndCorrected(t *testing.T) {
	t.Parallel()
	counted := func(n int) limit.Usage { return limit.Usage{Tokens: n, Counted: true} }
	tests := []struct {
		name   string
		first  int
		used   limit.Usage
		second int
		want   time.Duration // until the second goes
	}{
		{"fits", 400, limit.Usage{}, 600, 0},
		{"reserved stays where nothing is known", 900, limit.Usage{}, 400, 18 * time.Second},
		{"less was used", 900, counted(100), 900, 0},
		{"more was used", 100, counted(700), 600, 18 * time.Second},
		{"much more was used", 100, counted(2000), 500, 90 * time.Second},
		{"a server that counts nonsense", 100, counted(math.MaxInt), 1000, 10 * time.Minute},
		{"less than nothing", 1000, counted(-500), 1000, 0},
		{"more than fits waits for all there is", 500, limit.Usage{}, 5000, 30 * time.Second},
		{"an absurd reservation", math.MaxInt, limit.Usage{}, 1000, 10 * time.Minute},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				l := limit.NewLocal(limit.Config{Default: limit.Limits{Tokens: 1000}})
				release := acquire(t, l, "m", tt.first)
				release(tt.used)
				release(counted(0)) // does nothing
				start := time.Now()
				acquire(t, l, "m", tt.second)(limit.Usage{})
				if got := time.Since(start).Round(time.Millisecond); got != tt.want {
					t.Errorf("the second went after %v, want %v", got, tt.want)
				}
			})
		})
	}
}

func TestTokensThatComeBackLetTheNextGo(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l := limit.NewLocal(limit.Config{Default: limit.Limits{Tokens: 1000}})
		release := acquire(t, l, "m", 1000)
		calls := newLine()
		calls.join(t.Context(), 0, l, 500, 0, limit.Usage{})
		time.Sleep(time.Second)
		release(limit.Usage{Tokens: 10, Counted: true})
		calls.wg.Wait()
		if calls.went[0] != time.Second {
			t.Errorf("went after %v, want when the first was done", calls.went[0])
		}
	})
}

func TestFirstComeFirstServed(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name   string
		limits limit.Limits
		tokens func(n int) int
	}{
		{"calls at a time", limit.Limits{Concurrent: 1}, func(int) int { return 0 }},
		{"two at a time", limit.Limits{Concurrent: 2}, func(int) int { return 0 }},
		{"requests", limit.Limits{Requests: 3}, func(int) int { return 0 }},
		{"a large one is not overtaken", limit.Limits{Tokens: 100, Concurrent: 4}, func(n int) int { return 1 + 90*(n%2) }},
		{"all together", limit.Limits{Tokens: 100, Requests: 30, Concurrent: 2}, func(n int) int { return n * 3 }},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				l := limit.NewLocal(limit.Config{Default: tt.limits})
				calls := newLine()
				const n = 30
				for i := range n {
					calls.join(t.Context(), i, l, tt.tokens(i), time.Duration(n-i)*time.Millisecond, limit.Usage{})
					synctest.Wait()
				}
				calls.wg.Wait()
				for i := 1; i < n; i++ {
					if calls.went[i] < calls.went[i-1] || calls.errs[i] != nil {
						t.Errorf("call %d went at %v, the one before it at %v; error %v", i, calls.went[i], calls.went[i-1], calls.errs[i])
					}
				}
			})
		})
	}
}

func TestPauseIsShared(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name string
		used limit.Usage
		want time.Duration
	}{
		{"as long as the provider says", limit.Usage{Refused: true, RetryAfter: 10 * time.Second}, 10 * time.Second},
		{"it does not say", limit.Usage{Refused: true}, limit.DefaultPause},
		{"it says nonsense", limit.Usage{Refused: true, RetryAfter: math.MaxInt64}, limit.DefaultMaxPause},
		{"not refused", limit.Usage{RetryAfter: time.Hour}, 0},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				l := limit.NewLocal(limit.Config{Default: limit.Limits{Concurrent: 1}})
				release := acquire(t, l, "m", 0)
				calls := newLine()
				for n := range 20 {
					calls.join(t.Context(), n, l, 0, 0, limit.Usage{})
				}
				synctest.Wait()
				release(tt.used)
				acquire(t, l, "other", 0)(limit.Usage{}) // another model is not touched
				if time.Since(calls.start) != 0 {
					t.Error("another model waited")
				}
				calls.wg.Wait()
				for n := range 20 {
					if calls.went[n] != tt.want || calls.errs[n] != nil {
						t.Errorf("call %d went after %v, want %v; error %v", n, calls.went[n], tt.want, calls.errs[n])
					}
				}
			})
		})
	}
}

func TestAPauseIsNotCutShort(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l := limit.NewLocal(limit.Config{})
		first, second := acquire(t, l, "m", 0), acquire(t, l, "m", 0)
		first(limit.Usage{Refused: true, RetryAfter: 10 * time.Second})
		second(limit.Usage{Refused: true, RetryAfter: time.Second})
		start := time.Now()
		acquire(t, l, "m", 0)(limit.Usage{})
		if got := time.Since(start); got != 10*time.Second {
			t.Errorf("went after %v, want 10s", got)
		}
	})
}

func TestTooLateFailsAtOnce(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name   string
		limits limit.Limits
		before func(t *testing.T, l *limit.Local)
		want   time.Duration
	}{
		{"requests", limit.Limits{Requests: 2}, func(t *testing.T, l *limit.Local) {
			acquire(t, l, "m", 0)(limit.Usage{})
			acquire(t, l, "m", 0)(limit.Usage{})
		}, 30 * time.Second},
		{"tokens", limit.Limits{Tokens: 100}, func(t *testing.T, l *limit.Local) {
			acquire(t, l, "m", 100)(limit.Usage{})
		}, 6 * time.Second},
		{"pause", limit.Limits{}, func(t *testing.T, l *limit.Local) {
			acquire(t, l, "m", 0)(limit.Usage{Refused: true, RetryAfter: 20 * time.Second})
		}, 20 * time.Second},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				l := limit.NewLocal(limit.Config{Default: tt.limits})
				tt.before(t, l)
				start := time.Now()
				for _, allowed := range []time.Duration{time.Second, tt.want, tt.want + time.Second} {
					ctx, cancel := context.WithTimeout(t.Context(), allowed)
					release, err := l.Acquire(ctx, "m", 10)
					cancel()
					if allowed > tt.want {
						if err != nil || time.Since(start).Round(time.Millisecond) != tt.want {
							t.Errorf("with time enough: after %v, error %v", time.Since(start), err)
						}
						continue
					}
					if release != nil || !errors.Is(err, errRateLimited) || !errors.Is(err, limit.ErrTooLate) || time.Since(start) != 0 {
						t.Errorf("within %v: error %v after %v", allowed, err, time.Since(start))
					}
					if got := retryAfter(err).Round(time.Millisecond); got != tt.want || !protocol.IsRetryable(err) {
						t.Errorf("retry after %v, want %v", got, tt.want)
					}
				}
			})
		})
	}
}

func TestThoseBehindKnowHowLongItTakes(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l := limit.NewLocal(limit.Config{Default: limit.Limits{Requests: 60, Tokens: 600}})
		acquire(t, l, "m", 600)(limit.Usage{})
		calls := newLine()
		for n := range 10 {
			calls.join(t.Context(), n, l, 100, 0, limit.Usage{}) // one every ten seconds
		}
		synctest.Wait()
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		_, err := l.Acquire(ctx, "m", 50)
		if got := retryAfter(err).Round(time.Millisecond); got != 105*time.Second || time.Since(calls.start) != 0 {
			t.Errorf("retry after %v at %v, error %v", got, time.Since(calls.start), err)
		}
		calls.wg.Wait()
	})
}

func TestAPauseEndsWaitsThatItMakesTooLong(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l := limit.NewLocal(limit.Config{Default: limit.Limits{Concurrent: 1}})
		release := acquire(t, l, "m", 0)
		calls := newLine()
		for n, d := range []time.Duration{time.Hour, 5 * time.Second, time.Hour, 5 * time.Second} {
			ctx, cancel := context.WithTimeout(t.Context(), d)
			defer cancel()
			calls.join(ctx, n, l, 0, 0, limit.Usage{})
			synctest.Wait()
		}
		release(limit.Usage{Refused: true, RetryAfter: 10 * time.Second})
		calls.wg.Wait()
		for n, want := range []time.Duration{10 * time.Second, 0, 10 * time.Second, 0} {
			if calls.went[n] != want || (want == 0) != errors.Is(calls.errs[n], limit.ErrTooLate) {
				t.Errorf("call %d ended after %v with %v", n, calls.went[n], calls.errs[n])
			}
		}
	})
}

func TestFullQueue(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l := limit.NewLocal(limit.Config{Default: limit.Limits{Concurrent: 1}, MaxWaiting: 2})
		release := acquire(t, l, "m", 0)
		calls := newLine()
		calls.join(t.Context(), 0, l, 0, 0, limit.Usage{})
		calls.join(t.Context(), 1, l, 0, 0, limit.Usage{})
		synctest.Wait()
		if l.Waiting("m") != 2 {
			t.Errorf("%d wait", l.Waiting("m"))
		}
		_, err := l.Acquire(t.Context(), "m", 0)
		if !errors.Is(err, errRateLimited) || !errors.Is(err, limit.ErrQueueFull) || !protocol.IsRetryable(err) {
			t.Errorf("error %v", err)
		}
		release(limit.Usage{})
		calls.wg.Wait()
		acquire(t, l, "m", 0)(limit.Usage{})
		none := limit.NewLocal(limit.Config{Default: limit.Limits{Concurrent: 1}, MaxWaiting: -1})
		release = acquire(t, none, "m", 0)
		if _, err := none.Acquire(t.Context(), "m", 0); !errors.Is(err, limit.ErrQueueFull) {
			t.Errorf("error %v", err)
		}
		release(limit.Usage{})
		acquire(t, none, "m", 0)(limit.Usage{})
	})
}

func TestWhoGivesUpTakesNothing(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l := limit.NewLocal(limit.Config{Default: limit.Limits{Concurrent: 1, Requests: 6, Tokens: 1000}})
		release := acquire(t, l, "m", 0)
		calls, ctx, errStop := newLine(), t.Context(), errors.New("stop")
		gone, leave := context.WithCancelCause(ctx)
		for n := range 4 {
			calls.join([]context.Context{gone, gone, ctx, gone}[n], n, l, []int{1000, 1000, 100, 1000}[n], 0, limit.Usage{})
			synctest.Wait()
		}
		leave(errStop)
		synctest.Wait()
		release(limit.Usage{})
		calls.wg.Wait()
		if calls.errs[2] != nil || calls.went[2] != 0 {
			t.Errorf("the one that stayed went after %v, error %v", calls.went[2], calls.errs[2])
		}
		for _, n := range []int{0, 1, 3} {
			if protocol.CodeOf(calls.errs[n]) != protocol.CodeCancelled || !errors.Is(calls.errs[n], errStop) {
				t.Errorf("call %d: error %v", n, calls.errs[n])
			}
		}
		if l.Waiting("m") != 0 {
			t.Errorf("%d still wait", l.Waiting("m"))
		}
		acquire(t, l, "m", 900)(limit.Usage{})
		if time.Since(calls.start) != 0 {
			t.Errorf("tokens were lost: the next waited %v", time.Since(calls.start))
		}
		if _, err := l.Acquire(gone, "m", 0); protocol.CodeOf(err) != protocol.CodeCancelled {
			t.Errorf("with an ended context: %v", err)
		}
	})
}

// TestTheFirstLeaves: the one behind moves up and does not sleep until the turn of the one that left.
func TestTheFirstLeaves(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l := limit.NewLocal(limit.Config{Default: limit.Limits{Tokens: 600}})
		acquire(t, l, "m", 600)(limit.Usage{})
		calls := newLine()
		ctx, cancel := context.WithCancel(t.Context())
		calls.join(ctx, 0, l, 600, 0, limit.Usage{}) // in a minute
		synctest.Wait()
		calls.join(t.Context(), 1, l, 100, 0, limit.Usage{}) // in 10 s, once it is first
		time.Sleep(5 * time.Second)
		cancel()
		calls.wg.Wait()
		if got := calls.went[1].Round(time.Millisecond); got != 10*time.Second || !slices.Equal(calls.order, []int{0, 1}) {
			t.Errorf("went after %v, order %v", got, calls.order)
		}
	})
}

// TestManyNames: names of models come from inputs.
func TestManyNames(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l := limit.NewLocal(limit.Config{Default: limit.Limits{Concurrent: 1, Requests: 1000}})
		var releases []func(limit.Usage)
		for n := range 1024 {
			releases = append(releases, acquire(t, l, fmt.Sprint("model ", n), 0))
		}
		releases = append(releases, acquire(t, l, "one more", 0))
		calls := newLine()
		calls.wg.Go(func() { acquire(t, l, "and one more", 0)(limit.Usage{}) })
		synctest.Wait()
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		if _, err := l.Acquire(ctx, "yet another", 0); protocol.CodeOf(err) != protocol.CodeTimeout {
			t.Errorf("names beyond the bound do not share a line: %v", err)
		}
		cancel()
		for _, release := range releases {
			release(limit.Usage{})
		}
		calls.wg.Wait()
		time.Sleep(2 * time.Minute) // all are as new, so they make room
		first, second := acquire(t, l, "a", 0), acquire(t, l, "b", 0)
		first(limit.Usage{})
		second(limit.Usage{})
	})
}

// Whoever chooses names of models cannot take the place of the models that have limits of their own, nor memory.
func TestManyNamesBesideConfiguredOnes(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l := limit.NewLocal(limit.Config{
			Default: limit.Limits{Requests: 1}, Models: map[string]limit.Limits{"mine": {Requests: 1}, "mine too": {Requests: 1}},
		})
		long := strings.Repeat("x", 1000)
		acquire(t, l, long+"a", 0)(limit.Usage{})
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if _, err := l.Acquire(ctx, long+"b", 0); !errors.Is(err, limit.ErrTooLate) {
			t.Errorf("long names do not share a line: %v", err)
		}
		time.Sleep(2 * time.Minute)
		for n := range 1025 {
			acquire(t, l, fmt.Sprint("model ", n), 0)(limit.Usage{})
		}
		ctx, cancel = context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		for _, model := range []string{"mine", "mine too"} {
			release, err := l.Acquire(ctx, model, 0)
			if err != nil {
				t.Fatalf("%s: %v", model, err)
			}
			release(limit.Usage{})
		}
	})
}
