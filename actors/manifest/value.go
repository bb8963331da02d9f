package manifest

import (
	"fmt"
	"slices"
	"time"

	"go.yaml.in/yaml/v3"

	"github.com/skelegent/skelegent-go/protocol"
)

// errorOf says what is wrong with a node, in the form of the library, which collects such errors in their order.
func errorOf(n *yaml.Node, format string, args ...any) error {
	return &yaml.TypeError{Errors: []string{fmt.Sprintf("line %d: %s", n.Line, fmt.Sprintf(format, args...))}}
}

// decodeMapping decodes a mapping that has no other keys than those: Decode of a node is not strict.
func decodeMapping(n *yaml.Node, v any, known ...string) error {
	for i := 0; i < len(n.Content); i += 2 {
		if key := n.Content[i]; !slices.Contains(known, key.Value) {
			return errorOf(key, "unknown key %.100q", key.Value)
		}
	}
	return n.Decode(v)
}

// Secret says where a secret is; exactly one field is set.
type Secret struct {
	Env  string `yaml:"env"`
	File string `yaml:"file"`

	literal string // of an agent's own file, which may have one
}

const secretForms = "must be {env: NAME} or {file: PATH}"

// UnmarshalYAML reads the mapping, strictly. No error says what is there instead: it may be the secret.
func (s *Secret) UnmarshalYAML(n *yaml.Node) error {
	if n.Kind != yaml.MappingNode {
		return errorOf(n, "an api_key %s, not the key itself", secretForms)
	}
	type plain Secret
	return decodeMapping(n, (*plain)(s), "env", "file")
}

// Duration is a duration with its unit, such as 2m.
type Duration time.Duration

// UnmarshalYAML reads a positive duration.
func (d *Duration) UnmarshalYAML(n *yaml.Node) error {
	v, err := time.ParseDuration(n.Value)
	if n.Kind != yaml.ScalarNode || err != nil || v <= 0 {
		return errorOf(n, "%.100q is no positive duration such as 30s or 2m", n.Value)
	}
	*d = Duration(v)
	return nil
}

func (d *Duration) value() time.Duration {
	if d == nil {
		return 0
	}
	return time.Duration(*d)
}

// Count is a whole number, one or more; 0 where none is given.
type Count int

// maxCount is the largest Count.
const maxCount = 1_000_000_000

// UnmarshalYAML reads the number.
func (c *Count) UnmarshalYAML(n *yaml.Node) error {
	var v int
	if n.Kind != yaml.ScalarNode || n.Decode(&v) != nil || v < 1 || v > maxCount {
		return errorOf(n, "%.100q does not fit here: a whole number, 1 to %d, is needed", n.Value, maxCount)
	}
	*c = Count(v)
	return nil
}

// Decimal is an amount of money in USD, not negative.
type Decimal protocol.Decimal

// UnmarshalYAML reads the literal, in quotes or not.
func (d *Decimal) UnmarshalYAML(n *yaml.Node) error {
	v, err := protocol.NewDecimal(n.Value)
	if n.Kind != yaml.ScalarNode || err != nil || v.IsNegative() {
		return errorOf(n, `%.100q is no amount of USD such as "0.50"`, n.Value)
	}
	*d = Decimal(v)
	return nil
}

func (d *Decimal) value() *protocol.Decimal { return (*protocol.Decimal)(d) }

// Price is what a model costs, in USD per million tokens. Input and output are required: what costs nothing costs "0".
type Price struct {
	Input      *Decimal `yaml:"input"`
	Output     *Decimal `yaml:"output"`
	Cached     *Decimal `yaml:"cached"`
	CacheWrite *Decimal `yaml:"cache_write"`
}
