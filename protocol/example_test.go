package protocol_test

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/skelegent/skelegent-go/protocol"
)

// An operator is a function from an input to an output. It declares effects and performs none.
func Example() {
	upper := protocol.OperatorFunc(func(_ context.Context, in protocol.OperatorInput) (protocol.OperatorOutput, error) {
		text, ok := in.Message.AsText()
		if !ok {
			return protocol.OperatorOutput{}, protocol.NewError(protocol.CodeInvalidInput, "a text, please")
		}
		out := protocol.Reply(strings.ToUpper(text))
		out.Effects = protocol.Effects{protocol.DeleteMemory{Scope: protocol.GlobalScope(), Key: "draft"}}
		return out, nil
	})

	out, err := upper.Execute(context.Background(), protocol.Text("fix the build"))
	if err != nil {
		fmt.Println(err)
		return
	}
	wire, err := protocol.Marshal(out.Effects)
	text, _ := out.Message.AsText()
	fmt.Println(text, out.ExitReason, string(wire), err)
	// Output: FIX THE BUILD complete [{"type":"delete_memory","scope":"global","key":"draft"}] <nil>
}

// What cannot be read names the field.
func ExampleUnmarshal() {
	var in protocol.OperatorInput
	err := protocol.Unmarshal([]byte(`{"message":"hi","config":{"max_turns":-1}}`), &in)
	fmt.Println(err)
	fmt.Println(errors.Is(err, &protocol.Error{Code: protocol.CodeInvalidInput}))
	// Output:
	// invalid input: field config.max_turns: expected a whole number from 0 to 4294967295, got -1
	// true
}

// A guard refuses; an observer sees the refusal too.
func ExampleNewDispatchStack() {
	echo := protocol.DispatcherFunc(func(_ context.Context, _ protocol.OperatorID, in protocol.OperatorInput) (protocol.OperatorOutput, error) {
		return protocol.OperatorOutput{Message: in.Message}, nil
	})
	deny := protocol.DispatchMiddlewareFunc(func(ctx context.Context, op protocol.OperatorID, in protocol.OperatorInput, next protocol.DispatchNext) (protocol.OperatorOutput, error) {
		if op == "shell" {
			return protocol.OperatorOutput{}, protocol.ErrPolicyDenied("no shell here")
		}
		return next(ctx, op, in)
	})
	log := protocol.DispatchMiddlewareFunc(func(ctx context.Context, op protocol.OperatorID, in protocol.OperatorInput, next protocol.DispatchNext) (protocol.OperatorOutput, error) {
		out, err := next(ctx, op, in)
		fmt.Println(op, err)
		return out, err
	})

	d := protocol.NewDispatchStack().Guard(deny).Observe(log).Build().Wrap(echo)
	_, _ = d.Dispatch(context.Background(), "echo", protocol.Text("hi"))
	_, _ = d.Dispatch(context.Background(), "shell", protocol.Text("ls"))
	// Output:
	// echo <nil>
	// shell policy denied: no shell here
}
