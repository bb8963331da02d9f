package manifest_test

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"

	"github.com/skelegent/skelegent-go/actors/manifest"
	"github.com/skelegent/skelegent-go/protocol"
)

const portableFile = `
name: portable-agent
instructions:
  system_prompt: You are X.
  examples: [["hi", "hello"], ["bye", "so long"]]
model: {provider: openai_compatible, base_url: "LLM", api_key: "` + apiKey + `", name: m}
tools: [{kind: local, name: clock}, {kind: local, name: search}]
delegates:
  - {name: child_agent, description: Asks the child., kind: in_process, agent: child, manifest: child.yaml}
  - {name: far, description: Asks far., kind: remote, agent: judge}
  - {name: later, description: Asks nobody yet.}
knowledge: {patterns_path: p.yaml}
colour: red
`

// An agent that another file describes: its model, what it is told, its tools and whom it asks.
func TestPortableAgent(t *testing.T) {
	t.Parallel()
	l := newLLM(t, func(_ *llm, c chat) reply {
		if strings.HasPrefix(c.system(), "You are the child") {
			return say("the child heard " + c.user())
		}
		switch c.sinceUser() {
		case 0:
			return use("child_agent", `{"message":"one"}`)
		case 2:
			return use("far", `{"entity_id":"host-c"}`)
		case 4:
			return use("later", `{"a":1}`)
		case 6:
			return use("search", `{}`)
		}
		return say("done")
	})
	var log bytes.Buffer
	logger := zap.New(zapcore.NewCore(zapcore.NewJSONEncoder(zap.NewProductionEncoderConfig()), zapcore.AddSync(&log), zapcore.DebugLevel))
	conn := bed(t, `
operators:
  parent: {kind: portable, file: agent.yaml, limits: {max_turns: 9}, tools: [{exec: [echo, '"found"'], as: search, description: Searches.}, recall]}
  child: {kind: portable, file: child.json}
  judge: {kind: chain, links: [{id: judge.it, confidence: 0.5}]}
`, bedConfig{logger: logger, files: map[string]string{
		"agent.yaml": strings.ReplaceAll(portableFile, "LLM", l.URL),
		"child.json": `{"name":"child","instructions":{"system_prompt":"You are the child."},"model":{"provider":"openai_compatible","base_url":"` + l.URL + `","name":"m"}}`,
	}})
	if got := textOf(t, dispatch(t, conn, "parent", protocol.Text("go"))); got != "done" {
		t.Fatal(got)
	}
	var parent []chat
	for _, c := range l.requests() {
		if c.system() == "You are X." {
			parent = append(parent, c)
		}
	}
	if len(parent) != 5 {
		t.Fatalf("%d questions", len(parent))
	}
	if got := strings.Join(parent[0].toolNames(), ","); got != "child_agent,clock,far,later,search,recall" {
		t.Errorf("tools %s", got)
	}
	var said []string
	for _, m := range parent[0].Messages {
		said = append(said, m.Role+":"+m.Content)
	}
	if got := strings.Join(said, "|"); got != "system:You are X.|user:hi|assistant:hello|user:bye|assistant:so long|user:go" {
		t.Errorf("it is told %s", got)
	}
	for i, want := range []string{"", "the child heard one", `"entity_id":"host-c"`, `"status":"delegate_unwired"`, "found"} {
		if got := parent[i].last().Content; i > 0 && !strings.Contains(got, want) {
			t.Errorf("result %d: %s", i, got)
		}
	}
	if parent[0].key != "Bearer "+apiKey || parent[0].Model != "m" {
		t.Errorf("key %q, model %q", parent[0].key, parent[0].Model)
	}
	if out := log.String(); strings.Contains(out, apiKey) || !strings.Contains(out, "colour") {
		t.Errorf("the log %s", out)
	}
}

// A schema of the file is that of the answer, and a provider of the manifest may take the place of the model's.
func TestPortableOverridden(t *testing.T) {
	t.Parallel()
	l := newLLM(t, steps(say(`{"n":1}`)))
	conn := bed(t, provider+`  a: {kind: portable, file: agent.yaml, provider: main, model: m2, limits: {max_cost: "1"}}
`, bedConfig{model: l, files: map[string]string{
		"agent.yaml": "instructions: {system_prompt: Count., response_schema: {type: object, properties: {n: {type: integer}}, required: [n]}}\n",
	}})
	if got := textOf(t, dispatch(t, conn, "a", protocol.Text("go"))); got != `{"n":1}` {
		t.Error(got)
	}
	if got := l.requests()[0]; got.Model != "m2" || got.key != "Bearer "+apiKey {
		t.Errorf("asked %+v", got)
	}
}

func TestBadPortable(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct{ name, keys, file, want string }{
		{"no file", "", "", "2: operators.p.file: kind portable needs the file"},
		{"not there", ", file: none.yaml", "", "2: operators.p.file: "},
		{"no model", ", file: f.yaml", "name: x", "2: operators.p.provider: the file names no model"},
		{"what it is told twice", ", file: f.yaml, system: x", "name: x", "2: operators.p.system: is for the kinds agent, single_shot"},
		{"servers", ", file: f.yaml", "mcp_servers: [{name: fs, command: [x]}]", "2: operators.p.file: it has mcp_servers, which are not supported yet"},
		{
			"child", ", file: f.yaml", "delegates: [{name: a, description: x, kind: in_process, agent: child, manifest: child.yaml}]",
			`2: operators.p.file: its delegate "a" is in this process, but there is no operator "child": add it, such as {kind: portable, file: child.yaml}`,
		},
		{"remote that cannot be", ", file: f.yaml", "delegates: [{name: a, description: x, kind: remote, agent: 'A B'}]", `2: operators.p.file: its delegate "a": `},
		{"half a delegate", ", file: f.yaml", "delegates: [{name: a}]", "2: operators.p.file: "},
		{"file of an agent", ", file: f.yaml, kind: agent", "", "2: operators.p.file: is for the kind portable"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			writeFile(t, dir, "f.yaml", tc.file)
			kind := "kind: portable"
			if strings.Contains(tc.keys, "kind: agent") {
				kind, tc.keys = "kind: agent", strings.ReplaceAll(tc.keys, ", kind: agent", "")
			}
			_, err := manifest.Parse([]byte("operators: \n  p: {"+kind+tc.keys+"}\n"), "x.yaml", dir)
			if err == nil || !strings.Contains(err.Error(), "x.yaml:"+tc.want) {
				t.Errorf("error is\n  %v\nwant\n  x.yaml:%s", err, tc.want)
			}
		})
	}
}

// Of what an agent is given to begin with, what fits is shown, the first sources first.
func TestContextOfAnAgent(t *testing.T) {
	t.Parallel()
	l := newLLM(t, steps(say("noted"), say("done")))
	conn := bed(t, provider+`
  a:
    provider: main
    model: m
    tools: [remember]
    context:
      max_chars: 400
      preamble: What is known.
      sources:
        - {text: The house is blue.}
        - {memory: {keys: [colour]}}
        - {files: ., match: ["*.md"]}
`, bedConfig{model: l, files: map[string]string{"note.md": "The door is red.", "other.txt": "outside"}})
	dispatch(t, conn, "a", protocol.Text("go"))
	var shown string
	for _, m := range l.requests()[0].Messages {
		shown += m.Role + ":" + m.Content + "\n"
	}
	if !strings.Contains(shown, "What is known.") || !strings.Contains(shown, "The house is blue.") || !strings.Contains(shown, "The door is red.") || strings.Contains(shown, "outside") {
		t.Errorf("shown %s", shown)
	}
}

func TestBadContext(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct{ name, context, want string }{
		{"without sources", "{}", "operators.a.context.sources: a context needs sources"},
		{"nothing", "{sources: [{}]}", "operators.a.context.sources: a source is a text, files or memory, one of them"},
		{"two at once", "{sources: [{text: x, files: y}]}", "operators.a.context.sources: a source is a text, files or memory, one of them"},
		{"match of a text", "{sources: [{text: x, match: [a]}]}", "operators.a.context.sources: match is for files"},
		{"empty memory", "{sources: [{memory: {}}]}", "operators.a.context.sources: memory needs keys, a prefix or a query"},
		{"as a text", "{sources: [x]}", "a source must be {text: TEXT}"},
		{"unknown key", "{sources: [{url: x}]}", `unknown key "url"`},
		{"no limit", "{max_chars: 0, sources: [{text: x}]}", `"0" does not fit here`},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			refused(t, "providers:\n  p: {kind: openai}\noperators:\n  a: {provider: p, context: "+tc.context+"}\n", tc.want)
		})
	}
}

func writeFile(t testing.TB, dir, name, text string) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}
