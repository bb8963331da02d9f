package cassette

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"

	"go.yaml.in/yaml/v3"
)

// version is that of the file's form.
const version = 1

// maxFile is the largest file that is read, in bytes.
const maxFile = 64 << 20

type file struct {
	Version      int           `yaml:"version"`
	Interactions []interaction `yaml:"interactions"`
}

type interaction struct {
	Request  request  `yaml:"request"`
	Response response `yaml:"response"`
}

type request struct {
	Method text `yaml:"method"`
	Path   text `yaml:"path"`
	Body   text `yaml:"body,omitempty"` // JSON in its normal form, else as it is
}

// String is the request without its body.
func (r request) String() string { return string(r.Method) + " " + string(r.Path) }

type response struct {
	Status  int             `yaml:"status"`
	Headers map[string]text `yaml:"headers,omitempty"`
	Body    text            `yaml:"body,omitempty"`
	Pieces  []text          `yaml:"pieces,omitempty"` // of a stream, in place of Body
	// Cut says that the answer ended in the middle, or that nobody read it to its end.
	Cut bool `yaml:"cut,omitempty"`
}

// text is written as a block of lines where a person can read it so, and quoted else: the library's own choice of style
// does not always read back as the same.
type text string

// MarshalYAML implements yaml.Marshaler.
func (t text) MarshalYAML() (any, error) {
	s := string(t)
	if !utf8.ValidString(s) {
		return s, nil // as binary
	}
	style := yaml.DoubleQuotedStyle
	switch {
	case s == "":
	case strings.Contains(s, "\n") && !strings.ContainsAny(s[:1], " \t\n") && strings.IndexFunc(s, odd) < 0:
		style = yaml.LiteralStyle
	case plain.MatchString(s):
		style = 0
	}
	return &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Value: s, Style: style}, nil
}

func odd(r rune) bool { return r != '\n' && !unicode.IsPrint(r) }

// plain are texts that need no quotes, such as a path.
var plain = regexp.MustCompile(`^(?:GET|HEAD|POST|PUT|PATCH|DELETE|/[A-Za-z0-9._~/-]*)$`)

func load(path string) ([]interaction, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }() // it was only read
	raw, err := io.ReadAll(io.LimitReader(f, maxFile+1))
	if err != nil {
		return nil, err
	}
	if len(raw) > maxFile {
		return nil, fmt.Errorf("it is larger than %d bytes", maxFile)
	}
	return decode(raw)
}

func decode(raw []byte) ([]interaction, error) {
	var content file
	d := yaml.NewDecoder(bytes.NewReader(raw))
	d.KnownFields(true)
	if err := d.Decode(&content); err != nil {
		return nil, err
	}
	if content.Version != version {
		return nil, fmt.Errorf("it has version %d, want %d", content.Version, version)
	}
	for i, it := range content.Interactions {
		if s := it.Response.Status; s < 200 || s > 599 {
			return nil, fmt.Errorf("interaction %d: %d is no status of an answer", i+1, s)
		}
	}
	return content.Interactions, nil
}

func encode(list []interaction) ([]byte, error) {
	var b bytes.Buffer
	e := yaml.NewEncoder(&b)
	e.SetIndent(2)
	if err := e.Encode(file{Version: version, Interactions: list}); err != nil {
		return nil, err
	}
	if err := e.Close(); err != nil {
		return nil, err
	}
	return b.Bytes(), nil
}

// store replaces the file as a whole, after a look at whether what is written reads back.
func store(path string, list []interaction) error {
	raw, err := encode(list)
	if err != nil {
		return err
	}
	if len(raw) > maxFile {
		return fmt.Errorf("it would be larger than %d bytes", maxFile)
	}
	if back, err := decode(raw); err != nil || !reflect.DeepEqual(back, list) {
		return errors.Join(errors.New("what was recorded would not read back as the same"), err)
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o750); err != nil {
		return err
	}
	temp, err := os.CreateTemp(filepath.Dir(path), ".cassette-*")
	if err != nil {
		return err
	}
	_, err = temp.Write(raw)
	if err = errors.Join(err, temp.Close()); err == nil {
		err = os.Rename(temp.Name(), path)
	}
	if err != nil {
		return errors.Join(err, os.Remove(temp.Name()))
	}
	return nil
}
