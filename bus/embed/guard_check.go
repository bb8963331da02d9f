package embed

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"strconv"
	"strings"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nkeys"

	"github.com/skelegent/skelegent-go/protocol/wire"
)

// isNode reports whether a CONNECT proves that the client holds the node's key. The server checks the
// same once more.
func (g *guard) isNode(connect string) bool {
	var fields struct {
		Nkey string `json:"nkey"`
		Sig  string `json:"sig"`
	}
	if g.nonce == "" || json.Unmarshal([]byte(connect), &fields) != nil || fields.Nkey != g.nodeKey {
		return false
	}
	sig, err := base64.RawURLEncoding.DecodeString(fields.Sig)
	if err != nil {
		return false
	}
	key, err := nkeys.FromPublicKey(fields.Nkey)
	return err == nil && key.Verify([]byte(g.nonce), sig) == nil
}

// deliversTo reads a request to create a consumer as the server does. It reports where the consumer would
// deliver, and whether a guest may have that.
func deliversTo(body []byte) (subject string, ok bool) {
	if len(body) == 0 {
		return "", true
	}
	var req server.CreateConsumerRequest
	if err := json.Unmarshal(body, &req); err != nil {
		return "unreadable", false
	}
	subject = req.Config.DeliverSubject
	if subject == "" || strings.HasPrefix(subject, GuestInbox) {
		return subject, true
	}
	if strings.ContainsAny(subject, " \t\r\n\x00") {
		return "invalid", false
	}
	return subject, false
}

// takesEffects reports whether headers, as they are sent, have that by which a caller takes the effects of a run.
func takesEffects(headers []byte) bool {
	return bytes.Contains(bytes.ToLower(headers), []byte(strings.ToLower(wire.HeaderEffects)))
}

// maxSizeField is how many digits the size of a message may have.
const maxSizeField = 10

func splitArgs(s string) []string {
	return strings.FieldsFunc(s, func(r rune) bool { return r == ' ' || r == '\t' })
}

func size(s string) (int, bool) {
	n, err := strconv.Atoi(s)
	return n, err == nil && n >= 0 && len(s) <= maxSizeField && s[0] >= '0' && s[0] <= '9'
}
