package scripted_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/skelegent/skelegent-go/actors/provider/scripted"
	"github.com/skelegent/skelegent-go/protocol"
)

func TestLeft(t *testing.T) {
	t.Parallel()
	p := scripted.New(scripted.Step{Text: "a"}, scripted.Step{Text: "b", Repeat: 2}, scripted.Step{Text: "c", Repeat: -1})
	for _, want := range []string{"a b", "b", "b", ""} {
		var left []string
		for _, s := range p.Left() {
			left = append(left, s.Text)
		}
		if got := strings.Join(left, " "); got != want {
			t.Errorf("after %d calls %q is left, want %q", p.Calls(), got, want)
		}
		say(t, p, user("x"))
	}
	p = scripted.FromScript(scripted.Script{Mode: scripted.ModeMatch, Steps: []scripted.Step{{Text: "a"}, {Text: "b", Repeat: 1}}})
	if left := p.Left(); len(left) != 1 || left[0].Text != "b" {
		t.Errorf("got %v", left)
	}
}

func TestMatchByFunction(t *testing.T) {
	t.Parallel()
	long := &scripted.Match{Func: func(req protocol.InferRequest) bool { return len(req.Messages) > 1 }}
	p := scripted.New(scripted.Step{Match: long, Text: "long"}, scripted.Step{Match: &scripted.Match{LastUserContains: "x"}, Text: "short"})
	if got := say(t, p, user("x")) + say(t, p, user("a"), user("b")); got != "shortlong" {
		t.Errorf("got %q", got)
	}
	_, err := infer(t, p, user("a"))
	if !errors.Is(err, scripted.ErrNoStep) || protocol.CodeOf(err) != protocol.CodeInvalidInput {
		t.Errorf("got %v", err)
	}
}
