package manifest

import (
	"maps"
	"slices"

	"github.com/skelegent/skelegent-go/actors/provider"
	"github.com/skelegent/skelegent-go/actors/provider/anthropic"
	"github.com/skelegent/skelegent-go/actors/provider/limit"
	"github.com/skelegent/skelegent-go/actors/provider/middleware"
	"github.com/skelegent/skelegent-go/actors/provider/ollama"
	"github.com/skelegent/skelegent-go/actors/provider/openai"
	"github.com/skelegent/skelegent-go/actors/provider/responses"
	"github.com/skelegent/skelegent-go/actors/provider/router"
	"github.com/skelegent/skelegent-go/actors/provider/scripted"
	"github.com/skelegent/skelegent-go/actors/provider/secret"
)

// defaultModels are those of requests that name none.
var defaultModels = map[string]string{
	kindOpenAI: openai.DefaultModel, kindResponses: responses.DefaultModel, kindAnthropic: anthropic.DefaultModel,
	kindOllama: ollama.DefaultModel,
}

// providers makes each provider once: what is limited is limited for all who use it.
type providers struct {
	m    *Manifest
	deps Deps
	made map[string]provider.Provider
}

func (m *Manifest) providers(deps Deps) (map[string]provider.Provider, error) {
	all := &providers{m: m, deps: deps, made: map[string]provider.Provider{}}
	for _, name := range slices.Sorted(maps.Keys(m.Providers)) {
		if _, err := all.get(name); err != nil {
			return nil, err
		}
	}
	return all.made, nil
}

func (a *providers) get(name string) (provider.Provider, error) {
	if p, ok := a.made[name]; ok {
		return p, nil
	}
	if p, ok := a.deps.Providers[name]; ok {
		a.made[name] = p
		return p, nil
	}
	spec := a.m.Providers[name]
	p, err := a.bare(name, spec)
	if err != nil {
		return nil, err
	}
	if spec.TextCalls {
		p = middleware.NewStack().Transform(middleware.TextCalls()).Build().Wrap(p)
	}
	if l := spec.Limits; l != nil {
		p = limit.New(p, limit.Config{
			Default: limit.Limits{Requests: int(l.RequestsPerMinute), Tokens: int(l.TokensPerMinute), Concurrent: int(l.Concurrency)},
			Model:   a.m.modelOf(name, ""), Logger: a.deps.Logger,
		})
	}
	if b := spec.Breaker; b != nil { // outside the limits: calls of a provider that is down do not queue
		p = limit.Breaker(p, limit.BreakerConfig{
			Name: name, Failures: uint32(b.Failures), OpenFor: b.OpenFor.value(), Logger: a.deps.Logger,
		})
	}
	a.made[name] = p
	return p, nil
}

// bare makes a provider without limits and breaker.
func (a *providers) bare(name string, p Provider) (provider.Provider, error) {
	key := a.m.secret(p.APIKey)
	switch p.Kind {
	case kindResponses:
		return responses.New(responses.Config{BaseURL: p.BaseURL, APIKey: key, Prices: p.priceList()}), nil
	case kindAnthropic:
		return anthropic.New(anthropic.Config{
			BaseURL: p.BaseURL, APIKey: key, Prices: p.priceList(), CachePrompt: p.CachePrompt,
		}), nil
	case kindOllama:
		return ollama.New(ollama.Config{BaseURL: p.BaseURL, APIKey: key}), nil
	case kindScripted:
		script, err := scripted.Load(a.m.path(p.Script))
		if err != nil {
			return nil, a.m.errorAt(err, "providers", name, "script")
		}
		return script, nil
	case kindRouter:
		return a.router(name, p)
	}
	return openai.New(openai.Config{BaseURL: p.BaseURL, APIKey: key, Prices: p.priceList()}), nil
}

func (a *providers) router(name string, p Provider) (provider.Provider, error) {
	var routes []router.Route
	for _, r := range p.routes() {
		var targets []router.Target
		for _, t := range r.targets() {
			made, err := a.get(t.Provider)
			if err != nil {
				return nil, err
			}
			targets = append(targets, router.Target{Provider: made, Model: t.Model})
		}
		routes = append(routes, router.Route{Prefixes: []string{r.Prefix}, Target: targets[0], Alternatives: targets[1:]})
	}
	made, err := router.New(routes...)
	if err != nil {
		return nil, a.m.errorAt(err, "providers", name)
	}
	return made.WithLogger(a.deps.Logger), nil
}

func (m *Manifest) secret(s *Secret) secret.Source {
	switch {
	case s == nil:
		return secret.None()
	case s.literal != "":
		return secret.Static(s.literal)
	case s.Env == "" && s.File == "":
		return secret.None()
	case s.Env != "":
		return secret.Env(s.Env)
	}
	return secret.File(m.path(s.File))
}
