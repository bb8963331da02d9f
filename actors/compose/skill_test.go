package compose_test

import (
	"context"
	"encoding/json"
	"strings"
	"sync"
	"testing"

	"github.com/skelegent/skelegent-go/actors/compose"
	"github.com/skelegent/skelegent-go/protocol"
)

func TestSkillsAreRegisteredByID(t *testing.T) {
	t.Parallel()
	var r compose.Skills
	same(t, "empty", 0, r.Len())
	noErr(t, r.Register(giving("b", compose.Delta(1))))
	noErr(t, r.Register(giving("a", compose.Noop(), compose.Described("It is a."))))
	noErr(t, r.Register(giving("b", compose.Delta(2)))) // replaces
	same(t, "len", 2, r.Len())
	same(t, "descriptors", []compose.Descriptor{{ID: "a", Description: "It is a."}, {ID: "b"}}, r.Descriptors())
	s, err := r.Get("b")
	noErr(t, err)
	o, err := s.Execute(t.Context(), begin(), nil)
	if err != nil || o.ConfidenceDelta != 2 {
		t.Errorf("got %v, %v", o, err)
	}
	_, err = r.Get("nope")
	wantKind(t, err, compose.KindSkillNotFound)
	for _, bad := range []compose.Skill{nil, giving("", compose.Noop()), giving("a b", compose.Noop()), giving(strings.Repeat("x", 257), compose.Noop())} {
		wantKind(t, r.Register(bad), compose.KindInvalidArgument)
	}
	if _, err := compose.NewSkills(nil); err == nil {
		t.Error("a skill that is nil was taken")
	}
}

func TestAChainKeepsItsOrderAndNamesTheFirstMissing(t *testing.T) {
	t.Parallel()
	r, err := compose.NewSkills(giving("a", compose.Noop()), giving("b", compose.Noop()))
	noErr(t, err)
	chain, err := r.Chain("b", "a", "b")
	noErr(t, err)
	var ids []string
	for _, s := range chain {
		ids = append(ids, s.ID())
	}
	same(t, "order", []string{"b", "a", "b"}, ids)
	_, err = r.Chain("a", "x", "y")
	if e := wantKind(t, err, compose.KindSkillNotFound); e.Message != "skill `x` not found in registry" {
		t.Errorf("got %v", e)
	}
}

func TestSkillsAreSafeForConcurrentUse(t *testing.T) {
	t.Parallel()
	var r compose.Skills
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for range 50 {
				if err := r.Register(giving("a", compose.Noop())); err != nil {
					t.Error(err)
				}
				if _, err := r.Chain("a"); err != nil || r.Len() != 1 || len(r.Descriptors()) != 1 {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
}

func TestNewSkillAppliesWhereAllItsConditionsAreMet(t *testing.T) {
	t.Parallel()
	sure := compose.AppliesIf(func(inv *compose.Investigation) bool { return inv.Confidence > 0.5 })
	s := compose.NewSkill("a", func(context.Context, *investigation, *registry) (outcome, error) {
		return compose.Noop(), nil
	}, compose.When("x", "y"), sure)
	for _, c := range []struct {
		signal     compose.Signal
		confidence float64
		want       bool
	}{{"x", 0.6, true}, {"y", 0.6, true}, {"xx", 0.6, false}, {"x", 0.5, false}} {
		inv := begin().WithSignal(c.signal)
		inv.Confidence = c.confidence
		if got := s.Applies(inv); got != c.want {
			t.Errorf("%+v: got %v", c, got)
		}
	}
	if !giving("a", compose.Noop()).Applies(begin()) {
		t.Error("a skill without conditions does not apply")
	}
}

func TestOutcomes(t *testing.T) {
	t.Parallel()
	o := compose.Delta(0.1).WithDelta(0.2).WithNext(compose.RunSkill{ID: "a"})
	one, two := o.WithNext(compose.Conclude{}), o.WithNext(compose.Discard{})
	same(t, "one", []compose.NextAction{compose.RunSkill{ID: "a"}, compose.Conclude{}}, one.NextActions)
	same(t, "two", []compose.NextAction{compose.RunSkill{ID: "a"}, compose.Discard{}}, two.NextActions)
	raw, err := protocol.Marshal(one)
	noErr(t, err)
	same(t, "json", `{"confidence_delta":0.2,"next_actions":[{"RunSkill":"a"},"Conclude"]}`, string(raw))
	var back compose.Outcome
	noErr(t, json.Unmarshal(raw, &back))
	same(t, "back", one, back)
	raw, err = protocol.Marshal(compose.Noop())
	noErr(t, err)
	same(t, "noop", `{"confidence_delta":0,"next_actions":[]}`, string(raw))
	wantKind(t, back.UnmarshalJSON([]byte(`{"confidence_delta":1}`)), compose.KindSerialization)
}
