package middleware_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
	"go.uber.org/zap/zaptest/observer"

	"github.com/skelegent/skelegent-go/actors/provider"
	"github.com/skelegent/skelegent-go/actors/provider/middleware"
	"github.com/skelegent/skelegent-go/actors/provider/scripted"
	"github.com/skelegent/skelegent-go/protocol"
)

func transform(p provider.Provider, m ...middleware.Infer) provider.Provider {
	return middleware.NewStack().Transform(m...).Build().Wrap(p)
}

// waiting ends as its context does, or after d with err.
func waiting(d time.Duration, err error) middleware.Next {
	return func(ctx context.Context, _ protocol.InferRequest, _ func(protocol.StreamEvent)) (protocol.InferResponse, error) {
		select {
		case <-time.After(d):
			return text("done"), err
		case <-ctx.Done():
			return protocol.InferResponse{}, ctx.Err()
		}
	}
}

func TestTimeout(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name    string
		timeout time.Duration
		caller  time.Duration // until the caller's deadline
		takes   time.Duration
		err     error
		code    protocol.Code
		kind    protocol.ErrorKind
		after   time.Duration
	}{
		{"in time", time.Second, time.Hour, time.Millisecond, nil, "", "", time.Millisecond},
		{"the attempt is over", time.Second, time.Hour, time.Minute, nil, protocol.CodeUnavailable, protocol.KindProviderTransient, time.Second},
		{"the caller is over", time.Minute, time.Second, time.Hour, nil, protocol.CodeTimeout, "", time.Second},
		{"no limit", 0, time.Hour, time.Minute, nil, "", "", time.Minute},
		{"its own error", time.Second, time.Hour, 0, protocol.ErrAuthFailed("x"), protocol.CodeUnauthorized, protocol.KindProviderAuthFailed, 0},
		{"its own timeout", time.Minute, time.Hour, 0, context.DeadlineExceeded, protocol.CodeTimeout, "", 0},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithTimeout(t.Context(), tt.caller)
				defer cancel()
				start := time.Now()
				_, err := transform(waiting(tt.takes, tt.err), middleware.Timeout(tt.timeout)).Infer(ctx, protocol.InferRequest{}, nil)
				if protocol.CodeOf(err) != tt.code || time.Since(start) != tt.after {
					t.Errorf("after %v: %v", time.Since(start), err)
				}
				if err != nil && protocol.AsError(err).Kind != tt.kind {
					t.Errorf("kind %q, want %q", protocol.AsError(err).Kind, tt.kind)
				}
			})
		})
	}
}

// TestTimeoutOfOneThatIsSlowToEnd: what counts is what is over when it returns.
func TestTimeoutOfOneThatIsSlowToEnd(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name   string
		caller time.Duration
		err    error
		want   protocol.Error
	}{
		{"refused in the last moment", time.Hour, protocol.ErrContentBlocked("x"), protocol.Error{Code: protocol.CodeModelError, Kind: protocol.KindProviderContentBlocked}},
		{"the caller is over, too", 2 * time.Second, context.DeadlineExceeded, protocol.Error{Code: protocol.CodeTimeout}},
		{"the attempt alone", time.Hour, context.DeadlineExceeded, protocol.Error{Code: protocol.CodeUnavailable, Kind: protocol.KindProviderTransient}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithTimeout(t.Context(), tt.caller)
				defer cancel()
				slow := answer(func(context.Context, protocol.InferRequest, sink) (protocol.InferResponse, error) {
					time.Sleep(3 * time.Second)
					return protocol.InferResponse{}, tt.err
				})
				_, err := transform(slow, middleware.Timeout(time.Second)).Infer(ctx, protocol.InferRequest{}, nil)
				if e := protocol.AsError(err); e.Code != tt.want.Code || e.Kind != tt.want.Kind {
					t.Errorf("code %q, kind %q: %v", e.Code, e.Kind, err)
				}
			})
		})
	}
}

func big() protocol.InferRequest {
	image := protocol.ImageBlock{Source: protocol.Base64Source("12345"), MediaType: "a/b"}
	file := protocol.FileBlock{Source: protocol.URLSource("123"), MediaType: "a/b", Filename: "c"}
	return protocol.InferRequest{
		Model: "m1", System: "1234567", // 9
		Messages: []protocol.Message{
			protocol.NewMessage(protocol.RoleUser, protocol.TextContent("1234")), // 4
			protocol.NewMessage(protocol.RoleAssistant, protocol.BlockContent(
				protocol.TextBlock{Text: "12"}, protocol.ThinkingBlock{Thinking: "12", Signature: "3"}, // 5
				protocol.ToolUseBlock{ID: "i", Name: "n", Input: json.RawMessage(`{}`)}, image, file, // 4 + 8 + 7
				protocol.DataBlock{Data: json.RawMessage(`1`)}, protocol.CustomBlock{ContentType: "x", Data: json.RawMessage(`1`)})), // 1 + 2
			protocol.ToolResultMessage("i", "n", "123", false), // 2 + 1 + 3
		},
		Tools:           []protocol.ToolSchema{{Name: "n", Description: "dd", InputSchema: json.RawMessage(`{}`), Extra: json.RawMessage(`1`)}}, // 6
		ResponseFormat:  protocol.SchemaFormat{Name: "s", Schema: json.RawMessage(`{}`)},                                                        // 3
		ProviderOptions: map[string]json.RawMessage{"seed": json.RawMessage(`1`)},                                                               // 5
	}
}

func TestMaxInput(t *testing.T) {
	t.Parallel()
	const size = 9 + 4 + 5 + 4 + 8 + 7 + 1 + 2 + 6 + 6 + 3 + 5
	if got := middleware.Size(big()); got != size {
		t.Errorf("size %d, want %d", got, size)
	}
	inner := scripted.New(scripted.Step{Text: "ok", Repeat: -1})
	if _, err := transform(inner, middleware.MaxInput(size)).Infer(t.Context(), big(), nil); err != nil {
		t.Errorf("at the limit: %v", err)
	}
	for _, limit := range []int{size - 1, 0, -1} {
		_, err := transform(inner, middleware.MaxInput(limit)).Infer(t.Context(), big(), nil)
		if !errors.Is(err, &protocol.Error{Kind: protocol.KindProviderInvalidRequest}) || protocol.IsRetryable(err) ||
			!strings.Contains(err.Error(), fmt.Sprint(size)) {
			t.Errorf("limit %d: %v", limit, err)
		}
	}
	if inner.Calls() != 1 {
		t.Errorf("%d calls", inner.Calls())
	}
}

func TestLogHasNoText(t *testing.T) {
	t.Parallel()
	const secret = "the parrot"
	core, logs := observer.New(zapcore.DebugLevel)
	inner := scripted.New(
		scripted.Step{Text: secret, Usage: protocol.TokenUsage{InputTokens: 10, OutputTokens: 3}},
		scripted.Step{Err: protocol.ErrInvalidRequest(secret, 400)},
	)
	p := transform(inner, middleware.Log(zap.New(core)))
	req := protocol.InferRequest{
		Model: strings.Repeat("m", 1000), System: secret,
		Messages: []protocol.Message{protocol.NewMessage(protocol.RoleUser, protocol.TextContent(secret))},
		Tools:    []protocol.ToolSchema{{Name: "n", Description: secret}},
	}
	events := 0
	if _, err := p.Infer(t.Context(), req, func(protocol.StreamEvent) { events++ }); err != nil || events == 0 {
		t.Fatalf("error %v, %d events", err, events)
	}
	if _, err := p.Infer(t.Context(), req, nil); err == nil {
		t.Fatal("no error")
	}
	all := logs.All()
	if len(all) != 2 {
		t.Fatalf("%d lines", len(all))
	}
	first, second := all[0].ContextMap(), all[1].ContextMap()
	if first["tokens_in"] != uint64(10) || first["tokens_out"] != uint64(3) || first["messages"] != int64(1) ||
		first["first"] == nil || len(fmt.Sprint(first["model"])) != 128 {
		t.Errorf("first line %v", first)
	}
	if second["code"] != "invalid_input" || second["kind"] != string(protocol.KindProviderInvalidRequest) || second["first"] != nil {
		t.Errorf("second line %v", second)
	}
	if s := fmt.Sprint(first, second); strings.Contains(s, secret) {
		t.Errorf("text in the log: %s", s)
	}
}

func TestANilSinkStaysNil(t *testing.T) {
	t.Parallel()
	inner := answer(func(_ context.Context, _ protocol.InferRequest, s sink) (protocol.InferResponse, error) {
		if s != nil {
			t.Error("the provider is asked to stream")
		}
		return text("ok"), nil
	})
	core, _ := observer.New(zapcore.DebugLevel)
	p := transform(inner, middleware.Log(zap.New(core)), middleware.Log(nil), middleware.Timeout(time.Minute), middleware.MaxInput(100))
	if _, err := p.Infer(t.Context(), protocol.InferRequest{}, nil); err != nil {
		t.Error(err)
	}
}
