package serve

import (
	"github.com/skelegent/skelegent-go/actors/compose"
	"github.com/skelegent/skelegent-go/actors/tool"
	"github.com/skelegent/skelegent-go/protocol"
)

// Delegate is an executor as an operator. The message is the arguments, an object in JSON, and the answer the result as JSON;
// see tool.AsOperator. The error is compose.DelegateTool's.
func Delegate(name, description string, e compose.Executor, opts ...tool.Option) (protocol.Operator, error) {
	t, err := compose.DelegateTool(name, description, e, opts...)
	if err != nil {
		return nil, err
	}
	return tool.AsOperator(t), nil
}
