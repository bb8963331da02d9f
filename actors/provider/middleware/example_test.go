package middleware_test

import (
	"context"
	"fmt"
	"time"

	"github.com/skelegent/skelegent-go/actors/provider/middleware"
	"github.com/skelegent/skelegent-go/actors/provider/scripted"
	"github.com/skelegent/skelegent-go/protocol"
)

func Example() {
	watch := middleware.InferFunc(func(
		ctx context.Context, req protocol.InferRequest, sink func(protocol.StreamEvent), next middleware.Next,
	) (protocol.InferResponse, error) {
		resp, err := next(ctx, req, sink)
		fmt.Println("watched:", err)
		return resp, err
	})
	p := middleware.NewStack().
		Guard(middleware.MaxInput(20)).
		Transform(middleware.Timeout(time.Minute)).
		Observe(watch).
		Build().Wrap(scripted.New(scripted.Step{Text: "Hello."}))

	for _, system := range []string{"Be brief.", "Be as long as you want."} {
		_, _ = p.Infer(context.Background(), protocol.InferRequest{System: system}, nil)
	}
	// Output:
	// watched: <nil>
	// watched: invalid request: it has 23 bytes, more than the 20 that are allowed
}
