package protocol

import (
	"bytes"
	"encoding/json"
	"fmt"
	"reflect"
	"sync"
)

// These files are the codec behind every MarshalJSON and UnmarshalJSON of the package. encoding/json alone cannot say
// which field was missing or wrong across nested custom types, reads names without regard to case, and knows no
// aliases. Structs therefore carry, beside their json tags (which encoding/json writes by), a wire tag:
// `wire:"required"` and `wire:"alias=old_name"`. codec_scan.go walks JSON, codec_struct.go fills structs by their
// tags, codec_union.go reads variants, codec_append.go writes the frequent types without reflection.

// Marshal returns the canonical JSON of v: compact, HTML characters not escaped.
func Marshal(v any) ([]byte, error) {
	b := buffers.Get().(*[]byte)
	out, err := appendValue((*b)[:0], v)
	var own []byte
	if err == nil {
		own = bytes.Clone(out)
	}
	if cap(out) <= maxPooled {
		*b = out
		buffers.Put(b)
	}
	return own, err
}

// Append appends the canonical JSON of v to dst and returns the longer slice; on an error, dst as it was. A pointer costs no
// allocation.
func Append(dst []byte, v any) ([]byte, error) { return appendValue(dst, v) }

// appendValue appends the canonical JSON of v. On an error it returns what there is of dst, to be used again.
func appendValue(dst []byte, v any) ([]byte, error) {
	if a, ok := v.(appender); ok && !isNilPointer(v) {
		out, err := a.appendJSON(dst)
		if err != nil {
			return dst, err
		}
		return out, nil
	}
	e := encoders.Get().(*encoder)
	defer func() {
		if e.buf.Cap() <= maxPooled {
			encoders.Put(e)
		}
	}()
	e.buf.Reset()
	if err := e.enc.Encode(v); err != nil {
		return dst, err
	}
	return append(dst, bytes.TrimSuffix(e.buf.Bytes(), []byte("\n"))...), nil
}

func isNilPointer(v any) bool {
	r := reflect.ValueOf(v)
	return r.Kind() == reflect.Pointer && r.IsNil()
}

// maxPooled keeps the buffer of one large message from staying in memory.
const maxPooled = 64 << 10

type encoder struct {
	buf bytes.Buffer
	enc *json.Encoder
}

var encoders = sync.Pool{New: func() any {
	e := &encoder{}
	e.enc = json.NewEncoder(&e.buf)
	e.enc.SetEscapeHTML(false)
	return e
}}

var buffers = sync.Pool{New: func() any { return new([]byte) }}

// Unmarshal reads data, which must be one JSON value and nothing else, into what v points to. What does not fit is an
// *Error with code invalid_input that names the field; v may then be partly filled.
func Unmarshal(data []byte, v any) error {
	if !json.Valid(data) {
		var malformed json.RawMessage
		return invalid("", fmt.Errorf("malformed JSON: %w", json.Unmarshal(data, &malformed)))
	}
	if err := decodeValue(bytes.TrimSpace(data), reflect.ValueOf(v).Elem()); err != nil {
		return invalid(fieldOf(err))
	}
	return nil
}
