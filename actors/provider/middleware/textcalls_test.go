package middleware_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/skelegent/skelegent-go/actors/agent"
	"github.com/skelegent/skelegent-go/actors/agenttest"
	"github.com/skelegent/skelegent-go/actors/compose/normalize"
	"github.com/skelegent/skelegent-go/actors/provider"
	"github.com/skelegent/skelegent-go/actors/provider/middleware"
	"github.com/skelegent/skelegent-go/actors/provider/scripted"
	"github.com/skelegent/skelegent-go/actors/tool"
	"github.com/skelegent/skelegent-go/protocol"
)

func block(s string) string { return normalize.StartMarker + s + normalize.EndMarker }

// asked is a request with a tool, in the second answer of a conversation.
func asked() protocol.InferRequest {
	return protocol.InferRequest{
		Tools: []protocol.ToolSchema{{Name: "clock", InputSchema: json.RawMessage(`{"type":"object"}`)}},
		Messages: []protocol.Message{
			protocol.NewMessage(protocol.RoleUser, protocol.TextContent("What time is it?")),
			protocol.NewMessage(protocol.RoleAssistant, protocol.BlockContent(protocol.ToolUseBlock{ID: "call_2_2", Name: "clock", Input: json.RawMessage(`{}`)})),
			protocol.ToolResultMessage("call_2_2", "clock", "noon", false),
		},
	}
}

// heard is what a sink got.
type heard struct {
	text   string
	pieces []string
	calls  []protocol.ToolCall
	done   *protocol.InferResponse
	late   bool // something came behind the end
}

func (h *heard) event(ev protocol.StreamEvent) {
	h.late = h.late || h.done != nil
	switch ev := ev.(type) {
	case protocol.TextDelta:
		h.text += ev.Text
		h.pieces = append(h.pieces, ev.Text)
	case protocol.ToolCallStart:
		if ev.Index != len(h.calls) {
			h.late = true
		}
		h.calls = append(h.calls, protocol.ToolCall{ID: ev.ID, Name: ev.Name})
	case protocol.ToolCallDelta:
		h.calls[ev.Index].Input = append(h.calls[ev.Index].Input, ev.JSONDelta...)
	case protocol.Done:
		h.done = &ev.Response
	}
}

func calls(all []protocol.ToolCall) string {
	var out []string
	for _, c := range all {
		out = append(out, c.ID+":"+c.Name+string(c.Input))
	}
	return strings.Join(out, " ")
}

func TestTextCalls(t *testing.T) {
	t.Parallel()
	const unread = `"the tool calls in this answer could not be read: `
	tests := []struct {
		name  string
		said  scripted.Step
		text  string
		calls string
		stop  protocol.StopReason
	}{
		{"no block", scripted.Step{Text: "It is <noon>."}, "It is <noon>.", "", protocol.StopEndTurn},
		{"a call", scripted.Step{Text: "Let me look. " + block("[clock(zone='CET')]") + "."}, "Let me look. .", `call_2_1:clock{"zone":"CET"}`, protocol.StopToolUse},
		{"calls in two blocks, with ids that are free", scripted.Step{Text: block("[clock(), a.b()]") + block("c()")}, "", `call_2_1:clock{} call_2_3:a.b{} call_2_4:c{}`, protocol.StopToolUse},
		{"an empty block", scripted.Step{Text: "a" + block("[]") + "b"}, "ab", "", protocol.StopEndTurn},
		{"half a marker at the end", scripted.Step{Text: "a <|tool_call_start"}, "a <|tool_call_start", "", protocol.StopEndTurn},
		{"cut behind a block", scripted.Step{Text: block("clock()") + " So I w", StopReason: protocol.StopMaxTokens}, " So I w", `call_2_1:clock{}`, protocol.StopToolUse},
		{"stopped by a filter", scripted.Step{Text: block("clock()"), StopReason: protocol.StopContentFilter}, "", `call_2_1:clock{}`, protocol.StopContentFilter},
		{"beside a call of the server's own", scripted.Step{Text: block("clock()"), ToolCalls: []protocol.ToolCall{{ID: "call_2_1", Name: "x"}}}, "", `call_2_1:x{} call_2_3:clock{}`, protocol.StopToolUse},
		{"malformed", scripted.Step{Text: "a" + block("clock") + "b"}, "a" + block("clock") + "b", `call_2_1:malformed_tool_call` + unread + `expected '(' after a tool name at line 1, column 26 (byte 25)"`, protocol.StopToolUse},
		{"malformed behind a good one", scripted.Step{Text: "a" + block("clock()") + "b" + block("x") + block("clock()")}, "ab" + block("x") + block("clock()"), `call_2_1:clock{} call_2_3:malformed_tool_call` + unread + `expected '(' after a tool name at line 1, column 66 (byte 65)"`, protocol.StopToolUse},
		{"cut in a block", scripted.Step{Text: "a" + normalize.StartMarker + "[clo", StopReason: protocol.StopMaxTokens}, "a" + normalize.StartMarker + "[clo", `call_2_1:malformed_tool_call` + unread + `unclosed tool call block at line 1, column 2 (byte 1)"`, protocol.StopMaxTokens},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			tt.said.Repeat = -1
			p := transform(scripted.New(tt.said), middleware.TextCalls())
			resp, err := p.Infer(t.Context(), asked(), nil)
			if err != nil || say(resp) != tt.text || calls(resp.ToolCalls) != tt.calls || resp.StopReason != tt.stop {
				t.Errorf("text %q, calls %s, stop %s, error %v", say(resp), calls(resp.ToolCalls), resp.StopReason, err)
			}
			var h heard
			streamed, err := p.Infer(t.Context(), asked(), h.event)
			if err != nil || h.late || h.done == nil {
				t.Fatalf("error %v, %+v", err, h)
			}
			for _, r := range []protocol.InferResponse{streamed, *h.done} {
				if say(r) != tt.text || calls(r.ToolCalls) != tt.calls || r.StopReason != tt.stop {
					t.Errorf("streamed: text %q, calls %s, stop %s", say(r), calls(r.ToolCalls), r.StopReason)
				}
			}
			if h.text != tt.text || calls(h.calls) != tt.calls {
				t.Errorf("heard %q and %s", h.text, calls(h.calls))
			}
		})
	}
}

func TestTextCallsShowsTextAsSoonAsItIsCertain(t *testing.T) {
	t.Parallel()
	p := transform(scripted.New(scripted.Step{Text: "Let me look." + block("[clock()]") + "Bye."}), middleware.TextCalls())
	var h heard
	if _, err := p.Infer(t.Context(), asked(), h.event); err != nil || fmt.Sprintf("%q", h.pieces) != `["Let me" " look." "Bye" "."]` {
		t.Errorf("pieces %q, error %v", h.pieces, err)
	}
}

func TestTextCallsLooksIntoTextBlocksOnly(t *testing.T) {
	t.Parallel()
	thinking := protocol.ThinkingBlock{Thinking: "I could " + block("clock()")}
	said := protocol.BlockContent(thinking, protocol.TextBlock{Text: "a" + normalize.StartMarker + "clo"}, protocol.TextBlock{Text: "ck()" + normalize.EndMarker + "b<"})
	inner := answer(func(context.Context, protocol.InferRequest, sink) (protocol.InferResponse, error) {
		return protocol.InferResponse{Content: said, StopReason: protocol.StopEndTurn}, nil
	})
	resp, err := transform(inner, middleware.TextCalls()).Infer(t.Context(), asked(), nil)
	want := protocol.BlockContent(thinking, protocol.TextBlock{Text: "a"}, protocol.TextBlock{Text: "b<"})
	if err != nil || !resp.Content.Equal(want) || calls(resp.ToolCalls) != "call_2_1:clock{}" {
		t.Errorf("got %+v, error %v", resp, err)
	}
	if text := said.Blocks()[1].(protocol.TextBlock).Text; !strings.Contains(text, normalize.StartMarker) {
		t.Errorf("the provider's own content was changed: %q", text)
	}
}

func TestTextCallsLeavesAlone(t *testing.T) {
	t.Parallel()
	none := protocol.ChooseTools(protocol.ChoiceNone)
	forbidden := asked()
	forbidden.ToolChoice = &none
	for name, req := range map[string]protocol.InferRequest{"no tools": {}, "calls are forbidden": forbidden} {
		p := transform(scripted.New(scripted.Step{Text: block("clock()"), Repeat: -1}), middleware.TextCalls())
		var h heard
		resp, err := p.Infer(t.Context(), req, h.event)
		if err != nil || say(resp) != block("clock()") || h.text != say(resp) || len(resp.ToolCalls) != 0 {
			t.Errorf("%s: %+v, error %v", name, resp, err)
		}
	}
}

func TestTextCallsPassesErrorsOn(t *testing.T) {
	t.Parallel()
	p := transform(scripted.New(scripted.Step{Err: protocol.ErrRateLimited(0), Repeat: -1}), middleware.TextCalls())
	for _, s := range []sink{nil, func(protocol.StreamEvent) { t.Error("an event") }} {
		if _, err := p.Infer(t.Context(), asked(), s); !errors.Is(err, &protocol.Error{Kind: protocol.KindProviderRateLimited}) {
			t.Errorf("error %v", err)
		}
	}
}

func TestTextCallsKeepsRoles(t *testing.T) {
	t.Parallel()
	p := transform(both{pricer{echo}, quoter{echo}}, middleware.TextCalls())
	if pr, ok := p.(provider.Pricer); !ok || !pr.Priced("priced") {
		t.Error("no pricer")
	}
	if _, ok := p.(provider.Quoter); !ok {
		t.Error("no quoter")
	}
}

func TestTextCallsDoesNotNameATool(t *testing.T) {
	t.Parallel()
	req := asked()
	req.Tools = append(req.Tools, protocol.ToolSchema{Name: middleware.MalformedCall})
	resp, err := transform(scripted.New(scripted.Step{Text: block("x")}), middleware.TextCalls()).Infer(t.Context(), req, nil)
	if err != nil || len(resp.ToolCalls) != 1 || resp.ToolCalls[0].Name != middleware.MalformedCall+"_" {
		t.Errorf("got %+v, error %v", resp, err)
	}
}

// teller is an agent with a clock whose model writes calls as text.
func teller(t *testing.T, model provider.Provider) (a *agent.Agent, asked *[]string) {
	t.Helper()
	asked = new([]string)
	type zone struct {
		Zone string `json:"zone"`
	}
	clock := tool.Func("clock", "tells the time", func(_ context.Context, in zone) (string, error) {
		*asked = append(*asked, in.Zone)
		return "noon", nil
	})
	a, err := agent.New(agent.Config{Provider: transform(model, middleware.TextCalls()), Tools: []tool.Tool{clock}})
	if err != nil {
		t.Fatal(err)
	}
	return a, asked
}

func TestAnAgentMakesTheCallsThatItsModelWrites(t *testing.T) {
	t.Parallel()
	model := agenttest.NewModel(t, agenttest.Say("Let me look. "+block("[clock(zone='CET'), clock(zone='UTC')]")), agenttest.Say("It is noon."))
	a, zones := teller(t, model)
	var said strings.Builder
	ctx := agent.WithStream(t.Context(), func(ev protocol.StreamEvent) {
		if d, ok := ev.(protocol.TextDelta); ok {
			said.WriteString(d.Text)
		}
	})
	out, err := a.Execute(ctx, protocol.Text("What time is it?"))
	text, _ := out.Message.AsText()
	if err != nil || text != "It is noon." || out.ExitReason.Kind() != protocol.ExitComplete || said.String() != "Let me look. It is noon." {
		t.Errorf("got %q, exit %v, said %q, error %v", text, out.ExitReason, said.String(), err)
	}
	if fmt.Sprint(*zones) != "[CET UTC]" {
		t.Errorf("the clock was asked for %q", *zones)
	}
	again := model.Request(1)
	for _, id := range []string{"call_1_1", "call_1_2"} {
		if r := again.ToolResult(id); r.Content != "noon" {
			t.Errorf("%s: %+v", id, r)
		}
	}
	for _, m := range again.Messages {
		if raw, err := json.Marshal(m); err != nil || strings.Contains(string(raw), "tool_call_start") {
			t.Errorf("the model is shown %s, error %v", raw, err)
		}
	}
}

func TestAnAgentTellsItsModelWhatItCouldNotRead(t *testing.T) {
	t.Parallel()
	wrong := "Let me look. " + block("[clock(zone='CET)]")
	model := agenttest.NewModel(t, agenttest.Say(wrong), agenttest.Say(block("[clock(zone='CET')]")), agenttest.Say("It is noon."))
	a, zones := teller(t, model)
	out, err := a.Execute(t.Context(), protocol.Text("What time is it?"))
	text, _ := out.Message.AsText()
	if err != nil || text != "It is noon." || fmt.Sprint(*zones) != "[CET]" {
		t.Errorf("got %q, zones %q, error %v", text, *zones, err)
	}
	told := model.Request(1)
	if r := told.ToolResult("call_1_1"); !r.IsError || !strings.Contains(r.Content, "clock") {
		t.Errorf("told %+v", r)
	}
	raw, err := json.Marshal(told.Messages)
	if err != nil || !strings.Contains(string(raw), "unterminated single-quoted string at line 1") || !strings.Contains(string(raw), "zone='CET)") {
		t.Errorf("the model is shown %s", raw)
	}
}

func TestAnAgentGivesUpOnAModelThatWritesNothingElse(t *testing.T) {
	t.Parallel()
	model := agenttest.NewModel(t, agenttest.Say(block("clock")).Always())
	a, zones := teller(t, model)
	out, err := a.Execute(t.Context(), protocol.Text("What time is it?"))
	text, _ := out.Message.AsText()
	if err != nil || out.ExitReason.Kind() != protocol.ExitCircuitBreaker || text != block("clock") || len(*zones) != 0 {
		t.Errorf("got %q, exit %v, error %v", text, out.ExitReason, err)
	}
}

func ExampleTextCalls() {
	local := scripted.New(scripted.Step{Text: "Let me look. <|tool_call_start|>[clock(zone='CET')]<|tool_call_end|>"})
	p := middleware.NewStack().Transform(middleware.TextCalls()).Build().Wrap(local)

	req := protocol.InferRequest{Tools: []protocol.ToolSchema{{Name: "clock"}}}
	resp, err := p.Infer(context.Background(), req, nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	text, _ := resp.Content.AsText()
	fmt.Printf("%q, then %s %s\n", text, resp.ToolCalls[0].Name, resp.ToolCalls[0].Input)
	// Output:
	// "Let me look. ", then clock {"zone":"CET"}
}
