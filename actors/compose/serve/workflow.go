package serve

import (
	"context"
	"encoding/json"
	"math"
	"time"

	"github.com/skelegent/skelegent-go/actors/compose"
	"github.com/skelegent/skelegent-go/actors/compose/workflow"
	"github.com/skelegent/skelegent-go/actors/step"
	"github.com/skelegent/skelegent-go/actors/tool"
	"github.com/skelegent/skelegent-go/protocol"
)

// Workflow is a workflow as an operator: the message is the input as JSON, or a text where I is a string; the answer is the
// output, in the same way. Where the workflow takes steps of package step, or asks an Operator, a durable run repeats none. What
// its Operators cost is the operator's cost. Of a durable run the output tells no sub-dispatches, and calls of unknown price only
// as far as they were made since it went on: the log has both.
func Workflow[I, O any](w workflow.Workflow[I, O]) protocol.Operator {
	return protocol.OperatorFunc(func(ctx context.Context, in protocol.OperatorInput) (protocol.OperatorOutput, error) {
		text, ok := in.Message.AsText()
		if !ok {
			return protocol.OperatorOutput{}, compose.ErrInvalidArgument("the message must be a text")
		}
		var input I
		if err := read(text, &input); err != nil {
			return protocol.OperatorOutput{}, err
		}
		start, all := time.Now(), newWork(ctx, in, math.MaxInt)
		all.whole = true // of a branch that was over before the log has no more than what came out
		next := protocol.NextCall(ctx)
		next.Budget = all.left()
		out, err := w.Run(context.WithValue(protocol.WithCall(ctx, next), workKey{}, all), input)
		if err != nil {
			return protocol.OperatorOutput{}, failed(ctx, err)
		}
		answer, err := write(out)
		if err != nil {
			return protocol.OperatorOutput{}, err
		}
		o := all.output(tool.Result{Output: json.RawMessage(answer)}, time.Since(start))
		if all.log && all.info.Spent != nil { // what branches came to that were over before is in the log alone
			o.Metadata.Cost, o.Metadata.SubDispatches = all.info.Spent(), nil
		}
		return o, nil
	})
}

func read[T any](text string, v *T) error {
	if s, ok := any(v).(*string); ok {
		*s = text
		return nil
	}
	if err := json.Unmarshal([]byte(text), v); err != nil {
		return compose.ErrSerialization(err)
	}
	return nil
}

func write[T any](v T) (string, error) {
	if s, ok := any(v).(string); ok {
		return s, nil
	}
	raw, err := protocol.Marshal(v)
	if err != nil {
		return "", compose.ErrSerialization(err)
	}
	return string(raw), nil
}

type workKey struct{}

// Operator is an operator of any node as a workflow: a string is its message as it is, any other input as JSON, and the text of
// its answer is read in the same way. What it declares is performed by the node that runs it. An answer that is not complete
// is an error with the code tool_error; errors of the dispatch keep their codes.
//
// In a durable run it is a step, step.Call, and d is not used.
func Operator[I, O any](d protocol.Dispatcher, id protocol.OperatorID) workflow.Workflow[I, O] {
	return workflow.Func(string(id), func(ctx context.Context, in I) (O, error) {
		var out O
		message, err := write(in)
		if err != nil {
			return out, err
		}
		got, err := dispatch(ctx, d, id, protocol.OperatorInput{Message: protocol.TextContent(message), Trigger: protocol.TriggerTask})
		if err != nil {
			return out, err
		}
		if got.ExitReason.Kind() != protocol.ExitComplete {
			return out, compose.ErrToolFailed(string(id) + " ended with " + got.ExitReason.String())
		}
		text, ok := got.Message.AsText()
		if !ok {
			return out, compose.ErrToolFailed(string(id) + " does not answer with a text")
		}
		err = read(text, &out)
		return out, err
	})
}

// dispatch dispatches with what is left of the money, and counts what it cost.
func dispatch(ctx context.Context, d protocol.Dispatcher, id protocol.OperatorID, in protocol.OperatorInput) (protocol.OperatorOutput, error) {
	budget := protocol.NextCall(ctx).Budget
	all, _ := ctx.Value(workKey{}).(*work)
	if all != nil {
		if _, _, err := all.begin(); err != nil {
			return protocol.OperatorOutput{}, err
		}
		left, release := all.reserve(budget) // who runs workflows beside each other divides
		defer release()
		budget = left
	}
	start := time.Now()
	var out protocol.OperatorOutput
	var err error
	if _, durable := step.InfoFrom(ctx); durable {
		var opts []step.CallOption
		if budget != nil {
			opts = append(opts, step.Budget(*budget))
		}
		out, err = step.Call(ctx, string(id), id, in, opts...)
	} else {
		next := protocol.NextCall(ctx)
		next.Budget = budget
		out, err = d.Dispatch(protocol.WithCall(ctx, next), id, in)
	}
	if all != nil {
		cost := out.Metadata.Cost
		all.end(string(id), tool.Result{Cost: &cost, UnpricedCalls: out.Metadata.UnpricedCalls}, err == nil, time.Since(start))
	}
	return out, err
}
