package tool

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/skelegent/skelegent-go/protocol"
)

// effectData is what the executor of a tool by effect gets.
type effectData struct {
	Tool  string          `json:"tool"`
	Input json.RawMessage `json:"input"`
	// Key is the call's own; the executor has the effect's id beside it.
	Key string `json:"idempotency_key,omitempty"`
}

type effectResult struct {
	Requested bool   `json:"requested"`
	Effect    string `json:"effect"`
}

// AsEffect is a tool that a model calls as it calls t, but t is not run: the call declares a protocol.CustomEffect of that
// type, whose data is {"tool", "input", "idempotency_key"}, for an executor to perform. Name, description, schema and the
// calls that need approval are those of t. The model is told that the effect was requested, no more.
//
// The error says that effectType cannot be one, or that the schema of t cannot be used.
func AsEffect(t Tool, effectType string) (Tool, error) {
	meta := t.Metadata()
	if effectType == "" || protocol.ReservedFamily(effectType) {
		return nil, protocol.NewError(protocol.CodeInvalidInput,
			fmt.Sprintf("tool %s: effect type %q is empty, or the name of a built-in kind", meta.Name, effectType))
	}
	meta.ParallelSafe = true
	approval := func(o *options) {
		o.approval = func(input json.RawMessage) (protocol.ApprovalReason, bool) { return NeedsApproval(t, input) }
	}
	return Raw(meta, func(ctx context.Context, input json.RawMessage) (Result, error) {
		data, err := protocol.Marshal(effectData{Tool: meta.Name, Input: input, Key: RunFrom(ctx).IdempotencyKey})
		if err != nil {
			return Result{}, err
		}
		return result(effectResult{Requested: true, Effect: effectType},
			protocol.Effects{protocol.CustomEffect{EffectType: effectType, Data: data}})
	}, Repeatable(), approval)
}
