package portable

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/skelegent/skelegent-go/actors/compose"
)

// reader reads one manifest.
type reader struct {
	warnings []string
	err      error // the first
}

// maxWarnings bounds what is said of unknown keys.
const maxWarnings = 100

func (r *reader) warn(n *yaml.Node, format string, args ...any) {
	if len(r.warnings) < maxWarnings {
		r.warnings = append(r.warnings, fmt.Sprintf("line %d: ", max(1, n.Line))+fmt.Sprintf(format, args...))
	}
}

func (r *reader) fail(err error) {
	if r.err == nil {
		r.err = err
	}
}

// object is a mapping with the keys that are known of it.
type object struct {
	*reader

	node   *yaml.Node
	what   string
	fields map[string]*yaml.Node // those that are not null
}

// object reads a mapping. Other keys than known are a warning.
func (r *reader) object(n *yaml.Node, what string, known ...string) object {
	n = resolved(n)
	o := object{reader: r, node: n, what: what, fields: map[string]*yaml.Node{}}
	if n.Kind != yaml.MappingNode {
		r.fail(wrong(n, "%s must be a mapping", what))
		return o
	}
	seen := map[string]bool{}
	for i := 0; i+1 < len(n.Content); i += 2 {
		key, value := resolved(n.Content[i]), n.Content[i+1]
		switch {
		case key.Kind == yaml.ScalarNode && seen[key.Value]:
			r.fail(wrong(key, "%s has the key %s twice", what, quoted(key.Value)))
		case key.Kind != yaml.ScalarNode || !slices.Contains(known, key.Value):
			r.warn(key, "%s does not have the key %s; it is ignored", what, quoted(key.Value))
		case !isNull(value):
			o.fields[key.Value] = value
		}
		seen[key.Value] = true
	}
	return o
}

// text reads a text; empty if there is none and it is not required.
func (o object) text(key string, required bool) string {
	n, ok := o.fields[key]
	if !ok {
		if required {
			o.fail(wrong(o.node, "%s needs %s", o.what, key))
		}
		return ""
	}
	return o.textOf(n, key)
}

func (o object) textOf(n *yaml.Node, key string) string {
	if n = resolved(n); n.Kind != yaml.ScalarNode || !isText(n) {
		o.fail(wrong(n, "%s: %s must be a text; put it into quotes", o.what, key))
		return ""
	}
	return n.Value
}

// name is a required text that is not blank.
func (o object) name(key string) string {
	text := o.text(key, true)
	if n, ok := o.fields[key]; ok && strings.TrimSpace(text) == "" {
		o.fail(wrong(n, "%s: %s is empty", o.what, key))
	}
	return text
}

// oneOf reads one of some words. The first is the default, unless it is required.
func (o object) oneOf(key string, required bool, words ...string) string {
	n, ok := o.fields[key]
	text := o.text(key, required)
	switch {
	case !ok:
		return words[0]
	case !slices.Contains(words, text):
		o.fail(wrong(n, "%s: %s is %s, but must be %s", o.what, key, quoted(text), strings.Join(words, ", ")))
	}
	return text
}

// identifier is a required name as tools have them.
func (o object) identifier(key string) string {
	text := o.name(key)
	if n, ok := o.fields[key]; ok && !compose.IsIdentifier(text) {
		o.fail(wrong(n, "%s: %s is no name; it must be 1 to %d of A-Z, a-z, 0-9, _, . and -",
			o.what, quoted(text), compose.MaxIdentifier))
	}
	return text
}

func (o object) json(key string) json.RawMessage {
	n, ok := o.fields[key]
	if !ok {
		return nil
	}
	raw, err := jsonOf(n)
	if err != nil {
		o.fail(err)
	}
	return raw
}

// list returns the entries of a list; none if there is no list.
func (o object) list(key string) []*yaml.Node {
	n, ok := o.fields[key]
	if !ok {
		return nil
	}
	if n = resolved(n); n.Kind != yaml.SequenceNode {
		o.fail(wrong(n, "%s: %s must be a list", o.what, key))
		return nil
	}
	return n.Content
}

// texts reads a list of texts.
func (o object) texts(key string) []string {
	var all []string
	for _, n := range o.list(key) {
		all = append(all, o.textOf(n, key))
	}
	return all
}

func manifestOf(root *yaml.Node) (*Manifest, error) {
	r := &reader{}
	o := r.object(root, "the manifest", "name", "instructions", "model", "tools", "mcp_servers", "delegates", "knowledge")
	m := &Manifest{Name: o.text("name", false)}
	if n, ok := o.fields["instructions"]; ok {
		m.Instructions = r.instructions(n)
	}
	if n, ok := o.fields["model"]; ok {
		m.Model = r.model(n)
	}
	for _, n := range o.list("tools") {
		t := r.object(n, "a tool", "kind", "name")
		m.Tools = append(m.Tools, Tool{Kind: t.oneOf("kind", true, KindLocal), Name: t.identifier("name")})
	}
	for _, n := range o.list("mcp_servers") {
		s := r.object(n, "an MCP server", "name", "command")
		server := MCPServer{Name: s.name("name"), Command: s.texts("command")}
		if len(server.Command) == 0 {
			r.fail(wrong(s.node, "an MCP server needs command, with a program at least"))
		}
		m.MCPServers = append(m.MCPServers, server)
	}
	for _, n := range o.list("delegates") {
		m.Delegates = append(m.Delegates, r.delegate(n))
	}
	if n, ok := o.fields["knowledge"]; ok {
		k := r.object(n, "knowledge", "patterns_path", "metadata")
		m.Knowledge = &Knowledge{PatternsPath: k.text("patterns_path", false), Metadata: k.json("metadata")}
	}
	r.clashes(o, m)
	if r.err != nil {
		return nil, r.err
	}
	m.Warnings = r.warnings
	return m, nil
}

func (r *reader) instructions(n *yaml.Node) *compose.Instructions {
	o := r.object(n, "instructions", "system_prompt", "response_schema", "examples", "metadata")
	in := &compose.Instructions{
		SystemPrompt: o.text("system_prompt", true), ResponseSchema: o.json("response_schema"), Metadata: o.json("metadata"),
	}
	for _, n := range o.list("examples") {
		pair := resolved(n)
		if pair.Kind != yaml.SequenceNode || len(pair.Content) != 2 {
			r.fail(wrong(pair, "an example must be a list of two texts: what the user says, and the answer"))
			return in
		}
		in.Examples = append(in.Examples, [2]string{o.textOf(pair.Content[0], "examples"), o.textOf(pair.Content[1], "examples")})
	}
	return in
}

func (r *reader) model(n *yaml.Node) *Model {
	o := r.object(n, "model", "provider", "name", "base_url", "api_key")
	m := &Model{Provider: Provider(o.oneOf("provider", true, string(OpenAI), string(OpenAICompatible))), Name: o.name("name")}
	if m.Provider == OpenAICompatible {
		m.BaseURL, m.APIKey = o.name("base_url"), Secret(o.text("api_key", false))
		return m
	}
	for _, key := range []string{"base_url", "api_key"} { // in this order
		if n, ok := o.fields[key]; ok {
			r.warn(n, "model: %s is not for the provider %s; it is ignored", key, m.Provider)
		}
	}
	return m
}

func (r *reader) delegate(n *yaml.Node) Delegate {
	o := r.object(n, "a delegate", "name", "description", "kind", "agent", "manifest")
	return Delegate{
		Name: o.identifier("name"), Description: o.text("description", true),
		Kind:  DelegateKind(o.oneOf("kind", false, string(Stub), string(InProcess), string(Remote), string(MCP))),
		Agent: o.text("agent", false), Manifest: o.text("manifest", false),
	}
}

// clashes warns of what replaces something of the same name.
func (r *reader) clashes(o object, m *Manifest) {
	seen := map[string]bool{}
	look := func(key, name string, i int) {
		if nodes := o.list(key); seen[name] && i < len(nodes) {
			r.warn(nodes[i], "%s: there is another tool or delegate %s before, which this one replaces", key, quoted(name))
		}
		seen[name] = true
	}
	for i, t := range m.Tools {
		look("tools", t.Name, i)
	}
	for i, d := range m.Delegates {
		look("delegates", d.Name, i)
	}
}
