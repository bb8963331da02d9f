package router

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"go.uber.org/zap"

	"github.com/skelegent/skelegent-go/actors/provider"
	"github.com/skelegent/skelegent-go/protocol"
)

// Router is a provider that asks others. It is safe for concurrent use.
type Router struct {
	paths []path // the longest prefix first
	log   *zap.Logger
}

var (
	_ provider.Provider = (*Router)(nil)
	_ provider.Pricer   = (*Router)(nil)
	_ provider.Quoter   = (*Router)(nil)
)

// New returns a router. The error says which route cannot be used: no two have the same prefix, and each target has a
// provider.
func New(routes ...Route) (*Router, error) {
	r := &Router{log: zap.NewNop()}
	seen := map[string]bool{}
	for i, route := range routes {
		if err := route.validate(); err != nil {
			return nil, fmt.Errorf("route %d: %w", i, err)
		}
		for _, prefix := range route.Prefixes {
			if seen[prefix] {
				return nil, fmt.Errorf("route %d: there is another one with the prefix %q", i, prefix)
			}
			seen[prefix] = true
			r.paths = append(r.paths, path{prefix: prefix, targets: route.targets(), also: slices.Clone(route.Also)})
		}
	}
	slices.SortStableFunc(r.paths, func(a, b path) int { return cmp.Compare(len(b.prefix), len(a.prefix)) })
	return r, nil
}

// WithLogger returns a router with the same routes that logs when an alternative is tried.
func (r *Router) WithLogger(log *zap.Logger) *Router {
	return &Router{paths: r.paths, log: log.Named("router")}
}

// find returns the path of model and the name that its targets are asked for. The error is an invalid request.
func (r *Router) find(model string) (path, string, error) {
	for _, p := range r.paths {
		if name, ok := p.fits(model); ok {
			return p, name, nil
		}
	}
	known := make([]string, 0, len(r.paths))
	for _, p := range r.paths {
		known = append(known, p.prefix)
	}
	slices.Sort(known)
	return path{}, "", protocol.ErrInvalidRequest(
		fmt.Sprintf("no provider for model %q; the prefixes are %s", clip(model), strings.Join(known, ", ")), 0)
}

// Infer implements provider.Provider. Its errors are those of the providers, and an invalid request where no route is for
// the model.
func (r *Router) Infer(
	ctx context.Context, req protocol.InferRequest, sink func(protocol.StreamEvent),
) (protocol.InferResponse, error) {
	p, name, err := r.find(req.Model)
	if err != nil {
		return protocol.InferResponse{}, err
	}
	seen := &watch{sink: sink}
	var failed failures
	for i, t := range p.targets {
		req.Model = orElse(t.Model, name)
		resp, err := t.Provider.Infer(ctx, req, seen.events())
		if err == nil {
			resp.Model = orElse(resp.Model, req.Model)
			return resp, nil
		}
		failed.add(req.Model, err)
		if ctx.Err() != nil || seen.answer {
			return resp, err
		}
		e := protocol.AsError(err)
		if !p.passes(e) {
			break
		}
		if i+1 < len(p.targets) {
			r.log.Warn("model call failed, an alternative is asked", zap.String("model", clip(req.Model)),
				zap.String("next", clip(orElse(p.targets[i+1].Model, name))), zap.String("code", string(e.Code)),
				zap.String("kind", string(e.Kind)))
		}
	}
	return protocol.InferResponse{}, failed.err()
}

// watch notes whether a piece of the answer was streamed.
type watch struct {
	sink   func(protocol.StreamEvent)
	answer bool
}

// events is the sink of a target; nil where nothing is streamed.
func (w *watch) events() func(protocol.StreamEvent) {
	if w.sink == nil {
		return nil
	}
	return func(ev protocol.StreamEvent) {
		if _, ok := ev.(protocol.UsageEvent); !ok { // the count so far, which the next one replaces
			w.answer = true
		}
		w.sink(ev)
	}
}

// failures are what the targets of a call said.
type failures struct {
	errs   []error
	models []string
}

func (f *failures) add(model string, err error) {
	f.errs, f.models = append(f.errs, err), append(f.models, model)
}

// err is the failure that promises the earliest success, the first if none does. With others beside it, its text
// names them.
func (f *failures) err() error {
	best := 0
	for i := range f.errs {
		if sooner(protocol.AsError(f.errs[i]), protocol.AsError(f.errs[best])) {
			best = i
		}
	}
	if len(f.errs) == 1 {
		return f.errs[0]
	}
	e := protocol.AsError(f.errs[best]).Because(errors.Join(f.errs...))
	var others []string
	for i, err := range f.errs {
		if i != best {
			others = append(others, fmt.Sprintf("%q: %s", clip(f.models[i]), what(protocol.AsError(err))))
		}
	}
	e.Message = fmt.Sprintf("%s (model %q; others failed too: %s)", e.Message, clip(f.models[best]), strings.Join(others, ", "))
	return e
}

func sooner(a, b *protocol.Error) bool {
	if a.Retryable != b.Retryable {
		return a.Retryable
	}
	return a.Retryable && a.RetryAfter < b.RetryAfter
}

// what names a failure without what its text says.
func what(e *protocol.Error) string { return orElse(string(e.Kind), string(e.Code)) }

func orElse(s, other string) string {
	if s == "" {
		return other
	}
	return s
}

// maxName is as much of a model's name as is shown; names come from inputs and may be anything.
const maxName = 128

func clip(name string) string { return name[:min(len(name), maxName)] }
