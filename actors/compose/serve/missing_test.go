package serve_test

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"testing"

	"github.com/skelegent/skelegent-go/actors/compose"
	"github.com/skelegent/skelegent-go/actors/compose/serve"
	"github.com/skelegent/skelegent-go/actors/run"
	"github.com/skelegent/skelegent-go/actors/step"
	"github.com/skelegent/skelegent-go/protocol"
)

// hosting is a journal whose calls need an operator that somebody hosts. Nobody answers until there is an answer.
type hosting struct {
	step.Recorder

	entries map[string]run.Entry
	hosts   []protocol.OperatorID
	begun   []protocol.OperatorID
	answers bool
}

func (h *hosting) Info() step.Info {
	return step.Info{Run: "r1", Left: func() *protocol.Decimal { return nil }}
}

func (h *hosting) Boundary(context.Context) error { return nil }

func (h *hosting) Lookup(_ context.Context, path string) (run.Entry, bool, error) {
	e, ok := h.entries[path]
	return e, ok, nil
}

func (h *hosting) Record(_ context.Context, e run.Entry) error {
	h.entries[e.Path] = e
	return nil
}

func (h *hosting) Call(_ context.Context, e run.Entry, _ protocol.OperatorInput) (run.Entry, error) {
	if _, begun := h.entries[e.Path]; !begun {
		if !slices.Contains(h.hosts, e.Child.Operator) {
			return e, protocol.ErrOperatorNotFound(e.Child.Operator)
		}
		h.begun = append(h.begun, e.Child.Operator)
		h.entries[e.Path] = e
	}
	if !h.answers {
		return e, &step.Unwind{Wait: &run.Wait{Reason: run.WaitChild, Path: e.Path}}
	}
	raw, err := protocol.Marshal(protocol.Reply("done by " + string(e.Child.Operator)))
	e.Begun, e.Result = false, raw
	h.entries[e.Path] = e
	return e, err
}

// Who was passed over since nobody hosted it is not asked when the run goes on, although somebody hosts it by then.
func TestACoordinatorThatGoesOnAsksNobodyElse(t *testing.T) {
	t.Parallel()
	desk, err := serve.Coordinator(nil, serve.CoordinatorConfig{
		Routes: []serve.Route{{Signals: []compose.Signal{"a"}, Operator: "first"}}, Fallback: "clerk",
	})
	if err != nil {
		t.Fatal(err)
	}
	in := protocol.Text("x")
	in.Metadata = json.RawMessage(`{"signals":["a"]}`)
	h := &hosting{entries: map[string]run.Entry{}, hosts: []protocol.OperatorID{"clerk"}}
	var u *step.Unwind
	if _, err := desk.Execute(step.With(t.Context(), h), in); !errors.As(err, &u) {
		t.Fatalf("got %v", err)
	}
	h.hosts, h.answers = append(h.hosts, "first"), true
	out, err := desk.Execute(step.With(t.Context(), h), in)
	if got, _ := out.Message.AsText(); err != nil || got != "done by clerk" || !slices.Equal(h.begun, []protocol.OperatorID{"clerk"}) {
		t.Errorf("got %q, %v, asked %v", got, err, h.begun)
	}
}
