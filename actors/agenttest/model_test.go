package agenttest_test

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"os"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/skelegent/skelegent-go/actors/agent"
	"github.com/skelegent/skelegent-go/actors/agenttest"
	"github.com/skelegent/skelegent-go/actors/provider/scripted"
	"github.com/skelegent/skelegent-go/actors/tool"
	"github.com/skelegent/skelegent-go/protocol"
)

func TestModelSaysItsSteps(t *testing.T) {
	t.Parallel()
	busy := protocol.ErrRateLimited(time.Second)
	m := agenttest.NewModel(t,
		agenttest.When(agenttest.LastUser("time"), agenttest.Say("noon"), agenttest.Say("late")),
		agenttest.Say("a"),
		agenttest.When(agenttest.Asked(func(r agenttest.Request) bool { return strings.HasPrefix(r.LastUser(), "x") }), agenttest.Say("an x")),
		agenttest.Fail(busy),
		agenttest.Say("b").Times(2),
		agenttest.Scripted(scripted.Step{Text: "s"}),
		agenttest.Say("ever").Always(),
	)
	for _, c := range [][2]string{
		{"1", "a"},
		{"what time?", "noon"},
		{"2", "error: " + busy.Error()},
		{"x1", "an x"},
		{"x2", "b"},
		{"the time", "late"},
		{"time", "b"},
		{"3", "s"},
		{"4", "ever"},
		{"5", "ever"},
	} {
		if got := ask(t, m, c[0]); got != c[1] {
			t.Errorf("%s: got %q, want %q", c[0], got, c[1])
		}
	}
	if m.Calls() != 10 || m.Request(0).LastUser() != "1" || m.Request(-1).LastUser() != "5" || len(m.Requests()) != 10 {
		t.Errorf("%d calls, %v", m.Calls(), m.Requests())
	}
}

func TestModelStreams(t *testing.T) {
	t.Parallel()
	m := agenttest.NewModel(t, agenttest.Say("It is noon.").And("clock", map[string]string{"zone": "UTC"}).ID("c").Usage(7, 3))
	var text strings.Builder
	var done protocol.InferResponse
	resp, err := m.Infer(t.Context(), user("x"), func(e protocol.StreamEvent) {
		switch e := e.(type) {
		case protocol.TextDelta:
			text.WriteString(e.Text)
		case protocol.Done:
			done = e.Response
		}
	})
	want := []protocol.ToolCall{{ID: "c", Name: "clock", Input: json.RawMessage(`{"zone":"UTC"}`)}}
	if d := cmp.Diff(want, resp.ToolCalls); err != nil || d != "" || text.String() != "It is noon." || resp.Usage.InputTokens != 7 {
		t.Errorf("%s, %q, %v", d, text.String(), err)
	}
	if d := cmp.Diff(want, done.ToolCalls); d != "" || resp.StopReason != protocol.StopToolUse {
		t.Errorf("%s, %s", d, resp.StopReason)
	}
}

func TestModelTakesItsTime(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		m := agenttest.NewModel(t, agenttest.Say("a").After(time.Minute).Stopped(protocol.StopMaxTokens))
		start := time.Now()
		resp, err := m.Infer(t.Context(), user("x"), nil)
		if err != nil || resp.StopReason != protocol.StopMaxTokens || time.Since(start) != time.Minute {
			t.Errorf("%v, %v after %v", resp.StopReason, err, time.Since(start))
		}
	})
}

func TestModelPrice(t *testing.T) {
	t.Parallel()
	steps := []agenttest.Step{agenttest.Say("a").Usage(1000, 100), agenttest.Say("b").Costs("0.5")}
	m := agenttest.NewModel(t, steps...)
	if _, known := m.Quote("m"); known || m.Priced("m") {
		t.Error("there is a price")
	}
	m.WithPrice("1", "10")
	if p, known := m.Quote("m"); !known || !m.Priced("any") || p.Output.String() != "10" {
		t.Errorf("the price is %+v, %v", p, known)
	}
	for _, want := range []string{"0.002", "0.5"} {
		resp, err := m.Infer(t.Context(), user("x"), nil)
		if err != nil || resp.Cost == nil || resp.Cost.String() != want {
			t.Errorf("it costs %v, %v, want %s", resp.Cost, err, want)
		}
	}
	m = agenttest.NewModel(t, agenttest.Say("b").Costs("0.5"))
	if _, known := m.Quote(""); known || !m.Priced("m") || ask(t, m, "x") != "b" {
		t.Error("a model whose steps say what they cost has no price of its own, but is priced")
	}
}

func TestModelInAnAgent(t *testing.T) {
	t.Parallel()
	clock := tool.Func("clock", "", func(context.Context, struct{}) (string, error) { return "noon", nil })
	broken := tool.Func("broken", "", func(context.Context, struct{}) (string, error) { return "", errors.New("no battery") })
	m := agenttest.NewModel(t, agenttest.Call("clock", nil).And("broken", struct{}{}), agenttest.Say("It is noon."))
	r := agenttest.Run(t, build(t, agent.Config{Provider: m, System: "Be careful.", Tools: []tool.Tool{clock, broken}}), protocol.Text("Time?"))
	if r.Err != nil || r.Text() != "It is noon." {
		t.Errorf("got %q, %v", r.Text(), r.Err)
	}
	last := m.Request(1)
	if got := last.ToolResult("call_1"); got.Content != "noon" || got.IsError {
		t.Errorf("got %+v", got)
	}
	if got := last.ToolResult("call_2"); !got.IsError || len(last.ToolResults()) != 2 {
		t.Errorf("got %+v", got)
	}
	if d := cmp.Diff([]string{"clock", "broken"}, last.Tools()); d != "" || last.System() != "Be careful." || last.LastUser() != "Time?" {
		t.Errorf("%s, %q, %q", d, last.System(), last.LastUser())
	}
	want := []string{
		"user: Time?", "call call_1: clock {}", "call call_2: broken {}", "result call_1: noon", "result call_2: Error: execution failed: no battery",
	}
	if d := cmp.Diff(want, last.Conversation()); d != "" {
		t.Error(d)
	}
}

func TestModelComplains(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		test func(tb testing.TB)
		want []string // nothing if empty
	}{
		"nothing is wrong": {test: func(tb testing.TB) { ask(tb, agenttest.NewModel(tb, agenttest.Say("a")), "x") }},
		"a call too many": {
			func(tb testing.TB) {
				m := agenttest.NewModel(tb, agenttest.Say("a"))
				ask(tb, m, "x")
				if got := ask(tb, m, "and what of "+strings.Repeat("this", 100)); !strings.HasPrefix(got, "error: invalid request") {
					t.Errorf("got %q", got)
				}
			},
			[]string{"no answer to", "call 2", `user (412 bytes): "and what of thisthis`, `..."`},
		},
		"no step fits": {
			func(tb testing.TB) {
				ask(tb, agenttest.NewModel(tb, agenttest.When(agenttest.LastUser("a"), agenttest.Say("a"))), "b")
			},
			[]string{`user (1 bytes): "b"`, "1 steps of the model's script were not used up after 1 calls", `say: "a"`},
		},
		"steps are left": {
			func(tb testing.TB) {
				ask(tb, agenttest.NewModel(tb, agenttest.Say("a").Times(2), agenttest.Call("clock", nil), agenttest.Fail(errors.New("no"))), "x")
			},
			[]string{"3 steps", "after 1 calls", `say: "a"`, "call: clock", "fail: no"},
		},
		"no such request": {
			func(tb testing.TB) {
				m := agenttest.NewModel(tb, agenttest.Say("a"))
				ask(tb, m, "x")
				m.Request(1)
			},
			[]string{"fatal: agenttest: there is no request 1: the model was called 1 times"},
		},
		"no such result": {
			func(tb testing.TB) {
				m := agenttest.NewModel(tb, agenttest.Say("a"))
				ask(tb, m, "x")
				m.Request(-1).ToolResult("c")
			},
			[]string{`fatal: agenttest: the request has no result of the call "c"`},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			wantTold(t, c.test, c.want...)
		})
	}
}

func TestModelIsQuietAfterTheTest(t *testing.T) {
	t.Parallel()
	var m *agenttest.Model
	wantTold(t, func(tb testing.TB) { m = agenttest.NewModel(tb) })
	if got := ask(t, m, "x"); !strings.HasPrefix(got, "error: ") {
		t.Errorf("got %q", got)
	}
}

func TestInputsThatAreNoJSON(t *testing.T) {
	t.Parallel()
	m := agenttest.NewModel(t, agenttest.Call("a", json.RawMessage(`{"cut`)))
	resp, err := m.Infer(t.Context(), user("x"), nil)
	if err != nil || string(resp.ToolCalls[0].Input) != `{"cut` {
		t.Errorf("%s, %v", resp.ToolCalls[0].Input, err)
	}
	defer func() {
		if recover() == nil {
			t.Error("a channel became JSON")
		}
	}()
	agenttest.Call("a", make(chan int))
}

func TestRequestsAreShownInShort(t *testing.T) {
	t.Parallel()
	req := user("first")
	for range 30 {
		req.Messages = append(req.Messages, user("next").Messages...)
	}
	picture := protocol.NewMessage(protocol.RoleUser, protocol.BlockContent(protocol.TextBlock{Text: "look"}, protocol.ImageBlock{}))
	req.Messages = append(req.Messages, picture)
	req.System, req.Tools = "Be careful.", []protocol.ToolSchema{{Name: "clock"}}
	got := agenttest.Request{InferRequest: req}.String()
	for _, want := range []string{
		`system (11 bytes): "Be careful."`, "... 13 lines before", `user (4 bytes): "look"`, `"a protocol.ImageBlock"`, "tools: clock",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("got %s, want %s in it", got, want)
		}
	}
	if strings.Contains(got, "first") || (agenttest.Request{}).LastUser() != "" {
		t.Errorf("got %s", got)
	}
}

// Without a test, as in an example, what is wrong is printed.
//
//nolint:paralleltest // it changes os.Stdout
func TestWithoutATest(t *testing.T) {
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	stdout := os.Stdout
	os.Stdout = w
	m := agenttest.NewModel(nil)
	said := ask(t, m, "x")
	agenttest.Run(nil, code(echo), protocol.Text("x"))
	os.Stdout = stdout
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	printed, err := io.ReadAll(r)
	if err != nil || !strings.HasPrefix(said, "error: ") || !strings.Contains(string(printed), "no answer to") {
		t.Errorf("printed %q, %v", printed, err)
	}
	defer func() {
		if recover() == nil {
			t.Error("there is a request that nobody made")
		}
	}()
	m.Request(1)
}
