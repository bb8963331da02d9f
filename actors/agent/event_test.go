package agent_test

import (
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/skelegent/skelegent-go/actors/agent"
	"github.com/skelegent/skelegent-go/actors/tool"
	"github.com/skelegent/skelegent-go/protocol"
)

// sink keeps events as lines.
type sink struct {
	mu    sync.Mutex
	lines []string
}

func (s *sink) Emit(kind protocol.EventKind, data any) {
	raw, err := protocol.Marshal(data)
	if err != nil {
		raw = []byte(err.Error())
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.lines = append(s.lines, string(kind)+" "+string(raw))
}

func observed(t *testing.T, cfg agent.Config) []string {
	t.Helper()
	s := &sink{}
	ctx := protocol.WithInvocation(t.Context(), &protocol.Invocation{Events: s})
	if _, err := build(t, cfg).Execute(ctx, protocol.Text("go")); err != nil {
		t.Fatal(err)
	}
	return s.lines
}

func TestEvents(t *testing.T) {
	t.Parallel()
	var n counter
	script := []step{says("ab", uses("c1", "work", `{}`), uses("c2", "none", `{"a":1}`)), fails(protocol.ErrRateLimited(0)), says("")}
	cfg := agent.Config{
		Provider: &model{steps: script}, Model: "gpt", Tools: []tool.Tool{n.tool("work")}, Rand: func() float64 { return 0 },
	}
	const usage = `"usage":{"input_tokens":10,"output_tokens":5,"cache_read_tokens":null,"cache_creation_tokens":null},"cost":"0.005"`
	want := []string{
		`inference_started {"model":"gpt"}`,
		`progress {"content":"a"}`,
		`progress {"content":"b"}`,
		`inference_completed {"model":"m",` + usage + `,"stop_reason":"tool_use","tool_calls":2}`,
		`observation {"key":"budget","value":{"type":"cost_incurred","operator":"","cost":"0.005","cumulative":"0.005"}}`,
		`tool_call_assembled {"call_id":"c1","capability_id":"work","input":{}}`,
		`tool_call_assembled {"call_id":"c2","capability_id":"none","input":{"a":1}}`,
		`tool_result_received {"call_id":"c1","capability_id":"work","output":"work ok","is_error":false}`,
		`tool_result_received {"call_id":"c2","capability_id":"none","output":"Error: tool not found: none; the tools are: work","is_error":true}`,
		`inference_started {"model":"gpt"}`,
		`inference_started {"model":"gpt"}`,
		`inference_completed {"model":"m",` + usage + `,"stop_reason":"end_turn","tool_calls":0}`,
		`observation {"key":"budget","value":{"type":"cost_incurred","operator":"","cost":"0.005","cumulative":"0.010"}}`,
	}
	if d := cmp.Diff(want, observed(t, cfg)); d != "" {
		t.Error(d)
	}
	cfg.Provider, cfg.NoStream = &model{steps: script}, true
	for _, line := range observed(t, cfg) {
		if strings.HasPrefix(line, "progress") {
			t.Errorf("streamed: %s", line)
		}
	}
}

// Case D3.12 of the specification: streamed or not, the outcome is the same.
func TestD3Fact12StreamingChangesNothing(t *testing.T) {
	t.Parallel()
	var n counter
	var outs []protocol.OperatorOutput
	for _, noStream := range []bool{false, true} {
		m := &model{steps: []step{says("x", uses("c", "work", `{}`)), says("done")}}
		a := build(t, agent.Config{Provider: m, Tools: []tool.Tool{n.tool("work")}, NoStream: noStream})
		out, err := a.Execute(protocol.WithInvocation(t.Context(), &protocol.Invocation{Events: &sink{}}), protocol.Text("go"))
		if err != nil {
			t.Fatal(err)
		}
		out.Metadata.Duration, out.Metadata.SubDispatches[0].Duration = 0, 0
		outs = append(outs, out)
	}
	a, _ := protocol.Marshal(outs[0])
	b, _ := protocol.Marshal(outs[1])
	if d := cmp.Diff(string(a), string(b)); d != "" {
		t.Error(d)
	}
}

func TestAnInvocationWithoutSinkIsFine(t *testing.T) {
	t.Parallel()
	ctx := protocol.WithInvocation(t.Context(), &protocol.Invocation{})
	if _, err := build(t, agent.Config{Provider: &model{steps: []step{says("hi")}}}).Execute(ctx, protocol.Text("go")); err != nil {
		t.Error(err)
	}
}
