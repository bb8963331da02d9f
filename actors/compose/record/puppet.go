package record

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/skelegent/skelegent-go/actors/agent"
	"github.com/skelegent/skelegent-go/actors/tool"
	"github.com/skelegent/skelegent-go/protocol"
)

// puppet stands in the place of a tool. It needs approval where the run ended since nobody was there to give it, and has none of
// the tool's other roles.
type puppet struct {
	player *player
	meta   protocol.ToolMetadata
}

// Metadata implements tool.Tool.
func (t *puppet) Metadata() protocol.ToolMetadata { return t.meta }

// NeedsApproval implements tool.Approver.
func (t *puppet) NeedsApproval(input json.RawMessage) (protocol.ApprovalReason, bool) {
	return protocol.PolicyAlways(), t.player.awaits(t.meta.Name, input)
}

// Call implements tool.Tool: it gives what the record has. The text for the model comes by the config's ResultText and ErrorText.
func (t *puppet) Call(ctx context.Context, _ json.RawMessage) (tool.Result, error) {
	if err := ctx.Err(); err != nil {
		return tool.Result{}, err
	}
	t.player.mu.Lock()
	defer t.player.mu.Unlock()
	op := t.player.ops[tool.RunFrom(ctx).IdempotencyKey]
	if op == nil {
		return tool.Result{}, nil
	}
	r := t.player.result(op.Call.ID)
	if r == nil { // which is a difference, to be found when it is over
		return tool.Result{}, nil
	}
	res := tool.Result{Effects: r.Effects, Cost: r.Cost, UnpricedCalls: r.UnpricedCalls}
	if !r.IsError {
		return res, nil
	}
	failed := protocol.ErrToolFailed("as in the record")
	if r.Error != nil {
		clone := *r.Error
		failed = &clone
	}
	if failed.Kind == protocol.KindToolInvalidInput { // the agent would tell the model of the schema, which is in the text already
		failed.Kind = ""
	}
	return res, failed.Because(errReplayed)
}

// tools are those of cfg, or of the record, without what they do.
func (p *player) tools(cfg agent.Config) (*tool.Registry, error) {
	var metas []protocol.ToolMetadata
	for i, t := range cfg.Tools {
		if t == nil {
			return nil, protocol.NewError(protocol.CodeInvalidInput, fmt.Sprintf("tool %d is nil", i+1))
		}
		metas = append(metas, t.Metadata())
	}
	if cfg.Registry != nil {
		registry := cfg.Registry.Snapshot()
		for _, name := range registry.Names() {
			if t, ok := registry.Get(name); ok {
				metas = append(metas, t.Metadata())
			}
		}
	}
	if len(cfg.Tools) == 0 && cfg.Registry == nil && cfg.Provider == nil {
		metas = p.named()
	}
	registry, err := tool.NewRegistry()
	if err != nil {
		return nil, err
	}
	for _, m := range metas {
		if err := registry.Add(&puppet{player: p, meta: m}); err != nil {
			return nil, err
		}
	}
	return registry, nil
}

// named are the tools that the record says were there.
func (p *player) named() (all []protocol.ToolMetadata) {
	for _, r := range p.run.Results() {
		unknown := r.Error != nil && errors.Is(r.Error, &protocol.Error{Kind: protocol.KindToolNotFound})
		if !unknown && tool.CheckName(r.Name) == nil {
			all = append(all, protocol.ToolMetadata{Name: r.Name, InputSchema: json.RawMessage(`{"type":"object","properties":{}}`)})
		}
	}
	return all
}
