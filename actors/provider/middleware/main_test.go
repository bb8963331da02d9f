package middleware_test

import (
	"context"
	"testing"

	"go.uber.org/goleak"

	"github.com/skelegent/skelegent-go/actors/provider/middleware"
	"github.com/skelegent/skelegent-go/protocol"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

type sink = func(protocol.StreamEvent)

// answer is a provider without roles.
func answer(f func(ctx context.Context, req protocol.InferRequest, s sink) (protocol.InferResponse, error)) middleware.Next {
	return f
}

func text(s string) protocol.InferResponse {
	return protocol.InferResponse{Content: protocol.TextContent(s), StopReason: protocol.StopEndTurn}
}

func say(r protocol.InferResponse) string {
	s, _ := r.Content.AsText()
	return s
}
