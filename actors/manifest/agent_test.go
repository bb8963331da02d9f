package manifest_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/skelegent/skelegent-go/actors/manifest"
	"github.com/skelegent/skelegent-go/protocol"
)

// A program is a tool: it gets the input that fits, of the environment what is named, and what it prints is the result.
func TestExecTool(t *testing.T) {
	t.Parallel()
	const tools = `
  a:
    provider: main
    model: m
    tools:
      - exec: [./look.sh, up]
        as: look
        description: Looks something up.
        input_schema: {type: object, properties: {word: {type: string, enum: [heron, ~]}}, required: [word]}
        env: [` + envNamed + `]
        timeout: 20s
        repeatable: true
        parallel: true
      - {exec: [sh, -c, "sleep 60"], as: slow, timeout: 100ms}
`
	for _, tc := range []struct {
		name, tool, input string
		told              string
		success           bool
		once              bool // the log has that the call began, so that it is not made again
	}{
		{name: "well", tool: "look", input: `{"word":"heron"}`, told: `up {"word":"heron"} named "" look.sh`, success: true},
		{name: "wrong", tool: "look", input: `{"word":7}`, told: "Tool 'look' rejected the input"},
		{name: "slow", tool: "slow", input: `{}`, told: "timed out after 100ms", once: true},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			l := newLLM(t, steps(use(tc.tool, tc.input), say("done")))
			conn := bed(t, provider+tools, bedConfig{model: l, files: map[string]string{
				"look.sh": "#!/bin/sh\nread -r in\necho \"$1 $in $" + envNamed + " \\\"$" + envOther + "\\\" $(ls look.sh)\"\n",
			}})
			next := events(t, conn, "skg.event.>")
			out := dispatch(t, conn, "a", protocol.Text("go"))
			wantCalls(t, out, []bool{tc.success})
			begun := false
			for e := next(""); e.Kind != protocol.EventCompleted; e = next("") {
				begun = begun || e.Kind == protocol.EventToolCallAssembled
			}
			if begun != tc.once {
				t.Errorf("the log has the begin of the call: %v, want %v", begun, tc.once)
			}
			r := l.requests()
			if got := r[1].last().Content; !strings.Contains(got, tc.told) {
				t.Errorf("the model was told %q, want %q", got, tc.told)
			}
			f := r[0].Tools[0].Function
			var schema struct {
				Properties struct{ Word struct{ Enum []any } }
			}
			if err := json.Unmarshal(f.Parameters, &schema); err != nil || f.Description != "Looks something up." || !slices.Equal(schema.Properties.Word.Enum, []any{"heron", nil}) {
				t.Errorf("tool = %+v, %s, %v", f, f.Parameters, err)
			}
		})
	}
}

// A handoff ends the run, and who is handed to answers the caller.
func TestHandoffTool(t *testing.T) {
	t.Parallel()
	l := newLLM(t, func(_ *llm, c chat) reply {
		switch {
		case c.system() != "desk":
			return say(c.system() + " was told " + c.user())
		case c.user() == "by name":
			return use("escalate", `{"reason":"too hard"}`)
		}
		return use("transfer_to_expert", `{"reason":"too hard"}`)
	})
	conn := bed(t, provider+`
  a: {provider: main, model: m, system: desk, tools: [{handoff: expert}, {handoff: boss, as: escalate, description: To the top.}]}
  expert: {provider: main, model: m, system: expert, description: Knows birds.}
  boss: {provider: main, model: m, system: boss}
`, bedConfig{model: l})
	for text, want := range map[string]string{"go": "expert", "by name": "boss"} {
		out := dispatch(t, conn, "a", protocol.Text(text))
		if got := textOf(t, out); got != want+` was told {"task":"too hard"}` {
			t.Errorf("%s: output = %+v", text, out)
		}
	}
	offered := l.requests()[0].Tools
	if d := offered[0].Function.Description; d != "Hands the work over to expert, who goes on instead of you. Knows birds." {
		t.Errorf("description %q", d)
	}
	if d := offered[1].Function.Description; d != "To the top." {
		t.Errorf("description %q", d)
	}
}

// A tool that declares an effect has it performed by who executes that type, and not itself.
func TestEffectTool(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct{ name, entry, tool, input string }{
		{"alone", "{effect: mail, as: send, description: Sends., input_schema: {type: object, properties: {to: {type: string}}}}", "send", `{"to":"heron"}`},
		{"of a tool", "{tool: remember, as: send, effect: mail}", "send", `{"key":"a","value":1}`},
		{"of an operator", "{operator: nobody, effect: mail, approval: false, parallel: true}", "nobody", `{"message":"x"}`},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			l := newLLM(t, steps(use(tc.tool, tc.input), say("done")))
			conn := bed(t, provider+"  a: {provider: main, model: m, tools: ["+tc.entry+"]}\n"+
				"effects:\n  mail: {kind: exec, command: [sh, -c, 'cat > mail.json']}\n", bedConfig{model: l})
			done := outcomes(t, conn)
			out := dispatch(t, conn, "a", protocol.Text("go"))
			wantCalls(t, out, []bool{true})
			if len(out.Effects) != 1 {
				t.Fatalf("effects = %+v", out.Effects)
			}
			e, ok := out.Effects[0].(protocol.CustomEffect)
			if !ok || e.EffectType != "mail" {
				t.Fatalf("effect = %+v", out.Effects[0])
			}
			var data struct {
				Tool  string          `json:"tool"`
				Input json.RawMessage `json:"input"`
			}
			if err := json.Unmarshal(e.Data, &data); err != nil || data.Tool != tc.tool || string(data.Input) != tc.input {
				t.Errorf("data = %s, %v", e.Data, err)
			}
			if o := done(); len(o) != 1 || o[0].Status != protocol.OutcomeOK {
				t.Errorf("outcomes = %+v", o)
			}
		})
	}
}

// A result that is longer than the entry allows is cut, and says so.
func TestMaxResult(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name, program, limit string
		least, most          int
		cut                  bool
	}{
		{"text", "head -c 9000 /dev/zero | tr '\\0' x", ", max_result: 1000", 900, 1300, true},
		{"more than the usual", "head -c 9000 /dev/zero | tr '\\0' x", ", max_result: 10000", 9000, 9000, false},
		{"list", "seq -s , 2000 | sed 's/.*/[&]/'", ", max_result: 1000", 800, 1800, true},
		{"whole list", "seq -s , 500 | sed 's/.*/[&]/'", ", max_result: 10000", 1800, 2000, false},
		{"none", "head -c 9000 /dev/zero | tr '\\0' x", "", 9000, 9000, false},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			l := newLLM(t, steps(use("make", "{}"), say("done")))
			conn := bed(t, provider+"  a: {provider: main, model: m, tools: [{exec: [sh, -c, \""+strings.ReplaceAll(tc.program, `\`, `\\`)+"\"], as: make"+tc.limit+"}]}\n", bedConfig{model: l})
			dispatch(t, conn, "a", protocol.Text("go"))
			told := l.requests()[1].last().Content
			if len(told) < tc.least || len(told) > tc.most || strings.Contains(told, `"truncated":true`) != tc.cut {
				t.Errorf("%d bytes %.200s...", len(told), told)
			}
		})
	}
}

// Calls of tools that may run beside others do, as many as allowed; others do not.
func TestParallelTools(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name, entry, agent string
		together           bool
	}{
		{"not", "", "", false},
		{"parallel", ", parallel: true", "", true},
		{"one at a time", ", parallel: true", ", max_parallel: 1", false},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			// Each call waits for the other one to begin: not for long where it will not.
			meet := "#!/bin/sh\nread -r in\ntouch \"$in\"\nfor i in $(seq " + map[bool]string{true: "300", false: "3"}[tc.together] + "); do\n" +
				"[ -e '{\"n\":1}' ] && [ -e '{\"n\":2}' ] && break\nsleep 0.1\ndone\n" +
				"[ -e '{\"n\":1}' ] && [ -e '{\"n\":2}' ] && echo met || echo alone\n"
			l := newLLM(t, steps(reply{calls: []call{{"meet", `{"n":1}`}, {"meet", `{"n":2}`}}}, say("done")))
			conn := bed(t, provider+"  a: {provider: main, model: m, tools: [{exec: [./meet.sh], as: meet"+tc.entry+"}]"+tc.agent+"}\n",
				bedConfig{model: l, files: map[string]string{"meet.sh": meet}})
			dispatch(t, conn, "a", protocol.Text("go"))
			m := l.requests()[1].Messages
			first, second := m[len(m)-2].Content, m[len(m)-1].Content
			if want := map[bool]string{true: "met", false: "alone"}[tc.together]; first != want || second != "met" {
				t.Errorf("results %q and %q", first, second)
			}
		})
	}
}

// Who has to be asked in time, and what runs meanwhile.
func TestApprovalTime(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		keys string
		safe bool // whether the call that needs no approval was made before the other one expired
	}{{"run_safe_calls: true, ", true}, {"", false}} {
		t.Run(tc.keys, func(t *testing.T) {
			t.Parallel()
			l := newLLM(t, steps(reply{calls: []call{{"clock", "{}"}, {"note", `{"key":"a","value":1}`}}}, say("done")))
			conn := bed(t, provider+"  a: {provider: main, model: m, "+tc.keys+"approval_time: 500ms, tools: [clock, {tool: remember, as: note, approval: true}]}\n", bedConfig{model: l})
			next := events(t, conn, "skg.event.>")
			out := dispatch(t, conn, "a", protocol.Text("go"))
			if textOf(t, out) != "done" || len(out.Effects) != 0 {
				t.Errorf("output = %+v", out)
			}
			if got := l.requests()[1].last().Content; !strings.Contains(got, "nobody decided on it in time") {
				t.Errorf("the model was told %q", got)
			}
			var kinds []protocol.EventKind
			for done := false; !done; {
				e := next("") // any
				kinds = append(kinds, e.Kind)
				done = e.Kind == protocol.EventCompleted
			}
			result, asked := slices.Index(kinds, protocol.EventToolResultReceived), slices.Index(kinds, protocol.EventSuspended)
			if result < 0 || asked < 0 || (result < asked) != tc.safe {
				t.Errorf("events %v", kinds)
			}
		})
	}
}

// What is said of a question reaches the model.
func TestOptionsAndChoice(t *testing.T) {
	t.Parallel()
	for choice, want := range map[string]any{"auto": "auto", "any": "required", "none": "none"} {
		l := newLLM(t, fixed(say("done")))
		conn := bed(t, provider+"  a: {provider: main, model: m, tools: [clock], tool_choice: "+choice+", options: {seed: 0x10, top_p: 0.50}}\n", bedConfig{model: l})
		dispatch(t, conn, "a", protocol.Text("go"))
		if r := l.requests()[0]; r.Choice != want || r.Seed != 16 {
			t.Errorf("%s: request = %+v", choice, r)
		}
	}
}

// The last answer has to be what the schema says, in either mode.
func TestOutput(t *testing.T) {
	t.Parallel()
	const schema = `{type: object, properties: {name: {type: string}, people: {type: integer}}, required: [name, people], additionalProperties: false}`
	const result = `{"name":"Oslo","people":720631}`
	halt := func(text string) protocol.ExitReason { return protocol.InterceptorHalt(text) }
	complete := protocol.Exit(protocol.ExitComplete)
	for _, tc := range []struct {
		name, keys string
		answer     func(*llm, chat) reply
		exit       protocol.ExitReason
		asked      int
		format     bool
	}{
		{name: "tool", keys: "output: {schema: " + schema + "}", answer: steps(use("return_result", `{"result":`+result+`}`)), exit: complete, asked: 1},
		{name: "tool, then", keys: "output: {schema: " + schema + "}", answer: steps(use("return_result", `{"result":{"name":"Oslo"}}`), use("return_result", `{"result":`+result+`}`)), exit: complete, asked: 2},
		{name: "never again", keys: "output: {schema: " + schema + ", max_retries: 0}", answer: steps(use("return_result", `{"result":7}`)), exit: halt("structured output validation failed after 0 retries"), asked: 1},
		{name: "once again", keys: "output: {schema: " + schema + ", max_retries: 1}", answer: steps(use("return_result", `{"result":7}`)), exit: halt("structured output validation failed after 1 retries"), asked: 2},
		{name: "text", keys: "output: {schema: " + schema + ", mode: text_json}", answer: steps(say("```json\n" + result + "\n```")), exit: complete, asked: 1},
		{name: "native", keys: "output: {schema: " + schema + ", mode: text_json, native: true}", answer: steps(say(result)), exit: complete, asked: 1, format: true},
		{name: "file", keys: "output: {schema_file: city.json}", answer: steps(use("return_result", `{"result":{"name":"Oslo"}}`), use("return_result", `{"result":`+result+`}`)), exit: complete, asked: 2},
		{name: "single shot", keys: "kind: single_shot, output: {schema: " + schema + "}", answer: steps(use("return_result", `{"result":`+result+`}`)), exit: complete, asked: 1},
		{name: "single shot in text", keys: "kind: single_shot, output: {schema: " + schema + ", mode: text_json}", answer: steps(say(result)), exit: complete, asked: 1},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			l := newLLM(t, tc.answer)
			conn := bed(t, provider+"  a: {provider: main, model: m, "+tc.keys+"}\n", bedConfig{model: l, files: map[string]string{
				"city.json": `{"type":"object","required":["name","people"]}`,
			}})
			out := dispatch(t, conn, "a", protocol.Text("go"))
			if out.ExitReason.Kind() != tc.exit.Kind() || !strings.HasPrefix(out.ExitReason.String(), tc.exit.String()) || len(l.requests()) != tc.asked {
				t.Errorf("exit %v after %d requests, want %v after %d", out.ExitReason, len(l.requests()), tc.exit, tc.asked)
			}
			if got := textOf(t, out); tc.exit == complete && got != result {
				t.Errorf("text = %q", got)
			}
			if got := l.requests()[0].Format != nil; got != tc.format {
				t.Errorf("format = %v", l.requests()[0].Format)
			}
		})
	}
}

// A file that is no schema keeps the node from starting.
func TestSchemaFile(t *testing.T) {
	t.Parallel()
	in := model + "operators:\n  a:\n    provider: main\n    output:\n      schema_file: FILE\n"
	for file, want := range map[string]string{
		"none.json": "7: operators.a.output.schema_file: open ", "/dev/zero": "7: operators.a.output.schema_file: the file is longer than 262144 bytes",
		"doc.go": `is no JSON`, "/dev/null": "is no JSON",
	} {
		m, err := manifest.Parse([]byte(strings.Replace(in, "FILE", file, 1)), "dir/x.yaml", ".")
		if err != nil {
			t.Fatal(err)
		}
		err = m.Register(t.Context(), newRegistry(), manifest.Deps{})
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Fatalf("%s: error %v, want %s", file, err, want)
		}
		oneLine(t, err)
	}
}

// The same call again and again ends the run, and before that the model is warned.
func TestRules(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name, rules string
		answer      func(*llm, chat) reply
		exit        string
		asked       int
		told        string // in the last request
	}{
		{"loop", "loop_limit: 3", restless, "custom: stuck_detected", 3, ""},
		{"loop with a warning", "loop_limit: 3, warn_loop: true", restless, "custom: stuck_detected", 3, `You have called "clock" with the same input 2 times in a row`},
		{"no loop", "loop_limit: 2", steps(use("clock", "{}"), use("recall", `{"key":"a"}`), use("clock", "{}"), say("done")), "complete", 4, ""},
		{"steps", "step_limit: 2", restless, "budget_exhausted", 2, ""},
		{"reminder", "reminder: Be kind to herons.", steps(use("clock", "{}"), say("done")), "complete", 2, "Be kind to herons."},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			l := newLLM(t, tc.answer)
			conn := bed(t, provider+"  a: {provider: main, model: m, tools: [clock, recall], rules: {"+tc.rules+"}}\n", bedConfig{model: l})
			out := dispatch(t, conn, "a", protocol.Text("go"))
			r := l.requests()
			if out.ExitReason.String() != tc.exit || len(r) != tc.asked {
				t.Errorf("exit %v after %d requests, want %s after %d", out.ExitReason, len(r), tc.exit, tc.asked)
			}
			if all := fmt.Sprint(r[len(r)-1].Messages); !strings.Contains(all, tc.told) {
				t.Errorf("the model was told %s", all)
			}
			if all := fmt.Sprint(r[0].Messages); tc.told != "" && strings.Contains(all, tc.told) {
				t.Errorf("the model was told at once: %s", all)
			}
		})
	}
}

// Telemetry tells those who observe the run.
func TestTelemetry(t *testing.T) {
	t.Parallel()
	for verbosity, want := range map[string]string{"metrics": "skg.metrics", "operations": "skg.op", "full": "skg.full"} {
		l := newLLM(t, fixed(say("done")))
		conn := bed(t, provider+"  a: {provider: main, model: m, durable: false, rules: {telemetry: "+verbosity+"}}\n", bedConfig{model: l})
		next := events(t, conn, "skg.live.a.>")
		dispatch(t, conn, "a", protocol.Text("go"))
		found := false
		for e := next(""); e.Kind != protocol.EventCompleted; e = next("") {
			found = found || strings.Contains(string(e.Data), `"`+want+`"`)
		}
		if !found {
			t.Errorf("%s: nothing was told of %s", verbosity, want)
		}
	}
}

// A conversation that grows too long goes on, since room is made in it.
func TestCompaction(t *testing.T) {
	t.Parallel()
	const turns = 12
	long := strings.Repeat("The heron stands in the water. ", 20) // some 150 tokens
	for _, tc := range []struct {
		name, keys string
		most       int  // messages of a request
		summary    bool // that stands for the first ones
	}{
		{"none", "", 2 * turns, false},
		{"sliding window", "compaction: {strategy: sliding_window, keep: 4, max_messages: 8}", 9, false},
		{"by default", "compaction: {strategy: sliding_window, max_messages: 8}", 9, false},
		{"policy", "compaction: {strategy: policy_trim, keep: 5, max_messages: 8}", 9, false},
		{"tokens", "max_tokens: 200, compaction: {strategy: token_budget, keep: 600, window: 1500, reserve: 200}", 10, false},
		{"window of tokens", "max_tokens: 200, compaction: {strategy: sliding_window, keep: 3, window: 1500}", 10, false},
		{"summary", "compaction: {strategy: summarize, keep: 3, max_messages: 8, model: m2}", 9, true},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			l := newLLM(t, func(_ *llm, c chat) reply {
				if c.Model == "m2" {
					return say("They spoke of herons.")
				}
				return say(long)
			})
			conn := bed(t, provider+"  a: {provider: main, model: m, system: Be short., "+tc.keys+"}\n", bedConfig{model: l})
			for turn := range turns {
				out := dispatch(t, conn, "a", protocol.Text(fmt.Sprintf("%d: %s", turn, long)).WithSession("s"))
				if textOf(t, out) != long || out.ExitReason.Kind() != protocol.ExitComplete {
					t.Fatalf("turn %d: %v", turn, out.ExitReason)
				}
			}
			most, summarized := 0, false
			for _, c := range l.requests() {
				if c.Model == "m2" {
					continue
				}
				most = max(most, len(c.Messages))
				summarized = summarized || strings.Contains(fmt.Sprint(c.Messages), "They spoke of herons.")
				if last := c.user(); !strings.Contains(last, long) || c.system() != "Be short." {
					t.Errorf("request = %+v", c)
				}
			}
			if most > tc.most || most < 4 || summarized != tc.summary || tc.name == "none" && most != tc.most {
				t.Errorf("up to %d messages, want %d; summarized %v", most, tc.most, summarized)
			}
		})
	}
}

// A conversation that fits in no way ends with a reason. Where the model's own vocabulary is known, that is by what it counts.
func TestOverflow(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		model string
		words int // of one token and 14 bytes
		exit  string
	}{
		{"m", 50, "complete"}, {"m", 100, "custom: context_overflow"}, // estimated by bytes
		{"gpt-4o", 100, "complete"}, {"gpt-4o", 300, "custom: context_overflow"},
	} {
		l := newLLM(t, fixed(say("done")))
		conn := bed(t, provider+"  a: {provider: main, model: "+tc.model+", max_tokens: 50, compaction: {strategy: sliding_window, window: 300}}\n", bedConfig{model: l})
		out := dispatch(t, conn, "a", protocol.Text(strings.Repeat(" international", tc.words)))
		if asked := len(l.requests()) == 1; out.ExitReason.String() != tc.exit || asked != (tc.exit == "complete") {
			t.Errorf("%d words for %s: %v", tc.words, tc.model, out.ExitReason)
		}
	}
}
