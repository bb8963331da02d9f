package serve_test

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/skelegent/skelegent-go/actors/agenttest"
	"github.com/skelegent/skelegent-go/actors/compose"
	"github.com/skelegent/skelegent-go/actors/compose/serve"
	"github.com/skelegent/skelegent-go/actors/compose/workflow"
	"github.com/skelegent/skelegent-go/actors/step"
	"github.com/skelegent/skelegent-go/actors/tool"
	"github.com/skelegent/skelegent-go/protocol"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// ring is a chain of one skill that rings the bell n times, and is then sure.
func ring(t testing.TB, n int, tools ...tool.Tool) *compose.ChainAgent {
	t.Helper()
	skills, err := compose.NewSkills(compose.NewSkill("ring", func(ctx context.Context, inv *compose.Investigation, tools *compose.Tools) (compose.Outcome, error) {
		for range n {
			res, err := tools.Invoke(ctx, "bell", nil)
			if err != nil {
				return compose.Outcome{}, err
			}
			inv.AddEvidence(compose.Evidence{SourceSkill: "ring", Label: "bell", Detail: res.Output})
		}
		return compose.Delta(0.5), nil
	}))
	if err != nil {
		t.Fatal(err)
	}
	set, err := compose.NewTools(tools...)
	if err != nil {
		t.Fatal(err)
	}
	a, err := compose.NewAgent("ringer", skills, set, compose.AgentConfig{Skills: []string{"ring"}})
	if err != nil {
		t.Fatal(err)
	}
	return a
}

// bell costs a cent, declares an effect, and tells the budget of its call to seen.
func bell(t testing.TB, seen *[]string, opts ...tool.Option) tool.Tool {
	t.Helper()
	cent := protocol.MustDecimal("0.01")
	b, err := tool.Raw(protocol.ToolMetadata{Name: "bell"}, func(ctx context.Context, _ json.RawMessage) (tool.Result, error) {
		if seen != nil {
			left := "none"
			if budget := protocol.NextCall(ctx).Budget; budget != nil {
				left = budget.String()
			}
			*seen = append(*seen, left)
		}
		return tool.Result{
			Output: json.RawMessage(`"ding"`), Cost: &cent, UnpricedCalls: 1,
			Effects: protocol.Effects{protocol.CustomEffect{EffectType: "rang", Data: json.RawMessage(`{}`)}},
		}, nil
	}, opts...)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// still is the same in each process of a run.
var still = serve.ChainConfig{Now: func() time.Time { return time.Date(2026, 1, 2, 3, 4, 5, 6, time.UTC) }}

func always(op protocol.Operator) func() protocol.Operator {
	return func() protocol.Operator { return op }
}

// What the tools of a chain declare and cost is the operator's, also where the run is killed at any point.
func TestChainDeclaresAndPays(t *testing.T) {
	t.Parallel()
	op := serve.Chain(ring(t, 3, bell(t, nil)), serve.ChainConfig{})
	check := func(t testing.TB, out protocol.OperatorOutput) {
		t.Helper()
		if len(out.Effects) != 3 || out.Metadata.Cost.String() != "0.03" || out.Metadata.UnpricedCalls != 3 || len(out.Metadata.SubDispatches) != 3 {
			t.Errorf("%d effects, %+v", len(out.Effects), out.Metadata)
		}
	}
	out, err := op.Execute(t.Context(), protocol.Text("go"))
	if err != nil {
		t.Fatal(err)
	}
	check(t, out)
	res := agenttest.Durable(t, always(op), protocol.Text("go"))
	if res.Err != nil {
		t.Fatal(res.Err)
	}
	check(t, res.Output)
	agenttest.SurvivesKills(t, func() protocol.Operator {
		return serve.Chain(ring(t, 3, bell(t, nil, tool.Repeatable())), still)
	}, protocol.Text("go"))
	agenttest.SurvivesKills(t, func() protocol.Operator {
		return serve.Chain(ring(t, 3, agenttest.Watch(bell(t, nil))...), still)
	}, protocol.Text("go"), agenttest.WithUnknown(func(t testing.TB, r agenttest.Result) {
		t.Helper()
		if !errors.Is(r.Err, step.ErrOutcomeUnknown) {
			t.Errorf("a call that may have happened: %+v, %v", r.Output, r.Err)
		}
	}))
}

// The money of a chain is that of all its calls together.
func TestMoneyOfAChain(t *testing.T) {
	t.Parallel()
	var seen []string
	op := serve.Chain(ring(t, 3, bell(t, &seen)), serve.ChainConfig{})
	limit := protocol.MustDecimal("0.025")
	in := protocol.Text("go")
	in.Config = &protocol.OperatorConfig{MaxCost: &limit}
	if _, err := op.Execute(t.Context(), in); err != nil {
		t.Fatal(err)
	}
	if got := strings.Join(seen, " "); got != "0.025 0.015 0.005" {
		t.Errorf("left before each call: %s", got)
	}
}

func TestBoundsOfAChain(t *testing.T) {
	t.Parallel()
	_, err := serve.Chain(ring(t, 3, bell(t, nil)), serve.ChainConfig{MaxToolCalls: 2}).Execute(t.Context(), protocol.Text("go"))
	if protocol.CodeOf(err) != protocol.CodeQuotaExceeded {
		t.Errorf("too many calls: %v", err)
	}
	approved := serve.Chain(ring(t, 1, bell(t, nil, tool.RequiresApproval())), serve.ChainConfig{})
	if _, err := approved.Execute(t.Context(), protocol.Text("go")); protocol.CodeOf(err) != protocol.CodePermissionDenied {
		t.Errorf("a call that nobody approved: %v", err)
	}
	res := agenttest.Durable(t, always(approved), protocol.Text("go"), agenttest.WithSignal("approve", nil))
	if res.Err != nil || len(res.Output.Effects) != 1 {
		t.Errorf("an approved call: %+v, %v", res.Output, res.Err)
	}
	res = agenttest.Durable(t, always(approved), protocol.Text("go"), agenttest.WithSignal("deny", "no"))
	if protocol.CodeOf(res.Err) != protocol.CodePermissionDenied {
		t.Errorf("a refused call: %+v, %v", res.Output, res.Err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := approved.Execute(ctx, protocol.Text("go")); protocol.CodeOf(err) != protocol.CodeCancelled {
		t.Errorf("cancelled: %v", err)
	}
}

// What a chain is asked can be an investigation, its members, or a text.
func TestInputOfAChain(t *testing.T) {
	t.Parallel()
	op := serve.Chain(ring(t, 0), serve.ChainConfig{})
	for _, tc := range []struct{ name, message, metadata, entity, signals, evidence string }{
		{"text", "Look at host-a", "", "delegate", "", `"Look at host-a"`},
		{"nothing", "", "", "delegate", "", ""},
		{"members", `{"entity_id":"host-a","signals":["x"]}`, "", "host-a", "x", ""},
		{"signals beside it", `{"entity_id":"host-a","signals":["x"]}`, `{"signals":["x","y"]}`, "host-a", "x,y", ""},
		{"signals of a text", "hello", `{"signals":["y"],"other":1}`, "delegate", "y", `"hello"`},
		{"other metadata", "hello", `["signals"]`, "delegate", "", `"hello"`},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			in := protocol.Text(tc.message)
			in.Metadata = json.RawMessage(tc.metadata)
			out, err := op.Execute(t.Context(), in)
			if err != nil {
				t.Fatal(err)
			}
			text, _ := out.Message.AsText()
			var a struct {
				Context compose.Investigation `json:"context"`
			}
			if err := json.Unmarshal([]byte(text), &a); err != nil {
				t.Fatal(err)
			}
			var signals, details []string
			for _, s := range a.Context.Signals {
				signals = append(signals, string(s))
			}
			for _, e := range a.Context.Evidence {
				details = append(details, string(e.Detail))
			}
			if a.Context.EntityID != tc.entity || strings.Join(signals, ",") != tc.signals || strings.Join(details, ",") != tc.evidence {
				t.Errorf("%+v", a.Context)
			}
		})
	}
	for _, bad := range []protocol.OperatorInput{
		{Message: protocol.TextContent(`{"context":7}`), Trigger: protocol.TriggerUser},
		{Message: protocol.TextContent(`{`), Trigger: protocol.TriggerUser},
		{Message: protocol.TextContent("x"), Trigger: protocol.TriggerUser, Metadata: json.RawMessage(`{"signals":[1]}`)},
		{Message: protocol.TextContent("x"), Trigger: protocol.TriggerUser, Metadata: json.RawMessage(`{"signals":["` + strings.Repeat("x", 2000) + `"]}`)},
	} {
		if _, err := op.Execute(t.Context(), bad); protocol.CodeOf(err) != protocol.CodeInvalidInput {
			t.Errorf("%+v: %v", bad, err)
		}
	}
}

// A delegate here and a delegate there are the same to who asks them.
func TestDelegatesHereAndThere(t *testing.T) {
	t.Parallel()
	a := ring(t, 2, bell(t, nil))
	d := agenttest.Operators(map[protocol.OperatorID]protocol.Operator{"ringer": serve.Chain(a, serve.ChainConfig{})})
	for _, args := range []string{`{"entity_id":"host-a","partition":"lab","signals":["raise"]}`, `{}`, `{"context":5}`} {
		here, errHere := compose.InProcess(a).Invoke(t.Context(), json.RawMessage(args))
		there, errThere := compose.Remote(d, "ringer").Invoke(t.Context(), json.RawMessage(args))
		if protocol.CodeOf(errHere) != protocol.CodeOf(errThere) {
			t.Errorf("%s: %v here, %v there", args, errHere, errThere)
		}
		if got, want := timeless(t, there), timeless(t, here); got != want {
			t.Errorf("%s: there\n%s\nhere\n%s", args, got, want)
		}
	}
}

// timeless is a result without the times of its evidence.
func timeless(t testing.TB, res tool.Result) string {
	t.Helper()
	var v map[string]any
	if len(res.Output) > 0 {
		if err := json.Unmarshal(res.Output, &v); err != nil {
			t.Fatal(err)
		}
		for _, e := range v["context"].(map[string]any)["evidence"].([]any) {
			delete(e.(map[string]any), "recorded_at")
		}
	}
	raw, err := protocol.Marshal(map[string]any{"output": v, "effects": res.Effects, "cost": res.Cost, "unpriced": res.UnpricedCalls})
	if err != nil {
		t.Fatal(err)
	}
	return string(raw)
}

// A specialist of a coordinator may be on another node.
func TestRemoteSpecialist(t *testing.T) {
	t.Parallel()
	d := agenttest.Operators(map[protocol.OperatorID]protocol.Operator{
		"ringer": serve.Chain(ring(t, 2, bell(t, nil)), serve.ChainConfig{}),
		"mute":   echo, "broken": failing(errors.New("secret")),
	})
	specialist := func(id protocol.OperatorID) compose.Agent {
		a, err := serve.Agent(string(id), d, id)
		if err != nil {
			t.Fatal(err)
		}
		return a
	}
	c := compose.NewCoordinator(compose.CoordinatorConfig{
		Name: "desk", Specialists: []compose.Agent{specialist("ringer"), specialist("mute"), specialist("broken")},
		Rules: []compose.Rule{{Agent: "ringer", Signals: []compose.Signal{"ring"}}, {Agent: "broken", Signals: []compose.Signal{"break"}}}, Fallback: "mute",
	})
	inv := compose.NewInvestigation("e", "p").WithSignal("ring")
	res, err := c.Step(t.Context(), inv)
	if err != nil || res.Confidence != 0.5 || inv.Confidence != 0.5 || len(inv.Evidence) != 2 || len(res.SkillsRun) != 1 {
		t.Errorf("%+v, %+v, %v", res, inv, err)
	}
	for _, signal := range []compose.Signal{"break", "other"} {
		inv := compose.NewInvestigation("e", "p").WithSignal(signal)
		if _, err := c.Step(t.Context(), inv); err == nil || strings.Contains(err.Error(), "secret") || len(inv.Evidence) != 0 {
			t.Errorf("%s: %v, %+v", signal, err, inv)
		}
	}
	// As the agent of an operator: what the specialist declares and costs is the operator's.
	in := protocol.Text("x")
	in.Metadata = json.RawMessage(`{"signals":["ring"]}`)
	out, err := serve.Chain(c, serve.ChainConfig{}).Execute(t.Context(), in)
	if err != nil || len(out.Effects) != 2 || out.Metadata.Cost.String() != "0.02" {
		t.Errorf("%+v, %v", out, err)
	}
}

var echo = protocol.OperatorFunc(func(_ context.Context, in protocol.OperatorInput) (protocol.OperatorOutput, error) {
	return protocol.OperatorOutput{Message: in.Message, ExitReason: protocol.Exit(protocol.ExitComplete)}, nil
})

func failing(err error) protocol.Operator {
	return protocol.OperatorFunc(func(context.Context, protocol.OperatorInput) (protocol.OperatorOutput, error) {
		return protocol.OperatorOutput{}, err
	})
}

// Who is not there is passed over; one who could not find somebody else has failed.
func TestCoordinatorPassesOver(t *testing.T) {
	t.Parallel()
	d := agenttest.Operators(map[protocol.OperatorID]protocol.Operator{
		"second": echo, "lost": failing(protocol.ErrOperatorNotFound("first")), "self": failing(protocol.ErrOperatorNotFound("elsewhere")),
	})
	route := func(op protocol.OperatorID, signals ...compose.Signal) serve.Route {
		return serve.Route{Operator: op, Signals: signals}
	}
	for _, tc := range []struct {
		name     string
		routes   []serve.Route
		fallback protocol.OperatorID
		want     string
		failed   bool
	}{
		{"the next that matches", []serve.Route{route("first", "a"), route("other", "b"), route("second", "a")}, "", "x", false},
		{"the fallback", []serve.Route{route("first", "a")}, "second", "x", false},
		{"no fallback", []serve.Route{route("first", "a")}, "third", "", false},
		{"one that lost somebody", []serve.Route{route("self", "a"), route("second", "a")}, "", "", true},
	} {
		op, err := serve.Coordinator(d, serve.CoordinatorConfig{Routes: tc.routes, Fallback: tc.fallback})
		if err != nil {
			t.Fatal(err)
		}
		in := protocol.Text("x")
		in.Metadata = json.RawMessage(`{"signals":["a"]}`)
		out, err := op.Execute(t.Context(), in)
		if (err != nil) != tc.failed {
			t.Errorf("%s: %v", tc.name, err)
		}
		if got, _ := out.Message.AsText(); got != tc.want {
			t.Errorf("%s: %q", tc.name, got)
		}
	}
	for _, bad := range []serve.CoordinatorConfig{{}, {Routes: []serve.Route{{Operator: "x"}}}, {Routes: []serve.Route{{Signals: []compose.Signal{"x"}}}}} {
		if _, err := serve.Coordinator(d, bad); protocol.CodeOf(err) != protocol.CodeInvalidInput {
			t.Errorf("%+v: %v", bad, err)
		}
	}
}

// Workflows over operators: sequence and parallel, with the money divided among those beside each other.
func TestWorkflows(t *testing.T) {
	t.Parallel()
	cent := protocol.MustDecimal("0.01")
	var seen [2]string
	member := func(i int) protocol.Operator {
		return protocol.OperatorFunc(func(ctx context.Context, in protocol.OperatorInput) (protocol.OperatorOutput, error) {
			if b := protocol.InvocationFrom(ctx).Budget; b != nil {
				seen[i] = b.String()
			}
			text, _ := in.Message.AsText()
			out := protocol.Reply(text + "!")
			out.Metadata.Cost = cent
			return out, nil
		})
	}
	d := agenttest.Operators(map[protocol.OperatorID]protocol.Operator{"a": member(0), "b": member(1), "json": echo})
	one := serve.Operator[string, string](d, "a")
	both := workflow.Parallel("both", 0, one, serve.Operator[string, string](d, "b"))
	join := workflow.Func("join", func(_ context.Context, in []string) (string, error) { return strings.Join(in, "+"), nil })
	op := serve.Workflow(workflow.Then("all", both, join))
	limit := protocol.MustDecimal("0.50")
	in := protocol.Text("x")
	in.Config = &protocol.OperatorConfig{MaxCost: &limit}
	out, err := op.Execute(t.Context(), in)
	if got, _ := out.Message.AsText(); err != nil || got != "x!+x!" || out.Metadata.Cost.String() != "0.02" || len(out.Metadata.SubDispatches) != 2 {
		t.Errorf("%s, %+v, %v", got, out.Metadata, err)
	}
	if seen != [2]string{"0.25", "0.25"} {
		t.Errorf("budgets %v", seen)
	}
	type point struct{ X, Y int }
	points := serve.Workflow(serve.Operator[point, point](d, "json"))
	out, err = points.Execute(t.Context(), protocol.Text(`{"X":1,"Y":2}`))
	if got, _ := out.Message.AsText(); err != nil || got != `{"X":1,"Y":2}` {
		t.Errorf("%s, %v", got, err)
	}
	if _, err = points.Execute(t.Context(), protocol.Text(`x`)); protocol.CodeOf(err) != protocol.CodeInvalidInput {
		t.Errorf("no JSON: %v", err)
	}
	if _, err := serve.Operator[string, string](d, "nobody").Run(t.Context(), "x"); protocol.CodeOf(err) != protocol.CodeNotFound {
		t.Errorf("nobody: %v", err)
	}
}

// A workflow repeats nothing that was done, and knows what all of it cost, wherever its process ends.
func TestWorkflowSurvivesKills(t *testing.T) {
	t.Parallel()
	cent := protocol.MustDecimal("0.01")
	member := protocol.OperatorFunc(func(_ context.Context, in protocol.OperatorInput) (protocol.OperatorOutput, error) {
		text, _ := in.Message.AsText()
		out := protocol.Reply(text + "!")
		out.Metadata.Cost = cent
		return out, nil
	})
	d := agenttest.Operators(map[protocol.OperatorID]protocol.Operator{"a": member, "b": member})
	ask := func(id protocol.OperatorID) workflow.Workflow[string, string] {
		return serve.Operator[string, string](nil, id)
	}
	join := workflow.Func("join", func(ctx context.Context, in []string) (string, error) {
		return step.Do(ctx, "join", func(ctx context.Context) (string, error) {
			agenttest.Once(ctx, "join")
			return strings.Join(in, "+"), nil
		}, step.Once())
	})
	res := agenttest.SurvivesKills(t, func() protocol.Operator {
		return serve.Workflow(workflow.Then("all", workflow.Parallel("both", 0, ask("a"), workflow.Sequence("twice", ask("b"), ask("b"))), join))
	}, protocol.Text("x"), agenttest.WithOperators(d), agenttest.WithBudget("1"), agenttest.WithUnknown(func(t testing.TB, r agenttest.Result) {
		t.Helper()
		if !errors.Is(r.Err, step.ErrOutcomeUnknown) {
			t.Errorf("%+v, %v", r.Output, r.Err)
		}
	}))
	if got := res.Output.Metadata.Cost.String(); res.Text() != "x!+x!!" || got != "0.03" {
		t.Errorf("%s for %s", res.Text(), got)
	}
}
