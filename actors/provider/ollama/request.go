package ollama

import (
	"encoding/json"
	"maps"
	"slices"

	"github.com/skelegent/skelegent-go/protocol"
)

// The provider options that are sent: among the options of the model, and beside them.
var (
	modelOptions = []string{"top_p", "top_k", "seed", "num_ctx", "stop"}
	chatOptions  = []string{"keep_alive", "think"}
)

// encode returns the body of the request. Its error is an *Error of the kind invalid request.
func (c Config) encode(req protocol.InferRequest, stream bool) ([]byte, error) {
	messages, err := encodeMessages(req)
	if err != nil {
		return nil, err
	}
	body := map[string]any{"model": req.Model, "messages": messages, "stream": stream} // the server streams without it
	if c.KeepAlive != 0 {
		body["keep_alive"] = c.KeepAlive.String()
	}
	for _, name := range chatOptions {
		if v := req.ProviderOptions[name]; len(v) > 0 {
			body[name] = v
		}
	}
	if options := c.options(req); len(options) > 0 {
		body["options"] = options
	}
	if tools := encodeTools(req); len(tools) > 0 {
		body["tools"] = tools
	}
	switch f := req.ResponseFormat.(type) {
	case protocol.JSONFormat:
		body["format"] = "json"
	case protocol.SchemaFormat:
		body["format"] = f.Schema
	}
	raw, err := protocol.Marshal(body)
	if err != nil { // a schema or option that is no JSON, a temperature that is no number
		return nil, protocol.ErrInvalidRequest("it has a schema, an option or a temperature that is not JSON", 0).Because(err)
	}
	return raw, nil
}

// options are those of the model, from the weakest: of the configuration, by name, and what every request has.
func (c Config) options(req protocol.InferRequest) map[string]any {
	options := map[string]any{}
	maps.Copy(options, c.Options)
	for _, name := range modelOptions {
		if v := req.ProviderOptions[name]; len(v) > 0 {
			options[name] = v
		}
	}
	if req.MaxTokens != nil {
		options["num_predict"] = *req.MaxTokens
	}
	if req.Temperature != nil {
		options["temperature"] = *req.Temperature
	}
	return options
}

type tool struct {
	Type     string   `json:"type"`
	Function function `json:"function"`
}

type function struct {
	Name        string          `json:"name"`
	Description string          `json:"description,omitempty"`
	Parameters  json.RawMessage `json:"parameters"`
}

// noArguments is the schema of a tool without one.
var noArguments = json.RawMessage(`{"type":"object","properties":{}}`)

// encodeTools returns the tools that the choice leaves: there is no other way to tell it.
func encodeTools(req protocol.InferRequest) []tool {
	schemas := req.Tools
	if choice := req.ToolChoice; choice != nil {
		switch choice.Kind() {
		case protocol.ChoiceNone:
			return nil
		case protocol.ChoiceTool:
			schemas = slices.DeleteFunc(slices.Clone(schemas), func(s protocol.ToolSchema) bool { return s.Name != choice.Tool() })
		case protocol.ChoiceAuto, protocol.ChoiceAny:
		}
	}
	tools := make([]tool, len(schemas))
	for i, s := range schemas {
		tools[i] = tool{"function", function{s.Name, s.Description, s.InputSchema}}
		if len(s.InputSchema) == 0 {
			tools[i].Function.Parameters = noArguments
		}
	}
	return tools
}
