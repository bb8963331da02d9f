package protocol_test

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/skelegent/skelegent-go/protocol"
)

// A recoder reads JSON as a type of the protocol and writes what it read.
type recoder func(data []byte) ([]byte, error)

func recode[T any](data []byte) ([]byte, error) {
	var v T
	if err := protocol.Unmarshal(data, &v); err != nil {
		return nil, err
	}
	return protocol.Marshal(v)
}

// recoders lists every type with a form on the wire under the name of its golden file, testdata/NAME.json.
var recoders = map[string]recoder{
	"approval_reason":       recode[protocol.ApprovalReason],
	"approval_request":      recode[protocol.ApprovalRequest],
	"approval_response":     recode[protocol.ApprovalResponse],
	"budget_decision":       recode[protocol.BudgetDecision],
	"budget_event":          recode[protocol.BudgetEvent],
	"compaction_event":      recode[protocol.CompactionEvent],
	"compaction_policy":     recode[protocol.CompactionPolicy],
	"content":               recode[protocol.Content],
	"content_block":         recode[protocol.ContentBlock],
	"content_kind":          recode[protocol.ContentKind],
	"content_source":        recode[protocol.ContentSource],
	"context_snapshot":      recode[protocol.ContextSnapshot],
	"credential_injection":  recode[protocol.CredentialInjection],
	"credential_ref":        recode[protocol.CredentialRef],
	"dead_letter":           recode[protocol.DeadLetter],
	"decimal":               recode[protocol.Decimal],
	"effect":                recode[protocol.AnyEffect],
	"effect_outcome":        recode[protocol.EffectOutcome],
	"effect_request":        recode[protocol.EffectRequest],
	"effects":               recode[protocol.Effects],
	"environment_spec":      recode[protocol.EnvironmentSpec],
	"error":                 recode[*protocol.Error],
	"event":                 recode[protocol.Event],
	"exit_reason":           recode[protocol.ExitReason],
	"infer_response":        recode[protocol.InferResponse],
	"isolation_boundary":    recode[protocol.IsolationBoundary],
	"lifetime":              recode[protocol.Lifetime],
	"log_level":             recode[protocol.LogLevel],
	"memory_link":           recode[protocol.MemoryLink],
	"memory_tier":           recode[protocol.MemoryTier],
	"message":               recode[protocol.Message],
	"message_meta":          recode[protocol.MessageMeta],
	"millis":                recode[protocol.Millis],
	"network_policy":        recode[protocol.NetworkPolicy],
	"operator_config":       recode[protocol.OperatorConfig],
	"operator_input":        recode[protocol.OperatorInput],
	"operator_output":       recode[protocol.OperatorOutput],
	"query_payload":         recode[protocol.QueryPayload],
	"resource_limits":       recode[protocol.ResourceLimits],
	"response_format":       recode[protocol.ResponseFormat],
	"role":                  recode[protocol.Role],
	"scope":                 recode[protocol.Scope],
	"search_options":        recode[protocol.SearchOptions],
	"search_result":         recode[protocol.SearchResult],
	"secret_access_event":   recode[protocol.SecretAccessEvent],
	"secret_access_outcome": recode[protocol.SecretAccessOutcome],
	"secret_source":         recode[protocol.SecretSource],
	"signal_payload":        recode[protocol.SignalPayload],
	"stop_reason":           recode[protocol.StopReason],
	"store_options":         recode[protocol.StoreOptions],
	"sub_dispatch_record":   recode[protocol.SubDispatchRecord],
	"token_usage":           recode[protocol.TokenUsage],
	"tool_call":             recode[protocol.ToolCall],
	"tool_call_action":      recode[protocol.ToolCallAction],
	"tool_choice":           recode[protocol.ToolChoice],
	"tool_metadata":         recode[protocol.ToolMetadata],
	"tool_schema":           recode[protocol.ToolSchema],
	"trigger_type":          recode[protocol.TriggerType],
}

// goldens returns the elements of testdata/NAME.json.
func goldens(t testing.TB, name string) []json.RawMessage {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("testdata", name+".json"))
	if err != nil {
		t.Fatal(err)
	}
	var all []json.RawMessage
	if err := json.Unmarshal(data, &all); err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	return all
}

func compact(t testing.TB, data []byte) string {
	t.Helper()
	var b bytes.Buffer
	if err := json.Compact(&b, data); err != nil {
		t.Fatalf("%v in %s", err, data)
	}
	return b.String()
}

// TestGolden: every form of every type is read, and written as it was.
func TestGolden(t *testing.T) {
	t.Parallel()
	for name, recode := range recoders {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for i, golden := range goldens(t, name) {
				want := compact(t, golden)
				for round := range 2 {
					got, err := recode([]byte(want))
					if err != nil {
						t.Fatalf("%d round %d: %s\nfrom %s", i, round, err, want)
					}
					if string(got) != want {
						t.Fatalf("%d round %d:\n got %s\nwant %s", i, round, got, want)
					}
				}
			}
		})
	}
}

// TestGoldenFilesAreComplete: no file without a type and no type without a file.
func TestGoldenFilesAreComplete(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("testdata/*.json")
	if err != nil || len(files) != len(recoders) {
		t.Errorf("%d files, %d types, error %v", len(files), len(recoders), err)
	}
	for _, f := range files {
		if name := strings.TrimSuffix(filepath.Base(f), ".json"); recoders[name] == nil {
			t.Errorf("%s has no type in recoders", f)
		}
	}
}

// TestSecondForms: aliases and other forms that are read and never written.
func TestSecondForms(t *testing.T) {
	t.Parallel()
	for _, raw := range goldens(t, "read/second_forms") {
		var c struct {
			Type        string
			Read, Write json.RawMessage
		}
		if err := json.Unmarshal(raw, &c); err != nil {
			t.Fatal(err)
		}
		got, err := recoders[c.Type](c.Read)
		if want := compact(t, c.Write); err != nil || string(got) != want {
			t.Errorf("%s from %s:\n got %s, error %v\nwant %s", c.Type, c.Read, got, err, want)
		}
	}
}

// TestEncodingJSONAgrees: encoding/json reads and writes the golden forms too, where a program uses it instead.
func TestEncodingJSONAgrees(t *testing.T) {
	t.Parallel()
	for name, std := range map[string]recoder{
		"operator_input":  recodeStd[protocol.OperatorInput],
		"operator_output": recodeStd[protocol.OperatorOutput],
		"message":         recodeStd[protocol.Message],
		"event":           recodeStd[protocol.Event],
		"error":           recodeStd[*protocol.Error],
		"scope":           recodeStd[protocol.Scope],
		"effects":         recodeStd[protocol.Effects],
		"infer_response":  recodeStd[protocol.InferResponse],

		"environment_spec":    recodeStd[protocol.EnvironmentSpec],
		"secret_access_event": recodeStd[protocol.SecretAccessEvent],
		"approval_request":    recodeStd[protocol.ApprovalRequest],
	} {
		for i, golden := range goldens(t, name) {
			got, err := std(golden)
			if want := compact(t, golden); err != nil || string(got) != want {
				t.Errorf("%s %d:\n got %s, error %v\nwant %s", name, i, got, err, want)
			}
		}
	}
}

func recodeStd[T any](data []byte) ([]byte, error) {
	var v T
	if err := json.Unmarshal(data, &v); err != nil {
		return nil, err
	}
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	err := enc.Encode(v)
	return bytes.TrimSpace(b.Bytes()), err
}
