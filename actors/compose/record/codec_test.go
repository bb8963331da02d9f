package record_test

import (
	"strings"
	"testing"

	"github.com/skelegent/skelegent-go/actors/compose/record"
	"github.com/skelegent/skelegent-go/protocol"
)

const small = `{"version":1,"task":{"message":"hi"},"model":"m","turns":[{"output":{"role":"assistant","content":"","meta":{"policy":"normal","version":0}},` +
	`"invocations":[{"id":"1","name":"f","input":{}}],"stop_reason":"tool_use","model":"m","usage":{"input_tokens":1,"output_tokens":1},"cost":null,` +
	`"results":[{"call_id":"1","name":"f","output":"x","is_error":false}]}],"final_answer":"x","exit_reason":"complete","passed_assertions":[]}`

func TestDecodeIsStrict(t *testing.T) {
	t.Parallel()
	if _, err := record.Decode([]byte(small)); err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{
		"no JSON":              "x",
		"no object":            "[]",
		"no version":           `{"task":{"message":"hi"}}`,
		"unknown member":       strings.Replace(small, `"model":"m"`, `"mode":"m"`, 1),
		"unknown in a turn":    strings.Replace(small, `"cost":null`, `"price":null`, 1),
		"unknown in a result":  strings.Replace(small, `"is_error"`, `"error_is"`, 1),
		"no task":              strings.Replace(small, `"message":"hi"`, `"trigger":"user"`, 1),
		"another role":         strings.Replace(small, `"assistant"`, `"user"`, 1),
		"a result of no call":  strings.Replace(small, `"call_id":"1"`, `"call_id":"2"`, 1),
		"a result of another":  strings.Replace(small, `"call_id":"1","name":"f"`, `"call_id":"1","name":"g"`, 1),
		"a call without an id": strings.Replace(small, `"id":"1"`, `"id":""`, 1),
		"two values":           small + "{}",
		"too many turns":       strings.Replace(small, `"turns":[`, `"turns":[`+strings.Repeat(`{"output":{"role":"assistant","content":"","meta":{"policy":"normal","version":0}},"stop_reason":"end_turn"},`, 10_000), 1),
		"too many calls":       strings.Replace(small, `"invocations":[`, `"invocations":[`+strings.Repeat(`{"id":"1","name":"f","input":{}},`, 1000), 1),
	} {
		if _, err := record.Decode([]byte(text)); protocol.CodeOf(err) != protocol.CodeInvalidInput {
			t.Errorf("%s: got %v", name, err)
		}
	}
	if _, err := record.Decode([]byte(strings.Replace(small, `"version":1`, `"version":2`, 1))); protocol.CodeOf(err) != protocol.CodeUnsupported {
		t.Errorf("got %v", err)
	}
	if _, err := record.Decode(make([]byte, record.MaxSize+1)); protocol.CodeOf(err) != protocol.CodeInvalidInput {
		t.Errorf("got %v", err)
	}
	if _, err := (&record.Run{Version: 7}).Encode(); err == nil {
		t.Error("a run of another version was written")
	}
}

func FuzzDecode(f *testing.F) {
	f.Add([]byte(small))
	f.Fuzz(func(t *testing.T, data []byte) {
		r, err := record.Decode(data)
		if err != nil {
			return
		}
		again(t, r)
		if err := record.Check(r, record.ModelOutputNormalized(), record.ToolDispatched(""), record.FinalAnswerGrounded(), record.NoErrors()); err != nil {
			_ = err.Error()
		}
		_, _ = record.Replay(t.Context(), r, agentConfig)
	})
}
