package step_test

import (
	"context"
	"errors"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/skelegent/skelegent-go/actors/run"
	"github.com/skelegent/skelegent-go/actors/step"
	"github.com/skelegent/skelegent-go/actors/step/steptest"
	"github.com/skelegent/skelegent-go/protocol"
)

type user struct {
	Name   string            `json:"name"`
	Tags   []string          `json:"tags"`
	Cost   *protocol.Decimal `json:"cost"`
	secret string
}

func TestDoReturnsWhatIsRecorded(t *testing.T) {
	t.Parallel()
	calls := 0
	values, errs := twice(t, steptest.Config{}, 1, func(ctx context.Context) (user, error) {
		return step.Do(ctx, "create", func(context.Context) (user, error) {
			calls++
			return user{Name: "<ann>", Tags: []string{}, Cost: new(protocol.MustDecimal("1.00")), secret: "lost"}, nil
		})
	})
	// What JSON does not keep is not there the first time either.
	want := user{Name: "<ann>", Tags: []string{}, Cost: new(protocol.MustDecimal("1.00"))}
	for i := range values {
		if d := cmp.Diff(want, values[i], cmp.AllowUnexported(user{})); d != "" || errs[i] != nil {
			t.Errorf("execution %d: %s, %v", i, d, errs[i])
		}
	}
	if calls != 1 {
		t.Errorf("called %d times", calls)
	}
}

func TestDoErrors(t *testing.T) {
	t.Parallel()
	own := errors.New("taken")
	refused := protocol.NewError(protocol.CodePermissionDenied, "no").With("who", "ann")
	busy := protocol.NewError(protocol.CodeUnavailable, "later")
	for name, c := range map[string]struct {
		err      error
		opts     []step.Option
		recorded bool
		code     protocol.Code
		text     string
		is       bool // errors.Is the one that was returned
	}{
		"coded":          {refused, nil, true, protocol.CodePermissionDenied, "no", false},
		"uncoded":        {own, nil, true, protocol.CodeInternal, "internal error; see the node's log", false},
		"long":           {protocol.NewError(protocol.CodeToolError, strings.Repeat("x", 5000)), nil, true, protocol.CodeToolError, strings.Repeat("x", 2048) + "...", false},
		"own context's":  {context.Canceled, nil, true, protocol.CodeCancelled, "cancelled", false},
		"retryable":      {busy, nil, false, protocol.CodeUnavailable, "later", true},
		"timeout":        {context.DeadlineExceeded, nil, false, protocol.CodeTimeout, "context deadline exceeded", true},
		"retryable once": {busy, []step.Option{step.Once()}, true, protocol.CodeUnavailable, "later", false},
		"unwind":         {&step.Unwind{Released: true}, nil, false, protocol.CodeInternal, "the run goes on at another node", true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := begin(steptest.Config{})
			var errs []error
			calls := 0
			op := code(func(ctx context.Context) (string, error) {
				_, err := step.Do(ctx, "x", func(context.Context) (int, error) { calls++; return 7, c.err }, c.opts...)
				errs = append(errs, err)
				_, err = step.Do(ctx, "last", func(context.Context) (int, error) { return 0, nil })
				return "", err
			})
			last := 1
			if c.recorded {
				last++
			}
			if c.opts != nil {
				last++
			}
			r.KillAfter(last)
			if _, err := r.Execute(t.Context(), op); !step.Unwinding(err) {
				t.Fatal(err)
			}
			if _, err := r.Execute(t.Context(), op); err != nil && c.recorded {
				t.Fatal(err)
			}
			for _, err := range errs {
				if err.Error() != c.text || protocol.CodeOf(err) != c.code || errors.Is(err, c.err) != c.is {
					t.Errorf("got %s: %q", protocol.CodeOf(err), err)
				}
				if c.recorded && protocol.IsRetryable(err) {
					t.Errorf("%v is recorded and retryable", err)
				}
			}
			if want := map[bool]int{true: 1, false: 2}[c.recorded]; calls != want && name != "unwind" {
				t.Errorf("called %d times, want %d", calls, want)
			}
		})
	}
}

func TestDoKeepsTheCauseForTheLog(t *testing.T) {
	t.Parallel()
	_, errs := twice(t, steptest.Config{}, 1, func(ctx context.Context) (int, error) {
		return step.Do(ctx, "x", func(context.Context) (int, error) { return 0, errors.New("disk full") })
	})
	if cause := errors.Unwrap(errs[0]); cause == nil || cause.Error() != "disk full" || errors.Unwrap(cause) != nil {
		t.Errorf("got %v", cause)
	}
	if errors.Unwrap(errs[1]) != nil {
		t.Errorf("on replay: got %v", errors.Unwrap(errs[1]))
	}
}

func TestDoDoesNotRecordWhatCameOfTheContext(t *testing.T) {
	t.Parallel()
	r := begin(steptest.Config{})
	ctx, cancel := context.WithCancel(t.Context())
	_, err := r.Execute(ctx, code(func(ctx context.Context) (string, error) {
		return step.Do(ctx, "x", func(ctx context.Context) (string, error) {
			cancel()
			return "", ctx.Err()
		})
	}))
	if !errors.Is(err, context.Canceled) || r.Records() != 0 {
		t.Errorf("got %v, %d records", err, r.Records())
	}
	// But what happened all the same is.
	r = begin(steptest.Config{})
	ctx, cancel = context.WithCancel(t.Context())
	_, err = r.Execute(ctx, code(func(ctx context.Context) (string, error) {
		if _, err := step.Do(ctx, "x", func(context.Context) (string, error) { cancel(); return "", nil }); err != nil {
			return "", err
		}
		return step.Do(ctx, "not begun", func(context.Context) (string, error) { t.Error("begun"); return "", nil }, step.Once())
	}))
	if !errors.Is(err, context.Canceled) || r.Records() != 1 {
		t.Errorf("got %v, %d records", err, r.Records())
	}
}

// picky reads nothing back.
type picky struct{}

func (picky) MarshalJSON() ([]byte, error) { return []byte(`{}`), nil }
func (*picky) UnmarshalJSON([]byte) error  { return errors.New("not this") }

func TestDoRefusesResultsThatAreNotKept(t *testing.T) {
	t.Parallel()
	_, errs := twice(t, steptest.Config{}, 2, func(ctx context.Context) (int, error) {
		if _, err := step.Do(ctx, "nan", func(context.Context) (float64, error) { return math.NaN(), nil }); err == nil ||
			!strings.Contains(err.Error(), `step "nan" was made, but its result, a float64, cannot be kept`) {
			t.Errorf("got %v", err)
		}
		_, err := step.Do(ctx, "picky", func(context.Context) (picky, error) { return picky{}, nil })
		return 0, err
	})
	for _, err := range errs {
		if err == nil || !strings.Contains(err.Error(), "a step_test.picky, cannot be kept as JSON and read back: not this") {
			t.Errorf("got %v", err)
		}
	}
}

func TestDoPanicsPassThrough(t *testing.T) {
	t.Parallel()
	defer func() {
		if recover() != "boom" {
			t.Error("did not panic")
		}
	}()
	_, _ = begin(steptest.Config{}).Execute(t.Context(), code(func(ctx context.Context) (string, error) {
		return step.Do(ctx, "x", func(context.Context) (string, error) { panic("boom") })
	}))
}

func TestOnce(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		kill  func(*steptest.Run)
		calls int
		know  bool
	}{
		"no kill":          {func(*steptest.Run) {}, 1, true},
		"before the start": {func(r *steptest.Run) { r.KillBefore(1) }, 1, true},
		"after the start":  {func(r *steptest.Run) { r.KillAfter(1) }, 0, false},
		"before the end":   {func(r *steptest.Run) { r.KillBefore(2) }, 1, false},
		"after the end":    {func(r *steptest.Run) { r.KillAfter(2) }, 1, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := begin(steptest.Config{})
			c.kill(r)
			calls := 0
			var errs []error
			op := code(func(ctx context.Context) (string, error) {
				s, err := step.Do(ctx, "pay", func(context.Context) (string, error) { calls++; return "paid", nil }, step.Once())
				errs = append(errs, err)
				if err != nil && !step.Unwinding(err) {
					s = "asked the bank"
				} else if err != nil {
					return "", err
				}
				return s, step.Sleep(ctx, time.Hour)
			})
			out, err := r.Finish(t.Context(), func() protocol.Operator { return op }, nil)
			if err != nil || calls != c.calls {
				t.Fatalf("called %d times, %v", calls, err)
			}
			s, _ := out.Message.AsText()
			if c.know != (s == "paid") {
				t.Errorf("got %q", s)
			}
			for _, err := range errs[max(0, len(errs)-2):] { // also on replay
				if !c.know && (!errors.Is(err, step.ErrOutcomeUnknown) || protocol.CodeOf(err) != protocol.CodeToolError || protocol.IsRetryable(err)) {
					t.Errorf("got %v", err)
				}
			}
		})
	}
}

func TestOnceMayWaitWithin(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		kill func(*steptest.Run)
		want string
	}{
		"no kill":                {func(*steptest.Run) {}, "slept"},
		"before it says it left": {func(r *steptest.Run) { r.KillBefore(2) }, "unknown"},
		"after it said so":       {func(r *steptest.Run) { r.KillAfter(2) }, "slept"},
		"begun again":            {func(r *steptest.Run) { r.KillAfter(3) }, "unknown"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := begin(steptest.Config{})
			c.kill(r)
			out, err := r.Finish(t.Context(), func() protocol.Operator {
				return code(func(ctx context.Context) (string, error) {
					s, err := step.Do(ctx, "x", func(ctx context.Context) (string, error) {
						return "slept", step.Sleep(ctx, time.Hour)
					}, step.Once())
					if errors.Is(err, step.ErrOutcomeUnknown) {
						return "unknown", nil
					}
					return s, err
				})
			}, nil)
			if s, _ := out.Message.AsText(); s != c.want || err != nil {
				t.Errorf("got %q, %v", s, err)
			}
		})
	}
}

func TestReleaseWithinOnceIsNoCrash(t *testing.T) {
	t.Parallel()
	r := begin(steptest.Config{})
	op := code(func(ctx context.Context) (string, error) {
		return step.Do(ctx, "x", func(ctx context.Context) (string, error) {
			if _, ok := r.Entry("1.1"); !ok {
				r.Release()
			}
			return step.Do(ctx, "y", func(context.Context) (string, error) { return "done", nil })
		}, step.Once())
	})
	var u *step.Unwind
	if _, err := r.Execute(t.Context(), op); !errors.As(err, &u) || !u.Released {
		t.Fatalf("got %v", err)
	}
	// Released again and again it would get nowhere.
	op = code(func(ctx context.Context) (string, error) {
		return step.Do(ctx, "x", func(ctx context.Context) (string, error) {
			return step.Do(ctx, "y", func(context.Context) (string, error) { return "done", nil })
		}, step.Once())
	})
	if got := text(t, r, op); got != "done" {
		t.Errorf("got %q", got)
	}
}

func TestChangedCode(t *testing.T) {
	t.Parallel()
	do := func(name string) func(context.Context) error {
		return func(ctx context.Context) error {
			_, err := step.Do(ctx, name, func(context.Context) (string, error) { return "x", nil })
			return err
		}
	}
	sleep := func(ctx context.Context) error { return step.Sleep(ctx, time.Millisecond) }
	for name, c := range map[string]struct {
		before, now func(context.Context) error
		text        string
	}{
		"name": {do("a"), do("b"), `step 1: recorded is step "a", asked for is step "b": the operator's code has changed`},
		"kind": {do("sleep"), sleep, `step 1: recorded is step "sleep", asked for is sleep "sleep": the operator's code has changed`},
		"type": {do("a"), func(ctx context.Context) error {
			_, err := step.Do(ctx, "a", func(context.Context) (int, error) { return 0, nil })
			return err
		}, `step 1: the recorded result of "a" is no int: `},
		"within": {
			func(ctx context.Context) error {
				_, err := step.Do(ctx, "outer", func(ctx context.Context) (int, error) {
					if err := do("a")(ctx); err != nil {
						return 0, err
					}
					return 0, step.Sleep(ctx, time.Hour)
				})
				return err
			},
			func(ctx context.Context) error {
				_, err := step.Do(ctx, "outer", func(ctx context.Context) (int, error) {
					_ = do("b")(ctx) // even where the code does not care
					return 0, nil
				})
				return err
			},
			`step 1.1: recorded is step "a", asked for is step "b"`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := begin(steptest.Config{})
			r.KillAfter(1)
			if _, err := r.Execute(t.Context(), code(func(ctx context.Context) (string, error) { return "", c.before(ctx) })); !step.Unwinding(err) {
				t.Fatal(err)
			}
			records := r.Records()
			_, err := r.Execute(t.Context(), code(func(ctx context.Context) (string, error) { return "", c.now(ctx) }))
			if !errors.Is(err, step.ErrChanged) || !strings.Contains(err.Error(), c.text) || r.Records() != records {
				t.Errorf("got %v, %d records", err, r.Records())
			}
			wantCode(t, err, protocol.CodeConflict)
		})
	}
}

func TestAnUnwindThatIsSwallowedStillUnwinds(t *testing.T) {
	t.Parallel()
	r := begin(steptest.Config{})
	w := waits(t, r, code(func(ctx context.Context) (string, error) {
		return step.Do(ctx, "outer", func(ctx context.Context) (string, error) {
			return step.Do(ctx, "inner", func(ctx context.Context) (string, error) {
				if err := step.Sleep(ctx, time.Hour); err != nil {
					return "", errors.New("could not sleep") // its own words
				}
				return "", nil
			})
		})
	}))
	if w.Reason != run.WaitTimer || r.Records() != 0 {
		t.Errorf("got %+v, %d records", w, r.Records())
	}
}
