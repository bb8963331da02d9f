package bus

import (
	"bytes"
	"fmt"
	"strconv"
	"time"
	"unicode/utf8"

	"github.com/google/uuid"
	"github.com/nats-io/nats.go"

	"github.com/skelegent/skelegent-go/protocol"
	"github.com/skelegent/skelegent-go/protocol/wire"
)

// NewRunID returns a UUIDv7: unique, and in the order of time.
func NewRunID() protocol.RunID {
	id, err := uuid.NewV7()
	if err != nil { // the system has no randomness: nothing sensible can go on
		panic(fmt.Sprintf("no randomness for a run id: %v", err))
	}
	return protocol.RunID(id.String())
}

// EncodeCall writes what travels beside an input into headers.
func EncodeCall(h nats.Header, c protocol.Call, deadline time.Time) {
	values := [2]string{string(c.Run)} // one allocation for the two that are always there
	h[wire.HeaderRunID] = values[0:1:1]
	if c.Parent != "" {
		h[wire.HeaderParentRunID] = []string{string(c.Parent)}
	}
	if !deadline.IsZero() {
		values[1] = deadline.UTC().Format(time.RFC3339Nano)
		h[wire.HeaderDeadline] = values[1:2:2]
	}
	if c.Budget != nil {
		h[wire.HeaderBudget] = []string{c.Budget.Text()}
	}
	if c.Depth > 0 {
		h[wire.HeaderDepth] = []string{strconv.Itoa(c.Depth)}
	}
	if c.Trace != "" {
		h[wire.HeaderTrace] = []string{c.Trace}
	}
	if c.TakeEffects {
		h[wire.HeaderEffects] = []string{wire.EffectsToCaller}
	}
}

// maxTrace is the longest traceparent that is carried; a longer one is no traceparent.
const maxTrace = 256

// DecodeCall reads what travels beside an input from headers. The run is empty where the caller names none. An
// *protocol.Error with code invalid_input names the header that cannot be used.
func DecodeCall(h nats.Header) (c protocol.Call, deadline time.Time, err error) {
	c = protocol.Call{Run: protocol.RunID(h.Get(wire.HeaderRunID)), Parent: protocol.RunID(h.Get(wire.HeaderParentRunID))}
	if len(c.Run) > wire.MaxID || len(c.Parent) > wire.MaxID {
		return c, deadline, badHeader(wire.HeaderRunID, fmt.Sprintf("longer than %d bytes", wire.MaxID))
	}
	for name, v := range map[string]string{
		wire.HeaderRunID: string(c.Run), wire.HeaderParentRunID: string(c.Parent), wire.HeaderTrace: h.Get(wire.HeaderTrace),
	} {
		if !utf8.ValidString(v) { // the body of an event could not say it, and would not fit its subject
			return c, deadline, badHeader(name, "not UTF-8")
		}
	}
	if v := h.Get(wire.HeaderDeadline); v != "" {
		if deadline, err = time.Parse(time.RFC3339Nano, v); err != nil || deadline.UTC().Year() > 9999 || deadline.UTC().Year() < 1 {
			return c, time.Time{}, badHeader(wire.HeaderDeadline, "not an RFC 3339 time")
		}
	}
	if v := h.Get(wire.HeaderBudget); v != "" {
		budget, err := protocol.NewDecimal(v)
		if err != nil || budget.IsNegative() {
			return c, deadline, badHeader(wire.HeaderBudget, "not a decimal number of USD, zero or more")
		}
		c.Budget = &budget
	}
	if v := h.Get(wire.HeaderDepth); v != "" {
		if c.Depth, err = strconv.Atoi(v); err != nil || c.Depth < 0 {
			return c, deadline, badHeader(wire.HeaderDepth, "not a whole number")
		}
	}
	if v := h.Get(wire.HeaderEffects); v != "" && v != wire.EffectsToCaller {
		return c, deadline, badHeader(wire.HeaderEffects, "must be "+wire.EffectsToCaller)
	} else if v != "" {
		c.TakeEffects = true
	}
	if c.Depth > wire.MaxDepth {
		return c, deadline, protocol.NewError(protocol.CodeQuotaExceeded,
			fmt.Sprintf("dispatches nest deeper than %d; does an operator call itself?", wire.MaxDepth))
	}
	if v := h.Get(wire.HeaderTrace); len(v) <= maxTrace {
		c.Trace = v
	}
	return c, deadline, nil
}

func badHeader(name, what string) *protocol.Error {
	return protocol.NewError(protocol.CodeInvalidInput, "invalid input: header "+name+": "+what).With("field", name)
}

// DecodeInput reads the body of a request: JSON if it starts with a brace, else the text itself as a message of a
// user. The input is validated.
func DecodeInput(body []byte) (protocol.OperatorInput, error) {
	trimmed := bytes.TrimLeft(body, " \t\r\n")
	if len(trimmed) == 0 {
		return protocol.OperatorInput{}, protocol.NewError(protocol.CodeInvalidInput,
			"invalid input: empty body; send an OperatorInput or a text").With("field", "message")
	}
	if trimmed[0] != '{' {
		return protocol.Text(string(body)), nil
	}
	var in protocol.OperatorInput
	if err := protocol.Unmarshal(trimmed, &in); err != nil {
		return in, err
	}
	return in, in.Validate()
}

// ErrorMessage makes the reply that carries err: the headers of the NATS service protocol and the coded body.
func ErrorMessage(subject string, err error) *nats.Msg {
	e := protocol.AsError(err).Clip()
	body, encodeErr := protocol.Marshal(e)
	if encodeErr != nil { // an Error is strings and numbers; this cannot happen
		body = []byte(`{"code":"internal","message":"internal error","retryable":false}`)
	}
	return &nats.Msg{Subject: subject, Data: body, Header: nats.Header{
		wire.HeaderError:     {headerText(e.Message)},
		wire.HeaderErrorCode: {string(e.Code)},
	}}
}

// maxHeaderText bounds the message in a header; the body has it whole.
const maxHeaderText = 512

// headerText makes one line of a message.
func headerText(s string) string {
	b := []byte(s)
	for i, c := range b {
		if c < ' ' {
			b[i] = ' '
		}
	}
	return string(b[:min(len(b), maxHeaderText)])
}

// replyError returns the error that a reply carries, nil if it carries none. A service that is not ours may send
// headers only.
func replyError(m *nats.Msg) error {
	code := m.Header.Get(wire.HeaderErrorCode)
	if code == "" {
		return nil
	}
	var e protocol.Error
	if err := protocol.Unmarshal(m.Data, &e); err == nil {
		if e.Kind == protocol.KindOrchNotStarted {
			return e.Because(ErrNotStarted)
		}
		return &e
	}
	return protocol.NewError(protocol.CodeInternal, "service error "+code+": "+m.Header.Get(wire.HeaderError))
}
