package tool

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/skelegent/skelegent-go/protocol"
)

// What applies where Bounds are zero.
const (
	DefaultMaxChars = 4_000
	DefaultMaxItems = 64
	DefaultMaxBytes = 256_000
)

// Bounds are how much of a result a model is shown. A bound that is not positive is the default.
type Bounds struct {
	// MaxChars is the longest string in characters; DefaultMaxChars if 0. Names of members are never cut.
	MaxChars int
	// MaxItems is the longest array; DefaultMaxItems if 0.
	MaxItems int
	// MaxBytes is the most that the result may have as JSON; DefaultMaxBytes if 0. What an Envelope says of the cuts is not
	// counted.
	MaxBytes int
	// Redact, if not nil, is asked for every value, the outer ones first, before anything is cut. Where it returns true the
	// value is replaced, and what was in it is not looked at. pointer is a JSON Pointer, value what json.Unmarshal gives with
	// json.Number for numbers. Replacements are not cut to MaxChars or MaxItems. A value whose pointer is longer than 16 KiB is
	// replaced by DefaultReplacement without asking. See Redaction and RedactPointers.
	Redact func(pointer string, value any) (replacement any, replace bool)
	// PageTokens has Bounded show the token of each cut, for models that have a tool which takes one. Bound has them always.
	PageTokens bool
}

func (b Bounds) withDefaults() Bounds {
	b.MaxChars = cmp.Or(max(0, b.MaxChars), DefaultMaxChars)
	b.MaxItems = cmp.Or(max(0, b.MaxItems), DefaultMaxItems)
	b.MaxBytes = cmp.Or(max(0, b.MaxBytes), DefaultMaxBytes)
	return b
}

// Reason says which bound cut something.
type Reason string

// The reasons.
const (
	CutChars Reason = "string_chars"
	CutItems Reason = "array_items"
	CutBytes Reason = "total_bytes"
)

// Omission is one cut.
type Omission struct {
	Pointer string `json:"pointer"` // of the value that was cut or left out, as a JSON Pointer
	Reason  Reason `json:"reason"`
	// Omitted is how many characters or items are missing; 1 for a value that is missing as a whole.
	Omitted int `json:"omitted"`
	// PageToken is the cut as a PageToken; empty where the pointer is too long to be here as a whole.
	PageToken string `json:"page_token,omitempty"`
}

// Envelope is a result within bounds, and what is missing of it.
type Envelope struct {
	Payload      json.RawMessage `json:"payload"`
	Truncated    bool            `json:"truncated"`
	OmittedChars int             `json:"omitted_chars"`
	OmittedItems int             `json:"omitted_items"`
	// OmittedValues are members and items that were left out since the whole was too long.
	OmittedValues int `json:"omitted_values,omitempty"`
	// RedactedValues are those that Redact replaced. They alone do not make a result truncated.
	RedactedValues int `json:"redacted_values,omitempty"`
	// PageToken names the bound of the first cut, such as chars:4000; empty if nothing was cut. Each omission has one of its own.
	PageToken string `json:"page_token,omitempty"`
	// Omissions are the first eight cuts.
	Omissions []Omission `json:"omitted_segments,omitempty"`
}

const maxOmissions = 8

// Bound brings a result within bounds. The payload is always whole JSON in UTF-8, and the output itself if nothing had to
// change. An output that is no JSON is taken for a text. Members are gone through in the order of their names.
func Bound(output json.RawMessage, b Bounds) Envelope {
	t := &trimmer{bounds: b.withDefaults()}
	if len(output) == 0 {
		output = json.RawMessage("null")
	}
	v, ok := valueOf(output)
	if !ok {
		v, t.changed = strings.ToValidUTF8(string(output), "\uFFFD"), true
	}
	t.changed = t.changed || !utf8.Valid(output)
	v = t.trim("", v)
	if !t.changed && len(output) <= t.bounds.MaxBytes {
		return t.sealed(output)
	}
	payload, ok := t.encode(v)
	if ok && len(payload) > t.bounds.MaxBytes {
		v, _, _ = t.fit("", v, t.bounds.MaxBytes)
		payload, ok = t.encode(v)
	}
	if !ok {
		payload = json.RawMessage("null")
	}
	return t.sealed(payload)
}

// valueOf reads JSON. Numbers stay as they are written.
func valueOf(raw json.RawMessage) (v any, ok bool) {
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	return v, d.Decode(&v) == nil && json.Valid(raw)
}

// Bounded is t, whose results are within b. One that had to be cut is shown as an Envelope, which says what is missing; one
// in which values were redacted, and no more, as it is. Everything else is t's own.
func Bounded(t Tool, b Bounds) Tool { return bounded{Tool: t, bounds: b} }

type bounded struct {
	Tool
	bounds Bounds
}

// Unwrap implements Wrapper.
func (b bounded) Unwrap() Tool { return b.Tool }

// Call implements Tool.
func (b bounded) Call(ctx context.Context, input json.RawMessage) (Result, error) {
	res, err := b.Tool.Call(ctx, input)
	if err != nil || len(res.Output) == 0 {
		return res, err
	}
	e := Bound(res.Output, b.bounds)
	res.Output = e.Payload
	if e.Truncated {
		for i := range e.Omissions {
			if !b.bounds.PageTokens {
				e.Omissions[i].PageToken = ""
			}
		}
		if res.Output, err = protocol.Marshal(e); err != nil {
			return res, protocol.ErrToolFailed("the result is not JSON").Because(err)
		}
	}
	return res, nil
}

var escapes = strings.NewReplacer("~", "~0", "/", "~1")

// under is the pointer of what is in a value. It does not grow beyond what an Omission has of it, unless Redact asks for it.
func (t *trimmer) under(pointer, name string) string {
	if t.bounds.Redact == nil && len(pointer) > maxPointer {
		return pointer
	}
	return pointer + "/" + escapes.Replace(name)
}

func (t *trimmer) index(pointer string, i int) string { return t.under(pointer, strconv.Itoa(i)) }
