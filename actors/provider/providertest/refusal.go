package providertest

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/skelegent/skelegent-go/protocol"
)

// refusal is an answer with a status that is an error.
type refusal struct {
	status     int
	code       string
	retryAfter string
	body       func(e *env) []byte // RenderError if nil

	kind      protocol.ErrorKind
	is        protocol.Code // any if empty
	retryable bool
	wait      time.Duration
}

// leak is a message as hostile as a server's can be: more than a line, long, and full of what it was told.
const leak = "no " + Key + "\n\x1b[31m and " + Prompt + "\r\n"

func refusalCases() []Case {
	html := func(*env) []byte { return []byte("<html><body>" + leak + "</body></html>") }
	none := func(*env) []byte { return nil }
	long := func(e *env) []byte { return e.RenderError(500, "", strings.Repeat("é", 100_000)) }
	date := time.Now().Add(90 * time.Second).UTC().Format(http.TimeFormat)
	list := map[string]refusal{
		"400": {status: 400, code: "bad", kind: protocol.KindProviderInvalidRequest, is: protocol.CodeInvalidInput},
		"401": {status: 401, code: "invalid_api_key", kind: protocol.KindProviderAuthFailed, is: protocol.CodeUnauthorized},
		"403": {status: 403, kind: protocol.KindProviderAuthFailed, is: protocol.CodePermissionDenied},
		"404": {status: 404, code: "model_not_found", kind: protocol.KindProviderInvalidRequest},
		"413": {status: 413, kind: protocol.KindProviderInvalidRequest},
		"429": {status: 429, kind: protocol.KindProviderRateLimited, is: protocol.CodeQuotaExceeded, retryable: true},
		"429 with seconds": {
			status: 429, retryAfter: "7", kind: protocol.KindProviderRateLimited, retryable: true, wait: 7 * time.Second,
		},
		"429 with a date": {
			status: 429, retryAfter: date, kind: protocol.KindProviderRateLimited, retryable: true, wait: 90 * time.Second,
		},
		"429 with nonsense": {status: 429, retryAfter: "-1e9999 soon", kind: protocol.KindProviderRateLimited, retryable: true},
		"500":               {status: 500, kind: protocol.KindProviderTransient, is: protocol.CodeUnavailable, retryable: true},
		"500 in HTML":       {status: 500, body: html, kind: protocol.KindProviderTransient, retryable: true},
		"500 without body":  {status: 500, body: none, kind: protocol.KindProviderTransient, retryable: true},
		"500 with a novel":  {status: 500, body: long, kind: protocol.KindProviderTransient, retryable: true},
		"503 with seconds": {
			status: 503, retryAfter: "3", kind: protocol.KindProviderTransient, retryable: true, wait: 3 * time.Second,
		},
		"400 in HTML": {status: 400, body: html, kind: protocol.KindProviderInvalidRequest},
		"redirect":    {status: 307, body: none, kind: protocol.KindProviderInvalidRequest},
	}
	var cases []Case
	for name, r := range list {
		cases = append(cases, Case{"status " + name, r.check})
	}
	return append(cases, Case{"content blocked", func(ctx context.Context, e *env) error {
		r := refusal{status: 400, code: e.BlockedCode, kind: protocol.KindProviderContentBlocked, is: protocol.CodeModelError}
		return r.check(ctx, e)
	}})
}

func (f refusal) check(ctx context.Context, e *env) error {
	body := e.RenderError(f.status, f.code, leak)
	if f.body != nil {
		body = f.body(e)
	}
	e.serve(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/elsewhere" {
			send(w, "text/plain", []byte("the redirect was followed"))
			return
		}
		if f.retryAfter != "" {
			w.Header().Set("Retry-After", f.retryAfter)
		}
		if f.status/100 == 3 {
			w.Header().Set("Location", "/elsewhere")
		}
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(f.status)
		_, _ = w.Write(body)
	})
	return ways(func(stream bool) error {
		before := e.asked.Load()
		r := e.call(ctx, Prompt, stream, nil)
		if n := e.asked.Load() - before; n != 1 {
			return fmt.Errorf("asked %d times, want one attempt", n)
		}
		return f.matches(r)
	})
}

func (f refusal) matches(r result) error {
	var got *protocol.Error
	if err := failed(r, f.kind); err != nil {
		return err
	}
	errors.As(r.err, &got)
	switch {
	case f.is != "" && got.Code != f.is:
		return fmt.Errorf("code %s, want %s", got.Code, f.is)
	case got.Retryable != f.retryable:
		return fmt.Errorf("%w: retryable %v, want %v", got, got.Retryable, f.retryable)
	case got.RetryAfter < f.wait-10*time.Second || got.RetryAfter > f.wait || f.wait > 0 && got.RetryAfter == 0:
		return fmt.Errorf("retry after %v, want %v", got.RetryAfter, f.wait)
	}
	return nil
}

// failed checks that the call failed with one of kinds and said nothing that it should not.
func failed(r result, kinds ...protocol.ErrorKind) error {
	var got *protocol.Error
	if !errors.As(r.err, &got) {
		return fmt.Errorf("got %w and %s, want a coded error", r.err, jsonOf(r.resp))
	}
	ok := false
	for _, k := range kinds {
		ok = ok || got.Kind == k
	}
	if !ok {
		return fmt.Errorf("kind %q (%w), want one of %q", got.Kind, r.err, kinds)
	}
	for _, ev := range r.events {
		if _, ok := ev.(protocol.Done); ok {
			return errors.New("done was streamed by a call that failed")
		}
	}
	return safe(r.err)
}

// safe checks what an error and all its causes say.
func safe(err error) error {
	for e := err; e != nil; e = errors.Unwrap(e) {
		said := e.Error()
		switch {
		case strings.Contains(said, Key) || strings.Contains(said, Key[:len(Key)-4]):
			return errors.New("the key is in an error")
		case strings.Contains(said, "4711") || strings.Contains(said, "parrot in the cellar"):
			return fmt.Errorf("the prompt is in an error: %.300s", said)
		case errors.Is(e, err) && len(said) > 300:
			return fmt.Errorf("an error of %d bytes", len(said))
		case errors.Is(e, err) && strings.ContainsFunc(said, func(c rune) bool { return c < ' ' || c == 0x7f || c == 0xfffd }):
			return fmt.Errorf("control characters in the error %q", said)
		}
	}
	return nil
}
