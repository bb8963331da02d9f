package router_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/skelegent/skelegent-go/actors/provider/router"
	"github.com/skelegent/skelegent-go/protocol"
)

func TestPrefixes(t *testing.T) {
	t.Parallel()
	r := build(
		t, router.Anthropic(named("anthropic")), router.OpenAI(named("openai")), router.Ollama(named("ollama")),
		router.Route{Prefixes: []string{"gpt-4o-", "local:gpt-"}, Target: router.Target{Provider: named("special")}},
		router.Route{Prefixes: []string{"fixed:"}, Target: router.Target{Provider: named("fixed"), Model: "the-one"}},
	)
	withDefault := build(t, router.Ollama(named("ollama")), router.Default(named("default")))
	tests := []struct {
		r     *router.Router
		model string
		want  string // provider, model
	}{
		{r, "claude-haiku-4-5", "anthropic claude-haiku-4-5"},
		{r, "anthropic:claude-haiku-4-5", "anthropic claude-haiku-4-5"},
		{r, "anthropic:", "anthropic "},
		{r, "anthropic:openai:x", "anthropic openai:x"},
		{r, "gpt-4", "openai gpt-4"},
		{r, "gpt-4o", "special gpt-4o"}, // a hyphen at the end may be missing
		{r, "gpt-4o-mini", "special gpt-4o-mini"},
		{r, "openai:gpt-4o-mini", "openai gpt-4o-mini"},
		{r, "o1-mini", "openai o1-mini"},
		{r, "o3", "openai o3"},
		{r, "o4-mini", "openai o4-mini"},
		{r, "ollama:llama3.2:1b", "ollama llama3.2:1b"},
		{r, "fixed:anything", "fixed the-one"},
		{withDefault, "", "default "},
		{withDefault, "whatever", "default whatever"},
		{withDefault, "ollama:x", "ollama x"},
		{withDefault, "Ollama:x", "default Ollama:x"},
	}
	for _, tt := range tests {
		resp, err := tt.r.Infer(t.Context(), protocol.InferRequest{Model: tt.model}, nil)
		if got := say(resp) + " " + resp.Model; err != nil || got != tt.want {
			t.Errorf("%q goes to %q, want %q; error %v", tt.model, got, tt.want, err)
		}
	}
	for _, model := range []string{"", "llama3.2:1b", "o33", "o", "gpt", "claude", "x", strings.Repeat("x", 10_000) + "secret"} {
		want := model == "gpt" || model == "claude" // a name without the hyphen
		_, err := r.Infer(t.Context(), protocol.InferRequest{Model: model}, nil)
		if want {
			if err != nil {
				t.Errorf("%q: %v", model, err)
			}
			continue
		}
		if !errors.Is(err, &protocol.Error{Kind: protocol.KindProviderInvalidRequest}) || protocol.IsRetryable(err) ||
			!strings.Contains(err.Error(), "anthropic:, claude-, fixed:, gpt-, gpt-4o-") || len(err.Error()) > 500 {
			t.Errorf("%q: %v", model, err)
		}
	}
}

func TestRoutesThatCannotBeUsed(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name   string
		routes []router.Route
		want   string
	}{
		{"no prefix", []router.Route{{Target: router.Target{Provider: named("x")}}}, "no prefix"},
		{"no provider", []router.Route{router.OpenAI(nil)}, "no provider"},
		{"an alternative without one", []router.Route{router.OpenAI(named("x"), router.Target{Model: "m"})}, "target 1"},
		{"twice", []router.Route{router.OpenAI(named("x")), router.OpenAI(named("y"))}, "openai:"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			if _, err := router.New(tt.routes...); err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("error %v, want one about %q", err, tt.want)
			}
		})
	}
	if _, err := build(t).Infer(t.Context(), protocol.InferRequest{Model: "m"}, nil); protocol.CodeOf(err) != protocol.CodeInvalidInput {
		t.Errorf("without routes: %v", err)
	}
}
