package serve

import (
	"context"
	"encoding/json"

	"github.com/skelegent/skelegent-go/actors/compose"
	"github.com/skelegent/skelegent-go/protocol"
)

// Agent is the chain that operator id is, wherever it is hosted, as an agent: a specialist of a compose.Coordinator, for
// instance. A step dispatches the investigation and takes over what became of it; one that fails leaves it as it was. What the
// chain declares and costs goes to who runs this step, if that is a Chain; else it is lost, so use compose.Remote where that
// matters. The error of Agent is compose.DelegateTool's.
func Agent(name string, d protocol.Dispatcher, id protocol.OperatorID) (compose.Agent, error) {
	t, err := compose.DelegateTool(name, "Asks "+string(id)+".", compose.Remote(d, id))
	if err != nil {
		return nil, err
	}
	tools, err := compose.NewTools(t)
	if err != nil {
		return nil, err
	}
	return &remote{id: compose.NewAgentID(), name: name, operator: id, tools: tools}, nil
}

type remote struct {
	id       compose.AgentID
	name     string
	operator protocol.OperatorID
	tools    *compose.Tools // one: the operator
}

// ID implements compose.Agent.
func (r *remote) ID() compose.AgentID { return r.id }

// Name implements compose.Agent.
func (r *remote) Name() string { return r.name }

// Step implements compose.Agent.
func (r *remote) Step(ctx context.Context, inv *compose.Investigation) (compose.StepResult, error) {
	args, err := protocol.Marshal(map[string]any{"context": inv})
	if err != nil {
		return compose.StepResult{}, compose.ErrSerialization(err)
	}
	res, err := r.tools.Invoke(ctx, r.name, args)
	if err != nil {
		return compose.StepResult{}, err
	}
	var answer struct {
		Result  *compose.StepResult    `json:"result"`
		Context *compose.Investigation `json:"context"`
	}
	if err := json.Unmarshal(res.Output, &answer); err != nil || answer.Context == nil || answer.Result == nil {
		return compose.StepResult{}, compose.ErrToolFailed(string(r.operator) + " does not answer as a chain does").Because(err)
	}
	*inv = *answer.Context
	return *answer.Result, nil
}
