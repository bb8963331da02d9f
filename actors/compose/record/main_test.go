package record_test

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"github.com/skelegent/skelegent-go/actors/agent"
	"github.com/skelegent/skelegent-go/actors/agenttest"
	"github.com/skelegent/skelegent-go/actors/compose/record"
	"github.com/skelegent/skelegent-go/actors/engine"
	"github.com/skelegent/skelegent-go/actors/tool"
	"github.com/skelegent/skelegent-go/protocol"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

type city struct {
	City string `json:"city"`
}

func weather(opts ...tool.Option) tool.Tool {
	return tool.Func("get_weather", "Tells the weather.", func(_ context.Context, in city) (map[string]any, error) {
		if in.City == "Nowhere" {
			return nil, protocol.ErrToolFailed("there is no such city")
		}
		return map[string]any{"city": in.City, "sky": "drizzle", "celsius": 11.5}, nil
	}, append([]tool.Option{tool.Repeatable(), tool.ParallelSafe()}, opts...)...)
}

func note() tool.Tool {
	return tool.Effect("note", "", func(_ context.Context, in city) (string, protocol.Effects, error) {
		return "noted", protocol.Effects{protocol.WriteMemory{Scope: protocol.GlobalScope(), Key: "city", Value: json.RawMessage(`"` + in.City + `"`)}}, nil
	})
}

// forbidden is a tool that a replay must not call.
func forbidden(t testing.TB, like tool.Tool) tool.Tool {
	t.Helper()
	x, err := tool.Raw(like.Metadata(), func(context.Context, json.RawMessage) (tool.Result, error) {
		t.Error("a replay called a tool")
		return tool.Result{}, nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return x
}

// recorded is a run of a model with two tools, and the config to replay it with.
func recorded(t testing.TB, cfg agent.Config, steps ...agenttest.Step) (*record.Run, agent.Config) {
	t.Helper()
	replay := cfg
	replay.Tools = nil
	for _, x := range cfg.Tools {
		replay.Tools = append(replay.Tools, forbidden(t, x))
	}
	cfg.Provider = agenttest.NewModel(t, steps...)
	rec := record.New("assistant")
	if _, err := rec.Execute(t.Context(), cfg, protocol.Text("What is the weather in Berlin?")); err != nil {
		t.Logf("the run failed: %v", err)
	}
	return again(t, rec.Run()), replay
}

// again is the run as a file has it.
func again(t testing.TB, r *record.Run) *record.Run {
	t.Helper()
	raw, err := r.Encode()
	if err != nil {
		t.Fatal(err)
	}
	back, err := record.Decode(raw)
	if err != nil {
		t.Fatal(err)
	}
	second, err := back.Encode()
	if err != nil || string(second) != string(raw) {
		t.Fatalf("%s\nbecame\n%s\n%v", raw, second, err)
	}
	return back
}

func replay(t testing.TB, r *record.Run, cfg agent.Config) *record.Difference {
	t.Helper()
	d, err := record.Replay(t.Context(), r, cfg)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func wantSame(t testing.TB, r *record.Run, cfg agent.Config) {
	t.Helper()
	if d := replay(t, r, cfg); d != nil {
		t.Errorf("it differs: %s", d)
	}
}

func wantDifference(t testing.TB, r *record.Run, cfg agent.Config, want record.Difference) {
	t.Helper()
	d := replay(t, r, cfg)
	if d == nil || *d != want {
		t.Errorf("got %v, want %v", d, &want)
	}
}

func rule(trigger func(op, name string, priority int, action engine.Op) engine.Rule, op string, f func(c *engine.Context) error) engine.Rule {
	return trigger(op, "test", 0, engine.OpFunc("test", func(_ context.Context, c *engine.Context) error { return f(c) }))
}

func names(r *record.Run) string {
	var all []string
	for _, x := range r.Results() {
		all = append(all, x.Name)
	}
	return strings.Join(all, " ")
}

var agentConfig agent.Config

func tools(all ...tool.Tool) []tool.Tool { return slices.Clone(all) }
