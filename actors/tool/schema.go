package tool

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"reflect"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/skelegent/skelegent-go/protocol"
)

const object = "object"

// wireTypes are the schemas of types whose JSON is not what their Go kind says. A description keeps them from being
// written as true, which some providers do not take.
var wireTypes = map[reflect.Type]*jsonschema.Schema{
	reflect.TypeFor[json.RawMessage]():  {Description: "any JSON value"},
	reflect.TypeFor[any]():              {Description: "any JSON value"},
	reflect.TypeFor[protocol.Decimal](): {Type: "string", Description: "a decimal number"},
}

// schemaOf derives the schema of In.
func schemaOf[In any]() (json.RawMessage, *jsonschema.Resolved, error) {
	s, err := jsonschema.For[In](&jsonschema.ForOptions{TypeSchemas: wireTypes})
	if err != nil {
		return nil, nil, err
	}
	if s.Type != object {
		return nil, nil, errors.New("the input must be a struct or a map")
	}
	if s.Properties == nil { // some providers refuse an object without them
		s.Properties = map[string]*jsonschema.Schema{}
	}
	raw, err := protocol.Marshal(s)
	if err != nil {
		return nil, nil, err
	}
	resolved, err := s.Resolve(nil)
	return raw, resolved, err
}

// parseSchema reads a schema. Draft 7 is known; anything else is read as draft 2020-12.
func parseSchema(raw json.RawMessage) (*jsonschema.Resolved, error) {
	if err := sound(raw); err != nil {
		return nil, err
	}
	var s jsonschema.Schema
	if err := json.Unmarshal(raw, &s); err != nil {
		return nil, err
	}
	if s.Type != object {
		return nil, errors.New(`must have "type":"object"`)
	}
	if !strings.Contains(s.Schema, "draft-07") {
		s.Schema = ""
	}
	return s.Resolve(nil)
}

// check returns a protocol.ErrToolInput unless input fits the schema.
func check(schema *jsonschema.Resolved, input json.RawMessage) error {
	var v any
	if err := json.Unmarshal(input, &v); err != nil {
		return badInput("not valid JSON: " + err.Error())
	}
	if err := schema.Validate(v); err != nil {
		return badInput(strings.TrimPrefix(err.Error(), "validating root: "))
	}
	return nil
}

// decode reads input, which fits the schema of its type, into v.
func decode(input json.RawMessage, v any) error {
	d := json.NewDecoder(bytes.NewReader(input))
	d.DisallowUnknownFields()
	err := d.Decode(v)
	if err == nil {
		if _, err := d.Token(); !errors.Is(err, io.EOF) {
			return badInput("more than one JSON value")
		}
		return nil
	}
	var mismatch *json.UnmarshalTypeError
	if errors.As(err, &mismatch) {
		return badInput(fmt.Sprintf("field %s: %s does not fit %s", mismatch.Field, mismatch.Value, mismatch.Type))
	}
	return badInput(strings.TrimPrefix(err.Error(), "invalid input: "))
}

// maxComplaint bounds what is said of an input, since it may quote it.
const maxComplaint = 1 << 10

func badInput(text string) *protocol.Error { return protocol.ErrToolInput(Cut(text, maxComplaint)) }
