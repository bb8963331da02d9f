package limit_test

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/skelegent/skelegent-go/actors/provider/limit"
	"github.com/skelegent/skelegent-go/actors/provider/scripted"
	"github.com/skelegent/skelegent-go/protocol"
)

func Example() {
	model := scripted.New(scripted.Step{Text: "Hello.", Repeat: -1})
	p := limit.New(model, limit.Config{Default: limit.Limits{Requests: 1, Concurrent: 4}})
	p = limit.Breaker(p, limit.BreakerConfig{Name: "scripted"})

	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	for range 2 {
		_, err := p.Infer(ctx, protocol.InferRequest{Model: "m"}, nil)
		var e *protocol.Error
		if errors.As(err, &e) {
			fmt.Println(e, "- again in", e.RetryAfter.Round(time.Minute))
			continue
		}
		fmt.Println("answered")
	}
	// Output:
	// answered
	// rate limited: the turn of the call would come after its deadline - again in 1m0s
}
