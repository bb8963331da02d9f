package exchange

import (
	"encoding/json"
	"fmt"

	"github.com/skelegent/skelegent-go/protocol"
)

const (
	// MaxParts is how many texts, calls and other items an answer may have.
	MaxParts = 4096
	// maxValues is how many JSON values a text may have that Unmarshal reads. A value of two bytes takes hundreds in a Go
	// slice, so that an answer within its limit could take gigabytes.
	maxValues = 1 << 16
	// maxCount is more than anybody counts, and small enough to be added up.
	maxCount = 1 << 53
)

// Unmarshal is json.Unmarshal for what a server sent. A text with too many values is ErrTooLarge.
func Unmarshal(raw []byte, v any) error {
	if !fewValues(raw) {
		return ErrTooLarge
	}
	return json.Unmarshal(raw, v)
}

// fewValues counts what begins and what separates values, outside of strings.
func fewValues(raw []byte) bool {
	if len(raw) <= maxValues {
		return true
	}
	n, inside := 0, false
	for i := 0; i < len(raw); i++ {
		switch c := raw[i]; {
		case c == '"':
			inside = !inside
		case inside && c == '\\':
			i++
		case !inside && (c == ',' || c == '[' || c == '{'):
			n++
		}
		if n > maxValues {
			return false
		}
	}
	return true
}

// TooManyParts is the error of an answer with more than MaxParts.
func TooManyParts() *protocol.Error {
	return protocol.ErrInvalidResponse(fmt.Sprintf("it has more than %d parts", MaxParts))
}

// Count is a number of tokens that a server told: not less than 0, and such that sums of them do not overflow.
func Count[N int | int64](n N) uint64 { return uint64(min(max(0, int64(n)), maxCount)) }
