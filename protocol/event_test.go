package protocol_test

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/skelegent/skelegent-go/protocol"
)

// What Event writes by hand is what encoding/json makes of its tags.
func TestEventIsWrittenAsTagged(t *testing.T) {
	t.Parallel()
	type tagged struct {
		ID       string          `json:"id"`
		Kind     string          `json:"kind"`
		Operator string          `json:"operator"`
		Instance string          `json:"instance"`
		Run      string          `json:"run"`
		Parent   string          `json:"parent,omitempty"`
		Seq      uint64          `json:"seq,omitempty"`
		Time     time.Time       `json:"time"`
		Trace    string          `json:"trace,omitempty"`
		Data     json.RawMessage `json:"data"`

		Also []protocol.EventPart `json:"also,omitempty"`
	}
	at := time.Date(2026, 11, 21, 1, 2, 3, 4_000, time.FixedZone("", 3600))
	for _, e := range []protocol.Event{
		{ID: "a\"b", Kind: "k", Operator: "o", Instance: "i.\n", Run: "r", Time: at, Data: json.RawMessage(`{ "a" : 1 }`)},
		{ID: "a", Kind: "k", Operator: "o", Instance: "é", Run: "r", Parent: "p", Seq: 7, Time: at.UTC(), Trace: "00-x", Data: nil},
		{ID: "a", Kind: "k", Operator: "o", Instance: "i", Run: "r", Time: at.UTC(), Data: json.RawMessage(`{}`), Also: []protocol.EventPart{{Kind: "x", Data: json.RawMessage(`{"b":[]}`)}, {Kind: "y"}}},
	} {
		got, err := protocol.Marshal(e)
		if err != nil {
			t.Fatal(err)
		}
		want, err := json.Marshal(tagged{
			e.ID, string(e.Kind), string(e.Operator), e.Instance, string(e.Run), string(e.Parent), e.Seq, e.Time, e.Trace, e.Data, e.Also,
		})
		if err != nil {
			t.Fatal(err)
		}
		if string(got) != string(want) {
			t.Errorf("got  %s\nwant %s", got, want)
		}
	}
}
