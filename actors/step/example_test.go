package step_test

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/skelegent/skelegent-go/actors/run"
	"github.com/skelegent/skelegent-go/actors/step"
	"github.com/skelegent/skelegent-go/actors/step/steptest"
	"github.com/skelegent/skelegent-go/protocol"
)

// A durable operator without a model, run by a test.
func Example() {
	onboard := protocol.OperatorFunc(func(ctx context.Context, in protocol.OperatorInput) (protocol.OperatorOutput, error) {
		user, err := step.Do(ctx, "create user", func(context.Context) (string, error) { // runs once, recorded
			name, _ := in.Message.AsText()
			fmt.Println("create", name)
			return name, nil
		})
		if err != nil {
			return protocol.OperatorOutput{}, err
		}
		if err := step.Sleep(ctx, 72*time.Hour); err != nil { // holds nothing
			return protocol.OperatorOutput{}, err
		}
		answer, err := step.Await[string](ctx, "manager approval", step.Deadline(24*time.Hour)) // a signal, or expired
		if errors.Is(err, step.ErrExpired) {
			answer, err = "nobody objected", nil
		}
		if err != nil {
			return protocol.OperatorOutput{}, err
		}
		return protocol.Reply(user + ": " + answer), nil
	})

	r := steptest.New(steptest.Config{})
	r.Input(protocol.Text("ann"), run.Enqueue)
	ctx := context.Background()
	_, err := r.Execute(ctx, onboard)
	fmt.Println(err)
	r.Fire()
	_, err = r.Execute(ctx, onboard)
	fmt.Println(err)
	r.Signal("manager approval", "welcome")
	out, err := r.Execute(ctx, onboard)
	text, _ := out.Message.AsText()
	fmt.Println(text, err)
	// Output:
	// create ann
	// the run is suspended: timer
	// the run is suspended: external_input
	// ann: welcome <nil>
}
