package openai

import (
	"encoding/json"
	"strings"

	goopenai "github.com/sashabaranov/go-openai"

	"github.com/skelegent/skelegent-go/protocol"
)

// passed are the provider options that are sent.
var passed = []string{"service_tier", "reasoning_effort", "parallel_tool_calls", "verbosity", "top_p", "seed"}

const parallelToolCalls = "parallel_tool_calls" // refused by OpenAI where there are no tools

// encode returns the body of the request. Its error is an *Error of the kind invalid request.
func encode(req protocol.InferRequest, stream bool) ([]byte, error) {
	messages, err := encodeMessages(req)
	if err != nil {
		return nil, err
	}
	body := map[string]any{"model": req.Model, "messages": messages}
	for _, name := range passed {
		if v := req.ProviderOptions[name]; len(v) > 0 && (name != parallelToolCalls || len(req.Tools) > 0) {
			body[name] = v
		}
	}
	if stream {
		body["stream"] = true
		body["stream_options"] = goopenai.StreamOptions{IncludeUsage: true}
	}
	if req.MaxTokens != nil {
		body[maxTokensField(req.Model)] = *req.MaxTokens
	}
	if req.Temperature != nil {
		body["temperature"] = *req.Temperature
	}
	if len(req.Tools) > 0 {
		body["tools"] = encodeTools(req.Tools)
		if req.ToolChoice != nil {
			body["tool_choice"] = encodeChoice(*req.ToolChoice)
		}
	}
	if f := encodeFormat(req.ResponseFormat); f != nil {
		body["response_format"] = f
	}
	raw, err := protocol.Marshal(body)
	if err != nil { // a schema or option that is no JSON, a temperature that is no number
		return nil, protocol.ErrInvalidRequest("it has a schema, an option or a temperature that is not JSON", 0).Because(err)
	}
	return raw, nil
}

// maxTokensField returns the name of the limit: the models that reason take only the new one, servers other than OpenAI's
// often know only the old one.
func maxTokensField(model string) string {
	model = model[strings.LastIndexByte(model, '/')+1:] // openai/gpt-5 behind a router
	model = strings.TrimPrefix(model, "ft:")
	reasons := len(model) >= 2 && model[0] == 'o' && isDigit(model[1]) && (len(model) == 2 || model[2] == '-')
	if rest, ok := strings.CutPrefix(model, "gpt-"); ok && rest != "" {
		reasons = rest[0] >= '5' && rest[0] <= '9'
	}
	if reasons {
		return "max_completion_tokens"
	}
	return "max_tokens"
}

func isDigit(c byte) bool { return c >= '0' && c <= '9' }

// noArguments is the schema of a tool without one.
var noArguments = json.RawMessage(`{"type":"object","properties":{}}`)

func encodeTools(schemas []protocol.ToolSchema) []goopenai.Tool {
	tools := make([]goopenai.Tool, len(schemas))
	for i, s := range schemas {
		f := &goopenai.FunctionDefinition{Name: s.Name, Description: s.Description, Parameters: s.InputSchema}
		if len(s.InputSchema) == 0 {
			f.Parameters = noArguments
		}
		var extra struct {
			Strict bool `json:"strict"`
		}
		if json.Unmarshal(s.Extra, &extra) == nil {
			f.Strict = extra.Strict
		}
		tools[i] = goopenai.Tool{Type: goopenai.ToolTypeFunction, Function: f}
	}
	return tools
}

func encodeChoice(c protocol.ToolChoice) any {
	switch c.Kind() {
	case protocol.ChoiceAny:
		return "required"
	case protocol.ChoiceNone:
		return "none"
	case protocol.ChoiceTool:
		return goopenai.ToolChoice{Type: goopenai.ToolTypeFunction, Function: goopenai.ToolFunction{Name: c.Tool()}}
	case protocol.ChoiceAuto:
	}
	return "auto"
}

func encodeFormat(f protocol.ResponseFormat) *goopenai.ChatCompletionResponseFormat {
	switch f := f.(type) {
	case protocol.JSONFormat:
		return &goopenai.ChatCompletionResponseFormat{Type: goopenai.ChatCompletionResponseFormatTypeJSONObject}
	case protocol.SchemaFormat:
		return &goopenai.ChatCompletionResponseFormat{
			Type: goopenai.ChatCompletionResponseFormatTypeJSONSchema,
			JSONSchema: &goopenai.ChatCompletionResponseFormatJSONSchema{
				Name: f.Name, Schema: f.Schema, Strict: f.Strict,
			},
		}
	}
	return nil // text is what there is without a format
}
