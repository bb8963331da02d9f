package serve_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/skelegent/skelegent-go/actors/agenttest"
	"github.com/skelegent/skelegent-go/actors/compose"
	"github.com/skelegent/skelegent-go/actors/compose/serve"
	"github.com/skelegent/skelegent-go/protocol"
)

func TestSignalsOfAnInput(t *testing.T) {
	t.Parallel()
	list := func(n int, signal string) string {
		return `{"signals":[` + strings.TrimSuffix(strings.Repeat(`"`+signal+`",`, n), ",") + `]}`
	}
	for name, c := range map[string]struct {
		metadata string
		n        int
		refused  bool
	}{
		"none": {``, 0, false}, "null": {`null`, 0, false}, "something else": {`[1]`, 0, false}, "some": {`{"signals":["a","a"]}`, 2, false},
		"no list": {`{"signals":"a"}`, 0, true}, "no text": {`{"signals":[1]}`, 0, true},
		"as many as may be": {list(1000, "a"), 1000, false}, "too many": {list(1001, "a"), 0, true},
		"too long": {list(1, strings.Repeat("a", 1025)), 0, true},
	} {
		in := protocol.Text("x")
		in.Metadata = []byte(c.metadata)
		got, err := serve.Signals(in)
		if len(got) != c.n || (err != nil) != c.refused || err != nil && compose.KindOf(err) != compose.KindInvalidArgument {
			t.Errorf("%s: got %d, %v", name, len(got), err)
		}
	}
}

// What an operator said that did not complete is no result of a workflow.
func TestAnOperatorThatDoesNotCompleteFailsItsWorkflow(t *testing.T) {
	t.Parallel()
	half := protocol.OperatorFunc(func(context.Context, protocol.OperatorInput) (protocol.OperatorOutput, error) {
		out := protocol.Reply("half of it")
		out.ExitReason = protocol.Exit(protocol.ExitBudgetExhausted)
		return out, nil
	})
	d := agenttest.Operators(map[protocol.OperatorID]protocol.Operator{"half": half})
	got, err := serve.Operator[string, string](d, "half").Run(t.Context(), "x")
	if got != "" || compose.KindOf(err) != compose.KindToolFailed || !strings.Contains(err.Error(), "budget_exhausted") {
		t.Errorf("got %q, %v", got, err)
	}
}

// Where the time of a run ends that is its error, whatever a skill makes of it.
func TestTheEndOfAChainsTimeIsItsError(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	skills, err := compose.NewSkills(compose.NewSkill("s", func(context.Context, *compose.Investigation, *compose.Tools) (compose.Outcome, error) {
		cancel()
		return compose.Outcome{}, errors.New("something went wrong")
	}))
	if err != nil {
		t.Fatal(err)
	}
	a, err := compose.NewAgent("a", skills, nil, compose.AgentConfig{Skills: []string{"s"}})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := serve.Chain(a, serve.ChainConfig{}).Execute(ctx, protocol.Text("x")); protocol.CodeOf(err) != protocol.CodeCancelled {
		t.Errorf("got %v", err)
	}
}
