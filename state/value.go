package state

import (
	"bytes"
	"encoding/json"
	"fmt"
	"unicode/utf8"

	"github.com/skelegent/skelegent-go/protocol"
)

// DefaultMaxValue is the largest value in bytes that a store takes unless configured otherwise.
const DefaultMaxValue = 16 << 20

// Canonical returns value as a store keeps it: the same JSON without insignificant white space, in a slice of its own.
// What is not JSON in UTF-8 is a serialization error with code invalid_input, what is longer than max bytes a failed
// write with code quota_exceeded.
func Canonical(value json.RawMessage, max int) (json.RawMessage, error) {
	if len(value) == 0 {
		return nil, protocol.ErrSerialization("value is empty; null is a value, nothing is not")
	}
	if len(value) > max {
		return nil, protocol.ErrWriteFailed(fmt.Sprintf("value has %d bytes, at most %d are taken", len(value), max)).
			WithCode(protocol.CodeQuotaExceeded)
	}
	if !utf8.Valid(value) {
		return nil, protocol.ErrSerialization("value is not UTF-8")
	}
	var b bytes.Buffer
	b.Grow(len(value))
	if err := json.Compact(&b, value); err != nil {
		return nil, protocol.ErrSerialization("value is not JSON").Because(err)
	}
	return b.Bytes(), nil
}
