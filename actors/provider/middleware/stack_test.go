package middleware_test

import (
	"context"
	"errors"
	"slices"
	"testing"

	"github.com/skelegent/skelegent-go/actors/provider"
	"github.com/skelegent/skelegent-go/actors/provider/middleware"
	"github.com/skelegent/skelegent-go/actors/provider/openai"
	"github.com/skelegent/skelegent-go/protocol"
)

func noting(log *[]string, name string) middleware.Infer {
	return middleware.InferFunc(func(ctx context.Context, req protocol.InferRequest, s sink, next middleware.Next) (protocol.InferResponse, error) {
		*log = append(*log, name+" in")
		resp, err := next(ctx, req, s)
		*log = append(*log, name+" out")
		return resp, err
	})
}

var echo = answer(func(_ context.Context, req protocol.InferRequest, _ sink) (protocol.InferResponse, error) {
	return text(req.System), nil
})

func TestOrder(t *testing.T) {
	t.Parallel()
	var log []string
	b := middleware.NewStack().Guard(noting(&log, "g1")).Transform(noting(&log, "t1")).
		Observe(noting(&log, "o1"), noting(&log, "o2")).Guard(noting(&log, "g2"))
	stack := b.Build()
	b.Observe(noting(&log, "late"))
	if _, err := middleware.Wrap(echo, stack).Infer(t.Context(), protocol.InferRequest{}, nil); err != nil {
		t.Fatal(err)
	}
	want := []string{"o1 in", "o2 in", "t1 in", "g1 in", "g2 in", "g2 out", "g1 out", "t1 out", "o2 out", "o1 out"}
	if !slices.Equal(log, want) {
		t.Errorf("got %q, want %q", log, want)
	}
}

func TestObserversSeeRefusalsAndGuardsSeeChanges(t *testing.T) {
	t.Parallel()
	var log []string
	refuse := middleware.Guard(func(_ context.Context, req protocol.InferRequest) error {
		if req.System == "changed" {
			return protocol.ErrEngineHalted("no")
		}
		return nil
	})
	change := middleware.InferFunc(func(ctx context.Context, req protocol.InferRequest, s sink, next middleware.Next) (protocol.InferResponse, error) {
		req.System = "changed"
		return next(ctx, req, s)
	})
	never := answer(func(context.Context, protocol.InferRequest, sink) (protocol.InferResponse, error) {
		t.Error("the provider was asked")
		return protocol.InferResponse{}, nil
	})
	p := middleware.NewStack().Guard(refuse).Transform(change).Observe(noting(&log, "o")).Build().Wrap(never)
	_, err := p.Infer(t.Context(), protocol.InferRequest{System: "as it was"}, nil)
	if !errors.Is(err, &protocol.Error{Kind: protocol.KindEngineHalted}) || len(log) != 2 {
		t.Errorf("error %v, log %q", err, log)
	}
}

func TestShortCircuit(t *testing.T) {
	t.Parallel()
	cached := middleware.InferFunc(func(context.Context, protocol.InferRequest, sink, middleware.Next) (protocol.InferResponse, error) {
		return text("cached"), nil
	})
	resp, err := middleware.NewStack().Transform(cached).Build().Wrap(echo).Infer(t.Context(), protocol.InferRequest{System: "x"}, nil)
	if err != nil || say(resp) != "cached" {
		t.Errorf("got %q, error %v", say(resp), err)
	}
}

// The roles, each alone and both.
type (
	pricer struct{ middleware.Next }
	quoter struct{ middleware.Next }
	both   struct {
		pricer
		quoter
	}
)

func (pricer) Priced(model string) bool { return model == "priced" }

func (quoter) Quote(model string) (provider.Price, bool) {
	return provider.Price{Input: protocol.MustDecimal("3")}, model == "quoted"
}

func (b both) Infer(ctx context.Context, req protocol.InferRequest, s sink) (protocol.InferResponse, error) {
	return b.pricer.Infer(ctx, req, s)
}

func TestRoles(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name           string
		p              provider.Provider
		prices, quotes bool
	}{
		{"none", echo, false, false},
		{"pricer", pricer{echo}, true, false},
		{"quoter", quoter{echo}, false, true},
		{"both", both{pricer{echo}, quoter{echo}}, true, true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			var log []string
			stack := middleware.NewStack().Observe(noting(&log, "o")).Build()
			p := stack.Wrap(stack.Wrap(tt.p))
			if resp, err := p.Infer(t.Context(), protocol.InferRequest{System: "x"}, nil); err != nil || say(resp) != "x" || len(log) != 4 {
				t.Errorf("got %q, error %v, log %q", say(resp), err, log)
			}
			pr, prices := p.(provider.Pricer)
			if prices != tt.prices || prices && (!pr.Priced("priced") || pr.Priced("other")) {
				t.Errorf("a pricer: %t", prices)
			}
			qu, quotes := p.(provider.Quoter)
			if quotes != tt.quotes {
				t.Fatalf("a quoter: %t", quotes)
			}
			if quotes {
				if price, ok := qu.Quote("quoted"); !ok || price.Input.String() != "3" {
					t.Errorf("quoted %v, %t", price, ok)
				}
			}
		})
	}
}

func TestAs(t *testing.T) {
	t.Parallel()
	inner := openai.New(openai.Config{})
	defer inner.Close()
	var log []string
	stack := middleware.NewStack().Observe(noting(&log, "o")).Build()
	p := stack.Wrap(stack.Wrap(inner))
	if got, ok := middleware.As[*openai.Provider](p); !ok || got != inner {
		t.Error("not found behind two wrappers")
	}
	if _, ok := middleware.As[interface{ Close() }](p); !ok {
		t.Error("a role is not found")
	}
	if _, ok := middleware.As[interface{ Nobody() }](p); ok {
		t.Error("a role is found that nobody has")
	}
	if _, ok := middleware.As[provider.Pricer](nil); ok {
		t.Error("nil has a role")
	}
	if (middleware.Stack{}).Wrap(inner) != provider.Provider(inner) {
		t.Error("an empty stack wraps")
	}
}
