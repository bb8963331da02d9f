package agent_test

import (
	"context"
	"fmt"
	"strings"

	"github.com/skelegent/skelegent-go/actors/agent"
	"github.com/skelegent/skelegent-go/actors/agenttest"
	"github.com/skelegent/skelegent-go/actors/engine"
	"github.com/skelegent/skelegent-go/actors/tool"
	"github.com/skelegent/skelegent-go/protocol"
)

// Rules see every step of a run. One before a call of a tool may keep it from being made; one behind an answer may change what
// the model knows; any may end the run.
func Example_rules() {
	guard := engine.Before(engine.OpExecuteTool, "guard", 100, engine.OpFunc("guard",
		func(_ context.Context, c *engine.Context) error {
			call, ok := c.Current().(*engine.ToolCall)
			if ok && strings.Contains(string(call.Call.Input), "/etc") {
				call.Skip("Not in /etc.", true) // the model is told this in place of a result
			}
			return nil
		}))
	enough := engine.When("enough", 0,
		func(c *engine.Context) bool { return c.Metrics().ToolCalls >= 2 },
		engine.OpFunc("enough", func(context.Context, *engine.Context) error { return engine.Halt("two files are enough") }))

	read := tool.Func("read", "Reads a file.", func(_ context.Context, in struct {
		Path string `json:"path"`
	},
	) (string, error) {
		fmt.Println("read", in.Path)
		return "text", nil
	})
	path := func(p string) map[string]string { return map[string]string{"path": p} }
	model := agenttest.NewModel(nil,
		agenttest.Call("read", path("/etc/passwd")).And("read", path("/tmp/a")),
		agenttest.Say("Another one.").And("read", path("/tmp/b")),
	)
	reader, err := agent.New(agent.Config{Provider: model, Tools: []tool.Tool{read}, Rules: []agent.Rule{guard, enough}})
	if err != nil {
		fmt.Println(err)
		return
	}
	out, err := reader.Execute(context.Background(), protocol.Text("Read what you like."))
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(out.ExitReason)
	// Output:
	// read /tmp/a
	// read /tmp/b
	// interceptor_halt: two files are enough
}
