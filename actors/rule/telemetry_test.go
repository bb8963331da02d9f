package rule_test

import (
	"encoding/json"
	"strings"
	"testing"

	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
	"go.uber.org/zap/zaptest/observer"

	"github.com/skelegent/skelegent-go/actors/agent"
	"github.com/skelegent/skelegent-go/actors/engine"
	"github.com/skelegent/skelegent-go/actors/rule"
	"github.com/skelegent/skelegent-go/actors/step/steptest"
	"github.com/skelegent/skelegent-go/actors/tool"
	"github.com/skelegent/skelegent-go/protocol"
)

// observed runs two turns, with a call between, under a telemetry rule.
func observed(t *testing.T, cfg rule.TelemetryConfig) (*sink, *observer.ObservedLogs) {
	t.Helper()
	core, logs := observer.New(zapcore.DebugLevel)
	cfg.Logger = zap.New(core)
	w, s := &work{do: func() tool.Result { return tool.Result{Output: json.RawMessage(`"hidden result"`)} }}, &sink{}
	m := &model{answers: []protocol.InferResponse{says("hidden thought", uses("c", "work", `{"hidden":1}`)), says("hidden answer")}}
	a := build(t, agent.Config{
		Provider: m, System: "hidden prompt", Tools: []tool.Tool{w.tool(t, "work")}, Rules: []engine.Rule{rule.Telemetry(cfg)},
	})
	if _, err := a.Execute(s.watch(t.Context()), protocol.Text("hidden question")); err != nil {
		t.Fatal(err)
	}
	return s, logs
}

// told are the events of the rule alone.
func (s *sink) told(part string) (lines []string) {
	for _, l := range s.lines {
		if strings.Contains(l, part) {
			lines = append(lines, l)
		}
	}
	return lines
}

// In V1 of the specification the deltas never advanced (B4): each was the whole again. Here their sum is the whole.
func TestB4DeltasAdvance(t *testing.T) {
	t.Parallel()
	s, logs := observed(t, rule.TelemetryConfig{})
	ops := "inject_system inject_messages infer append_response exit_check execute_tool infer append_response exit_check"
	var seen []string
	var in, calls uint64
	for _, e := range logs.FilterMessage(rule.TelemetryOp).All() {
		f := e.ContextMap()
		seen = append(seen, f["op"].(string))
		in += f["delta_tokens_in"].(uint64)
		calls += uint64(f["delta_tool_calls"].(uint32))
		if e.Level != zapcore.InfoLevel {
			t.Errorf("level %s", e.Level)
		}
	}
	if got := strings.Join(seen, " "); got != ops || in != 20 || calls != 1 {
		t.Errorf("got %s, %d tokens, %d calls", got, in, calls)
	}
	want := `"op":"append_response","tokens_in":20,"tokens_out":10,"cost":"0.010","turns":2,"tool_calls":1,` +
		`"delta":{"tokens_in":10,"tokens_out":5,"cost":"0.005","turns":1,"tool_calls":0}`
	if told := s.told(`"key":"skg.op"`); len(told) != 9 || !strings.Contains(told[7], want) {
		t.Errorf("got %s", strings.Join(told, "\n"))
	}
}

func TestTelemetryMetrics(t *testing.T) {
	t.Parallel()
	s, logs := observed(t, rule.TelemetryConfig{Verbosity: rule.Metrics, Level: zapcore.DebugLevel})
	if n := logs.FilterMessage(rule.TelemetryMetrics).FilterLevelExact(zapcore.DebugLevel).Len(); n != 3 || logs.Len() != 3 {
		t.Errorf("%d of %d lines", n, logs.Len())
	}
	told := s.told("metric {")
	want := `metric {"name":"skg.metrics","value":0.005,"tags":{"metric":"cost","operator":"op"}}`
	if len(told) != 9 || strings.Count(strings.Join(told, "\n"), want) != 2 {
		t.Errorf("got %s", strings.Join(told, "\n"))
	}
}

// Full tells sizes, and nothing of what was said.
func TestTelemetryFullTellsNoContents(t *testing.T) {
	t.Parallel()
	s, logs := observed(t, rule.TelemetryConfig{Verbosity: rule.Full})
	told := strings.Join(s.told(`"key":"skg.full"`), "\n")
	for _, want := range []string{`"tool":"work","input":12,"result":13`, `"calls":1,"stop":"tool_use"`, `"messages":5`} {
		if !strings.Contains(told, want) {
			t.Errorf("no %s in %s", want, told)
		}
	}
	if strings.Contains(told, "hidden") {
		t.Errorf("it tells what was said: %s", told)
	}
	entries := logs.FilterMessage(rule.TelemetryFull).All()
	enc := zapcore.NewJSONEncoder(zapcore.EncoderConfig{})
	for _, e := range entries {
		b, err := enc.EncodeEntry(e.Entry, e.Context)
		if err != nil || strings.Contains(b.String(), "hidden") || !strings.Contains(b.String(), `"messages":`) {
			t.Errorf("logged %s, %v", b, err)
		}
	}
	if len(entries) != 9 {
		t.Errorf("%d lines", len(entries))
	}
}

// What is replayed is not told again, and still counts.
func TestTelemetryIsNotReplayed(t *testing.T) {
	t.Parallel()
	core, logs := observer.New(zapcore.InfoLevel)
	w, m := &work{}, &model{answers: answers([]string{`{}`})}
	durable(t, func(r *steptest.Run) { r.KillAfter(2) }, func() agent.Config {
		return agent.Config{
			Provider: m, Tools: []tool.Tool{w.tool(t, "work")},
			Rules: []engine.Rule{rule.Telemetry(rule.TelemetryConfig{Verbosity: rule.Metrics, Logger: zap.New(core)})},
		}
	})
	var in uint64
	for _, e := range logs.All() {
		in += e.ContextMap()["delta_tokens_in"].(uint64)
	}
	if in != 20 || len(m.asks) != 2 {
		t.Errorf("told of %d tokens, asked %d times", in, len(m.asks))
	}
}
