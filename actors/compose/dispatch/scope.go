package dispatch

import (
	"context"
	"sync"

	"github.com/skelegent/skelegent-go/protocol"
)

// Scoped is an operator, such as an agent, each execution of which is a Scope: however it ends, also where a durable run only waits or
// moves to another node, hooks of Rules that still wait are told before Execute returns.
func Scoped(op protocol.Operator) protocol.Operator {
	s := scoped{op}
	if d, ok := op.(describer); ok {
		return described{s, d}
	}
	return s
}

type scoped struct{ op protocol.Operator }

// Execute implements protocol.Operator.
func (s scoped) Execute(ctx context.Context, in protocol.OperatorInput) (protocol.OperatorOutput, error) {
	ctx, end := Scope(ctx)
	defer end()
	return s.op.Execute(ctx, in)
}

// describer is the role of an operator that says what it asks a model, for the record of its runs.
type describer interface {
	Describe() (model, systemPrompt string)
}

type described struct {
	scoped
	describer
}

// Scope returns a context for one execution of a run, and for what it calls, and what to call when that returns or panics: then hooks
// of Rules that still wait are told. See Scoped.
//
//	ctx, end := dispatch.Scope(ctx)
//	defer end()
//	return agent.Execute(ctx, in)
func Scope(ctx context.Context) (context.Context, func()) {
	s := &scope{}
	return context.WithValue(ctx, scopeKey{}, s), func() { s.end(context.WithoutCancel(ctx)) }
}

type scopeKey struct{}

// scope has the runs in it.
type scope struct {
	mu    sync.Mutex
	runs  []*calls
	ended bool
}

func (s *scope) add(c *calls) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.ended {
		s.runs = append(s.runs, c)
	}
}

func (s *scope) end(ctx context.Context) {
	s.mu.Lock()
	runs := s.runs
	s.runs, s.ended = nil, true
	s.mu.Unlock()
	for _, c := range runs {
		c.leave(ctx)
	}
}
