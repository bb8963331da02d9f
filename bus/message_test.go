package bus_test

import (
	"testing"
	"time"
	"unicode/utf8"

	"github.com/nats-io/nats.go"

	"github.com/skelegent/skelegent-go/bus"
	"github.com/skelegent/skelegent-go/protocol"
)

// FuzzRequest: whatever a client sends, it is read or refused with invalid_input or quota_exceeded; what is read can be
// written and read again.
func FuzzRequest(f *testing.F) {
	f.Add([]byte(`{"message":"x"}`), "r1", "2026-01-02T15:04:05Z", "0.50", "3", "00-x")
	f.Add([]byte("fix the build"), "", "", "", "", "")
	f.Add([]byte(" {"), "\xff", "tomorrow", "1e999", "-1", "\xff")
	f.Add([]byte(`{"message":[{"type":"text","text":"x"}],"session":""}`), "a", "x", "-1", "17", "")
	f.Fuzz(func(t *testing.T, body []byte, run, deadline, budget, depth, trace string) {
		h := nats.Header{
			"Skg-Run-Id": {run}, "Skg-Deadline": {deadline}, "Skg-Budget": {budget}, "Skg-Depth": {depth}, "traceparent": {trace},
		}
		call, until, err := bus.DecodeCall(h)
		if err != nil {
			if c := protocol.CodeOf(err); c != protocol.CodeInvalidInput && c != protocol.CodeQuotaExceeded {
				t.Fatalf("headers: %v", err)
			}
		} else {
			if !utf8.ValidString(string(call.Run)) || call.Depth < 0 || call.Budget != nil && call.Budget.IsNegative() {
				t.Fatalf("call = %+v", call)
			}
			if deadline != "" && until.IsZero() && deadline != (time.Time{}).Format(time.RFC3339) {
				t.Logf("deadline %q is the zero time", deadline)
			}
		}
		in, err := bus.DecodeInput(body)
		if err != nil {
			if protocol.CodeOf(err) != protocol.CodeInvalidInput {
				t.Fatalf("body: %v", err)
			}
			return
		}
		data, err := protocol.Marshal(in)
		if err != nil {
			t.Fatalf("cannot be written: %v", err)
		}
		if _, err := bus.DecodeInput(data); err != nil {
			t.Fatalf("%s cannot be read again: %v", data, err)
		}
	})
}
