package rule_test

import (
	"context"
	"slices"
	"strings"
	"testing"

	"github.com/skelegent/skelegent-go/actors/agent"
	"github.com/skelegent/skelegent-go/actors/engine"
	"github.com/skelegent/skelegent-go/actors/rule"
	"github.com/skelegent/skelegent-go/actors/step/steptest"
	"github.com/skelegent/skelegent-go/actors/tool"
	"github.com/skelegent/skelegent-go/protocol"
)

// There is one reminder of a kind behind all else, and the system prompt is what it was.
func TestRemind(t *testing.T) {
	t.Parallel()
	w, m := &work{}, &model{answers: answers([]string{`{"n":1}`}, []string{`{"n":2}`})}
	var left []int
	see := engine.After(engine.OpExitCheck, "see", 0, engine.OpFunc("see", func(_ context.Context, c *engine.Context) error {
		left = append(left, strings.Count(shape(protocol.InferRequest{Messages: c.Messages()}), "secret"))
		return nil
	}))
	rules := slices.Concat(rule.Remind("Keep it secret."), rule.Remind("Be brief."), []engine.Rule{see})
	execute(t, agent.Config{Provider: m, System: "You are kind.", Tools: []tool.Tool{w.tool(t, "work")}, Rules: rules})
	for i, want := range []string{
		"user:go",
		"user:go|assistant:turn(work)|tool:ok|user:Keep it secret.|user:Be brief.",
		"user:go|assistant:turn(work)|tool:ok|assistant:turn(work)|tool:ok|user:Keep it secret.|user:Be brief.",
	} {
		if got := shape(m.asks[i]); got != want || m.asks[i].System != "You are kind." {
			t.Errorf("turn %d: got %s under %q", i, got, m.asks[i].System)
		}
	}
	if !slices.Equal(left, []int{0, 0, 0}) {
		t.Errorf("reminders are left: %v", left)
	}
}

func TestRemindIsReplayed(t *testing.T) {
	t.Parallel()
	var want []string
	records := 0
	check := func(t *testing.T, kill func(*steptest.Run)) {
		t.Helper()
		w, m := &work{}, &model{answers: answers([]string{`{"n":1}`}, []string{`{"n":2}`, `{"n":3}`})}
		r, out := durable(t, kill, func() agent.Config {
			return agent.Config{Provider: m, Tools: []tool.Tool{w.tool(t, "work")}, Rules: rule.Remind("Be brief.")}
		})
		wantExit(t, out, "complete")
		if kill == nil {
			want, records = m.last, r.Records()
			return
		}
		if !slices.Equal(m.last, want) {
			t.Errorf("asked otherwise: %v", m.last)
		}
	}
	check(t, nil)
	if records != 6 || len(want) != 3 || strings.Count(want[2], "Be brief.") != 1 {
		t.Fatalf("%d records, asked %v", records, want)
	}
	for name, kill := range steptest.Kills(records) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			check(t, kill)
		})
	}
}
