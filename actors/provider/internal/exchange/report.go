package exchange

import (
	"encoding/json"
	"fmt"
	"regexp"
	"strconv"
	"strings"
)

// Dialect is how a server tells of errors. The zero Dialect is what most use.
type Dialect struct {
	// Answer names what the server should have sent, with its article; "an answer" if empty.
	Answer string
	// Read takes the body of an error; ReadReport if nil. It sees what a server sent and must not fail.
	Read func(body []byte) Report
	// Library takes what a client library returned for an error that came with status 200 or in a stream; none if nil. Its
	// second result is false for other errors of the library.
	Library func(err error) (Report, bool)
}

func (d Dialect) withDefaults() Dialect {
	if d.Answer == "" {
		d.Answer = "an answer"
	}
	if d.Read == nil {
		d.Read = ReadReport
	}
	return d
}

// Class is what an error says of itself.
type Class uint8

// The classes of errors. Where there is a status of an error, only Exhausted (with 429) and Blocked (with any but 401, 403
// and 429) add to it.
const (
	Unknown      Class = iota // transient
	RateLimited               // fewer requests are wanted
	Exhausted                 // the quota of the account is used up: waiting does not help
	Unauthorized              // the key is not accepted
	Forbidden                 // the key may not do this
	Blocked                   // it is about the policy of the content
	Invalid                   // the request is not accepted
)

// Report is what a server says about an error.
type Report struct {
	Message    string // not yet safe to show
	Code, Type string
	Class      Class
}

// NewReport returns a report with the class that its texts tell by words that most servers use.
func NewReport(message, code, kind string) Report {
	r := Report{Message: message, Code: code, Type: kind}
	r.Class = classify(r, message+" "+code+" "+kind)
	return r
}

// ReadReport reads the forms of {"error": {"message", "code", "type"}}, {"error": "..."} and {"message": "..."}; from
// anything else it takes no text.
func ReadReport(body []byte) Report {
	var r Report
	var outer struct {
		Error   json.RawMessage `json:"error"`
		Message string          `json:"message"`
		Detail  string          `json:"detail"`
	}
	if json.Unmarshal(body, &outer) == nil {
		r.Message = outer.Message + outer.Detail
		var inner struct {
			Message any `json:"message"`
			Code    any `json:"code"`
			Type    any `json:"type"`
		}
		switch {
		case json.Unmarshal(outer.Error, &r.Message) == nil:
		case json.Unmarshal(outer.Error, &inner) == nil:
			r.Message, r.Code, r.Type = text(inner.Message), text(inner.Code), text(inner.Type)
		}
	}
	r.Class = classify(r, string(body))
	return r
}

// classify reads the code and the type, and for policies all that was said.
func classify(r Report, said string) Class {
	kind := r.Code + " " + r.Type
	switch {
	case r.Code == "insufficient_quota":
		return Exhausted
	case has(strings.ToLower(said), "content_filter", "content policy", "content_policy"):
		return Blocked
	case has(kind, "rate_limit", "insufficient_quota"):
		return RateLimited
	case has(kind, "authentication", "invalid_api_key"):
		return Unauthorized
	case has(kind, "permission"):
		return Forbidden
	case has(kind, "invalid_request"):
		return Invalid
	}
	return Unknown
}

func has(s string, words ...string) bool {
	for _, w := range words {
		if strings.Contains(s, w) {
			return true
		}
	}
	return false
}

// Empty reports whether the server said nothing that can be told.
func (r Report) Empty() bool { return r.Message == "" && r.Code == "" }

// status is the code where that is the number of an HTTP error, as behind some routers, else 0.
func (r Report) status() int {
	if n, err := strconv.Atoi(r.Code); err == nil && n >= 400 && n <= 599 {
		return n
	}
	return 0
}

// identifier is a code that can be repeated without a look at what it says.
var identifier = regexp.MustCompile(`^[a-z_]{1,40}$`)

func (r Report) codeInBrackets() string {
	if !identifier.MatchString(r.Code) {
		return ""
	}
	return " (" + r.Code + ")"
}

func text(v any) string {
	switch v := v.(type) {
	case nil:
		return ""
	case string:
		return v
	}
	return fmt.Sprint(v)
}
