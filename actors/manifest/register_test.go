package manifest_test

import (
	"context"
	"errors"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/skelegent/skelegent-go/actors"
	"github.com/skelegent/skelegent-go/actors/effect"
	"github.com/skelegent/skelegent-go/actors/manifest"
	"github.com/skelegent/skelegent-go/protocol"
	"github.com/skelegent/skelegent-go/state/memory"
)

// registry is a manifest.Registry that keeps what it is given.
type registry struct {
	operators map[protocol.OperatorID]protocol.Operator
	options   map[protocol.OperatorID][]actors.Option
	order     []string
	effects   map[string]effect.Options
	executors map[string]effect.Executor
	refuse    error
}

func newRegistry() *registry {
	return &registry{
		operators: map[protocol.OperatorID]protocol.Operator{}, options: map[protocol.OperatorID][]actors.Option{},
		effects: map[string]effect.Options{}, executors: map[string]effect.Executor{},
	}
}

func (r *registry) Register(id protocol.OperatorID, op protocol.Operator, opts ...actors.Option) error {
	r.order = append(r.order, string(id))
	r.operators[id], r.options[id] = op, opts
	return r.refuse
}

func (r *registry) RegisterEffect(effectType string, e effect.Executor, opts effect.Options) error {
	r.order = append(r.order, effectType)
	r.executors[effectType], r.effects[effectType] = e, opts
	return r.refuse
}

const all = `
providers:
  main: {kind: openai, prices: {m: {input: 1, output: 2}}}
operators:
  writer: {provider: main, model: m, description: Writes., tools: [clock, time], limits: {max_cost: 1}, concurrency: 3, waiting: -1, timeout: 5s}
  time: {kind: tool, tool: clock}
  one: {kind: single_shot, provider: main, model: m}
  script: {kind: exec, command: [cat], description: Repeats., timeout: 1m}
effects:
  mail: {kind: exec, command: [./deliver], idempotent: true, concurrency: 2, attempts: 7, backoff: 20ms, timeout: 3s}
  plain: {kind: exec, command: [deliver]}
`

func TestRegister(t *testing.T) {
	t.Parallel()
	m := parse(t, all)
	r := newRegistry()
	if err := m.Register(t.Context(), r, manifest.Deps{}); err != nil {
		t.Fatal(err)
	}
	if want := []string{"one", "script", "time", "writer", "mail", "plain"}; !slices.Equal(r.order, want) {
		t.Errorf("registered %v, want %v", r.order, want)
	}
	want := map[string]effect.Options{
		"mail":  {Idempotent: true, Concurrency: 2, Attempts: 7, Backoff: 20 * time.Millisecond, Timeout: 3 * time.Second},
		"plain": {},
	}
	if diff := cmp.Diff(want, r.effects); diff != "" {
		t.Errorf("effects (-want +got):\n%s", diff)
	}
	for id, op := range r.operators {
		if op == nil {
			t.Errorf("operator %s is nil", id)
		}
	}
	for id, e := range r.executors {
		if e == nil {
			t.Errorf("executor %s is nil", id)
		}
	}
}

// The options are those of the node; what they make of an operator is what discovery shows.
func TestRegisteredOptions(t *testing.T) {
	t.Parallel()
	conn := bed(t, all, bedConfig{})
	found, err := conn.Operators(testContext(t), 200*time.Millisecond)
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]map[string]string{}
	for _, s := range found {
		maps.DeleteFunc(s.Metadata, func(k, _ string) bool {
			return !slices.Contains([]string{"kind", "model", "concurrency", "waiting"}, k)
		})
		s.Metadata["description"] = s.Description
		got[s.Name] = s.Metadata
	}
	want := map[string]map[string]string{
		"writer": {"kind": "agent", "model": "m", "concurrency": "3", "waiting": "0", "description": "Writes."},
		"time":   {"kind": "tool", "concurrency": "64", "waiting": "640", "description": ""},
		"one":    {"kind": "single_shot", "model": "m", "concurrency": "64", "waiting": "640", "description": ""},
		"script": {"kind": "exec", "concurrency": "64", "waiting": "640", "description": "Repeats."},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("discovery (-want +got):\n%s", diff)
	}
}

func TestRegisterFails(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct{ name, in, want string }{
		{"recall without state", model + "operators:\n  a: {provider: main, tools: [recall]}\n", "4: operators.a.tools: tool recall needs a state store"},
		{"recall as operator without state", "operators:\n  a: {kind: tool, tool: recall}\n", "2: operators.a: tool recall needs a state store"},
		{"money limit without a price", model + "operators:\n  a: {provider: main, model: unheard, limits: {max_cost: 1}}\n", `4: operators.a: agent "a": there is a money limit, but the price of model "unheard" is not known`},
		{"money ceiling without a price", model + "operators:\n  a: {kind: single_shot, provider: main, model: unheard, ceiling: {max_cost: 1}}\n", `4: operators.a: agent "a": there is a money limit`},
		{"no script", "providers:\n  p: {kind: scripted,\n    script: none.yaml}\n", "3: providers.p.script: "},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			m, err := manifest.Parse([]byte(tc.in), "dir/x.yaml", "dir")
			if err != nil {
				t.Fatal(err)
			}
			err = m.Register(t.Context(), newRegistry(), manifest.Deps{})
			if err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Fatalf("error is\n  %v\nwant\n  dir/x.yaml:%s", err, tc.want)
			}
			oneLine(t, err)
		})
	}
	r := newRegistry()
	r.refuse = errors.New("taken")
	for section, in := range map[string]string{
		"operators.a": "operators:\n  a: {kind: exec, command: [x]}\n",
		"effects.a":   "effects:\n  a: {kind: exec, command: [x]}\n",
	} {
		err := parse(t, in).Register(t.Context(), r, manifest.Deps{})
		if want := "dir/x.yaml:2: " + section + ": taken"; err == nil || err.Error() != want || !errors.Is(err, r.refuse) {
			t.Errorf("error %v, want %s", err, want)
		}
	}
}

func TestWithStateEverythingIsThere(t *testing.T) {
	t.Parallel()
	in := model + "operators:\n  a: {provider: main, tools: [recall, remember, clock, {tool: clock, as: time}, {operator: elsewhere}]}\n"
	if err := parse(t, in).Register(t.Context(), newRegistry(), manifest.Deps{State: memory.New(memory.Config{})}); err != nil {
		t.Error(err)
	}
}

// Paths are relative to the manifest, wherever the process runs.
func TestRelativePaths(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	write := func(name, content string, mode os.FileMode) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(dir, name), []byte(content), mode); err != nil {
			t.Fatal(err)
		}
	}
	write("skelegent.yaml", `
providers: {main: {kind: scripted, script: script.yaml}}
operators:
  agent: {provider: main}
  program: {kind: exec, command: [./program]}
  path: {kind: exec, command: [cat, note]}
`, 0o600)
	write("script.yaml", "steps: [{text: from the script}]\n", 0o600)
	write("program", "#!/bin/sh\npwd\n", 0o700)
	write("note", "from the note\n", 0o600)
	m, err := manifest.Load(filepath.Join(dir, "skelegent.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	r := newRegistry()
	if err := m.Register(t.Context(), r, manifest.Deps{}); err != nil {
		t.Fatal(err)
	}
	real, err := filepath.EvalSymlinks(dir)
	if err != nil {
		t.Fatal(err)
	}
	for id, want := range map[protocol.OperatorID]string{"agent": "from the script", "program": real, "path": "from the note"} {
		out, err := r.operators[id].Execute(context.Background(), protocol.Text("x"))
		if got, _ := out.Message.AsText(); err != nil || got != want {
			t.Errorf("%s = %q, %v; want %q", id, got, err, want)
		}
	}
}

func parse(t testing.TB, in string) *manifest.Manifest {
	t.Helper()
	m, err := manifest.Parse([]byte(in), "dir/x.yaml", t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	return m
}
