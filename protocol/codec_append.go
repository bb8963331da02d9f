package protocol

import (
	"bytes"
	"encoding/json"
	"strconv"
	"unicode/utf8"
)

// appender is a type that writes its own JSON. What it appends is what encoding/json would make of its tags; tests hold
// the two together.
type appender interface {
	appendJSON(dst []byte) ([]byte, error)
}

// appendString appends s as encoding/json writes it without escaping HTML.
func appendString(dst []byte, s string) []byte {
	const hex = "0123456789abcdef"
	dst = append(dst, '"')
	start := 0
	for i := 0; i < len(s); {
		c := s[i]
		if c >= ' ' && c < utf8.RuneSelf && c != '"' && c != '\\' {
			i++
			continue
		}
		if c < utf8.RuneSelf {
			dst = append(dst, s[start:i]...)
			switch c {
			case '"', '\\':
				dst = append(dst, '\\', c)
			case '\b':
				dst = append(dst, '\\', 'b')
			case '\f':
				dst = append(dst, '\\', 'f')
			case '\n':
				dst = append(dst, '\\', 'n')
			case '\r':
				dst = append(dst, '\\', 'r')
			case '\t':
				dst = append(dst, '\\', 't')
			default:
				dst = append(dst, '\\', 'u', '0', '0', hex[c>>4], hex[c&15])
			}
			i++
			start = i
			continue
		}
		r, size := utf8.DecodeRuneInString(s[i:])
		switch {
		case r == utf8.RuneError && size == 1:
			dst = append(append(dst, s[start:i]...), `\ufffd`...)
			start = i + size
		case r == '\u2028' || r == '\u2029': // JavaScript ends a line there
			dst = append(append(dst, s[start:i]...), `\u202`...)
			dst = append(dst, hex[r&15])
			start = i + size
		}
		i += size
	}
	return append(append(dst, s[start:]...), '"')
}

// appendRaw appends raw without the spaces between its tokens; nil is null.
func appendRaw(dst []byte, raw json.RawMessage) ([]byte, error) {
	switch {
	case raw == nil:
		return append(dst, "null"...), nil
	case isCompact(raw) && json.Valid(raw):
		return append(dst, raw...), nil
	}
	buf := bytes.NewBuffer(dst)
	if err := json.Compact(buf, raw); err != nil {
		return dst, err
	}
	return buf.Bytes(), nil
}

// compacted returns a copy of raw, which is valid, without the spaces between its tokens.
func compacted(raw []byte) json.RawMessage {
	if out, err := appendRaw(make([]byte, 0, len(raw)), raw); err == nil && len(out) > 0 {
		return out
	}
	return bytes.Clone(raw)
}

// isCompact reports whether there is nothing that looks like space. A space in a string makes it false too; that only
// costs time.
func isCompact(raw []byte) bool {
	for _, c := range raw {
		if c == ' ' || c == '\n' || c == '\t' || c == '\r' {
			return false
		}
	}
	return true
}

func appendUint(dst []byte, n uint64) []byte { return strconv.AppendUint(dst, n, 10) }

func (c Content) appendJSON(dst []byte) ([]byte, error) {
	if c.form == contentBlocks {
		return appendValue(dst, orEmpty(c.blocks))
	}
	return appendString(dst, c.text), nil
}

func (in OperatorInput) appendJSON(dst []byte) ([]byte, error) {
	dst = append(dst, `{"message":`...)
	dst, err := in.Message.appendJSON(dst)
	if err != nil {
		return dst, err
	}
	dst = append(dst, `,"trigger":`...)
	dst = in.Trigger.append(dst)
	dst = append(dst, `,"session":`...)
	if in.Session == nil {
		dst = append(dst, "null"...)
	} else {
		dst = appendString(dst, string(*in.Session))
	}
	dst = append(dst, `,"config":`...)
	if in.Config == nil {
		dst = append(dst, "null"...)
	} else if dst, err = appendValue(dst, in.Config); err != nil {
		return dst, err
	}
	dst = append(dst, `,"metadata":`...)
	if dst, err = appendRaw(dst, in.Metadata); err != nil {
		return dst, err
	}
	if len(in.Context) > 0 {
		dst = append(dst, `,"context":`...)
		if dst, err = appendValue(dst, in.Context); err != nil {
			return dst, err
		}
	}
	return append(dst, '}'), nil
}

func (t TriggerType) append(dst []byte) []byte {
	if name, ok := t.Custom(); ok {
		return append(appendString(append(dst, `{"custom":`...), name), '}')
	}
	if t == "" {
		t = TriggerUser
	}
	return appendString(dst, string(t))
}

func (o OperatorOutput) appendJSON(dst []byte) ([]byte, error) {
	dst = append(dst, `{"message":`...)
	dst, err := o.Message.appendJSON(dst)
	if err != nil {
		return dst, err
	}
	dst = append(dst, `,"exit_reason":`...)
	dst = o.ExitReason.append(dst)
	dst = append(dst, `,"metadata":`...)
	if dst, err = o.Metadata.appendJSON(dst); err != nil {
		return dst, err
	}
	dst = append(dst, `,"effects":`...)
	if len(o.Effects) == 0 {
		return append(dst, "[]}"...), nil
	}
	if dst, err = appendValue(dst, o.Effects); err != nil {
		return dst, err
	}
	return append(dst, '}'), nil
}

func (r ExitReason) append(dst []byte) []byte {
	switch r.Kind() {
	case ExitInterceptorHalt, ExitSafetyStop:
		dst = appendString(append(dst, '{'), string(r.kind))
		dst = appendString(append(dst, `:{"reason":`...), r.detail)
		return append(dst, "}}"...)
	case ExitCustom:
		return append(appendString(append(dst, `{"custom":`...), r.detail), '}')
	default:
		return appendString(dst, string(r.Kind()))
	}
}

func (m OperatorMetadata) appendJSON(dst []byte) ([]byte, error) { //nolint:unparam // the appender interface has an error
	dst = appendUint(append(dst, `{"tokens_in":`...), m.TokensIn)
	dst = appendUint(append(dst, `,"tokens_out":`...), m.TokensOut)
	dst = m.Cost.append(append(dst, `,"cost":"`...))
	dst = appendUint(append(dst, `","turns_used":`...), uint64(m.TurnsUsed))
	dst = append(dst, `,"sub_dispatches":[`...)
	for i, s := range m.SubDispatches {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = appendString(append(dst, `{"name":`...), s.Name)
		dst = appendUint(append(dst, `,"duration":`...), uint64(s.Duration))
		dst = strconv.AppendBool(append(dst, `,"success":`...), s.Success)
		dst = append(dst, '}')
	}
	dst = appendUint(append(dst, `],"duration":`...), uint64(m.Duration))
	if m.UnpricedCalls > 0 {
		dst = appendUint(append(dst, `,"unpriced_calls":`...), uint64(m.UnpricedCalls))
	}
	return append(dst, '}'), nil
}
