package compose_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/skelegent/skelegent-go/actors/compose"
	"github.com/skelegent/skelegent-go/actors/step"
	"github.com/skelegent/skelegent-go/actors/tool"
	"github.com/skelegent/skelegent-go/protocol"
)

func TestKeywordSkillRunsAndRaisesTheConfidence(t *testing.T) {
	t.Parallel()
	a := chain(t, compose.AgentConfig{}, nil, giving("example.keyword", compose.Delta(0.25), compose.When("keyword.match")))
	inv := begin().WithSignal("keyword.match")
	got, err := a.Step(t.Context(), inv)
	noErr(t, err)
	same(t, "result", compose.StepResult{SkillsRun: []string{"example.keyword"}, SkillsSkipped: []string{}, Confidence: 0.25}, got)
	same(t, "confidence", 0.25, inv.Confidence)
}

func TestSkillsRunInDeclaredOrderOnce(t *testing.T) {
	t.Parallel()
	var ran []string
	noting := func(id string) compose.Skill {
		return compose.NewSkill(id, func(context.Context, *investigation, *registry) (outcome, error) {
			ran = append(ran, id)
			return compose.Noop(), nil
		})
	}
	cfg := compose.AgentConfig{Skills: []string{"c", "a", "b", "a"}}
	got, err := chain(t, cfg, nil, noting("a"), noting("b"), noting("c")).Step(t.Context(), begin())
	noErr(t, err)
	same(t, "order", cfg.Skills, ran)
	same(t, "result", cfg.Skills, got.SkillsRun)
}

func TestAConclusionSkipsTheRestWithoutAskingIt(t *testing.T) {
	t.Parallel()
	for _, end := range []compose.NextAction{compose.Conclude{}, compose.Discard{}} {
		asked := compose.AppliesIf(func(*compose.Investigation) bool {
			t.Error("a skill behind a conclusion was asked")
			return true
		})
		a := chain(t, compose.AgentConfig{}, nil,
			giving("a", compose.Noop().WithNext(compose.RunSkill{ID: "z"}).WithNext(end)), giving("b", compose.Delta(1), asked))
		inv := begin()
		got, err := a.Step(t.Context(), inv)
		noErr(t, err)
		same(t, "result", compose.StepResult{SkillsRun: []string{"a"}, SkillsSkipped: []string{"b"}, Concluded: true}, got)
		same(t, "what is pending is left", []compose.NextAction{compose.RunSkill{ID: "z"}, end}, inv.Pending)
	}
}

func TestWithoutShortCircuitLaterSkillsRunAndItStaysConcluded(t *testing.T) {
	t.Parallel()
	a := chain(t, compose.AgentConfig{KeepGoing: true}, nil,
		giving("a", compose.Noop().WithNext(compose.Conclude{})), giving("b", compose.Delta(0.5)))
	inv := begin()
	got, err := a.Step(t.Context(), inv)
	noErr(t, err)
	same(t, "result", compose.StepResult{SkillsRun: []string{"a", "b"}, SkillsSkipped: []string{}, Confidence: 0.5, Concluded: true}, got)
	same(t, "pending", 0, len(inv.Pending))
}

func TestASkillThatDoesNotApplyIsSkipped(t *testing.T) {
	t.Parallel()
	a := chain(t, compose.AgentConfig{}, nil, giving("a", compose.Delta(1), compose.When("x", "y")), giving("b", compose.Noop()))
	got, err := a.Step(t.Context(), begin().WithSignal("z"))
	noErr(t, err)
	same(t, "result", compose.StepResult{SkillsRun: []string{"b"}, SkillsSkipped: []string{"a"}}, got)
}

func TestAFailureEndsTheStepWithoutRollback(t *testing.T) {
	t.Parallel()
	a := chain(t, compose.AgentConfig{}, nil,
		giving("a", compose.Delta(0.3).WithNext(compose.RunSkill{ID: "z"})), erring("b", errBoom), giving("c", compose.Delta(0.3)))
	inv := begin()
	got, err := a.Step(t.Context(), inv)
	e := wantKind(t, err, compose.KindSkillFailed)
	same(t, "text", "skill execution failed: boom", e.Message)
	same(t, "no partial result", compose.StepResult{}, got)
	if !errors.Is(err, errBoom) || inv.Confidence != 0.3 || !inv.HasSignal("touched") || len(inv.Pending) != 1 {
		t.Errorf("got %v and %+v", err, inv)
	}
}

func TestConfidenceIsClampedBehindEachSkill(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		start  float64
		deltas []float64
		want   float64
	}{
		"above":       {0, []float64{0.9, 0.9, -0.5}, 0.5},
		"below":       {0, []float64{-0.9, 0.25}, 0.25},
		"last above":  {0, []float64{0.9, 0.9}, 1},
		"last below":  {0.5, []float64{-0.9}, 0},
		"start above": {7, []float64{-0.5, -0.5}, 0.5},
		"huge":        {0, []float64{math.MaxFloat64, -0.25}, 0.75},
		"nothing":     {0.5, nil, 0.5},
	} {
		var all []compose.Skill
		for i, d := range c.deltas {
			all = append(all, giving(fmt.Sprintf("s%d", i), compose.Delta(d)))
		}
		inv := begin()
		inv.Confidence = c.start
		got, err := chain(t, compose.AgentConfig{}, nil, all...).Step(t.Context(), inv)
		if err != nil || got.Confidence != c.want || inv.Confidence != c.want {
			t.Errorf("%s: got %v, %v, %v", name, got.Confidence, inv.Confidence, err)
		}
	}
}

func TestAConfidenceThatIsNoNumberDoesNotPoison(t *testing.T) {
	t.Parallel()
	for _, bad := range []float64{math.NaN(), math.Inf(1), math.Inf(-1)} {
		writing := compose.NewSkill("b", func(_ context.Context, inv *investigation, _ *registry) (outcome, error) {
			inv.Confidence = bad
			return compose.Delta(0.1), nil
		})
		for _, s := range []compose.Skill{giving("b", compose.Delta(bad)), writing} {
			inv := begin()
			_, err := chain(t, compose.AgentConfig{}, nil, giving("a", compose.Delta(0.4)), s).Step(t.Context(), inv)
			wantKind(t, err, compose.KindSkillFailed)
			same(t, "confidence", 0.4, inv.Confidence)
		}
		inv := begin()
		inv.Confidence = bad
		_, err := chain(t, compose.AgentConfig{}, nil, giving("a", compose.Delta(0.4))).Step(t.Context(), inv)
		wantKind(t, err, compose.KindInvalidArgument)
	}
}

func TestPendingActionsAreReplacedByEachSkill(t *testing.T) {
	t.Parallel()
	one, two := compose.RunSkill{ID: "one"}, compose.InvokeTool{Tool: "two", Args: json.RawMessage(`{}`)}
	skipped := giving("no", compose.Noop(), compose.When("never"))
	for name, c := range map[string]struct {
		skills []compose.Skill
		want   []compose.NextAction
	}{
		"by others":       {[]compose.Skill{giving("a", compose.Noop().WithNext(one)), giving("b", compose.Noop().WithNext(two))}, []compose.NextAction{two}},
		"by none":         {[]compose.Skill{giving("a", compose.Noop().WithNext(one)), giving("b", compose.Noop())}, nil},
		"not by skipping": {[]compose.Skill{giving("a", compose.Noop().WithNext(one).WithNext(two)), skipped}, []compose.NextAction{one, two}},
	} {
		inv := begin()
		inv.Pending = []compose.NextAction{compose.RunSkill{ID: "from before"}}
		_, err := chain(t, compose.AgentConfig{}, nil, c.skills...).Step(t.Context(), inv)
		noErr(t, err)
		if len(inv.Pending)+len(c.want) > 0 {
			same(t, name, c.want, inv.Pending)
		}
	}
}

func TestRunSkillAndInvokeToolAreAdviceOnly(t *testing.T) {
	t.Parallel()
	called := raw(t, "x", func(context.Context, json.RawMessage) (tool.Result, error) {
		t.Error("the tool was called")
		return tool.Result{}, nil
	})
	a := chain(t, compose.AgentConfig{Skills: []string{"a"}}, tools(t, called),
		giving("a", compose.Noop().WithNext(compose.RunSkill{ID: "b"}).WithNext(compose.InvokeTool{Tool: "x"})), giving("b", compose.Delta(1)))
	got, err := a.Step(t.Context(), begin())
	noErr(t, err)
	same(t, "result", compose.StepResult{SkillsRun: []string{"a"}, SkillsSkipped: []string{}}, got)
}

func TestNewAgentNamesTheFirstMissingSkill(t *testing.T) {
	t.Parallel()
	skills, err := compose.NewSkills(giving("a", compose.Noop()))
	noErr(t, err)
	_, err = compose.NewAgent("x", skills, nil, compose.AgentConfig{Skills: []string{"a", "b", "c"}})
	if e := wantKind(t, err, compose.KindSkillNotFound); !strings.Contains(e.Message, "`b`") {
		t.Errorf("got %v", e)
	}
	for _, name := range []string{"", " ", strings.Repeat("x", compose.MaxName+1)} {
		_, err := compose.NewAgent(name, skills, nil, compose.AgentConfig{})
		wantKind(t, err, compose.KindInvalidArgument)
	}
}

func TestUnknownToolsOfAnAgentFailWhenTheyAreCalled(t *testing.T) {
	t.Parallel()
	var seen [2]error
	asking := compose.NewSkill("a", func(ctx context.Context, _ *investigation, r *registry) (outcome, error) {
		_, seen[0] = r.Invoke(ctx, "later", nil)
		_, seen[1] = r.Invoke(ctx, "hidden", nil)
		return compose.Noop(), nil
	})
	all := tools(t, saying(t, "hidden", `1`))
	a := chain(t, compose.AgentConfig{Tools: []string{"later"}}, all, asking)
	_, err := a.Step(t.Context(), begin())
	noErr(t, err)
	wantKind(t, seen[0], compose.KindToolNotFound)
	wantKind(t, seen[1], compose.KindToolNotAuthorised)
	noErr(t, all.Register(saying(t, "later", `1`)))
	_, err = a.Step(t.Context(), begin())
	noErr(t, err)
	noErr(t, seen[0])
	same(t, "no names are no tools", 0, chain(t, compose.AgentConfig{Tools: []string{}}, all).Tools().Len())
	same(t, "nil is all", 2, chain(t, compose.AgentConfig{}, all).Tools().Len())
}

func TestOneSkillServesTwoAgents(t *testing.T) {
	t.Parallel()
	shared := giving("shared", compose.Delta(0.5))
	first, second := chain(t, compose.AgentConfig{}, nil, shared), chain(t, compose.AgentConfig{}, nil, shared)
	var got [2]compose.StepResult
	for i, a := range []compose.Agent{first, second} {
		var err error
		got[i], err = a.Step(t.Context(), begin())
		noErr(t, err)
	}
	same(t, "results", got[0], got[1])
	if first.ID() == second.ID() {
		t.Error("two agents have one id")
	}
	if id, err := uuid.Parse(string(first.ID())); err != nil || id.Version() != 4 {
		t.Errorf("the id is %s", first.ID())
	}
}

func TestAChainMayBeUsedConcurrently(t *testing.T) {
	t.Parallel()
	asking := compose.NewSkill("a", func(ctx context.Context, inv *investigation, r *registry) (outcome, error) {
		inv.AddEvidence(compose.Evidence{SourceSkill: "a", Label: "l"})
		_, err := r.Invoke(ctx, "x", nil)
		return compose.Delta(0.5), err
	})
	a := chain(t, compose.AgentConfig{}, tools(t, saying(t, "x", `1`)), asking, giving("b", compose.Delta(0.25)))
	var wg sync.WaitGroup
	for range 16 {
		wg.Go(func() {
			if got, err := a.Step(t.Context(), begin()); err != nil || got.Confidence != 0.75 {
				t.Errorf("got %+v, %v", got, err)
			}
		})
	}
	wg.Wait()
}

func TestErrorsOfSkills(t *testing.T) {
	t.Parallel()
	limited := protocol.NewError(protocol.CodeUnavailable, "later").After(time.Second).With("who", "me")
	unwind := fmt.Errorf("waiting: %w", &step.Unwind{Released: true})
	for name, c := range map[string]struct {
		err  error
		kind protocol.ErrorKind
		text string
		code protocol.Code
	}{
		"plain":     {errBoom, compose.KindSkillFailed, "skill execution failed: boom", protocol.CodeToolError},
		"coded":     {limited, compose.KindSkillFailed, "skill execution failed: later", protocol.CodeUnavailable},
		"kernel":    {compose.ErrToolNotApplicable("x"), compose.KindToolNotApplicable, "tool not applicable: x", protocol.CodeToolError},
		"unwinding": {unwind, "", unwind.Error(), protocol.CodeInternal},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := chain(t, compose.AgentConfig{}, nil, erring("a", c.err)).Step(t.Context(), begin())
			e := protocol.AsError(err)
			if compose.KindOf(err) != c.kind || err.Error() != c.text || e.Code != c.code || !errors.Is(err, c.err) {
				t.Errorf("got %v, %s, %s", err, e.Kind, e.Code)
			}
			if name == "coded" && (!e.Retryable || e.RetryAfter != time.Second || e.Details["who"] != "me" || e.Details["skill"] != "a") {
				t.Errorf("got %+v", e)
			}
			if name == "unwinding" != step.Unwinding(err) {
				t.Errorf("unwinding: %v", err)
			}
		})
	}
}

func TestThePanicOfASkillIsItsFailure(t *testing.T) {
	t.Parallel()
	inExecute := compose.NewSkill("a", func(_ context.Context, inv *investigation, _ *registry) (outcome, error) {
		inv.AddSignal("touched")
		panic("secret")
	})
	inApplies := giving("a", compose.Noop(), compose.AppliesIf(func(*compose.Investigation) bool { panic("secret") }))
	for _, s := range []compose.Skill{inExecute, inApplies} {
		_, err := chain(t, compose.AgentConfig{}, nil, s).Step(t.Context(), begin())
		var crash *tool.PanicError
		if e := wantKind(t, err, compose.KindSkillFailed); strings.Contains(e.Message, "secret") || !errors.As(err, &crash) || crash.Value != "secret" {
			t.Errorf("got %v", err)
		}
	}
}

func TestNoSkillBeginsWhenTheContextHasEnded(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	ending := compose.NewSkill("a", func(context.Context, *investigation, *registry) (outcome, error) {
		cancel()
		return compose.Delta(0.5), nil
	})
	late := giving("b", compose.Noop(), compose.AppliesIf(func(*compose.Investigation) bool {
		t.Error("the second skill was asked")
		return true
	}))
	inv := begin()
	_, err := chain(t, compose.AgentConfig{}, nil, ending, late).Step(ctx, inv)
	if !errors.Is(err, context.Canceled) || protocol.CodeOf(err) != protocol.CodeCancelled || inv.Confidence != 0.5 {
		t.Errorf("got %v, %v", err, inv.Confidence)
	}
}

func TestActionsThatCannotBeTakenAreTheSkillsFailure(t *testing.T) {
	t.Parallel()
	many := make([]compose.NextAction, compose.MaxPending+1)
	for i := range many {
		many[i] = compose.Conclude{}
	}
	for name, o := range map[string]compose.Outcome{
		"nil":  compose.Noop().WithNext(nil),
		"long": compose.Noop().WithNext(compose.RunSkill{ID: strings.Repeat("x", compose.MaxName+1)}),
		"many": {NextActions: many},
	} {
		if _, err := chain(t, compose.AgentConfig{}, nil, giving("a", o)).Step(t.Context(), begin()); compose.KindOf(err) != compose.KindSkillFailed {
			t.Errorf("%s: got %v", name, err)
		}
	}
}

func TestAnInvestigationStaysWithinItsLimits(t *testing.T) {
	t.Parallel()
	growing := compose.NewSkill("a", func(_ context.Context, inv *investigation, _ *registry) (outcome, error) {
		inv.AddSignal(make([]compose.Signal, compose.MaxSignals)...)
		return compose.Noop(), nil
	})
	a := chain(t, compose.AgentConfig{}, nil, growing)
	inv := begin()
	_, err := a.Step(t.Context(), inv)
	noErr(t, err)
	_, err = a.Step(t.Context(), inv)
	wantKind(t, err, compose.KindSkillFailed)
	_, err = a.Step(t.Context(), inv)
	wantKind(t, err, compose.KindInvalidArgument)
	_, err = a.Step(t.Context(), nil)
	wantKind(t, err, compose.KindInvalidArgument)
}

func TestEvidenceWithoutATimeGetsTheAgents(t *testing.T) {
	t.Parallel()
	now, own := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC), time.Date(2020, 1, 1, 0, 0, 0, 0, time.UTC)
	s := compose.NewSkill("a", func(_ context.Context, inv *investigation, _ *registry) (outcome, error) {
		inv.AddEvidence(compose.Evidence{Label: "a"}, compose.Evidence{Label: "b", RecordedAt: own})
		return compose.Noop(), nil
	})
	inv := begin()
	_, err := chain(t, compose.AgentConfig{Now: func() time.Time { return now }}, nil, s).Step(t.Context(), inv)
	noErr(t, err)
	same(t, "times", []time.Time{now, own}, []time.Time{inv.Evidence[0].RecordedAt, inv.Evidence[1].RecordedAt})
}

func TestStepResultsAreWrittenWithLists(t *testing.T) {
	t.Parallel()
	raw, err := protocol.Marshal(compose.StepResult{})
	noErr(t, err)
	same(t, "json", `{"skills_run":[],"skills_skipped":[],"confidence":0,"concluded":false}`, string(raw))
}

func TestASkillThatFailsLeavesTheConfidenceInItsRange(t *testing.T) {
	t.Parallel()
	writing := compose.NewSkill("a", func(_ context.Context, inv *investigation, _ *registry) (outcome, error) {
		inv.Confidence = 7
		return compose.Noop(), errBoom
	})
	inv := begin()
	_, err := chain(t, compose.AgentConfig{}, nil, writing).Step(t.Context(), inv)
	wantKind(t, err, compose.KindSkillFailed)
	same(t, "confidence", 1.0, inv.Confidence)
}

// An investigation that nobody could read any more is the failure of the skill that made it so.
func TestAnInvestigationStaysReadable(t *testing.T) {
	t.Parallel()
	detail := json.RawMessage(`"` + strings.Repeat("x", compose.MaxDetail-2) + `"`)
	for n, want := range map[int]protocol.ErrorKind{60: "", 70: compose.KindSkillFailed} {
		grows := compose.NewSkill("grows", func(_ context.Context, inv *investigation, _ *registry) (outcome, error) {
			for range n {
				inv.AddEvidence(compose.Evidence{SourceSkill: "grows", Label: "more", Detail: detail})
			}
			return compose.Noop(), nil
		})
		inv := begin()
		_, err := chain(t, compose.AgentConfig{}, tools(t), grows).Step(t.Context(), inv)
		if compose.KindOf(err) != want {
			t.Errorf("%d: got %v", n, err)
		}
		raw, err := protocol.Marshal(inv)
		noErr(t, err)
		if err := json.Unmarshal(raw, &investigation{}); (err == nil) != (want == "") {
			t.Errorf("%d: %d bytes are read with %v", n, len(raw), err)
		}
	}
}
