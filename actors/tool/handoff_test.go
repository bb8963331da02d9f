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

func TestHandoff(t *testing.T) {
	t.Parallel()
	x := tool.Handoff("billing.eu", "")
	m := x.Metadata()
	if m.Name != "transfer_to_billing_eu" || m.Description == "" || tool.CheckName(m.Name) != nil || !tool.CanRepeat(x) || tool.Spends(x) {
		t.Errorf("got %+v", m)
	}
	res, err := tool.Call(t.Context(), x, json.RawMessage(`{"reason":"refund \"5\""}`))
	want := tool.Result{
		Output:  json.RawMessage(`{"transferred_to":"billing.eu"}`),
		Effects: protocol.Effects{protocol.Handoff{Operator: "billing.eu", State: json.RawMessage(`{"task":"refund \"5\""}`)}},
	}
	if d := cmp.Diff(want, res); d != "" || err != nil {
		t.Errorf("%v %s", err, d)
	}
	_, err = call(t, x, `{}`)
	wantKind(t, err, protocol.KindToolInvalidInput)
}

func TestNamesOfOperatorsAsTools(t *testing.T) {
	t.Parallel()
	names := map[string]bool{}
	for _, id := range []protocol.OperatorID{
		"a", "ü/x y", protocol.OperatorID(strings.Repeat("l", 100)), protocol.OperatorID(strings.Repeat("l", 101)),
	} {
		for _, x := range []tool.Tool{tool.Handoff(id, "d"), tool.Ask(nil, id, "d")} {
			name := x.Metadata().Name
			if err := tool.CheckName(name); err != nil || names[name] {
				t.Errorf("%s: %v, there before: %v", name, err, names[name])
			}
			names[name] = true
		}
	}
	if !names["ask_a"] || !names["transfer_to_a"] || !names["ask____x_y"] {
		t.Errorf("got %v", names)
	}
}

func TestAskDispatches(t *testing.T) {
	t.Parallel()
	var asked protocol.OperatorID
	x := tool.Ask(protocol.DispatcherFunc(
		func(_ context.Context, id protocol.OperatorID, in protocol.OperatorInput) (protocol.OperatorOutput, error) {
			asked = id
			text, _ := in.Message.AsText()
			return protocol.Reply("heard " + text), nil
		}), "re.searcher", "Asks.")
	if got, err := call(t, x, `{"message":"hi"}`); got != "heard hi" || err != nil || asked != "re.searcher" {
		t.Errorf("%s got %q, %v", asked, got, err)
	}
}

// The sentinel of case B3 of the specification.
func TestHandoffOf(t *testing.T) {
	t.Parallel()
	declared := protocol.Effects{protocol.Handoff{Operator: "x", State: json.RawMessage(`1`)}}
	for name, c := range map[string]struct {
		res   tool.Result
		to    protocol.OperatorID
		state string
	}{
		"sentinel":         {tool.Result{Output: json.RawMessage(`{"__handoff":true,"target":"coder","reason":"a \"b\""}`)}, "coder", `{"task":"a \"b\""}`},
		"no reason":        {tool.Result{Output: json.RawMessage(` {"target":"coder","__handoff":true}`)}, "coder", `{"task":""}`},
		"false":            {tool.Result{Output: json.RawMessage(`{"__handoff":false,"target":"coder","reason":"x"}`)}, "", ""},
		"no target":        {tool.Result{Output: json.RawMessage(`{"__handoff":true,"reason":"x"}`)}, "", ""},
		"target too long":  {tool.Result{Output: json.RawMessage(`{"__handoff":true,"target":"` + strings.Repeat("x", 600) + `"}`)}, "", ""},
		"not a bool":       {tool.Result{Output: json.RawMessage(`{"__handoff":"true","target":"coder"}`)}, "", ""},
		"a text":           {tool.Result{Output: json.RawMessage(`"{\"__handoff\":true,\"target\":\"coder\"}"`)}, "", ""},
		"nothing":          {tool.Result{}, "", ""},
		"declared already": {tool.Result{Output: json.RawMessage(`{"__handoff":true,"target":"coder"}`), Effects: declared}, "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h, ok := tool.HandoffOf(c.res)
			if ok != (c.to != "") || h.Operator != c.to || string(h.State) != c.state {
				t.Errorf("got %v %s %s", ok, h.Operator, h.State)
			}
		})
	}
}

func TestSpends(t *testing.T) {
	t.Parallel()
	ask := tool.Ask(nil, "a", "")
	for name, c := range map[string]struct {
		tool tool.Tool
		want bool
	}{
		"foreign":  {bare{}, false},
		"function": {echo(), false},
		"says so":  {echo(tool.Spending()), true},
		"operator": {tool.FromOperator("x", "", nil, "a"), true},
		"wrapped":  {tool.Approved(tool.Bounded(tool.Alias(ask, "b"), tool.Bounds{})), true},
		"effect":   {tool.Remember(), false},
	} {
		if got := tool.Spends(c.tool); got != c.want {
			t.Errorf("%s: got %v", name, got)
		}
	}
}
