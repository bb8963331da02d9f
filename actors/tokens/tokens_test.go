package tokens_test

import (
	"encoding/json"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/skelegent/skelegent-go/actors/tokens"
	"github.com/skelegent/skelegent-go/protocol"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func user(text string) protocol.Message {
	return protocol.NewMessage(protocol.RoleUser, protocol.TextContent(text))
}

// count is the tokens of a text alone.
func count(model, text string) int { return tokens.For(model).Messages(user(text)) - 4 }

// TestKnownCounts: the numbers are those that OpenAI publishes for its tokenizer.
func TestKnownCounts(t *testing.T) {
	t.Parallel()
	tests := []struct {
		text         string
		o200k, c100k int
	}{
		{"", 0, 0},
		{"hello world", 2, 2},
		{"tiktoken is great!", 6, 6},
		{"antidisestablishmentarianism", 6, 6},
		{"2 + 2 = 4", 7, 7},
		{"お誕生日おめでとう", 8, 9},
	}
	for _, tt := range tests {
		if got := count("gpt-4o", tt.text); got != tt.o200k {
			t.Errorf("o200k: %q has %d tokens, want %d", tt.text, got, tt.o200k)
		}
		if got := count("gpt-4", tt.text); got != tt.c100k {
			t.Errorf("cl100k: %q has %d tokens, want %d", tt.text, got, tt.c100k)
		}
	}
}

func TestWhichCounter(t *testing.T) {
	t.Parallel()
	const text = "お誕生日おめでとう" // 8, 9 and, by the estimate, 6
	want := map[string]int{
		"gpt-4o": 8, "gpt-4o-mini-2024-07-18": 8, "openai:gpt-4o": 8, "openai/gpt-4o": 8, "ft:gpt-4o-mini:acme::1": 8,
		"gpt-4.1": 8, "gpt-4.1-nano": 8, "gpt-5": 8, "gpt-5.2": 8, "o1": 8, "o3-mini": 8, "o4-mini-2025-04-16": 8, "chatgpt-4o-latest": 8,
		"gpt-4": 9, "gpt-4-0613": 9, "gpt-4-turbo": 9, "gpt-3.5-turbo": 9, "gpt-35-turbo": 9, "ft:gpt-3.5-turbo:acme": 9,
		"": 6, "claude-haiku-4-5": 6, "llama3.2:1b": 6, "gpt": 6, "gpt-4z": 6, "o33": 6, "-": 6, ":::": 6, strings.Repeat("gpt-4o-", 10000): 8,
	}
	for model, n := range want {
		if got := count(model, text); got != n {
			t.Errorf("%.40q: %d, want %d", model, got, n)
		}
		if got := tokens.For(model).Exact(); got != (n != 6) {
			t.Errorf("%.40q: exact %t", model, got)
		}
	}
}

func TestWindow(t *testing.T) {
	t.Parallel()
	want := map[string]int{
		"claude-sonnet-4-5-20250929": 200_000, "anthropic:claude-3-5-haiku-latest": 200_000, "gpt-4o-mini": 128_000,
		"gpt-4.1-nano": 1_047_576, "gpt-5-mini": 400_000, "gpt-5-chat-latest": 128_000, "o1": 200_000, "o1-mini": 128_000,
		"o3-mini": 200_000, "o4-mini": 200_000, "gpt-4": 8_192, "gpt-4-0613": 8_192, "gpt-4-turbo-2024-04-09": 128_000,
		"llama3.2": 131_072, "ollama:llama3.2:1b": 131_072, "meta/llama3.1:8b": 131_072,
		"": 0, "scripted": 0, "gpt": 0, "o": 0, "llama": 0, "my-claude": 0,
	}
	for model, n := range want {
		if got, ok := tokens.Window(model); got != n || ok != (n > 0) {
			t.Errorf("%q: %d, %t, want %d", model, got, ok, n)
		}
	}
}

func TestAllPartsCount(t *testing.T) {
	t.Parallel()
	const text = "one two three four five six seven eight" // 8 tokens, 39 bytes
	raw := json.RawMessage(`"` + text + `"`)
	source := protocol.Base64Source(strings.Repeat("A", 100_000))
	parts := map[string]struct {
		req   protocol.InferRequest
		least int
	}{
		"text":        {protocol.InferRequest{Messages: []protocol.Message{user(text)}}, 12},
		"system":      {protocol.InferRequest{System: text}, 12},
		"tool schema": {protocol.InferRequest{Tools: []protocol.ToolSchema{{InputSchema: raw}}}, 16},
		"tool":        {protocol.InferRequest{Tools: []protocol.ToolSchema{{Description: text}}}, 16},
		"response schema": {
			protocol.InferRequest{ResponseFormat: protocol.SchemaFormat{Schema: raw}}, 8,
		},
	}
	blocks := map[string]struct {
		block protocol.ContentBlock
		least int
	}{
		"text":     {protocol.TextBlock{Text: text}, 12},
		"thinking": {protocol.ThinkingBlock{Thinking: text}, 12},
		"call":     {protocol.ToolUseBlock{Input: raw}, 12},
		"result":   {protocol.ToolResultBlock{Content: text}, 12},
		"data":     {protocol.DataBlock{Data: raw}, 12},
		"custom":   {protocol.CustomBlock{Data: raw}, 12},
		"image":    {protocol.ImageBlock{Source: source}, 1004},
		"file":     {protocol.FileBlock{Source: source}, 1004},
	}
	for name, b := range blocks {
		p := parts[""]
		p.req.Messages = []protocol.Message{protocol.NewMessage(protocol.RoleUser, protocol.BlockContent(b.block))}
		p.least = b.least
		parts["block "+name] = p
	}
	for name, p := range parts {
		for _, model := range []string{"gpt-4o", "gpt-4", "other"} {
			if got := tokens.For(model).Count(p.req); got < p.least || got > p.least+4 {
				t.Errorf("%s for %q: %d, want %d or a little more", name, model, got, p.least)
			}
		}
	}
	for _, model := range []string{"gpt-4o", "other"} {
		if n := tokens.For(model).Count(protocol.InferRequest{}) + tokens.For(model).Messages(); n != 0 {
			t.Errorf("nothing has %d tokens for %q", n, model)
		}
	}
	msg := user(text)
	if got := (tokens.Estimate{}).Messages(msg, msg); got != 2*msg.EstimatedTokens() {
		t.Errorf("the estimate is %d, that of protocol %d", got, 2*msg.EstimatedTokens())
	}
}

// TestHostileText: no text takes long, and none is free. Quadratic work takes more than ten seconds here, linear work a tenth of one.
func TestHostileText(t *testing.T) {
	t.Parallel()
	const size = 1 << 17
	units := map[string]string{
		"letters": "a", "capitals": "A", "mixed": "aA", "spaces": " ", "lines": "\n", "spaces and lines": " \n", "indents": "\n\t",
		"windows lines": " \r\n", "wide spaces": "\u3000\n", "nothing to see": "\u200b", "marks": "\u0301", "digits": "7",
		"punctuation": "!", "punctuation and lines": "!\n", "apostrophes": "'s", "slashes": "/\n", "chinese": "漢", "emoji": "😀",
		"zeros": "\x00", "delete": "\x7f", "no UTF-8": "\xff", "cut UTF-8": "\xe6\xbc", "base64": "QUJDREVGR0hJ+/", "ordinary": "The parrot in the cellar. ",
	}
	for name, unit := range units {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			text := strings.Repeat(unit, size/len(unit))
			start := time.Now()
			small, large := count("gpt-4o", text[:size/16]), count("gpt-4o", text)
			took := time.Since(start)
			if took > time.Minute {
				t.Errorf("took %v", took)
			}
			if small < 64 || large < 15*small || large > 17*small {
				t.Errorf("%d tokens, sixteen times as much has %d", small, large)
			}
		})
	}
}

func TestVeryLongTextIsEstimated(t *testing.T) {
	t.Parallel()
	long := strings.Repeat(" hello", 10<<20/6)
	start := time.Now()
	got := tokens.For("gpt-4o").Count(protocol.InferRequest{
		System: long, Messages: []protocol.Message{user(long), user("hello")}, Tools: []protocol.ToolSchema{{InputSchema: json.RawMessage(long)}},
	})
	if got < 3*len(long)/5 || got > 3*len(long)/3 { // exactly it is a sixth, and the estimate a quarter
		t.Errorf("%d tokens for %d bytes", got, 3*len(long))
	}
	if took := time.Since(start); took > 2*time.Minute {
		t.Errorf("took %v", took)
	}
}

func TestAtTheSameTime(t *testing.T) {
	t.Parallel()
	const text = "The parrot in the cellar knows the number 4711-0815. お誕生日おめでとう"
	want := map[string]int{"gpt-4o": count("gpt-4o", text), "gpt-4": count("gpt-4", text)}
	var wg sync.WaitGroup
	for range 8 {
		for model, n := range want {
			wg.Go(func() {
				for range 50 {
					if got := count(model, text); got != n {
						t.Errorf("%s: %d, want %d", model, got, n)
					}
				}
			})
		}
	}
	wg.Wait()
}

func BenchmarkCount(b *testing.B) {
	req := protocol.InferRequest{Messages: []protocol.Message{user(strings.Repeat("The parrot in the cellar knows the number. ", 100))}}
	for _, model := range []string{"gpt-4o", "gpt-4", "estimate"} {
		b.Run(model, func(b *testing.B) {
			c := tokens.For(model)
			b.SetBytes(int64(len(req.Messages[0].Text())))
			b.ReportAllocs()
			for b.Loop() {
				c.Count(req)
			}
		})
	}
}
