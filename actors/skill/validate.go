package skill

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"go.yaml.in/yaml/v3"
)

// maxBodyLines is how long a body should be at most.
const maxBodyLines = 500

// Validate compares a skill with the specification, more strictly than Parse does: only the official fields, each with a value of
// its type; a name that is the one of the directory; no hooks.json. A body of more than 500 lines, and files it names that are not
// there, are warnings. The diagnostics are in the order of the file; there are none if all is well.
//
// Names have only a-z, 0-9 and hyphens. The reference validator allows letters of other scripts, too.
func Validate(dir string) []Diagnostic {
	abs, err := filepath.Abs(dir)
	if err != nil {
		abs = filepath.Clean(dir)
	}
	v := validator{dir: abs}
	v.file = filepath.Join(dir, FileName)
	root, err := openDir(dir)
	if err != nil {
		v.fail(0, RuleFileMissing, "the directory cannot be read: "+reason(err))
		return v.all
	}
	defer func() { _ = root.Close() }() // only read
	f, bad := openRegular(root, FileName)
	if bad != nil {
		v.fail(0, bad.rule, bad.text)
		return v.all
	}
	defer func() { _ = f.Close() }() // only read
	raw, err := io.ReadAll(io.LimitReader(f, maxHead+MaxBody+1))
	if err != nil {
		v.fail(0, RuleFileRead, "the file cannot be read: "+reason(err))
		return v.all
	}
	v.whole(raw)
	v.body(root)
	if _, err := root.Lstat("hooks.json"); err == nil {
		v.all = append(v.all, Diagnostic{
			File: filepath.Join(dir, "hooks.json"), Severity: SeverityError, Rule: RuleHooksFile,
			Message: "hooks.json is not part of a skill",
		})
	}
	slices.SortStableFunc(v.all, func(a, b Diagnostic) int { return a.Line - b.Line })
	return v.all
}

type validator struct {
	findings
	dir    string
	before int
	text   []byte // the body
	first  int    // the line of it
}

// at adds an error where a node is.
func (v *validator) at(n *yaml.Node, rule, text string) {
	v.add(SeverityError, n.Line+v.before, n.Column, rule, text)
}

// whole looks at the front matter, and finds the body.
func (v *validator) whole(raw []byte) {
	f, bad, _ := split(raw, true)
	if bad != nil {
		v.fail(bad.line, bad.rule, bad.text)
		return
	}
	if f.bom {
		v.fail(1, RuleEncoding, "the file begins with a byte order mark")
	}
	if f.space {
		v.fail(1, RuleFrontLine, "the opening --- must be at the beginning of the file")
	}
	v.before = f.before
	rest := raw[f.body:]
	v.text = bytes.TrimLeft(rest, "\r\n")
	v.first = 1 + bytes.Count(raw[:len(raw)-len(v.text)], []byte("\n"))
	if len(v.text) > MaxBody {
		v.fail(0, RuleBodySize, "the body is larger than "+strconv.Itoa(MaxBody)+" bytes")
		v.text = v.text[:MaxBody]
	}
	if !utf8.Valid(raw) {
		v.fail(0, RuleEncoding, "the file is not UTF-8")
		return
	}
	n, bad := decode(f.yaml)
	if bad != nil {
		v.fail(f.before+bad.line, bad.rule, bad.text)
		return
	}
	v.fields(n)
}

// official are the fields of the specification.
var official = []string{"name", "description", "license", "compatibility", "metadata", "allowed-tools"}

func (v *validator) fields(n *yaml.Node) {
	seen := map[string]bool{}
	for key, value := range pairs(n) {
		name := key.Value
		seen[name] = true
		switch {
		case !slices.Contains(official, name):
			v.at(key, RuleUnknownField, "the field "+quoted(name)+" is not one of "+strings.Join(official, ", "))
		case isNull(value):
			v.at(value, RuleFieldNull, "the field "+name+" has no value")
		case name == "metadata":
			v.metadata(value)
		case name == "allowed-tools" && !isString(value):
			v.at(value, RuleAllowedTools, "allowed-tools must be a text of tools with spaces between them")
		case !isString(value):
			v.at(value, RuleType, "the field "+name+" must be a text")
		default:
			v.scalar(name, value)
		}
	}
	if !seen["name"] {
		v.fail(v.before, RuleNameMissing, "the field name is missing")
	}
	if !seen["description"] {
		v.fail(v.before, RuleDescription, "the field description is missing")
	}
}

func (v *validator) metadata(n *yaml.Node) {
	if n.Kind != yaml.MappingNode {
		v.at(n, RuleMetadata, "metadata must be a mapping of texts")
		return
	}
	for key, value := range pairs(n) {
		if !isString(key) || !isString(value) {
			v.at(value, RuleMetadata, "the value of "+quoted(key.Value)+" must be a text")
		}
	}
}

func (v *validator) scalar(name string, n *yaml.Node) {
	value, length := n.Value, utf8.RuneCountInString(n.Value)
	blank := strings.TrimSpace(value) == ""
	if hasUnseen(strings.Map(spaced, value)) {
		v.at(n, RuleControl, "the field "+name+" has characters that are not seen")
	}
	switch name {
	case "name":
		if blank {
			v.at(n, RuleNameMissing, "the name is blank")
			return
		}
		for _, bad := range nameRules(value) {
			v.at(n, bad.rule, bad.text)
		}
		if base := filepath.Base(v.dir); base != value {
			v.at(n, RuleNameDirectory, "the name "+quoted(value)+" is not that of the directory, "+quoted(base))
		}
	case "description":
		if blank {
			v.at(n, RuleDescription, "the description is blank")
		}
		if length > MaxDescription {
			v.at(n, RuleDescriptionLength, fmt.Sprintf("the description has %d characters; at most %d are allowed",
				length, MaxDescription))
		}
	case "compatibility":
		if blank || length > MaxCompatibility {
			v.at(n, RuleCompatLength, fmt.Sprintf("compatibility must have 1 to %d characters", MaxCompatibility))
		}
	}
}

// spaced makes white space that is allowed in a text a space.
func spaced(r rune) rune {
	if r == '\n' || r == '\t' || r == '\r' {
		return ' '
	}
	return r
}

// mentioned are the files that a body names: targets of links, and paths in the directories of resources.
var mentioned = regexp.MustCompile(`\]\(([^()\s]+)\)|(?:^|[\s"'(` + "`" + `])((?:\./)?(?:scripts|references|assets)/[\w./-]+)`)

// scheme is how a target begins that is no file of the skill.
var scheme = regexp.MustCompile(`^(?:[A-Za-z][A-Za-z0-9+.-]*:|#|/)`)

// maxMentioned is how many different files are looked for.
const maxMentioned = 500

// body looks at the length of the body and the files it names.
func (v *validator) body(root *os.Root) {
	if len(v.text) == 0 {
		return
	}
	lines := strings.Split(strings.TrimRight(string(v.text), "\r\n"), "\n")
	if len(lines) > maxBodyLines {
		v.warn(v.first+maxBodyLines, RuleBodyLines,
			fmt.Sprintf("the body has %d lines; more than %d are too many", len(lines), maxBodyLines))
	}
	seen := map[string]bool{}
	for i, line := range lines {
		for _, m := range mentioned.FindAllStringSubmatchIndex(line, -1) {
			start, end := m[2], m[3]
			if start < 0 {
				start, end = m[4], m[5]
			}
			target, _, _ := strings.Cut(line[start:end], "#")
			target = path.Clean(strings.TrimRight(target, ".,:;"))
			if target == "." || scheme.MatchString(target) || strings.Contains(target, "${") || seen[target] {
				continue
			}
			if seen[target] = true; len(seen) > maxMentioned {
				return
			}
			if _, err := root.Stat(filepath.FromSlash(target)); err != nil {
				v.add(SeverityWarning, v.first+i, utf8.RuneCountInString(line[:start])+1, RuleResourceMissing,
					"the file "+quoted(target)+" is not in the skill")
			}
		}
	}
}
