package compose_test

import (
	"context"
	"encoding/json"
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"github.com/skelegent/skelegent-go/actors/compose"
	"github.com/skelegent/skelegent-go/actors/tool"
	"github.com/skelegent/skelegent-go/protocol"
)

// What functions of tests are about, in short.
type (
	investigation = compose.Investigation
	registry      = compose.Tools
	outcome       = compose.Outcome
	output        = protocol.OperatorOutput
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// wantKind fails the test unless err is of that kind, and returns it.
func wantKind(t *testing.T, err error, kind protocol.ErrorKind) *protocol.Error {
	t.Helper()
	if compose.KindOf(err) != kind {
		t.Fatalf("got %v of kind %q, want kind %q", err, compose.KindOf(err), kind)
	}
	return protocol.AsError(err)
}

func noErr(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func same(t *testing.T, what string, want, got any) {
	t.Helper()
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("%s: %s", what, d)
	}
}

// raw is a tool that takes any object.
func raw(
	t *testing.T, name string, f func(ctx context.Context, in json.RawMessage) (tool.Result, error), opts ...tool.Option,
) tool.Tool {
	t.Helper()
	x, err := tool.Raw(protocol.ToolMetadata{Name: name, Description: "It is " + name + "."}, f, opts...)
	noErr(t, err)
	return x
}

// saying is a tool whose result is that JSON.
func saying(t *testing.T, name, output string, opts ...tool.Option) tool.Tool {
	t.Helper()
	return raw(t, name, func(context.Context, json.RawMessage) (tool.Result, error) {
		return tool.Result{Output: json.RawMessage(output)}, nil
	}, opts...)
}

func failing(t *testing.T, name string, err error) tool.Tool {
	t.Helper()
	return raw(t, name, func(context.Context, json.RawMessage) (tool.Result, error) { return tool.Result{}, err })
}

func tools(t *testing.T, all ...tool.Tool) *compose.Tools {
	t.Helper()
	r, err := compose.NewTools(all...)
	noErr(t, err)
	return r
}

// giving is a skill that gives that outcome.
func giving(id string, o compose.Outcome, opts ...compose.SkillOption) compose.Skill {
	return compose.NewSkill(id, func(context.Context, *investigation, *registry) (outcome, error) {
		return o, nil
	}, opts...)
}

// erring is a skill that raises the signal touched and fails.
func erring(id string, err error) compose.Skill {
	return compose.NewSkill(id, func(_ context.Context, inv *investigation, _ *registry) (outcome, error) {
		inv.AddSignal("touched")
		return compose.Delta(0.5), err
	})
}

// chain is an agent that runs the skills in that order.
func chain(t *testing.T, cfg compose.AgentConfig, view *compose.Tools, all ...compose.Skill) *compose.ChainAgent {
	t.Helper()
	skills, err := compose.NewSkills(all...)
	noErr(t, err)
	if cfg.Skills == nil {
		for _, s := range all {
			cfg.Skills = append(cfg.Skills, s.ID())
		}
	}
	a, err := compose.NewAgent("triage", skills, view, cfg)
	noErr(t, err)
	return a
}

func begin() *compose.Investigation { return compose.NewInvestigation("entity-1", "default") }

var errBoom = errors.New("boom")
