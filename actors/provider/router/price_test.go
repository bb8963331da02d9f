package router_test

import (
	"testing"

	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
	"go.uber.org/zap/zaptest/observer"

	"github.com/skelegent/skelegent-go/actors/provider"
	"github.com/skelegent/skelegent-go/actors/provider/limit"
	"github.com/skelegent/skelegent-go/actors/provider/middleware"
	"github.com/skelegent/skelegent-go/actors/provider/router"
	"github.com/skelegent/skelegent-go/protocol"
)

// priced knows prices and nothing else.
type priced struct {
	middleware.Next
	provider.Prices
}

func (p priced) Priced(model string) bool { _, ok := p.Prices[model]; return ok }

func (p priced) Quote(model string) (provider.Price, bool) {
	price, ok := p.Prices[model]
	return price, ok
}

func price(input, output, cached, write string) provider.Price {
	p := provider.Price{Input: protocol.MustDecimal(input), Output: protocol.MustDecimal(output)}
	if cached != "" {
		p.Cached = new(protocol.MustDecimal(cached))
	}
	if write != "" {
		p.CacheWrite = new(protocol.MustDecimal(write))
	}
	return p
}

func show(p provider.Price) string {
	s := p.Input.String() + " " + p.Output.String()
	for _, d := range []*protocol.Decimal{p.Cached, p.CacheWrite} {
		if d == nil {
			s += " -"
		} else {
			s += " " + d.String()
		}
	}
	return s
}

func TestPrices(t *testing.T) {
	t.Parallel()
	prices := provider.Prices{
		"cheap": price("1", "9", "", ""), "mixed": price("2", "3", "0.5", ""), "dear": price("3", "4", "0.3", "3.75"),
	}
	own := priced{named("x"), prices}
	wrapped := limit.New(own, limit.Config{})
	target := func(p provider.Provider, model string) router.Target { return router.Target{Provider: p, Model: model} }
	tests := []struct {
		name         string
		alternatives []router.Target
		model        string
		want         string // empty for no quote
		priced       bool
	}{
		{"alone", nil, "kind:dear", "3 4 0.3 3.75", true},
		{"unknown", nil, "kind:other", "", false},
		{"no route", nil, "dear", "", false},
		{"the alternative's output is dearer", []router.Target{target(wrapped, "cheap")}, "kind:dear", "3 9 1 3.75", true},
		{"cached like input", []router.Target{target(own, "mixed")}, "kind:cheap", "2 9 1 -", true},
		{"all three", []router.Target{target(own, "mixed"), target(own, "cheap")}, "kind:dear", "3 9 1 3.75", true},
		{"the same model", []router.Target{target(wrapped, "")}, "kind:mixed", "2 3 0.5 -", true},
		{"an alternative without a price", []router.Target{target(own, "nobody")}, "kind:dear", "", false},
		{"an alternative that does not know", []router.Target{target(named("y"), "")}, "kind:dear", "", false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			r := build(t, router.Route{Prefixes: []string{"kind:"}, Target: target(own, ""), Alternatives: tt.alternatives})
			got := ""
			if quote, ok := r.Quote(tt.model); ok {
				got = show(quote)
			}
			if got != tt.want || r.Priced(tt.model) != tt.priced {
				t.Errorf("quote %q, want %q; priced %t", got, tt.want, r.Priced(tt.model))
			}
		})
	}
}

func TestFallbackIsLogged(t *testing.T) {
	t.Parallel()
	core, logs := observer.New(zapcore.WarnLevel)
	calls := 0
	r := build(t, router.Default(failing(&calls, protocol.ErrProviderTransient("the parrot", 503)), router.Target{Provider: named("x"), Model: "b"}))
	if _, err := r.WithLogger(zap.New(core)).Infer(t.Context(), protocol.InferRequest{Model: "a"}, nil); err != nil {
		t.Fatal(err)
	}
	if logs.Len() != 1 || logs.All()[0].ContextMap()["next"] != "b" || logs.All()[0].ContextMap()["model"] != "a" {
		t.Errorf("logged %v", logs.All())
	}
}
