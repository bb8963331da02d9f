package manifest_test

import (
	"testing"

	"github.com/skelegent/skelegent-go/protocol"
	"github.com/skelegent/skelegent-go/state/memory"
)

// What is remembered goes to the scope of the session, without one to that of the operator. The run itself and later ones
// see it.
func TestRememberAndRecall(t *testing.T) {
	t.Parallel()
	store := memory.New(memory.Config{})
	l := newLLM(t, func(_ *llm, c chat) reply {
		if c.last().Role == "tool" {
			if c.user() == "recall" || c.sinceUser() > 2 {
				return say(c.last().Content)
			}
			return use("recall", `{"key":"drink"}`)
		}
		if c.user() == "recall" {
			return use("recall", `{"key":"drink"}`)
		}
		return use("remember", `{"key":"drink","value":"`+c.user()+`"}`)
	})
	conn := bed(t, provider+"  a: {provider: main, model: m, tools: [remember, recall]}\n  b: {provider: main, model: m, tools: [recall]}\n",
		bedConfig{model: l, state: store})
	done := outcomes(t, conn)
	in := func(text, session string) protocol.OperatorInput {
		if session == "" {
			return protocol.Text(text)
		}
		return protocol.Text(text).WithSession(protocol.SessionID(session))
	}
	const missing = `{"key":"drink","found":false,"value":null}`
	found := func(v string) string { return `{"key":"drink","found":true,"value":"` + v + `"}` }
	for i, step := range []struct {
		operator      protocol.OperatorID
		session, text string
		want          string
	}{
		{"a", "s.1", "recall", missing},
		{"a", "s.1", "tea", found("tea")}, // its own write, not yet performed
		{"a", "s.1", "recall", found("tea")},
		{"a", "s.2", "recall", missing},
		{"b", "s.1", "recall", found("tea")}, // a session is of all operators
		{"a", "", "recall", missing},
		{"a", "", "milk", found("milk")},
		{"a", "", "recall", found("milk")},
		{"b", "", "recall", missing}, // of another operator
		{"a", "s.1", "water", found("water")},
		{"a", "s.1", "recall", found("water")},
	} {
		out := dispatch(t, conn, step.operator, in(step.text, step.session))
		if got := textOf(t, out); got != step.want {
			t.Errorf("step %d: %s, want %s", i+1, got, step.want)
		}
		if step.text == "recall" {
			continue
		}
		if o := done(); len(o) != 1 || o[0].Status != protocol.OutcomeOK {
			t.Fatalf("step %d: outcomes = %+v", i+1, o)
		}
		scope := protocol.OfOperator("", step.operator)
		if step.session != "" {
			scope = protocol.InSession(protocol.SessionID(step.session))
		}
		if v, err := store.Read(testContext(t), scope, "drink"); err != nil || string(v) != `"`+step.text+`"` {
			t.Errorf("step %d: stored %s, %v", i+1, v, err)
		}
	}
}
