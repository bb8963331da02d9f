package manifest_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/skelegent/skelegent-go/actors/compose"
	"github.com/skelegent/skelegent-go/bus"
	"github.com/skelegent/skelegent-go/protocol"
)

func signalled(text string, signals ...string) protocol.OperatorInput {
	in := protocol.Text(text)
	in.Metadata, _ = protocol.Marshal(map[string]any{"signals": signals})
	return in
}

// A coordinator routes by signals, durable or not; who is not there is passed over.
func TestCoordinator(t *testing.T) {
	t.Parallel()
	for _, durable := range []string{"", ", durable: false"} {
		conn := bed(t, members+`
  c: {kind: coordinator, routes: [{signals: [fire, smoke], operator: a}, {signals: [flood], operator: {operator: b}}], fallback: far`+durable+`}
  far: {kind: exec, command: [./add.sh, far]}
  n: {kind: coordinator, routes: [{signals: [fire], operator: a}]`+durable+`}
`, bedConfig{files: memberFiles})
		for _, tc := range []struct {
			operator protocol.OperatorID
			in       protocol.OperatorInput
			want     string
		}{
			{"c", signalled("x", "smoke"), "xa"},
			{"c", signalled("x", "flood"), "xb"},
			{"c", signalled("x", "flood", "fire"), "xa"}, // the order of the routes
			{"c", signalled("x", "wind"), "xfar"},
			{"c", protocol.Text("x"), "xfar"},
			{"n", signalled("x", "wind"), ""},
		} {
			out := dispatch(t, conn, tc.operator, tc.in)
			if got := textOf(t, out); got != tc.want || out.ExitReason.Kind() != protocol.ExitComplete {
				t.Errorf("%s%s with %s: %q, %v; want %q", tc.operator, durable, tc.in.Metadata, got, out.ExitReason, tc.want)
			}
		}
		_, err := bus.NewDispatcher(conn).Dispatch(testContext(t), "c", protocol.OperatorInput{
			Message: protocol.TextContent("x"), Trigger: protocol.TriggerUser, Metadata: json.RawMessage(`{"signals":"fire"}`),
		})
		if protocol.CodeOf(err) != protocol.CodeInvalidInput {
			t.Errorf("signals that are no list: %v", err)
		}
	}
}

// answer is what a chain says.
type answer struct {
	Agent   string                 `json:"agent"`
	Result  compose.StepResult     `json:"result"`
	Context *compose.Investigation `json:"context"`
}

func chainAnswer(t testing.TB, out protocol.OperatorOutput) answer {
	t.Helper()
	var a answer
	if err := json.Unmarshal([]byte(textOf(t, out)), &a); err != nil || a.Context == nil {
		t.Fatalf("%s: %v", textOf(t, out), err)
	}
	return a
}

// A chain asks its tools and other operators, and ends where a link concludes; durable or not.
func TestChain(t *testing.T) {
	t.Parallel()
	for _, durable := range []string{"", ", durable: false"} {
		conn := bed(t, members+`
  triage: {kind: chain`+durable+`, tools: [clock], links: [
      {id: known, when: [match], confidence: 0.25, signals: [seen], evidence: Known bad hash},
      {id: time, when: [seen], tool: clock, args: {}},
      {id: asked, when: [seen], unless: [quiet], operator: judge, confidence: 0.1},
      {id: wrapped, when: [never], operator: {operator: b}},
      {id: end, when: [sure], then: conclude},
      {id: late, confidence: -1}]}
  judge: {kind: chain, links: [{id: judge.it, confidence: 0.5, signals: [sure]}]}
`, bedConfig{files: memberFiles})
		a := chainAnswer(t, dispatch(t, conn, "triage", signalled("What is it?", "match")))
		if got := strings.Join(a.Result.SkillsRun, " "); got != "known time asked end" || !a.Result.Concluded {
			t.Errorf("ran %s, %+v", got, a.Result)
		}
		if got := strings.Join(a.Result.SkillsSkipped, " "); got != "wrapped late" {
			t.Errorf("skipped %s", got)
		}
		if c := a.Context.Confidence; c < 0.849 || c > 0.851 { // the judge adds 0.5 to the 0.25, and the link 0.1
			t.Errorf("confidence %v", c)
		}
		var labels []string
		for _, e := range a.Context.Evidence {
			labels = append(labels, e.Label)
		}
		if got := strings.Join(labels, ","); got != "message,Known bad hash,clock" {
			t.Errorf("evidence %s", got)
		}
		quiet := chainAnswer(t, dispatch(t, conn, "triage", protocol.Text(`{"message":"x"}`)))
		if len(quiet.Context.Signals) != 0 || strings.Join(quiet.Result.SkillsRun, " ") != "late" {
			t.Errorf("without signals: %+v", quiet)
		}
	}
}

// A delegate takes an object of JSON and gives what its operator says; a stub says that nobody is there.
func TestDelegate(t *testing.T) {
	t.Parallel()
	for _, durable := range []string{"", ", durable: false"} {
		conn := bed(t, members+strings.ReplaceAll(`
  d: {kind: delegate, operator: a, input_schema: {type: object, properties: {message: {type: string}}, required: [message]}DURABLE}
  e: {kind: delegate, operator: judgeDURABLE}
  nobody: {kind: delegate, stub: trueDURABLE}
  judge: {kind: chain, links: [{id: judge.it, confidence: 0.5, signals: [sure]}]}
`, "DURABLE", durable), bedConfig{files: memberFiles})
		if got := textOf(t, dispatch(t, conn, "d", protocol.Text(`{"message":"x"}`))); got != `"xa"` {
			t.Errorf("d: %s", got)
		}
		_, err := bus.NewDispatcher(conn).Dispatch(testContext(t), "d", protocol.Text(`{"massage":"x"}`))
		if err == nil || !strings.Contains(err.Error(), "message") {
			t.Errorf("what does not fit: %v", err)
		}
		if a := chainAnswer(t, dispatch(t, conn, "e", protocol.Text(`{"entity_id":"host-a","signals":["x"]}`))); a.Agent != "judge" ||
			a.Context.EntityID != "host-a" || !a.Context.HasSignal("sure") || a.Result.Confidence != 0.5 {
			t.Errorf("e: %+v", a)
		}
		var stub struct {
			Status, Delegate, Hint string
			Args                   json.RawMessage
		}
		if err := json.Unmarshal([]byte(textOf(t, dispatch(t, conn, "nobody", protocol.Text(`{"q":1}`)))), &stub); err != nil ||
			stub.Status != "delegate_unwired" || stub.Delegate != "nobody" || string(stub.Args) != `{"q":1}` || stub.Hint == "" {
			t.Errorf("stub: %+v, %v", stub, err)
		}
	}
}

// An agent calls tools and delegates of any node, under the schema that the manifest has or is told.
func TestRemoteTools(t *testing.T) {
	t.Parallel()
	l := newLLM(t, func(_ *llm, c chat) reply {
		switch c.sinceUser() {
		case 0:
			return use("now", "{}")
		case 2:
			return use("ask", `{"entity_id":"host-b"}`)
		}
		return say(c.last().Content)
	})
	conn := bed(t, provider+`
  boss:
    provider: main
    model: m
    tools:
      - {remote: watch, as: now}
      - {delegate: judge, as: ask, description: Judges., input_schema: {type: object, properties: {entity_id: {type: string}}}}
  watch: {kind: tool, tool: clock}
  judge: {kind: chain, links: [{id: judge.it, confidence: 0.5}]}
`, bedConfig{model: l})
	out := dispatch(t, conn, "boss", protocol.Text("go"))
	if got := textOf(t, out); !strings.Contains(got, `"entity_id":"host-b"`) || !strings.Contains(got, `"confidence":0.5`) {
		t.Errorf("answer %s", got)
	}
	reqs := l.requests()
	if got := strings.Join(reqs[0].toolNames(), ","); got != "now,ask" {
		t.Errorf("tools %s", got)
	}
	if got := reqs[1].last().Content; !strings.HasPrefix(got, `{"time":"`) {
		t.Errorf("remote clock: %s", got)
	}
	if d := reqs[0].Tools[0].Function.Description; !strings.Contains(d, "time") {
		t.Errorf("description %q", d)
	}
}

// Calls that a model writes as text are calls, where the provider says so.
func TestTextCalls(t *testing.T) {
	t.Parallel()
	for _, on := range []bool{true, false} {
		l := newLLM(t, func(_ *llm, c chat) reply {
			if c.sinceUser() == 0 {
				return say("Let me see. <|tool_call_start|>[clock()]<|tool_call_end|>")
			}
			return say(c.last().Content)
		})
		in := provider + "  a: {provider: main, model: m, tools: [clock]}\n"
		if on {
			in = strings.Replace(in, "base_url: LLM", "base_url: LLM\n    text_calls: true", 1)
		}
		got := textOf(t, dispatch(t, bed(t, in, bedConfig{model: l}), "a", protocol.Text("go")))
		if strings.HasPrefix(got, `{"time":"`) != on || strings.Contains(got, "tool_call_start") == on {
			t.Errorf("text_calls %v: %s", on, got)
		}
	}
}

// What may be said of composed operators, and is wrong.
func TestBadComposed(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct{ name, in, want string }{
		{"chain without links", "{kind: chain}", "2: operators.p.links: a chain needs links"},
		{"two links", "{kind: chain, links: [{id: a}, {id: a}]}", `3: operators.p.links: there are two links "a"`},
		{"link without an id", "{kind: chain, links: [{then: conclude}]}", "3: operators.p.links: a link needs an id"},
		{"link that goes elsewhere", "{kind: chain, links: [{id: a, then: stop}]}", "3: operators.p.links: link a: then is conclude or discard"},
		{"confidence beyond one", "{kind: chain, links: [{id: a, confidence: 2}]}", `3: "2" does not fit here: a number from -1 to 1 is needed`},
		{"confidence that is none", "{kind: chain, links: [{id: a, confidence: .nan}]}", `3: ".nan" does not fit here`},
		{"tool of nobody", "{kind: chain, links: [{id: a, tool: clock}]}", `3: operators.p.links: there is no tool "clock" among the tools of the chain`},
		{"tool and operator", "{kind: chain, tools: [clock], links: [{id: a, tool: clock, operator: x}]}", "3: operators.p.links: a link has a tool or an operator, not both"},
		{"args of nothing", "{kind: chain, links: [{id: a, args: {}}]}", "3: operators.p.links: link a: args are those of a tool"},
		{"key of a link", "{kind: chain, links: [{id: a, if: x}]}", `3: unknown key "if"`},
		{"empty signal", `{kind: chain, links: [{id: a, when: [""]}]}`, "3: operators.p.links: a signal is empty"},
		{"model of a chain", "{kind: chain, links: [{id: a}], model: m}", "3: operators.p.model: is for the kinds agent, single_shot"},
		{"links of an agent", "{kind: agent, links: [{id: a}]}", "3: operators.p.links: is for the kind chain"},
		{"coordinator of nothing", "{kind: coordinator}", "2: operators.p.routes: a coordinator needs routes or a fallback"},
		{"route without signals", "{kind: coordinator, routes: [{operator: {operator: x}}]}", "3: operators.p.routes: a route needs signals"},
		{"route to nowhere", "{kind: coordinator, routes: [{signals: [a], operator: x}]}", `3: operators.p.routes: there is no operator "x"`},
		{"route as text", "{kind: coordinator, routes: [x]}", "3: a route must be {signals: [NAME], operator: NAME}"},
		{"to itself", "{kind: coordinator, fallback: p}", "2: operators.p: the pattern is within itself: p, p"},
		{"unknown fallback", "{kind: coordinator, fallback: x}", `3: operators.p.fallback: there is no operator "x"`},
		{"delegate of nobody", "{kind: delegate}", "2: operators.p.operator: a delegate needs the operator"},
		{"stub of somebody", "{kind: delegate, stub: true, operator: {operator: x}}", "3: operators.p.stub: a stub has no operator"},
		{"schema of a delegate", "{kind: delegate, stub: true, input_schema: {type: 7}}", "3: operators.p.input_schema: is no JSON schema"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			refused(t, "operators:\n  p:\n    "+tc.in+"\n", tc.want)
		})
	}
}
