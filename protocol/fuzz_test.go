package protocol_test

import (
	"encoding/json"
	"errors"
	"math/big"
	"reflect"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/skelegent/skelegent-go/protocol"
)

// seed gives a fuzz target the golden forms of the types it reads, and how they can go wrong.
func seed(f *testing.F, names ...string) {
	f.Helper()
	for _, name := range names {
		for _, golden := range goldens(f, name) {
			f.Add([]byte(golden))
		}
	}
	for _, s := range []string{``, `null`, `{}`, `[]`, `""`, `"custom"`, `{"type":"custom"}`, `{"type":null}`, `{"a":{"b":[`, "\"\xff\"", `{"type":"\u0000"}`} {
		f.Add([]byte(s))
	}
}

// tryDecode reads data as a T. What is refused is refused politely; what is accepted is JSON, and reads back the same from
// what it is written as.
func tryDecode[T any](t *testing.T, data []byte) (T, bool) {
	t.Helper()
	var v T
	if err := protocol.Unmarshal(data, &v); err != nil {
		var e *protocol.Error
		if !errors.As(err, &e) || e.Code != protocol.CodeInvalidInput || len(e.Message) > 1000 || !utf8.ValidString(e.Message) {
			t.Fatalf("%T refused with %d bytes: %q", v, len(err.Error()), err)
		}
		return v, false
	}
	if !json.Valid(data) {
		t.Fatalf("%T read from what is no JSON", v)
	}
	first, err := protocol.Marshal(v)
	if err != nil || !json.Valid(first) {
		t.Fatalf("%T written as %s: %v", v, first, err)
	}
	var again, third T
	if err := protocol.Unmarshal(first, &again); err != nil {
		t.Fatalf("%T does not read what it wrote: %v\n%s", v, err, first)
	}
	second, err := protocol.Marshal(again)
	if err != nil || string(second) != string(first) {
		t.Fatalf("%T written differently: %v\n%s\n%s", v, err, first, second)
	}
	if err := protocol.Unmarshal(second, &third); err != nil || !reflect.DeepEqual(again, third) {
		t.Fatalf("%T decode(encode(x)) is not x: %v\n%#v\n%#v", v, err, again, third)
	}
	return v, true
}

// sameAsTags compares what v is written as with what encoding/json makes of the tags alone.
func sameAsTags(t *testing.T, v, plain any) {
	t.Helper()
	got, err := protocol.Marshal(v)
	want, wantErr := protocol.Marshal(plain)
	if err != nil || wantErr != nil || string(got) != string(want) {
		t.Fatalf("got %s (%v)\nwant %s (%v)", got, err, want, wantErr)
	}
}

type (
	plainInput    protocol.OperatorInput
	plainMetadata protocol.OperatorMetadata
	plainOutput   protocol.OperatorOutput
)

func FuzzDecodeInput(f *testing.F) {
	seed(f, "operator_input")
	f.Fuzz(func(t *testing.T, data []byte) {
		in, ok := tryDecode[protocol.OperatorInput](t, data)
		if !ok {
			return
		}
		sameAsTags(t, in, plainInput(in))
		if err := in.Validate(); err != nil && protocol.CodeOf(err) != protocol.CodeInvalidInput {
			t.Fatal(err)
		}
		var oracle map[string]any // encoding/json agrees on what is simple
		if err := json.Unmarshal(data, &oracle); err != nil {
			t.Fatal(err)
		}
		if text, isText := oracle["message"].(string); isText {
			if got, _ := in.Message.AsText(); got != text {
				t.Fatalf("message %q, encoding/json says %q", got, text)
			}
		}
		if session, isText := oracle["session"].(string); isText && (in.Session == nil || string(*in.Session) != session) {
			t.Fatalf("session %v, encoding/json says %q", in.Session, session)
		}
		var metadata any
		if in.Metadata != nil {
			if err := json.Unmarshal(in.Metadata, &metadata); err != nil {
				t.Fatal(err)
			}
		}
		if !reflect.DeepEqual(metadata, oracle["metadata"]) {
			t.Fatalf("metadata %v, encoding/json says %v", metadata, oracle["metadata"])
		}
	})
}

func FuzzDecodeOutput(f *testing.F) {
	seed(f, "operator_output")
	f.Fuzz(func(t *testing.T, data []byte) {
		out, ok := tryDecode[protocol.OperatorOutput](t, data)
		if !ok {
			return
		}
		sameAsTags(t, out, plainOutput(out))
		m := plainMetadata(out.Metadata)
		if m.SubDispatches == nil {
			m.SubDispatches = []protocol.SubDispatchRecord{}
		}
		sameAsTags(t, out.Metadata, m)
	})
}

func FuzzEffect(f *testing.F) {
	seed(f, "effect", "effects", "effect_request", "effect_outcome", "dead_letter")
	f.Fuzz(func(t *testing.T, data []byte) {
		if e, ok := tryDecode[protocol.AnyEffect](t, data); ok && e.Kind() == "" {
			t.Fatal("no kind")
		}
		tryDecode[protocol.Effects](t, data)
		tryDecode[protocol.EffectRequest](t, data)
		tryDecode[protocol.EffectOutcome](t, data)
		tryDecode[protocol.DeadLetter](t, data)
	})
}

func FuzzScope(f *testing.F) {
	seed(f, "scope", "trigger_type", "exit_reason", "content_kind", "store_options")
	f.Fuzz(func(t *testing.T, data []byte) {
		tryDecode[protocol.Scope](t, data)
		tryDecode[protocol.TriggerType](t, data)
		tryDecode[protocol.ExitReason](t, data)
		tryDecode[protocol.ContentKind](t, data)
		tryDecode[protocol.StoreOptions](t, data)
	})
}

func FuzzError(f *testing.F) {
	seed(f, "error")
	f.Fuzz(func(t *testing.T, data []byte) {
		e, ok := tryDecode[*protocol.Error](t, data)
		if ok && e != nil && e.Kind != "" && !errors.Is(e, &protocol.Error{Kind: e.Kind}) {
			t.Fatal("is not its kind")
		}
	})
}

func FuzzEvent(f *testing.F) {
	seed(f, "event")
	f.Fuzz(func(t *testing.T, data []byte) { tryDecode[protocol.Event](t, data) })
}

func FuzzMessage(f *testing.F) {
	seed(f, "message", "context_snapshot", "content")
	f.Fuzz(func(t *testing.T, data []byte) {
		tryDecode[protocol.Content](t, data)
		tryDecode[protocol.ContextSnapshot](t, data)
		if m, ok := tryDecode[protocol.Message](t, data); ok && (m.EstimatedTokens() < 4 || m.EstimatedTokens() < len(m.Text())/8) {
			t.Fatalf("%d tokens, %d bytes", m.EstimatedTokens(), len(m.Text()))
		}
	})
}

func FuzzEnvironment(f *testing.F) {
	seed(f, "environment_spec", "secret_access_event", "secret_source")
	f.Fuzz(func(t *testing.T, data []byte) {
		tryDecode[protocol.EnvironmentSpec](t, data)
		tryDecode[protocol.SecretAccessEvent](t, data)
		if s, ok := tryDecode[protocol.SecretSource](t, data); ok && s.Kind() == "" {
			t.Fatal("no kind")
		}
	})
}

func FuzzLifecycle(f *testing.F) {
	seed(f, "budget_event", "budget_decision", "compaction_event")
	f.Fuzz(func(t *testing.T, data []byte) {
		tryDecode[protocol.BudgetEvent](t, data)
		tryDecode[protocol.BudgetDecision](t, data)
		tryDecode[protocol.CompactionEvent](t, data)
	})
}

func FuzzApproval(f *testing.F) {
	seed(f, "approval_request", "approval_response")
	f.Fuzz(func(t *testing.T, data []byte) {
		tryDecode[protocol.ApprovalRequest](t, data)
		tryDecode[protocol.ApprovalResponse](t, data)
	})
}

func FuzzInferResponse(f *testing.F) {
	seed(f, "infer_response", "tool_schema", "tool_choice", "response_format")
	f.Fuzz(func(t *testing.T, data []byte) {
		if r, ok := tryDecode[protocol.InferResponse](t, data); ok {
			tryDecode[protocol.Message](t, []byte(mustMarshal(t, r.ToMessage())))
		}
		tryDecode[protocol.ToolSchema](t, data)
		tryDecode[protocol.ToolChoice](t, data)
		tryDecode[protocol.ResponseFormat](t, data)
	})
}

func FuzzDecimal(f *testing.F) {
	seed(f, "decimal")
	for _, s := range []string{`1e-3`, `"1.50e1"`, `0e50`, `1e100`, `"1e-100"`, `"-.5"`, `"5."`, `99999999999999999999e-30`} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		d, ok := tryDecode[protocol.Decimal](t, data)
		if !ok {
			return
		}
		literal := strings.TrimSpace(string(data))
		if literal[0] == '"' {
			if err := json.Unmarshal(data, &literal); err != nil {
				t.Fatal(err)
			}
		}
		want, ok := new(big.Rat).SetString(literal)
		got, gotOK := new(big.Rat).SetString(d.Text())
		if !ok || !gotOK || want.Cmp(got) != 0 || len(d.Text()) > 200 {
			t.Fatalf("%s was read as %s", data, d.Text())
		}
	})
}
