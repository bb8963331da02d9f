package compose_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/skelegent/skelegent-go/actors/compose"
	"github.com/skelegent/skelegent-go/protocol"
)

func TestErrorTexts(t *testing.T) {
	t.Parallel()
	for want, c := range map[string]struct {
		err  *protocol.Error
		kind protocol.ErrorKind
		code protocol.Code
	}{
		"tool `x` not found in registry":                {compose.ErrToolNotFound("x"), compose.KindToolNotFound, protocol.CodeNotFound},
		"tool `x` is not authorised for this agent":     {compose.ErrToolNotAuthorised("x"), compose.KindToolNotAuthorised, protocol.CodePermissionDenied},
		"skill `x` not found in registry":               {compose.ErrSkillNotFound("x"), compose.KindSkillNotFound, protocol.CodeNotFound},
		"tool invocation failed: x":                     {compose.ErrToolFailed("x"), compose.KindToolFailed, protocol.CodeToolError},
		"tool not applicable: x":                        {compose.ErrToolNotApplicable("x"), compose.KindToolNotApplicable, protocol.CodeToolError},
		"skill execution failed: x":                     {compose.ErrSkillFailed("x"), compose.KindSkillFailed, protocol.CodeToolError},
		"invalid argument: x":                           {compose.ErrInvalidArgument("x"), compose.KindInvalidArgument, protocol.CodeInvalidInput},
		"tool-call normalizer failed: x":                {compose.ErrNormalizerFailed("x"), compose.KindNormalizerFailed, protocol.CodeInvalidInput},
		"tool dispatch terminated: x":                   {compose.ErrDispatchTerminated("x"), compose.KindDispatchTerminated, protocol.CodePermissionDenied},
		"budget failed: x":                              {compose.ErrBudgetFailed("x"), compose.KindBudgetFailed, protocol.CodeUnavailable},
		"invalid character 'x' looking for a thing":     {compose.ErrSerialization(errors.New("invalid character 'x' looking for a thing")), compose.KindSerialization, protocol.CodeInvalidInput},
		"invalid argument: transparent is not this one": {compose.ErrInvalidArgument("transparent is not this one"), compose.KindInvalidArgument, protocol.CodeInvalidInput},
	} {
		if c.err.Error() != want || c.err.Code != c.code || !errors.Is(c.err, &protocol.Error{Kind: c.kind}) {
			t.Errorf("%q: got %v, %s, %s", want, c.err, c.err.Code, c.err.Kind)
		}
		crossed, err := protocol.Marshal(c.err)
		noErr(t, err)
		var back protocol.Error
		noErr(t, protocol.Unmarshal(crossed, &back))
		if compose.KindOf(&back) != c.kind || back.Message != want {
			t.Errorf("%q: over the bus it is %v, %s", want, &back, back.Kind)
		}
	}
}

func TestKindOf(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		err  error
		want protocol.ErrorKind
	}{
		{nil, ""},
		{errBoom, ""},
		{context.Canceled, ""},
		{protocol.ErrToolFailed("x"), ""},
		{fmt.Errorf("wrapped: %w", compose.ErrSkillFailed("x")), compose.KindSkillFailed},
	} {
		if got := compose.KindOf(c.err); got != c.want {
			t.Errorf("%v: got %q", c.err, got)
		}
	}
}

func TestNewCall(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"get_weather", "math.add", "a-b", "A9", strings.Repeat("x", compose.MaxIdentifier)} {
		call, err := compose.NewCall("c1", name, nil)
		noErr(t, err)
		same(t, name, protocol.ToolCall{ID: "c1", Name: name, Input: []byte(`{}`)}, call)
	}
	for _, args := range []string{`[1]`, `"x"`, `7`, `null`} {
		call, err := compose.NewCall("", "x", []byte(args))
		if err != nil || string(call.Input) != args {
			t.Errorf("%s: got %s, %v", args, call.Input, err)
		}
	}
	for _, c := range []struct{ name, args, says string }{
		{"", "", "empty tool name"},
		{" \t", "", "empty tool name"},
		{"bad/name", "", "invalid tool name"},
		{"a b", "", "invalid tool name"},
		{"ü", "", "invalid tool name"},
		{strings.Repeat("x", compose.MaxIdentifier+1), "", "invalid tool name"},
		{"x", "{", "are not JSON"},
	} {
		_, err := compose.NewCall("", c.name, []byte(c.args))
		if e := wantKind(t, err, compose.KindNormalizerFailed); !strings.Contains(e.Message, c.says) || len(e.Message) > 200 {
			t.Errorf("%q: got %v", c.name, e)
		}
	}
}
