package compact_test

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/skelegent/skelegent-go/actors/compact"
	"github.com/skelegent/skelegent-go/actors/engine"
	"github.com/skelegent/skelegent-go/protocol"
	"github.com/skelegent/skelegent-go/state/memory"
)

// wholeState is a state with all of its nine fields.
const wholeState = `{"episodic_trace":"a","semantic_gist":"b","focal_entities":[{"name":"db","entity_type":"server"}],` +
	`"relational_map":[{"from":"db","to":"app","relation":"serves"}],"goal":"move it","constraints":["no restarts"],` +
	`"predictive_cue":"check","uncertainty":["when"],"artifact_refs":["turn:3"]}`

func TestStatesHaveNineFields(t *testing.T) {
	t.Parallel()
	var s compact.CognitiveState
	if err := protocol.Unmarshal([]byte(wholeState), &s); err != nil {
		t.Fatal(err)
	}
	raw, err := protocol.Marshal(s)
	if string(raw) != wholeState || err != nil {
		t.Errorf("got %s, %v", raw, err)
	}
	raw, err = protocol.Marshal(compact.CognitiveState{Goal: "g"})
	want := `{"episodic_trace":"","semantic_gist":"","focal_entities":[],"relational_map":[],"goal":"g","constraints":[],` +
		`"predictive_cue":"","uncertainty":[],"artifact_refs":[]}`
	if string(raw) != want || err != nil {
		t.Errorf("got %s, %v", raw, err)
	}
}

func TestStatesAreReplacedInAStore(t *testing.T) {
	t.Parallel()
	store, scope := memory.New(memory.Config{}), protocol.InSession("s")
	if _, ok, err := compact.LoadState(t.Context(), store, scope); ok || err != nil {
		t.Errorf("loaded %v, %v", ok, err)
	}
	for _, goal := range []string{"first", "second"} {
		want := compact.CognitiveState{Goal: goal, Constraints: []string{goal}}
		if err := compact.SaveState(t.Context(), store, scope, want); err != nil {
			t.Fatal(err)
		}
		got, ok, err := compact.LoadState(t.Context(), store, scope)
		if got.Goal != goal || len(got.Constraints) != 1 || !ok || err != nil {
			t.Errorf("loaded %+v, %v, %v", got, ok, err)
		}
	}
	if raw, err := store.Read(t.Context(), scope, "__skg_cognitive_state"); len(raw) == 0 || err != nil {
		t.Errorf("got %s, %v", raw, err)
	}
	if err := store.Write(t.Context(), scope, compact.StateKey, json.RawMessage(`{"goal":7}`), protocol.StoreOptions{}); err != nil {
		t.Fatal(err)
	}
	if _, ok, err := compact.LoadState(t.Context(), store, scope); ok || err == nil {
		t.Errorf("loaded %v, %v", ok, err)
	}
}

// The model is asked with the schema, its answer takes the place of what goes, and the next is made of it and what happened since.
func TestExtract(t *testing.T) {
	t.Parallel()
	store, scope := memory.New(memory.Config{}), protocol.InSession("s")
	m := &teller{says: []string{"Here:\n```json\n{\"goal\":\"first\"}\n```", `{"goal":"second","unknown":1}`}}
	s := compact.Extract[compact.CognitiveState](compact.ExtractConfig{Model: "small", KeepLast: 1, Store: store, Scope: scope})
	c := with(t, m, user("task"), user("apple"), user("last a"))
	state := func(goal string) string {
		raw, err := protocol.Marshal(compact.CognitiveState{Goal: goal})
		if err != nil {
			t.Fatal(err)
		}
		return string(raw)
	}
	cut(t, c, s)
	wantShape(t, c, "task|"+state("first")+"|last a")
	req := m.asks[0]
	if req.Model != "small" || *req.MaxTokens != 4096 || strings.Contains(req.System, "{schema}") || !strings.Contains(req.System, `"episodic_trace": {`) {
		t.Errorf("asked %+v", req)
	}
	grow(t, c, s, user("pear"), user("last b"))
	wantShape(t, c, "task|"+state("second")+"|last b")
	if got := said(m.asks[1]); !strings.HasPrefix(got, "The notes so far:\n\n"+state("first")) || strings.Contains(got, "apple") || !strings.Contains(got, "pear") {
		t.Errorf("asked %s", got)
	}
	if saved, ok, err := compact.LoadState(t.Context(), store, scope); saved.Goal != "second" || !ok || err != nil {
		t.Errorf("saved %+v, %v, %v", saved, ok, err)
	}
	// A later run of the session begins with what is saved.
	later := with(t, m, user("task"), user("plum"), user("last c"))
	cut(t, later, s)
	if got := said(m.asks[2]); !strings.Contains(got, `"goal":"second"`) {
		t.Errorf("asked %s", got)
	}
}

func TestWhatIsNoStateEndsTheRun(t *testing.T) {
	t.Parallel()
	type count struct {
		N int `json:"n"`
	}
	for answer, reason := range map[string]string{
		"I cannot, secret.": "the extracted state cannot be read", `{"n":"secret"}`: "the extracted state cannot be read",
		`null`: "the extracted state cannot be read", `[1]`: "the extracted state cannot be read", `{"n":1`: "the extracted state cannot be read",
		"": "summarization produced empty response",
	} {
		c := with(t, &teller{says: []string{answer}}, turns(9)...)
		err := c.Run(t.Context(), &engine.Compaction{Strategy: compact.Extract[count](compact.ExtractConfig{})})
		wantHalt(t, err, reason)
		wantShape(t, c, shape(turns(9)))
	}
	c := with(t, &teller{says: []string{`{"n":3}`}}, turns(7)...)
	cut(t, c, compact.Extract[count](compact.ExtractConfig{Prompt: "As {schema}.", KeepLast: 2}))
	if d := cmp.Diff(`msg 0|{"n":3}|msg 5|msg 6`, shape(c.Messages())); d != "" {
		t.Error(d)
	}
}

type fullStore struct{ protocol.StateStore }

func (fullStore) Write(context.Context, protocol.Scope, string, json.RawMessage, protocol.StoreOptions) error {
	return errors.New("disk full")
}

func TestAStateThatCannotBeSavedChangesNothing(t *testing.T) {
	t.Parallel()
	store := fullStore{memory.New(memory.Config{})}
	c := with(t, &teller{says: []string{wholeState}}, turns(9)...)
	s := compact.Extract[compact.CognitiveState](compact.ExtractConfig{Store: store, Scope: protocol.GlobalScope()})
	if err := c.Run(t.Context(), &engine.Compaction{Strategy: s}); err == nil {
		t.Error("it was compacted")
	}
	wantShape(t, c, shape(turns(9)))
}
