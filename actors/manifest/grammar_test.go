package manifest_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/skelegent/skelegent-go/actors/manifest"
)

// What may be said of providers, and is wrong. %s stands for the keys of a provider at line 3.
func TestBadProviders(t *testing.T) {
	t.Parallel()
	const bad = "providers:\n  p:\n    %s\n  o: {kind: openai}\n"
	nested := "providers:\n  o: {kind: openai}\n  a: {kind: router, default: o}\n  b: {kind: router, default: a}\n" +
		"  c: {kind: router, default: b}\n  d: {kind: router, default: c}\n"
	for _, tc := range []struct{ name, in, want string }{
		{"script of anthropic", "{kind: anthropic, script: x}", "3: providers.p.script: is for the kind scripted"},
		{"prices of ollama", "{kind: ollama, prices: {}}", "3: providers.p.prices: is for the kinds openai, responses, anthropic"},
		{"key of a router", "{kind: router, default: o, api_key: {env: A}}", "3: providers.p.api_key: is for the kinds openai, responses, anthropic, ollama"},
		{"address of a script", "{kind: scripted, script: x, base_url: 'http://x'}", "3: providers.p.base_url: is for the kinds"},
		{"cache of openai", "{kind: openai, cache_prompt: true}", "3: providers.p.cache_prompt: is for the kind anthropic"},
		{"cache as text", "{kind: anthropic, cache_prompt: always}", `3: "always" does not fit here: true or false is needed`},
		{"half a price of anthropic", "{kind: anthropic, prices: {m: {output: 1}}}", "3: providers.p.prices.m: needs input and output"},

		{"no limits", "{kind: openai, limits: {}}", "3: providers.p.limits: needs requests_per_minute, tokens_per_minute or concurrency"},
		{"key of limits", "{kind: openai, limits: {rpm: 1}}", `3: unknown key "rpm"`},
		{"limit of nothing", "{kind: openai, limits: {concurrency: 0}}", `3: "0" does not fit here: a whole number, 1 to 1000000000, is needed`},
		{"limit below zero", "{kind: openai, limits: {requests_per_minute: -5}}", `3: "-5" does not fit here: a whole number, 1 to`},
		{"limit as text", "{kind: openai, limits: {tokens_per_minute: many}}", `3: "many" does not fit here: a whole number, 1 to`},
		{"limit as list", "{kind: openai, limits: {tokens_per_minute: [1]}}", `3: "" does not fit here: a whole number, 1 to`},
		{"limit beyond all", "{kind: openai, limits: {tokens_per_minute: 1000000001}}", `3: "1000000001" does not fit here`},
		{"key of a breaker", "{kind: openai, breaker: {after: 1}}", `3: unknown key "after"`},
		{"breaker without failures", "{kind: openai, breaker: {failures: 0}}", `3: "0" does not fit here`},
		{"breaker for no time", "{kind: openai, breaker: {open_for: 0s}}", `3: "0s" is no positive duration`},

		{"routes of openai", "{kind: openai, routes: [{prefix: a, provider: o}]}", "3: providers.p.routes: is for the kind router"},
		{"default of openai", "{kind: openai, default: o}", "3: providers.p.default: is for the kind router"},
		{"router to nowhere", "{kind: router}", "2: providers.p.routes: a router needs routes or a default"},
		{"router without routes", "{kind: router, routes: []}", "3: providers.p.routes: a router needs routes or a default"},
		{"route without a prefix", "{kind: router, routes: [{provider: o}]}", "3: providers.p.routes: a route needs a prefix; default is for all other models"},
		{"route as text", "{kind: router, routes: [o]}", "3: providers.p.routes: a route needs a prefix"},
		{"route as list", "{kind: router, routes: [[o]]}", "3: a route must be {prefix: TEXT, provider: NAME}"},
		{"key of a route", "{kind: router, routes: [{prefix: a, to: o}]}", `3: unknown key "to"`},
		{"route without a provider", "{kind: router, routes: [{prefix: a}]}", "3: providers.p.routes: needs a provider"},
		{"unknown provider", "{kind: router, routes: [{prefix: a, provider: x}]}", `3: providers.p.routes: there is no provider "x"`},
		{"unknown default", "{kind: router, default: x}", `3: providers.p.default: there is no provider "x"`},
		{"default with a prefix", "{kind: router, default: {prefix: a, provider: o}}", "3: providers.p.default: the default has no prefix"},
		{"unknown fallback", "{kind: router, default: {provider: o, fallback: [x]}}", `3: providers.p.default: there is no provider "x"`},
		{"fallback without a provider", "{kind: router, default: {provider: o, fallback: [{model: m}]}}", "3: providers.p.default: needs a provider"},
		{"fallback as list", "{kind: router, default: {provider: o, fallback: [[o]]}}", "3: a fallback must be the name of a provider"},
		{"key of a fallback", "{kind: router, default: {provider: o, fallback: [{prefix: a}]}}", `3: unknown key "prefix"`},
		{"two prefixes", "{kind: router, routes: [{prefix: a, provider: o}, {prefix: a, provider: o}]}", `3: providers.p.routes: there are two routes with the prefix "a"`},
		{"line of a route", "kind: router\n    routes:\n      - {prefix: a, provider: o}\n      - {prefix: b, provider: x}", `6: providers.p.routes: there is no provider "x"`},
		{"line of a fallback", "kind: router\n    routes:\n      - prefix: a\n        provider: o\n        fallback:\n          - o\n          - x", `9: providers.p.routes: there is no provider "x"`},
		{"too many routes", "{kind: router, routes: [" + many(101, "{prefix: a%d, provider: o}") + "]}", "3: providers.p.routes: more than 100 routes"},
		{"too many fallbacks", "{kind: router, default: {provider: o, fallback: [" + many(9, "{provider: o, model: m%d}") + "]}}", "3: providers.p.default: more than 8 fallbacks"},
		{"to itself", "{kind: router, default: p}", "2: providers.p: the router leads back to itself: p, p"},
		{"a circle", "{kind: router, default: o}\n  a: {kind: router, default: {provider: o, fallback: [b]}}\n  b: {kind: router, routes: [{prefix: x, provider: a}]}", "4: providers.a: the router leads back to itself: a, b, a"},
		{"too deep", nested, "6: providers.d: more than 3 routers, one within the other"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			in := tc.in
			if !strings.HasPrefix(in, "providers:") {
				in = fmt.Sprintf(bad, tc.in)
			}
			refused(t, in, tc.want)
		})
	}
	fine := strings.TrimSuffix(nested, "  d: {kind: router, default: c}\n")
	if _, err := manifest.Parse([]byte(fine), "x.yaml", "."); err != nil {
		t.Errorf("three routers: %v", err)
	}
}

// many is a list of n entries.
func many(n int, format string) string {
	all := make([]string, n)
	for i := range all {
		if all[i] = format; strings.Contains(format, "%d") {
			all[i] = fmt.Sprintf(format, i)
		}
	}
	return strings.Join(all, ", ")
}

// What may be said of agents, and is wrong. Each is the keys of an agent at line 5, or of another operator at line 5.
func TestBadAgents(t *testing.T) {
	t.Parallel()
	const begin = "providers:\n  main: {kind: openai}\n  all: {kind: router, routes: [{prefix: gpt-, provider: main}]}\noperators:\n"
	agent := func(keys string) string { return "  a: {provider: main, " + keys + "}\n" }
	tools := func(entry string) string { return agent("tools: [" + entry + "]") }
	deep := strings.Repeat("[", 70) + strings.Repeat("]", 70)
	for _, tc := range []struct{ name, in, want string }{
		{"router without a model", "  a: {provider: all}\n", "5: operators.a.model: provider all has no default, so a model is needed"},
		{"choice", agent("tool_choice: maybe"), `5: operators.a.tool_choice: tool_choice "maybe" is not one of auto, any, none`},
		{"choice of nothing", agent("tool_choice: any"), "5: operators.a.tool_choice: any needs tools"},
		{"choice of a single shot", "  a: {kind: single_shot, provider: main, tool_choice: none}\n", "5: operators.a.tool_choice: is for the kinds agent, portable"},
		{"parallel", agent("max_parallel: 257"), "5: operators.a.max_parallel: is more than 256"},
		{"parallel of nothing", agent("max_parallel: 0"), `5: "0" does not fit here`},
		{"parallel of a program", "  a: {kind: exec, command: [x], max_parallel: 2}\n", "5: operators.a.max_parallel: is for the kinds agent, portable"},
		{"safe calls", agent("run_safe_calls: 1"), `5: "1" does not fit here: true or false is needed`},
		{"approval", agent("approval_time: never"), `5: "never" is no positive duration`},
		{"options as text", agent("options: x"), `5: "x" does not fit here: a mapping is needed`},
		{"options of a program", "  a: {kind: exec, command: [x], options: {a: 1}}\n", "5: operators.a.options: is for the kinds agent, single_shot"},
		{"option that is no JSON", agent("options: {top_p: .nan}"), `5: ".nan" is no number of JSON`},
		{"option of bytes", agent("options: {a: !!binary aGk=}"), `5: "aGk=" has a type that JSON does not have`},
		{"key that is no text", agent("options: {a: {1: x}}"), "5: the key of a JSON value must be a text; put it into quotes"},
		{"key twice", agent("options: {a: {b: 1, b: 2}}"), `5: mapping key "b" already defined`},
		{"too deep", agent("options: {a: " + deep + "}"), "5: the value nests deeper than 64"},
		{"too long", agent("options: {a: " + strings.Repeat("x", 300_000) + "}"), "5: the value is longer than 262144 bytes as JSON"},
		{"bomb", agent("options: {a: &a [xxxxxxxxxx], b: &b [" + many(50, "*a") + "], c: &c [" + many(50, "*b") + "], d: [" + many(50, "*c") + "]}"), "5: the value is longer than 262144 bytes as JSON"},
		{"within itself", agent("options: {a: &a [*a]}"), "5: the value nests deeper than 64"},

		{"no output", agent("output: {}"), "5: operators.a.output: needs either a schema or a schema_file"},
		{"two outputs", agent("output: {schema: {}, schema_file: x}"), "5: operators.a.output: needs either a schema or a schema_file"},
		{"key of an output", agent("output: {scheme: {}}"), `5: unknown key "scheme"`},
		{"mode", agent("output: {schema: {}, mode: xml}"), `5: operators.a.output.mode: mode "xml" is not one of tool_call, text_json`},
		{"no schema", agent("output: {schema: {type: 7}}"), "5: operators.a.output.schema: is no JSON schema: "},
		{"schema of a text", agent("output: {schema: x}"), "5: operators.a.output.schema: is no JSON schema: "},
		{"schema from elsewhere", agent("output: {schema: {$ref: 'http://192.0.2.1/x'}}"), "5: operators.a.output.schema: is no JSON schema: "},
		{"retries", agent("output: {schema: {}, max_retries: -1}"), "5: operators.a.output.max_retries: must be 0 to 100"},
		{"native", agent("output: {schema: {}, native: true}"), "5: operators.a.output.native: is for the mode text_json"},
		{"output of a program", "  a: {kind: exec, command: [x], output: {schema: {}}}\n", "5: operators.a.output: is for the kinds agent, single_shot"},
		{"its tool", agent("output: {schema: {}}, tools: [{operator: b, as: return_result}]"), `5: operators.a.tools: there are two tools "return_result"`},

		{"strategy", agent("compaction: {strategy: forget}"), `5: operators.a.compaction.strategy: strategy "forget" is not one of sliding_window, policy_trim, token_budget, summarize`},
		{"no strategy", agent("compaction: {keep: 4}"), `5: operators.a.compaction.strategy: strategy "" is not one of`},
		{"key of compaction", agent("compaction: {strategy: summarize, last: 4}"), `5: unknown key "last"`},
		{"window", agent("model: unheard, compaction: {strategy: sliding_window}"), `5: operators.a.compaction: the window of model "unheard" is not known, so window or max_messages is needed`},
		{"all stays", agent("compaction: {strategy: sliding_window, keep: 8, max_messages: 8}"), "5: operators.a.compaction.keep: must be less than max_messages"},
		{"one message", agent("compaction: {strategy: sliding_window, max_messages: 1}"), "5: operators.a.compaction.max_messages: must be 2 or more"},
		{"tokens that stay", agent("compaction: {strategy: token_budget, keep: 900, window: 1000, reserve: 100}"), "5: operators.a.compaction.keep: must be less than the window of 900 tokens"},
		{"tokens of an unknown window", agent("model: unheard, compaction: {strategy: token_budget, max_messages: 10}"), "5: operators.a.compaction: needs the tokens that stay: keep"},
		{"reserve", agent("compaction: {strategy: sliding_window, window: 1000, reserve: 1000}"), "5: operators.a.compaction.reserve: must be less than the window of 1000 tokens"},
		{"reserve of nothing", agent("model: unheard, compaction: {strategy: sliding_window, max_messages: 9, reserve: 1}"), "5: operators.a.compaction.reserve: is a part of the window, which is not known"},
		{"model of a window", agent("compaction: {strategy: sliding_window, model: m}"), "5: operators.a.compaction.model: is for the strategy summarize"},

		{"key of rules", agent("rules: {loops: 3}"), `5: unknown key "loops"`},
		{"loop of one", agent("rules: {loop_limit: 1}"), "5: operators.a.rules.loop_limit: must be 2 or more"},
		{"warning of nothing", agent("rules: {warn_loop: true}"), "5: operators.a.rules.warn_loop: needs a loop_limit of 3 or more"},
		{"warning of two", agent("rules: {warn_loop: true, loop_limit: 2}"), "5: operators.a.rules.warn_loop: needs a loop_limit of 3 or more"},
		{"no steps", agent("rules: {step_limit: 0}"), `5: "0" does not fit here`},
		{"long reminder", agent("rules: {reminder: " + strings.Repeat("x", 17<<10) + "}"), "5: operators.a.rules.reminder: is longer than 16384 bytes"},
		{"telemetry", agent("rules: {telemetry: all}"), `5: operators.a.rules.telemetry: telemetry "all" is not one of metrics, operations, full`},
		{"loop of a single shot", "  a: {kind: single_shot, provider: main, rules: {loop_limit: 3}}\n", "5: operators.a.rules.loop_limit: is for the kind agent"},
		{"reminder of a single shot", "  a: {kind: single_shot, provider: main, rules: {reminder: x}}\n", "5: operators.a.rules.reminder: is for the kind agent"},

		{"two forms", tools("{handoff: b, exec: [x], as: y}"), "5: operators.a.tools: an entry is a name, or has one of tool, operator, remote, delegate, handoff and exec"},
		{"handoff to nobody", tools("{handoff: B!}"), `5: operators.a.tools: operator id "B!": must be`},
		{"handoff of an effect", tools("{handoff: b, effect: mail}"), "5: operators.a.tools: effect is not for an entry with handoff, but with tool, operator, effect"},
		{"handoff beside others", tools("{handoff: b, parallel: true}"), "5: operators.a.tools: parallel is not for an entry with handoff"},
		{"handoff twice", tools("{handoff: b}, {operator: c, as: transfer_to_b}"), `5: operators.a.tools: there are two tools "transfer_to_b"`},
		{"program without a name", tools("{exec: [x]}"), "5: operators.a.tools: exec needs a name: as"},
		{"program of nothing", tools("{exec: [], as: x}"), "5: operators.a.tools: exec needs a command"},
		{"program without a command", tools("{exec: [''], as: x}"), "5: operators.a.tools: exec needs a command"},
		{"program as text", tools("{exec: ./x y, as: x}"), `5: "./x y" does not fit here: a list is needed`},
		{"program as an effect", tools("{exec: [x], as: x, effect: mail}"), "5: operators.a.tools: effect is not for an entry with exec, but with tool, operator, effect"},
		{"value in the environment", tools("{exec: [x], as: x, env: [A=secret]}"), "5: operators.a.tools: env has names of variables of the node, not values"},
		{"schema of no object", tools("{exec: [x], as: x, input_schema: {type: string}}"), `5: operators.a.tools: tool x: input schema: must have "type":"object"`},
		{"input that is no schema", tools("{exec: [x], as: x, input_schema: [1]}"), "5: operators.a.tools: tool x: input schema: "},
		{"no name of a program", tools("{exec: [x], as: a b}"), `5: operators.a.tools: tool name "a b": must be`},
		{"no time for a program", tools("{exec: [x], as: x, timeout: 0s}"), `5: "0s" is no positive duration`},
		{"time of an operator", tools("{operator: b, timeout: 5s}"), "5: operators.a.tools: timeout is not for an entry with operator, but with exec"},
		{"environment of a tool", tools("{tool: clock, env: [A]}"), "5: operators.a.tools: env is not for an entry with tool, but with exec"},
		{"schema of an operator", tools("{operator: b, input_schema: {}}"), "5: operators.a.tools: input_schema is not for an entry with operator, but with exec, remote, delegate, effect"},
		{"repeated operator", tools("{operator: b, repeatable: true}"), "5: operators.a.tools: repeatable is not for an entry with operator, but with exec"},
		{"effect without a name", tools("{effect: mail}"), "5: operators.a.tools: effect needs a name: as"},
		{"built-in effect", tools("{tool: clock, effect: write_memory}"), `5: operators.a.tools: effect "write_memory" is the name of a built-in kind`},
		{"result beyond all", tools("{tool: clock, max_result: 300000}"), "5: operators.a.tools: max_result is more than 262144 bytes"},
		{"result of nothing", tools("{tool: clock, max_result: 0}"), `5: "0" does not fit here`},
		{"too many tools", tools(many(129, "{operator: b%d}")), "5: operators.a.tools: more than 128 tools"},
		{"line of a tool", "  a:\n    provider: main\n    tools:\n      - clock\n      - {exec: [x]}\n", "9: operators.a.tools: exec needs a name: as"},
		{"null in a list of tools", tools("{exec: [x], as: x, input_schema: {enum: [~]}}, ~"), "5: an entry of a list is empty"},
		{"null in a list of names", tools("{exec: [x, ~], as: x}"), "5: an entry of a list is empty"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			refused(t, begin+tc.in, tc.want)
		})
	}
}

// What may be said of patterns, and is wrong. Each is the keys of p, at line 3; a and b are there, too.
func TestBadPatterns(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct{ name, in, want string }{
		{"nobody", "{kind: sequential}", "3: operators.p.operators: kind sequential needs operators"},
		{"empty", "{kind: parallel, operators: []}", "3: operators.p.operators: kind parallel needs operators"},
		{"unknown", "{kind: sequential, operators: [a, c]}", `3: operators.p.operators: there is no operator "c"; one of another node is {operator: ID}`},
		{"line", "\n    kind: sequential\n    operators:\n      - a\n      - c", `7: operators.p.operators: there is no operator "c"`},
		{"member as list", "{kind: sequential, operators: [[a]]}", "3: a member must be the name of an operator of this manifest or {operator: ID}"},
		{"key of a member", "{kind: sequential, operators: [{id: a}]}", `3: unknown key "id"`},
		{"no id", "{kind: sequential, operators: [{operator: A}]}", `3: operators.p.operators: operator id "A": must be`},
		{"member without id", "{kind: sequential, operators: [{}]}", `3: operators.p.operators: operator id "": must be`},
		{"null", "{kind: sequential, operators: [a, ~]}", "3: an entry of a list is empty"},
		{"too many", "{kind: parallel, operators: [" + many(257, "a") + "]}", "3: operators.p.operators: more than 256 members"},
		{"model of a pattern", "{kind: sequential, operators: [a], model: m}", "3: operators.p.model: is for the kinds agent, single_shot"},
		{"operators of an agent", "{kind: exec, command: [x], operators: [a]}", "3: operators.p.operators: is for the kinds sequential, parallel, supervisor"},
		{"operator of a sequence", "{kind: sequential, operators: [a], operator: b}", "3: operators.p.operator: is for the kinds loop, delegate"},
		{"loop without end", "{kind: loop, operator: a}", "3: operators.p.until_contains: a loop needs the text that ends it"},
		{"loop of nobody", "{kind: loop, until_contains: x}", "3: operators.p.operator: kind loop needs operator"},
		{"long loop", "{kind: loop, operator: a, until_contains: x, max_iterations: 1001}", "3: operators.p.max_iterations: is more than 1000"},
		{"selector", "{kind: supervisor, operators: [a], selector: best}", `3: operators.p.selector: selector "best" is not one of round_robin, random, handoff`},
		{"no selector", "{kind: supervisor, operators: [a]}", `3: operators.p.selector: selector "" is not one of round_robin`},
		{"supervisor of nobody", "{kind: supervisor, selector: random}", "3: operators.p.operators: kind supervisor needs operators"},
		{"rounds", "{kind: supervisor, operators: [a], selector: random, max_rounds: 5000}", "3: operators.p.max_rounds: is more than 1000"},
		{"rounds of a swarm", "{kind: swarm, start: a, max_rounds: 5}", "3: operators.p.max_rounds: is for the kind supervisor"},
		{"swarm without start", "{kind: swarm, transitions: {a: [b]}}", "3: operators.p.start: a swarm needs the operator that begins"},
		{"swarm without transitions", "{kind: swarm, start: a}", "3: operators.p.transitions: a swarm needs who may hand the work to whom"},
		{"unknown start", "{kind: swarm, start: c, transitions: {a: [b]}}", `3: operators.p.start: there is no operator "c"`},
		{"unknown goal", "{kind: swarm, start: a, transitions: {a: [c]}}", `3: operators.p.transitions: there is no operator "c"`},
		{"goal as text", "{kind: swarm, start: a, transitions: {a: b}}", `3: "b" does not fit here: a list is needed`},
		{"from where nobody comes", "{kind: swarm, start: a, transitions: {a: [a], b: [a]}}", "3: operators.p.transitions.b: is not the start, and no transition leads to it"},
		{"handoffs", "{kind: swarm, start: a, transitions: {a: [b]}, max_handoffs: 0}", `3: "0" does not fit here`},
		{"within itself", "{kind: sequential, operators: [a, p]}", "3: operators.p: the pattern is within itself: p, p"},
		{"a circle", "{kind: loop, operator: q, until_contains: x}\n  q: {kind: parallel, operators: [{operator: p}]}", "3: operators.p: the pattern is within itself: p, q, p"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			refused(t, "operators:\n  a: {kind: exec, command: [x]}\n  p: "+tc.in+"\n  b: {kind: exec, command: [x]}\n", tc.want)
		})
	}
}
