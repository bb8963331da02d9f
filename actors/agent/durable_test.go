package agent_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/skelegent/skelegent-go/actors/agent"
	"github.com/skelegent/skelegent-go/actors/run"
	steps "github.com/skelegent/skelegent-go/actors/step"
	"github.com/skelegent/skelegent-go/actors/step/steptest"
	"github.com/skelegent/skelegent-go/actors/tool"
	"github.com/skelegent/skelegent-go/protocol"
)

// start returns a durable run with an input.
func start(cfg steptest.Config) *steptest.Run {
	r := steptest.New(cfg)
	r.Input(protocol.Text("go"), run.Enqueue)
	return r
}

// resume executes the run with a fresh agent, and wants it to end.
func resume(t testing.TB, r *steptest.Run, cfg agent.Config) protocol.OperatorOutput {
	t.Helper()
	out, err := r.Execute(t.Context(), build(t, cfg))
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// suspend executes the run with a fresh agent, and wants it to wait.
func suspend(t testing.TB, r *steptest.Run, cfg agent.Config) run.Wait {
	t.Helper()
	_, err := r.Execute(t.Context(), build(t, cfg))
	if w := r.Wait(); steps.Unwinding(err) && w != nil {
		return *w
	}
	t.Fatalf("got %v", err)
	return run.Wait{}
}

func said(req protocol.InferRequest) (all []string) {
	for _, m := range req.Messages {
		all = append(all, m.Role.String()+" "+m.Text())
	}
	return all
}

func TestApprovals(t *testing.T) {
	t.Parallel()
	type told struct {
		Text  string
		Error bool
	}
	for name, c := range map[string]struct {
		decide func(r *steptest.Run)
		want   [3]told // of rm, ls and mv
		ran    string
	}{
		"approved": {
			func(r *steptest.Run) { r.Signal("approve", nil) },
			[3]told{{`rm {"f":1}`, false}, {"ls {}", false}, {"mv {}", false}},
			`rm {"f":1} ls {} mv {}`,
		},
		"denied": {
			func(r *steptest.Run) { r.Signal("deny", "too risky") },
			[3]told{{"The call was denied: too risky", true}, {"ls {}", false}, {"The call was denied: too risky", true}},
			"ls {}",
		},
		"denied without a reason": {
			func(r *steptest.Run) { r.Signal("deny", nil) },
			[3]told{{"The call was denied.", true}, {"ls {}", false}, {"The call was denied.", true}},
			"ls {}",
		},
		"one of two, which have the same id": {
			func(r *steptest.Run) { r.Signal("approve", protocol.Approve{CallIDs: []string{"c-2"}}) },
			[3]told{{"The call was denied: not approved", true}, {"ls {}", false}, {"mv {}", false}},
			"ls {} mv {}",
		},
		"modified": {
			func(r *steptest.Run) {
				r.Signal("approve", protocol.Modify{CallID: "c", NewInput: json.RawMessage(`{"f":2}`)})
			},
			[3]told{{`rm {"f":2}`, false}, {"ls {}", false}, {"mv {}", false}},
			`rm {"f":2} ls {} mv {}`,
		},
		"expired": {
			func(r *steptest.Run) { r.Fire() },
			[3]told{
				{"The call was not made: nobody decided on it in time. It was not denied.", true},
				{"ls {}", false},
				{"The call was not made: nobody decided on it in time. It was not denied.", true},
			},
			"ls {}",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var ran []string
			file := func(name string, opts ...tool.Option) tool.Tool {
				x, err := tool.Raw(protocol.ToolMetadata{Name: name}, func(_ context.Context, in json.RawMessage) (tool.Result, error) {
					ran = append(ran, name+" "+string(in))
					out, err := protocol.Marshal(ran[len(ran)-1])
					return tool.Result{Output: out}, err
				}, opts...)
				if err != nil {
					t.Fatal(err)
				}
				return x
			}
			m := &model{steps: []step{says("May I?", uses("c", "rm", `{"f":1}`), uses("b", "ls", `{}`), uses("c", "mv", `{}`)), says("done")}}
			cfg := agent.Config{Provider: m, ApprovalTime: time.Hour, Tools: []tool.Tool{
				file("rm", tool.RequiresApproval()), file("ls"), file("mv", tool.RequiresApprovalIf("moves", func(json.RawMessage) bool { return true })),
			}}
			r := start(steptest.Config{})
			w := suspend(t, r, cfg)
			want := &protocol.ApprovalRequest{RunID: "r1", WaitPoint: "2", Context: new(protocol.TextContent("May I?")), Pending: []protocol.PendingToolCall{
				{CallID: "c", ToolName: "rm", ToolInput: json.RawMessage(`{"f":1}`), Reason: protocol.PolicyAlways()},
				{CallID: "c-2", ToolName: "mv", ToolInput: json.RawMessage(`{}`), Reason: protocol.PolicyPredicate("moves")},
			}}
			if d := cmp.Diff(want, w.Approval, cmp.Comparer(func(a, b protocol.ApprovalReason) bool { return a == b })); d != "" || len(ran) != 0 {
				t.Fatalf("%s, ran %v", d, ran)
			}
			c.decide(r)
			out := resume(t, r, cfg)
			wantExit(t, out, protocol.Exit(protocol.ExitComplete), "done")
			var got [3]told
			for i, b := range results(m.asks[1]) {
				got[i] = told{b.Content, b.IsError}
			}
			if d := cmp.Diff(c.want, got); d != "" {
				t.Error(d)
			}
			if got := strings.Join(ran, " "); got != c.ran || len(out.Metadata.SubDispatches) != len(ran) || len(out.Effects) != 0 {
				t.Errorf("ran %s, recorded %v, effects %v", got, out.Metadata.SubDispatches, out.Effects)
			}
		})
	}
}

func TestSteering(t *testing.T) {
	t.Parallel()
	r := start(steptest.Config{})
	m := &model{}
	m.steps = []step{says("", uses("c", "work", `{}`)), says("done")}
	work := tool.Func("work", "", func(context.Context, struct{}) (string, error) {
		r.Signal("steer", "Faster!")
		r.Input(protocol.Text("Better!"), run.Steer)
		return "ok", nil
	})
	r.KillAfter(4) // what was said is recorded, the model's answer is not
	if _, err := r.Execute(t.Context(), build(t, agent.Config{Provider: m, Tools: []tool.Tool{work}})); !steps.Unwinding(err) {
		t.Fatal(err)
	}
	r.Signal("steer", "too late for this one")
	resume(t, r, agent.Config{Provider: m, Tools: []tool.Tool{work}})
	want := []string{"user go", "assistant ", "tool ok", "user Faster!", "user Better!"}
	if d := cmp.Diff(want, said(m.asks[1])); d != "" || len(m.asks) != 2 {
		t.Errorf("%s, asked %d times", d, len(m.asks))
	}
	if len(r.Fold().Queue) != 0 {
		t.Error("the input that steered has a turn of its own")
	}
}

func TestHistoryOfASession(t *testing.T) {
	t.Parallel()
	m := &model{steps: []step{says("one"), says(""), says("three")}}
	r := steptest.New(steptest.Config{})
	for _, text := range []string{"a", "b", "c"} {
		in := protocol.Text(text).WithSession("s")
		in.Context = []protocol.Message{protocol.NewMessage(protocol.RoleUser, protocol.TextContent("by the way"))}
		r.Input(in, run.Enqueue)
	}
	for range 3 {
		resume(t, r, agent.Config{Provider: m})
	}
	want := []string{"user a", "assistant one", "user b", "user by the way", "user c"}
	if d := cmp.Diff(want, said(m.asks[2])); d != "" {
		t.Error(d)
	}
}

func TestTimeOfADurableRun(t *testing.T) {
	t.Parallel()
	work := uses("c", "work", `{}`)
	for name, c := range map[string]struct {
		steps []step
		limit time.Duration
		kill  func(*steptest.Run)
		turns uint32
		exit  protocol.ExitKind
	}{
		"enough":               {[]step{after(says("", work), time.Second), says("done")}, time.Minute, nil, 2, protocol.ExitComplete},
		"none":                 {[]step{says("done")}, 0, nil, 0, protocol.ExitTimeout},
		"ends a model call":    {[]step{says("a", work), after(says("done"), time.Hour)}, time.Minute, nil, 1, protocol.ExitTimeout},
		"ends a tool call":     {[]step{says("a", uses("c", "hang", `{}`)), says("done")}, time.Minute, nil, 1, protocol.ExitTimeout},
		"replayed, then over":  {[]step{says("a", work), says("b", work), says("done")}, time.Minute, func(r *steptest.Run) { r.KillAfter(5) }, 2, protocol.ExitTimeout},
		"over at a tool":       {[]step{says("a", work), says("b", work), says("done")}, time.Minute, func(r *steptest.Run) { r.KillAfter(4) }, 2, protocol.ExitTimeout},
		"the tool had started": {[]step{says("a", work), says("b", work), says("done")}, time.Minute, func(r *steptest.Run) { r.KillAfter(2) }, 1, protocol.ExitTimeout},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				r := steptest.New(steptest.Config{})
				in := protocol.Text("go")
				in.Config = &protocol.OperatorConfig{MaxDuration: new(protocol.MillisOf(c.limit))}
				r.Input(in, run.Enqueue)
				cfg := agent.Config{Provider: &model{steps: c.steps}, Tools: tools(t)}
				if c.kill != nil {
					c.kill(r)
					if _, err := r.Execute(t.Context(), build(t, cfg)); !steps.Unwinding(err) {
						t.Fatal(err)
					}
					time.Sleep(time.Hour) // until another node takes over
				}
				out := resume(t, r, cfg)
				if out.ExitReason.Kind() != c.exit || out.Metadata.TurnsUsed != c.turns {
					t.Errorf("got %s after %d turns", out.ExitReason, out.Metadata.TurnsUsed)
				}
			})
		})
	}
}

func TestTimeInWhichARunIsSuspendedDoesNotCount(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var n counter
		m := &model{steps: []step{after(says("a", uses("c", "work", `{}`)), time.Second), after(says("done"), time.Second)}}
		cfg := agent.Config{Provider: m, Tools: []tool.Tool{n.tool("work", tool.RequiresApproval())}, Limits: agent.Limits{MaxDuration: time.Minute}}
		r := start(steptest.Config{})
		suspend(t, r, cfg)
		time.Sleep(24 * time.Hour)
		r.Signal("approve", nil)
		out := resume(t, r, cfg)
		wantExit(t, out, protocol.Exit(protocol.ExitComplete), "done")
		if out.Metadata.Duration != 2000 {
			t.Errorf("took %v", out.Metadata.Duration)
		}
	})
}

func TestWhatAChildSpentIsCountedAlsoWhenTimeIsOver(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := start(steptest.Config{})
		cfg := agent.Config{
			Provider: &model{steps: []step{says("a", uses("c", "child", `{"message":"go"}`)), says("b")}},
			Tools:    []tool.Tool{tool.FromOperator("child", "", nil, "child")}, Limits: agent.Limits{MaxDuration: time.Minute},
		}
		if w := suspend(t, r, cfg); w.Reason != run.WaitChild {
			t.Fatalf("got %+v", w)
		}
		time.Sleep(time.Hour) // suspended: it does not count
		answer := protocol.Reply("fine")
		answer.Metadata.Cost = protocol.MustDecimal("0.5")
		r.EndChild("r1.2.1", answer, nil)
		time.Sleep(time.Hour) // until a node goes on
		out := resume(t, r, cfg)
		if out.ExitReason.Kind() != protocol.ExitTimeout || out.Metadata.Cost.Text() != "0.505" || len(out.Metadata.SubDispatches) != 1 {
			t.Errorf("got %s, %+v", out.ExitReason, out.Metadata)
		}
	})
}

func TestBudgetOfADurableRun(t *testing.T) {
	t.Parallel()
	// Each turn is half a cent and its child a whole one: the third turn is not begun.
	var want protocol.OperatorOutput
	var budgets []string
	for n := range 8 {
		r := start(steptest.Config{
			Budget: new(protocol.MustDecimal("0.029")),
			Children: func(_ context.Context, child run.Child, _ protocol.OperatorInput) (protocol.OperatorOutput, error) {
				budgets = append(budgets, string(child.Run)+" "+child.Budget.Text())
				out := protocol.Reply("x")
				out.Metadata.Cost = protocol.MustDecimal("0.01")
				return out, nil
			},
		})
		cfg := agent.Config{
			Provider: &model{steps: []step{says("a", uses("c", "child", `{"message":"go"}`))}},
			Tools:    []tool.Tool{tool.FromOperator("child", "", nil, "child")},
			Now:      func() time.Time { return time.Unix(0, 0) },
		}
		r.KillAfter(n)
		out, err := r.Finish(t.Context(), func() protocol.Operator { return build(t, cfg) }, nil)
		out.Metadata.Duration = 0
		if err != nil || out.ExitReason.Kind() != protocol.ExitBudgetExhausted || out.Metadata.Cost.Text() != "0.030" {
			t.Fatalf("killed after %d: got %s, %+v, %v", n, out.ExitReason, out.Metadata, err)
		}
		if n == 0 {
			want = out
			if d := cmp.Diff([]string{"r1.2.1 0.024", "r1.4.1 0.009"}, budgets); d != "" {
				t.Error(d)
			}
		}
		if d := cmp.Diff(want, out, sameExit); d != "" || r.Fold().Cost.Text() != "0.030" {
			t.Errorf("killed after %d: %s, cost %s", n, d, r.Fold().Cost)
		}
	}
	// As with every limit, exactly as much is not too much.
	for budget, turns := range map[string]int{"0": 1, "0.005": 2, "0.0051": 2, "0.01": 3} {
		m := &model{steps: []step{says("a", uses("c", "none", `{}`))}}
		out := resume(t, start(steptest.Config{Budget: new(protocol.MustDecimal(budget))}), agent.Config{Provider: m, Limits: agent.Limits{MaxConsecutiveFailures: 9}})
		if out.ExitReason.Kind() != protocol.ExitBudgetExhausted || len(m.asks) != turns {
			t.Errorf("budget %s: got %s, asked %d times, want %d", budget, out.ExitReason, len(m.asks), turns)
		}
	}
	r := start(steptest.Config{Budget: new(protocol.MustDecimal("1"))})
	if _, err := r.Execute(t.Context(), build(t, agent.Config{Provider: &model{unpriced: true}})); protocol.CodeOf(err) != protocol.CodeInvalidInput {
		t.Errorf("without a price: got %v", err)
	}
	m := &model{steps: []step{says("a", uses("c", "none", `{}`)).costs("")}}
	if out := resume(t, start(steptest.Config{Budget: new(protocol.MustDecimal("1"))}), agent.Config{Provider: m}); out.ExitReason.Kind() != protocol.ExitBudgetExhausted || len(m.asks) != 1 {
		t.Errorf("with an unknown price: got %s, asked %d times", out.ExitReason, len(m.asks))
	}
}

func TestEventsOfADurableRun(t *testing.T) {
	t.Parallel()
	var n counter
	s := &sink{}
	r := start(steptest.Config{})
	cfg := agent.Config{
		Provider: &model{steps: []step{says("a", uses("c1", "once", `{}`), uses("c2", "often", `{}`)), says("b").costs("")}}, Model: "gpt",
		Tools: []tool.Tool{n.tool("once"), n.tool("often", tool.Repeatable())},
	}
	ctx := protocol.WithInvocation(t.Context(), &protocol.Invocation{Events: s})
	if _, err := r.Execute(ctx, build(t, cfg)); err != nil {
		t.Fatal(err)
	}
	live := []string{
		`inference_started {"model":"gpt"}`, `progress {"content":"a"}`,
		`observation {"key":"budget","value":{"type":"cost_incurred","operator":"operator","cost":"0.005","cumulative":"0.005"}}`,
		`tool_call_assembled {"call_id":"c2","capability_id":"often","input":{}}`, // the log does not have it
		`inference_started {"model":"gpt"}`, `progress {"content":"b"}`,
	}
	if d := cmp.Diff(live, s.lines); d != "" {
		t.Error(d)
	}
	const usage = `"usage":{"input_tokens":10,"output_tokens":5,"cache_read_tokens":null,"cache_creation_tokens":null}`
	const model1 = `{"content":"a","tool_calls":[{"id":"c1","name":"once","input":{}},{"id":"c2","name":"often","input":{}}],` +
		`"stop_reason":"tool_use",` + usage + `,"model":"m","cost":"0.005","truncated":null}`
	const model2 = `{"content":"b","tool_calls":[],"stop_reason":"end_turn",` + usage + `,"model":"m","cost":null,"truncated":null}`
	log := []string{
		`inference_completed {"path":"1","step":"model","name":"model","result":` + model1 + `,"cost":"0.005","model":"m",` + usage + `,"stop_reason":"tool_use","tool_calls":2}`,
		`tool_call_assembled {"path":"2","step":"tool","name":"once","call_id":"c1","capability_id":"once","input":{}}`,
		`tool_result_received {"path":"2","step":"tool","name":"once","result":{"output":"once ok","duration":0},"call_id":"c1","capability_id":"once","output":"once ok","is_error":false}`,
		`tool_result_received {"path":"3","step":"tool","name":"often","result":{"output":"often ok","duration":0},"call_id":"c2","capability_id":"often","output":"often ok","is_error":false}`,
		`inference_completed {"path":"4","step":"model","name":"model","result":` + model2 + `,"model":"m",` + usage + `,"cost":null,"stop_reason":"end_turn","tool_calls":0}`,
	}
	var got []string
	for _, e := range r.Events()[1:] {
		if e.Kind != protocol.EventCompleted {
			got = append(got, string(e.Kind)+" "+string(e.Data))
		}
	}
	if d := cmp.Diff(log, got); d != "" {
		t.Error(d)
	}
}

func TestToolsMayWait(t *testing.T) {
	t.Parallel()
	for name, opts := range map[string][]tool.Option{
		"repeatable": {tool.Repeatable()}, "not repeatable": nil, "with a timeout": {tool.Timeout(time.Hour)},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			x := tool.Func("ask", "", func(ctx context.Context, _ struct{}) (string, error) {
				s, err := steps.Await[string](ctx, "answer")
				if err != nil {
					return "", fmt.Errorf("nobody answers: %w", err)
				}
				out, err := steps.Call(ctx, "check", "checker", protocol.Text(s))
				text, _ := out.Message.AsText()
				return text, err
			}, opts...)
			m := &model{steps: []step{says("", uses("c", "ask", `{}`)), says("done")}}
			cfg := agent.Config{Provider: m, Tools: []tool.Tool{x}, Limits: agent.Limits{MaxConsecutiveFailures: 1}}
			r := start(steptest.Config{Children: func(_ context.Context, _ run.Child, in protocol.OperatorInput) (protocol.OperatorOutput, error) {
				text, _ := in.Message.AsText()
				return protocol.Reply(text + ", checked"), nil
			}})
			if w := suspend(t, r, cfg); w.Path != "2.1" {
				t.Fatalf("got %+v", w)
			}
			r.Signal("answer", "42")
			out := resume(t, r, cfg)
			wantExit(t, out, protocol.Exit(protocol.ExitComplete), "done")
			if got := results(m.asks[1])[0]; got.Content != "42, checked" || got.IsError || len(m.asks) != 2 {
				t.Errorf("got %+v, asked %d times", got, len(m.asks))
			}
		})
	}
}

func TestAToolThatWaitedGoesOnAlsoWhenTimeIsOver(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		x := tool.Func("ask", "", func(ctx context.Context, _ struct{}) (string, error) {
			if err := steps.Sleep(ctx, time.Hour); err != nil {
				return "", err
			}
			return "rested", ctx.Err()
		}, tool.Repeatable())
		s := &sink{}
		m := &model{steps: []step{says("a", uses("c", "ask", `{}`)), says("b")}}
		cfg := agent.Config{Provider: m, Tools: []tool.Tool{x}, Limits: agent.Limits{MaxDuration: time.Minute}}
		r := start(steptest.Config{})
		ctx := protocol.WithInvocation(t.Context(), &protocol.Invocation{Events: s})
		r.KillAfter(2)
		for range 2 { // asleep, and killed when it has slept
			if _, err := r.Execute(ctx, build(t, cfg)); !steps.Unwinding(err) {
				t.Fatal(err)
			}
			r.Fire()
		}
		time.Sleep(time.Hour)
		out, err := r.Execute(ctx, build(t, cfg))
		if err != nil || out.ExitReason.Kind() != protocol.ExitTimeout || !out.Metadata.SubDispatches[0].Success {
			t.Errorf("got %s, %+v, %v", out.ExitReason, out.Metadata, err)
		}
		begun := 0
		for _, line := range s.lines {
			if strings.HasPrefix(line, "tool_call_assembled") {
				begun++
			}
		}
		if begun > 2 { // when it began, and when it slept it had not left a trace
			t.Errorf("told %d times that the call began", begun)
		}
	})
}

func TestWhatEndedEarlyIsNotRecorded(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		cfg := agent.Config{Provider: &model{steps: []step{says("a", uses("c", "hang", `{}`))}}, Tools: tools(t)}
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		r := start(steptest.Config{})
		if _, err := r.Execute(ctx, build(t, cfg)); protocol.CodeOf(err) != protocol.CodeTimeout || r.Records() != 2 {
			t.Errorf("the caller's deadline: got %v, %d records", err, r.Records())
		}
		r = start(steptest.Config{})
		cfg.Limits.MaxDuration = time.Minute
		if out := resume(t, r, cfg); out.ExitReason.Kind() != protocol.ExitTimeout || r.Records() != 2 || len(out.Metadata.SubDispatches) != 1 {
			t.Errorf("the limit: got %s, %d records", out.ExitReason, r.Records())
		}
	})
}

func TestAnUnknownOutcomeIsNotTheToolsFailure(t *testing.T) {
	t.Parallel()
	var n counter
	m := &model{steps: []step{says("", uses("c", "work", `{}`)), says("done")}}
	cfg := agent.Config{Provider: m, Tools: []tool.Tool{n.tool("work")}, Limits: agent.Limits{MaxConsecutiveFailures: 1}}
	r := start(steptest.Config{})
	r.KillBefore(3)
	out, err := r.Finish(t.Context(), func() protocol.Operator { return build(t, cfg) }, nil)
	if err != nil {
		t.Fatal(err)
	}
	wantExit(t, out, protocol.Exit(protocol.ExitComplete), "done")
	want := "Error: execution failed: the outcome of this call is unknown: the process ended while it was made, so it may or may not " +
		"have happened. Find out before you repeat it"
	if got := results(m.asks[1])[0]; got.Content != want || !got.IsError || n.n != 1 {
		t.Errorf("got %+v after %d calls", got, n.n)
	}
}

func TestCancelledRunLeavesTheLoop(t *testing.T) {
	t.Parallel()
	r := start(steptest.Config{})
	x := tool.Func("work", "", func(context.Context, struct{}) (string, error) { r.Signal("cancel", nil); return "", nil })
	m := &model{steps: []step{says("", uses("c", "work", `{}`))}}
	var u *steps.Unwind
	if _, err := r.Execute(t.Context(), build(t, agent.Config{Provider: m, Tools: []tool.Tool{x}})); !errors.As(err, &u) || !u.Cancelled || len(m.asks) != 1 {
		t.Errorf("got %v, asked %d times", err, len(m.asks))
	}
}

func TestChangedAgentsAreNotMistaken(t *testing.T) {
	t.Parallel()
	var n counter
	m := &model{steps: []step{says("", uses("c", "work", `{}`)), says("done")}}
	r := start(steptest.Config{})
	r.KillAfter(3)
	if _, err := r.Execute(t.Context(), build(t, agent.Config{Provider: m, Tools: []tool.Tool{n.tool("work")}})); !steps.Unwinding(err) {
		t.Fatal(err)
	}
	_, err := r.Execute(t.Context(), build(t, agent.Config{Provider: m, Tools: []tool.Tool{n.tool("work", tool.RequiresApproval())}}))
	if !errors.Is(err, steps.ErrChanged) || n.n != 1 {
		t.Errorf("got %v", err)
	}
}

func TestFailuresAreReplayedAlike(t *testing.T) {
	t.Parallel()
	crash := tool.Func("crash", "", func(context.Context, struct{}) (string, error) { panic("x") })
	var n counter
	busy := protocol.ErrProviderTransient("busy", 503)
	script := func() []step {
		return []step{
			fails(busy), says("", uses("1", "crash", `{}`), uses("2", "work", `{"x":1}`), uses("3", "none", `{"cut`)),
			says("", uses("4", "work", `{"x":1}`), uses("5", "work", `{"x":1}`), uses("6", "work", `{}`)), says("x"),
		}
	}
	config := func(m *model) agent.Config {
		return agent.Config{
			Provider: m, Tools: []tool.Tool{crash, n.tool("work")}, Limits: agent.Limits{MaxConsecutiveFailures: 9},
			Sleep: func(context.Context, time.Duration) error { return nil },
		}
	}
	r := start(steptest.Config{})
	first := &model{steps: script()}
	want := resume(t, r, config(first))
	records := r.Records()
	for n := 1; n <= records; n++ {
		r := start(steptest.Config{})
		r.KillAfter(n)
		m := &model{steps: script()}
		if _, err := r.Execute(t.Context(), build(t, config(m))); !steps.Unwinding(err) {
			t.Fatal(err)
		}
		// Only what is not known of a call that must not be repeated differs.
		got := resume(t, r, config(m))
		if last, ask := m.asks[len(m.asks)-1], first.asks[3]; strings.Contains(fmt.Sprint(said(last)), "is unknown") {
			continue
		} else if d := cmp.Diff(said(ask), said(last)); d != "" {
			t.Errorf("killed after %d: %s", n, d)
		}
		got.Metadata.Duration = want.Metadata.Duration
		for i := range got.Metadata.SubDispatches {
			got.Metadata.SubDispatches[i].Duration = want.Metadata.SubDispatches[i].Duration
		}
		if d := cmp.Diff(want, got, sameExit); d != "" {
			t.Errorf("killed after %d: %s", n, d)
		}
	}
}

func TestAnswersThatCannotBeKept(t *testing.T) {
	t.Parallel()
	odd := says("x", uses("", "work", `not JSON`))
	odd.resp.StopReason = "" // a provider of one's own may say nothing
	var n counter
	r := start(steptest.Config{})
	out := resume(t, r, agent.Config{Provider: &model{steps: []step{odd, says("done")}}, Tools: []tool.Tool{n.tool("work")}})
	wantExit(t, out, protocol.Exit(protocol.ExitComplete), "done")

	r = start(steptest.Config{})
	m := &model{steps: []step{says("a", uses("c", "work", `{}`)), says("b").stopped("because")}}
	out = resume(t, r, agent.Config{Provider: m, Tools: []tool.Tool{n.tool("work")}})
	wantExit(t, out, protocol.Exit(protocol.ExitError), "a")

	bad, err := tool.Raw(protocol.ToolMetadata{Name: "bad"}, func(context.Context, json.RawMessage) (tool.Result, error) {
		return tool.Result{Effects: protocol.Effects{protocol.WriteMemory{Value: json.RawMessage(`{`)}}}, nil
	})
	if err != nil {
		t.Fatal(err)
	}
	m = &model{steps: []step{says("a", uses("c", "bad", `{}`)), says("done")}}
	out = resume(t, start(steptest.Config{}), agent.Config{Provider: m, Tools: []tool.Tool{bad}})
	if got := results(m.asks[1])[0]; !got.IsError || !strings.Contains(got.Content, "cannot be recorded") || len(out.Effects) != 0 {
		t.Errorf("got %+v", got)
	}
}

func TestIdempotencyKeyWithoutALog(t *testing.T) {
	t.Parallel()
	var keys []string
	x := tool.Func("work", "", func(ctx context.Context, _ struct{}) (string, error) {
		keys = append(keys, tool.RunFrom(ctx).IdempotencyKey)
		return "", nil
	})
	a := build(t, agent.Config{Provider: &model{steps: []step{says("", uses("c", "work", `{}`), uses("c", "work", `{}`)), says("done")}}, Tools: []tool.Tool{x}})
	ctx := protocol.WithInvocation(t.Context(), &protocol.Invocation{Call: protocol.Call{Run: "r1"}})
	if _, err := a.Execute(ctx, protocol.Text("go")); err != nil {
		t.Fatal(err)
	}
	execute(t, agent.Config{Provider: &model{steps: []step{says("", uses("c", "work", `{}`)), says("done")}}, Tools: []tool.Tool{x}}, protocol.Text("go"))
	if d := cmp.Diff([]string{"r1/1", "r1/2", ""}, keys); d != "" {
		t.Error(d)
	}
}

func TestDescribe(t *testing.T) {
	t.Parallel()
	model, prompt := build(t, agent.Config{Provider: &model{}, Model: "m", System: "Be careful."}).Describe()
	if model != "m" || prompt != "Be careful." {
		t.Errorf("got %q, %q", model, prompt)
	}
}
