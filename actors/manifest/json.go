package manifest

import (
	"encoding/json"
	"fmt"
	"io"
	"math"
	"os"
	"strconv"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"
	"go.yaml.in/yaml/v3"

	"github.com/skelegent/skelegent-go/protocol"
)

// The bounds of a JSON value.
const (
	maxJSON      = 256 << 10 // bytes
	maxJSONDepth = 64
)

// JSON is a value of any form that is passed on as JSON. Numbers stay as they are written.
type JSON json.RawMessage

// UnmarshalYAML reads any value that JSON has.
func (j *JSON) UnmarshalYAML(n *yaml.Node) error {
	raw, err := appendJSON(nil, n, 0)
	if err == nil && len(raw) > maxJSON {
		err = tooLong(n)
	}
	if err != nil {
		return err
	}
	*j = raw
	return nil
}

func tooLong(n *yaml.Node) error {
	return errorOf(n, "the value is longer than %d bytes as JSON", maxJSON)
}

// raw is null where the manifest says so.
func (j JSON) raw() json.RawMessage {
	if j == nil {
		return json.RawMessage("null")
	}
	return json.RawMessage(j)
}

// appendJSON writes n behind raw. Each node has a byte at least, so maxJSON also bounds what aliases can make of it.
func appendJSON(raw []byte, n *yaml.Node, depth int) ([]byte, error) {
	switch {
	case depth > maxJSONDepth:
		return nil, errorOf(n, "the value nests deeper than %d", maxJSONDepth)
	case len(raw) > maxJSON:
		return nil, tooLong(n)
	}
	switch n.Kind {
	case yaml.AliasNode:
		return appendJSON(raw, n.Alias, depth+1)
	case yaml.SequenceNode:
		raw = append(raw, '[')
		for i, c := range n.Content {
			if i > 0 {
				raw = append(raw, ',')
			}
			var err error
			if raw, err = appendJSON(raw, c, depth+1); err != nil {
				return nil, err
			}
		}
		return append(raw, ']'), nil
	case yaml.MappingNode:
		return appendObject(raw, n, depth)
	default:
		return appendScalar(raw, n)
	}
}

func appendObject(raw []byte, n *yaml.Node, depth int) ([]byte, error) {
	raw = append(raw, '{')
	seen := map[string]bool{}
	for i := 0; i+1 < len(n.Content); i += 2 {
		key := n.Content[i]
		switch {
		case key.Kind != yaml.ScalarNode || key.ShortTag() != "!!str":
			return nil, errorOf(key, "the key of a JSON value must be a text; put it into quotes")
		case seen[key.Value]:
			return nil, errorOf(key, "mapping key %.100q already defined", key.Value)
		case i > 0:
			raw = append(raw, ',')
		}
		seen[key.Value] = true
		name, _ := protocol.Marshal(key.Value) // a string always marshals
		var err error
		if raw, err = appendJSON(append(append(raw, name...), ':'), n.Content[i+1], depth+1); err != nil {
			return nil, err
		}
	}
	return append(raw, '}'), nil
}

func appendScalar(raw []byte, n *yaml.Node) ([]byte, error) {
	switch n.ShortTag() {
	case "!!null":
		return append(raw, "null"...), nil
	case "!!bool":
		return strconv.AppendBool(raw, strings.EqualFold(n.Value, "true")), nil
	case "!!int", "!!float":
		return appendNumber(raw, n)
	case "!!str", "!!timestamp":
		text, err := protocol.Marshal(n.Value)
		return append(raw, text...), err
	}
	return nil, errorOf(n, "%.100q has a type that JSON does not have", n.Value)
}

func appendNumber(raw []byte, n *yaml.Node) ([]byte, error) {
	if json.Valid([]byte(n.Value)) {
		return append(raw, n.Value...), nil
	}
	var i int64
	if n.Decode(&i) == nil { // 0x10, 1_000
		return strconv.AppendInt(raw, i, 10), nil
	}
	var f float64
	if n.Decode(&f) != nil || math.IsNaN(f) || math.IsInf(f, 0) {
		return nil, errorOf(n, "%.100q is no number of JSON", n.Value)
	}
	return strconv.AppendFloat(raw, f, 'g', -1, 64), nil
}

// readJSON reads a file with a JSON value.
func readJSON(path string) (json.RawMessage, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close() //nolint:errcheck // it was only read
	raw, err := io.ReadAll(io.LimitReader(f, maxJSON+1))
	switch {
	case err != nil:
		return nil, err
	case len(raw) > maxJSON:
		return nil, fmt.Errorf("the file is longer than %d bytes", maxJSON)
	case !json.Valid(raw):
		return nil, fmt.Errorf("the file %.200q is no JSON", path)
	}
	return raw, nil
}

// checkSchema says what keeps a schema from being used.
func checkSchema(raw json.RawMessage) error {
	var s jsonschema.Schema
	err := json.Unmarshal(raw, &s)
	if err == nil {
		_, err = s.Resolve(nil)
	}
	if err != nil {
		return fmt.Errorf("is no JSON schema: %s", brief(err))
	}
	return nil
}

// maxBrief is how much is said of an error of a library, in bytes.
const maxBrief = 200

// brief is the first line of an error.
func brief(err error) string {
	text, _, _ := strings.Cut(err.Error(), "\n")
	if len(text) > maxBrief {
		text = strings.ToValidUTF8(text[:maxBrief], "") + "..."
	}
	return text
}
