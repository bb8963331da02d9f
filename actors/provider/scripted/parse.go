package scripted

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"regexp"
	"slices"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"

	"github.com/skelegent/skelegent-go/actors/provider"
	"github.com/skelegent/skelegent-go/protocol"
)

// Load reads a script from the file at path; see Parse.
func Load(path string) (*Provider, error) {
	raw, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("read script: %w", err)
	}
	p, err := Parse(raw)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return p, nil
}

// Parse returns a provider that says the script in the YAML of the package comment. Errors name the line.
func Parse(raw []byte) (*Provider, error) {
	script, err := ParseScript(raw)
	if err != nil {
		return nil, err
	}
	return FromScript(script), nil
}

// ParseScript is Parse for those who want to change the script.
func ParseScript(raw []byte) (Script, error) {
	d := yaml.NewDecoder(bytes.NewReader(raw))
	d.KnownFields(true)
	var y scriptYAML
	if err := d.Decode(&y); err != nil && !errors.Is(err, io.EOF) {
		return Script{}, oneLine(err)
	}
	var more yaml.Node
	if err := d.Decode(&more); !errors.Is(err, io.EOF) {
		return Script{}, errors.New("line " + fmt.Sprint(more.Line) + ": only one YAML document is read")
	}
	if len(y.Steps) == 0 {
		return Script{}, errors.New("line 1: a script needs steps")
	}
	s := Script{Mode: Mode(y.Mode), Model: y.Model}
	for model, p := range y.Prices {
		if s.Prices == nil {
			s.Prices = provider.Prices{}
		}
		s.Prices[model] = p.price()
	}
	lines := stepLines(raw)
	for i, sy := range y.Steps {
		step, err := sy.step()
		if err != nil {
			return Script{}, fmt.Errorf("line %d: step %d: %w", lines(i), i+1, err)
		}
		s.Steps = append(s.Steps, step)
	}
	return s, nil
}

var typeName = regexp.MustCompile(` (in|into) (type )?scripted\.\w+`)

// oneLine makes the library's list of errors one line without the names of our types.
func oneLine(err error) error {
	text := err.Error()
	var list *yaml.TypeError
	if errors.As(err, &list) {
		text = strings.Join(list.Errors, "; ")
	}
	return errors.New(typeName.ReplaceAllString(strings.TrimPrefix(text, "yaml: "), ""))
}

// stepLines returns the line of each step.
func stepLines(raw []byte) func(i int) int {
	var doc struct {
		Steps []yaml.Node `yaml:"steps"`
	}
	_ = yaml.Unmarshal(raw, &doc) // was read before
	return func(i int) int {
		if i < len(doc.Steps) {
			return doc.Steps[i].Line
		}
		return 1
	}
}

type scriptYAML struct {
	Mode   choice               `yaml:"mode"`
	Model  string               `yaml:"model"`
	Prices map[string]priceYAML `yaml:"prices"`
	Steps  []stepYAML           `yaml:"steps"`
}

type priceYAML struct {
	Input      money  `yaml:"input"`
	Output     money  `yaml:"output"`
	Cached     *money `yaml:"cached"`
	CacheWrite *money `yaml:"cache_write"`
}

func (p priceYAML) price() provider.Price {
	return provider.Price{Input: p.Input.Decimal, Output: p.Output.Decimal, Cached: p.Cached.decimal(), CacheWrite: p.CacheWrite.decimal()}
}

type stepYAML struct {
	Match *struct {
		LastUserContains string `yaml:"last_user_contains"`
		HasToolResult    *bool  `yaml:"has_tool_result"`
		Turn             uint16 `yaml:"turn"`
	} `yaml:"match"`
	Text      string     `yaml:"text"`
	ToolCalls []callYAML `yaml:"tool_calls"`
	Usage     struct {
		Input     uint64  `yaml:"input"`
		Output    uint64  `yaml:"output"`
		Cached    *uint64 `yaml:"cached"`
		Reasoning *uint64 `yaml:"reasoning"`
	} `yaml:"usage"`
	Cost       *money     `yaml:"cost"`
	StopReason string     `yaml:"stop_reason"`
	Delay      duration   `yaml:"delay"`
	Error      *errorYAML `yaml:"error"`
	Repeat     int        `yaml:"repeat"`
}

type callYAML struct {
	ID    string    `yaml:"id"`
	Name  string    `yaml:"name"`
	Input yaml.Node `yaml:"input"`
}

func (y stepYAML) step() (Step, error) {
	s := Step{
		Text: y.Text, Cost: y.Cost.decimal(), StopReason: protocol.StopReason(y.StopReason),
		Delay: time.Duration(y.Delay), Repeat: y.Repeat,
		Usage: protocol.TokenUsage{
			InputTokens: y.Usage.Input, OutputTokens: y.Usage.Output,
			CacheReadTokens: y.Usage.Cached, ReasoningTokens: y.Usage.Reasoning,
		},
	}
	if m := y.Match; m != nil {
		s.Match = &Match{LastUserContains: m.LastUserContains, HasToolResult: m.HasToolResult, Turn: int(m.Turn)}
	}
	reasons := []protocol.StopReason{protocol.StopEndTurn, protocol.StopToolUse, protocol.StopMaxTokens, protocol.StopContentFilter}
	if s.StopReason != "" && !slices.Contains(reasons, s.StopReason) {
		return s, fmt.Errorf("unknown stop_reason %q", y.StopReason)
	}
	if y.Error != nil {
		if y.Text != "" || len(y.ToolCalls) > 0 {
			return s, errors.New("an error stands in place of text and tool_calls")
		}
		var err error
		s.Err, err = y.Error.err()
		return s, err
	}
	for _, c := range y.ToolCalls {
		if c.Name == "" {
			return s, errors.New("a tool call needs a name")
		}
		input, err := toJSON(&c.Input)
		if err != nil {
			return s, fmt.Errorf("input of %s: %w", c.Name, err)
		}
		s.ToolCalls = append(s.ToolCalls, protocol.ToolCall{ID: c.ID, Name: c.Name, Input: input})
	}
	return s, nil
}

// toJSON returns the node as JSON, {} if there is none.
func toJSON(n *yaml.Node) (json.RawMessage, error) {
	if n.IsZero() {
		return json.RawMessage(`{}`), nil
	}
	var v any
	if err := n.Decode(&v); err != nil {
		return nil, err
	}
	raw, err := protocol.Marshal(v)
	if err != nil {
		return nil, errors.New("is not JSON: keys have to be strings and numbers finite")
	}
	return raw, nil
}
