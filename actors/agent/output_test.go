package agent_test

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/skelegent/skelegent-go/actors/agent"
	"github.com/skelegent/skelegent-go/actors/step/steptest"
	"github.com/skelegent/skelegent-go/actors/tool"
	"github.com/skelegent/skelegent-go/protocol"
)

type city struct {
	Name       string `json:"name"`
	Population int    `json:"population"`
}

const tokyo, nobody = `{"result":{"name":"Tokyo","population":13960000}}`, `{"result":{"name":"Tokyo"}}`

// Case D3.10 of the specification.
func TestD3Fact10StructuredOutput(t *testing.T) {
	t.Parallel()
	result := func(input string) step { return says("", uses("r", "return_result", input)) }
	for name, c := range map[string]struct {
		mode  agent.OutputMode
		steps []step
		exit  protocol.ExitReason
		asks  int
		told  string // in the last request
	}{
		"first try":        {agent.OutputTool, []step{result(tokyo)}, protocol.Exit(protocol.ExitComplete), 1, ""},
		"second try":       {agent.OutputTool, []step{result(nobody), result(tokyo)}, protocol.Exit(protocol.ExitComplete), 2, "Validation error: "},
		"no result in it":  {agent.OutputTool, []step{result(`{}`), result(tokyo)}, protocol.Exit(protocol.ExitComplete), 2, "missing 'result' field in tool call input"},
		"never":            {agent.OutputTool, []step{result(nobody)}, protocol.InterceptorHalt("structured output validation failed after 3 retries: "), 4, "Validation error: "},
		"prose":            {agent.OutputTool, []step{says("Tokyo is large.")}, protocol.InterceptorHalt("model completed without producing structured output"), 1, ""},
		"cut":              {agent.OutputTool, []step{says("Tokyo is").stopped(protocol.StopMaxTokens)}, agent.ExitTruncated, 1, ""},
		"tool first":       {agent.OutputTool, []step{says("", uses("c", "search", `{}`)), result(tokyo)}, protocol.Exit(protocol.ExitComplete), 2, "search ok"},
		"tool beside":      {agent.OutputTool, []step{says("", uses("r", "return_result", nobody), uses("c", "search", `{}`)), result(tokyo)}, protocol.Exit(protocol.ExitComplete), 2, "search ok"},
		"text":             {agent.OutputText, []step{says(`{"name":"Berlin","population":3645000}`)}, protocol.Exit(protocol.ExitComplete), 1, ""},
		"fenced":           {agent.OutputText, []step{says("Here:\n```json\n{\"name\":\"Berlin\",\"population\":1}\n```\n")}, protocol.Exit(protocol.ExitComplete), 1, ""},
		"text, second try": {agent.OutputText, []step{says("{"), says(`{"name":"Berlin","population":1}`)}, protocol.Exit(protocol.ExitComplete), 2, "Validation error: JSON parse error: "},
		"text, never":      {agent.OutputText, []step{says("Berlin.")}, protocol.InterceptorHalt("structured output validation failed after 3 retries: "), 4, "Validation error: "},
		"silence":          {agent.OutputText, []step{says(" ")}, protocol.InterceptorHalt("model completed without producing structured output"), 1, ""},
		"text, tool first": {agent.OutputText, []step{says("", uses("c", "search", `{}`)), says(`{"name":"B","population":1}`)}, protocol.Exit(protocol.ExitComplete), 2, "search ok"},
	} {
		for _, durable := range []bool{false, true} {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				var n counter
				m := &model{steps: c.steps}
				o := agent.OutputOf[city]()
				o.Mode = c.mode
				cfg := agent.Config{Provider: m, Output: o, Tools: []tool.Tool{n.tool("search")}}
				var out protocol.OperatorOutput
				if durable {
					out = resume(t, start(steptest.Config{}), cfg)
				} else {
					out = execute(t, cfg, protocol.Text("go"))
				}
				if out.ExitReason.Kind() != c.exit.Kind() || !strings.HasPrefix(out.ExitReason.Detail(), c.exit.Detail()) || len(m.asks) != c.asks {
					t.Errorf("got %s after %d calls, want %s after %d", out.ExitReason, len(m.asks), c.exit, c.asks)
				}
				last := m.asks[len(m.asks)-1]
				if heard := strings.Join(said(last), "\n"); !strings.Contains(heard, c.told) {
					t.Errorf("told %q", heard)
				}
				if offered := last.Tools[len(last.Tools)-1].Name == "return_result"; offered != (c.mode == agent.OutputTool) {
					t.Errorf("offered %v", last.Tools)
				}
				got, err := agent.ResultOf[city](out)
				if completes := c.exit.Kind() == protocol.ExitComplete; completes != (err == nil) || completes && (got.Name == "" || got.Population == 0) {
					t.Errorf("got %+v, %v", got, err)
				}
			})
		}
	}
}

func TestOutputWithACheckOfItsOwn(t *testing.T) {
	t.Parallel()
	o := &agent.Output{Name: "answer", MaxRetries: -1, Check: func(raw json.RawMessage) error {
		if string(raw) != "42" {
			return errors.New("it is 42")
		}
		return nil
	}}
	for input, want := range map[string]protocol.ExitKind{`{"result":42}`: protocol.ExitComplete, `{"result":41}`: protocol.ExitInterceptorHalt} {
		m := &model{steps: []step{says("", uses("r", "answer", input), uses("x", "nobody", `{}`))}}
		out := execute(t, agent.Config{Provider: m, Output: o}, protocol.Text("go"))
		if out.ExitReason.Kind() != want || len(m.asks) != 1 {
			t.Errorf("%s: got %s", input, out.ExitReason)
		}
	}
}

func TestOutputNative(t *testing.T) {
	t.Parallel()
	m := &model{steps: []step{says(`{"name":"B","population":1}`)}}
	o := agent.OutputOf[city]()
	o.Mode, o.Native = agent.OutputText, true
	execute(t, agent.Config{Provider: m, Output: o}, protocol.Text("go"))
	f, ok := m.asks[0].ResponseFormat.(protocol.SchemaFormat)
	if !ok || !strings.Contains(string(f.Schema), "population") {
		t.Errorf("got %v", m.asks[0].ResponseFormat)
	}
	for _, bad := range []agent.Output{{Mode: "xml"}, {Schema: json.RawMessage(`{`)}, {Schema: json.RawMessage(`{"$ref":"#/nowhere"}`)}, {Schema: json.RawMessage(`{"allOf":[{"$ref":"#"}]}`)}} {
		if _, err := agent.New(agent.Config{Provider: m, Output: &bad}); protocol.CodeOf(err) != protocol.CodeInvalidInput {
			t.Errorf("%+v: got %v", bad, err)
		}
	}
}

func TestOutputOfASingleShot(t *testing.T) {
	t.Parallel()
	for answer, want := range map[string]protocol.ExitKind{`{"name":"B","population":1}`: protocol.ExitComplete, "Berlin": protocol.ExitInterceptorHalt} {
		o := agent.OutputOf[city]()
		o.Mode = agent.OutputText
		m := &model{steps: []step{says(answer)}}
		shot, err := agent.SingleShot(agent.Config{Provider: m, Output: o})
		if err != nil {
			t.Fatal(err)
		}
		out, err := shot.Execute(t.Context(), protocol.Text("go"))
		if err != nil || out.ExitReason.Kind() != want || len(m.asks) != 1 {
			t.Errorf("got %s, %v", out.ExitReason, err)
		}
	}
}
