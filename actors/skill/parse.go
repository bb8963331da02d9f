package skill

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"path/filepath"
	"strconv"
	"strings"
	"unicode/utf8"

	"go.yaml.in/yaml/v3"
)

// Limits of fields, in characters. Beyond them is a warning, or an error of Validate.
const (
	MaxName          = 64
	MaxDescription   = 1024
	MaxCompatibility = 500
)

// maxNameBytes is how long a name can be and still be loaded; it is that of compose.MaxIdentifier.
const maxNameBytes = 256

// maxDependencies is how many skills one can depend on.
const maxDependencies = 64

// Parse reads a SKILL.md as it is found in the world, and says in diagnostics what is not as it should be. The body is what comes
// after the front matter, without the line breaks at its beginning; if it is blank, it is the legacy field instructions.
//
// What is wrong with a name is a warning, and so are fields that are not known. Values with colons that should be in quotes are
// read as if they were. Numbers, booleans and dates of the metadata become texts with a warning, instead of losing the skill.
//
// An error, of code invalid_input, is: no front matter, or one that cannot be read or is too large; no name or description; a
// name that has characters which are not seen; and whatever cannot be read of hooks, allowed-tools or paths, since a skill
// without its guards would do more than it should. An anchor, an alias and a key that is given twice are errors too. The
// diagnostics have all of it in the order of the file.
func Parse(raw []byte) (d Descriptor, body string, diagnostics []Diagnostic, err error) {
	p := parser{findings: findings{file: FileName}}
	d, body = p.file(raw)
	return d, body, p.all, p.err()
}

// Instructions returns what a SKILL.md has to say to a model, without judging it: the legacy field instructions if it has one, else
// the body. Of a file without a front matter that is all of it; of one whose front matter is not closed or cannot be read it is
// the empty text.
func Instructions(raw []byte) string {
	f, bad, _ := split(raw, true)
	switch {
	case bad != nil && bad.rule == RuleFrontMissing:
		return string(raw)
	case bad != nil:
		return ""
	}
	p := parser{before: f.before}
	n := p.mapping(f.yaml)
	if n == nil {
		return ""
	}
	for key, value := range pairs(n) {
		if key.Value == "instructions" && isString(value) && strings.TrimSpace(value.Value) != "" {
			return value.Value
		}
	}
	return string(bytes.TrimLeft(raw[f.body:], "\r\n"))
}

// parser reads one file and keeps what is wrong with it.
type parser struct {
	findings
	before int // lines before the front matter

	d            Descriptor
	instructions string // legacy
	legacy       map[string]string
}

// line is where a node is in the file.
func (p *parser) line(n *yaml.Node) int { return n.Line + p.before }

// file reads a whole file. What it returns is of use only if nothing was an error.
func (p *parser) file(raw []byte) (Descriptor, string) {
	f, ok := p.head(raw, true)
	if !ok {
		return Descriptor{}, ""
	}
	d := p.front(f)
	rest := bytes.TrimLeft(raw[f.body:], "\r\n")
	if len(rest) > MaxBody {
		p.fail(0, RuleBodySize, "the body is larger than "+strconv.Itoa(MaxBody)+" bytes")
		return d, ""
	}
	body := string(rest)
	if !utf8.ValidString(body) {
		p.warn(0, RuleEncoding, "the body is not UTF-8; what is not was replaced")
		body = strings.ToValidUTF8(body, "\uFFFD")
	}
	if strings.TrimSpace(body) == "" && p.instructions != "" {
		body = p.instructions
	}
	return d, body
}

// head finds the front matter.
func (p *parser) head(raw []byte, complete bool) (front, bool) {
	f, bad, _ := split(raw, complete)
	if bad != nil {
		p.fail(bad.line, bad.rule, bad.text)
		return f, false
	}
	if f.bom {
		p.warn(1, RuleEncoding, "the file begins with a byte order mark")
	}
	if f.space {
		p.warn(1, RuleFrontLine, "the opening --- is not at the beginning of the file")
	}
	return f, true
}

// front reads the front matter.
func (p *parser) front(f front) Descriptor {
	p.before = f.before
	sum := sha256.Sum256(f.yaml)
	p.d.Digest = hex.EncodeToString(sum[:])
	n := p.mapping(f.yaml)
	if n == nil {
		return p.d
	}
	p.legacy = map[string]string{}
	seen := map[string]bool{}
	for key, value := range pairs(n) {
		p.field(seen, key, value)
	}
	for key, value := range p.legacy {
		if _, ok := p.d.Metadata[key]; !ok {
			p.setMetadata(key, value)
		}
	}
	if !seen["name"] {
		p.fail(f.before, RuleNameMissing, "the field name is missing")
	}
	if !seen["description"] {
		p.fail(f.before, RuleDescription, "the field description is missing")
	}
	return p.d
}

// mapping decodes the front matter, and once more with colons in quotes if it cannot be read.
func (p *parser) mapping(src []byte) *yaml.Node {
	if !utf8.Valid(src) {
		p.fail(0, RuleEncoding, "the front matter is not UTF-8")
		return nil
	}
	n, bad := decode(src)
	if bad != nil && bad.rule == RuleYAML {
		if again, line := quoteColons(src); line > 0 {
			if m, stillBad := decode(again); stillBad == nil {
				p.warn(p.before+line, RuleYAMLQuoted, "a value with a colon should be in quotes")
				return m
			}
		}
	}
	if bad != nil {
		p.fail(p.before+bad.line, bad.rule, bad.text)
		return nil
	}
	return n
}

// fieldNames are the fields that are known.
var fieldNames = map[string]bool{
	"name": true, "description": true, "license": true, "compatibility": true, "metadata": true, "allowed-tools": true,
	"shell": true, "paths": true, "hooks": true, "depends-on": true,
	"version": true, "author": true, "tags": true, "instructions": true, "resources": true, // legacy
}

// spelling returns the known field that key means. Other spellings are accepted: to ignore "AllowedTools" would lift a limit.
func spelling(key string) string {
	if fieldNames[key] {
		return key
	}
	k := strings.ToLower(strings.ReplaceAll(strings.TrimSpace(key), "_", "-"))
	switch k {
	case "allowedtools":
		return "allowed-tools"
	case "dependson":
		return "depends-on"
	case "hook":
		return "hooks"
	}
	if fieldNames[k] {
		return k
	}
	return ""
}

// field reads one field.
func (p *parser) field(seen map[string]bool, key, value *yaml.Node) {
	name := spelling(key.Value)
	if name == "" {
		p.warn(p.line(key), RuleUnknownField, "unknown field "+quoted(key.Value)+" is ignored")
		return
	}
	if name != key.Value && key.Value != "allowed_tools" && key.Value != "depends_on" {
		p.warn(p.line(key), RuleFieldName, "the field "+quoted(key.Value)+" is read as "+name)
	}
	if seen[name] {
		p.fail(p.line(key), RuleDuplicateKey, "the field "+name+" is given twice")
		return
	}
	seen[name] = true
	if isNull(value) && name != "name" && name != "description" {
		p.warn(p.line(value), RuleFieldNull, "the field "+name+" has no value")
		return
	}
	switch name {
	case "name":
		p.name(value)
	case "description":
		p.description(value)
	case "license":
		p.d.License = clean(p.text(name, value))
	case "compatibility":
		p.d.Compatibility = clean(p.text(name, value))
		if utf8.RuneCountInString(p.d.Compatibility) > MaxCompatibility {
			p.warn(p.line(value), RuleCompatLength, "compatibility is longer than "+strconv.Itoa(MaxCompatibility)+" characters")
		}
	case "metadata":
		p.metadata(value)
	case "allowed-tools":
		p.allowedTools(value)
	case "shell":
		p.shell(value)
	case "paths":
		p.paths(value)
	case "hooks":
		p.d.Hooks = p.hooks(value)
	case "depends-on":
		p.dependsOn(value)
	default:
		p.legacyField(name, value)
	}
}

// text returns a scalar as a text, with a warning if it is none.
func (p *parser) text(name string, n *yaml.Node) string {
	switch {
	case n.Kind != yaml.ScalarNode || isNull(n):
		p.warn(p.line(n), RuleType, "the field "+name+" must be a text")
		return ""
	case !isString(n):
		p.warn(p.line(n), RuleType, "the field "+name+" is taken for a text")
	}
	return n.Value
}

func (p *parser) name(n *yaml.Node) {
	if n.Kind != yaml.ScalarNode || isNull(n) || strings.TrimSpace(n.Value) == "" {
		p.fail(p.line(n), RuleNameMissing, "the field name must be a text that is not blank")
		return
	}
	name := strings.TrimSpace(p.text("name", n))
	switch {
	case hasUnseen(name):
		p.fail(p.line(n), RuleControl, "the name has characters that are not seen")
		return
	case len(name) > maxNameBytes:
		p.fail(p.line(n), RuleNameLength, "the name is longer than "+strconv.Itoa(maxNameBytes)+" bytes")
		return
	}
	p.d.Name = name
	for _, bad := range nameRules(name) {
		p.warn(p.line(n), bad.rule, bad.text)
	}
}

// nameRules returns what is wrong with a name.
func nameRules(name string) []problem {
	var all []problem
	if utf8.RuneCountInString(name) > MaxName {
		all = append(all, problem{rule: RuleNameLength, text: "the name is longer than " + strconv.Itoa(MaxName) + " characters"})
	}
	format := func(text string) { all = append(all, problem{rule: RuleNameFormat, text: text}) }
	if strings.ContainsFunc(name, func(r rune) bool { return (r < 'a' || r > 'z') && (r < '0' || r > '9') && r != '-' }) {
		format("the name " + quoted(name) + " has other characters than a-z, 0-9 and -")
	}
	if strings.HasPrefix(name, "-") || strings.HasSuffix(name, "-") {
		format("the name " + quoted(name) + " begins or ends with a hyphen")
	}
	if strings.Contains(name, "--") {
		format("the name " + quoted(name) + " has two hyphens in a row")
	}
	return all
}

// directory compares the name with the one of the directory.
func (p *parser) directory(dir string) {
	if base := filepath.Base(dir); p.d.Name != "" && base != p.d.Name {
		p.warn(p.before, RuleNameDirectory, "the name "+quoted(p.d.Name)+" is not that of the directory, "+quoted(base))
	}
}

func (p *parser) description(n *yaml.Node) {
	text := ""
	if n.Kind == yaml.ScalarNode && !isNull(n) {
		text = strings.TrimSpace(p.text("description", n))
	}
	if c := clean(text); c != text {
		p.warn(p.line(n), RuleControl, "characters that are not seen were taken out of the description")
		text = strings.TrimSpace(c)
	}
	if text == "" {
		p.fail(p.line(n), RuleDescription, "the field description must be a text that is not blank")
		return
	}
	p.d.Description = text
	if utf8.RuneCountInString(text) > MaxDescription {
		p.warn(p.line(n), RuleDescriptionLength, "the description is longer than "+strconv.Itoa(MaxDescription)+" characters")
	}
}
