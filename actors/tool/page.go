package tool

import (
	"encoding/hex"
	"encoding/json"
	"strings"

	"github.com/skelegent/skelegent-go/protocol"
)

// PageToken names one cut of a result, for a tool that can return what is missing. It travels as the text of String.
type PageToken struct {
	Pointer string `json:"pointer"` // of the value that was cut or left out, as a JSON Pointer
	Reason  Reason `json:"reason"`
	Limit   int    `json:"limit"` // the bound that cut it
}

const (
	pagePrefix   = "v1:"
	maxPageToken = 4096 // bytes
)

// String is v1: and the token's JSON in hexadecimal digits.
func (p PageToken) String() string {
	raw, _ := protocol.Marshal(p) // strings and a number always marshal
	return pagePrefix + hex.EncodeToString(raw)
}

// DecodePageToken reads what String wrote. It is false for anything else: tokens come back by way of a model.
func DecodePageToken(token string) (PageToken, bool) {
	digits, ok := strings.CutPrefix(token, pagePrefix)
	if !ok || len(token) > maxPageToken {
		return PageToken{}, false
	}
	raw, err := hex.DecodeString(digits)
	if err != nil {
		return PageToken{}, false
	}
	var p PageToken
	if json.Unmarshal(raw, &p) != nil || !p.valid() || p.String() != strings.ToLower(token) {
		return PageToken{}, false
	}
	return p, true
}

func (p PageToken) valid() bool {
	switch p.Reason {
	case CutChars, CutItems, CutBytes:
		return p.Limit >= 0 && (p.Pointer == "" || p.Pointer[0] == '/')
	default:
		return false
	}
}
