package pack_test

import (
	"encoding/json"
	"math"
	"testing"

	"github.com/skelegent/skelegent-go/actors/compose/pack"
)

func TestKindsAsJSON(t *testing.T) {
	t.Parallel()
	for kind, want := range map[pack.Kind]string{
		pack.Memory: `"Memory"`, pack.ToolResult: `"ToolResult"`, pack.Resource: `"Resource"`, pack.File: `"File"`,
		pack.Reasoning: `"Reasoning"`, pack.Instruction: `"Instruction"`, pack.UserInput: `"UserInput"`,
		pack.OtherKind("x"): `{"Other":"x"}`, pack.OtherKind(""): `{"Other":""}`, pack.OtherKind("Memory"): `{"Other":"Memory"}`,
	} {
		if got := encode(t, kind); got != want {
			t.Errorf("got %s, want %s", got, want)
		}
		var back pack.Kind
		if err := json.Unmarshal([]byte(want), &back); err != nil || back != kind {
			t.Errorf("%s reads as %q, %v", want, back, err)
		}
	}
	if got := encode(t, pack.Kind("mail")); got != `{"Other":"mail"}` {
		t.Errorf("got %s", got)
	}
	for _, bad := range []string{`"memory"`, `"Other"`, `{"Other":1}`, `{"Other":null}`, `{}`, `{"Memory":null}`, `{"Other":"x","More":"y"}`, `null`, `1`, `[]`} {
		if err := json.Unmarshal([]byte(bad), new(pack.Kind)); bad != "null" && err == nil {
			t.Errorf("%s was read", bad)
		}
	}
}

func TestItemAsJSON(t *testing.T) {
	t.Parallel()
	i := pack.NewItem(pack.File, "a.md", "häh").WithRank(3).WithScore(0.5).WithMetadata(json.RawMessage(`{"k":1}`)).
		WithProvenance(json.RawMessage(`"somewhere"`))
	want := `{"source":"File","source_id":"a.md","rank":3,"score":0.5,"text":"häh","estimated_chars":3,"provenance":"somewhere","metadata":{"k":1}}`
	if got := encode(t, i); got != want {
		t.Errorf("got %s", got)
	}
	var back pack.Item
	if err := json.Unmarshal([]byte(want), &back); err != nil || encode(t, back) != want || back.Chars() != 3 {
		t.Errorf("got %s, %v", encode(t, back), err)
	}
	plain := `{"source":"Memory","source_id":"m","rank":0,"score":0,"text":"ab","estimated_chars":2,"provenance":null,"metadata":null}`
	if err := json.Unmarshal([]byte(`{"source":"Memory","source_id":"m","text":"ab","score":null}`), &back); err != nil || encode(t, back) != plain {
		t.Errorf("got %s, %v", encode(t, back), err)
	}
	for _, bad := range []string{
		`{}`, `{"source":"Memory","source_id":"m"}`, `{"source":"Memory","text":""}`, `{"source_id":"m","text":""}`,
		`{"source":"Memory","source_id":"m","text":1}`, `{"source":"Memory","source_id":"m","text":"","rank":"x"}`,
	} {
		if err := json.Unmarshal([]byte(bad), new(pack.Item)); err == nil {
			t.Errorf("%s was read", bad)
		}
	}
}

func TestPackAsJSONHasWhatWasLeftOut(t *testing.T) {
	t.Parallel()
	p := pack.Plan([]pack.Item{item("b", "bb", 1), item("a", "a", 0)}, pack.Config{MaxItems: 1})
	want := `{"config":{"max_chars":4000,"max_items":1,"reserve_chars":0,"separator":"\n"},` +
		`"selected":[{"source":"Memory","source_id":"a","rank":0,"score":0,"text":"a","estimated_chars":1,"provenance":null,"metadata":null}],` +
		`"omitted":[{"item":{"source":"Memory","source_id":"b","rank":1,"score":0,"text":"bb","estimated_chars":2,"provenance":null,"metadata":null},` +
		`"reason":"MaxItems"}],"total_estimated_chars":1}`
	if got := encode(t, p); got != want {
		t.Errorf("got %s", got)
	}
	var back pack.Pack
	if err := json.Unmarshal([]byte(want), &back); err != nil || encode(t, &back) != want {
		t.Errorf("got %s, %v", encode(t, &back), err)
	}
	wantText(t, &back, "a")
	wantLeft(t, &back, "b:MaxItems ")
	if back.OmittedLen() != 1 {
		t.Errorf("got %d", back.OmittedLen())
	}
}

func TestOriginIsTheProvenance(t *testing.T) {
	t.Parallel()
	i := item("a", "x", 0).WithOrigin(pack.Origin{
		SourceURI: "mv2://notes", RecordedAtMillis: new(int64(12)), Confidence: new(0.5), VersionKey: "k", State: pack.StateSuperseded, Reason: "newer",
	})
	want := `{"source_uri":"mv2://notes","recorded_at_millis":12,"confidence":0.5,"version_key":"k","projection_state":"superseded","reason":"newer"}`
	if string(i.Provenance) != want {
		t.Errorf("got %s", i.Provenance)
	}
	if o, err := i.Origin(); err != nil || o.State != pack.StateSuperseded || *o.RecordedAtMillis != 12 {
		t.Errorf("got %+v, %v", o, err)
	}
	if o, err := item("a", "x", 0).Origin(); err != nil || o.SourceURI != "" {
		t.Errorf("got %+v, %v", o, err)
	}
	if _, err := item("a", "x", 0).WithProvenance(json.RawMessage(`"text"`)).Origin(); err == nil {
		t.Error("a text was read as an origin")
	}
	if got := item("a", "x", 0).WithOrigin(pack.Origin{Scope: "s", Confidence: new(math.NaN())}).Provenance; string(got) != `{"scope":"s"}` {
		t.Errorf("got %s", got)
	}
}

func TestWithTextCountsAnew(t *testing.T) {
	t.Parallel()
	if got := item("a", "abc", 0).WithText("ä").Chars(); got != 1 {
		t.Errorf("got %d", got)
	}
	if got := item("a", "abc", 0).WithEstimate(10).WithText("ä").Chars(); got != 10 {
		t.Errorf("got %d", got)
	}
}
