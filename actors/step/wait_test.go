package step_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/skelegent/skelegent-go/actors/run"
	"github.com/skelegent/skelegent-go/actors/step"
	"github.com/skelegent/skelegent-go/actors/step/steptest"
	"github.com/skelegent/skelegent-go/protocol"
)

func TestSleep(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := begin(steptest.Config{})
		start := time.Now()
		op := code(func(ctx context.Context) (string, error) {
			if err := step.Sleep(ctx, time.Second); err != nil {
				return "", err
			}
			return "rested", step.Sleep(ctx, time.Hour)
		})
		w := waits(t, r, op)
		want := run.Wait{Reason: run.WaitTimer, Path: "2", Timers: []run.Due{{Path: "2", At: start.Add(time.Hour + time.Second)}}}
		if d := cmp.Diff(want, w, cmp.Comparer(time.Time.Equal)); d != "" || time.Since(start) != time.Second {
			t.Errorf("%s after %v", d, time.Since(start))
		}
		if path := r.Fire(); path != "2" || text(t, r, op) != "rested" {
			t.Errorf("fired %q", path)
		}
	})
}

func TestSleepEndsWithItsContext(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
		defer cancel()
		r := begin(steptest.Config{})
		_, err := r.Execute(ctx, code(func(ctx context.Context) (string, error) { return "", step.Sleep(ctx, time.Second) }))
		if !errors.Is(err, context.DeadlineExceeded) || r.Records() != 0 {
			t.Errorf("got %v, %d records", err, r.Records())
		}
	})
}

func TestAwait(t *testing.T) {
	t.Parallel()
	type answer struct {
		OK bool `json:"ok"`
	}
	as := func(v any, err error) string { return fmt.Sprintf("%+v %v", v, err) }
	str := func(ctx context.Context) string { return as(step.Await[string](ctx, "answer")) }
	object := func(ctx context.Context) string { return as(step.Await[answer](ctx, "answer")) }
	raw := func(ctx context.Context) string {
		v, err := step.Await[json.RawMessage](ctx, "answer")
		return as(string(v), err)
	}
	for name, c := range map[string]struct {
		body  any
		await func(context.Context) string
		want  string
	}{
		"text":           {"yes", str, "yes <nil>"},
		"object":         {answer{true}, object, "{OK:true} <nil>"},
		"raw":            {answer{true}, raw, `{"ok":true} <nil>`},
		"nothing":        {nil, raw, "null <nil>"},
		"no text":        {nil, str, " <nil>"},
		"not an object":  {"yes", object, "{OK:false} signal answer: json: cannot unmarshal string into Go value of type step_test.answer"},
		"not a text":     {answer{true}, str, " signal answer: json: cannot unmarshal object into Go value of type string"},
		"malformed body": {json.RawMessage(`{"ok":1}`), object, "{OK:false} signal answer: json: cannot unmarshal number into Go struct field answer.ok of type bool"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := begin(steptest.Config{})
			op := code(func(ctx context.Context) (string, error) {
				got := c.await(ctx)
				if strings.Contains(got, "suspended") {
					return "", &step.Unwind{Wait: &run.Wait{Reason: run.WaitSignal, Signals: []string{"answer"}}}
				}
				return got, step.Sleep(ctx, time.Hour)
			})
			waits(t, r, op)
			r.Signal("other", "no")
			if w := waits(t, r, op); w.Reason != run.WaitSignal {
				t.Fatalf("resumed by another signal: %+v", w)
			}
			r.Signal("answer", c.body)
			waits(t, r, op)
			r.Fire()
			if got := text(t, r, op); got != c.want { // read from the log
				t.Errorf("got  %s\nwant %s", got, c.want)
			}
		})
	}
}

func TestAwaitTakesEachSignalOnce(t *testing.T) {
	t.Parallel()
	r := begin(steptest.Config{})
	op := code(func(ctx context.Context) (string, error) {
		var all []string
		for len(all) < 3 {
			s, err := step.Await[string](ctx, "word")
			switch {
			case protocol.CodeOf(err) == protocol.CodeInvalidInput:
				s = "(" + string(protocol.CodeOf(err)) + ")" // told once, and the run goes on
			case err != nil:
				return "", err
			}
			all = append(all, s)
		}
		return strings.Join(all, " "), nil
	})
	r.Signal("word", "a") // before anybody waits for it
	waits(t, r, op)
	r.Signal("word", 5)
	r.Signal("word", "b")
	if got := text(t, r, op); got != "a (invalid_input) b" {
		t.Errorf("got %q", got)
	}
}

func TestAwaitDeadline(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		happen func(r *steptest.Run, due time.Time)
		want   string
	}{
		"expired":                 {func(r *steptest.Run, _ time.Time) { r.Fire() }, "expired"},
		"in time":                 {func(r *steptest.Run, due time.Time) { r.SignalAt("x", "ok", due) }, "ok"},
		"in time, heard late":     {func(r *steptest.Run, due time.Time) { r.Fire(); r.SignalAt("x", "ok", due.Add(-1)) }, "ok"},
		"late, before the timer":  {func(r *steptest.Run, due time.Time) { r.SignalAt("x", "ok", due.Add(1)) }, "expired"},
		"late and in time":        {func(r *steptest.Run, due time.Time) { r.SignalAt("x", "ok", due); r.SignalAt("x", "no", due.Add(1)) }, "ok"},
		"late, behind the timer":  {func(r *steptest.Run, due time.Time) { r.Fire(); r.SignalAt("x", "ok", due.Add(1)) }, "expired"},
		"what is left is another": {func(r *steptest.Run, due time.Time) { r.SignalAt("x", "next", due.Add(1)) }, "expired"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := begin(steptest.Config{})
			op := code(func(ctx context.Context) (string, error) {
				s, err := step.Await[string](ctx, "x", step.Deadline(time.Hour))
				if errors.Is(err, step.ErrExpired) {
					s, err = "expired", nil
				}
				if err != nil {
					return "", err
				}
				return s, step.Sleep(ctx, 2*time.Hour)
			})
			w := waits(t, r, op)
			c.happen(r, w.Timers[0].At)
			waits(t, r, op)
			// The recorded decision is final.
			r.SignalAt("x", "too late to matter", w.Timers[0].At.Add(-2))
			r.Fire()
			if got := text(t, r, op); got != c.want {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
}

func TestExpiredIsNoFailureThatPasses(t *testing.T) {
	t.Parallel()
	r := begin(steptest.Config{})
	op := code(func(ctx context.Context) (string, error) {
		return step.Await[string](ctx, "x", step.Deadline(time.Minute))
	})
	waits(t, r, op)
	r.Fire()
	_, err := r.Execute(t.Context(), op)
	if !errors.Is(err, step.ErrExpired) || protocol.IsRetryable(err) || r.Fold().Open != nil {
		t.Errorf("got %v, open %v", err, r.Fold().Open)
	}
	wantCode(t, err, protocol.CodeTimeout)
}

func TestAwaitRefusesReservedSignals(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"", "cancel", "pause", "resume", "approve", "deny", strings.Repeat("x", 129)} {
		_, err := begin(steptest.Config{}).Execute(t.Context(), code(func(ctx context.Context) (string, error) {
			return step.Await[string](ctx, name)
		}))
		wantCode(t, err, protocol.CodeInvalidInput)
	}
}
