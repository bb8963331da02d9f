package skill

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"iter"
	"regexp"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"
)

// Limits of a SKILL.md.
const (
	MaxFront = 64 << 10 // bytes of the front matter
	MaxBody  = 1 << 20  // bytes of the body
)

// maxHead is how far into a file the front matter can end: what may come before it, and its delimiters, are in it.
const maxHead = MaxFront + 1024

// maxDepth is how deep the YAML of a front matter may be nested. Hooks need six.
const maxDepth = 16

// front is a file as split has found it.
type front struct {
	yaml   []byte // between the lines of ---
	before int    // lines before the first of yaml
	body   int    // where the rest of the file begins, after the closing line
	bom    bool
	space  bool // there was white space before the opening line
}

// problem is why there is no front matter.
type problem struct {
	line       int
	rule, text string
}

var utf8BOM = []byte("\xef\xbb\xbf")

// split finds the front matter at the beginning of a file. Of a file that is not complete, more says that it may be further on.
func split(head []byte, complete bool) (f front, p *problem, more bool) {
	if bytes.HasPrefix(head, utf8BOM) {
		f.bom = true
		f.body = len(utf8BOM)
	}
	rest := head[f.body:]
	trimmed := bytes.TrimLeft(rest, " \t\r\n")
	f.space = len(trimmed) < len(rest)
	f.body = len(head) - len(trimmed)
	f.before = bytes.Count(head[:f.body], []byte("\n"))
	line, ended := nextLine(head[f.body:])
	if !ended && !complete && len(head) < maxHead {
		return f, nil, true
	}
	if !bytes.HasPrefix(line, []byte("---")) {
		return f, &problem{f.before + 1, RuleFrontMissing, "the file must begin with a line of ---"}, false
	}
	f.before++
	if !isDelimiter(line) {
		return f, &problem{f.before, RuleFrontLine, "nothing may follow the opening --- on its line"}, false
	}
	f.body += len(line)
	start := f.body
	for n := f.before + 1; ; n++ {
		if f.body-start > MaxFront {
			return f, &problem{0, RuleFrontSize, "the front matter is larger than " + strconv.Itoa(MaxFront) + " bytes"}, false
		}
		line, ended = nextLine(head[f.body:])
		switch {
		case !ended && !complete && len(head) < maxHead:
			return f, nil, true
		case !ended && !complete:
			return f, &problem{0, RuleFrontSize, "the front matter is larger than " + strconv.Itoa(MaxFront) + " bytes"}, false
		case isDelimiter(line):
			f.yaml = head[start:f.body]
			f.body += len(line)
			return f, nil, false
		case bytes.HasPrefix(line, []byte("---")):
			return f, &problem{n, RuleFrontLine, "nothing may follow the closing --- on its line"}, false
		case !ended:
			return f, &problem{f.before, RuleFrontUnclosed, "the front matter has no closing line of ---"}, false
		}
		f.body += len(line)
	}
}

// nextLine returns the first line with its end, and whether it has one.
func nextLine(b []byte) (line []byte, ended bool) {
	if i := bytes.IndexByte(b, '\n'); i >= 0 {
		return b[:i+1], true
	}
	return b, false
}

func isDelimiter(line []byte) bool {
	return bytes.HasPrefix(line, []byte("---")) && len(bytes.Trim(line[3:], " \t\r\n")) == 0
}

// yamlError is a problem with a line of its own, counted from the beginning of the front matter.
var yamlLine = regexp.MustCompile(`^yaml: (?:line (\d+): )?`)

// decode reads the front matter as one mapping. Aliases, anchors, deep nesting and further documents are refused: they are of no
// use here, and can make much of little or hide something. The line of a problem is counted in the front matter.
func decode(src []byte) (n *yaml.Node, p *problem) {
	defer func() {
		if r := recover(); r != nil { // the reader of YAML is not ours
			n, p = nil, &problem{0, RuleYAML, "the front matter cannot be read as YAML"}
		}
	}()
	var doc, next yaml.Node
	dec := yaml.NewDecoder(bytes.NewReader(src))
	switch err := dec.Decode(&doc); {
	case errors.Is(err, io.EOF):
		return nil, &problem{1, RuleYAML, "the front matter is empty"}
	case err != nil:
		return nil, yamlProblem(err)
	}
	if err := dec.Decode(&next); !errors.Is(err, io.EOF) {
		return nil, &problem{0, RuleYAML, "the front matter is more than one YAML document"}
	}
	if len(doc.Content) != 1 || doc.Content[0].Kind != yaml.MappingNode {
		return nil, &problem{doc.Line, RuleYAML, "the front matter must be a mapping of fields"}
	}
	n = doc.Content[0]
	return n, check(n, 1)
}

func yamlProblem(err error) *problem {
	text := err.Error()
	p := &problem{rule: RuleYAML}
	if m := yamlLine.FindStringSubmatch(text); m != nil {
		p.line, _ = strconv.Atoi(m[1]) // 0 if there is none
		text = text[len(m[0]):]
	}
	text, _ = cutRunes(oneLine(text), 200)
	p.text = "the front matter cannot be read as YAML: " + text
	return p
}

// check refuses what decode does not allow.
func check(n *yaml.Node, depth int) *problem {
	switch {
	case depth > maxDepth:
		return &problem{n.Line, RuleYAMLDepth, fmt.Sprintf("nested deeper than %d", maxDepth)}
	case n.Kind == yaml.AliasNode || n.Anchor != "":
		return &problem{n.Line, RuleYAMLAlias, "anchors and aliases are not allowed"}
	}
	seen := map[string]bool{}
	for i, c := range n.Content {
		if p := check(c, depth+1); p != nil {
			return p
		}
		if n.Kind != yaml.MappingNode || i%2 == 1 {
			continue
		}
		switch {
		case c.Kind != yaml.ScalarNode || c.ShortTag() == "!!merge":
			return &problem{c.Line, RuleYAML, "a key must be a text"}
		case seen[c.Value]:
			return &problem{c.Line, RuleDuplicateKey, "the key " + quoted(c.Value) + " is given twice"}
		}
		seen[c.Value] = true
	}
	return nil
}

// pairs are the keys and values of a mapping, in their order.
func pairs(n *yaml.Node) iter.Seq2[*yaml.Node, *yaml.Node] {
	return func(yield func(k, v *yaml.Node) bool) {
		for i := 0; i+1 < len(n.Content); i += 2 {
			if !yield(n.Content[i], n.Content[i+1]) {
				return
			}
		}
	}
}

func isNull(n *yaml.Node) bool { return n.Kind == yaml.ScalarNode && n.ShortTag() == "!!null" }

func isString(n *yaml.Node) bool { return n.Kind == yaml.ScalarNode && n.ShortTag() == "!!str" }

// plainField is a field at the beginning of a line whose value is on it.
var plainField = regexp.MustCompile(`^([A-Za-z_][A-Za-z0-9_-]*:[ \t]+)([^ \t\r\n].*)$`)

// quoteColons puts values of fields that have a colon as in "Use when: asked" into quotes, which is what who wrote them meant; the
// lines stay where they are. It returns the number of the first such line, 0 if there is none.
func quoteColons(src []byte) ([]byte, int) {
	lines := strings.Split(string(src), "\n")
	first := 0
	for i := 0; i < len(lines); i++ {
		m := plainField.FindStringSubmatch(strings.TrimRight(lines[i], " \t\r"))
		if m == nil || strings.ContainsAny(m[2][:1], "\"'|>[{&*!%@`#") {
			continue
		}
		end := i // the value goes on in lines that are indented
		for end+1 < len(lines) && strings.TrimSpace(lines[end+1]) != "" && strings.ContainsAny(lines[end+1][:1], " \t") {
			end++
		}
		value := m[2]
		for _, l := range lines[i+1 : end+1] {
			value += "\n" + strings.TrimRight(l, " \t\r")
		}
		if !strings.Contains(value, ": ") && !strings.Contains(value, ":\n") && !strings.HasSuffix(value, ":") {
			continue
		}
		if first == 0 {
			first = i + 1
		}
		copy(lines[i:end+1], strings.Split(m[1]+"'"+strings.ReplaceAll(value, "'", "''")+"'", "\n"))
		i = end
	}
	return []byte(strings.Join(lines, "\n")), first
}
