package actors_test

import (
	"context"
	"encoding/json"
	"testing"

	"github.com/skelegent/skelegent-go/actors"
	"github.com/skelegent/skelegent-go/actors/effect"
	"github.com/skelegent/skelegent-go/actors/step"
	"github.com/skelegent/skelegent-go/bus"
	"github.com/skelegent/skelegent-go/protocol"
)

// Who takes the effects of a run has them in its output, and nobody performs them but for him: with a log and without, asked
// over the bus and as a child.
func TestEffectsAreTheCallers(t *testing.T) {
	t.Parallel()
	_, conn := server(t)
	n := node(t, conn, actors.Config{})
	mailed := make(chan string, 10)
	mail := effect.Func(func(_ context.Context, r effect.Request) error {
		mailed <- r.ID
		return nil
	})
	if err := n.RegisterEffect("mail", mail, effect.Options{}); err != nil {
		t.Fatal(err)
	}
	sends := declares(protocol.CustomEffect{EffectType: "mail", Data: json.RawMessage(`{}`)})
	parent := protocol.OperatorFunc(func(ctx context.Context, _ protocol.OperatorInput) (protocol.OperatorOutput, error) {
		out, err := step.Call(ctx, "child", "durable", protocol.Text("go"), step.TakeEffects())
		return protocol.OperatorOutput{Message: protocol.TextContent("took"), Effects: out.Effects}, err
	})
	for id, op := range map[protocol.OperatorID]protocol.Operator{"durable": sends, "ephemeral": sends, "parent": parent} {
		var opts []actors.Option
		if id != "ephemeral" {
			opts = append(opts, actors.Durable())
		}
		if err := n.Register(id, op, opts...); err != nil {
			t.Fatal(err)
		}
	}
	start(t, n)
	d := bus.NewDispatcher(conn)
	for _, id := range []protocol.OperatorID{"durable", "ephemeral"} {
		out, err := d.Dispatch(protocol.WithCall(testContext(t), protocol.Call{Run: "taken-" + protocol.RunID(id), TakeEffects: true}), id, protocol.Text("go"))
		if err != nil || len(out.Effects) != 1 {
			t.Errorf("%s: %+v, %v", id, out, err)
		}
	}
	// Those of the parent come last: what was performed before is not behind it.
	out, err := d.Dispatch(protocol.WithCall(testContext(t), protocol.Call{Run: "r1"}), "parent", protocol.Text("go"))
	if err != nil || len(out.Effects) != 1 {
		t.Fatalf("%+v, %v", out, err)
	}
	if got := wait(t, mailed); got != "parent/r1/custom.mail/1/1" && got != "parent/r1/mail/1/1" {
		t.Errorf("performed %s", got)
	}
	emptyEffects(t, conn)
	select {
	case id := <-mailed:
		t.Errorf("also performed %s", id)
	default:
	}
}
