package router

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/skelegent/skelegent-go/actors/provider"
	"github.com/skelegent/skelegent-go/protocol"
)

// Route is where the requests for some models go.
type Route struct {
	// Prefixes of the models' names; an empty one is for all that no other route is for.
	Prefixes []string
	// Target is asked first. Its Model is usually empty.
	Target
	// Alternatives are tried when the target fails.
	Alternatives []Target
	// Also are kinds of failures for which alternatives are tried although they do not pass, such as
	// protocol.KindProviderContentBlocked, or protocol.KindProviderRateLimited for an account without money.
	Also []protocol.ErrorKind
}

// Target is a provider and the model that it is asked for.
type Target struct {
	Provider provider.Provider
	// Model is the one of the request if empty.
	Model string
}

// Anthropic is the route of the models whose names begin with anthropic: or claude-.
func Anthropic(p provider.Provider, alternatives ...Target) Route {
	return route(p, alternatives, "anthropic:", "claude-")
}

// OpenAI is the route of the models whose names begin with openai:, gpt-, o1-, o3- or o4-.
func OpenAI(p provider.Provider, alternatives ...Target) Route {
	return route(p, alternatives, "openai:", "gpt-", "o1-", "o3-", "o4-")
}

// Ollama is the route of the models whose names begin with ollama:.
func Ollama(p provider.Provider, alternatives ...Target) Route {
	return route(p, alternatives, "ollama:")
}

// Default is the route of all models that no other route is for.
func Default(p provider.Provider, alternatives ...Target) Route {
	return route(p, alternatives, "")
}

func route(p provider.Provider, alternatives []Target, prefixes ...string) Route {
	return Route{Prefixes: prefixes, Target: Target{Provider: p}, Alternatives: alternatives}
}

func (r Route) validate() error {
	if len(r.Prefixes) == 0 {
		return errors.New("has no prefix; the empty one is for all other models")
	}
	for i, t := range r.targets() {
		if t.Provider == nil {
			return fmt.Errorf("%q: target %d has no provider", r.Prefixes, i)
		}
	}
	return nil
}

// targets are all that may be asked, in order.
func (r Route) targets() []Target { return slices.Concat([]Target{r.Target}, r.Alternatives) }

// path is a prefix and where it leads.
type path struct {
	prefix  string
	targets []Target
	also    []protocol.ErrorKind
}

// fits reports whether the path is for model, and returns the name that targets are asked for.
func (p path) fits(model string) (name string, ok bool) {
	switch {
	case strings.HasSuffix(p.prefix, ":"):
		return strings.CutPrefix(model, p.prefix)
	case strings.HasSuffix(p.prefix, "-") && model == strings.TrimSuffix(p.prefix, "-"):
		return model, true
	}
	return model, strings.HasPrefix(model, p.prefix)
}

// passes reports whether an alternative may help after err.
func (p path) passes(err *protocol.Error) bool {
	return err.Retryable || err.Kind != "" && slices.Contains(p.also, err.Kind)
}
