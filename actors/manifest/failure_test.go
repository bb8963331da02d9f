package manifest_test

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
	"go.uber.org/zap/zaptest/observer"

	"github.com/skelegent/skelegent-go/bus"
	"github.com/skelegent/skelegent-go/protocol"
)

// prompt is what must not be seen but by the model's server.
const prompt = "Where did the heron hide the emeralds?"

// abort closes the connection before or in the middle of an answer.
func abort(first string) reply {
	return reply{raw: func(w http.ResponseWriter, _ *http.Request) {
		if first != "" {
			w.Header().Set("Content-Type", "text/event-stream")
			_, _ = fmt.Fprint(w, first)
			_ = http.NewResponseController(w).Flush()
		}
		panic(http.ErrAbortHandler)
	}}
}

func fixed(r reply) func(*llm, chat) reply { return func(*llm, chat) reply { return r } }

// What a caller learns of a model that cannot be asked, and what nobody learns.
func TestFailures(t *testing.T) {
	t.Parallel()
	leaky := func(code string) string {
		return `{"error":{"message":"Incorrect key ` + apiKey + ` for: ` + prompt + `","type":"` + code + `","code":"` + code + `"}}`
	}
	trace := "panic: runtime error\n\ngoroutine 1 [running]:\nmain.main()\n\t/srv/main.go:12 +0x1d\n" + apiKey + prompt
	for _, tc := range []struct {
		name       string
		answer     func(*llm, chat) reply
		code       protocol.Code
		retryable  bool
		retryAfter time.Duration
		asked      int
		text       string
	}{
		{name: "401", answer: fixed(status(401, leaky("invalid_api_key"))), code: protocol.CodeUnauthorized, asked: 1, text: "model error: auth failed: the server does not accept the API key (invalid_api_key)"},
		{name: "403", answer: fixed(status(403, leaky("forbidden"))), code: protocol.CodePermissionDenied, asked: 1, text: "model error: auth failed: Incorrect key [REDACTED] for: [REDACTED]"},
		{name: "404", answer: fixed(status(404, `{"error":{"message":"The model does not exist"}}`)), code: protocol.CodeInvalidInput, asked: 1, text: "model error: invalid request: The model does not exist"},
		{name: "404 of a proxy", answer: fixed(status(404, "<html>"+trace)), code: protocol.CodeInvalidInput, asked: 1, text: "model error: invalid request: HTTP 404 Not Found"},
		{name: "429", answer: fixed(status(429, leaky("rate_limit_exceeded"), "Retry-After-Ms", "20")), code: protocol.CodeQuotaExceeded, retryable: true, retryAfter: 20 * time.Millisecond, asked: 2, text: "model error: rate limited"},
		{name: "429 for long", answer: fixed(status(429, "", "Retry-After", "300")), code: protocol.CodeQuotaExceeded, retryable: true, retryAfter: 5 * time.Minute, asked: 1, text: "model error: rate limited"},
		{name: "429 for good", answer: fixed(status(429, leaky("insufficient_quota"))), code: protocol.CodeQuotaExceeded, asked: 1, text: "model error: rate limited: the quota of the account is used up"},
		{name: "500", answer: fixed(status(500, trace)), code: protocol.CodeUnavailable, retryable: true, asked: 2, text: "model error: transient error: HTTP 500 Internal Server Error"},
		{name: "503", answer: fixed(status(503, "", "Retry-After", "200")), code: protocol.CodeUnavailable, retryable: true, retryAfter: 200 * time.Second, asked: 1, text: "model error: transient error: HTTP 503 Service Unavailable"},
		{name: "blocked", answer: fixed(status(400, leaky("content_filter"))), code: protocol.CodeModelError, asked: 1, text: "model error: content blocked: Incorrect key [REDACTED] for: [REDACTED]"},
		{name: "redirect", answer: fixed(status(307, "", "Location", "http://192.0.2.1/")), code: protocol.CodeInvalidInput, asked: 1, text: "redirects"},
		{name: "garbage", answer: fixed(status(200, "<html>"+trace)), code: protocol.CodeModelError, asked: 1, text: "model error: invalid response: "},
		{name: "garbage as a stream", answer: fixed(status(200, "data: "+apiKey+"\n\n", "Content-Type", "text/event-stream")), code: protocol.CodeModelError, asked: 1, text: "model error: invalid response: "},
		{name: "empty body", answer: fixed(status(200, "")), code: protocol.CodeModelError, asked: 1, text: "model error: invalid response: "},
		{name: "no choices", answer: fixed(status(200, "data: {\"choices\":[]}\n\ndata: [DONE]\n\n", "Content-Type", "text/event-stream")), code: protocol.CodeModelError, asked: 1, text: "no choices"},
		{name: "error in the stream", answer: fixed(status(200, "data: "+leaky("server_error")+"\n\n", "Content-Type", "text/event-stream")), code: protocol.CodeUnavailable, retryable: true, asked: 2, text: "model error: transient error: Incorrect key [REDACTED] for: [REDACTED]"},
		{name: "closed", answer: fixed(abort("")), code: protocol.CodeUnavailable, retryable: true, asked: 2, text: "model error: transient error: "},
		{name: "closed in the middle", answer: fixed(abort("data: {\"choices\":[{\"delta\":{\"content\":\"The her\"}}]}\n\n")), code: protocol.CodeUnavailable, retryable: true, asked: 2, text: "model error: transient error: "},
		{name: "nothing", answer: hanging, code: protocol.CodeTimeout, retryable: true, asked: 1},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			core, logs := observer.New(zapcore.DebugLevel)
			t.Cleanup(func() { wantSilence(t, logs) }) // after the node has stopped
			l := newLLM(t, tc.answer)
			conn := bed(t, provider+"  a: {provider: main, model: m, system: \""+prompt+"\", limits: {max_consecutive_failures: 2}, durable: false}\n",
				bedConfig{model: l, logger: zap.New(core)})
			live := events(t, conn, "skg.live.a.>")
			ctx := testContext(t)
			if tc.code == protocol.CodeTimeout {
				var cancel context.CancelFunc
				ctx, cancel = context.WithTimeout(ctx, 300*time.Millisecond)
				defer cancel()
			}
			_, err := bus.NewDispatcher(conn).Dispatch(ctx, "a", protocol.Text(prompt))
			e := protocol.AsError(err)
			if e == nil || e.Code != tc.code || e.Retryable != tc.retryable || e.RetryAfter != tc.retryAfter {
				t.Errorf("error %v: %+v; want %s, retryable %v after %v", err, e, tc.code, tc.retryable, tc.retryAfter)
			}
			if tc.code == protocol.CodeTimeout {
				wait(t, l.gone) // the connection was closed
			} else if e == nil || !strings.Contains(e.Message, tc.text) || e.Kind != protocol.KindOperatorModel {
				t.Errorf("error = %v, want %q", err, tc.text)
			}
			failed := live(protocol.EventFailed)
			wire, err := protocol.Marshal(e)
			if err != nil {
				t.Fatal(err)
			}
			for _, shown := range []string{string(wire), string(failed.Data)} {
				wantNoLeak(t, shown)
			}
			if n := len(l.requests()); n != tc.asked {
				t.Errorf("asked %d times, want %d", n, tc.asked)
			}
		})
	}
}

func wantNoLeak(t *testing.T, shown string) {
	t.Helper()
	for _, secret := range []string{apiKey, "THEKEY", prompt, "heron", "emeralds", "goroutine", ".go:", "192.0.2.1"} {
		if strings.Contains(shown, secret) {
			t.Errorf("%q is shown in %s", secret, shown)
		}
	}
}

// wantSilence looks for secrets in everything that was logged.
func wantSilence(t *testing.T, logs *observer.ObservedLogs) {
	t.Helper()
	encoder := zapcore.NewJSONEncoder(zap.NewDevelopmentEncoderConfig())
	for _, e := range logs.All() {
		line, err := encoder.EncodeEntry(e.Entry, e.Context)
		if err != nil {
			t.Fatal(err)
		}
		wantNoLeak(t, line.String())
	}
	if logs.Len() == 0 {
		t.Error("nothing was logged at all")
	}
}

// Of a run that goes well, or fails after it was paid, nothing said is logged either.
func TestNothingSaidIsLogged(t *testing.T) {
	t.Parallel()
	core, logs := observer.New(zapcore.DebugLevel)
	t.Cleanup(func() { wantSilence(t, logs) })
	l := newLLM(t, func(_ *llm, c chat) reply {
		switch c.number {
		case 1:
			return reply{text: prompt, calls: []call{{"remember", `{"key":"heron","value":"emeralds"}`}, {"heron", `{"emeralds":1}`}}}
		case 2:
			return use("remember", `{"emeralds":1}`)
		}
		return status(400, `{"error":{"message":"`+apiKey+prompt+`"}}`)
	})
	conn := bed(t, provider+"  a: {provider: main, model: m, tools: [remember]}\n", bedConfig{model: l, logger: zap.New(core)})
	done := outcomes(t, conn)
	out := dispatch(t, conn, "a", protocol.Text(prompt))
	if out.ExitReason.Kind() != protocol.ExitError || out.Metadata.TurnsUsed != 2 {
		t.Errorf("output = %+v", out)
	}
	if o := done(); len(o) != 1 || o[0].Status != protocol.OutcomeOK {
		t.Errorf("outcomes = %+v", o)
	}
}

// A key file that is not there is told to the caller as what it is, at each call, and no server is asked.
func TestKeyIsMissing(t *testing.T) {
	t.Parallel()
	l := newLLM(t, fixed(say("x")))
	conn := bed(t, strings.ReplaceAll(provider, "{file: key}", "{file: nokey}")+"  a: {provider: main, model: m}\n", bedConfig{model: l})
	_, err := bus.NewDispatcher(conn).Dispatch(testContext(t), "a", protocol.Text("x"))
	if protocol.CodeOf(err) != protocol.CodeUnauthorized || !strings.Contains(err.Error(), "cannot read the key file") {
		t.Errorf("error = %v", err)
	}
	if n := len(l.requests()); n != 0 {
		t.Errorf("the server was asked %d times", n)
	}
}
