package rule

import (
	"context"

	"github.com/skelegent/skelegent-go/actors/engine"
)

// ToolFunc looks at a call of a tool, and may change it.
type ToolFunc func(ctx context.Context, c *engine.Context, call *engine.ToolCall) error

// BeforeTool is a rule before each call of a tool, or of any if it is empty. It may change the call's input or skip the call.
func BeforeTool(tool, name string, priority int, do ToolFunc) engine.Rule {
	return engine.Before(engine.OpExecuteTool, name, priority, onTool(tool, name, do))
}

// AfterTool is a rule behind each call of a tool, or of any if it is empty, also of one that was skipped. It may change the result.
func AfterTool(tool, name string, priority int, do ToolFunc) engine.Rule {
	return engine.After(engine.OpExecuteTool, name, priority, onTool(tool, name, do))
}

func onTool(tool, name string, do ToolFunc) engine.Op {
	return engine.OpFunc(name, func(ctx context.Context, c *engine.Context) error {
		call, ok := c.Current().(*engine.ToolCall)
		if !ok || tool != "" && call.Call.Name != tool {
			return nil
		}
		return do(ctx, c, call)
	})
}
