package wire_test

import (
	"regexp"
	"strings"
	"testing"

	"github.com/skelegent/skelegent-go/protocol/wire"
)

// A token is valid in a NATS subject and in a key of a bucket, and is never a wildcard.
var tokenPattern = regexp.MustCompile(`^[A-Za-z0-9_=-]{1,200}$`)

var strange = []string{"", "=", "==", "a.b", "*", ">", "ü", "\x00", "=41", "a b", strings.Repeat(".", 67), strings.Repeat("a", 200), strings.Repeat("a", 201)}

// FuzzEscape: every string has one valid token of its own, which reads back.
func FuzzEscape(f *testing.F) {
	for i, s := range strange {
		f.Add(s, strange[len(strange)-1-i])
	}
	f.Fuzz(func(t *testing.T, a, b string) {
		ta, tb := wire.Escape(a), wire.Escape(b)
		if !tokenPattern.MatchString(ta) {
			t.Fatalf("%q has token %q", a, ta)
		}
		if (a == b) != (ta == tb) {
			t.Fatalf("%q has token %q, %q has %q", a, ta, b, tb)
		}
		back, err := wire.Unescape(ta)
		if wire.IsDigest(ta) != (err != nil) || err == nil && back != a {
			t.Fatalf("%q back from %q: %q, error %v", a, ta, back, err)
		}
	})
}

// FuzzUnescape: what is accepted is the token of what it is read as.
func FuzzUnescape(f *testing.F) {
	for _, s := range strange {
		f.Add(s)
		f.Add(wire.Escape(s))
	}
	f.Fuzz(func(t *testing.T, token string) {
		if s, err := wire.Unescape(token); err == nil && wire.Escape(s) != token {
			t.Fatalf("%q was read as %q, whose token is %q", token, s, wire.Escape(s))
		}
	})
}

// FuzzNames: subjects have as many tokens as they should, whatever the ids are, and a workflow id is what it is made of.
func FuzzNames(f *testing.F) {
	for i, s := range strange {
		f.Add("skg", "coder", s, strange[(i+5)%len(strange)])
	}
	f.Fuzz(func(t *testing.T, prefix, operator, instance, kind string) {
		n, err := wire.NewNames(prefix)
		if err != nil || wire.CheckOperator(operator) != nil {
			return
		}
		for subject, want := range map[string]int{
			n.Op(operator):                     3,
			n.Dead(operator):                   3,
			n.Effect(kind, operator, instance): 5,
			n.Done(operator, instance, kind):   6,
			n.Live(operator, instance, kind):   5,
			n.Signal(operator, instance, kind): 5,
			n.Query(operator, instance, kind):  5,
		} {
			tokens := strings.Split(subject, ".")
			if len(tokens) != want || tokens[0] != n.Prefix() {
				t.Fatalf("subject %q has %d tokens, want %d", subject, len(tokens), want)
			}
			for _, token := range tokens {
				if !tokenPattern.MatchString(token) {
					t.Fatalf("subject %q has token %q", subject, token)
				}
			}
		}
		if done := n.Done(operator, instance, kind); strings.TrimPrefix(n.Event(done), n.Prefix()+".event") != strings.TrimPrefix(done, n.Prefix()+".log") {
			t.Fatalf("event %q of %q", n.Event(done), done)
		}
		if op, inst, err := wire.ParseWorkflow(operator + "/" + instance); (err == nil) != (instance != "") || err == nil && (op != operator || inst != instance) {
			t.Fatalf("workflow %q/%q: %q %q, error %v", operator, instance, op, inst, err)
		}
	})
}
