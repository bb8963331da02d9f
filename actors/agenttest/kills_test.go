package agenttest_test

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/skelegent/skelegent-go/actors/agent"
	"github.com/skelegent/skelegent-go/actors/agenttest"
	"github.com/skelegent/skelegent-go/actors/engine"
	"github.com/skelegent/skelegent-go/actors/step"
	"github.com/skelegent/skelegent-go/actors/tool"
	"github.com/skelegent/skelegent-go/protocol"
	"github.com/skelegent/skelegent-go/state/memory"
)

func TestAnAgentSurvives(t *testing.T) {
	t.Parallel()
	var paid atomic.Int64
	pay := tool.Func("pay", "", func(context.Context, struct{}) (string, error) {
		paid.Add(1)
		return "paid", nil
	}, tool.RequiresApproval())
	look := tool.Func("look", "", func(context.Context, struct{}) (string, error) { return "looked", nil }, tool.Repeatable(), tool.ParallelSafe())
	store := memory.New(memory.Config{})
	d := agenttest.Operators(map[protocol.OperatorID]protocol.Operator{
		"helper": build(t, agent.Config{Provider: agenttest.NewModel(t, agenttest.Say("helped"), agenttest.Say("helped again"))}),
	})
	ask := map[string]string{"message": "help"}
	m := agenttest.NewModel(t,
		agenttest.Fail(protocol.ErrProviderTransient("busy", 503)),
		agenttest.Call("look", nil).And("look", nil).And("ask_helper", ask),
		agenttest.Call("pay", nil).And("ask_helper", ask).And("memory_store", map[string]any{"key": "k", "value": 1}),
		agenttest.Say("done"),
	).WithPrice("1", "1")
	newAgent := func() protocol.Operator {
		return build(t, agent.Config{
			Provider: m, System: "Be careful.", Sleep: agenttest.NewClock(noon).Skip,
			Tools: agenttest.Watch(pay, look, tool.Ask(d, "helper", "helps"), tool.MemoryStore()),
		})
	}
	r := agenttest.SurvivesKills(t, newAgent, protocol.Text("go"), agenttest.WithSignal("approve", nil), agenttest.WithOperators(d),
		agenttest.WithState(store), agenttest.WithSession("s"))
	if r.Text() != "done" || len(r.Output.Effects) != 1 || m.Calls() != 4 || m.Request(-1).ToolResult("call_4").Content != "paid" {
		t.Errorf("got %+v after %d calls", r, m.Calls())
	}
	if n := int64(2*r.Records + 1); paid.Load() >= n || paid.Load() < n-2 {
		t.Errorf("paid %d times in %d runs", paid.Load(), n)
	}
	if keys, _ := store.List(t.Context(), protocol.InSession("s"), ""); len(keys) != 1 {
		t.Errorf("got %v", keys)
	}
}

func TestCodeSurvives(t *testing.T) {
	t.Parallel()
	d := agenttest.Operators(map[protocol.OperatorID]protocol.Operator{"greeter": code(echo)})
	unknown := 0
	r := agenttest.SurvivesKills(t, always(code(onboard)), protocol.Text("ann"), agenttest.WithSignal("manager", "welcome"),
		agenttest.WithOperators(d), agenttest.WithUnknown(func(tb testing.TB, r agenttest.Result) {
			tb.Helper()
			if unknown++; r.Text() != ": welcome" {
				tb.Errorf("got %q", r.Text())
			}
		}))
	if r.Text() != "ann: welcome" || unknown != 2 { // behind the start, before the outcome
		t.Errorf("got %q, unknown %d times", r.Text(), unknown)
	}
}

func TestKillsThatAreNotSurvived(t *testing.T) {
	t.Parallel()
	done := func(text string, err error) (protocol.OperatorOutput, error) { return protocol.Reply(text), err }
	makes := func(ctx context.Context, name string, opts ...step.Option) error {
		_, err := step.Do(ctx, name, func(context.Context) (int, error) { return 1, nil }, opts...)
		return err
	}
	for name, c := range map[string]struct {
		op   func() protocol.Operator
		want []string
	}{
		"a step happens twice": {
			always(code(func(ctx context.Context, _ protocol.OperatorInput) (protocol.OperatorOutput, error) {
				if err := makes(ctx, "first"); err != nil {
					return protocol.OperatorOutput{}, err
				}
				_, err := step.Do(ctx, "pay", func(ctx context.Context) (int, error) { agenttest.Once(ctx, "the payment"); return 1, nil })
				return done("x", err)
			})),
			[]string{`killed before record 2 (the outcome of step "pay" at 2): the payment happens 2 times at r1/2, and without the kill once`},
		},
		"outside of a step": {
			always(code(func(ctx context.Context, _ protocol.OperatorInput) (protocol.OperatorOutput, error) {
				agenttest.Once(ctx, "the payment")
				return done("x", makes(ctx, "a"))
			})),
			[]string{"killed before record 1", "killed after record 1", "the payment happens 2 times at r1,"},
		},
		"behind the last step": {
			always(code(func(ctx context.Context, _ protocol.OperatorInput) (protocol.OperatorOutput, error) {
				if err := makes(ctx, "a"); err != nil {
					return done("", err)
				}
				agenttest.Once(ctx, "the payment")
				return done("x", nil)
			})),
			[]string{"the payment happens outside of a step"},
		},
		"a model without a step": {
			func() func() protocol.Operator {
				m := agenttest.NewModel(nil, agenttest.Say("yes").Always())
				return always(code(func(ctx context.Context, _ protocol.OperatorInput) (protocol.OperatorOutput, error) {
					resp, err := m.Infer(ctx, protocol.InferRequest{}, nil)
					text, _ := resp.Content.AsText()
					return done(text, err)
				}))
			}(),
			[]string{"a model is asked outside of a step"},
		},
		"the output differs": {
			func() protocol.Operator {
				n := 0
				return code(func(ctx context.Context, _ protocol.OperatorInput) (protocol.OperatorOutput, error) {
					if _, err := step.Do(ctx, "count", func(context.Context) (int, error) { n++; return 1, nil }); err != nil {
						return protocol.OperatorOutput{}, err
					}
					return done(strings.Repeat("x", 100)+string(rune('a'+n)), nil)
				})
			},
			[]string{`killed after record 1 (the outcome of step "count" at 1): output.message is ...xxx`, `a", and without the kill ...xxx`, `b"`},
		},
		"an effect is missing": {
			func() protocol.Operator {
				var effects protocol.Effects
				return code(func(ctx context.Context, _ protocol.OperatorInput) (protocol.OperatorOutput, error) {
					_, err := step.Do(ctx, "a", func(context.Context) (int, error) {
						effects = append(effects, protocol.Log{Level: protocol.LogInfo})
						return 1, nil
					})
					out := protocol.Reply("x")
					out.Effects = effects
					return out, err
				})
			},
			[]string{"killed after record 1", "output.effects is [], and without the kill [{"},
		},
		"it fails where it did not": {
			func() protocol.Operator {
				made := false
				return code(func(ctx context.Context, _ protocol.OperatorInput) (protocol.OperatorOutput, error) {
					_, err := step.Do(ctx, "a", func(context.Context) (int, error) { made = true; return 1, nil })
					if err == nil && !made {
						err = protocol.NewError(protocol.CodeInvalidInput, "lost")
					}
					return done("x", err)
				})
			},
			[]string{`killed after record 1`, `error is "lost", and without the kill null`},
		},
		"the code changes": {
			func() func() protocol.Operator {
				n := 0
				return func() protocol.Operator {
					n++
					name := strings.Repeat("a", n)
					return code(func(ctx context.Context, _ protocol.OperatorInput) (protocol.OperatorOutput, error) {
						return done("x", errors.Join(makes(ctx, name)))
					})
				}
			}(),
			[]string{"killed after record 1", "the operator's code has changed"},
		},
		"fewer steps": {
			func() func() protocol.Operator {
				n := 0
				return func() protocol.Operator {
					n++
					first := n == 1
					return code(func(ctx context.Context, _ protocol.OperatorInput) (protocol.OperatorOutput, error) {
						if err := makes(ctx, "a"); err != nil || !first {
							return done("x", err)
						}
						return done("x", makes(ctx, "b"))
					})
				}
			}(),
			[]string{"killed before record 1", "the run has 1 records, and without the kill 2", "killed before record 2", "did not come so far"},
		},
		"an outcome that is not known": {
			always(code(func(ctx context.Context, _ protocol.OperatorInput) (protocol.OperatorOutput, error) {
				err := makes(ctx, "pay", step.Once())
				if errors.Is(err, step.ErrOutcomeUnknown) {
					return done("did I pay?", nil)
				}
				return done("x", err)
			})),
			[]string{`killed after record 1 (the start of step "pay" at 1): output.message is "did I pay?"`, `killed before record 2 (the outcome`},
		},
		"it fails without a kill": {
			always(code(func(context.Context, protocol.OperatorInput) (protocol.OperatorOutput, error) {
				return done("", errors.New("no"))
			})),
			[]string{"fatal: agenttest: without a kill: the run failed: no"},
		},
		"it waits for ever": {
			always(code(func(ctx context.Context, _ protocol.OperatorInput) (protocol.OperatorOutput, error) {
				_, err := step.Await[string](ctx, "x")
				return done("x", err)
			})),
			[]string{"fatal: agenttest: without a kill: the run waits"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			wantTold(t, func(tb testing.TB) { agenttest.SurvivesKills(tb, c.op, protocol.Text("go")) }, c.want...)
		})
	}
}

func TestQuestionsThatDiffer(t *testing.T) {
	t.Parallel()
	script := []agenttest.Step{agenttest.Call("look", nil), agenttest.Say("done")}
	agentOf := func(tb testing.TB, m *agenttest.Model, rules ...engine.Rule) protocol.Operator {
		look := tool.Func("look", "", func(context.Context, struct{}) (string, error) { return "looked", nil }, tool.Repeatable())
		return build(tb, agent.Config{Provider: m, Tools: []tool.Tool{look}, Rules: rules})
	}
	// A rule that tells the model what is not in the log.
	wantTold(t, func(tb testing.TB) {
		m, n := agenttest.NewModel(tb, script...), 0
		agenttest.SurvivesKills(tb, func() protocol.Operator {
			return agentOf(tb, m, engine.Before(engine.OpInfer, "count", 0, engine.OpFunc("count", func(_ context.Context, c *engine.Context) error {
				n++
				return c.Inject(protocol.NewMessage(protocol.RoleUser, protocol.TextContent(strings.Repeat("n", n))))
			})))
		}, protocol.Text("go"))
	}, "the model is asked something else at r1/1", `"user: nnn`, "the kills behind this one were not tried")

	// A process that goes on says less, more, or asks where the first did not.
	for want, words := range map[string][2]int{"is missing": {2, 1}, "is more than without the kill": {1, 2}} {
		wantTold(t, func(tb testing.TB) {
			m, processes := agenttest.NewModel(tb, script...), 0
			agenttest.SurvivesKills(tb, func() protocol.Operator {
				processes++
				n := words[min(processes, 2)-1]
				return code(func(ctx context.Context, in protocol.OperatorInput) (protocol.OperatorOutput, error) {
					for range n - 1 {
						in.Context = append(in.Context, protocol.NewMessage(protocol.RoleUser, protocol.TextContent("hm")))
					}
					return agentOf(tb, m).Execute(ctx, in)
				})
			}, protocol.Text("hm"))
		}, "killed before record 1", "asked something else at r1/1", want)
	}
	wantTold(t, func(tb testing.TB) {
		m, processes := agenttest.NewModel(tb, agenttest.Say("a").Always()), 0
		agenttest.SurvivesKills(tb, func() protocol.Operator {
			processes++
			first := processes == 1
			return code(func(ctx context.Context, _ protocol.OperatorInput) (protocol.OperatorOutput, error) {
				_, err := step.Do(ctx, "a", func(ctx context.Context) (int, error) {
					if first {
						return 1, nil
					}
					_, err := m.Infer(ctx, user("x"), nil)
					return 1, err
				})
				return protocol.Reply("x"), err
			})
		}, protocol.Text("go"))
	}, "the model is asked at r1/1, where it was not without the kill")

	// Code that has what a model said from outside of its step, but only in the process that asked.
	wantTold(t, func(tb testing.TB) {
		m := agenttest.NewModel(tb, agenttest.Say("a"))
		var last protocol.InferResponse
		agenttest.SurvivesKills(tb, always(code(func(ctx context.Context, _ protocol.OperatorInput) (protocol.OperatorOutput, error) {
			_, err := step.Do(ctx, "a", func(ctx context.Context) (_ int, err error) {
				last, err = m.Infer(ctx, user("x"), nil)
				return 1, err
			})
			if last.Model == "" || err != nil {
				return protocol.OperatorOutput{}, errors.Join(err, errors.New("no answer"))
			}
			return protocol.Reply("x"), nil
		})), protocol.Text("go"))
	})

	// An engine that asks again though it has the answer.
	wantTold(t, func(tb testing.TB) {
		m := agenttest.NewModel(tb, agenttest.Say("a").Always())
		agenttest.SurvivesKills(tb, always(code(func(ctx context.Context, _ protocol.OperatorInput) (protocol.OperatorOutput, error) {
			var inner context.Context
			if _, err := step.Do(ctx, "a", func(ctx context.Context) (int, error) { inner = ctx; return 1, nil }); err != nil {
				return protocol.OperatorOutput{}, err
			}
			if inner != nil {
				_, err := m.Infer(inner, user("x"), nil)
				return protocol.Reply("x"), err
			}
			return protocol.Reply("x"), nil
		})), protocol.Text("go"))
	}, "fatal: agenttest: without a kill: the model call at r1/1 was recorded, and is made and paid again")

	// What a script lacks, or has too much, is told once, of the run without a kill.
	wantTold(t, func(tb testing.TB) {
		m := agenttest.NewModel(tb, script[0])
		agenttest.SurvivesKills(tb, func() protocol.Operator { return agentOf(tb, m) }, protocol.Text("go"))
	}, "fatal: agenttest: without a kill: the model was asked something that it has no answer to")
	wantTold(t, func(tb testing.TB) {
		m := agenttest.NewModel(tb, append(script, agenttest.Say("more"))...)
		agenttest.SurvivesKills(tb, func() protocol.Operator { return agentOf(tb, m) }, protocol.Text("go"))
	}, "1 steps of the model's script were not used up after 2 calls")
	wantTold(t, func(tb testing.TB) {
		m := agenttest.NewModel(tb, append(script, agenttest.Say("more"))...)
		ask(tb, m, "beside")
		agenttest.SurvivesKills(tb, func() protocol.Operator { return agentOf(tb, m) }, protocol.Text("go"))
	}, "fatal: agenttest: without a kill: 1 steps of the model's script")
}

func TestWatchedTools(t *testing.T) {
	t.Parallel()
	pay := tool.Func("pay", "", func(context.Context, struct{}) (string, error) { return "paid", nil }, tool.RequiresApproval())
	look := tool.Func("look", "", func(context.Context, struct{}) (string, error) { return "looked", nil }, tool.Repeatable())
	all := agenttest.Watch(pay, look)
	if _, needed := tool.NeedsApproval(all[0], nil); !needed || tool.CanRepeat(all[0]) || !tool.CanRepeat(all[1]) {
		t.Error("the roles are lost")
	}
	r, err := all[0].Call(t.Context(), json.RawMessage(`{}`))
	if err != nil || r.Text() != "paid" {
		t.Errorf("got %q, %v", r.Text(), err)
	}
	// A tool that claims to be what it is not: the engine believes it, the kit does not.
	wantTold(t, func(tb testing.TB) {
		m := agenttest.NewModel(tb, agenttest.Call("pay", nil), agenttest.Say("done"))
		agenttest.SurvivesKills(tb, func() protocol.Operator {
			return build(tb, agent.Config{Provider: m, Tools: []tool.Tool{claimed{agenttest.Watch(pay)[0]}}})
		}, protocol.Text("go"), agenttest.WithSignal("approve", nil))
	}, `the call of pay happens 2 times at r1/3, and without the kill once`)
}

type claimed struct{ tool.Tool }

func (c claimed) Unwrap() tool.Tool { return c.Tool }
func (claimed) Repeatable() bool    { return true }
