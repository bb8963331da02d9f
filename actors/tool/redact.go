package tool

import (
	"cmp"
	"strings"
)

// DefaultReplacement is what stands in the place of a value that was redacted.
const DefaultReplacement = "[redacted]"

// Redaction says which values of a result are replaced, by their JSON Pointers. Names of members stay as they are. The zero
// value replaces nothing.
type Redaction struct {
	// Deny are replaced, also where they are allowed.
	Deny []Deny `json:"deny,omitempty"`
	// Allow, if not nil, are the only values that stay: these, what is in them, and the objects and arrays that they are in.
	// All else is replaced, also a string or a number where something that it cannot hold was to be allowed in it.
	Allow []string `json:"allow,omitempty"`
	// Replacement is DefaultReplacement if empty.
	Replacement string `json:"replacement,omitempty"`
}

// Deny is one value that is replaced.
type Deny struct {
	Pointer string `json:"pointer"`
	// Replacement is that of the Redaction if empty.
	Replacement string `json:"replacement,omitempty"`
}

// Func is the redaction as Bounds.Redact, nil if it replaces nothing. Later changes of r do not count.
func (r Redaction) Func() func(pointer string, value any) (any, bool) {
	if len(r.Deny) == 0 && r.Allow == nil {
		return nil
	}
	otherwise := cmp.Or(r.Replacement, DefaultReplacement)
	deny := make(map[string]string, len(r.Deny))
	for _, d := range r.Deny {
		deny[d.Pointer] = cmp.Or(d.Replacement, otherwise)
	}
	var allow allowList
	if r.Allow != nil {
		allow = append(allowList{}, r.Allow...)
	}
	return func(pointer string, value any) (any, bool) {
		if with, denied := deny[pointer]; denied {
			return with, true
		}
		if allow != nil && !allow.keep(pointer, value) {
			return otherwise, true
		}
		return nil, false
	}
}

// allowList are the pointers that are allowed.
type allowList []string

func (a allowList) keep(pointer string, value any) bool {
	holds := false
	switch value.(type) {
	case map[string]any, []any:
		holds = true
	}
	for _, p := range a {
		if pointer == p || isIn(pointer, p) || holds && isIn(p, pointer) {
			return true
		}
	}
	return false
}

// isIn reports whether a value is somewhere in another one.
func isIn(pointer, other string) bool {
	return len(pointer) > len(other) && strings.HasPrefix(pointer, other) && pointer[len(other)] == '/'
}

// RedactPointers is a Bounds.Redact that replaces the values at these JSON Pointers by "[redacted]".
func RedactPointers(pointers ...string) func(string, any) (any, bool) {
	deny := make([]Deny, len(pointers))
	for i, p := range pointers {
		deny[i].Pointer = p
	}
	redact := Redaction{Deny: deny}.Func()
	if redact == nil {
		return func(string, any) (any, bool) { return nil, false }
	}
	return redact
}
