package compose_test

import (
	"testing"

	"github.com/skelegent/skelegent-go/actors/compose"
)

// named is an agent with one skill that adds that much.
func named(t *testing.T, name string, delta float64) compose.Agent {
	t.Helper()
	skills, err := compose.NewSkills(giving("s."+name, compose.Delta(delta)))
	noErr(t, err)
	a, err := compose.NewAgent(name, skills, nil, compose.AgentConfig{Skills: []string{"s." + name}})
	noErr(t, err)
	return a
}

func TestTheFirstMatchingRuleWinsAndConfidenceRises(t *testing.T) {
	t.Parallel()
	c := compose.NewCoordinator(compose.CoordinatorConfig{
		Name: "front", Specialists: []compose.Agent{named(t, "net", 0.25), named(t, "disk", 0.5)},
		Rules: []compose.Rule{
			{Agent: "disk"}, // without signals it matches nothing
			{Agent: "net", Signals: []compose.Signal{"a", "b"}},
			{Agent: "disk", Signals: []compose.Signal{"b"}},
		},
	})
	inv := begin().WithSignal("x").WithSignal("b")
	got, err := c.Step(t.Context(), inv)
	noErr(t, err)
	same(t, "result", compose.StepResult{SkillsRun: []string{"s.net"}, SkillsSkipped: []string{}, Confidence: 0.25}, got)
	same(t, "confidence", 0.25, inv.Confidence)
	if c.Name() != "front" || c.ID() == "" {
		t.Errorf("got %q %q", c.Name(), c.ID())
	}
}

func TestRouting(t *testing.T) {
	t.Parallel()
	exists := func(name string) bool { return name == "a" || name == "b" }
	rules := []compose.Rule{
		{Agent: "unknown", Signals: []compose.Signal{"x"}},
		{Agent: "a", Signals: []compose.Signal{"x"}},
		{Agent: "b", Signals: []compose.Signal{"x", "y"}},
	}
	for name, c := range map[string]struct {
		signals  []compose.Signal
		fallback string
		want     string
	}{
		"an unknown specialist is passed over": {[]compose.Signal{"x"}, "", "a"},
		"a later rule":                         {[]compose.Signal{"y"}, "a", "b"},
		"the fallback":                         {[]compose.Signal{"z"}, "b", "b"},
		"an unknown fallback":                  {[]compose.Signal{"z"}, "unknown", ""},
		"nobody":                               {nil, "", ""},
	} {
		got, ok := compose.Route(rules, c.signals, exists, c.fallback)
		if got != c.want || ok != (c.want != "") {
			t.Errorf("%s: got %q, %v", name, got, ok)
		}
	}
}

func TestACoordinatorSkipsUnknownSpecialistsAndFallsBack(t *testing.T) {
	t.Parallel()
	c := compose.NewCoordinator(compose.CoordinatorConfig{
		Specialists: []compose.Agent{named(t, "net", 0.1), nil, named(t, "net", 0.5), named(t, "rest", 0.9)}, // the later net counts
		Rules:       []compose.Rule{{Agent: "gone", Signals: []compose.Signal{"x"}}, {Agent: "net", Signals: []compose.Signal{"x"}}},
		Fallback:    "rest",
	})
	for signal, want := range map[compose.Signal]float64{"x": 0.5, "y": 0.9} {
		got, err := c.Step(t.Context(), begin().WithSignal(signal))
		if err != nil || got.Confidence != want {
			t.Errorf("%s: got %+v, %v", signal, got, err)
		}
	}
}

func TestACoordinatorWithoutAnybodyDoesNothing(t *testing.T) {
	t.Parallel()
	c := compose.NewCoordinator(compose.CoordinatorConfig{})
	inv := begin()
	inv.Confidence = 0.7
	got, err := c.Step(t.Context(), inv)
	noErr(t, err)
	same(t, "result", compose.StepResult{SkillsRun: []string{}, SkillsSkipped: []string{}, Confidence: 0.7}, got)
	if a, ok := c.Route(inv); a != nil || ok {
		t.Errorf("got %v", a)
	}
	_, err = c.Step(t.Context(), nil)
	wantKind(t, err, compose.KindInvalidArgument)
}

// What the specialist adds is not looked at: the second rule would match then.
func TestACoordinatorMakesOneHop(t *testing.T) {
	t.Parallel()
	raising := chain(t, compose.AgentConfig{}, nil, erring("s", nil)) // raises touched
	c := compose.NewCoordinator(compose.CoordinatorConfig{
		Specialists: []compose.Agent{raising, named(t, "next", 0.5)},
		Rules: []compose.Rule{
			{Agent: "triage", Signals: []compose.Signal{"x"}}, {Agent: "next", Signals: []compose.Signal{"touched"}},
		},
	})
	got, err := c.Step(t.Context(), begin().WithSignal("x"))
	noErr(t, err)
	same(t, "run", []string{"s"}, got.SkillsRun)
}

func TestTheErrorOfASpecialistIsTheCoordinators(t *testing.T) {
	t.Parallel()
	c := compose.NewCoordinator(compose.CoordinatorConfig{
		Specialists: []compose.Agent{chain(t, compose.AgentConfig{}, nil, erring("s", errBoom))}, Fallback: "triage",
	})
	_, err := c.Step(t.Context(), begin())
	wantKind(t, err, compose.KindSkillFailed)
}

func TestACoordinatorIsASpecialistOfAnother(t *testing.T) {
	t.Parallel()
	inner := compose.NewCoordinator(compose.CoordinatorConfig{Name: "inner", Specialists: []compose.Agent{named(t, "a", 0.5)}, Fallback: "a"})
	outer := compose.NewCoordinator(compose.CoordinatorConfig{Name: "outer", Specialists: []compose.Agent{inner}, Fallback: "inner"})
	if got, err := outer.Step(t.Context(), begin()); err != nil || got.Confidence != 0.5 {
		t.Errorf("got %+v, %v", got, err)
	}
}
