package manifest

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"net/url"
	"regexp"
	"slices"
	"strings"
)

// The bounds of a router.
const (
	maxRoutes    = 100
	maxFallbacks = 8
	maxRouters   = 3 // one within the other
)

func (m *Manifest) validateProviders() error {
	names := slices.Sorted(maps.Keys(m.Providers))
	for _, name := range names {
		if err := m.validateProvider(m.Providers[name]); err != nil {
			return m.errorAt(err, "providers", name)
		}
	}
	next := func(name string) []string { return m.Providers[name].leadsTo() }
	if way := cycle(names, next); way != nil {
		return m.errorAt(fmt.Errorf("the router leads back to itself: %s", strings.Join(way, ", ")), "providers", way[0])
	}
	deep := map[string]int{}
	for _, name := range names {
		if m.routersIn(name, deep) > maxRouters {
			return m.errorAt(fmt.Errorf("more than %d routers, one within the other", maxRouters), "providers", name)
		}
	}
	return nil
}

// routersIn is how many routers are one within the other. The providers have no cycle; known is what was found already.
func (m *Manifest) routersIn(name string, known map[string]int) int {
	if n, ok := known[name]; ok {
		return n
	}
	n := 0
	for _, next := range m.Providers[name].leadsTo() {
		n = max(n, m.routersIn(next, known))
	}
	if m.Providers[name].Kind == kindRouter {
		n++
	}
	known[name] = n
	return n
}

// envPattern is what can be the name of a variable. It keeps out keys that were put there by mistake: the name is in errors.
var envPattern = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)

func (m *Manifest) validateProvider(p Provider) error {
	if err := oneOf("kind", p.Kind, kindOpenAI, kindResponses, kindAnthropic, kindOllama, kindScripted, kindRouter); err != nil {
		return at(err, "kind")
	}
	if key, kinds := misplaced(p, p.Kind, providerKeys); key != "" {
		return at(isFor(kinds), key)
	}
	switch {
	case p.Kind == kindScripted && p.Script == "":
		return at(errors.New("a scripted provider needs the path of its script"), "script")
	case p.APIKey != nil && (p.APIKey.Env == "") == (p.APIKey.File == ""):
		return at(errors.New(secretForms), "api_key")
	case p.APIKey != nil && p.APIKey.Env != "" && !envPattern.MatchString(p.APIKey.Env):
		return at(errors.New("must be the name of an environment variable"), "api_key", "env")
	case p.Limits != nil && *p.Limits == (RateLimits{}):
		return at(errors.New("needs requests_per_minute, tokens_per_minute or concurrency"), "limits")
	}
	if u, err := url.Parse(p.BaseURL); p.BaseURL != "" && (err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https") {
		return at(errors.New("must be an http or https address"), "base_url")
	}
	for _, model := range slices.Sorted(maps.Keys(p.Prices)) {
		if price := p.Prices[model]; price.Input == nil || price.Output == nil {
			return at(errors.New(`needs input and output; what costs nothing costs "0"`), "prices", model)
		}
	}
	if p.Kind == kindRouter {
		return m.validateRouter(p)
	}
	return nil
}

func (m *Manifest) validateRouter(p Provider) error {
	switch {
	case len(p.routes()) == 0:
		return at(errors.New("a router needs routes or a default"), "routes")
	case len(p.Routes) > maxRoutes:
		return at(fmt.Errorf("more than %d routes", maxRoutes), "routes")
	}
	seen := map[string]bool{}
	for _, r := range p.Routes {
		switch {
		case r.Prefix == "":
			return at(&lineError{errors.New("a route needs a prefix; default is for all other models"), r.line}, "routes")
		case seen[r.Prefix]:
			return at(&lineError{fmt.Errorf("there are two routes with the prefix %.100q", r.Prefix), r.line}, "routes")
		}
		seen[r.Prefix] = true
		if err := m.validateRoute(r); err != nil {
			return at(err, "routes")
		}
	}
	if p.Default == nil {
		return nil
	}
	if p.Default.Prefix != "" {
		return at(errors.New("the default has no prefix"), "default")
	}
	return at(m.validateRoute(*p.Default), "default")
}

func (m *Manifest) validateRoute(r Route) error {
	if len(r.Fallback) > maxFallbacks {
		return &lineError{fmt.Errorf("more than %d fallbacks", maxFallbacks), r.line}
	}
	for _, t := range r.targets() {
		if t.Provider == "" {
			return &lineError{errors.New("needs a provider"), t.line}
		}
		if _, ok := m.Providers[t.Provider]; !ok {
			return &lineError{fmt.Errorf("there is no provider %.100q", t.Provider), t.line}
		}
	}
	return nil
}

// cycle returns a way from one of names by next back to where it began, that one first and last; nil if there is none.
func cycle(names []string, next func(string) []string) []string {
	const under, over = 1, 2
	state := map[string]int{}
	var way []string
	var visit func(name string) bool
	visit = func(name string) bool {
		way = append(way, name)
		state[name] = under
		for _, n := range next(name) {
			switch state[n] {
			case under:
				way = append(way[slices.Index(way, n):], n)
				return true
			case over:
				continue
			}
			if visit(n) {
				return true
			}
		}
		state[name] = over
		way = way[:len(way)-1]
		return false
	}
	for _, name := range names {
		if state[name] == 0 && visit(name) {
			return way
		}
	}
	return nil
}

// modelOf is the model that a provider is asked for; empty if nobody can say.
func (m *Manifest) modelOf(providerName, model string) string {
	if model != "" {
		return model
	}
	p := m.Providers[providerName]
	if p.Kind == kindRouter {
		if p.Default == nil {
			return ""
		}
		return m.modelOf(p.Default.Provider, p.Default.Model)
	}
	return cmp.Or(model, defaultModels[p.Kind])
}
