package manifest

import (
	"go.yaml.in/yaml/v3"

	"github.com/skelegent/skelegent-go/actors/provider"
)

// The kinds of provider.
const (
	kindOpenAI    = "openai"
	kindResponses = "responses"
	kindAnthropic = "anthropic"
	kindOllama    = "ollama"
	kindScripted  = "scripted"
	kindRouter    = "router"
)

// Provider is how to reach models.
type Provider struct {
	Kind        string           `yaml:"kind"`
	BaseURL     string           `yaml:"base_url"`
	APIKey      *Secret          `yaml:"api_key"`
	Prices      map[string]Price `yaml:"prices"`
	CachePrompt bool             `yaml:"cache_prompt"`
	TextCalls   bool             `yaml:"text_calls"` // the model writes its calls as text, between LFM's markers
	Script      string           `yaml:"script"`     // the path of a scripted provider's script
	Routes      []Route          `yaml:"routes"`     // of a router
	Default     *Route           `yaml:"default"`    // of a router: for all models that no other route is for
	Limits      *RateLimits      `yaml:"limits"`     // of all agents of the node together
	Breaker     *Breaker         `yaml:"breaker"`    // none unless it is named
}

// providerKeys are the keys that not all kinds have.
var providerKeys = map[string][]string{
	"base_url":     {kindOpenAI, kindResponses, kindAnthropic, kindOllama},
	"api_key":      {kindOpenAI, kindResponses, kindAnthropic, kindOllama},
	"prices":       {kindOpenAI, kindResponses, kindAnthropic},
	"cache_prompt": {kindAnthropic},
	"text_calls":   {kindOpenAI, kindResponses, kindAnthropic, kindOllama, kindScripted},
	"script":       {kindScripted},
	"routes":       {kindRouter},
	"default":      {kindRouter},
}

// RateLimits bound the calls of each model of a provider. What is not given bounds nothing.
type RateLimits struct {
	RequestsPerMinute Count `yaml:"requests_per_minute"`
	TokensPerMinute   Count `yaml:"tokens_per_minute"` // input and output together
	Concurrency       Count `yaml:"concurrency"`
}

// Breaker says when a provider is not asked for a while.
type Breaker struct {
	Failures Count     `yaml:"failures"` // in a row; 5 if not given
	OpenFor  *Duration `yaml:"open_for"` // 30 seconds if not given
}

// Route is where a router sends the requests for some models.
type Route struct {
	Prefix   string   `yaml:"prefix"` // of the models' names; one that ends in a colon is taken off
	Provider string   `yaml:"provider"`
	Model    string   `yaml:"model"` // the one of the request if empty
	Fallback []Target `yaml:"fallback"`

	line int
}

// UnmarshalYAML reads the name of a provider or a mapping, strictly.
func (r *Route) UnmarshalYAML(n *yaml.Node) error {
	r.line = n.Line
	switch n.Kind {
	case yaml.ScalarNode:
		r.Provider = n.Value
		return nil
	case yaml.MappingNode:
		type plain Route
		return decodeMapping(n, (*plain)(r), "prefix", "provider", "model", "fallback")
	default:
		return errorOf(n, "a route must be {prefix: TEXT, provider: NAME}")
	}
}

// targets are all that the route can lead to.
func (r Route) targets() []Target {
	return append([]Target{{Provider: r.Provider, Model: r.Model, line: r.line}}, r.Fallback...)
}

// Target is a provider, and the model that it is asked for.
type Target struct {
	Provider string `yaml:"provider"`
	Model    string `yaml:"model"` // the one of the request if empty

	line int
}

// UnmarshalYAML reads the name of a provider or a mapping, strictly.
func (t *Target) UnmarshalYAML(n *yaml.Node) error {
	t.line = n.Line
	switch n.Kind {
	case yaml.ScalarNode:
		t.Provider = n.Value
		return nil
	case yaml.MappingNode:
		type plain Target
		return decodeMapping(n, (*plain)(t), "provider", "model")
	default:
		return errorOf(n, "a fallback must be the name of a provider or {provider: NAME, model: NAME}")
	}
}

// routes are those of a router, the default as the last.
func (p Provider) routes() []Route {
	all := p.Routes[:len(p.Routes):len(p.Routes)]
	if p.Default != nil {
		all = append(all, *p.Default)
	}
	return all
}

// leadsTo are the providers that a router may ask.
func (p Provider) leadsTo() (names []string) {
	for _, r := range p.routes() {
		for _, t := range r.targets() {
			names = append(names, t.Provider)
		}
	}
	return names
}

// priceList returns the prices as the provider takes them: nil stays nil, which is the provider's own list.
func (p Provider) priceList() provider.Prices {
	if p.Prices == nil {
		return nil
	}
	all := make(provider.Prices, len(p.Prices))
	for model, price := range p.Prices {
		all[model] = provider.Price{
			Input: *price.Input.value(), Output: *price.Output.value(),
			Cached: price.Cached.value(), CacheWrite: price.CacheWrite.value(),
		}
	}
	return all
}
