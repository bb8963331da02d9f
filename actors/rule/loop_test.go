package rule_test

import (
	"strconv"
	"strings"
	"testing"

	"github.com/skelegent/skelegent-go/actors/agent"
	"github.com/skelegent/skelegent-go/actors/engine"
	"github.com/skelegent/skelegent-go/actors/rule"
	"github.com/skelegent/skelegent-go/actors/step/steptest"
	"github.com/skelegent/skelegent-go/actors/tool"
	"github.com/skelegent/skelegent-go/protocol"
)

// answers makes an answer of each group of inputs, and ends.
func answers(groups ...[]string) (all []protocol.InferResponse) {
	for i, inputs := range groups {
		var calls []protocol.ToolCall
		for j, in := range inputs {
			name := "work"
			if first, rest, ok := strings.Cut(in, " "); ok && !strings.HasPrefix(in, "{") {
				name, in = first, rest
			}
			calls = append(calls, uses("c"+strconv.Itoa(i)+strconv.Itoa(j), name, in))
		}
		all = append(all, says("turn", calls...))
	}
	return append(all, says("done"))
}

func TestLoopDetector(t *testing.T) {
	t.Parallel()
	again := []string{`{"a":1,"b":[2.50]}`}
	for name, c := range map[string]struct {
		rules   []engine.Rule
		answers []protocol.InferResponse
		exit    string
		made    int
		warned  int
	}{
		"three times":        {rule.LoopDetector(3), answers(again, again, again), "custom: stuck_detected", 2, 0},
		"written otherwise":  {rule.LoopDetector(3), answers(again, []string{"{ \"b\": [2.50],\n\"a\":1}"}, again), "custom: stuck_detected", 2, 0},
		"twice":              {rule.LoopDetector(3), answers(again, again), "complete", 2, 0},
		"interrupted":        {rule.LoopDetector(3), answers(again, again, []string{`{}`}, again, again), "complete", 5, 0},
		"another number":     {rule.LoopDetector(2), answers([]string{`{"n":9007199254740993}`}, []string{`{"n":9007199254740992}`}), "complete", 2, 0},
		"another tool":       {rule.LoopDetector(2), answers([]string{`work {}`}, []string{`look {}`}), "complete", 2, 0},
		"in one answer":      {rule.LoopDetector(2), answers([]string{`{}`, `{}`}), "custom: stuck_detected", 0, 0},
		"never less than 2":  {rule.LoopDetector(0), answers(again, again), "custom: stuck_detected", 1, 0},
		"ignored":            {rule.LoopDetector(2, rule.Ignoring("work")), answers(again, again, again), "complete", 3, 0},
		"ignored in between": {rule.LoopDetector(2, rule.Ignoring("look")), answers(again, []string{`look {}`}, again), "custom: stuck_detected", 2, 0},
		"warned":             {rule.LoopDetector(3, rule.WarnFirst()), answers(again, again, again), "custom: stuck_detected", 2, 1},
		"warned and heard":   {rule.LoopDetector(3, rule.WarnFirst()), answers(again, again, []string{`{}`}), "complete", 3, 1},
		"no time to warn":    {rule.LoopDetector(2, rule.WarnFirst()), answers(again, again), "custom: stuck_detected", 1, 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w, m, s := &work{}, &model{answers: c.answers}, &sink{}
			a := build(t, agent.Config{Provider: m, Tools: []tool.Tool{w.tool(t, "work"), w.tool(t, "look")}, Rules: c.rules})
			out, err := a.Execute(s.watch(t.Context()), protocol.Text("go"))
			if err != nil {
				t.Fatal(err)
			}
			last := shape(m.asks[len(m.asks)-1])
			if wantExit(t, out, c.exit); len(w.inputs) != c.made || strings.Count(last, "Do not call it so again") != c.warned {
				t.Errorf("%d made, asked %s", len(w.inputs), last)
			}
			if c.warned > 0 && !strings.Contains(last, `tool:ok|user:You have called "work" with the same input 2 times in a row`) {
				t.Errorf("the warning is not behind the result: %s", last)
			}
			if told := strings.Contains(s.all(), `"type":"loop_detected"`); told != (c.exit != "complete") {
				t.Errorf("told: %v", told)
			}
		})
	}
}

func TestLoopDetectedEvent(t *testing.T) {
	t.Parallel()
	w, s := &work{}, &sink{}
	a := build(t, agent.Config{
		Provider: &model{answers: answers([]string{`{}`}, []string{`{}`})}, Tools: []tool.Tool{w.tool(t, "work")}, Rules: rule.LoopDetector(2),
	})
	if _, err := a.Execute(s.watch(t.Context()), protocol.Text("go")); err != nil {
		t.Fatal(err)
	}
	want := `observation {"key":"budget","value":{"type":"loop_detected","operator":"op","operator_name":"work","consecutive_count":2,"max":2}}`
	if !strings.Contains(s.all(), want) {
		t.Errorf("got %s", s.all())
	}
}

// However a run is killed, the detector counts the same, warns at the same place and ends it the same.
func TestLoopDetectorIsReplayed(t *testing.T) {
	t.Parallel()
	same := []string{`{}`}
	var want []string
	records := 0
	check := func(t *testing.T, kill func(*steptest.Run)) {
		t.Helper()
		w, m := &work{}, &model{answers: answers(same, same, same)}
		r, out := durable(t, kill, func() agent.Config {
			return agent.Config{Provider: m, Tools: []tool.Tool{w.tool(t, "work")}, Rules: rule.LoopDetector(3, rule.WarnFirst())}
		})
		wantExit(t, out, "custom: stuck_detected")
		if kill == nil {
			want, records = m.last, r.Records()
			return
		}
		for turn, ask := range m.last {
			if ask != want[turn] {
				t.Errorf("turn %d was asked otherwise: %s", turn, ask)
			}
		}
		if len(m.last) != len(want) || len(w.inputs) > 3 {
			t.Errorf("%d turns, %d calls", len(m.last), len(w.inputs))
		}
	}
	check(t, nil)
	if records != 5 || len(want) != 3 || !strings.Contains(want[2], "Do not call it so again") {
		t.Fatalf("%d records, asked %v", records, want)
	}
	for name, kill := range steptest.Kills(records) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			check(t, kill)
		})
	}
}
