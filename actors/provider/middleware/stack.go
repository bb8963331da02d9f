package middleware

import (
	"slices"

	"github.com/skelegent/skelegent-go/actors/provider"
)

// Builder collects middleware for a Stack: see NewStack. It is not safe for concurrent use.
type Builder struct{ observers, transformers, guards []Infer }

// NewStack begins a stack. Whatever the order of the calls, observers are outermost, then come transformers, then guards,
// then the provider; within a group the first added is the outermost.
func NewStack() *Builder { return &Builder{} }

// Observe adds middleware that only looks.
func (b *Builder) Observe(m ...Infer) *Builder {
	b.observers = append(b.observers, m...)
	return b
}

// Transform adds middleware that changes what passes.
func (b *Builder) Transform(m ...Infer) *Builder {
	b.transformers = append(b.transformers, m...)
	return b
}

// Guard adds middleware that may refuse.
func (b *Builder) Guard(m ...Infer) *Builder {
	b.guards = append(b.guards, m...)
	return b
}

// Build returns a stack of what was added so far. What is added later does not change it.
func (b *Builder) Build() Stack {
	return Stack{slices.Concat(b.observers, b.transformers, b.guards)}
}

// Stack is middleware for a provider. It is immutable; the zero value is empty.
type Stack struct{ layers []Infer }

// Wrap returns p behind the stack, or p itself if the stack is empty. The result is a Pricer and a Quoter if p is, also
// where p is so through what it wraps.
func (s Stack) Wrap(p provider.Provider) provider.Provider {
	if len(s.layers) == 0 {
		return p
	}
	next := Next(p.Infer)
	for _, m := range slices.Backward(s.layers) {
		next = layer(m, next)
	}
	return keepRoles(wrapped{Next: next, inner: p})
}

// Wrap returns p behind stack: see Stack.Wrap.
func Wrap(p provider.Provider, stack Stack) provider.Provider { return stack.Wrap(p) }
