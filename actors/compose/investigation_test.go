package compose_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"

	"github.com/skelegent/skelegent-go/actors/compose"
	"github.com/skelegent/skelegent-go/protocol"
)

var blockID = uuid.MustParse("0190a6f0-0000-7000-8000-000000000001")

// full has something in every field.
func full() *compose.Investigation {
	inv := compose.NewInvestigation("host-a", "lab").WithBlock(blockID).WithSignal("raise").WithSignal("raise")
	inv.AddEvidence(
		compose.Evidence{SourceSkill: "s", Label: "<l>", Detail: json.RawMessage(`{"a":1}`), RecordedAt: time.Date(2026, 1, 2, 3, 4, 5, 6, time.UTC)},
		compose.Evidence{SourceSkill: "s", Label: "l"}.WithDetail(nil))
	inv.Confidence = 0.4
	inv.Pending = []compose.NextAction{
		compose.RunSkill{ID: "a"},
		compose.InvokeTool{Tool: "b", Args: json.RawMessage(`[1]`)},
		compose.InvokeTool{Tool: "c"},
		compose.Conclude{},
		compose.Discard{},
	}
	return inv
}

const fullJSON = `{"entity_id":"host-a","block_id":"0190a6f0-0000-7000-8000-000000000001","partition":"lab","signals":["raise","raise"],` +
	`"evidence":[{"source_skill":"s","label":"<l>","detail":{"a":1},"recorded_at":"2026-01-02T03:04:05.000000006Z"},` +
	`{"source_skill":"s","label":"l","detail":null,"recorded_at":"0001-01-01T00:00:00Z"}],"confidence":0.4,` +
	`"pending_actions":[{"RunSkill":"a"},{"InvokeTool":{"tool":"b","args":[1]}},{"InvokeTool":{"tool":"c","args":null}},"Conclude","Discard"]}`

const emptyJSON = `{"entity_id":"e","partition":"p","signals":[],"evidence":[],"confidence":0,"pending_actions":[]}`

func TestInvestigationsAreWrittenAndReadBack(t *testing.T) {
	t.Parallel()
	for want, inv := range map[string]*compose.Investigation{fullJSON: full(), emptyJSON: compose.NewInvestigation("e", "p")} {
		raw, err := protocol.Marshal(inv)
		noErr(t, err)
		same(t, "json", want, string(raw))
		byValue, err := protocol.Marshal(*inv)
		noErr(t, err)
		same(t, "by value", want, string(byValue))
		var back compose.Investigation
		noErr(t, json.Unmarshal(raw, &back))
		again, err := protocol.Marshal(back)
		noErr(t, err)
		same(t, "again", want, string(again))
	}
	var back compose.Investigation
	noErr(t, protocol.Unmarshal([]byte(fullJSON), &back))
	same(t, "back", full(), &back)
}

func TestEveryMemberButTheBlockIsNeeded(t *testing.T) {
	t.Parallel()
	var members map[string]json.RawMessage
	noErr(t, json.Unmarshal([]byte(fullJSON), &members))
	for name, value := range members {
		for _, null := range []bool{false, true} {
			if delete(members, name); null {
				members[name] = json.RawMessage("null")
			}
			raw, err := json.Marshal(members)
			noErr(t, err)
			var inv compose.Investigation
			if err := inv.UnmarshalJSON(raw); name == "block_id" {
				noErr(t, err)
			} else if e := wantKind(t, err, compose.KindSerialization); !strings.Contains(e.Message, name) || inv.EntityID != "" {
				t.Errorf("%s: got %v, %+v", name, e, inv)
			}
		}
		members[name] = value
	}
}

func TestWhatIsNoInvestigationIsNotRead(t *testing.T) {
	t.Parallel()
	with := func(name, value string) string {
		var members map[string]json.RawMessage
		_ = json.Unmarshal([]byte(emptyJSON), &members)
		members[name] = json.RawMessage(value)
		raw, _ := json.Marshal(members)
		return string(raw)
	}
	evidence := `[{"source_skill":"s","label":"l","detail":null,"recorded_at":"2026-01-02T03:04:05Z"}]`
	var inv compose.Investigation
	noErr(t, inv.UnmarshalJSON([]byte(with("evidence", evidence))))
	noErr(t, inv.UnmarshalJSON([]byte(with("unknown", "7"))))
	for name, raw := range map[string]string{
		"not json":       `{`,
		"a list":         `[]`,
		"twice":          strings.Replace(emptyJSON, `{`, `{"entity_id":"x",`, 1),
		"entity":         with("entity_id", "7"),
		"signal":         with("signals", `["a",7]`),
		"block":          with("block_id", `"x"`),
		"confidence":     with("confidence", `"high"`),
		"large number":   with("confidence", `1e999`),
		"evidence":       with("evidence", `[{}]`),
		"no detail":      with("evidence", strings.Replace(evidence, `"detail":null,`, "", 1)),
		"time":           with("evidence", strings.Replace(evidence, "2026-01", "January", 1)),
		"null action":    with("pending_actions", `[null]`),
		"unknown action": with("pending_actions", `["Wait"]`),
		"two actions":    with("pending_actions", `[{"RunSkill":"a","Conclude":null}]`),
		"no action":      with("pending_actions", `[{}]`),
		"bare":           with("pending_actions", `["RunSkill"]`),
		"with data":      with("pending_actions", `[{"Conclude":7}]`),
		"skill id":       with("pending_actions", `[{"RunSkill":7}]`),
		"no args":        with("pending_actions", `[{"InvokeTool":{"tool":"x"}}]`),
		"no tool":        with("pending_actions", `[{"InvokeTool":{"args":{}}}]`),
	} {
		if err := inv.UnmarshalJSON([]byte(raw)); compose.KindOf(err) != compose.KindSerialization || len(err.Error()) > 500 {
			t.Errorf("%s: got %v", name, err)
		}
	}
}

func TestInvestigationsHaveLimits(t *testing.T) {
	t.Parallel()
	long := func(n int) string { return strings.Repeat("x", n+1) }
	for name, change := range map[string]func(*compose.Investigation){
		"entity":    func(inv *compose.Investigation) { inv.EntityID = long(compose.MaxName) },
		"partition": func(inv *compose.Investigation) { inv.Partition = long(compose.MaxName) },
		"signals":   func(inv *compose.Investigation) { inv.Signals = make([]compose.Signal, compose.MaxSignals+1) },
		"signal":    func(inv *compose.Investigation) { inv.AddSignal(compose.Signal(long(compose.MaxName))) },
		"evidence":  func(inv *compose.Investigation) { inv.Evidence = make([]compose.Evidence, compose.MaxEvidence+1) },
		"label":     func(inv *compose.Investigation) { inv.AddEvidence(compose.NewEvidence("s", long(compose.MaxLabel))) },
		"skill":     func(inv *compose.Investigation) { inv.AddEvidence(compose.NewEvidence(long(compose.MaxName), "l")) },
		"detail": func(inv *compose.Investigation) {
			inv.AddEvidence(compose.NewEvidence("s", "l").WithDetail(json.RawMessage(`"` + long(compose.MaxDetail) + `"`)))
		},
		"pending": func(inv *compose.Investigation) {
			for range compose.MaxPending + 1 {
				inv.Pending = append(inv.Pending, compose.Conclude{})
			}
		},
		"skill id": func(inv *compose.Investigation) {
			inv.Pending = []compose.NextAction{compose.RunSkill{ID: long(compose.MaxName)}}
		},
		"tool": func(inv *compose.Investigation) {
			inv.Pending = []compose.NextAction{compose.InvokeTool{Tool: long(compose.MaxName)}}
		},
		"args": func(inv *compose.Investigation) {
			inv.Pending = []compose.NextAction{compose.InvokeTool{Tool: "x", Args: json.RawMessage(`"` + long(compose.MaxDetail) + `"`)}}
		},
		"bytes": func(inv *compose.Investigation) {
			for range compose.MaxInvestigation/compose.MaxDetail + 1 {
				inv.AddEvidence(compose.NewEvidence("s", "l").WithDetail(json.RawMessage(`"` + strings.Repeat("x", compose.MaxDetail-2) + `"`)))
			}
		},
	} {
		inv := full()
		noErr(t, inv.Validate())
		change(inv)
		raw, err := protocol.Marshal(inv)
		noErr(t, err)
		var back compose.Investigation
		if err := back.UnmarshalJSON(raw); compose.KindOf(err) != compose.KindInvalidArgument || protocol.CodeOf(err) != protocol.CodeInvalidInput {
			t.Errorf("%s: got %v", name, err)
		}
		if err := inv.Validate(); compose.KindOf(err) != compose.KindInvalidArgument {
			t.Errorf("%s: got %v", name, err)
		}
	}
}

func TestAConfidenceThatIsReadIsBroughtIntoItsRange(t *testing.T) {
	t.Parallel()
	for given, want := range map[string]float64{"1.5": 1, "-2": 0, "0.25": 0.25} {
		var inv compose.Investigation
		noErr(t, inv.UnmarshalJSON([]byte(strings.Replace(emptyJSON, `"confidence":0`, `"confidence":`+given, 1))))
		same(t, given, want, inv.Confidence)
	}
}

func TestSignalsMatchExactlyAndMayRepeat(t *testing.T) {
	t.Parallel()
	inv := begin().WithSignal("a.b")
	inv.AddSignal("a.b", "c")
	same(t, "signals", []compose.Signal{"a.b", "a.b", "c"}, inv.Signals)
	for s, want := range map[compose.Signal]bool{"a.b": true, "a": false, "A.b": false, "": false} {
		if inv.HasSignal(s) != want {
			t.Errorf("%q: got %v", s, !want)
		}
	}
}

func TestACloneSharesNothing(t *testing.T) {
	t.Parallel()
	inv := full()
	c := inv.Clone()
	same(t, "clone", inv, c)
	c.Signals[0], c.Evidence[0].Label, c.Evidence[0].Detail[0], c.BlockID[0], c.Pending[0] = "x", "x", 'x', 7, compose.Discard{}
	args := c.Pending[1].(compose.InvokeTool).Args
	args[0] = 'x'
	same(t, "original", full(), inv)
}

func TestNewEvidenceIsRecordedNow(t *testing.T) {
	t.Parallel()
	before := time.Now()
	e := compose.NewEvidence("s", "l")
	if e.RecordedAt.Before(before.Truncate(0).Add(-time.Second)) || e.RecordedAt.Location() != time.UTC {
		t.Errorf("got %v", e.RecordedAt)
	}
}

func TestDecodeNextAction(t *testing.T) {
	t.Parallel()
	for raw, want := range map[string]compose.NextAction{
		`{"RunSkill":"a"}`: compose.RunSkill{ID: "a"}, ` "Conclude" `: compose.Conclude{}, `{"Discard":null}`: compose.Discard{},
		`{"InvokeTool":{"tool":"t","args":{"a":1}}}`: compose.InvokeTool{Tool: "t", Args: json.RawMessage(`{"a":1}`)},
	} {
		got, err := compose.DecodeNextAction([]byte(raw))
		noErr(t, err)
		same(t, raw, want, got)
	}
	for _, raw := range []string{``, `7`, `"x"`, `null`} {
		if _, err := compose.DecodeNextAction([]byte(raw)); compose.KindOf(err) != compose.KindSerialization {
			t.Errorf("%s: got %v", raw, err)
		}
	}
}

func FuzzInvestigation(f *testing.F) {
	for _, s := range []string{fullJSON, emptyJSON, `{"context":` + fullJSON + `}`, `{"entity_id":"a","signals":["x",7],"confidence":9}`, `[]`, `7`} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		var inv compose.Investigation
		if inv.UnmarshalJSON(raw) == nil {
			readsBack(t, &inv)
		}
		if inv, err := compose.InvestigationFrom(raw); err == nil {
			readsBack(t, inv)
		} else if k := compose.KindOf(err); k != compose.KindSerialization && k != compose.KindInvalidArgument {
			t.Errorf("got %v", err)
		}
	})
}

// readsBack fails the test unless what is written reads back as the same, and is within its limits.
func readsBack(t *testing.T, inv *compose.Investigation) {
	t.Helper()
	if err := inv.Validate(); err != nil || inv.Confidence < 0 || inv.Confidence > 1 {
		t.Fatalf("got %v, %v", inv.Confidence, err)
	}
	first, err := protocol.Marshal(inv)
	if err != nil {
		t.Fatal(err)
	}
	if len(first) > compose.MaxInvestigation {
		return
	}
	var back compose.Investigation
	if err := back.UnmarshalJSON(first); err != nil {
		t.Fatal(fmt.Errorf("%s: %w", first, err))
	}
	second, err := protocol.Marshal(back)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(string(first), string(second)); d != "" {
		t.Fatal(d)
	}
}
