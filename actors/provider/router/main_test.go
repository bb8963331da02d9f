package router_test

import (
	"context"
	"testing"

	"go.uber.org/goleak"

	"github.com/skelegent/skelegent-go/actors/provider/middleware"
	"github.com/skelegent/skelegent-go/actors/provider/router"
	"github.com/skelegent/skelegent-go/protocol"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

type sink = func(protocol.StreamEvent)

// answer is a provider without roles.
func answer(f func(ctx context.Context, req protocol.InferRequest, s sink) (protocol.InferResponse, error)) middleware.Next {
	return f
}

// named answers with its name and the model that it was asked for.
func named(name string) middleware.Next {
	return answer(func(_ context.Context, req protocol.InferRequest, _ sink) (protocol.InferResponse, error) {
		return protocol.InferResponse{Content: protocol.TextContent(name), Model: req.Model}, nil
	})
}

// failing counts its calls and fails with err.
func failing(calls *int, err error) middleware.Next {
	return answer(func(context.Context, protocol.InferRequest, sink) (protocol.InferResponse, error) {
		*calls++
		return protocol.InferResponse{}, err
	})
}

func build(t *testing.T, routes ...router.Route) *router.Router {
	t.Helper()
	r, err := router.New(routes...)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func say(r protocol.InferResponse) string {
	s, _ := r.Content.AsText()
	return s
}
