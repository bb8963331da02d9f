package tool_test

import (
	"context"
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/skelegent/skelegent-go/actors/tool"
	"github.com/skelegent/skelegent-go/protocol"
)

func TestAsEffectDeclaresAndDoesNotRun(t *testing.T) {
	t.Parallel()
	below := tool.Func("mail", "Sends mail.", func(context.Context, place) (string, error) {
		t.Error("the tool ran")
		return "", nil
	}, tool.RequiresApprovalIf("to the boss", func(in json.RawMessage) bool { return strings.Contains(string(in), "boss") }))
	x, err := tool.AsEffect(below, "send_mail")
	if err != nil {
		t.Fatal(err)
	}
	m, old := x.Metadata(), below.Metadata()
	if m.Name != old.Name || m.Description != old.Description || string(m.InputSchema) != string(old.InputSchema) ||
		!m.ParallelSafe || !tool.CanRepeat(x) {
		t.Errorf("got %+v", m)
	}
	if _, needed := tool.NeedsApproval(x, json.RawMessage(`{"zone":"boss"}`)); !needed {
		t.Error("the approval of the tool is lost")
	}
	if _, needed := tool.NeedsApproval(x, json.RawMessage(`{"zone":"a"}`)); needed {
		t.Error("approval of a call that needs none")
	}
	ctx := tool.WithRun(t.Context(), tool.Run{IdempotencyKey: "r1/3"})
	res, err := tool.Call(ctx, x, json.RawMessage(`{"zone":"a<b"}`))
	want := tool.Result{
		Output: json.RawMessage(`{"requested":true,"effect":"send_mail"}`),
		Effects: protocol.Effects{protocol.CustomEffect{
			EffectType: "send_mail", Data: json.RawMessage(`{"tool":"mail","input":{"zone":"a<b"},"idempotency_key":"r1/3"}`),
		}},
	}
	if d := cmp.Diff(want, res); d != "" || err != nil {
		t.Errorf("%v %s", err, d)
	}
	_, err = call(t, x, `{"zone":1}`)
	wantKind(t, err, protocol.KindToolInvalidInput)
}

func TestAsEffectRefusals(t *testing.T) {
	t.Parallel()
	for _, effectType := range []string{"", "write_memory"} {
		if _, err := tool.AsEffect(echo(), effectType); protocol.CodeOf(err) != protocol.CodeInvalidInput {
			t.Errorf("%q: got %v", effectType, err)
		}
	}
}
