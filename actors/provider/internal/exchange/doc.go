// Package exchange is what every provider that speaks HTTP needs: one bounded exchange with a server, its failures as
// errors of the provider family, and readers of streamed answers.
//
//	provider ── New(Config) ──▶ Exchange ── With(ctx) ──▶ client library ─┐
//	   │                           │  └───── Post ────────────────────────┤
//	   │                           │                                      ▼
//	   │                           ◀── status, Retry-After, ── transport of NewClient ──▶ server
//	   │                               begin of the body          │
//	   ◀── Failure, Reported: *protocol.Error                     ▼
//	   ◀── Events (SSE), Lines (NDJSON) ◀──────────────────── bounded body
//
// What a provider can rely on:
//   - One attempt. Nothing is sent twice and no redirect is followed, which would take the key and the prompt elsewhere. A
//     client library has retries of its own, which its provider turns off.
//   - The connection closes when ctx ends; the error is then a timeout or a cancellation.
//   - Answers are bounded (Config.MaxAnswer), and so are errors' bodies, waits, lines and events, and with Unmarshal the
//     number of values in them, which decides how much memory they take.
//   - What a server says reaches an error as at most a line, without the key and without pieces of the prompt; the answer
//     to a rejected key is not repeated at all.
//
// Which errors, by status: 429 is rate limited with RetryAfter, not retryable where a quota is used up; 401 and 403 are
// auth failed; what is about the policy of the content is content blocked; 408, 425 and 5xx (529 too) are transient, as
// are broken connections; other 4xx and 3xx are invalid request. An error that comes with status 200 or in a stream is
// mapped by what it says of itself, see Report.
//
// An Exchange belongs to the goroutine of its call, with the body of its answer. The client is safe for concurrent use.
//
//	ex := exchange.New(exchange.Config{
//		Request: raw, MaxAnswer: 16 << 20, Key: key, Prompt: req, Dialect: exchange.Dialect{Answer: "a chat"},
//	})
//	body, err := ex.Post(ctx, client, url, header)
//	if err != nil {
//		return err
//	}
//	defer body.Close()
//	for lines := exchange.NewLines(body, 0); ; {
//		line, err := lines.Next()
//		if errors.Is(err, io.EOF) {
//			break
//		}
//		if err != nil {
//			return ex.Failure(ctx, err)
//		}
//		...
//	}
//	ex.Drain()
package exchange
