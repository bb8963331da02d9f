package tokens_test

import (
	"fmt"

	"github.com/skelegent/skelegent-go/actors/tokens"
	"github.com/skelegent/skelegent-go/protocol"
)

func Example() {
	req := protocol.InferRequest{
		System:   "Be brief.",
		Messages: []protocol.Message{protocol.NewMessage(protocol.RoleUser, protocol.TextContent("tiktoken is great!"))},
	}
	for _, model := range []string{"gpt-4o", "claude-haiku-4-5", "my-own"} {
		c := tokens.For(model)
		window, ok := tokens.Window(model)
		fmt.Println(model, c.Count(req), c.Exact(), window, ok)
	}
	// Output:
	// gpt-4o 17 true 128000 true
	// claude-haiku-4-5 14 false 200000 true
	// my-own 14 false 0 false
}
