package protocol_test

import (
	"testing"
	"time"

	"github.com/shopspring/decimal"

	"github.com/skelegent/skelegent-go/protocol"
)

// The tests of this file are the acceptance facts of the specification about the wire, one test each.

func mustMarshal(t testing.TB, v any) string {
	t.Helper()
	data, err := protocol.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

func mustUnmarshal[T any](t testing.TB, text string) T {
	t.Helper()
	var v T
	if err := protocol.Unmarshal([]byte(text), &v); err != nil {
		t.Fatal(err)
	}
	return v
}

func check(t testing.TB, what, got, want string) {
	t.Helper()
	if got != want {
		t.Errorf("%s: got %s, want %s", what, got, want)
	}
}

func TestD1DecimalsAreStrings(t *testing.T) {
	t.Parallel()
	check(t, "123e-2", mustMarshal(t, protocol.Decimal{Decimal: decimal.New(123, -2)}), `"1.23"`)
	check(t, "zero", mustMarshal(t, protocol.Decimal{}), `"0"`)
	m := protocol.OperatorMetadata{Cost: protocol.Decimal{Decimal: decimal.New(5, -3)}}
	check(t, "cost", mustMarshal(t, m), `{"tokens_in":0,"tokens_out":0,"cost":"0.005","turns_used":0,"sub_dispatches":[],"duration":0}`)
}

func TestD1DurationsAreMilliseconds(t *testing.T) {
	t.Parallel()
	check(t, "1.5 s", mustMarshal(t, protocol.MillisOf(1500*time.Millisecond)), `1500`)
	check(t, "zero", mustMarshal(t, protocol.Millis(0)), `0`)
	check(t, "text", protocol.Millis(1500).String(), "1500ms")
}

func TestD1TextAndOneTextBlockDiffer(t *testing.T) {
	t.Parallel()
	text, block := protocol.TextContent("hi"), protocol.BlockContent(protocol.TextBlock{Text: "hi"})
	check(t, "text", mustMarshal(t, text), `"hi"`)
	check(t, "block", mustMarshal(t, block), `[{"type":"text","text":"hi"}]`)
	if text.Equal(block) {
		t.Error("they are equal")
	}
	for _, c := range []protocol.Content{text, block} {
		if back := mustUnmarshal[protocol.Content](t, mustMarshal(t, c)); !back.Equal(c) {
			t.Errorf("%v came back as %v", c, back)
		}
	}
}

func TestD1AsTextIsTheFirstText(t *testing.T) {
	t.Parallel()
	for want, c := range map[string]protocol.Content{
		"found": protocol.BlockContent(protocol.ToolResultBlock{Content: "result"}, protocol.TextBlock{Text: "found"}),
		"first": protocol.BlockContent(protocol.TextBlock{Text: "first"}, protocol.TextBlock{Text: "second"}),
		"plain": protocol.TextContent("plain"),
	} {
		if got, ok := c.AsText(); !ok || got != want {
			t.Errorf("got %q %v, want %q", got, ok, want)
		}
	}
	if _, ok := protocol.BlockContent().AsText(); ok {
		t.Error("no blocks have a text")
	}
}

func TestD1CustomVariants(t *testing.T) {
	t.Parallel()
	trigger := mustUnmarshal[protocol.TriggerType](t, `{"custom":"iot_sensor_event"}`)
	if name, ok := trigger.Custom(); !ok || name != "iot_sensor_event" || trigger != protocol.CustomTrigger("iot_sensor_event") {
		t.Errorf("trigger %v", trigger)
	}
	if exit := mustUnmarshal[protocol.ExitReason](t, `{"custom":"human_takeover"}`); exit != protocol.CustomExit("human_takeover") {
		t.Errorf("exit %v", exit)
	}
	if scope := mustUnmarshal[protocol.Scope](t, `{"custom":"tenant:acme-corp"}`); scope != protocol.CustomScope("tenant:acme-corp") {
		t.Errorf("scope %v", scope)
	}
}

func TestD1CustomEffectBlockAndBoundary(t *testing.T) {
	t.Parallel()
	e, err := protocol.DecodeEffect([]byte(`{"type":"custom","effect_type":"send_slack","data":{"channel":"#ops"}}`))
	c, ok := e.(protocol.CustomEffect)
	if err != nil || !ok || c.EffectType != "send_slack" || c.Kind() != protocol.KindCustom || string(c.Data) != `{"channel":"#ops"}` {
		t.Errorf("got %#v, error %v", e, err)
	}
	b := mustUnmarshal[protocol.ContentBlock](t, `{"type":"custom","content_type":"audio","data":{"codec":"opus"}}`)
	if c, ok := b.(protocol.CustomBlock); !ok || c.ContentType != "audio" {
		t.Errorf("got %#v", b)
	}
	w := mustUnmarshal[protocol.IsolationBoundary](t, `{"type":"custom","boundary_type":"kata_container","config":{}}`)
	if c, ok := w.(protocol.CustomIsolation); !ok || c.BoundaryType != "kata_container" {
		t.Errorf("got %#v", w)
	}
}

func TestD1WriteMemoryTier(t *testing.T) {
	t.Parallel()
	w := protocol.WriteMemory{Scope: protocol.GlobalScope(), Key: "k", Value: []byte(`1`)}
	check(t, "none", mustMarshal(t, w), `{"type":"write_memory","scope":"global","key":"k","value":1}`)
	warm := protocol.TierWarm
	w.Tier = &warm
	back, err := protocol.DecodeEffect([]byte(mustMarshal(t, w)))
	if err != nil || *back.(protocol.WriteMemory).Tier != protocol.TierWarm || *back.(protocol.WriteMemory).Options().Tier != warm {
		t.Errorf("got %#v, error %v", back, err)
	}
}

func TestD1ErrorTexts(t *testing.T) {
	t.Parallel()
	check(t, "model", protocol.ErrModel("rate limited").Error(), "model error: rate limited")
	check(t, "wrapped model", protocol.WrapModel(protocol.ErrRateLimited(0)).Error(), "model error: rate limited")
	failed := protocol.NewError(protocol.CodeToolError, "command failed")
	check(t, "sub-dispatch", protocol.ErrSubDispatch("bash", failed).Error(), "sub-dispatch error in bash: command failed")
	check(t, "orch", protocol.ErrOperatorNotFound("missing-agent").Error(), "operator not found: missing-agent")
	check(t, "state", protocol.ErrStateNotFound("session", "notes").Error(), "not found: session/notes")
	check(t, "env", protocol.ErrProvision("docker not available").Error(), "provisioning failed: docker not available")
}

func TestD1SecretKinds(t *testing.T) {
	t.Parallel()
	want := []string{"vault", "aws", "aws", "gcp", "azure", "os_keystore", "kubernetes", "hardware", "custom"}
	for i, golden := range goldens(t, "secret_source") {
		s, err := protocol.DecodeSecretSource(golden)
		if err != nil {
			t.Fatal(err)
		}
		check(t, string(golden), s.Kind(), want[i])
	}
}

func TestD1Defaults(t *testing.T) {
	t.Parallel()
	check(t, "config", mustMarshal(t, protocol.OperatorConfig{}),
		`{"max_turns":null,"max_cost":null,"max_duration":null,"model":null,"allowed_operators":null,"system_addendum":null}`)
	check(t, "options", mustMarshal(t, protocol.StoreOptions{}), `{"tier":null}`)
	check(t, "input", mustMarshal(t, protocol.Text("hi")), `{"message":"hi","trigger":"user","session":null,"config":null,"metadata":null}`)
}

func TestD1SecretAccessEventKeepsAll(t *testing.T) {
	t.Parallel()
	e := mustUnmarshal[protocol.SecretAccessEvent](t, string(goldens(t, "secret_access_event")[1]))
	if *e.LeaseTTLSecs != 3600 || *e.Reason != "policy: requires mfa" || e.Outcome != protocol.SecretDenied || *e.LeaseID != "l-1" ||
		*e.WorkflowID != "coder/i1" || *e.OperatorID != "coder" || *e.TraceID != "t-1" || e.Source.Kind() != "vault" {
		t.Errorf("got %+v", e)
	}
}

func TestD1ProtocolErrorGolden(t *testing.T) {
	t.Parallel()
	const golden = `{"code":"unavailable","message":"overloaded","retryable":true,"details":{"provider":"anthropic"}}`
	e := mustUnmarshal[*protocol.Error](t, golden)
	if e.Code != protocol.CodeUnavailable || !e.Retryable || e.Details["provider"] != "anthropic" {
		t.Errorf("got %+v", e)
	}
	check(t, "again", mustMarshal(t, e), golden)
}
