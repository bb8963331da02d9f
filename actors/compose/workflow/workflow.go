package workflow

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"runtime/debug"
	"strings"

	"github.com/skelegent/skelegent-go/actors/compose"
	"github.com/skelegent/skelegent-go/actors/step"
	"github.com/skelegent/skelegent-go/actors/tool"
	"github.com/skelegent/skelegent-go/protocol"
)

// Workflow makes an O of an I. Implementations are safe for concurrent use.
type Workflow[I, O any] interface {
	// Name returns the same each time. It is for errors and, in a durable run, for the steps of Parallel.
	Name() string
	// Run ends early when ctx does. The text of its error is told to whoever runs it, so it must be safe to show. In a
	// durable run it returns the errors by which a run unwinds; see step.Unwinding.
	Run(ctx context.Context, in I) (O, error)
}

// Func is a function as a workflow.
func Func[I, O any](name string, f func(ctx context.Context, in I) (O, error)) Workflow[I, O] {
	return function[I, O]{name, f}
}

type function[I, O any] struct {
	name string
	run  func(context.Context, I) (O, error)
}

// Name implements Workflow.
func (f function[I, O]) Name() string { return f.name }

// Run implements Workflow.
func (f function[I, O]) Run(ctx context.Context, in I) (O, error) { return f.run(ctx, in) }

// Then gives what first makes to second. An error names the one that failed.
func Then[A, B, C any](name string, first Workflow[A, B], second Workflow[B, C]) Workflow[A, C] {
	return Func(name, func(ctx context.Context, in A) (out C, err error) {
		between, err := run(ctx, first, in)
		if err != nil {
			return out, err
		}
		return run(ctx, second, between)
	})
}

// Sequence gives what each makes to the next, and returns what the last one makes; without any, the input. An error names
// the one that failed; those behind it are not run.
func Sequence[T any](name string, all ...Workflow[T, T]) Workflow[T, T] {
	return Func(name, func(ctx context.Context, v T) (T, error) {
		for _, w := range all {
			next, err := run(ctx, w, v)
			if err != nil {
				return *new(T), err
			}
			v = next
		}
		return v, nil
	})
}

// Branch runs the case that choose names, or otherwise where there is none of that name; nil is an error of kind
// compose.KindInvalidArgument. An error names the case that failed. In a durable run choose must choose the same each time.
func Branch[I, O any](
	name string, choose func(ctx context.Context, in I) (string, error), cases map[string]Workflow[I, O], otherwise Workflow[I, O],
) Workflow[I, O] {
	cases = maps.Clone(cases)
	return Func(name, func(ctx context.Context, in I) (out O, err error) {
		key, err := contained(func() (string, error) { return choose(ctx, in) })
		if err != nil {
			return out, named(ctx, name, err)
		}
		w := cases[key]
		if w == nil {
			w = otherwise
		}
		if w == nil {
			return out, compose.ErrInvalidArgument(short(name) + " has no case for what was chosen")
		}
		return run(ctx, w, in)
	})
}

// run runs one workflow of others.
func run[I, O any](ctx context.Context, w Workflow[I, O], in I) (out O, err error) {
	if w == nil {
		return out, compose.ErrInvalidArgument("a workflow that is nil")
	}
	if err := ctx.Err(); err != nil {
		return out, protocol.AsError(err)
	}
	name := w.Name()
	if out, err = contained(func() (O, error) { return w.Run(ctx, in) }); err != nil {
		return *new(O), named(ctx, name, err)
	}
	return out, nil
}

// contained calls f. A panic in it is an error whose text says nothing of the value.
func contained[O any](f func() (O, error)) (out O, err error) {
	defer func() {
		if v := recover(); v != nil {
			out, err = *new(O), protocol.NewError(protocol.CodeInternal, "it crashed, which is a defect of it").
				Because(&tool.PanicError{Value: v, Stack: debug.Stack()})
		}
	}()
	return f()
}

// detail is the key of the innermost workflow that failed among the details of an error.
const detail = "workflow"

// named is err with the name of the workflow that failed. Code, kind, hints and details stay; and that a run unwinds or ctx
// ended is nobody's failure.
func named(ctx context.Context, name string, err error) error {
	if end := ctx.Err(); end != nil && (errors.Is(err, end) || protocol.CodeOf(err) == protocol.CodeOf(end)) ||
		step.Unwinding(err) {
		return err
	}
	var e *protocol.Error
	switch {
	case errors.As(err, &e) && e != nil, errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		e = protocol.AsError(err)
	default:
		e = protocol.NewError(protocol.CodeToolError, err.Error())
	}
	out := e.Because(err)
	out.Message = fmt.Sprintf("workflow %s: %s", short(name), e.Message)
	if _, inner := out.Details[detail]; !inner {
		out = out.With(detail, short(name))
	}
	return out.Clip()
}

// short is a name for an error's text.
func short(name string) string {
	const most = 80
	if len(name) > most {
		name = name[:most] + "..."
	}
	return strings.ToValidUTF8(name, "")
}
