package main

import (
	"testing"

	"github.com/skelegent/skelegent-go/protocol"
)

func TestParseScope(t *testing.T) {
	t.Parallel()
	for s, want := range map[string]protocol.Scope{
		"global":                    protocol.GlobalScope(),
		"session/s1":                protocol.InSession("s1"),
		"session/a/b":               protocol.InSession("a/b"),
		"session//":                 protocol.InSession("/"),
		"workflow/coder/w1":         protocol.InWorkflow("coder/w1"),
		"workflow/coder/w/1":        protocol.InWorkflow("coder/w/1"),
		"operator//coder":           protocol.OfOperator("", "coder"),
		"operator/flow/coder":       protocol.OfOperator("flow", "coder"),
		"operator/coder/w1/coder":   protocol.OfOperator("coder/w1", "coder"),
		"operator/coder/w//1/coder": protocol.OfOperator("coder/w//1", "coder"),
		"custom/docs":               protocol.CustomScope("docs"),
		"custom/docs/a b":           protocol.CustomScope("docs/a b"),
	} {
		got, err := parseScope(s)
		if err != nil || got != want {
			t.Errorf("%q: got %v, %v, want %v", s, got, err, want)
		}
		if got.String() != s {
			t.Errorf("%q: written %q", s, got)
		}
	}
	for _, s := range []string{
		"", "/", "Global", "global/", "global/x", "session", "session/", "workflow", "workflow/", "custom", "custom/",
		"operator", "operator/", "operator/coder", "operator//", "operator/flow/", "operator/flow/Bad", "other/x", " global",
	} {
		if got, err := parseScope(s); err == nil {
			t.Errorf("%q: got %v, want an error", s, got)
		}
	}
}

func FuzzParseScope(f *testing.F) {
	for _, s := range []string{"global", "session/a/b", "workflow/op/i", "operator//op", "operator/op/i/op", "custom/x", "operator///", "\x00/"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		scope, err := parseScope(s)
		if err != nil {
			return
		}
		if scope.String() != s {
			t.Errorf("%q is read as %q", s, scope)
		}
		if again, err := parseScope(scope.String()); err != nil || again != scope {
			t.Errorf("%q: read again as %v, %v", s, again, err)
		}
	})
}
