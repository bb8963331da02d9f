package protocol_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/skelegent/skelegent-go/protocol"
)

const okMetadata = `{"tokens_in":0,"tokens_out":0,"cost":"0","turns_used":0,"sub_dispatches":[],"duration":0}`

// TestDecodeErrors: what does not fit names the field and says what would.
func TestDecodeErrors(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, typ, in string
		field         string // of details
		says          string // part of the message
	}{
		{"malformed", "operator_input", `{"message":`, "", "malformed JSON"},
		{"empty", "operator_input", ``, "", "malformed JSON"},
		{"two values", "operator_input", `{"message":"a"} {"message":"b"}`, "", "malformed JSON"},
		{"not an object", "operator_input", `[1]`, "", "expected an object, got an array"},
		{"null", "operator_input", `null`, "", "must not be null"},

		{"missing message", "operator_input", `{"trigger":"user"}`, "message", "is required"},
		{"name in capitals", "operator_input", `{"Message":"hi"}`, "message", "is required"},
		{"missing nested", "operator_output", `{"message":"","exit_reason":"complete","metadata":{}}`, "metadata.tokens_in", "is required"},
		{"missing in list", "operator_output", `{"message":"","exit_reason":"complete","metadata":` + okMetadata + `,"effects":[{"type":"delete_memory","scope":"global","key":"a"},{"type":"log"},{"type":"delete_memory","key":"a"}]}`, "effects[1].level", "is required"},
		{"missing type", "effect", `{"scope":"global","key":"a"}`, "type", "is required"},
		{"missing source data", "content", `[{"type":"image","source":{"type":"base64"},"media_type":"m"}]`, "[0].source.data", "is required"},
		{"missing source url", "content_source", `{"type":"url","data":"x"}`, "url", "is required"},
		{"missing reason", "exit_reason", `{"safety_stop":{}}`, "safety_stop.reason", "is required"},
		{"missing halt reason", "exit_reason", `"interceptor_halt"`, "interceptor_halt.reason", "is required"},
		{"missing tool name", "tool_choice", `{"type":"tool"}`, "name", "is required"},

		{"wrong number", "operator_input", `{"message":"hi","config":{"max_turns":-1}}`, "config.max_turns", "whole number from 0 to 4294967295, got -1"},
		{"number too large", "operator_input", `{"message":"hi","config":{"max_turns":4294967296}}`, "config.max_turns", "4294967296"},
		{"fraction", "operator_input", `{"message":"hi","config":{"max_turns":1.5}}`, "config.max_turns", "1.5"},
		{"number as text", "operator_input", `{"message":"hi","config":{"max_turns":"1"}}`, "config.max_turns", "got a string"},
		{"text wrong", "operator_input", `{"message":"hi","config":{"model":1}}`, "config.model", "expected a string, got a number"},
		{"list wrong", "operator_input", `{"message":"hi","config":{"allowed_operators":"bash"}}`, "config.allowed_operators", "expected an array, got a string"},
		{"list element wrong", "operator_input", `{"message":"hi","config":{"allowed_operators":["a",true]}}`, "config.allowed_operators[1]", "expected a string, got a boolean"},
		{"alias wrong", "operator_input", `{"message":"hi","config":{"allowed_tools":[1]}}`, "config.allowed_tools[0]", "expected a string"},
		{"message wrong", "operator_input", `{"message":{"text":"hi"}}`, "message", "expected a string or an array of blocks, got an object"},
		{"block wrong", "operator_input", `{"message":["hi"]}`, "message[0]", "expected an object, got a string"},
		{"boolean wrong", "content", `[{"type":"tool_result","tool_use_id":"a","content":"b","is_error":"no"}]`, "[0].is_error", "expected a boolean, got a string"},
		{"float wrong", "effect", `{"type":"write_memory","scope":"global","key":"a","value":1,"salience":"high"}`, "salience", "expected a number"},
		{"float too large", "effect", `{"type":"write_memory","scope":"global","key":"a","value":1,"salience":1e999}`, "salience", "expected a number"},
		{"scope in list", "effects", `[{"type":"delete_memory","scope":"global","key":"a"},{"type":"delete_memory","scope":"all","key":"a"}]`, "[1].scope", "unknown variant"},
		{"deep", "effect", `{"type":"delegate","operator":"a","input":{"message":"m","config":{"max_cost":"much"}}}`, "input.config.max_cost", "expected a decimal number"},
		{"time", "event", `{"id":"e","kind":"log","operator":"o","instance":"i","run":"r","time":"yesterday","data":{}}`, "time", "expected a time as in RFC 3339, such as 2026-01-02T15:04:05Z, got a string"},
		{"null time", "event", `{"id":"e","kind":"log","operator":"o","instance":"i","run":"r","time":null,"data":{}}`, "time", "must not be null"},
		{"port", "network_policy", `{"default":"deny","rules":[{"destination":"d","port":65536,"action":"deny"}]}`, "rules[0].port", "from 0 to 65535"},
		{"role", "role", `{"tool":{"name":"n"}}`, "tool.call_id", "is required"},
		{"detail", "error", `{"code":"internal","message":"m","details":{"a":1}}`, "details.a", "expected a string"},

		{"null text", "operator_input", `{"message":null}`, "message", "must not be null"},
		{"null scope", "effect", `{"type":"delete_memory","scope":null,"key":"a"}`, "scope", "must not be null"},
		{"null key", "effect", `{"type":"delete_memory","scope":"global","key":null}`, "key", "must not be null"},
		{"null element", "effects", `[null]`, "[0]", "expected an object, got null"},
		{"null variant", "credential_ref", `{"name":"n","source":null,"injection":"sidecar"}`, "source", "must not be null"},
		{"null list", "approval_request", `{"run_id":"r","wait_point":"w","pending":null}`, "pending", "must not be null"},
		{"null custom", "scope", `{"custom":null}`, "custom", "got null"},

		{"given twice", "operator_input", `{"message":"a","message":"b"}`, "message", "given twice"},
		{"given twice by escape", "operator_input", `{"message":"a","mess\u0061ge":"b"}`, "message", "given twice"},
		{"given twice by alias", "operator_input", `{"message":"a","config":{"allowed_tools":[],"allowed_operators":[]}}`, "config.allowed_operators", "given twice"},
		{"type twice", "effect", `{"type":"log","type":"signal"}`, "type", "given twice"},
		{"detail twice", "error", `{"code":"internal","message":"m","details":{"a":"1","a":"2"}}`, "details.a", "given twice"},

		{"unknown effect", "effect", `{"type":"explode"}`, "type", `unknown variant "explode", expected one of write_memory, delete_memory, link_memory, unlink_memory, signal, delegate, handoff, log, tool_approval_required, custom`},
		{"unknown trigger", "operator_input", `{"message":"hi","trigger":"whim"}`, "trigger", `unknown variant "whim", expected one of user, task, signal, schedule, system_event, custom`},
		{"unknown exit", "exit_reason", `"bored"`, "", `unknown variant "bored", expected one of complete, max_turns, budget_exhausted, circuit_breaker, timeout, interceptor_halt, error, safety_stop, awaiting_approval, handed_off, custom`},
		{"bare custom", "exit_reason", `"custom"`, "custom", "expected a string"},
		{"object of bare", "exit_reason", `{"complete":{}}`, "", `unknown variant "complete"`},
		{"two keys", "scope", `{"session":"a","workflow":"b"}`, "", "expected an object with one key, got 2"},
		{"no key", "scope", `{}`, "", "expected an object with one key, got 0"},
		{"scope of number", "scope", `{"session":1}`, "session", "expected a string, got a number"},
		{"scope namespace", "scope", `{"custom":{"namespace":"n"}}`, "custom.id", "is required"},
		{"unknown scope", "scope", `{"tenant":"a"}`, "", `unknown variant "tenant", expected one of global, session, workflow, operator, custom`},
		{"unknown tier", "store_options", `{"tier":"tepid"}`, "tier", "expected one of hot, warm, cold"},
		{"unknown content kind", "content_kind", `"odd"`, "", "expected one of episodic, semantic, procedural, structural, custom"},
		{"unknown block", "content", `[{"type":"smell"}]`, "[0].type", "expected one of text, image, tool_use, tool_result, custom, file, data, thinking"},
		{"unknown source", "content_source", `{"type":"bytes","data":"x"}`, "type", "expected one of base64, url"},
		{"unknown boundary", "isolation_boundary", `{"type":"moat"}`, "type", "expected one of process, container, gvisor, micro_vm, wasm, network_policy, custom"},
		{"unknown injection", "credential_injection", `"env_var"`, "", "expected one of env_var, file, sidecar"},
		{"unknown decision", "budget_decision", `"pray"`, "", "expected one of continue, downgrade_model, halt_workflow, request_increase"},
		{"unknown approval", "approval_response", `"approve_all"`, "", "expected one of ApproveAll, Approve, Reject, RejectAll, Modify, Batch"},
		{"approval without data", "approval_response", `"Approve"`, "", "unknown variant"},
		{"approval nested", "approval_response", `{"Batch":{"decisions":[{"call_id":"c","action":{"Reject":{}}}]}}`, "Batch.decisions[0].action.Reject.reason", "is required"},
		{"unknown policy", "message_meta", `{"policy":"sticky","version":0}`, "policy", "expected one of pinned, normal, compress_first, discard_when_done"},
		{"unknown role", "role", `"judge"`, "", "expected one of system, user, assistant, tool"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			_, err := recoders[c.typ]([]byte(c.in))
			var e *protocol.Error
			if !errors.As(err, &e) {
				t.Fatalf("got %v, want an *Error", err)
			}
			if e.Code != protocol.CodeInvalidInput || e.Retryable || e.Details["field"] != c.field || !strings.Contains(e.Message, c.says) {
				t.Errorf("got %s %q, field %q; want field %q and %q", e.Code, e.Message, e.Details["field"], c.field, c.says)
			}
			if c.field != "" && !strings.HasPrefix(e.Message, "invalid input: field "+c.field+": ") {
				t.Errorf("the message %q does not name field %s", e.Message, c.field)
			}
		})
	}
}

// TestErrorsStaySmall: a sender cannot make us repeat much of what it sent.
func TestErrorsStaySmall(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("x", 100_000)
	for typ, in := range map[string]string{
		"effect":         `{"type":"` + long + `"}`,
		"operator_input": `{"message":"m","config":{"max_turns":` + strings.Repeat("9", 100_000) + `}}`,
		"event":          `{"id":"e","kind":"log","operator":"o","instance":"i","run":"r","time":"` + long + `","data":{}}`,
		"decimal":        `"` + long + `"`,
		"error":          `{"code":"internal","message":"m","details":{"` + long + `":1}}`,
	} {
		if _, err := recoders[typ]([]byte(in)); err == nil || len(err.Error()) > 600 {
			t.Errorf("%s: an error of %d bytes", typ, len(err.Error()))
		}
	}
}

// TestMillisOverflow: a duration is a whole number of milliseconds that fits 64 bits.
func TestMillisOverflow(t *testing.T) {
	t.Parallel()
	for _, in := range []string{`18446744073709551616`, `-1`, `1.0`, `1e3`, `"5"`, `null`} {
		if out, err := recoders["millis"]([]byte(in)); err == nil {
			t.Errorf("%s was read as %s", in, out)
		}
	}
}

// TestUnknownFieldsAreIgnored in every object of every type, so that a newer peer can add some.
func TestUnknownFieldsAreIgnored(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"operator_input", "operator_output", "effect", "message", "event", "error", "infer_response", "environment_spec", "secret_source", "budget_event", "compaction_event", "content_block", "tool_choice", "approval_request"} {
		for _, golden := range goldens(t, name) {
			want := compact(t, golden)
			in := `{"x_future":{"deep":[1,{"type":"no"}]},` + want[1:]
			if got, err := recoders[name]([]byte(in)); err != nil || string(got) != want {
				t.Errorf("%s:\n got %s, error %v\nwant %s", name, got, err, want)
			}
		}
	}
}
