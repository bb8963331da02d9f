package compose_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"go.uber.org/zap"
	"go.uber.org/zap/zaptest/observer"

	"github.com/skelegent/skelegent-go/actors/compose"
	"github.com/skelegent/skelegent-go/actors/step"
)

// witness notes every moment, and then gives what fails says.
type witness struct {
	fails func(moment string) error
	saw   []string
}

func (w *witness) note(moment string) error {
	w.saw = append(w.saw, moment)
	if w.fails == nil {
		return nil
	}
	return w.fails(moment)
}

func (w *witness) BeforeStep(context.Context, *compose.Investigation) error {
	return w.note("before step")
}

func (w *witness) BeforeSkill(_ context.Context, id string, applies bool, confidence float64) error {
	return w.note(fmt.Sprintf("before %s %v %v", id, applies, confidence))
}

func (w *witness) AfterSkill(_ context.Context, id string, o compose.Outcome, confidence float64) error {
	return w.note(fmt.Sprintf("after %s %v %v", id, o.ConfidenceDelta, confidence))
}

func (w *witness) AfterStep(_ context.Context, r compose.StepResult) error {
	return w.note(fmt.Sprintf("after step %v", r.Concluded))
}

func (w *witness) OnStepError(_ context.Context, err error) error {
	return w.note("error " + err.Error())
}

var _ compose.Lifecycle = (*witness)(nil)

func TestHooksSeeEverySkillAlsoSkippedOnes(t *testing.T) {
	t.Parallel()
	w := &witness{}
	_, err := chain(t, compose.AgentConfig{Hooks: []compose.Lifecycle{w, compose.NopLifecycle{}}}, nil,
		giving("no", compose.Noop(), compose.When("never")),
		giving("a", compose.Delta(0.5).WithNext(compose.Conclude{})), giving("b", compose.Noop())).Step(t.Context(), begin())
	noErr(t, err)
	same(t, "moments", []string{
		"before step", "before no false 0", "before a true 0", "after a 0.5 0.5", "before b false 0.5", "after step true",
	}, w.saw)
}

func TestHooksSeeAFailure(t *testing.T) {
	t.Parallel()
	w := &witness{}
	_, err := chain(t, compose.AgentConfig{Hooks: []compose.Lifecycle{w}}, nil, erring("a", errBoom)).Step(t.Context(), begin())
	wantKind(t, err, compose.KindSkillFailed)
	same(t, "moments", []string{"before step", "before a true 0", "error skill execution failed: boom"}, w.saw)
}

func TestErrorsAndPanicsOfHooksAreLoggedAndNeitherEndNorMask(t *testing.T) {
	t.Parallel()
	for name, fails := range map[string]func(string) error{
		"error": func(string) error { return errors.New("secret") },
		"panic": func(string) error { panic("secret") },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			core, logs := observer.New(zap.DebugLevel)
			bad, good := &witness{fails: fails}, &witness{}
			cfg := compose.AgentConfig{Hooks: []compose.Lifecycle{bad, good}, Logger: zap.New(core)}
			got, err := chain(t, cfg, nil, giving("a", compose.Delta(0.5))).Step(t.Context(), begin())
			noErr(t, err)
			same(t, "run", []string{"a"}, got.SkillsRun)
			same(t, "moments", bad.saw, good.saw)
			same(t, "logged", 4, logs.FilterMessage("lifecycle hook failed").Len())
			for _, l := range logs.All() {
				if strings.Contains(fmt.Sprint(l.ContextMap()), "secret") {
					t.Errorf("the log has %v", l.ContextMap())
				}
			}
			_, err = chain(t, cfg, nil, erring("a", errBoom)).Step(t.Context(), begin())
			if wantKind(t, err, compose.KindSkillFailed); !errors.Is(err, errBoom) {
				t.Errorf("got %v", err)
			}
		})
	}
}

func TestHooksDoNotHideThatARunUnwinds(t *testing.T) {
	t.Parallel()
	unwind := &step.Unwind{Released: true}
	for _, moment := range []string{"before step", "before a", "after a", "after step", "error"} {
		w := &witness{fails: func(m string) error {
			if strings.HasPrefix(m, moment) {
				return unwind
			}
			return nil
		}}
		s := giving("a", compose.Noop())
		if moment == "error" {
			s = erring("a", errBoom)
		}
		got, err := chain(t, compose.AgentConfig{Hooks: []compose.Lifecycle{w}}, nil, s).Step(t.Context(), begin())
		if !step.Unwinding(err) || len(got.SkillsRun) != 0 {
			t.Errorf("%s: got %+v, %v", moment, got, err)
		}
	}
	w := &witness{}
	_, err := chain(t, compose.AgentConfig{Hooks: []compose.Lifecycle{w}}, nil, erring("a", unwind)).Step(t.Context(), begin())
	if same(t, "no failure", []string{"before step", "before a true 0"}, w.saw); !step.Unwinding(err) {
		t.Errorf("got %v", err)
	}
}
