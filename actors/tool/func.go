package tool

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/skelegent/skelegent-go/actors/step"
	"github.com/skelegent/skelegent-go/protocol"
)

// Func is a Go function as a tool. The schema of its input follows from In, a struct whose fields are named by their json
// tags and described by their jsonschema tags; fields without omitempty or omitzero are required, others not, and
// unknown ones are refused. fn sees only input that fits. What it returns is shown to the model as JSON, a string as
// it is. Its errors and panics are told to the model; see Tool.Call.
//
// It panics if In has no schema: at start, not when it is called.
func Func[In, Out any](name, description string, fn func(ctx context.Context, in In) (Out, error), opts ...Option) Tool {
	return typed(name, description, func(ctx context.Context, in In) (Result, error) {
		out, err := fn(ctx, in)
		if err != nil {
			return Result{}, err
		}
		return result(out, nil)
	}, opts...)
}

// Effect is a tool that does nothing itself but declares what is to be done. It is repeatable and otherwise like Func.
// The effects are performed only after the run has declared them, so what fn returns for the model must not claim more.
func Effect[In, Out any](
	name, description string, fn func(ctx context.Context, in In) (Out, protocol.Effects, error), opts ...Option,
) Tool {
	return typed(name, description, func(ctx context.Context, in In) (Result, error) {
		out, effects, err := fn(ctx, in)
		if err != nil {
			return Result{}, err
		}
		return result(out, effects)
	}, append([]Option{Repeatable()}, opts...)...)
}

// Raw is a tool with a schema that comes from elsewhere; none is any object. Input that does not fit never reaches fn.
// The error says that the schema cannot be used: references are taken only within it (#/$defs/x), and neither those by which it
// leads to itself at the same value, nor ten thousand schemas for one.
func Raw(
	meta protocol.ToolMetadata, fn func(ctx context.Context, input json.RawMessage) (Result, error), opts ...Option,
) (Tool, error) {
	if len(meta.InputSchema) == 0 {
		meta.InputSchema = json.RawMessage(`{"type":"object","properties":{}}`)
	}
	schema, err := parseSchema(meta.InputSchema)
	if err != nil {
		return nil, protocol.NewError(protocol.CodeInvalidInput,
			fmt.Sprintf("tool %s: input schema: %v", meta.Name, err)).Because(err)
	}
	return newFunction(meta, schema, fn, opts), nil
}

func result(out any, effects protocol.Effects) (Result, error) {
	raw, err := protocol.Marshal(out)
	if err != nil {
		return Result{}, protocol.ErrToolFailed("the result is not JSON").Because(err)
	}
	return Result{Output: raw, Effects: effects}, nil
}

func typed[In any](name, description string, fn func(context.Context, In) (Result, error), opts ...Option) Tool {
	raw, schema, err := schemaOf[In]()
	if err != nil {
		panic(fmt.Sprintf("tool %s: input schema: %v", name, err))
	}
	meta := protocol.ToolMetadata{Name: name, Description: description, InputSchema: raw}
	return newFunction(meta, schema, func(ctx context.Context, input json.RawMessage) (Result, error) {
		var in In
		if err := decode(input, &in); err != nil {
			return Result{}, err
		}
		return fn(ctx, in)
	}, opts)
}

// function is every tool of this package but aliases.
type function struct {
	options
	meta   protocol.ToolMetadata
	schema *jsonschema.Resolved
	fn     func(context.Context, json.RawMessage) (Result, error)
}

func newFunction(
	meta protocol.ToolMetadata, schema *jsonschema.Resolved,
	fn func(context.Context, json.RawMessage) (Result, error), opts []Option,
) *function {
	f := &function{meta: meta, schema: schema, fn: fn}
	for _, o := range opts {
		o(&f.options)
	}
	f.meta.ParallelSafe = f.meta.ParallelSafe || f.parallel
	return f
}

// Metadata implements Tool.
func (f *function) Metadata() protocol.ToolMetadata { return f.meta }

// errTimeout tells the tool's own time limit from those above it.
var errTimeout = errors.New("tool timed out")

// Call implements Tool.
func (f *function) Call(ctx context.Context, input json.RawMessage) (res Result, err error) {
	defer func() {
		if v := recover(); v != nil {
			res, err = Result{}, panicked(v)
		}
	}()
	input = inputOrEmpty(input)
	if err := check(f.schema, input); err != nil {
		return Result{}, err
	}
	if f.timeout <= 0 {
		return f.fn(ctx, input)
	}
	ctx, cancel := context.WithTimeoutCause(ctx, f.timeout, errTimeout)
	defer cancel()
	res, err = f.fn(ctx, input)
	if err != nil && errors.Is(context.Cause(ctx), errTimeout) && !step.Unwinding(err) {
		e := protocol.ErrToolFailed(fmt.Sprintf("timed out after %v", f.timeout)).Because(err)
		e.Code = protocol.CodeTimeout
		return res, e
	}
	return res, err
}
