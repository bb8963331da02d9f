package cassette_test

import (
	"context"
	"fmt"
	"net/http"

	"github.com/skelegent/skelegent-go/actors/provider/cassette"
	"github.com/skelegent/skelegent-go/actors/provider/openai"
	"github.com/skelegent/skelegent-go/protocol"
)

func Example() {
	tape, err := cassette.Open("testdata/hello.yaml", cassette.Replay)
	if err != nil {
		fmt.Println(err)
		return
	}
	p := openai.New(openai.Config{HTTPClient: &http.Client{Transport: tape}})
	defer p.Close()

	resp, err := p.Infer(context.Background(), protocol.InferRequest{
		Model:    "gpt-4o",
		Messages: []protocol.Message{protocol.NewMessage(protocol.RoleUser, protocol.TextContent("Hello"))},
	}, nil)
	text, _ := resp.Content.AsText()
	fmt.Println(text, err)
	fmt.Println(tape.Close())
	// Output:
	// Hello, how can I help? <nil>
	// <nil>
}
