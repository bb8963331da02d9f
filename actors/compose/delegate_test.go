package compose_test

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/skelegent/skelegent-go/actors/compose"
	"github.com/skelegent/skelegent-go/actors/tool"
	"github.com/skelegent/skelegent-go/protocol"
)

// raising is an agent whose skill applies where the signal raise is.
func raising(t *testing.T) *compose.ChainAgent {
	t.Helper()
	return chain(t, compose.AgentConfig{}, nil, giving("raise", compose.Delta(0.4), compose.When("raise")))
}

func delegateTool(t *testing.T, e compose.Executor, opts ...tool.Option) tool.Tool {
	t.Helper()
	x, err := compose.DelegateTool("ask", "Asks.", e, opts...)
	noErr(t, err)
	return x
}

// reply is what an in-process delegate gives.
type reply struct {
	Kind    string                `json:"delegate_kind"`
	Agent   string                `json:"agent"`
	Result  compose.StepResult    `json:"result"`
	Context compose.Investigation `json:"context"`
}

func invoked(t *testing.T, e compose.Executor, args string) (r reply) {
	t.Helper()
	res, err := tools(t, delegateTool(t, e)).Invoke(t.Context(), "ask", json.RawMessage(args))
	noErr(t, err)
	noErr(t, json.Unmarshal(res.Output, &r))
	return r
}

func TestAnInProcessDelegateMakesOneStep(t *testing.T) {
	t.Parallel()
	got := invoked(t, compose.InProcess(raising(t)), `{"entity_id":"host-a","partition":"lab","signals":["raise"]}`)
	want := compose.NewInvestigation("host-a", "lab").WithSignal("raise")
	want.Confidence = 0.4
	same(t, "reply", reply{
		Kind: "in_process", Agent: "triage", Context: *want,
		Result: compose.StepResult{SkillsRun: []string{"raise"}, SkillsSkipped: []string{}, Confidence: 0.4},
	}, normal(got))
}

// normal is r with empty lists as nil.
func normal(r reply) reply {
	r.Context = *r.Context.Clone()
	if len(r.Context.Evidence) == 0 {
		r.Context.Evidence = nil
	}
	return r
}

func TestTheOutputOfAnInProcessDelegate(t *testing.T) {
	t.Parallel()
	res, err := compose.InProcess(raising(t)).Invoke(t.Context(), json.RawMessage(`{"signals":["raise"]}`))
	noErr(t, err)
	same(t, "output", `{"delegate_kind":"in_process","agent":"triage","result":{"skills_run":["raise"],"skills_skipped":[],"confidence":0.4,`+
		`"concluded":false},"context":{"entity_id":"delegate","partition":"default","signals":["raise"],"evidence":[],"confidence":0.4,`+
		`"pending_actions":[]}}`, string(res.Output))
}

func TestTheArgumentsOfADelegate(t *testing.T) {
	t.Parallel()
	partial := func(entity, partition string, confidence float64, signals ...compose.Signal) *compose.Investigation {
		inv := compose.NewInvestigation(entity, partition)
		inv.Confidence, inv.Signals = confidence, signals
		return inv
	}
	for name, c := range map[string]struct {
		args string
		want *compose.Investigation
	}{
		"a context":                    {`{"entity_id":"other","context":` + fullJSON + `}`, full()},
		"an investigation":             {fullJSON, full()},
		"nothing":                      {``, partial("delegate", "default", 0)},
		"an empty object":              {`{}`, partial("delegate", "default", 0)},
		"no object":                    {`"x"`, partial("delegate", "default", 0)},
		"a list":                       {`[1]`, partial("delegate", "default", 0)},
		"some of it":                   {` {"entity_id":"e","partition":"p","confidence":0.5,"signals":["a","b"]} `, partial("e", "p", 0.5, "a", "b")},
		"of other types":               {`{"entity_id":7,"partition":null,"confidence":"1","signals":"a"}`, partial("delegate", "default", 0)},
		"a confidence above":           {`{"confidence":3}`, partial("delegate", "default", 1)},
		"a confidence below":           {`{"confidence":-3}`, partial("delegate", "default", 0)},
		"a confidence beyond floats":   {`{"confidence":1e999}`, partial("delegate", "default", 1)},
		"signals that are no strings":  {`{"signals":["a",7,null,["b"],"c"]}`, partial("delegate", "default", 0, "a", "c")},
		"an investigation with a hole": {strings.Replace(fullJSON, `"partition"`, `"x"`, 1), partial("host-a", "default", 0.4, "raise", "raise")},
	} {
		got, err := compose.InvestigationFrom(json.RawMessage(c.args))
		if err != nil {
			t.Errorf("%s: got %v", name, err)
			continue
		}
		same(t, name, c.want, got)
	}
}

func TestArgumentsThatADelegateDoesNotTake(t *testing.T) {
	t.Parallel()
	many, err := json.Marshal(make([]string, compose.MaxSignals+1))
	noErr(t, err)
	for name, c := range map[string]struct {
		args string
		want protocol.ErrorKind
	}{
		"not json":               {`{`, compose.KindSerialization},
		"a member twice":         {`{"signals":[],"signals":[]}`, compose.KindSerialization},
		"a context with a hole":  {`{"context":{"entity_id":"e"}}`, compose.KindSerialization},
		"a context that is null": {`{"context":null}`, compose.KindSerialization},
		"a context that is none": {`{"context":"x"}`, compose.KindSerialization},
		"many signals":           {`{"signals":` + string(many) + `}`, compose.KindInvalidArgument},
		"a long entity":          {`{"entity_id":"` + strings.Repeat("x", 300) + `"}`, compose.KindInvalidArgument},
		// It is one, so nothing of it is dropped.
		"an investigation beyond the limits": {
			strings.Replace(fullJSON, `["raise","raise"]`, string(many), 1), compose.KindInvalidArgument,
		},
		"too much": {`"` + strings.Repeat("x", compose.MaxInvestigation) + `"`, compose.KindInvalidArgument},
	} {
		if _, err := compose.InvestigationFrom(json.RawMessage(c.args)); compose.KindOf(err) != c.want {
			t.Errorf("%s: got %v", name, err)
		}
		if _, err := compose.InProcess(raising(t)).Invoke(t.Context(), json.RawMessage(c.args)); compose.KindOf(err) != c.want {
			t.Errorf("%s: got %v", name, err)
		}
	}
}

// costing is a tool that declares and costs something, and fails if told to.
func costing(t *testing.T, name, cost string, failure error) tool.Tool {
	t.Helper()
	return raw(t, name, func(context.Context, json.RawMessage) (tool.Result, error) {
		d := protocol.MustDecimal(cost)
		return tool.Result{Effects: protocol.Effects{protocol.Log{Level: protocol.LogInfo, Message: name}}, Cost: &d, UnpricedCalls: 1}, failure
	})
}

// using is a skill that invokes tools.
func using(id string, names ...string) compose.Skill {
	return compose.NewSkill(id, func(ctx context.Context, _ *investigation, r *registry) (outcome, error) {
		for _, n := range names {
			if _, err := r.Invoke(ctx, n, nil); err != nil {
				return compose.Outcome{}, err
			}
		}
		return compose.Delta(0.1), nil
	})
}

func TestADelegateGivesWhatItsToolsDeclareAndCost(t *testing.T) {
	t.Parallel()
	r := tools(t, costing(t, "a", "0.1", nil), costing(t, "b", "0.25", nil), costing(t, "c", "0.5", errBoom))
	for name, c := range map[string]struct {
		uses    []string
		fails   bool
		cost    string
		effects int
		calls   uint32
	}{
		"two":     {[]string{"a", "b"}, false, "0.35", 2, 2},
		"failing": {[]string{"a", "c", "b"}, true, "0.6", 0, 2},
	} {
		inner := compose.InProcess(chain(t, compose.AgentConfig{}, r, using("s", c.uses...)))
		// Through two delegates, and under a caller that counts too: everything is counted once.
		outer := compose.InProcess(chain(t, compose.AgentConfig{}, tools(t, delegateTool(t, inner)), using("s", "ask")))
		var counted tool.Result
		ctx := compose.WithCaller(t.Context(), func(ctx context.Context, x tool.Tool, call protocol.ToolCall) (tool.Result, error) {
			res, err := tool.Call(ctx, x, call.Input)
			counted = res
			return res, err
		})
		res, err := outer.Invoke(ctx, nil)
		if (err != nil) != c.fails || res.Cost == nil || res.Cost.Text() != c.cost || res.UnpricedCalls != c.calls || len(res.Effects) != c.effects {
			t.Errorf("%s: got %+v, %v", name, res, err)
		}
		if counted.Cost == nil || counted.Cost.Text() != c.cost || len(counted.Effects) != c.effects {
			t.Errorf("%s: the caller counted %+v", name, counted)
		}
	}
}

func TestDelegateToolForwardsAndSpends(t *testing.T) {
	t.Parallel()
	echo := compose.ExecutorFunc(func(ctx context.Context, args json.RawMessage) (tool.Result, error) {
		if b := protocol.NextCall(ctx).Budget; b == nil || b.Text() != "0.5" {
			t.Errorf("the budget is %v", b)
		}
		return tool.Result{Output: args}, nil
	})
	x := delegateTool(t, echo, tool.ParallelSafe())
	m := x.Metadata()
	if !tool.Spends(x) || tool.CanRepeat(x) || !m.ParallelSafe || string(m.InputSchema) != `{"type":"object"}` ||
		string(compose.ResultSchema(x)) != `{"type":"object"}` {
		t.Errorf("got %+v, result %s", m, compose.ResultSchema(x))
	}
	ctx := protocol.WithCall(t.Context(), protocol.Call{Budget: new(protocol.MustDecimal("0.5"))})
	res, err := tools(t, x).Invoke(ctx, "ask", json.RawMessage(`{"a":[1]}`))
	if err != nil || res.Text() != `{"a":[1]}` {
		t.Errorf("got %s, %v", res.Text(), err)
	}
	_, err = tools(t, x).Invoke(ctx, "ask", json.RawMessage(`7`))
	wantKind(t, err, compose.KindToolFailed)
	for name, e := range map[string]compose.Executor{
		"in process": compose.InProcess(raising(t)), "stub": compose.Stub("x"), "remote": compose.Remote(nil, "x"),
	} {
		if !tool.CanRepeat(delegateTool(t, e)) {
			t.Errorf("%s cannot be repeated", name)
		}
	}
}

func TestDelegateToolWithSchema(t *testing.T) {
	t.Parallel()
	args, result := json.RawMessage(`{"type":"object","required":["a"]}`), json.RawMessage(`{"type":"object","properties":{"b":{}}}`)
	x, err := compose.DelegateToolWithSchema(protocol.ToolMetadata{Name: "ask", Description: "Asks.", InputSchema: args}, result, compose.Stub("x"))
	noErr(t, err)
	same(t, "result", string(result), string(compose.ResultSchema(tool.Approved(x))))
	same(t, "of another", json.RawMessage(nil), compose.ResultSchema(tool.Approved(saying(t, "x", `1`))))
	_, err = tool.Call(t.Context(), x, json.RawMessage(`{}`))
	if !errors.Is(err, &protocol.Error{Kind: protocol.KindToolInvalidInput}) {
		t.Errorf("got %v", err)
	}
	for name, f := range map[string]func() (tool.Tool, error){
		"no executor": func() (tool.Tool, error) { return compose.DelegateTool("a", "", nil) },
		"no name":     func() (tool.Tool, error) { return compose.DelegateTool("", "", compose.Stub("x")) },
		"bad schema": func() (tool.Tool, error) {
			return compose.DelegateToolWithSchema(protocol.ToolMetadata{Name: "a", InputSchema: json.RawMessage(`[]`)}, nil, compose.Stub("x"))
		},
	} {
		if _, err := f(); compose.KindOf(err) != compose.KindInvalidArgument {
			t.Errorf("%s: got %v", name, err)
		}
	}
}

func TestAStubSaysThatItIsNotWired(t *testing.T) {
	t.Parallel()
	res, err := tools(t, delegateTool(t, compose.Stub("child"))).Invoke(t.Context(), "ask", json.RawMessage(`{"a":1}`))
	noErr(t, err)
	var said struct {
		Status, Delegate, Hint string
		Args                   json.RawMessage
	}
	noErr(t, json.Unmarshal(res.Output, &said))
	if said.Status != "delegate_unwired" || said.Delegate != "child" || said.Hint == "" || string(said.Args) != `{"a":1}` {
		t.Errorf("got %s", res.Output)
	}
}

type described struct{ compose.Executor }

func (described) Description() string { return "It is described." }

func TestDelegatesAreRegisteredByName(t *testing.T) {
	t.Parallel()
	var d compose.Delegates
	noErr(t, d.Register("b", compose.Stub("old")))
	noErr(t, d.Register("b", compose.Stub("b")))
	noErr(t, d.Register("a", described{compose.Stub("a")}))
	same(t, "len", 2, d.Len())
	same(t, "names", []string{"a", "b"}, d.Names())
	same(t, "descriptors", []compose.Descriptor{{ID: "a", Description: "It is described."}, {ID: "b"}}, d.Descriptors())
	e, ok := d.Get("b")
	if _, none := d.Get("c"); !ok || none {
		t.Fatal("not found, or found what is not there")
	}
	res, err := e.Invoke(t.Context(), nil)
	if err != nil || !strings.Contains(res.Text(), `"delegate":"b"`) {
		t.Errorf("got %s, %v", res.Text(), err)
	}
	wantKind(t, d.Register("", compose.Stub("x")), compose.KindInvalidArgument)
	wantKind(t, d.Register("x", nil), compose.KindInvalidArgument)
}

// An agent that delegates to itself ends with an error, and not with the process.
func TestDelegatesThatGoInCirclesEnd(t *testing.T) {
	t.Parallel()
	set := tools(t)
	a := chain(t, compose.AgentConfig{}, set, using("s", "self"))
	self, err := compose.DelegateTool("self", "", compose.InProcess(a))
	noErr(t, err)
	noErr(t, set.Register(self))
	if _, err := a.Step(t.Context(), begin()); protocol.CodeOf(err) != protocol.CodeQuotaExceeded {
		t.Errorf("got %v", err)
	}
}
