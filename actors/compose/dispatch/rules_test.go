package dispatch_test

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/skelegent/skelegent-go/actors/agent"
	"github.com/skelegent/skelegent-go/actors/budget"
	"github.com/skelegent/skelegent-go/actors/compose/dispatch"
	"github.com/skelegent/skelegent-go/actors/engine"
	"github.com/skelegent/skelegent-go/actors/rule"
	"github.com/skelegent/skelegent-go/actors/run"
	"github.com/skelegent/skelegent-go/actors/step/steptest"
	"github.com/skelegent/skelegent-go/actors/tool"
	"github.com/skelegent/skelegent-go/protocol"
)

// model asks for one group of calls after the other, by how far the conversation has come, and then says done.
type model struct {
	turns [][]protocol.ToolCall

	mu   sync.Mutex
	told []string // the results, as the model was told them last
}

func (m *model) Infer(_ context.Context, req protocol.InferRequest, _ func(protocol.StreamEvent)) (protocol.InferResponse, error) {
	turn, told := 0, []string(nil)
	for _, msg := range req.Messages {
		if msg.Role == protocol.RoleAssistant {
			turn++
		}
		for _, b := range msg.Content.Blocks() {
			if r, ok := b.(protocol.ToolResultBlock); ok {
				told = append(told, r.Content)
			}
		}
	}
	m.mu.Lock()
	m.told = told
	m.mu.Unlock()
	r := protocol.InferResponse{Content: protocol.TextContent("done"), StopReason: protocol.StopEndTurn, Cost: &protocol.Decimal{}}
	if turn < len(m.turns) {
		r.ToolCalls, r.StopReason = slices.Clone(m.turns[turn]), protocol.StopToolUse
		for i := range r.ToolCalls {
			r.ToolCalls[i].ID += strings.Repeat("+", turn) + strings.Repeat("-", i)
		}
	}
	return r, nil
}

func turn(calls ...protocol.ToolCall) []protocol.ToolCall { return calls }

func build(t testing.TB, cfg agent.Config) *agent.Agent {
	t.Helper()
	a, err := agent.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

// execute is a run.
func execute(t testing.TB, cfg agent.Config) protocol.OperatorOutput {
	t.Helper()
	out, err := build(t, cfg).Execute(t.Context(), protocol.Text("go"))
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func wantExit(t testing.TB, out protocol.OperatorOutput, want string) {
	t.Helper()
	if got := out.ExitReason.String(); got != want {
		t.Errorf("the run ended as %s, want %s", got, want)
	}
}

func TestRulesGoAroundTheCallsOfAnAgent(t *testing.T) {
	t.Parallel()
	l, b := &log{}, budget.NewCounter(2)
	var during []uint64
	x := do{"x", func(context.Context, json.RawMessage) (tool.Result, error) {
		during = append(during, b.Available())
		return tool.Result{Output: json.RawMessage(`{"n":1}`)}, nil
	}}
	a := &hook{name: "a", log: l, after: func(r dispatch.Result, o dispatch.Outcome) error {
		l.add(string(r.Output), string(o.Kind))
		return nil
	}}
	m := &model{turns: [][]protocol.ToolCall{turn(call("x", `{}`)), turn(call("say", `{}`))}}
	out := execute(t, agent.Config{
		Provider: m, Tools: []tool.Tool{x, returns("say", `"hello"`)}, Rules: dispatch.Rules(50, a, dispatch.BudgetHook(b, 1)),
	})
	wantExit(t, out, "complete")
	wantLog(t, l, `a:before:x a:after:x {"n":1}:completed a:before:say a:after:say "hello":completed`)
	if b.Available() != 2 || !slices.Equal(during, []uint64{1}) {
		t.Errorf("%d available, %v while it was called", b.Available(), during)
	}
}

func TestRulesOfASkip(t *testing.T) {
	t.Parallel()
	l := &log{}
	made := do{"x", func(context.Context, json.RawMessage) (tool.Result, error) {
		t.Error("it was made")
		return tool.Result{}, nil
	}}
	m := &model{turns: [][]protocol.ToolCall{turn(call("x", `{}`))}}
	skip := &hook{name: "s", log: l, before: decide(dispatch.Skip(json.RawMessage(`"from the cache"`), "cached"))}
	last := &hook{name: "l", log: l, after: func(r dispatch.Result, o dispatch.Outcome) error {
		if o.Kind != dispatch.Skipped || string(r.Output) != `"from the cache"` {
			t.Errorf("told %+v", r)
		}
		return nil
	}}
	out := execute(t, agent.Config{Provider: m, Tools: []tool.Tool{made}, Rules: dispatch.Rules(50, skip, last)})
	wantExit(t, out, "complete")
	wantLog(t, l, "s:before:x s:after:x l:after:x")
	if !slices.Equal(m.told, []string{"from the cache"}) {
		t.Errorf("the model was told %q", m.told)
	}
}

func TestRulesOfATerminate(t *testing.T) {
	t.Parallel()
	l, b := &log{}, budget.NewCounter(2)
	made := do{"x", func(context.Context, json.RawMessage) (tool.Result, error) {
		t.Error("it was made")
		return tool.Result{}, nil
	}}
	// The second call is denied, so the first, which waits for it, is not made either.
	m := &model{turns: [][]protocol.ToolCall{turn(call("x", `1`), call("y", `2`))}}
	stop := &hook{name: "s", log: l}
	stop.before = func() (dispatch.Decision, error) {
		if strings.HasSuffix(l.all(), "s:before:y") {
			return dispatch.Terminate("approval required"), nil
		}
		return dispatch.Continue(), nil
	}
	out, err := build(t, agent.Config{
		Provider: m, Tools: []tool.Tool{made, returns("y", `1`)}, Rules: dispatch.Rules(50, dispatch.BudgetHook(b, 1), stop),
	}).Execute(t.Context(), protocol.Text("go")) // without a scope
	if err != nil {
		t.Fatal(err)
	}
	wantExit(t, out, "interceptor_halt: approval required")
	wantLog(t, l, "s:before:x s:before:y s:error:y s:error:x")
	if b.Available() != 2 {
		t.Errorf("%d are free", b.Available())
	}
	none := dispatch.BudgetHook(budget.NewCounter(0), 1)
	out = execute(t, agent.Config{Provider: m, Tools: []tool.Tool{made}, Rules: dispatch.Rules(50, none)})
	wantExit(t, out, "interceptor_halt: budget denied `x` at cost 1")
}

func TestRulesOfAFailure(t *testing.T) {
	t.Parallel()
	own := protocol.NewError(protocol.CodeConflict, "full")
	for name, c := range map[string]struct {
		tool string
		hook *hook
		exit string
		log  string
	}{
		"the tool fails":   {"fails", &hook{}, "complete", "h:before:fails h:error:fails"},
		"the tool crashes": {"crashes", &hook{}, "complete", "h:before:crashes h:error:crashes"},
		"no such tool":     {"none", &hook{}, "complete", "h:before:none h:error:none"},
		"a hook cannot answer": {"x", &hook{before: func() (dispatch.Decision, error) {
			return dispatch.Continue(), own
		}}, "error", "h:before:x"},
		"a hook crashes": {"x", &hook{before: func() (dispatch.Decision, error) { panic("x") }}, "error", "h:before:x"},
		"a hook fails behind": {
			"x", &hook{after: func(dispatch.Result, dispatch.Outcome) error { return own }}, "error", "h:before:x h:after:x",
		},
		"a cleanup that fails": {
			"fails", &hook{onError: func(context.Context, error) error { return own }}, "error", "h:before:fails h:error:fails",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := budget.NewCounter(1)
			c.hook.name, c.hook.log = "h", &log{}
			tools := []tool.Tool{
				returns("x", `1`), fails("fails", errors.New("no")),
				do{"crashes", func(context.Context, json.RawMessage) (tool.Result, error) { panic("x") }},
			}
			m := &model{turns: [][]protocol.ToolCall{turn(call(c.tool, `{}`))}}
			out := execute(t, agent.Config{Provider: m, Tools: tools, Rules: dispatch.Rules(50, dispatch.BudgetHook(b, 1), c.hook)})
			wantExit(t, out, c.exit)
			if wantLog(t, c.hook.log, c.log); b.Available() != 1 {
				t.Error("the reservation is still held")
			}
		})
	}
}

// ends are the ways in which a run ends between the hooks and the call.
func ends(t *testing.T) map[string]struct {
	cfg  agent.Config
	exit string
} {
	t.Helper()
	halt := func(do func() error) engine.Rule {
		return rule.BeforeTool("y", "halt", 0, func(context.Context, *engine.Context, *engine.ToolCall) error { return do() })
	}
	two := [][]protocol.ToolCall{turn(call("x", `{}`), call("y", `{}`))}
	made := do{"x", func(context.Context, json.RawMessage) (tool.Result, error) {
		t.Error("it was made")
		return tool.Result{}, nil
	}}
	asks, err := tool.Raw(protocol.ToolMetadata{Name: "x"}, func(context.Context, json.RawMessage) (tool.Result, error) {
		return tool.Result{}, nil
	}, tool.RequiresApproval())
	if err != nil {
		t.Fatal(err)
	}
	return map[string]struct {
		cfg  agent.Config
		exit string
	}{
		"another rule halts": {agent.Config{
			Provider: &model{turns: two}, Tools: []tool.Tool{made}, Rules: []engine.Rule{halt(func() error { return engine.Halt("no") })},
		}, "interceptor_halt: no"},
		"another rule crashes": {agent.Config{
			Provider: &model{turns: two}, Tools: []tool.Tool{made}, Rules: []engine.Rule{halt(func() error { panic("x") })},
		}, "error"},
		"a person is asked": {agent.Config{Provider: &model{turns: two}, Tools: []tool.Tool{asks}}, "awaiting_approval"},
	}
}

func TestRulesTellAtTheEndOfTheRun(t *testing.T) {
	t.Parallel()
	for name, c := range ends(t) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l, b := &log{}, budget.NewCounter(5)
			c.cfg.Rules = slices.Concat(dispatch.Rules(50, dispatch.BudgetHook(b, 1), &hook{name: "h", log: l}), c.cfg.Rules)
			wantExit(t, execute(t, c.cfg), c.exit)
			if got := l.all(); b.Available() != 5 || strings.Count(got, "error") != 2 || strings.Count(got, "before") != 2 {
				t.Errorf("%d available, %s", b.Available(), got)
			}
		})
	}
}

// However a durable run is killed it ends the same, and nothing stays held.
func TestRulesOfADurableRun(t *testing.T) {
	t.Parallel()
	check := func(t *testing.T, kill func(*steptest.Run)) int {
		t.Helper()
		b := budget.NewCounter(2)
		m := &model{turns: [][]protocol.ToolCall{turn(call("x", `{}`), call("x", `{}`)), turn(call("x", `{}`)), turn(call("x", `{}`))}}
		x, err := tool.Raw(protocol.ToolMetadata{Name: "x"}, func(context.Context, json.RawMessage) (tool.Result, error) {
			return tool.Result{Output: json.RawMessage(`1`)}, nil
		}, tool.Repeatable())
		if err != nil {
			t.Fatal(err)
		}
		r := steptest.New(steptest.Config{})
		r.Input(protocol.Text("go"), run.Enqueue)
		if kill != nil {
			kill(r)
		}
		stuck := dispatch.StuckLoopHook(3) // one for each execution, so what is replayed counts once
		out, err := r.Finish(t.Context(), func() protocol.Operator {
			return build(t, agent.Config{
				Provider: m, Tools: []tool.Tool{x}, Rules: dispatch.Rules(50, stuck, dispatch.BudgetHook(b, 1)),
			})
		}, nil)
		if err != nil {
			t.Fatal(err)
		}
		wantExit(t, out, "interceptor_halt: stuck loop detected: `x` was requested 4 times with the same arguments")
		if b.Available() != 2 {
			t.Errorf("%d available", b.Available())
		}
		return r.Records()
	}
	for name, kill := range steptest.Kills(check(t, nil)) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			check(t, kill)
		})
	}
}

// A budget that others have used up since does not end a run otherwise than its log says.
func TestRulesDoNotDenyWhatIsReplayed(t *testing.T) {
	t.Parallel()
	r := steptest.New(steptest.Config{})
	r.Input(protocol.Text("go"), run.Enqueue)
	r.KillAfter(2)
	m := &model{turns: [][]protocol.ToolCall{turn(call("x", `{}`))}}
	budgets := []*budget.Counter{budget.NewCounter(1), budget.NewCounter(0)}
	var replayed []bool
	see := &seeing{f: func(ctx context.Context) { replayed = append(replayed, dispatch.Replays(ctx)) }}
	out, err := r.Finish(t.Context(), func() protocol.Operator {
		b := budgets[0]
		budgets = budgets[1:]
		return build(t, agent.Config{
			Provider: m, Tools: []tool.Tool{returns("x", `1`)}, Rules: dispatch.Rules(50, see, dispatch.BudgetHook(b, 1)),
		})
	}, nil)
	if err != nil {
		t.Fatal(err)
	}
	if wantExit(t, out, "complete"); !slices.Equal(replayed, []bool{false, true}) {
		t.Errorf("replayed: %v", replayed)
	}
}

type seeing struct {
	dispatch.NopHook

	f func(context.Context)
}

func (s *seeing) Before(ctx context.Context, _ protocol.ToolCall) (dispatch.Decision, error) {
	s.f(ctx)
	return dispatch.Continue(), nil
}

// One set of rules, many runs: each has its own count of calls, and all have one budget.
func TestRulesAreSharedByRuns(t *testing.T) {
	t.Parallel()
	b := budget.NewCounter(1000)
	m := &model{turns: [][]protocol.ToolCall{turn(call("x", `{}`)), turn(call("x", `{}`))}}
	a := build(t, agent.Config{
		Provider: m, Tools: []tool.Tool{returns("x", `1`)},
		Rules: dispatch.Rules(50, dispatch.StuckLoopHook(2), dispatch.BudgetHook(b, 1)),
	})
	var all sync.WaitGroup
	for range 32 {
		all.Go(func() {
			out, err := a.Execute(t.Context(), protocol.Text("go"))
			if wantExit(t, out, "complete"); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	if b.Available() != 1000 {
		t.Errorf("%d available", b.Available())
	}
}

func TestWrapGoesAroundTheCallItself(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		tool tool.Tool
		hook *hook
		exit string
		told string
		log  string
	}{
		"made":          {returns("x", `{"a": 1}`), &hook{}, "complete", `{"a":1}`, "h:before:x h:after:x"},
		"the tool dies": {fails("x", errors.New("no")), &hook{}, "complete", "Error: execution failed: no", "h:before:x h:error:x"},
		"skipped": {
			fails("x", errors.New("no")),
			&hook{before: decide(dispatch.Skip(json.RawMessage(`"cached"`), ""))},
			"complete", "cached", "h:before:x h:after:x",
		},
		"terminated": {
			returns("x", `1`),
			&hook{before: decide(dispatch.Terminate("enough"))}, "interceptor_halt: enough", "", "h:before:x h:error:x",
		},
		"a hook fails": {returns("x", `1`), &hook{before: func() (dispatch.Decision, error) {
			return dispatch.Continue(), errors.New("secret")
		}}, "complete", "Error: internal error; see the node's log", "h:before:x"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := budget.NewCounter(1)
			c.hook.name, c.hook.log = "h", &log{}
			m := &model{turns: [][]protocol.ToolCall{turn(call("x", `{}`))}}
			out, err := build(t, agent.Config{
				Provider: m, Tools: []tool.Tool{dispatch.Wrap(c.tool, dispatch.BudgetHook(b, 1), c.hook)},
			}).Execute(t.Context(), protocol.Text("go"))
			if err != nil {
				t.Fatal(err)
			}
			wantExit(t, out, c.exit)
			if wantLog(t, c.hook.log, c.log); strings.Join(m.told, "|") != c.told || b.Available() != 1 {
				t.Errorf("the model was told %q, %d available", m.told, b.Available())
			}
		})
	}
}

// The roles of a tool stay, and so does what a failed call cost.
func TestWrapKeepsWhatTheToolIs(t *testing.T) {
	t.Parallel()
	asks, err := tool.Raw(protocol.ToolMetadata{Name: "x"}, func(context.Context, json.RawMessage) (tool.Result, error) {
		return tool.Result{}, nil
	}, tool.RequiresApproval(), tool.Repeatable())
	if err != nil {
		t.Fatal(err)
	}
	w := dispatch.Wrap(asks, dispatch.NopHook{})
	if _, needed := tool.NeedsApproval(w, nil); !needed || !tool.CanRepeat(w) || w.Metadata().Name != "x" {
		t.Error("a role is lost")
	}
	after := &hook{log: &log{}, after: func(dispatch.Result, dispatch.Outcome) error { return errors.New("x") }}
	for _, x := range []tool.Tool{dispatch.Wrap(fails("x", errors.New("no"))), dispatch.Wrap(fails("x", nil), after)} {
		res, err := tool.Call(t.Context(), x, nil)
		if err == nil || res.Cost == nil || res.Cost.Text() != "0.5" {
			t.Errorf("got %+v, %v", res, err)
		}
	}
}
