package protocol_test

import (
	"testing"

	"github.com/skelegent/skelegent-go/protocol"
)

func TestRoles(t *testing.T) {
	t.Parallel()
	if (protocol.Role{}) != protocol.RoleUser || protocol.ToolRole("a", "1") == protocol.ToolRole("a", "2") {
		t.Error("roles do not compare")
	}
	name, id, ok := protocol.ToolRole("search", "c1").Tool()
	if _, _, isTool := protocol.RoleSystem.Tool(); name != "search" || id != "c1" || !ok || isTool {
		t.Errorf("got %s %s %v", name, id, ok)
	}
}

func TestMessageText(t *testing.T) {
	t.Parallel()
	m := protocol.NewMessage(protocol.RoleUser, protocol.BlockContent(
		protocol.TextBlock{Text: "one"}, protocol.ThinkingBlock{Thinking: "no"}, protocol.ToolResultBlock{Content: "two"}))
	check(t, "blocks", m.Text(), "one two")
	check(t, "text", user("hi").Text(), "hi")
	check(t, "nothing", protocol.Message{}.Text(), "")
}

// TestEstimatedTokens: four bytes a token, rounded down per block, 1000 an image or file, 4 a message.
func TestEstimatedTokens(t *testing.T) {
	t.Parallel()
	for want, c := range map[int]protocol.Content{
		4:    protocol.TextContent("abc"),
		5:    protocol.TextContent("abcdefg"),
		2008: protocol.BlockContent(protocol.ImageBlock{}, protocol.FileBlock{}, protocol.TextBlock{Text: "abcd"}, protocol.TextBlock{Text: "abc"}, protocol.ToolResultBlock{Content: "abcd"}, protocol.ThinkingBlock{Thinking: "abcdefgh"}),
		7:    protocol.BlockContent(protocol.ToolUseBlock{Input: []byte(`{}`)}, protocol.DataBlock{Data: []byte(`{"a":1}`)}, protocol.CustomBlock{Data: []byte(`"abcdef"`)}),
	} {
		if got := protocol.NewMessage(protocol.RoleUser, c).EstimatedTokens(); got != want {
			t.Errorf("%s: got %d, want %d", mustMarshal(t, c), got, want)
		}
	}
}

func TestPinned(t *testing.T) {
	t.Parallel()
	if m := protocol.PinnedMessage(protocol.RoleSystem, protocol.TextContent("")); !m.Pinned() || user("").Pinned() {
		t.Error("only the pinned one is pinned")
	}
	check(t, "zero policy", mustMarshal(t, protocol.Message{Content: protocol.TextContent("hi")}), `{"role":"user","content":"hi","meta":{"policy":"normal","version":0}}`)
}

func TestToMessage(t *testing.T) {
	t.Parallel()
	call := protocol.ToolCall{ID: "c1", Name: "ls", Input: []byte(`{}`)}
	for want, r := range map[string]protocol.InferResponse{
		`""`:    {},
		`"hi"`:  {Content: protocol.TextContent("hi")},
		`"one"`: {Content: protocol.BlockContent(protocol.TextBlock{Text: "one"})},
		`[{"type":"tool_use","id":"c1","name":"ls","input":{}}]`:                                                                 {ToolCalls: []protocol.ToolCall{call}},
		`[{"type":"text","text":"hi"},{"type":"tool_use","id":"c1","name":"ls","input":{}}]`:                                     {Content: protocol.TextContent("hi"), ToolCalls: []protocol.ToolCall{call}},
		`[{"type":"thinking","thinking":"hm"},{"type":"text","text":"hi"},{"type":"tool_use","id":"c1","name":"ls","input":{}}]`: {Content: protocol.BlockContent(protocol.ThinkingBlock{Thinking: "hm"}, protocol.TextBlock{Text: "hi"}, protocol.TextBlock{}, protocol.ToolUseBlock(call)), ToolCalls: []protocol.ToolCall{call}},
	} {
		m := r.ToMessage()
		if m.Role != protocol.RoleAssistant {
			t.Errorf("role %s", m.Role)
		}
		check(t, "content", mustMarshal(t, m.Content), want)
	}
}

func TestToolResultMessage(t *testing.T) {
	t.Parallel()
	check(t, "message", mustMarshal(t, protocol.ToolResultMessage("c1", "ls", "a b", true)),
		`{"role":{"tool":{"name":"ls","call_id":"c1"}},"content":[{"type":"tool_result","tool_use_id":"c1","content":"a b","is_error":true}],"meta":{"policy":"normal","version":0}}`)
}

func TestStreamEventsAreASum(t *testing.T) {
	t.Parallel()
	for _, e := range []protocol.StreamEvent{protocol.TextDelta{}, protocol.ThinkingDelta{}, protocol.ToolCallStart{}, protocol.ToolCallDelta{}, protocol.UsageEvent{}, protocol.Done{}} {
		if e == nil {
			t.Error("nil")
		}
	}
}

func TestChoicesAndDecisions(t *testing.T) {
	t.Parallel()
	if (protocol.ToolChoice{}).Kind() != protocol.ChoiceAuto || protocol.ChooseTool("a").Tool() != "a" || protocol.ChooseTools(protocol.ChoiceAny) == protocol.ChooseTool("") {
		t.Error("tool choices")
	}
	d := protocol.RequestIncrease(protocol.MustDecimal("5.00"))
	if amount, ok := d.Increase(); !ok || amount.Text() != "5.00" || d.Halts() || !protocol.HaltWorkflow().Halts() {
		t.Errorf("got %v", amount)
	}
	if from, to, ok := protocol.DowngradeModel("a", "b").Downgrade(); from != "a" || to != "b" || !ok {
		t.Error("downgrade")
	}
	if _, ok := protocol.BudgetContinue().Increase(); ok || protocol.BudgetContinue().String() != "continue" {
		t.Error("continue")
	}
	if name, ok := protocol.InjectEnvVar("K").EnvVar(); name != "K" || !ok {
		t.Error("env var")
	}
	if path, ok := protocol.InjectFile("/k").File(); path != "/k" || !ok || !protocol.InjectSidecar().Sidecar() {
		t.Error("file")
	}
	if protocol.PolicyAlways().Kind() != protocol.ReasonPolicyAlways || protocol.MiddlewareBlocked("g").Detail() != "g" {
		t.Error("approval reason")
	}
}
