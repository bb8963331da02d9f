package agent_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/skelegent/skelegent-go/actors/agent"
	"github.com/skelegent/skelegent-go/actors/engine"
	"github.com/skelegent/skelegent-go/actors/run"
	"github.com/skelegent/skelegent-go/actors/step/steptest"
	"github.com/skelegent/skelegent-go/actors/tool"
	"github.com/skelegent/skelegent-go/protocol"
)

// floor is where tools of a test note when they begin and end.
type floor struct {
	mu  sync.Mutex
	now int
	max int
	log []string
}

func (f *floor) note(what string, delta int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.now += delta
	f.max = max(f.max, f.now)
	f.log = append(f.log, what)
}

// tool takes a second, in which others may run.
func (f *floor) tool(name string, opts ...tool.Option) tool.Tool {
	return tool.Func(name, "", func(ctx context.Context, in struct {
		N int `json:"n"`
	},
	) (string, error) {
		f.note(fmt.Sprintf("+%s%d", name, in.N), 1)
		defer f.note(fmt.Sprintf("-%s%d", name, in.N), -1)
		return fmt.Sprintf("%s%d", name, in.N), slow(time.Second - time.Duration(in.N)*time.Millisecond)(ctx)
	}, append(opts, tool.Repeatable())...)
}

func numbered(names ...string) (calls []protocol.ToolCall) {
	for i, name := range names {
		calls = append(calls, uses(fmt.Sprint("c", i), name, fmt.Sprintf(`{"n":%d}`, i)))
	}
	return calls
}

func texts(all []protocol.ToolResultBlock) (got []string) {
	for _, r := range all {
		got = append(got, r.Content)
	}
	return got
}

// Case D3.13 of the specification, and its barriers: shared calls run together, an exclusive one alone, results in the order of
// the calls, with a log and without.
func TestD3Fact13ParallelCallsKeepTheirOrder(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		calls    []string
		parallel int
		want     int           // at the same time
		takes    time.Duration // rounded
	}{
		"shared":             {[]string{"s", "s", "s"}, 0, 3, time.Second},
		"one exclusive":      {[]string{"s", "s", "x", "s", "s"}, 0, 2, 3 * time.Second},
		"all exclusive":      {[]string{"x", "x"}, 0, 1, 2 * time.Second},
		"bounded":            {[]string{"s", "s", "s", "s", "s"}, 2, 2, 3 * time.Second},
		"one after another":  {[]string{"s", "s"}, 1, 1, 2 * time.Second},
		"unknown is a fence": {[]string{"s", "nobody", "s"}, 0, 1, 2 * time.Second},
	} {
		for _, durable := range []bool{false, true} {
			t.Run(fmt.Sprint(name, durable), func(t *testing.T) {
				t.Parallel()
				synctest.Test(t, func(t *testing.T) {
					f := &floor{}
					m := &model{steps: []step{says("", numbered(c.calls...)...), says("done")}}
					cfg := agent.Config{Provider: m, MaxParallel: c.parallel, Tools: []tool.Tool{f.tool("s", tool.ParallelSafe()), f.tool("x")}}
					begun := time.Now()
					var out protocol.OperatorOutput
					if durable {
						out = resume(t, start(steptest.Config{}), cfg)
					} else {
						out = execute(t, cfg, protocol.Text("go"))
					}
					wantExit(t, out, protocol.Exit(protocol.ExitComplete), "done")
					if took := time.Since(begun).Round(100 * time.Millisecond); f.max != c.want || took != c.takes {
						t.Errorf("%d at the same time in %v, want %d in %v: %v", f.max, took, c.want, c.takes, f.log)
					}
					got := texts(results(m.asks[1]))
					for i, name := range c.calls {
						if name != "nobody" && got[i] != fmt.Sprint(name, i) {
							t.Errorf("got %v", got)
						}
					}
					if len(out.Metadata.SubDispatches) != len(c.calls) {
						t.Errorf("got %v", out.Metadata.SubDispatches)
					}
				})
			})
		}
	}
}

// Case D6.6 of the specification.
func TestD6Fact6BarrierPlan(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := &floor{}
		m := &model{steps: []step{says("", numbered("s", "x", "s", "s")...), says("done")}}
		execute(t, agent.Config{Provider: m, Tools: []tool.Tool{f.tool("s", tool.ParallelSafe()), f.tool("x")}}, protocol.Text("go"))
		if got := strings.Join(f.log[:5], " "); got != "+s0 -s0 +x1 -x1 +s2" && got != "+s0 -s0 +x1 -x1 +s3" {
			t.Errorf("got %v", f.log)
		}
	})
}

// The rules and events of calls that run together are those of calls that run one after another.
func TestRulesOfParallelCalls(t *testing.T) {
	t.Parallel()
	for _, parallel := range []int{1, 8} {
		var log []string
		note := func(when string) engine.Op {
			return engine.OpFunc("note", func(_ context.Context, c *engine.Context) error {
				call := c.Current().(*engine.ToolCall)
				log = append(log, when+" "+call.Call.ID+" "+call.Result)
				if when == "after" && call.Call.ID == "c1" {
					call.Result = "changed"
				}
				if when == "before" && call.Call.ID == "c0" {
					call.Call.Input = json.RawMessage(`{"n":7}`)
				}
				if when == "before" && call.Call.ID == "c2" {
					call.Skip("skipped", true)
				}
				return c.Inject(protocol.NewMessage(protocol.RoleUser, protocol.TextContent(when+call.Call.ID)))
			})
		}
		f := &floor{}
		m := &model{steps: []step{says("", numbered("s", "s", "s")...), says("done")}}
		out := execute(t, agent.Config{
			Provider: m, MaxParallel: parallel, Tools: []tool.Tool{f.tool("s", tool.ParallelSafe())},
			Rules: []agent.Rule{
				engine.Before(engine.OpExecuteTool, "before", 0, note("before")), engine.After(engine.OpExecuteTool, "after", 0, note("after")),
			},
		}, protocol.Text("go"))
		wantExit(t, out, protocol.Exit(protocol.ExitComplete), "done")
		want := []string{"before c0 ", "before c1 ", "before c2 ", "after c0 s7", "after c1 s1", "after c2 skipped"}
		if !slices.Equal(log, want) {
			t.Errorf("got %q", log)
		}
		heard := strings.Join(said(m.asks[1]), "|")
		if want := "user go|assistant |tool s7|tool changed|tool skipped|user beforec0|user beforec1|user beforec2|user afterc0|user afterc1|user afterc2"; heard != want {
			t.Errorf("got %s", heard)
		}
		if got := results(m.asks[1]); !got[2].IsError || got[1].IsError || len(out.Metadata.SubDispatches) != 2 {
			t.Errorf("got %v, %v", got, out.Metadata.SubDispatches)
		}
	}
}

// A rule that halts before a call has none of the answer made; approval has not been asked either.
func TestARuleThatHaltsComesBeforeApproval(t *testing.T) {
	t.Parallel()
	var n counter
	m := &model{steps: []step{says("", uses("c0", "work", `{}`), uses("c1", "ask", `{}`), uses("c2", "work", `{}`))}}
	halt := engine.Before(engine.OpExecuteTool, "halt", 0, engine.OpFunc("halt", func(_ context.Context, c *engine.Context) error {
		if c.Current().(*engine.ToolCall).Call.ID == "c2" {
			return engine.Halt("not this one")
		}
		return nil
	}))
	out := execute(t, agent.Config{
		Provider: m, Rules: []agent.Rule{halt}, Tools: []tool.Tool{n.tool("work"), n.tool("ask", tool.RequiresApproval())},
	}, protocol.Text("go"))
	if out.ExitReason != protocol.InterceptorHalt("not this one") || len(out.Effects) != 0 || n.n != 0 {
		t.Errorf("got %s, %v, %d calls", out.ExitReason, out.Effects, n.n)
	}
}

// What a person approves is what is done: rules change the input before.
func TestApprovalSeesWhatRulesMadeOfTheInput(t *testing.T) {
	t.Parallel()
	x, err := tool.Raw(protocol.ToolMetadata{Name: "rm"}, nil, tool.RequiresApproval())
	if err != nil {
		t.Fatal(err)
	}
	clean := engine.Before(engine.OpExecuteTool, "clean", 0, engine.OpFunc("clean", func(_ context.Context, c *engine.Context) error {
		c.Current().(*engine.ToolCall).Call.Input = json.RawMessage(`{"clean":true}`)
		return nil
	}))
	m := &model{steps: []step{says("", uses("c0", "rm", `{"api_key":"x"}`))}}
	out := execute(t, agent.Config{Provider: m, Rules: []agent.Rule{clean}, Tools: []tool.Tool{x}}, protocol.Text("go"))
	if got := out.Effects[0].(protocol.ToolApprovalRequired); string(got.Input) != `{"clean":true}` {
		t.Errorf("got %s", got.Input)
	}
}

func TestSafeCallsMayRunBeforeApproval(t *testing.T) {
	t.Parallel()
	var safe, asked counter
	answer := says("", uses("c0", "ask", `{}`), uses("c1", "work", `{}`))
	cfg := func(m *model) agent.Config {
		return agent.Config{
			Provider: m, RunSafeCalls: true, Tools: []tool.Tool{safe.tool("work"), asked.tool("ask", tool.RequiresApproval())},
		}
	}
	out := execute(t, cfg(&model{steps: []step{answer}}), protocol.Text("go"))
	if out.ExitReason.Kind() != protocol.ExitAwaitingApproval || safe.n != 1 || asked.n != 0 || len(out.Effects) != 1 {
		t.Errorf("got %s, %d safe, %d asked", out.ExitReason, safe.n, asked.n)
	}
	m := &model{steps: []step{answer, says("done")}}
	r := start(steptest.Config{})
	suspend(t, r, cfg(m))
	if safe.n != 2 || asked.n != 0 {
		t.Errorf("%d safe, %d asked", safe.n, asked.n)
	}
	r.Signal("approve", nil)
	wantExit(t, resume(t, r, cfg(&model{steps: []step{says("done")}})), protocol.Exit(protocol.ExitComplete), "done")
	if safe.n != 2 || asked.n != 1 {
		t.Errorf("%d safe, %d asked", safe.n, asked.n)
	}
}

// crew is a durable run with calls that run together, some of them children.
type crew struct {
	run      *steptest.Run
	model    *script
	mu       sync.Mutex
	once     map[string]int
	children map[protocol.RunID]int
	budgets  map[string]bool
}

func newCrew() *crew {
	c := &crew{once: map[string]int{}, children: map[protocol.RunID]int{}, budgets: map[string]bool{}, model: &script{asks: map[int][]string{}}}
	c.model.answers = []protocol.InferResponse{
		says("", uses("a", "once", `{"n":1}`), uses("b", "expert", `{"message":"1"}`), uses("c", "expert", `{"message":"2"}`), uses("d", "once", `{"n":2}`)).resp,
		says("Done.").resp,
	}
	c.run = steptest.New(steptest.Config{
		Budget: new(protocol.MustDecimal("1.00")),
		Children: func(_ context.Context, child run.Child, in protocol.OperatorInput) (protocol.OperatorOutput, error) {
			c.mu.Lock()
			defer c.mu.Unlock()
			c.children[child.Run]++
			if child.Budget != nil {
				c.budgets[child.Budget.String()] = true
			}
			text, _ := in.Message.AsText()
			out := protocol.Reply("expert " + text)
			out.Metadata.Cost = protocol.MustDecimal("0.02")
			return out, nil
		},
	})
	c.run.Input(protocol.Text("go"), run.Enqueue)
	return c
}

func (c *crew) agent(t *testing.T) protocol.Operator {
	t.Helper()
	once := tool.Func("once", "", func(_ context.Context, in struct {
		N int `json:"n"`
	},
	) (string, error) {
		c.mu.Lock()
		defer c.mu.Unlock()
		key := fmt.Sprint("once ", in.N)
		c.once[key]++
		return key, nil
	}, tool.ParallelSafe())
	return build(t, agent.Config{
		Provider: c.model, Tools: []tool.Tool{once, tool.FromOperator("expert", "", nil, "expert", tool.ParallelSafe())},
	})
}

// Killed at any record, calls that run together are made as often as alone, and the model sees the same.
func TestAKillAmongParallelCallsChangesNothing(t *testing.T) {
	t.Parallel()
	clean := newCrew()
	want, err := clean.run.Finish(t.Context(), func() protocol.Operator { return clean.agent(t) }, nil)
	if err != nil {
		t.Fatal(err)
	}
	wantExit(t, want, protocol.Exit(protocol.ExitComplete), "Done.")
	if len(clean.children) != 2 || len(clean.budgets) != 1 || !clean.budgets["0.49750000"] {
		t.Errorf("children %v with budgets %v, want half of what is left each", clean.children, clean.budgets)
	}
	for at := 1; ; at++ {
		for _, before := range []bool{true, false} {
			c := newCrew()
			if before {
				c.run.KillBefore(at)
			} else {
				c.run.KillAfter(at)
			}
			_, err := c.run.Execute(t.Context(), c.agent(t))
			if err == nil {
				if at < 7 {
					t.Fatalf("only %d records", at-1)
				}
				return // behind the last one
			}
			out, err := c.run.Finish(t.Context(), func() protocol.Operator { return c.agent(t) }, nil)
			if err != nil {
				t.Fatalf("killed at %d: %v", at, err)
			}
			wantExit(t, out, protocol.Exit(protocol.ExitComplete), "Done.")
			if !out.Metadata.Cost.Equal(want.Metadata.Cost.Decimal) {
				t.Errorf("killed at %d: cost %s, want %s", at, out.Metadata.Cost, want.Metadata.Cost)
			}
			for key, n := range c.once {
				if n != 1 {
					t.Errorf("killed at %d: %s was made %d times", at, key, n)
				}
			}
			for id, n := range c.children {
				if n != 1 {
					t.Errorf("killed at %d: child %s was begun %d times", at, id, n)
				}
			}
			told := c.model.asks[1][0]
			for _, id := range []string{"a", "b", "c", "d"} {
				if strings.Count(told, `"tool_use_id":"`+id+`"`) != 1 {
					t.Errorf("killed at %d: results of %s in %s", at, id, told)
				}
			}
		}
	}
}

// Two children that are waited for at the same time hold nothing, and whichever ends first the run goes on once both have.
func TestTwoChildrenAreWaitedFor(t *testing.T) {
	t.Parallel()
	for _, order := range [][]int{{0, 1}, {1, 0}} {
		r := start(steptest.Config{})
		m := &script{asks: map[int][]string{}, answers: []protocol.InferResponse{
			says("", uses("a", "expert", `{"message":"1"}`), uses("b", "expert", `{"message":"2"}`)).resp, says("Done.").resp,
		}}
		cfg := agent.Config{Provider: m, Tools: []tool.Tool{tool.FromOperator("expert", "", nil, "expert", tool.ParallelSafe())}}
		suspend(t, r, cfg)
		ids := []protocol.RunID{"r1.2.1", "r1.3.1"}
		var out protocol.OperatorOutput
		var err error
		for _, n := range order {
			r.EndChild(ids[n], protocol.Reply(fmt.Sprint("child ", n)), nil)
			out, err = r.Execute(t.Context(), build(t, cfg))
		}
		if err != nil {
			t.Fatal(err)
		}
		wantExit(t, out, protocol.Exit(protocol.ExitComplete), "Done.")
		if told := m.asks[1][0]; len(m.asks[0]) != 1 || strings.Index(told, "child 0") > strings.Index(told, "child 1") {
			t.Errorf("asked %d times, told %s", len(m.asks[0]), told)
		}
	}
}

// A panic of one of several calls is its own failure only.
func TestAPanicAmongParallelCalls(t *testing.T) {
	t.Parallel()
	f := &floor{}
	crash := tool.Func("crash", "", func(context.Context, struct{}) (string, error) { panic("no") }, tool.ParallelSafe())
	bad := tool.Func("bad", "", func(context.Context, struct{}) (string, error) { return "", errors.New("bad") }, tool.ParallelSafe())
	m := &model{steps: []step{says("", uses("a", "crash", `{}`), uses("b", "s", `{"n":1}`), uses("c", "bad", `{}`)), says("done")}}
	out := execute(t, agent.Config{Provider: m, Tools: []tool.Tool{crash, bad, f.tool("s", tool.ParallelSafe())}}, protocol.Text("go"))
	wantExit(t, out, protocol.Exit(protocol.ExitComplete), "done")
	if got := results(m.asks[1]); !got[0].IsError || got[1].Content != "s1" || got[2].Content != "Error: execution failed: bad" {
		t.Errorf("got %v", got)
	}
}
