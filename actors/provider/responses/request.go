package responses

import (
	"encoding/json"
	"regexp"
	"strings"

	goopenai "github.com/sashabaranov/go-openai"

	"github.com/skelegent/skelegent-go/protocol"
)

// The provider options that are sent.
const (
	optionReasoning = "reasoning"
	optionParallel  = "parallel_tool_calls" // refused by OpenAI where there are no tools
	optionVerbosity = "verbosity"           // part of text
)

var passed = []string{optionReasoning, "service_tier", "top_p"}

// encode returns the body of the request. Its error is an *Error of the kind invalid request.
func encode(req protocol.InferRequest, stream bool) ([]byte, error) {
	input, err := encodeInput(req.Messages)
	if err != nil {
		return nil, err
	}
	body := map[string]any{"model": req.Model, "input": input, "store": false}
	for _, name := range passed {
		if v := req.ProviderOptions[name]; len(v) > 0 {
			body[name] = v
		}
	}
	if reasons(req.Model) || len(req.ProviderOptions[optionReasoning]) > 0 {
		body["include"] = []goopenai.ResponseInclude{goopenai.ResponseIncludeReasoningEncryptedContent}
	}
	if req.System != "" {
		body["instructions"] = req.System
	}
	if stream {
		body["stream"] = true
	}
	if req.MaxTokens != nil {
		body["max_output_tokens"] = *req.MaxTokens
	}
	if req.Temperature != nil {
		body["temperature"] = *req.Temperature
	}
	if len(req.Tools) > 0 {
		encodeTools(body, req)
	}
	if text := encodeText(req); len(text) > 0 {
		body["text"] = text
	}
	raw, err := protocol.Marshal(body)
	if err != nil { // a schema or option that is no JSON, a temperature that is no number
		return nil, protocol.ErrInvalidRequest("it has a schema, an option or a temperature that is not JSON", 0).Because(err)
	}
	return raw, nil
}

// family matches the names of models that reason, also fine-tuned and behind a router, and of some for chats, which do not.
var family = regexp.MustCompile(`^(?:.*/)?(?:ft:)?(?:o\d(?:-|$)|gpt-[5-9]|codex-)`)

// reasons reports whether the model takes the wish for encrypted reasoning.
func reasons(model string) bool {
	return family.MatchString(model) && !strings.Contains(model, "-chat")
}

// tool is a function. That it is not strict has to be said: strict is what it is otherwise.
type tool struct {
	Type        goopenai.ToolType `json:"type"`
	Name        string            `json:"name"`
	Description string            `json:"description,omitempty"`
	Parameters  json.RawMessage   `json:"parameters"`
	Strict      bool              `json:"strict"`
}

// noArguments is the schema of a tool without one.
var noArguments = json.RawMessage(`{"type":"object","properties":{}}`)

func encodeTools(body map[string]any, req protocol.InferRequest) {
	tools := make([]tool, len(req.Tools))
	for i, s := range req.Tools {
		var extra struct {
			Strict bool `json:"strict"`
		}
		_ = json.Unmarshal(s.Extra, &extra) // may be something else, for another provider
		tools[i] = tool{goopenai.ToolTypeFunction, s.Name, s.Description, s.InputSchema, extra.Strict}
		if len(s.InputSchema) == 0 {
			tools[i].Parameters = noArguments
		}
	}
	body["tools"] = tools
	if v := req.ProviderOptions[optionParallel]; len(v) > 0 {
		body[optionParallel] = v
	}
	if req.ToolChoice != nil {
		body["tool_choice"] = encodeChoice(*req.ToolChoice)
	}
}

func encodeChoice(c protocol.ToolChoice) any {
	switch c.Kind() {
	case protocol.ChoiceAny:
		return "required"
	case protocol.ChoiceNone:
		return "none"
	case protocol.ChoiceTool:
		return map[string]string{"type": "function", "name": c.Tool()}
	case protocol.ChoiceAuto:
	}
	return "auto"
}

// encodeText returns how the text has to be.
func encodeText(req protocol.InferRequest) map[string]any {
	text := map[string]any{}
	switch f := req.ResponseFormat.(type) {
	case protocol.JSONFormat:
		text["format"] = goopenai.ResponseTextFormat{Type: "json_object"}
	case protocol.SchemaFormat:
		text["format"] = goopenai.ResponseTextFormat{Type: "json_schema", Name: f.Name, Schema: f.Schema, Strict: f.Strict}
	}
	if v := req.ProviderOptions[optionVerbosity]; len(v) > 0 {
		text[optionVerbosity] = v
	}
	return text
}
