package portable

import (
	"encoding/json"
	"fmt"
	"math"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/skelegent/skelegent-go/protocol"
)

// The bounds of a JSON value in a manifest. Each node of it has a byte at least, so maxJSON also bounds what aliases can make of
// it.
const (
	maxJSON  = 256 << 10 // bytes
	maxDepth = 64
)

// wrong is an error about a node.
func wrong(n *yaml.Node, format string, args ...any) error {
	return &ParseError{Line: max(1, n.Line), Text: fmt.Sprintf(format, args...)}
}

func tooDeep(n *yaml.Node) error { return wrong(n, "the value nests deeper than %d", maxDepth) }

// resolved is what an alias stands for.
func resolved(n *yaml.Node) *yaml.Node {
	if n.Kind == yaml.AliasNode && n.Alias != nil {
		return n.Alias
	}
	return n
}

func isNull(n *yaml.Node) bool { return resolved(n).ShortTag() == "!!null" }

// jsonOf is a node as JSON. Numbers stay as they are written.
func jsonOf(n *yaml.Node) (json.RawMessage, error) {
	raw, err := appendJSON(nil, n, 0)
	if err == nil && len(raw) > maxJSON {
		err = tooLong(n)
	}
	return raw, err
}

func tooLong(n *yaml.Node) error {
	return wrong(n, "the value is longer than %d bytes as JSON", maxJSON)
}

func appendJSON(raw []byte, n *yaml.Node, depth int) ([]byte, error) {
	switch {
	case depth > maxDepth:
		return nil, tooDeep(n)
	case len(raw) > maxJSON:
		return nil, tooLong(n)
	}
	switch n = resolved(n); n.Kind {
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
		key := resolved(n.Content[i])
		switch {
		case key.Kind != yaml.ScalarNode || !isText(key):
			return nil, wrong(key, "the key of a JSON value must be a text; put it into quotes")
		case seen[key.Value]:
			return nil, wrong(key, "the key %s is there twice", quoted(key.Value))
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
	}
	if !isText(n) {
		return nil, wrong(n, "%s has a type that JSON does not have", quoted(n.Value))
	}
	text, err := protocol.Marshal(n.Value)
	return append(raw, text...), err
}

// isText reports whether a scalar is a text. A date is one, as JSON has none.
func isText(n *yaml.Node) bool {
	tag := n.ShortTag()
	return tag == "!!str" || tag == "!!timestamp"
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
		return nil, wrong(n, "%s is no number of JSON", quoted(n.Value))
	}
	return strconv.AppendFloat(raw, f, 'g', -1, 64), nil
}
