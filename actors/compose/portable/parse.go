package portable

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"unicode/utf8"

	"go.yaml.in/yaml/v3"
)

// MaxSize is how long a manifest may be, in bytes.
const MaxSize = 1 << 20

// Load reads the manifest in a file: as JSON if its name ends in .json, else as YAML. The error is a *FileError or a
// *ParseError.
func Load(path string) (*Manifest, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, &FileError{path, err}
	}
	defer f.Close() //nolint:errcheck // it was only read
	data, err := io.ReadAll(io.LimitReader(f, MaxSize+1))
	if err != nil {
		return nil, &FileError{path, err}
	}
	read := FromYAML
	if strings.EqualFold(filepath.Ext(path), ".json") {
		read = FromJSON
	}
	m, err := read(data)
	var wrong *ParseError
	if errors.As(err, &wrong) {
		wrong.File = path
	}
	return m, err
}

// FromYAML reads a manifest: one document of YAML, or JSON. Keys that the format does not have are ignored, and are in Warnings.
// The error is a *ParseError.
func FromYAML(data []byte) (*Manifest, error) {
	if err := check(data); err != nil {
		return nil, err
	}
	if json.Valid(data) { // which may have escapes that YAML does not have
		return FromJSON(data)
	}
	decoder := yaml.NewDecoder(bytes.NewReader(data))
	var root, second yaml.Node
	if err := decoder.Decode(&root); err != nil && !errors.Is(err, io.EOF) {
		return nil, syntax(err)
	}
	if err := decoder.Decode(&second); !errors.Is(err, io.EOF) {
		if err != nil {
			return nil, syntax(err)
		}
		return nil, &ParseError{Line: max(1, second.Line), Text: "more than one YAML document"}
	}
	if len(root.Content) == 0 {
		return nil, &ParseError{Line: 1, Text: "the manifest is empty"}
	}
	return manifestOf(root.Content[0])
}

// FromJSON reads a manifest as FromYAML does, from JSON.
func FromJSON(data []byte) (*Manifest, error) {
	if err := check(data); err != nil {
		return nil, err
	}
	root, err := nodesOf(data)
	if err != nil {
		return nil, err
	}
	return manifestOf(root)
}

func check(data []byte) error {
	switch {
	case len(data) > MaxSize:
		line := 1 + bytes.Count(data[:MaxSize], []byte("\n"))
		return &ParseError{Line: line, Text: fmt.Sprintf("the manifest is longer than %d bytes", MaxSize)}
	case !utf8.Valid(data):
		good := len(data) - len(bytes.TrimLeftFunc(data, func(r rune) bool { return r != utf8.RuneError }))
		return &ParseError{Line: 1 + bytes.Count(data[:good], []byte("\n")), Text: "this is no text in UTF-8"}
	}
	return nil
}

var linePattern = regexp.MustCompile(`^line (\d+): `)

// syntax makes one line of what the YAML library says.
func syntax(err error) error {
	text, _, _ := strings.Cut(strings.TrimPrefix(err.Error(), "yaml: "), "\n")
	line := 1
	if m := linePattern.FindStringSubmatch(text); m != nil {
		line, _ = strconv.Atoi(m[1]) // digits; 0 where they are too many
		text = text[len(m[0]):]
	}
	const most = 200
	if len(text) > most {
		text = strings.ToValidUTF8(text[:most], "") + "..."
	}
	return &ParseError{Line: max(1, line), Text: text}
}

// nodesOf reads JSON as the nodes of YAML, so that there is one reader.
func nodesOf(data []byte) (*yaml.Node, error) {
	r := &jsonReader{data: data, decoder: json.NewDecoder(bytes.NewReader(data)), line: 1}
	r.decoder.UseNumber()
	n, err := r.value(0)
	if err != nil {
		return nil, r.wrong(err)
	}
	if _, err := r.decoder.Token(); !errors.Is(err, io.EOF) {
		return nil, &ParseError{Line: r.at(), Text: "there is more behind the JSON value"}
	}
	return n, nil
}

type jsonReader struct {
	data    []byte
	decoder *json.Decoder
	line    int // of the byte at offset
	offset  int
}

// at is the line that has been read to.
func (r *jsonReader) at() int {
	to := min(int(r.decoder.InputOffset()), len(r.data))
	r.line += bytes.Count(r.data[r.offset:to], []byte("\n"))
	r.offset = to
	return r.line
}

func (r *jsonReader) wrong(err error) error {
	var known *ParseError
	switch {
	case errors.As(err, &known):
		return err
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return &ParseError{Line: 1 + bytes.Count(r.data, []byte("\n")), Text: "the JSON ends too early"}
	}
	return &ParseError{Line: r.at(), Text: "this is no JSON: " + err.Error()}
}

func (r *jsonReader) value(depth int) (*yaml.Node, error) {
	token, err := r.decoder.Token()
	if err != nil {
		return nil, err
	}
	n := &yaml.Node{Kind: yaml.ScalarNode, Line: r.at()}
	if depth > maxDepth {
		return nil, tooDeep(n)
	}
	switch t := token.(type) {
	case json.Delim:
		n.Kind, n.Tag = yaml.SequenceNode, "!!seq"
		if t == '{' {
			n.Kind, n.Tag = yaml.MappingNode, "!!map"
		}
		for r.decoder.More() {
			c, err := r.value(depth + 1)
			if err != nil {
				return nil, err
			}
			n.Content = append(n.Content, c)
		}
		_, err = r.decoder.Token() // the end
		return n, err
	case string:
		n.Tag, n.Value = "!!str", t
	case json.Number:
		n.Tag, n.Value = "!!float", t.String()
	case bool:
		n.Tag, n.Value = "!!bool", strconv.FormatBool(t)
	default:
		n.Tag, n.Value = "!!null", "null"
	}
	return n, nil
}
