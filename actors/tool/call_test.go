package tool_test

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/skelegent/skelegent-go/actors/tool"
	"github.com/skelegent/skelegent-go/protocol"
)

// Case D3.7 of the specification.
func TestD3Fact7ResultAndErrorTexts(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		`"a \"b\""`: `a "b"`, `null`: `null`, ``: `null`, `{"a": 1}`: `{"a":1}`, `5`: `5`, `[1, 2]`: `[1,2]`,
	} {
		if got := (tool.Result{Output: json.RawMessage(in)}).Text(); got != want {
			t.Errorf("%s: got %s, want %s", in, got, want)
		}
	}
	if got := tool.ErrorText(protocol.ErrToolFailed("x")); got != "Error: execution failed: x" {
		t.Errorf("got %q", got)
	}
}

func TestCut(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		text  string
		limit int
		want  string
	}{
		{"abc", 3, "abc"},
		{"abcd", 3, "abc\n[cut: the first 3 of 4 bytes]"},
		{"aäb", 2, "a\n[cut: the first 2 of 4 bytes]"},
		{"ä", 1, "\n[cut: the first 1 of 2 bytes]"},
	} {
		if got := tool.Cut(c.text, c.limit); got != c.want {
			t.Errorf("%q at %d: got %q, want %q", c.text, c.limit, got, c.want)
		}
	}
	if got := tool.Cut(strings.Repeat("x", tool.DefaultMaxText+1), 0); len(got) > tool.DefaultMaxText+100 {
		t.Errorf("got %d bytes", len(got))
	}
}

// bare is a tool without anything of this package in it.
type bare struct{ fn func() (tool.Result, error) }

func (bare) Metadata() protocol.ToolMetadata { return protocol.ToolMetadata{Name: "bare"} }
func (b bare) Call(context.Context, json.RawMessage) (tool.Result, error) {
	return b.fn()
}

func TestCallGuardsForeignTools(t *testing.T) {
	t.Parallel()
	_, err := call(t, bare{func() (tool.Result, error) { panic("x") }}, "")
	wantKind(t, err, protocol.KindToolExecutionFailed)

	cost := protocol.MustDecimal("0.5")
	res, err := tool.Call(t.Context(), bare{func() (tool.Result, error) {
		return tool.Result{Output: json.RawMessage(`1`), Effects: protocol.Effects{protocol.Log{}}, Cost: &cost, UnpricedCalls: 2},
			errors.New("x")
	}}, nil)
	wantKind(t, err, protocol.KindToolExecutionFailed)
	if d := cmp.Diff(tool.Result{Cost: &cost, UnpricedCalls: 2}, res); d != "" {
		t.Errorf("beside an error only the cost counts: %s", d)
	}
}

func TestRoles(t *testing.T) {
	t.Parallel()
	is := func(input json.RawMessage) bool { return strings.Contains(string(input), "rm") }
	boom := func(json.RawMessage) bool { panic("x") }
	for name, c := range map[string]struct {
		tool   tool.Tool
		input  string
		needed bool
		reason protocol.ApprovalReason
		repeat bool
	}{
		"none":      {tool: bare{}},
		"default":   {tool: echo()},
		"always":    {tool: echo(tool.RequiresApproval()), needed: true, reason: protocol.PolicyAlways()},
		"if yes":    {tool: echo(tool.RequiresApprovalIf("deletes", is)), input: `{"zone":"rm"}`, needed: true, reason: protocol.PolicyPredicate("deletes")},
		"if no":     {tool: echo(tool.RequiresApprovalIf("deletes", is)), input: `{"zone":"ls"}`},
		"if panics": {tool: echo(tool.RequiresApprovalIf("x", boom)), needed: true, reason: protocol.PolicyAlways()},
		"alias":     {tool: tool.Alias(tool.Alias(echo(tool.RequiresApproval(), tool.Repeatable()), "a"), "b"), needed: true, repeat: true},
		"effect":    {tool: tool.Remember(), repeat: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			reason, needed := tool.NeedsApproval(c.tool, json.RawMessage(c.input))
			if needed != c.needed || needed && reason != c.reason {
				t.Errorf("approval: got %v %v", reason, needed)
			}
			if got := tool.CanRepeat(c.tool); got != c.repeat {
				t.Errorf("repeatable: got %v", got)
			}
		})
	}
}
