package router_test

import (
	"context"
	"fmt"

	"github.com/skelegent/skelegent-go/actors/provider/router"
	"github.com/skelegent/skelegent-go/actors/provider/scripted"
	"github.com/skelegent/skelegent-go/protocol"
)

func Example() {
	busy := scripted.New(scripted.Step{Err: protocol.ErrRateLimited(0), Repeat: -1})
	idle := scripted.New(scripted.Step{Text: "Hello.", Repeat: -1})
	r, err := router.New(
		router.Anthropic(busy, router.Target{Provider: idle, Model: "gpt-4o"}),
		router.OpenAI(idle),
	)
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, model := range []string{"claude-haiku-4-5", "openai:gpt-5", "gemini-3"} {
		resp, err := r.Infer(context.Background(), protocol.InferRequest{Model: model}, nil)
		fmt.Println(resp.Model, err)
	}
	// Output:
	// gpt-4o <nil>
	// gpt-5 <nil>
	//  invalid request: no provider for model "gemini-3"; the prefixes are anthropic:, claude-, gpt-, o1-, o3-, o4-, openai:
}
