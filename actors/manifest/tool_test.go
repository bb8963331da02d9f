package manifest_test

import (
	"encoding/json"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/skelegent/skelegent-go/bus"
	"github.com/skelegent/skelegent-go/protocol"
)

// A model that gets the arguments wrong sees the schema and can do better.
func TestArgumentsThatDoNotFit(t *testing.T) {
	t.Parallel()
	for name, wrong := range map[string]string{
		"missing": `{"value":1}`, "unknown": `{"key":"a","value":1,"color":"red"}`, "type": `{"key":7,"value":1}`,
		"no JSON": `{"key":`, "no object": `["a"]`, "empty": ``, "text": `remember tea`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := newLLM(t, steps(use("remember", wrong), use("remember", `{"key":"drink","value":"tea"}`), say("done")))
			conn := bed(t, provider+"  a: {provider: main, model: m, tools: [remember]}\n", bedConfig{model: l})
			out := dispatch(t, conn, "a", protocol.Text("go"))
			wantCalls(t, out, []bool{false, true})
			if len(out.Effects) != 1 || out.ExitReason.Kind() != protocol.ExitComplete {
				t.Errorf("output = %+v", out)
			}
			told := l.requests()[1].last()
			if told.Role != "tool" || told.ToolCallID != "call_1_0" {
				t.Errorf("the model was told %+v", told)
			}
			schema := string(l.requests()[0].Tools[0].Function.Parameters)
			for _, want := range []string{"Tool 'remember' rejected the input: ", "Expected schema: " + schema, "Please fix the input and try again."} {
				if !strings.Contains(told.Content, want) {
					t.Errorf("the model was told %q, without %q", told.Content, want)
				}
			}
		})
	}
}

const family = provider + `
  parent: {provider: main, model: m, system: parent, tools: [child, {operator: child, as: helper, description: Helps.}, {operator: nobody}]}
  child: {provider: main, model: m2, system: child, description: Knows about birds.}
`

// parent asks the tool and then says what it was told; child answers with what the test wants.
func generations(tool string, child reply) func(*llm, chat) reply {
	return func(_ *llm, c chat) reply {
		switch {
		case c.system() == "child":
			return child
		case c.last().Role == "tool":
			return say("I was told: " + c.last().Content)
		}
		return use(tool, `{"message":"What is a heron?"}`)
	}
}

func TestOperatorAsTool(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name, tool string
		child      reply
		text, cost string
		success    bool
		leak       string // must not be told
	}{
		{name: "well", tool: "child", child: say("A bird."), text: "I was told: A bird.", cost: "0.00252", success: true},
		{name: "by another name", tool: "helper", child: say("A bird."), text: "I was told: A bird.", cost: "0.00252", success: true},
		{name: "not complete", tool: "child", child: reply{text: "A b", finish: "length"}, text: "I was told: [child is not complete: it ended with custom: truncated]\nA b", cost: "0.00252", success: true},
		{name: "stopped", tool: "child", child: reply{text: "No", finish: "content_filter"}, text: "I was told: Error: execution failed: child ended with safety_stop: content filter triggered: No", cost: "0.00252"},
		{name: "failed", tool: "child", child: status(401, `{"error":{"message":"bad `+apiKey+`"}}`), text: "I was told: Error: sub-dispatch error in child: model error: auth failed: the server does not accept the API key", cost: "0.00042", leak: apiKey},
		{name: "missing", tool: "nobody", text: "I was told: Error: sub-dispatch error in nobody: operator not found: nobody", cost: "0.00042"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			l := newLLM(t, generations(tc.tool, tc.child))
			conn := bed(t, family, bedConfig{model: l})
			out := dispatch(t, conn, "parent", protocol.Text("go").WithSession("s"))
			if got := textOf(t, out); got != tc.text {
				t.Errorf("text = %q, want %q", got, tc.text)
			}
			if out.Metadata.Cost.Text() != tc.cost || out.Metadata.TurnsUsed != 2 || out.ExitReason.Kind() != protocol.ExitComplete {
				t.Errorf("cost %s, turns %d, exit %v; want %s", out.Metadata.Cost.Text(), out.Metadata.TurnsUsed, out.ExitReason, tc.cost)
			}
			wantCalls(t, out, []bool{tc.success})
			if r := out.Metadata.SubDispatches[0]; r.Name != tc.tool {
				t.Errorf("record = %+v", r)
			}
			for i, d := range []string{"Knows about birds.", "Helps.", "Asks the operator nobody."} {
				if got := l.requests()[0].Tools[i].Function.Description; got != d {
					t.Errorf("tool %d is described as %q, want %q", i, got, d)
				}
			}
			if c := l.requests()[1]; c.system() == "child" && c.user() != "What is a heron?" {
				t.Errorf("the child was asked %q", c.user())
			}
		})
	}
}

// The child spends from what is left of its parent's money.
func TestChildHasTheMoneyThatIsLeft(t *testing.T) {
	t.Parallel()
	l := newLLM(t, func(_ *llm, c chat) reply {
		if c.system() == "child" {
			return use("clock", "{}")
		}
		return use("child", `{"message":"go"}`)
	})
	conn := bed(t, provider+`
  parent: {provider: main, model: m, system: parent, tools: [child], limits: {max_cost: "0.001"}}
  child: {provider: main, model: m, system: child, tools: [clock]}
`, bedConfig{model: l})
	out := dispatch(t, conn, "parent", protocol.Text("go"))
	// 1 turn of the parent leaves 0.00079; the child stops when more is spent, after 4.
	if out.ExitReason.Kind() != protocol.ExitBudgetExhausted || out.Metadata.Cost.Text() != "0.00105" || out.Metadata.TurnsUsed != 1 {
		t.Errorf("exit %v, cost %s, turns %d", out.ExitReason, out.Metadata.Cost.Text(), out.Metadata.TurnsUsed)
	}
}

// The time of a parent ends also what its child does.
func TestChildEndsWithItsParent(t *testing.T) {
	t.Parallel()
	l := newLLM(t, func(l *llm, c chat) reply {
		if c.system() == "child" {
			return l.hang()
		}
		return reply{text: "I will ask.", calls: []call{{"child", `{"message":"go"}`}}}
	})
	conn := bed(t, provider+`
  parent: {provider: main, model: m, system: parent, tools: [child], limits: {max_duration: 300ms}}
  child: {provider: main, model: m, system: child}
`, bedConfig{model: l})
	out := dispatch(t, conn, "parent", protocol.Text("go"))
	if out.ExitReason.Kind() != protocol.ExitTimeout || out.Metadata.Cost.Text() != "0.00021" || textOf(t, out) != "I will ask." {
		t.Errorf("output = %+v", out)
	}
	wantCalls(t, out, []bool{false})
	wait(t, l.gone)
}

// Every form of an entry is offered to the model, in the order of the manifest.
func TestToolForms(t *testing.T) {
	t.Parallel()
	l := newLLM(t, steps(use("time", "{}"), say("done")))
	conn := bed(t, provider+`
  a:
    provider: main
    model: m
    tools: [recall, {tool: clock, as: time}, b, {operator: b, as: helper}, remember, {tool: clock}, {operator: elsewhere}]
  b: {provider: main, model: m, description: Helps.}
`, bedConfig{model: l})
	out := dispatch(t, conn, "a", protocol.Text("go"))
	wantCalls(t, out, []bool{true})
	if got, want := join(l.requests()[0].toolNames()), "recall time b helper remember clock elsewhere"; got != want {
		t.Errorf("tools = %s, want %s", got, want)
	}
	if got := l.requests()[1].last().Content; !strings.HasPrefix(got, `{"time":"2`) {
		t.Errorf("result = %s", got)
	}
}

// An agent that calls itself ends at the greatest depth, and all above it learn why.
func TestSelfRecursion(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	var told []string
	l := newLLM(t, func(_ *llm, c chat) reply {
		if c.last().Role != "tool" {
			return use("self", `{"message":"again"}`)
		}
		mu.Lock()
		defer mu.Unlock()
		told = append(told, c.last().Content)
		return say("enough")
	})
	conn := bed(t, provider+"  self: {provider: main, model: m, tools: [self]}\n", bedConfig{model: l})
	out := dispatch(t, conn, "self", protocol.Text("go"))
	if textOf(t, out) != "enough" || out.ExitReason.Kind() != protocol.ExitComplete {
		t.Errorf("output = %+v", out)
	}
	const want = "Error: sub-dispatch error in self: runs nest deeper than 16; does an operator call itself?"
	if len(told) != 17 || told[0] != want || told[1] != "enough" {
		t.Errorf("%d agents were told %q, want 17 and first %q", len(told), told, want)
	}
	if got := out.Metadata.Cost.Text(); got != "0.00714" { // 34 model calls
		t.Errorf("cost = %s", got)
	}
}

func TestToolAsOperator(t *testing.T) {
	t.Parallel()
	conn := bed(t, "operators:\n  time: {kind: tool, tool: clock}\n  note: {kind: tool, tool: remember}\n", bedConfig{})
	for _, in := range []string{"{}", "null"} {
		body, err := protocol.Marshal(protocol.Text(in))
		if err != nil {
			t.Fatal(err)
		}
		reply, err := conn.NATS().RequestWithContext(testContext(t), "skg.op.time", body)
		if err != nil {
			t.Fatal(err)
		}
		var out protocol.OperatorOutput
		if err := protocol.Unmarshal(reply.Data, &out); err != nil {
			t.Fatal(err)
		}
		var clock struct{ Time time.Time }
		if err := json.Unmarshal([]byte(textOf(t, out)), &clock); err != nil || time.Since(clock.Time).Abs() > time.Minute {
			t.Errorf("%s: the time is %v, %v", in, clock, err)
		}
		wantCalls(t, out, []bool{true})
	}
	d := bus.NewDispatcher(conn)
	for _, in := range []string{"what time is it", `{"zone":"UTC"}`, `[]`} {
		_, err := d.Dispatch(testContext(t), "time", protocol.Text(in))
		if e := protocol.AsError(err); e == nil || e.Code == protocol.CodeInternal || e.Retryable || strings.Contains(e.Message, "\n") {
			t.Errorf("%s: error = %+v", in, e)
		}
	}
	out := dispatch(t, conn, "note", protocol.Text(`{"key":"drink","value":"tea"}`).WithSession("s"))
	if len(out.Effects) != 1 || out.Effects[0].Kind() != protocol.KindWriteMemory {
		t.Errorf("effects = %+v", out.Effects)
	}
}

func TestSingleShot(t *testing.T) {
	t.Parallel()
	l := newLLM(t, steps(reply{text: "Mind the comma.", calls: []call{{"clock", "{}"}}}))
	conn := bed(t, provider+"  review: {kind: single_shot, provider: main, model: m, system: Find mistakes., max_tokens: 50}\n", bedConfig{model: l})
	out := dispatch(t, conn, "review", protocol.Text("Hello world"))
	if textOf(t, out) != "Mind the comma." || out.ExitReason.Kind() != protocol.ExitComplete || out.Metadata.TurnsUsed != 1 || out.Metadata.Cost.Text() != "0.00021" {
		t.Errorf("output = %+v", out)
	}
	r := l.requests()
	if len(r) != 1 || r[0].Tools != nil || r[0].system() != "Find mistakes." || r[0].MaxTokens != 50 {
		t.Errorf("requests = %+v", r)
	}
}

func TestExec(t *testing.T) {
	t.Parallel()
	conn := bed(t, `
operators:
  upper: {kind: exec, command: [sh, -c, "grep -o '\"message\":\"[^\"]*\"' | tr a-z A-Z"]}
  fails: {kind: exec, command: [sh, -c, "echo disk full >&2; exit 3"]}
  slow: {kind: exec, command: [sh, -c, "sleep 60"], timeout: 100ms}
`, bedConfig{})
	if got := textOf(t, dispatch(t, conn, "upper", protocol.Text("hi"))); got != `"MESSAGE":"HI"` {
		t.Errorf("text = %q", got)
	}
	d := bus.NewDispatcher(conn)
	_, err := d.Dispatch(testContext(t), "fails", protocol.Text("x"))
	if protocol.CodeOf(err) != protocol.CodeToolError || !strings.Contains(err.Error(), "disk full") {
		t.Errorf("error = %v", err)
	}
	start := time.Now()
	_, err = d.Dispatch(testContext(t), "slow", protocol.Text("x"))
	if took := time.Since(start); protocol.CodeOf(err) != protocol.CodeTimeout || took > 30*time.Second {
		t.Errorf("error = %v after %v, want a timeout after 100ms", err, took)
	}
}

func TestStreaming(t *testing.T) {
	t.Parallel()
	const text = "The heron is a long-legged bird, and it does not hide emeralds. Ünïcode: 鷺 \"quoted\"\nline."
	l := newLLM(t, steps(reply{text: "Wait. ", calls: []call{{"clock", "{}"}}}, say(text)))
	conn := bed(t, provider+"  a: {provider: main, model: m, tools: [clock], durable: false}\n", bedConfig{model: l})
	sub, err := conn.NATS().SubscribeSync("skg.live.a.>")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = sub.Unsubscribe() })
	if err := conn.NATS().Flush(); err != nil {
		t.Fatal(err)
	}
	out := dispatch(t, conn, "a", protocol.Text("go"))
	if textOf(t, out) != text {
		t.Errorf("text = %q", textOf(t, out))
	}
	ctx := testContext(t)
	var streamed strings.Builder
	pieces := 0
	var kinds []string
	for {
		e := nextEvent(ctx, t, sub)
		if e.Kind == protocol.EventProgress {
			var p struct{ Content string }
			if err := json.Unmarshal(e.Data, &p); err != nil {
				t.Fatal(err)
			}
			streamed.WriteString(p.Content)
			pieces++
			continue
		}
		kinds = append(kinds, string(e.Kind))
		if e.Kind == protocol.EventCompleted {
			break
		}
	}
	if got := streamed.String(); got != "Wait. "+text || pieces < 10 {
		t.Errorf("streamed %q in %d pieces", got, pieces)
	}
	want := "invocation_started inference_started inference_completed observation tool_call_assembled tool_result_received inference_started inference_completed observation completed"
	if got := join(kinds); got != want {
		t.Errorf("events %s, want %s", got, want)
	}
}
