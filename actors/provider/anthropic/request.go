package anthropic

import (
	"encoding/json"

	sdk "github.com/anthropics/anthropic-sdk-go"
	"github.com/anthropics/anthropic-sdk-go/packages/param"

	"github.com/skelegent/skelegent-go/protocol"
)

// passed are the provider options that are sent as they are.
var passed = []string{"thinking", "top_p", "top_k", "stop_sequences", "service_tier"}

// encode returns the body of the request, whose model and limit are set. Its error is an *Error of the kind invalid
// request.
func encode(req protocol.InferRequest, stream, cache bool) ([]byte, error) {
	c, err := converse(req)
	if err != nil {
		return nil, err
	}
	params := sdk.MessageNewParams{
		Model: req.Model, MaxTokens: int64(*req.MaxTokens), System: c.system, Messages: c.messages,
		OutputConfig: outputConfig(req),
	}
	if req.Temperature != nil {
		params.Temperature = sdk.Float(*req.Temperature)
	}
	if len(req.Tools) > 0 {
		params.Tools = encodeTools(req.Tools)
		if req.ToolChoice != nil {
			params.ToolChoice = encodeChoice(*req.ToolChoice)
		}
	}
	var metadata struct {
		UserID string `json:"user_id"`
	}
	if json.Unmarshal(req.ProviderOptions["metadata"], &metadata) == nil && metadata.UserID != "" {
		params.Metadata.UserID = sdk.String(metadata.UserID)
	}
	mark(&params, cache)
	params.SetExtraFields(extras(req, stream))
	raw, err := params.MarshalJSON()
	if err != nil { // a schema or option that is no JSON, a temperature that is no number
		return nil, protocol.ErrInvalidRequest("it has a schema, an option, a block or a temperature that is not JSON", 0).Because(err)
	}
	return raw, nil
}

// extras are the fields that the library takes as they are.
func extras(req protocol.InferRequest, stream bool) map[string]any {
	fields := map[string]any{}
	for _, name := range passed {
		if v := req.ProviderOptions[name]; len(v) > 0 && string(v) != "null" {
			fields[name] = v
		}
	}
	if stream {
		fields["stream"] = true
	}
	return fields
}

// outputConfig holds the model to a schema only if that is strict: the protocol takes but a part of what a schema can say.
func outputConfig(req protocol.InferRequest) sdk.OutputConfigParam {
	var config struct {
		Effort string `json:"effort"`
	}
	var out sdk.OutputConfigParam
	if json.Unmarshal(req.ProviderOptions["output_config"], &config) == nil {
		out.Effort = sdk.OutputConfigEffort(config.Effort)
	}
	if f, ok := req.ResponseFormat.(protocol.SchemaFormat); ok && f.Strict {
		out.Format.SetExtraFields(map[string]any{"schema": f.Schema})
	}
	return out
}

// noArguments is the schema of a tool without one.
var noArguments = json.RawMessage(`{"type":"object","properties":{}}`)

func encodeTools(schemas []protocol.ToolSchema) []sdk.ToolUnionParam {
	tools := make([]sdk.ToolUnionParam, len(schemas))
	for i, s := range schemas {
		t := &sdk.ToolParam{
			Name: s.Name, InputSchema: param.Override[sdk.ToolInputSchemaParam](inputSchema(s.InputSchema)),
		}
		if s.Description != "" {
			t.Description = sdk.String(s.Description)
		}
		var extra struct {
			Strict       bool `json:"strict"`
			CacheControl *struct {
				TTL sdk.CacheControlEphemeralTTL `json:"ttl"`
			} `json:"cache_control"`
		}
		if json.Unmarshal(s.Extra, &extra) == nil {
			if extra.Strict {
				t.Strict = sdk.Bool(true)
			}
			if extra.CacheControl != nil {
				t.CacheControl = sdk.NewCacheControlEphemeralParam()
				t.CacheControl.TTL = extra.CacheControl.TTL
			}
		}
		tools[i] = sdk.ToolUnionParam{OfTool: t}
	}
	return tools
}

// inputSchema names the type where a schema does not, since the protocol wants to read it.
func inputSchema(schema json.RawMessage) json.RawMessage {
	var fields map[string]json.RawMessage
	if len(schema) == 0 {
		return noArguments
	}
	if json.Unmarshal(schema, &fields) != nil || fields == nil || fields["type"] != nil {
		return schema
	}
	fields["type"] = json.RawMessage(`"object"`)
	raw, err := protocol.Marshal(fields)
	if err != nil { // what was just read can be written
		return schema
	}
	return raw
}

func encodeChoice(c protocol.ToolChoice) sdk.ToolChoiceUnionParam {
	switch c.Kind() {
	case protocol.ChoiceAny:
		return sdk.ToolChoiceUnionParam{OfAny: &sdk.ToolChoiceAnyParam{}}
	case protocol.ChoiceNone:
		none := sdk.NewToolChoiceNoneParam()
		return sdk.ToolChoiceUnionParam{OfNone: &none}
	case protocol.ChoiceTool:
		return sdk.ToolChoiceParamOfTool(c.Tool())
	case protocol.ChoiceAuto:
	}
	return sdk.ToolChoiceUnionParam{OfAuto: &sdk.ToolChoiceAutoParam{}}
}
