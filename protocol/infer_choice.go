package protocol

import "encoding/json"

// ToolChoiceKind is the name of a ToolChoice.
type ToolChoiceKind string

// The choices.
const (
	ChoiceAuto ToolChoiceKind = "auto" // the model decides
	ChoiceAny  ToolChoiceKind = "any"  // it must call some tool
	ChoiceTool ToolChoiceKind = "tool" // it must call a certain one
	ChoiceNone ToolChoiceKind = "none" // it must not call any
)

// ToolChoice says whether a model may, must or must not call tools. It is comparable; the zero value is auto.
type ToolChoice struct {
	kind ToolChoiceKind
	name string
}

// ChooseTools is a choice without more to say: ChoiceAuto, ChoiceAny or ChoiceNone.
func ChooseTools(kind ToolChoiceKind) ToolChoice { return ToolChoice{kind: kind} }

// ChooseTool makes the model call the tool name.
func ChooseTool(name string) ToolChoice { return ToolChoice{kind: ChoiceTool, name: name} }

// Kind returns which choice it is.
func (c ToolChoice) Kind() ToolChoiceKind {
	if c.kind == "" {
		return ChoiceAuto
	}
	return c.kind
}

// Tool returns the name of the tool that must be called, empty unless the kind is ChoiceTool.
func (c ToolChoice) Tool() string { return c.name }

type choiceJSON struct {
	Type ToolChoiceKind `json:"type" wire:"required"`
	Name *string        `json:"name,omitempty"`
}

// MarshalJSON writes the choice with its type.
func (c ToolChoice) MarshalJSON() ([]byte, error) {
	j := choiceJSON{Type: c.Kind()}
	if j.Type == ChoiceTool {
		j.Name = &c.name
	}
	return Marshal(j)
}

// UnmarshalJSON reads every form.
func (c *ToolChoice) UnmarshalJSON(raw []byte) error {
	var j choiceJSON
	if err := decodeStruct(raw, &j); err != nil {
		return err
	}
	switch j.Type {
	case ChoiceAuto, ChoiceAny, ChoiceNone:
		*c = ChooseTools(j.Type)
	case ChoiceTool:
		if j.Name == nil {
			return at("name", errRequired)
		}
		*c = ChooseTool(*j.Name)
	default:
		return at("type", unknownVariant(string(j.Type), stringsOf([]ToolChoiceKind{ChoiceAuto, ChoiceAny, ChoiceTool, ChoiceNone})...))
	}
	return nil
}

// ResponseFormat says what form an answer must have. The variants are TextFormat, JSONFormat and SchemaFormat.
type ResponseFormat interface{ responseFormat() }

// DecodeResponseFormat reads a format. What does not fit is an *Error with code invalid_input.
func DecodeResponseFormat(data []byte) (ResponseFormat, error) {
	var f ResponseFormat
	err := Unmarshal(data, &f)
	return f, err
}

// TextFormat is any text.
type TextFormat struct{}

// JSONFormat is any JSON.
type JSONFormat struct{}

// SchemaFormat is JSON after a schema.
type SchemaFormat struct {
	Name   string          `json:"name" wire:"required"`
	Schema json.RawMessage `json:"schema" wire:"required"`
	Strict bool            `json:"strict" wire:"required"`
}

func (TextFormat) responseFormat()   {}
func (JSONFormat) responseFormat()   {}
func (SchemaFormat) responseFormat() {}

var _ = newUnion(
	variant[ResponseFormat]{"text", TextFormat{}},
	variant[ResponseFormat]{"json", JSONFormat{}},
	variant[ResponseFormat]{"json_schema", SchemaFormat{}},
)

// MarshalJSON writes the format with its type.
func (TextFormat) MarshalJSON() ([]byte, error) { return marshalTagged("text", struct{}{}) }

// MarshalJSON writes the format with its type.
func (JSONFormat) MarshalJSON() ([]byte, error) { return marshalTagged("json", struct{}{}) }

// MarshalJSON writes the format with its type.
func (f SchemaFormat) MarshalJSON() ([]byte, error) {
	type plain SchemaFormat
	return marshalTagged("json_schema", plain(f))
}
