package manifest_test

import (
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/skelegent/skelegent-go/actors/manifest"
	modelprovider "github.com/skelegent/skelegent-go/actors/provider"
	"github.com/skelegent/skelegent-go/actors/provider/scripted"
	"github.com/skelegent/skelegent-go/state/memory"
)

// model is the beginning of manifests whose operators need a provider.
const model = "providers:\n  main: {kind: openai}\n"

func TestBadManifests(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct{ name, in, want string }{
		// What is no manifest at all.
		{"empty", "", "1: the file is empty"},
		{"comment only", "# nothing\n", "1: the file is empty"},
		{"null", "~\n", "1: the file is empty"},
		{"text", "hello", `1: "hello" does not fit here: a mapping is needed`},
		{"list", "- a\n- b\n", "1: a list does not fit here: a mapping is needed"},
		{"binary", "operators:\n\x00\x01\x02", "2: this is no text in UTF-8"},
		{"UTF-16", "\xff\xfeo\x00", "1: this is no text in UTF-8"},
		{"latin 1", "operators: {}\n# gr\xfcn", "2: this is no text in UTF-8"},
		{"5 MiB", strings.Repeat("# filled\n", 5<<20/9), "466034: the file is longer than 4194304 bytes"},
		{"not closed", "operators: [", "1: did not find expected node content"},
		{"not closed later", "providers: {}\noperators:\n  a: {kind: x? y, b\n", "3: did not find expected ',' or '}'"},
		{"bad indent", "providers:\n  a: {}\n b: {}\n", "3: did not find expected key"},
		{"list and mapping", "operators: {}\neffects:\n  - a\n  b: c\n", "3: did not find expected '-' indicator"},
		{"tab", "operators:\n\ta: {}\n", "2: found character that cannot start any token"},
		{"on one line", "operators: a: b", "1: mapping values are not allowed in this context"},
		{"anchor", "operators:\n  a: *x\n", "2: unknown anchor 'x' referenced"},
		{"contains itself", "operators: &a\n  x: *a\n", `2: unknown key "x"`},
		{"two documents", "operators: {}\n---\noperators: {}\n", "2: more than one YAML document"},
		{"second document broken", "operators: {}\n---\n[", "more than one YAML document"},
		{"version", "%YAML 9.9\n---\noperators: {}", "1: found incompatible YAML document"},

		// Unknown keys, at each level.
		{"top key", "operators: {}\nworkers: {}\n", `2: unknown key "workers"`},
		{"key with a space", "the operators: {}\n", `1: unknown key "the operators"`},
		{"key of a provider", "providers:\n  main:\n    kind: openai\n    url: x\n", `4: unknown key "url"`},
		{"key of a key", "providers:\n  main: {kind: openai, api_key:\n    {vault: x}}\n", `3: unknown key "vault"`},
		{"key of a price", "providers:\n  main: {kind: openai, prices: {m:\n    {in: 1}}}\n", `3: unknown key "in"`},
		{"key of an operator", model + "operators:\n  a:\n    provider: main\n    when_idle: enqueue\n", `6: unknown key "when_idle"`},
		{"key of limits", model + "operators:\n  a:\n    limits:\n      turns: 1\n", `6: unknown key "turns"`},
		{"key of the ceiling", model + "operators:\n  a:\n    ceiling:\n      turns: 1\n", `6: unknown key "turns"`},
		{"key of a tool", model + "operators:\n  a:\n    tools:\n      - name: clock\n", `6: unknown key "name"`},
		{"key of an effect", "effects:\n  mail: {kind: exec, retries: 3}\n", `2: unknown key "retries"`},

		// Wrong types.
		{"operators as list", "operators: [a]\n", "1: a list does not fit here: a mapping is needed"},
		{"operator as text", "operators:\n  a: agent\n", `2: "agent" does not fit here: a mapping is needed`},
		{"name as mapping", "operators:\n  ? {a: b}\n  : {}\n", "2: a mapping does not fit here: a text is needed"},
		{"kind as list", "operators:\n  a: {kind: [agent]}\n", "2: a list does not fit here: a text is needed"},
		{"concurrency as text", "operators:\n  a: {concurrency: many}\n", `2: "many" does not fit here: a whole number is needed`},
		{"turns below zero", "operators:\n  a: {limits: {max_turns: -1}}\n", `2: "-1" does not fit here: a whole number, zero or more, is needed`},
		{"temperature as text", "operators:\n  a: {temperature: hot}\n", `2: "hot" does not fit here: a number is needed`},
		{"durable as text", "operators:\n  a: {durable: perhaps}\n", `2: "perhaps" does not fit here: true or false is needed`},
		{"command as text", "operators:\n  a:\n    kind: exec\n    command: ./run me\n", `4: "./run me" does not fit here: a list is needed`},
		{"tools as mapping", "operators:\n  a: {tools: {clock: 1}}\n", "2: a mapping does not fit here: a list is needed"},
		{"prices as list", "providers:\n  main: {prices: [1]}\n", "2: a list does not fit here: a mapping is needed"},

		// Twice the same.
		{"twice the key", "operators:\n  a:\n    kind: agent\n    kind: exec\n", `4: mapping key "kind" already defined at line 3`},
		{"twice the operator", "operators:\n  a: {}\n  b: {}\n  a: {}\n", `4: mapping key "a" already defined at line 2`},
		{"twice the section", "operators: {}\nproviders: {}\noperators: {}\n", `3: mapping key "operators" already defined at line 1`},

		// Durations and money.
		{"no unit", "operators:\n  a:\n    limits:\n      max_duration: 5\n", `4: "5" is no positive duration`},
		{"no duration", "operators:\n  a: {timeout: soon}\n", `2: "soon" is no positive duration`},
		{"no time", "operators:\n  a: {timeout: 0s}\n", `2: "0s" is no positive duration`},
		{"duration below zero", "effects:\n  mail: {backoff: -1s}\n", `2: "-1s" is no positive duration`},
		{"duration as list", "effects:\n  mail: {timeout: [1s]}\n", `2: "" is no positive duration`},
		{"no decimal", "operators:\n  a:\n    limits: {max_cost: cheap}\n", `3: "cheap" is no amount of USD`},
		{"comma", "operators:\n  a:\n    limits: {max_cost: \"0,50\"}\n", `3: "0,50" is no amount of USD`},
		{"money below zero", "operators:\n  a:\n    limits: {max_cost: -0.5}\n", `3: "-0.5" is no amount of USD`},
		{"bad price", "providers:\n  main: {kind: openai,\n    prices: {m: {input: free}}}\n", `3: "free" is no amount of USD`},
		{"price below zero", "providers:\n  main: {kind: openai,\n    prices: {m: {input: 1, output: -1}}}\n", `3: "-1" is no amount of USD`},
		{"half a price", "providers:\n  main:\n    kind: openai\n    prices:\n      m: {input: 1}\n", "5: providers.main.prices.m: needs input and output"},

		// Providers.
		{"provider without kind", "providers:\n  main: {}\n", `2: providers.main.kind: kind "" is not one of openai, responses, anthropic, ollama, scripted, router`},
		{"unknown kind of provider", "providers:\n  main:\n    kind: gemini\n", `3: providers.main.kind: kind "gemini" is not one of openai, responses, anthropic, ollama, scripted, router`},
		{"key as text", "providers:\n  main:\n    api_key: sk-very-secret\n", "3: an api_key must be {env: NAME} or {file: PATH}, not the key itself"},
		{"key as list", "providers:\n  main:\n    api_key: [sk-very-secret]\n", "3: an api_key must be {env: NAME} or {file: PATH}, not the key itself"},
		{"key as variable", "providers:\n  main:\n    kind: openai\n    api_key: {env: sk-very-secret}\n", "4: providers.main.api_key.env: must be the name of an environment variable"},
		{"key twice", "providers:\n  main: {kind: openai, api_key: {env: A, file: b}}\n", "2: providers.main.api_key: must be {env: NAME} or {file: PATH}"},
		{"key from nowhere", "providers:\n  main: {kind: openai, api_key: {}}\n", "2: providers.main.api_key: must be {env: NAME} or {file: PATH}"},
		{"no address", "providers:\n  main:\n    kind: openai\n    base_url: localhost\n", "4: providers.main.base_url: must be an http or https address"},
		{"no script", "providers:\n  main: {kind: scripted}\n", "2: providers.main.script: a scripted provider needs the path of its script"},
		{"script of openai", "providers:\n  main: {kind: openai, script: x}\n", "2: providers.main.script: is for the kind scripted"},
		{"prices of a script", "providers:\n  main: {kind: scripted, script: x, prices: {}}\n", "2: providers.main.prices: is for the kinds openai, responses, anthropic"},
		{"name of two lines", "providers:\n  \"a\\nb\": {}\n", `2: providers."a\nb".kind: kind "" is not one of`},

		// Operators.
		{"no token", model + "operators:\n  My Agent: {provider: main}\n", `4: operators."My Agent": operator id "My Agent": must be`},
		{"unknown kind of operator", model + "operators:\n  a:\n    kind: robot\n", `5: operators.a.kind: kind "robot" is not one of agent, single_shot, tool, exec, sequential, parallel, loop, supervisor, swarm`},
		{"when busy", model + "operators:\n  a:\n    provider: main\n    when_busy: wait\n", `6: operators.a.when_busy: when_busy "wait" is not one of enqueue, reject, steer, interrupt`},
		{"attempts", model + "operators:\n  a:\n    provider: main\n    attempts: -1\n", "6: operators.a.attempts: must not be negative"},
		{"schedule", model + "operators:\n  a:\n    provider: main\n    schedule: {cron: daily, message: x}\n", "6: operators.a.schedule: invalid input: schedule"},
		{"schedule without a message", model + "operators:\n  a:\n    provider: main\n    schedule: {cron: '@daily'}\n", "6: operators.a.schedule: needs a message"},
		{"no provider", model + "operators:\n  a: {kind: agent}\n", "4: operators.a.provider: kind agent needs a provider"},
		{"nothing", model + "operators:\n  a:\n", "4: operators.a.provider: kind agent needs a provider"},
		{"unknown provider", model + "operators:\n  a:\n    provider: other\n", `5: operators.a.provider: there is no provider "other"`},
		{"concurrency below zero", model + "operators:\n  a: {provider: main, concurrency: -1}\n", "4: operators.a.concurrency: must not be negative"},
		{"no command", "operators:\n  a: {kind: exec}\n", "2: operators.a.command: kind exec needs a command"},
		{"empty command", "operators:\n  a: {kind: exec, command: ['']}\n", "2: operators.a.command: kind exec needs a command"},
		{"command of an agent", model + "operators:\n  a: {provider: main, command: [x]}\n", "4: operators.a.command: is for the kind exec"},
		{"exec with a model", "operators:\n  a: {kind: exec, command: [x], max_tokens: 5}\n", "2: operators.a.max_tokens: is for the kinds agent, single_shot"},
		{"no number", model + "operators:\n  a: {provider: main, temperature: .nan}\n", "4: operators.a.temperature: must be a number"},

		// Tools.
		{"unknown tool", model + "operators:\n  a:\n    provider: main\n    tools:\n      - clock\n      - watch\n", `8: operators.a.tools: there is no tool "watch": built in are clock, memory_forget, memory_recall, memory_search, memory_store, recall, remember`},
		{"unknown built-in tool", model + "operators:\n  a:\n    provider: main\n    tools: [{tool: watch}]\n", `6: operators.a.tools: tool "watch" is not one of clock, memory_forget, memory_recall, memory_search, memory_store, recall, remember`},
		{"tool and operator", model + "operators:\n  a:\n    provider: main\n    tools: [{tool: clock, operator: b}]\n", "6: operators.a.tools: an entry is a name, or has one of tool, operator, remote, delegate, handoff and exec, or an effect alone"},
		{"neither", model + "operators:\n  a:\n    provider: main\n    tools: [{as: b}]\n", "6: operators.a.tools: an entry is a name, or has one of tool, operator, remote, delegate, handoff and exec, or an effect alone"},
		{"null tool", model + "operators:\n  a:\n    provider: main\n    tools: [~]\n", "6: an entry of a list is empty"},
		{"empty argument", "operators:\n  a:\n    kind: exec\n    command:\n      - x\n      -\n", "6: an entry of a list is empty"},
		{"list as tool", model + "operators:\n  a:\n    provider: main\n    tools: [[clock]]\n", "6: a tool must be a name, {tool: NAME} or {operator: ID}"},
		{"bad operator as tool", model + "operators:\n  a:\n    provider: main\n    tools: [{operator: B!}]\n", `6: operators.a.tools: operator id "B!": must be`},
		{"described tool", model + "operators:\n  a:\n    provider: main\n    tools: [{tool: clock, description: x}]\n", "6: operators.a.tools: description is not for an entry with tool, but with operator, handoff, exec, remote, delegate, effect"},
		{"bad name of a tool", model + "operators:\n  a:\n    provider: main\n    tools: [{tool: clock, as: the clock}]\n", `6: operators.a.tools: tool name "the clock": must be`},
		{"two tools of one name", model + "operators:\n  a:\n    provider: main\n    tools:\n      - clock\n      - {operator: b, as: clock}\n", `8: operators.a.tools: there are two tools "clock"`},
		{"tools of a single shot", model + "operators:\n  a: {kind: single_shot, provider: main, tools: [clock]}\n", "4: operators.a.tools: is for the kinds agent, chain, portable"},
		{"tool without a name", "operators:\n  a: {kind: tool}\n", "2: operators.a.tool: kind tool needs the name of a tool"},
		{"unknown tool as operator", "operators:\n  a:\n    kind: tool\n    tool: watch\n", `4: operators.a.tool: tool "watch" is not one of clock, memory_forget, memory_recall, memory_search, memory_store, recall, remember`},
		{"tool of an agent", model + "operators:\n  a: {provider: main, tool: clock}\n", "4: operators.a.tool: is for the kind tool"},

		// Effects.
		{"built-in effect", "effects:\n  write_memory: {kind: exec, command: [x]}\n", `2: effects.write_memory: "write_memory" is the name of a built-in kind`},
		{"effect without a name", "effects:\n  '': {kind: exec, command: [x]}\n", "1: effects: an effect needs a name"},
		{"unknown kind of effect", "effects:\n  mail:\n    kind: http\n", `3: effects.mail.kind: kind "http" is not one of exec`},
		{"effect without a command", "effects:\n  mail: {kind: exec}\n", "2: effects.mail.command: kind exec needs a command"},
		{"effect below zero", "effects:\n  mail: {kind: exec, command: [x], concurrency: -2}\n", "2: effects.mail.concurrency: must not be negative"},

		// The first of many counts.
		{"many unknown keys", "zebra: 1\nape: 2\n", `1: unknown key "zebra"`},
		{"a key before a value", "ape: 1\noperators: {a: {timeout: x}}\n", `1: unknown key "ape"`},
		{"a value before a key", "operators: {a: {timeout: x}}\nape: 1\n", `1: "x" is no positive duration`},
		{"by name", model + "operators:\n  b: {kind: x}\n  a: {kind: x}\n", "5: operators.a.kind"},
		{"both limits", model + "operators:\n  a:\n    limits: {max_cost: -1}\n    ceiling: {max_cost: -2}\n", `5: "-1" is no amount`},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			refused(t, tc.in, tc.want)
		})
	}
}

// refused checks that a manifest is refused, with one line that says why, and always the same.
func refused(t *testing.T, in, want string) {
	t.Helper()
	m, err := manifest.Parse([]byte(in), "dir/x.yaml", "dir")
	if err == nil || m != nil {
		t.Fatalf("got %v, %v; want an error", m, err)
	}
	oneLine(t, err)
	if !strings.Contains(err.Error(), want) {
		t.Errorf("error is\n  %s\nwant\n  dir/x.yaml:%s", err, want)
	}
	if strings.Contains(err.Error(), "secret") {
		t.Errorf("%q repeats the key", err)
	}
	for range 20 {
		if _, again := manifest.Parse([]byte(in), "dir/x.yaml", "dir"); again.Error() != err.Error() {
			t.Fatalf("another time the error is %q", again)
		}
	}
}

var located = regexp.MustCompile(`^dir/x\.yaml:[1-9][0-9]*: [^\n]+$`)

func oneLine(t *testing.T, err error) {
	t.Helper()
	if text := err.Error(); !located.MatchString(text) || strings.Contains(text, "manifest.") || len(text) > 500 {
		t.Errorf("%q is not one line FILE:LINE: TEXT", text)
	}
}

// docExample is the manifest in the package's documentation.
func docExample(t testing.TB) []byte {
	t.Helper()
	src, err := os.ReadFile("doc.go")
	if err != nil {
		t.Fatal(err)
	}
	var lines []string
	for line := range strings.Lines(string(src)) {
		line, ok := strings.CutPrefix(line, "//\t")
		if ok && (len(lines) > 0 || line == "providers:\n") {
			lines = append(lines, line)
		}
	}
	if len(lines) < 10 {
		t.Fatal("doc.go has no example")
	}
	return []byte(strings.Join(lines, ""))
}

func TestExampleOfTheDocumentation(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	writeFile(t, dir, "clerk.yaml", "model: {provider: openai, name: gpt-4o-mini}\n")
	m, err := manifest.Parse(docExample(t), "doc.go", dir)
	if err != nil {
		t.Fatal(err)
	}
	a := m.Operators["assistant"]
	if len(a.Tools) != 9 || a.Limits.MaxTurns != 10 || a.Concurrency != 64 || a.Compaction.Keep != 6 || a.Rules.LoopLimit != 4 {
		t.Errorf("assistant = %+v", a)
	}
	if m.Operators["reviewer"].Kind != "single_shot" || m.Effects["webhook"].Command[0] != "./deliver" {
		t.Errorf("operators %+v, effects %+v", m.Operators, m.Effects)
	}
	if p := m.Providers["main"]; p.APIKey.Env != "OPENAI_API_KEY" || p.Prices["gpt-4o-mini"].Cached == nil || p.Limits.Concurrency != 16 {
		t.Errorf("provider = %+v", p)
	}
	for _, kind := range []string{"sequential", "parallel", "loop", "supervisor", "swarm", "coordinator", "chain", "delegate", "portable"} {
		if !slices.ContainsFunc(slices.Collect(maps.Values(m.Operators)), func(o manifest.Operator) bool { return o.Kind == kind }) {
			t.Errorf("there is no pattern of kind %s", kind)
		}
	}
	r := newRegistry()
	script := map[string]modelprovider.Provider{"script": scripted.New()}
	for _, sub := range []string{"handbook", "skills", "data"} {
		if err := os.Mkdir(filepath.Join(dir, sub), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	if err := m.Register(t.Context(), r, manifest.Deps{Providers: script, State: memory.New(memory.Config{}), Home: dir}); err != nil || len(r.operators) != len(m.Operators) {
		t.Errorf("%d operators registered, %v", len(r.operators), err)
	}
}

func TestDemo(t *testing.T) {
	t.Parallel()
	m, err := manifest.Load("../../cmd/skelegent/demo/skelegent.yaml")
	if err != nil {
		t.Fatal(err)
	}
	r := newRegistry()
	if err := m.Register(t.Context(), r, manifest.Deps{}); err != nil {
		t.Fatal(err)
	}
	if r.operators["assistant"] == nil {
		t.Errorf("registered %v", r.operators)
	}
}

func TestLoad(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if _, err := manifest.Load(filepath.Join(dir, "none.yaml")); err == nil || !strings.Contains(err.Error(), "none.yaml") || strings.Contains(err.Error(), "\n") {
		t.Errorf("missing file: %v", err)
	}
	if _, err := manifest.Load(dir); err == nil || strings.Contains(err.Error(), "\n") {
		t.Errorf("directory: %v", err)
	}
	file := filepath.Join(dir, "big.yaml")
	if err := os.WriteFile(file, make([]byte, 5<<20), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := manifest.Load(file); err == nil || !strings.Contains(err.Error(), "longer than") {
		t.Errorf("5 MiB: %v", err)
	}
}

func FuzzParse(f *testing.F) {
	f.Add(docExample(f))
	for _, s := range []string{
		"", "a", "operators: {a: {kind: tool, tool: clock}}", "effects: {x: {kind: exec, command: [y], timeout: 1s}}",
		"operators: &a {x: *a}", "%YAML 9.9\n---\n", "x: \"\\n\"", "? [a]\n: b", "a: !!binary x", "<<: {a: b}", "operators: {a: {<<: {kind: x}}}",
		"operators: {p: {kind: loop, operator: p, until_contains: x}}", "operators: {a: {kind: swarm, start: a, transitions: {a: [a]}}}",
		"providers: {p: {kind: router, routes: [{prefix: a, provider: p}], default: p}}",
		"providers: {p: {kind: ollama}}\noperators: {a: {provider: p, options: {a: [~, 1_0, .5, 0x1]}, output: {schema: {type: [string, \"null\"]}}}}",
		"providers: {p: {kind: ollama}}\noperators: {a: {provider: p, tools: [{exec: [x], as: y, input_schema: {type: object}}, {handoff: b}, {effect: e, as: f}]}}",
		"providers: {p: {kind: ollama}}\noperators: {a: {provider: p, compaction: {strategy: summarize, window: 9}, rules: {loop_limit: 2}}}",
		"providers: {\"\\n\": {kind: openai, api_key: {file: a}, prices: {m: {input: 1e3, output: .5}}}}",
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		m, err := manifest.Parse(data, "dir/x.yaml", "dir")
		if err != nil {
			if !located.MatchString(err.Error()) {
				t.Errorf("%q is not one line FILE:LINE: TEXT", err)
			}
			return
		}
		if err := m.Register(t.Context(), newRegistry(), manifest.Deps{}); err != nil && !located.MatchString(err.Error()) {
			t.Errorf("register: %q is not one line FILE:LINE: TEXT", err)
		}
	})
}
