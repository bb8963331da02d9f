package providertest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"sync"

	"github.com/skelegent/skelegent-go/actors/provider"
	"github.com/skelegent/skelegent-go/protocol"
)

func tokens(in, out uint64) *protocol.TokenUsage {
	return &protocol.TokenUsage{InputTokens: in, OutputTokens: out}
}

func count(n uint64) *uint64 { return &n }

// inputOf is the input that arguments have to become.
func inputOf(arguments string) json.RawMessage {
	switch {
	case arguments == "":
		return json.RawMessage(`{}`)
	case json.Valid([]byte(arguments)):
		return json.RawMessage(arguments)
	}
	return json.RawMessage(jsonOf(arguments))
}

func answerCases() []Case {
	text := Answer{Model: Model, Text: "It is noon – twelve o'clock. 🕛\n", Stop: protocol.StopEndTurn, Usage: tokens(10, 5)}
	with := func(change func(a *Answer)) Answer {
		a := text
		change(&a)
		return a
	}
	calls := func(calls ...Call) Answer {
		return Answer{Model: Model, Calls: calls, Stop: protocol.StopToolUse, Usage: tokens(10, 5)}
	}
	cost := func(name string, a Answer, want string) Case {
		return Case{name, func(ctx context.Context, e *env) error { return e.answers(ctx, a, want) }}
	}
	return []Case{
		cost("text", text, "0.0000045"),
		cost("empty text", with(func(a *Answer) { a.Text = "" }), "0.0000045"),
		cost("long text", with(func(a *Answer) { a.Text = strings.Repeat("word ", 20_000) }), "0.0000045"),
		cost("tool call", calls(Call{"c1", "clock", `{"zone":"Europe/Oslo","n":12345678901234567890}`}), "0.0000045"),
		cost("parallel tool calls", calls(
			Call{"c1", "clock", `{"zone":"UTC"}`}, Call{"c2", "clock", `{}`}, Call{"c3", "other", `[1,"ü"]`}), "0.0000045"),
		cost("tool call without arguments", calls(Call{"c1", "clock", ""}), "0.0000045"),
		cost("tool call with broken arguments", calls(Call{"c1", "clock", `{"zone":`}, Call{"c2", "clock", `{}`}), "0.0000045"),
		cost("text and tool call", with(func(a *Answer) {
			a.Calls, a.Stop = []Call{{"c1", "clock", `{"a":1}`}}, protocol.StopToolUse
		}), "0.0000045"),
		cost("max tokens", with(func(a *Answer) { a.Stop = protocol.StopMaxTokens }), "0.0000045"),
		cost("content filter", with(func(a *Answer) { a.Stop = protocol.StopContentFilter }), "0.0000045"),
		cost("cached tokens", with(func(a *Answer) {
			a.Usage = &protocol.TokenUsage{InputTokens: 100, OutputTokens: 10, CacheReadTokens: count(60)}
		}), "0.0000165"),
		cost("reasoning tokens", with(func(a *Answer) {
			a.Usage = &protocol.TokenUsage{InputTokens: 1, OutputTokens: 10, ReasoningTokens: count(9)}
		}), "0.00000615"),
		cost("no usage, no cost", with(func(a *Answer) { a.Usage = nil }), ""),
		{"unknown price", unknownPrice},
		{"calls at the same time", sameTime},
	}
}

// answers checks that a arrives whole and streamed, with its cost; empty for none.
func (e *env) answers(ctx context.Context, a Answer, cost string) error {
	return ways(func(stream bool) error {
		contentType, body := e.Render(a, stream)
		e.serve(func(w http.ResponseWriter, _ *http.Request) { send(w, contentType, body) })
		r := e.call(ctx, Prompt, stream, nil)
		if r.err != nil {
			return r.err
		}
		if stream {
			if err := consistent(r); err != nil {
				return err
			}
		}
		return e.is(a, r.resp, cost)
	})
}

// is checks that got is a with its cost; empty for none.
func (e *env) is(a Answer, got protocol.InferResponse, cost string) error {
	if e.Free {
		cost = "0"
	}
	want := protocol.InferResponse{
		Content: protocol.TextContent(a.Text), StopReason: a.Stop, Model: a.Model, ToolCalls: []protocol.ToolCall{},
	}
	for _, c := range a.Calls {
		want.ToolCalls = append(want.ToolCalls, protocol.ToolCall{ID: c.ID, Name: c.Name, Input: inputOf(c.Arguments)})
	}
	if a.Usage != nil {
		want.Usage = *a.Usage
	}
	if cost != "" {
		d := protocol.MustDecimal(cost)
		want.Cost = &d
	}
	if a, b := jsonOf(got), jsonOf(want); a != b {
		return fmt.Errorf("got %.400s, want %.400s", a, b)
	}
	return nil
}

func unknownPrice(ctx context.Context, e *env) error {
	e.p = e.New(Config{URL: e.server.URL, HTTPClient: e.client, Prices: provider.Prices{}})
	return e.answers(ctx, Answer{Model: Model, Text: "x", Stop: protocol.StopEndTurn, Usage: tokens(10, 5)}, "")
}

// sameTime has many calls at once, every other refused, and each must get what is its own.
func sameTime(ctx context.Context, e *env) error {
	const n = 16
	e.serve(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		_, rest, _ := strings.Cut(string(body), "number=")
		number, rest, _ := strings.Cut(rest, ";")
		stream := strings.HasPrefix(rest, " as a stream")
		if i, _ := strconv.Atoi(number); i%4 < 2 {
			w.Header().Set("Retry-After", number)
			w.WriteHeader(http.StatusTooManyRequests)
			_, _ = w.Write(e.RenderError(http.StatusTooManyRequests, "rate_limit_exceeded", "slow down"))
			return
		}
		contentType, out := e.Render(Answer{Model: Model, Text: number, Stop: protocol.StopEndTurn, Usage: tokens(1, 1)}, stream)
		send(w, contentType, out)
	})
	errs := make([]error, n)
	var wg sync.WaitGroup
	for i := range n {
		wg.Go(func() {
			prompt := fmt.Sprintf("number=%d;", i)
			if i%2 == 1 {
				prompt += " as a stream"
			}
			r := e.call(ctx, prompt, i%2 == 1, nil)
			var coded *protocol.Error
			text, _ := r.resp.Content.AsText()
			switch {
			case i%4 >= 2 && (r.err != nil || text != strconv.Itoa(i)):
				errs[i] = fmt.Errorf("call %d got %q, %w", i, text, r.err)
			case i%4 < 2 && (!errors.As(r.err, &coded) || int(coded.RetryAfter.Seconds()) != i):
				errs[i] = fmt.Errorf("call %d got %w, want it limited for %d s", i, r.err, i)
			}
		})
	}
	wg.Wait()
	return errors.Join(errs...)
}
