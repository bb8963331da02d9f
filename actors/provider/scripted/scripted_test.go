package scripted_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"github.com/skelegent/skelegent-go/actors/provider"
	"github.com/skelegent/skelegent-go/actors/provider/scripted"
	"github.com/skelegent/skelegent-go/protocol"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func user(text string) protocol.Message {
	return protocol.NewMessage(protocol.RoleUser, protocol.TextContent(text))
}

func infer(t *testing.T, p provider.Provider, messages ...protocol.Message) (protocol.InferResponse, error) {
	t.Helper()
	return p.Infer(t.Context(), protocol.InferRequest{Messages: messages}, nil)
}

// say returns the text of the answer, or of the error.
func say(t *testing.T, p provider.Provider, messages ...protocol.Message) string {
	t.Helper()
	resp, err := infer(t, p, messages...)
	if err != nil {
		return "error: " + err.Error()
	}
	text, _ := resp.Content.AsText()
	return text
}

func TestOrder(t *testing.T) {
	t.Parallel()
	p := scripted.New(scripted.Step{Text: "a"}, scripted.Step{Text: "b", Repeat: 2}, scripted.Step{Err: protocol.ErrRateLimited(time.Second)})
	for i, want := range []string{"a", "b", "b", "error: rate limited", "error: invalid request: the script is used up: call 5 came"} {
		if got := say(t, p, user(fmt.Sprint(i))); !strings.HasPrefix(got, want) {
			t.Errorf("call %d: %q, want %q", i+1, got, want)
		}
	}
	if p.Calls() != 5 || len(p.Requests()) != 5 || p.Requests()[2].Messages[0].Text() != "2" {
		t.Errorf("%d calls, %v", p.Calls(), p.Requests())
	}
	forever := scripted.New(scripted.Step{Text: "a", Repeat: -1}, scripted.Step{Text: "b"})
	for range 5 {
		if got := say(t, forever); got != "a" {
			t.Errorf("got %q", got)
		}
	}
}

func TestMatch(t *testing.T) {
	t.Parallel()
	p, err := scripted.Parse([]byte(`
steps:
  - {match: {last_user_contains: time, has_tool_result: true}, text: noon}
  - {match: {last_user_contains: time, turn: 1}, tool_calls: [{name: clock}]}
  - {match: {last_user_contains: once}, text: first, repeat: 1}
  - {match: {last_user_contains: once}, text: then}
`))
	if err != nil {
		t.Fatal(err)
	}
	resp, err := infer(t, p, user("what time is it"))
	if err != nil || resp.StopReason != protocol.StopToolUse || len(resp.ToolCalls) != 1 || string(resp.ToolCalls[0].Input) != "{}" {
		t.Fatalf("%+v, %v", resp, err)
	}
	history := []protocol.Message{user("what time is it"), resp.ToMessage(), protocol.ToolResultMessage(resp.ToolCalls[0].ID, "clock", "12", false)}
	if got := say(t, p, history...); got != "noon" {
		t.Errorf("got %q", got)
	}
	// A new message of the user begins anew.
	again, err := infer(t, p, append(history, protocol.NewMessage(protocol.RoleAssistant, protocol.TextContent("noon")), user("time?"))...)
	if err != nil || len(again.ToolCalls) != 1 || again.ToolCalls[0].ID == resp.ToolCalls[0].ID {
		t.Errorf("%+v, %v", again, err)
	}
	for _, want := range []string{"first", "then", "then"} {
		if got := say(t, p, user("once")); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
	if got := say(t, p, user("else")); !strings.Contains(got, "no step of the script fits call 7") {
		t.Errorf("got %q", got)
	}
}

func TestStream(t *testing.T) {
	t.Parallel()
	p := scripted.New(scripted.Step{
		Text: "Zwölf Uhr – genau.", ToolCalls: []protocol.ToolCall{{Name: "clock", Input: json.RawMessage(`{"zone":"Europe/Oslo"}`)}},
		Usage: protocol.TokenUsage{InputTokens: 3, OutputTokens: 4}, Repeat: -1,
	})
	var text, input strings.Builder
	n := 0
	resp, err := p.Infer(t.Context(), protocol.InferRequest{}, func(ev protocol.StreamEvent) {
		n++
		switch ev := ev.(type) {
		case protocol.TextDelta:
			text.WriteString(ev.Text)
		case protocol.ToolCallDelta:
			input.WriteString(ev.JSONDelta)
		case protocol.Done:
			n *= 100
			if ev.Response.ToolCalls[0].ID == "" {
				t.Error("no id")
			}
		}
	})
	got, _ := resp.Content.AsText()
	if err != nil || text.String() != got || input.String() != string(resp.ToolCalls[0].Input) || n < 800 || n%100 != 0 {
		t.Errorf("%q %q after %d events, %+v, %v", text.String(), input.String(), n, resp, err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	_, err = p.Infer(ctx, protocol.InferRequest{}, func(ev protocol.StreamEvent) {
		if _, ok := ev.(protocol.Done); ok {
			t.Error("done after the end")
		}
		cancel()
	})
	if protocol.CodeOf(err) != protocol.CodeCancelled || !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
}

func TestDelay(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := scripted.New(scripted.Step{Text: "a", Delay: time.Minute, Repeat: -1})
		start := time.Now()
		if got := say(t, p); got != "a" || time.Since(start) != time.Minute {
			t.Errorf("got %q after %v", got, time.Since(start))
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		start = time.Now()
		if _, err := p.Infer(ctx, protocol.InferRequest{}, nil); protocol.CodeOf(err) != protocol.CodeTimeout || time.Since(start) != time.Second {
			t.Errorf("got %v after %v", err, time.Since(start))
		}
	})
}

func TestCost(t *testing.T) {
	t.Parallel()
	p, err := scripted.Parse([]byte(`
model: m
prices: {m: {input: 0.15, output: "0.60", cached: 0.075}}
steps:
  - {text: a, usage: {input: 100, output: 10, cached: 60}}
  - {text: b, cost: 0.10}
`))
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"0.0000165", "0.10"} {
		if resp, err := infer(t, p); err != nil || resp.Model != "m" || resp.Cost == nil || resp.Cost.String() != want {
			t.Errorf("%+v, %v; want %s", resp, err, want)
		}
	}
	cost := protocol.MustDecimal("1")
	if !p.Priced("") || !p.Priced("m") || p.Priced("other") || scripted.New(scripted.Step{}).Priced("") ||
		!scripted.New(scripted.Step{Cost: &cost}, scripted.Step{Err: errors.New("x")}).Priced("any") {
		t.Error("priced")
	}
}

func TestConcurrent(t *testing.T) {
	t.Parallel()
	const n = 32
	p := scripted.New(scripted.Step{Text: "a", Repeat: n})
	var wg sync.WaitGroup
	for range n {
		wg.Go(func() {
			if got := say(t, p); got != "a" {
				t.Errorf("got %q", got)
			}
		})
	}
	wg.Wait()
	if p.Calls() != n {
		t.Errorf("%d calls", p.Calls())
	}
}

func TestErrors(t *testing.T) {
	t.Parallel()
	for y, want := range map[string]protocol.Error{
		`{status: 429, retry_after: 2s}`: {Kind: protocol.KindProviderRateLimited, Code: protocol.CodeQuotaExceeded, Retryable: true, RetryAfter: 2 * time.Second},
		`{status: 500}`:                  {Kind: protocol.KindProviderTransient, Code: protocol.CodeUnavailable, Retryable: true},
		`{status: 401}`:                  {Kind: protocol.KindProviderAuthFailed, Code: protocol.CodeUnauthorized},
		`{status: 403}`:                  {Kind: protocol.KindProviderAuthFailed, Code: protocol.CodePermissionDenied},
		`{status: 404}`:                  {Kind: protocol.KindProviderInvalidRequest, Code: protocol.CodeInvalidInput},
		`{code: content_blocked}`:        {Kind: protocol.KindProviderContentBlocked, Code: protocol.CodeModelError},
		`{code: invalid_response}`:       {Kind: protocol.KindProviderInvalidResponse, Code: protocol.CodeModelError},
		`{code: timeout}`:                {Code: protocol.CodeTimeout, Retryable: true},
	} {
		p, err := scripted.Parse([]byte("steps: [{error: " + y + "}]"))
		if err != nil {
			t.Errorf("%s: %v", y, err)
			continue
		}
		_, err = infer(t, p)
		var got *protocol.Error
		if !errors.As(err, &got) || got.Kind != want.Kind || got.Code != want.Code || got.Retryable != want.Retryable || got.RetryAfter != want.RetryAfter {
			t.Errorf("%s: got %#v", y, err)
		}
	}
}

func TestParse(t *testing.T) {
	t.Parallel()
	for y, want := range map[string]string{
		"":                                                   "needs steps",
		"steps: []":                                          "needs steps",
		"steps:\n  - text: a\n    tex: b":                    "line 3: field tex not found",
		"step: []\nsteps: [{text: a}]":                       "line 1: field step not found",
		"steps:\n  - match: {user: a}":                       "line 2: field user not found",
		"steps:\n  - text: a\n    text: b":                   "line 3",
		"steps:\n  - text: a\n  - cost: free":                "line 3: expected a decimal",
		"steps:\n  - delay: 3":                               "line 2: expected a duration",
		"steps:\n  - text: a\n  - stop_reason: tired":        "line 3: step 2: unknown stop_reason",
		"steps:\n  - tool_calls: [{id: a}]":                  "line 2: step 1: a tool call needs a name",
		"steps:\n  - tool_calls: [{name: a, input: {1: b}}]": "line 2: step 1: input of a: is not JSON",
		"steps:\n  - {text: a, error: {status: 500}}":        "in place of text",
		"steps:\n  - error: {status: 200}":                   "no error",
		"steps:\n  - error: {status: 500, code: transient}":  "not both",
		"steps:\n  - error: {}":                              "not both",
		"steps:\n  - error: {code: tired}":                   "unknown code",
		"mode: random\nsteps: [{text: a}]":                   "line 1: unknown mode",
		"steps: [{text: a}]\n---\nsteps: []":                 "only one YAML document",
		"steps: [":                                           "line 1",
		"steps:\n  - usage: {input: -1}":                     "line 2",
		"prices: {m: {inputs: 1}}\nsteps: [{text: a}]":       "line 1: field inputs not found",
	} {
		_, err := scripted.Parse([]byte(y))
		if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "YAML in") || strings.Contains(err.Error(), "\n") || strings.Contains(err.Error(), "scripted.") {
			t.Errorf("%q: got %v, want %q", y, err, want)
		}
	}
	path := filepath.Join(t.TempDir(), "s.yaml")
	if _, err := scripted.Load(path); err == nil {
		t.Error("a missing file was read")
	}
	if err := os.WriteFile(path, []byte("steps: [{tool_calls: [{name: a, id: x, input: {n: 1.5, s: [a]}}, {name: b, input: broken}]}]"), 0o600); err != nil {
		t.Fatal(err)
	}
	p, err := scripted.Load(path)
	if err != nil {
		t.Fatal(err)
	}
	resp, err := infer(t, p)
	if err != nil || resp.ToolCalls[0].ID != "x" || string(resp.ToolCalls[0].Input) != `{"n":1.5,"s":["a"]}` || string(resp.ToolCalls[1].Input) != `"broken"` {
		t.Errorf("%+v, %v", resp, err)
	}
}

// TestDoc parses the example of the package comment.
func TestDoc(t *testing.T) {
	t.Parallel()
	raw, err := os.ReadFile("doc.go")
	if err != nil {
		t.Fatal(err)
	}
	_, text, _ := strings.Cut(string(raw), "//\tmode:")
	text, _, _ = strings.Cut("//\tmode:"+text, "//\n// In order")
	y := strings.ReplaceAll(strings.ReplaceAll(text, "//\t", ""), "//\n", "\n")
	// The example shows both ways to write an error; a script has one.
	y = strings.Replace(y, "      code: rate_limited ", "      #", 1)
	if _, err := scripted.Parse([]byte(y)); err != nil {
		t.Errorf("%v in\n%s", err, y)
	}
}
