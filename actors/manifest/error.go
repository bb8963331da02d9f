package manifest

import (
	"bytes"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"
)

// What the YAML library says.
var (
	linePattern   = regexp.MustCompile(`^(?:yaml: )?line (\d+): (.*)$`)
	fieldPattern  = regexp.MustCompile(`^field (.*) not found in type \S+$`)
	typePattern   = regexp.MustCompile("^cannot unmarshal (\\S+)(?: `(.*)`)? into (\\S+)$")
	parserPattern = regexp.MustCompile(`^did not find expected (?:node content|key|'-' indicator|',' or '[}\]]'|<document start>)$`)
	anchorPattern = regexp.MustCompile(`^unknown anchor '(.+)' referenced$`)
)

// errorIn is an error about the byte at that place.
func (m *Manifest) errorIn(data []byte, place int, text string) error {
	return fmt.Errorf("%s:%d: %s", m.name, 1+bytes.Count(data[:place], []byte("\n")), text)
}

// yamlError makes one line of an error of the library: the first.
func (m *Manifest) yamlError(data []byte, err error) error {
	text := err.Error()
	var typed *yaml.TypeError
	if errors.As(err, &typed) && len(typed.Errors) > 0 {
		text = typed.Errors[0]
	}
	text, _, _ = strings.Cut(text, "\n")
	match := linePattern.FindStringSubmatch(text)
	if match == nil { // the library leaves out the line of what is in the first one
		text = strings.TrimPrefix(text, "yaml: ")
		place := 0
		if a := anchorPattern.FindStringSubmatch(text); a != nil {
			place = max(0, bytes.Index(data, []byte("*"+a[1])))
		}
		return m.errorIn(data, place, text)
	}
	line, what := match[1], match[2]
	if n, err := strconv.Atoi(line); err == nil && parserPattern.MatchString(what) {
		last := 1 + bytes.Count(bytes.TrimRight(data, "\r\n"), []byte("\n"))
		line = strconv.Itoa(min(n+1, last)) // the library counts from 0 here, and the end of the file as a line
	}
	if f := fieldPattern.FindStringSubmatch(what); f != nil {
		what = fmt.Sprintf("unknown key %.100q", f[1])
	} else if f := typePattern.FindStringSubmatch(what); f != nil {
		what = fmt.Sprintf("%s does not fit here: %s is needed", found(f[1], f[2]), needed(f[3]))
	}
	return fmt.Errorf("%s:%s: %s", m.name, line, what)
}

// found says in words what the library found.
func found(tag, value string) string {
	switch tag {
	case "!!map":
		return "a mapping"
	case "!!seq":
		return "a list"
	}
	return strconv.Quote(value)
}

// needed says in words what the library wanted.
func needed(goType string) string {
	switch {
	case strings.HasPrefix(goType, "[]"):
		return "a list"
	case strings.HasPrefix(goType, "int"):
		return "a whole number"
	case strings.HasPrefix(goType, "uint"):
		return "a whole number, zero or more,"
	case strings.HasPrefix(goType, "float"):
		return "a number"
	case goType == "bool":
		return "true or false"
	case goType == "string":
		return "a text"
	}
	return "a mapping"
}

// token is a name that needs no quotes.
var token = regexp.MustCompile(`^[A-Za-z0-9_.:/-]{1,100}$`)

// errorAt places an error at the node of path, or below it where the error knows more.
func (m *Manifest) errorAt(err error, path ...string) error {
	var below *keyError
	if errors.As(err, &below) {
		path = slices.Concat(path, below.path)
		err = below.error
	}
	line := m.line(path)
	var placed *lineError
	if errors.As(err, &placed) && placed.line > 0 {
		line = placed.line
	}
	shown := make([]string, len(path))
	for i, p := range path {
		if shown[i] = p; !token.MatchString(p) {
			shown[i] = fmt.Sprintf("%.100q", p)
		}
	}
	return fmt.Errorf("%s:%d: %s: %w", m.name, line, strings.Join(shown, "."), err)
}

// keyError is an error that knows the key that it is about.
type keyError struct {
	error
	path []string
}

// Unwrap returns what is wrong there.
func (e *keyError) Unwrap() error { return e.error }

// at says which key an error is about; nil stays nil.
func at(err error, path ...string) error {
	if err == nil {
		return nil
	}
	return &keyError{err, path}
}

// lineError is an error that knows its line better than the path does.
type lineError struct {
	error
	line int
}

// Unwrap returns what happened there.
func (e *lineError) Unwrap() error { return e.error }

// line finds the line of the deepest node of path that exists.
func (m *Manifest) line(path []string) int {
	n, line := m.root, 1
	if n.Kind == yaml.DocumentNode && len(n.Content) > 0 {
		n = n.Content[0]
	}
	for _, key := range path {
		found := false
		for i := 0; n.Kind == yaml.MappingNode && i+1 < len(n.Content); i += 2 {
			if n.Content[i].Value == key {
				line, n, found = n.Content[i].Line, n.Content[i+1], true
				break
			}
		}
		if !found {
			break
		}
	}
	return line
}
