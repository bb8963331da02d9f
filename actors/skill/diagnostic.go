package skill

import (
	"encoding/json"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"github.com/skelegent/skelegent-go/protocol"
)

// Severity says whether something is refused.
type Severity string

// The severities.
const (
	SeverityError   Severity = "error"   // the skill is not loaded, or does not keep to the specification
	SeverityWarning Severity = "warning" // it is loaded all the same
)

// The rules that diagnostics name. They stay as they are.
const (
	RuleFileMissing   = "file-missing"    // no SKILL.md
	RuleFileKind      = "file-kind"       // no regular file, or a symbolic link that leaves the directory
	RuleFileRead      = "file-read"       // cannot be read
	RuleFrontMissing  = "front-missing"   // no opening ---
	RuleFrontUnclosed = "front-unclosed"  // no closing ---
	RuleFrontLine     = "front-delimiter" // something else on the line of ---, or before the opening one
	RuleFrontSize     = "front-size"
	RuleBodySize      = "body-size"
	RuleBodyLines     = "body-lines"
	RuleEncoding      = "encoding" // no UTF-8, or a byte order mark
	RuleYAML          = "yaml"     // cannot be read as YAML, or is no mapping
	RuleYAMLQuoted    = "yaml-quoted"
	RuleYAMLAlias     = "yaml-alias"
	RuleYAMLDepth     = "yaml-depth"
	RuleDuplicateKey  = "duplicate-key"
	RuleUnknownField  = "unknown-field"
	RuleFieldName     = "field-name" // a known field in another spelling
	RuleFieldNull     = "field-null"
	RuleLegacyField   = "legacy-field"
	RuleControl       = "control-character"

	RuleNameMissing       = "name-missing"
	RuleNameFormat        = "name-format"
	RuleNameLength        = "name-length"
	RuleNameDirectory     = "name-directory"
	RuleDescription       = "description-missing"
	RuleDescriptionLength = "description-length"
	RuleCompatLength      = "compatibility-length"
	RuleType              = "field-type"
	RuleMetadata          = "metadata-type"
	RuleAllowedTools      = "allowed-tools-format"
	RuleShell             = "shell-unknown"
	RulePathsFormat       = "paths-format"
	RulePathParent        = "path-parent"
	RulePathUnbalanced    = "path-unbalanced"
	RulePathBroad         = "path-broad"
	RulePathInvalid       = "path-invalid"
	RuleHooks             = "hooks-format"
	RuleHooksFile         = "hooks-file"
	RuleResourceMissing   = "resource-missing"

	RuleShadowed          = "shadowed"
	RuleNotAllowed        = "not-allowed"
	RuleLink              = "link-outside"
	RuleLimit             = "limit"
	RuleDependency        = "depends-on-format"
	RuleDependencyMissing = "depends-on-missing"
	RuleDependencyCycle   = "depends-on-cycle"
	RuleBlockUnclosed     = "command-unclosed"
)

// Diagnostic is something that is wrong with a skill. Its texts have no part of a body, and of values only short quoted names.
type Diagnostic struct {
	File     string   `json:"file,omitempty"`
	Line     int      `json:"line,omitempty"`   // from 1; 0 is the file as a whole
	Column   int      `json:"column,omitempty"` // from 1; 0 is the line as a whole
	Severity Severity `json:"severity"`
	Rule     string   `json:"rule"`
	Message  string   `json:"message"`
}

// String returns file:line: rule: message, without what is not known.
func (d Diagnostic) String() string {
	var b strings.Builder
	if d.File != "" {
		b.WriteString(oneLine(d.File) + ":")
	}
	if d.Line > 0 {
		b.WriteString(strconv.Itoa(d.Line) + ":")
	}
	if b.Len() > 0 {
		b.WriteByte(' ')
	}
	return b.String() + d.Rule + ": " + d.Message
}

// HasErrors reports whether one of them is an error.
func HasErrors(ds []Diagnostic) bool {
	return slices.ContainsFunc(ds, func(d Diagnostic) bool { return d.Severity == SeverityError })
}

// maxDiagnostics bounds what one file, and maxAllDiagnostics what one discovery, can say.
const (
	maxDiagnostics    = 100
	maxAllDiagnostics = 10_000
)

// findings collects what is wrong with one file.
type findings struct {
	file string
	all  []Diagnostic
	bad  bool // there was an error, even if it did not fit
}

func (f *findings) add(sev Severity, line, col int, rule, text string) {
	f.bad = f.bad || sev == SeverityError
	d := Diagnostic{File: f.file, Line: line, Column: col, Severity: sev, Rule: rule, Message: text}
	if len(f.all) < maxDiagnostics {
		f.all = append(f.all, d)
	} else if sev == SeverityError && f.all[maxDiagnostics-1].Severity != SeverityError {
		f.all[maxDiagnostics-1] = d // warnings do not crowd out why a skill is refused
	}
}

func (f *findings) fail(line int, rule, text string) { f.add(SeverityError, line, 0, rule, text) }
func (f *findings) warn(line int, rule, text string) { f.add(SeverityWarning, line, 0, rule, text) }

// err is the first error among the findings, nil if there is none.
func (f *findings) err() error {
	for _, d := range f.all {
		if d.Severity == SeverityError {
			return invalid(d.String())
		}
	}
	return nil
}

func invalid(text string) *protocol.Error {
	return protocol.NewError(protocol.CodeInvalidInput, "skill: "+text)
}

// quoted is a name for a message: short, and without what could mislead who reads it.
func quoted(name string) string {
	const most = 80
	if len(name) > most {
		name = strings.ToValidUTF8(name[:most], "") + "..."
	}
	raw, _ := json.Marshal(clean(name)) // a string always marshals
	return string(raw)
}

// isUnseen reports whether r is a character that is not seen, or moves what is: controls, and what directs or hides text. The two
// joiners are part of ordinary words in some scripts.
func isUnseen(r rune) bool {
	if r == '\u200c' || r == '\u200d' {
		return false
	}
	return unicode.Is(unicode.C, r) || r == '\u2028' || r == '\u2029'
}

// hasUnseen reports whether s has such a character.
func hasUnseen(s string) bool { return strings.ContainsFunc(s, isUnseen) }

// clean returns s without what is not seen; line breaks and tabs stay.
func clean(s string) string {
	return strings.Map(func(r rune) rune {
		if r == '\n' || r == '\t' || r == '\r' || !isUnseen(r) {
			return r
		}
		return -1
	}, strings.ToValidUTF8(s, "\uFFFD"))
}

// oneLine returns s as one line, with single spaces and without what is not seen.
func oneLine(s string) string {
	s = strings.Join(strings.Fields(strings.ToValidUTF8(s, "\uFFFD")), " ")
	return strings.Map(func(r rune) rune {
		if isUnseen(r) {
			return -1
		}
		return r
	}, s)
}

// cutRunes returns the first n characters of s, and whether that is less than all.
func cutRunes(s string, n int) (string, bool) {
	for i := range s {
		if n == 0 {
			return s[:i], true
		}
		n--
	}
	return s, false
}
