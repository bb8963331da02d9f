package agent_test

import (
	"context"
	"testing"

	"github.com/skelegent/skelegent-go/actors/agent"
	"github.com/skelegent/skelegent-go/actors/tool"
	"github.com/skelegent/skelegent-go/protocol"
)

// answers is a provider that costs nothing to ask: nine calls of a tool, then a text.
type answers struct{ call, done protocol.InferResponse }

func (a *answers) Infer(_ context.Context, req protocol.InferRequest, _ func(protocol.StreamEvent)) (protocol.InferResponse, error) {
	if len(req.Messages) < 19 {
		return a.call, nil
	}
	return a.done, nil
}

// BenchmarkLoop is ten turns with nine tool calls: what the loop itself takes.
func BenchmarkLoop(b *testing.B) {
	echo := tool.Func("echo", "Echoes.", func(_ context.Context, in struct {
		Text string `json:"text"`
	},
	) (string, error) {
		return in.Text, nil
	})
	p := &answers{call: says("", uses("c", "echo", `{"text":"hello"}`)).resp, done: says("done").resp}
	a := build(b, agent.Config{Provider: p, Tools: []tool.Tool{echo}})
	in := protocol.Text("go")
	b.ReportAllocs()
	for b.Loop() {
		out, err := a.Execute(b.Context(), in)
		if err != nil || out.Metadata.TurnsUsed != 10 || len(out.Metadata.SubDispatches) != 9 {
			b.Fatal(out.ExitReason, err)
		}
	}
}
