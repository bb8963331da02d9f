package anthropic

import (
	"strings"

	"github.com/skelegent/skelegent-go/actors/provider/internal/exchange"
)

// dialect is how Anthropic tells of errors: {"type":"error","error":{"type":"overloaded_error","message":"..."}}.
var dialect = exchange.Dialect{Answer: "a message", Read: readReport}

// readReport adds what is Anthropic's own to what other servers say too. Errors that it does not know are transient:
// overloaded_error, api_error, timeout_error.
func readReport(body []byte) exchange.Report {
	r := exchange.ReadReport(body)
	switch {
	case strings.Contains(strings.ToLower(r.Message), "content filtering policy"): // has no type of its own
		r.Class = exchange.Blocked
	case r.Class != exchange.Unknown:
	case r.Type == "not_found_error" || r.Type == "request_too_large":
		r.Class = exchange.Invalid
	case r.Type == "billing_error":
		r.Class = exchange.Exhausted
	}
	return r
}
