package tool

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"io"
	"unicode/utf8"

	"github.com/skelegent/skelegent-go/protocol"
)

// Fingerprint is the same for two calls of the same tool with the same input: 64 hexadecimal digits. The order of members and
// white space do not matter; strings are compared as what they mean. Numbers are compared as they are written, so 1, 1.0 and
// 1e0 are three, and no large number becomes another. No input and null are {}. What is no JSON is compared byte by byte.
func Fingerprint(call protocol.ToolCall) string {
	h := sha256.New()
	_, _ = io.WriteString(h, call.Name)
	_, _ = h.Write([]byte{0})
	_, _ = h.Write(canonical(call.Input))
	return hex.EncodeToString(h.Sum(nil))
}

// canonical writes JSON in one way: without spaces, with sorted members, its numbers as they are.
func canonical(raw json.RawMessage) []byte {
	raw = inputOrEmpty(raw)
	if !json.Valid(raw) || !utf8.Valid(raw) {
		return raw
	}
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	var v any
	if d.Decode(&v) != nil {
		return raw
	}
	out, err := json.Marshal(v)
	if err != nil {
		return raw
	}
	return out
}
