package agent

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/skelegent/skelegent-go/actors/engine"
	"github.com/skelegent/skelegent-go/actors/tool"
	"github.com/skelegent/skelegent-go/protocol"
)

// OutputMode is how a model gives a structured output.
type OutputMode string

// The modes.
const (
	// OutputTool has the model call a tool with the result; it is the mode if none is named.
	OutputTool OutputMode = "tool_call"
	// OutputText reads the result from the model's text: its first fenced block if it has one, else all of it.
	OutputText OutputMode = "text_json"
)

// Defaults of Output.
const (
	DefaultOutputTool    = "return_result"
	DefaultOutputRetries = 3
)

// Output is what the last answer of a run has to be: JSON after a schema. The message of the output is that JSON as a text. Other
// tools can be used on the way.
//
// An answer that does not fit is answered with what is wrong; after that many times the run ends as interceptor_halt with the
// reason, as it does where the model stops without a result.
type Output struct {
	// Schema is a JSON schema; any JSON if empty. Of a Go type: OutputOf.
	Schema json.RawMessage
	Mode   OutputMode
	// MaxRetries is how often the model may try again; DefaultOutputRetries if 0, never if negative.
	MaxRetries int
	// Name and Description are the tool's; DefaultOutputTool if empty. The tool's input has the result as its member result.
	Name, Description string
	// Native, with OutputText, also tells the provider the schema, where it can hold the model to one.
	Native bool
	// Check, if not nil, looks at a result that fits the schema. The model is told its error.
	Check func(result json.RawMessage) error
}

// OutputOf is an Output after the schema of T; see tool.Func for how that follows from a struct. It panics if T has none.
func OutputOf[T any]() *Output {
	s, err := jsonschema.For[T](nil)
	if err != nil {
		panic(fmt.Sprintf("output %T: schema: %v", *new(T), err))
	}
	raw, err := protocol.Marshal(s)
	if err != nil {
		panic(fmt.Sprintf("output %T: schema: %v", *new(T), err))
	}
	return &Output{Schema: raw}
}

// ResultOf reads the result of a run that had to give one. The error is model_error where the run did not complete.
func ResultOf[T any](out protocol.OperatorOutput) (T, error) {
	var v T
	if out.ExitReason.Kind() != protocol.ExitComplete {
		return v, protocol.NewError(protocol.CodeModelError, "there is no result: the run ended with "+out.ExitReason.String())
	}
	text, _ := out.Message.AsText()
	if err := json.Unmarshal([]byte(text), &v); err != nil {
		return v, protocol.NewError(protocol.CodeModelError, "the result cannot be read: "+err.Error()).Because(err)
	}
	return v, nil
}

// output is an Output made ready.
type output struct {
	Output

	schema *jsonschema.Resolved
	tool   protocol.ToolSchema
}

func newOutput(o Output) (*output, error) {
	if o.Mode == "" {
		o.Mode = OutputTool
	}
	if o.Mode != OutputTool && o.Mode != OutputText {
		return nil, fmt.Errorf("output: mode %.100q is not one of %s, %s", o.Mode, OutputTool, OutputText)
	}
	if o.Name == "" {
		o.Name = DefaultOutputTool
	}
	if o.Description == "" {
		o.Description = "Call this with the final result, once, when you have it."
	}
	switch {
	case o.MaxRetries == 0:
		o.MaxRetries = DefaultOutputRetries
	case o.MaxRetries < 0:
		o.MaxRetries = 0
	}
	if len(o.Schema) == 0 {
		o.Schema = json.RawMessage(`{}`)
	}
	if err := tool.CheckSchema(o.Schema); err != nil {
		return nil, fmt.Errorf("output: schema: %w", err)
	}
	var s jsonschema.Schema
	if err := json.Unmarshal(o.Schema, &s); err != nil {
		return nil, fmt.Errorf("output: schema: %w", err)
	}
	resolved, err := s.Resolve(nil)
	if err != nil {
		return nil, fmt.Errorf("output: schema: %w", err)
	}
	input, err := protocol.Marshal(map[string]any{
		"type": "object", "properties": map[string]json.RawMessage{"result": o.Schema}, "required": []string{"result"},
	})
	if err != nil {
		return nil, fmt.Errorf("output: schema: %w", err)
	}
	return &output{
		Output: o, schema: resolved, tool: protocol.ToolSchema{Name: o.Name, Description: o.Description, InputSchema: input},
	}, nil
}

// offer returns the tools that a model is told of; the output's is the last.
func (o *output) offer(schemas []protocol.ToolSchema) []protocol.ToolSchema {
	if o == nil || o.Mode != OutputTool {
		return schemas
	}
	return append(schemas, o.tool)
}

func (o *output) format() protocol.ResponseFormat {
	if o == nil || o.Mode != OutputText || !o.Native {
		return nil
	}
	return protocol.SchemaFormat{Name: o.Name, Schema: o.Schema, Strict: false}
}

// validate returns what is wrong with a result.
func (o *output) validate(result json.RawMessage) error {
	var v any
	if err := json.Unmarshal(result, &v); err != nil {
		return fmt.Errorf("JSON parse error: %w", err)
	}
	if err := o.schema.Validate(v); err != nil {
		return errors.New(strings.TrimPrefix(err.Error(), "validating root: "))
	}
	if o.Check != nil {
		return o.Check(result)
	}
	return nil
}

// resultIn reads the result from a call of the output's tool.
func (o *output) resultIn(c protocol.ToolCall) (json.RawMessage, error) {
	var in struct {
		Result json.RawMessage `json:"result"`
	}
	if err := json.Unmarshal(c.Input, &in); err != nil || in.Result == nil {
		return nil, errors.New("missing 'result' field in tool call input")
	}
	return in.Result, o.validate(in.Result)
}

// results reads the first result that fits from the calls of an answer. If none does, preset is what each call of the output's tool
// comes to, and wrong what is wrong with the last; that is nil where there is none.
func (o *output) results(calls []protocol.ToolCall) (result json.RawMessage, preset []*engine.ToolCall, wrong error) {
	preset = make([]*engine.ToolCall, len(calls))
	for i, c := range calls {
		if c.Name != o.Name {
			continue
		}
		result, err := o.resultIn(c)
		if err == nil {
			return result, nil, nil
		}
		wrong, preset[i] = err, &engine.ToolCall{Call: c}
		preset[i].Skip("Validation error: "+clipped(err), true)
	}
	return nil, preset, wrong
}

const noOutput = "model completed without producing structured output"

// produce deals with an answer where the run has to end with a structured output. Calls beside one that gives the result are not
// made.
func (r *run) produce(ctx context.Context, resp protocol.InferResponse, said *protocol.Content) *stop {
	o := r.output
	calls := resp.ToolCalls
	if o.Mode == OutputTool {
		result, preset, wrong := o.results(calls)
		switch {
		case result != nil:
			return r.finish(ctx, resp, produced(result), said)
		case wrong != nil:
			if end := r.check(ctx, r.again(wrong)); end != nil {
				return end
			}
			return r.useTools(ctx, calls, said, preset...)
		}
	}
	switch {
	case len(calls) > 0 && !r.single:
		return r.finish(ctx, resp, nil, said)
	case resp.StopReason == protocol.StopMaxTokens:
		return r.finish(ctx, resp, &stop{exit: ExitTruncated, message: said}, said)
	}
	text, _ := said.AsText()
	if o.Mode == OutputTool || strings.TrimSpace(text) == "" {
		return r.finish(ctx, resp, &stop{exit: protocol.InterceptorHalt(noOutput), message: said}, said)
	}
	if block, ok := engine.Fenced(text); ok {
		text = block
	}
	result := json.RawMessage(text)
	err := o.validate(result)
	if err == nil {
		return r.finish(ctx, resp, produced(result), said)
	}
	if end := r.check(ctx, r.again(err)); end != nil {
		return end
	}
	return r.do(ctx, engine.InjectMessages{Messages: []protocol.Message{
		protocol.NewMessage(protocol.RoleUser, protocol.TextContent("Validation error: "+clipped(err))),
	}})
}

// again counts a result that does not fit, and returns how the run stops if the model may not try again.
func (r *run) again(err error) *stop {
	if r.single || int(r.retries) >= r.output.MaxRetries {
		return &stop{exit: protocol.InterceptorHalt(failedOutput(int(r.retries), err))}
	}
	r.retries++
	return nil
}

func failedOutput(retries int, err error) string {
	return fmt.Sprintf("structured output validation failed after %d retries: %s", retries, clipped(err))
}

// maxComplaint bounds what is said of a result, since it may quote it.
const maxComplaint = 1 << 10

func clipped(err error) string {
	text := err.Error()
	if len(text) > maxComplaint {
		text = strings.ToValidUTF8(text[:maxComplaint], "") + "..."
	}
	return text
}

func produced(result json.RawMessage) *stop {
	text := protocol.TextContent(strings.TrimSpace(string(result)))
	return &stop{exit: protocol.Exit(protocol.ExitComplete), message: &text}
}
