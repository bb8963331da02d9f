package agenttest

import (
	"context"
	"encoding/json"

	"github.com/skelegent/skelegent-go/actors/tool"
)

// Once says that something happens here that must not happen twice, such as a payment. SurvivesKills counts it by the step in
// which it happens, or the call of a tool; elsewhere it does nothing.
func Once(ctx context.Context, what string) {
	if t := trialFrom(ctx); t != nil {
		t.happened(ctx, what)
	}
}

// Watch returns the tools such that the calls of those that may not be repeated are counted as Once does.
func Watch(tools ...tool.Tool) []tool.Tool {
	all := make([]tool.Tool, len(tools))
	for i, t := range tools {
		if all[i] = t; !tool.CanRepeat(t) {
			all[i] = watched{t}
		}
	}
	return all
}

type watched struct{ tool.Tool }

// Call implements tool.Tool.
func (w watched) Call(ctx context.Context, input json.RawMessage) (tool.Result, error) {
	Once(ctx, "the call of "+w.Metadata().Name)
	return w.Tool.Call(ctx, input)
}

// Unwrap implements tool.Wrapper.
func (w watched) Unwrap() tool.Tool { return w.Tool }
