package portable_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/skelegent/skelegent-go/actors/compose"
	"github.com/skelegent/skelegent-go/actors/compose/portable"
)

const whole = `name: portable-agent
instructions: {system_prompt: "You are X.", response_schema: {type: object}, examples: [["hi","hello"]], metadata: {k: v}}
model: {provider: openai_compatible, base_url: "http://localhost:11434/v1", api_key: "sk-secret", name: llama3}
tools: [{kind: local, name: search}]
mcp_servers: [{name: fs, command: ["mcp-server-fs", "/data"]}]
delegates:
  - {name: first, description: text}
  - {name: second, description: text, kind: in_process, agent: child, manifest: child.yaml}
knowledge: {patterns_path: p.yaml, metadata: {}}
`

func TestAWholeManifestIsRead(t *testing.T) {
	t.Parallel()
	want := &portable.Manifest{
		Name: "portable-agent",
		Instructions: &compose.Instructions{
			SystemPrompt: "You are X.", ResponseSchema: []byte(`{"type":"object"}`), Examples: [][2]string{{"hi", "hello"}}, Metadata: []byte(`{"k":"v"}`),
		},
		Model:      &portable.Model{Provider: portable.OpenAICompatible, Name: "llama3", BaseURL: "http://localhost:11434/v1", APIKey: "sk-secret"},
		Tools:      []portable.Tool{{Kind: "local", Name: "search"}},
		MCPServers: []portable.MCPServer{{Name: "fs", Command: []string{"mcp-server-fs", "/data"}}},
		Delegates: []portable.Delegate{
			{Name: "first", Description: "text", Kind: portable.Stub},
			{Name: "second", Description: "text", Kind: portable.InProcess, Agent: "child", Manifest: "child.yaml"},
		},
		Knowledge: &portable.Knowledge{PatternsPath: "p.yaml", Metadata: []byte("{}")},
	}
	got := parse(t, whole)
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
	if got.Delegates[0].ExecutorKey() != "first" || got.Delegates[1].ExecutorKey() != "child" {
		t.Errorf("got %s, %s", got.Delegates[0].ExecutorKey(), got.Delegates[1].ExecutorKey())
	}
	raw, err := got.JSON()
	if err != nil {
		t.Fatal(err)
	}
	for name, read := range map[string]func([]byte) (*portable.Manifest, error){"as JSON": portable.FromJSON, "as YAML": portable.FromYAML} {
		if back, err := read(raw); err != nil || cmp.Diff(want, back) != "" {
			t.Errorf("%s: %v %s", name, err, cmp.Diff(want, back))
		}
	}
}

func TestEverythingAtTheTopIsOptional(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"{}", "name: null\ntools:\nmodel: ~", "tools: []\ndelegates: []"} {
		if m := parse(t, text); encode(t, m) != "{}" || m.Warnings != nil {
			t.Errorf("%s: got %s, %v", text, encode(t, m), m.Warnings)
		}
	}
	m := parse(t, "model: {provider: openai, name: gpt-x}\nknowledge: {}")
	if encode(t, m) != `{"model":{"provider":"openai","name":"gpt-x"},"knowledge":{}}` {
		t.Errorf("got %s", encode(t, m))
	}
}

func TestAnExampleIsExactlyTwoTexts(t *testing.T) {
	t.Parallel()
	for _, examples := range []string{`[[a]]`, `[[a, b, c]]`, `[[]]`, `[a]`, `[{a: b}]`, `[null]`} {
		_, err := portable.FromYAML([]byte("instructions:\n  system_prompt: x\n  examples: " + examples))
		wantLine(t, err, 3, "an example must be a list of two texts: what the user says, and the answer")
	}
	_, err := portable.FromYAML([]byte("instructions: {system_prompt: x, examples: [[a, 1]]}"))
	wantLine(t, err, 1, "instructions: examples must be a text; put it into quotes")
}

func TestWhatIsWrongIsSaidWithItsLine(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]struct {
		line int
		text string
	}{
		"":                               {1, "the manifest is empty"},
		"# nothing\n":                    {1, "the manifest is empty"},
		"- a":                            {1, "the manifest must be a mapping"},
		"name: x\n---\nname: y":          {2, "more than one YAML document"},
		"name: 12":                       {1, "the manifest: name must be a text; put it into quotes"},
		"name: x\nname: y":               {2, `the manifest has the key "name" twice`},
		"tools: {}":                      {1, "the manifest: tools must be a list"},
		"tools:\n- {name: a}":            {2, "a tool needs kind"},
		"tools:\n- {kind: local}":        {2, "a tool needs name"},
		"tools:\n- {kind: mcp, name: a}": {2, `a tool: kind is "mcp", but must be local`},
		"tools: [{kind: local, name: a b}]": {
			1, `a tool: "a b" is no name; it must be 1 to 256 of A-Z, a-z, 0-9, _, . and -`,
		},
		"instructions: {}":                                        {1, "instructions needs system_prompt"},
		"instructions: text":                                      {1, "instructions must be a mapping"},
		"model: {name: x}":                                        {1, "model needs provider"},
		"model: {provider: other, name: x}":                       {1, `model: provider is "other", but must be openai, openai_compatible`},
		"model: {provider: openai}":                               {1, "model needs name"},
		"model: {provider: openai_compatible, name: x}":           {1, "model needs base_url"},
		"mcp_servers:\n- {command: [x]}":                          {2, "an MCP server needs name"},
		"mcp_servers:\n- {name: x, command: []}":                  {2, "an MCP server needs command, with a program at least"},
		"mcp_servers:\n- {name: x, command: [1]}":                 {2, "an MCP server: command must be a text; put it into quotes"},
		"delegates: [{name: x}]":                                  {1, "a delegate needs description"},
		"delegates: [{description: x}]":                           {1, "a delegate needs name"},
		"delegates: [{name: x, description: x, kind: sub}]":       {1, `a delegate: kind is "sub", but must be stub, in_process, remote, mcp`},
		"delegates: [null]":                                       {1, "a delegate must be a mapping"},
		"knowledge: []":                                           {1, "knowledge must be a mapping"},
		"knowledge: {metadata: {1: x}}":                           {1, "the key of a JSON value must be a text; put it into quotes"},
		"knowledge: {metadata: {a: x, a: y}}":                     {1, `the key "a" is there twice`},
		"knowledge: {metadata: .nan}":                             {1, `".nan" is no number of JSON`},
		"knowledge: {metadata: !!binary aGk=}":                    {1, `"aGk=" has a type that JSON does not have`},
		"name: \xff":                                              {1, "this is no text in UTF-8"},
		"name: \"a\n\nb":                                          {3, "found unexpected end of stream"},
		`{"name": "x", "tools": [` + "\n" + `{"kind": "local"}]}`: {2, "a tool needs name"},
	} {
		_, err := portable.FromYAML([]byte(text))
		var got string
		if err != nil {
			got = err.Error()
		}
		if full := fmt.Sprintf("line %d: %s", want.line, want.text); got != full {
			t.Errorf("%q: got %s, want %s", text, got, full)
		}
		if compose.KindOf(err) != compose.KindToolFailed {
			t.Errorf("%q: kind %s", text, compose.KindOf(err))
		}
	}
}

func TestWhatIsWrongInJSONIsSaidWithItsLine(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]struct {
		line int
		text string
	}{
		"":                       {1, "the JSON ends too early"},
		"{\"name\":\n":           {2, "the JSON ends too early"},
		"{}\n{}":                 {2, "there is more behind the JSON value"},
		"{\n\"name\": 1}":        {2, "the manifest: name must be a text; put it into quotes"},
		"{\"name\": \"a\", 1:2}": {1, "this is no JSON: invalid character '1'"},
	} {
		_, err := portable.FromJSON([]byte(text))
		if err == nil || !strings.HasPrefix(err.Error(), fmt.Sprintf("line %d: %s", want.line, want.text)) {
			t.Errorf("%q: got %v", text, err)
		}
	}
	m, err := portable.FromJSON([]byte(`{"name":"\ud83d\ude00\/","knowledge":{"metadata":{"n":1.50,"b":true,"z":null}}}`))
	if err != nil || m.Name != "😀/" || string(m.Knowledge.Metadata) != `{"n":1.50,"b":true,"z":null}` {
		t.Errorf("got %+v, %v", m, err)
	}
}

func TestUnknownKeysAreIgnoredAndNamed(t *testing.T) {
	t.Parallel()
	m := parse(t, "name: x\nversion: 2\ntools:\n- {kind: local, name: a, timeout: 3}\nmodel: {provider: openai, name: g, api_key: k}\n? [a]\n: b\n")
	want := []string{
		`line 2: the manifest does not have the key "version"; it is ignored`,
		`line 6: the manifest does not have the key ""; it is ignored`,
		`line 5: model: api_key is not for the provider openai; it is ignored`,
		`line 4: a tool does not have the key "timeout"; it is ignored`,
	}
	if d := cmp.Diff(want, m.Warnings); d != "" {
		t.Error(d)
	}
	if m.Model.APIKey != "" || len(m.Tools) != 1 {
		t.Errorf("got %+v", m)
	}
	m = parse(t, "tools: [{kind: local, name: a}]\ndelegates:\n- {name: a, description: d}")
	if !slices.Equal(m.Warnings, []string{`line 3: delegates: there is another tool or delegate "a" before, which this one replaces`}) {
		t.Errorf("got %v", m.Warnings)
	}
	var lots strings.Builder
	for i := range 5000 {
		fmt.Fprintf(&lots, "k%d: x\n", i)
	}
	if m := parse(t, lots.String()); len(m.Warnings) != 100 {
		t.Errorf("got %d warnings", len(m.Warnings))
	}
}

func TestAManifestIsBounded(t *testing.T) {
	t.Parallel()
	_, err := portable.FromYAML([]byte("name: x\n#" + strings.Repeat("x", portable.MaxSize)))
	wantLine(t, err, 2, "the manifest is longer than 1048576 bytes")
	_, err = portable.FromJSON([]byte(strings.Repeat(" ", portable.MaxSize+1)))
	wantLine(t, err, 1, "the manifest is longer than 1048576 bytes")
	deep := strings.Repeat("[", 70) + strings.Repeat("]", 70)
	for _, text := range []string{"knowledge: {metadata: " + deep + "}", `{"knowledge": {"metadata": ` + deep + `}}`, deep} {
		if _, err := portable.FromYAML([]byte(text)); err == nil || !strings.Contains(err.Error(), "line 1: ") {
			t.Errorf("got %v", err)
		}
	}
}

func TestAliasesDoNotGrow(t *testing.T) {
	t.Parallel()
	laughs := "x0: &x0 [lol,lol,lol,lol,lol,lol,lol,lol,lol]\n"
	for i := 1; i < 12; i++ {
		laughs += fmt.Sprintf("x%d: &x%d [%s]\n", i, i, strings.Repeat(fmt.Sprintf("*x%d,", i-1), 9))
	}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	_, err := portable.FromYAML([]byte(laughs + "knowledge:\n  metadata: *x11\n"))
	runtime.ReadMemStats(&after)
	if grown := after.TotalAlloc - before.TotalAlloc; grown > 100<<20 { // with what other tests take meanwhile
		t.Errorf("it took %d bytes", grown)
	}
	if err == nil || !strings.Contains(err.Error(), "longer than 262144 bytes as JSON") {
		t.Errorf("got %v", err)
	}
	if m := parse(t, laughs); len(m.Warnings) != 12 {
		t.Errorf("got %v", m.Warnings)
	}
	_, err = portable.FromYAML([]byte("knowledge:\n  metadata: &a [*a]\n"))
	if err == nil {
		t.Error("what contains itself was read")
	}
	m := parse(t, "knowledge: {metadata: {d: &d text, e: *d}}\ndelegates: [&x {name: a, description: *d}, {name: b, description: c, <<: *x}]")
	if m.Delegates[0].Description != "text" || string(m.Knowledge.Metadata) != `{"d":"text","e":"text"}` {
		t.Errorf("got %+v", m)
	}
}

func TestLoadReadsByTheNameOfTheFile(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for name, text := range map[string]string{"a.yaml": whole, "a.json": `{"name":"j"}`, "bad.JSON": "name: x", "bad.yml": "name: 1"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if m, err := portable.Load(filepath.Join(dir, "a.yaml")); err != nil || m.Name != "portable-agent" {
		t.Errorf("got %v, %v", m, err)
	}
	if m, err := portable.Load(filepath.Join(dir, "a.json")); err != nil || m.Name != "j" {
		t.Errorf("got %v, %v", m, err)
	}
	for _, name := range []string{"bad.JSON", "bad.yml"} {
		path := filepath.Join(dir, name)
		if _, err := portable.Load(path); err == nil || !strings.HasPrefix(err.Error(), path+":1: ") {
			t.Errorf("got %v", err)
		}
	}
	_, err := portable.Load(filepath.Join(dir, "none"))
	if compose.KindOf(err) != compose.KindToolFailed || !errors.Is(err, os.ErrNotExist) {
		t.Errorf("got %v", err)
	}
}

func TestTheKeyIsNotPrinted(t *testing.T) {
	t.Parallel()
	m := parse(t, whole)
	for _, format := range []string{"%v", "%+v", "%#v", "%s"} {
		if text := fmt.Sprintf(format, *m.Model); strings.Contains(text, "sk-secret") {
			t.Errorf("%s: %s", format, text)
		}
	}
}

func FuzzFromYAML(f *testing.F) {
	f.Add([]byte(whole))
	f.Add([]byte("x: &x [*x]\nknowledge: {metadata: *x}"))
	f.Add([]byte("model: {provider: openai, name: g}\n? {a: b}\n: c"))
	f.Add([]byte(`{"name":"x","tools":[{"kind":"local","name":"a.b"}]}`))
	f.Add([]byte("knowledge: {metadata: [0x10, 1_000, 1e3, 2024-01-01, yes, ~]}"))
	f.Fuzz(func(t *testing.T, data []byte) {
		m, err := portable.FromYAML(data)
		if err != nil {
			if compose.KindOf(err) != compose.KindToolFailed {
				t.Fatalf("another error: %v", err)
			}
			return
		}
		raw, err := m.JSON()
		if err != nil {
			t.Fatal(err)
		}
		back, err := portable.FromJSON(raw)
		if err != nil {
			t.Fatalf("%s: %v", raw, err)
		}
		if again, err := back.JSON(); err != nil || string(again) != string(raw) {
			t.Fatalf("%s became %s, %v", raw, again, err)
		}
	})
}
