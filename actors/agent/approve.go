package agent

import (
	"context"
	"encoding/json"
	"errors"

	"github.com/skelegent/skelegent-go/actors/step"
	"github.com/skelegent/skelegent-go/actors/tool"
	"github.com/skelegent/skelegent-go/protocol"
)

// pendingCall is a call of an answer that needs approval.
type pendingCall struct {
	index  int // in the answer
	call   protocol.ToolCall
	reason protocol.ApprovalReason
}

// verdict is what became of a pending call.
type verdict struct {
	refusal string          // what the model is told of a call that is not made; empty if it is
	input   json.RawMessage // in place of the call's own; nil leaves that
}

const undecided = "The call was not made: nobody decided on it in time. It was not denied."

// approve waits until a person has decided on the pending calls, and returns the verdicts by their index.
func (r *run) approve(ctx context.Context, pending []pendingCall, said *protocol.Content) (map[int]verdict, *stop) {
	if len(pending) == 0 {
		return nil, nil
	}
	var req protocol.ApprovalRequest
	if text, ok := said.AsText(); !ok || text != "" || len(said.Blocks()) > 0 {
		req.Context = said
	}
	for _, p := range pending {
		req.Pending = append(req.Pending, protocol.PendingToolCall{
			CallID: p.call.ID, ToolName: p.call.Name, ToolInput: p.call.Input, Reason: p.reason,
		})
	}
	decisions, err := step.Approval(ctx, req, step.Deadline(r.cfg.ApprovalTime))
	expired := errors.Is(err, step.ErrExpired)
	if err != nil && !expired {
		return nil, r.broken(ctx, err)
	}
	verdicts := make(map[int]verdict, len(pending))
	for _, p := range pending {
		d := decisions[p.call.ID]
		v := verdict{input: d.Input}
		switch {
		case expired:
			v.refusal = undecided
		case !d.Approved:
			v.refusal = tool.DeniedText(d.Reason)
		}
		verdicts[p.index] = v
	}
	return verdicts, nil
}
