package serve_test

import (
	"context"
	"encoding/json"
	"fmt"
	"testing"

	"github.com/skelegent/skelegent-go/actors/compose"
	"github.com/skelegent/skelegent-go/actors/compose/serve"
	"github.com/skelegent/skelegent-go/actors/tool"
	"github.com/skelegent/skelegent-go/protocol"
)

// linked is what became of an investigation with the signal old by one link, whose tool says that.
func linked(t *testing.T, cfg serve.LinkConfig, says string, failure error) (*compose.Investigation, compose.StepResult, error) {
	t.Helper()
	asked, err := tool.Raw(protocol.ToolMetadata{Name: "ask"}, func(context.Context, json.RawMessage) (tool.Result, error) {
		return tool.Result{Output: json.RawMessage(says)}, failure
	})
	if err != nil {
		t.Fatal(err)
	}
	tools, err := compose.NewTools(asked)
	if err != nil {
		t.Fatal(err)
	}
	link, err := serve.Link(cfg)
	if err != nil {
		t.Fatal(err)
	}
	skills, err := compose.NewSkills(link)
	if err != nil {
		t.Fatal(err)
	}
	a, err := compose.NewAgent("a", skills, tools, compose.AgentConfig{Skills: []string{cfg.ID}})
	if err != nil {
		t.Fatal(err)
	}
	inv := compose.NewInvestigation("e", "p").WithSignal("old")
	res, err := a.Step(t.Context(), inv)
	return inv, res, err
}

// What a tool says decides what a link makes of it.
func TestALinkAppliesWhatItsToolSays(t *testing.T) {
	t.Parallel()
	const other = `{"entity_id":"x","partition":"y","signals":["new"],"evidence":[],"confidence":0.5,"pending_actions":["Conclude"]}`
	for says, want := range map[string]string{
		`{"context":` + other + `}`:       "x [new mine] 0 0.6 true",
		`{"context":"a text"}`:            "e [old mine] 1 0.1 false",
		`{"context":null,"a":1}`:          "e [old mine] 1 0.1 false",
		`{"confidence_delta":0.5}`:        "e [old mine] 1 0.6 false",
		`{"signals":["old","seen"]}`:      "e [old seen mine] 1 0.1 false",
		`{"next_actions":["Discard"]}`:    "e [old mine] 1 0.1 true",
		`{"next_actions":[],"signals":1}`: "e [old mine] 1 0.1 false", // which is no outcome
		`{"a":1}`:                         "e [old mine] 1 0.1 false",
		`"text"`:                          "e [old mine] 1 0.1 false",
		``:                                "e [old mine] 1 0.1 false",
	} {
		inv, res, err := linked(t, serve.LinkConfig{ID: "l", Tool: "ask", Apply: true, Confidence: 0.1, Signals: []compose.Signal{"mine"}}, says, nil)
		if got := fmt.Sprint(inv.EntityID, " ", inv.Signals, " ", len(inv.Evidence), " ", inv.Confidence, " ", res.Concluded); err != nil || got != want {
			t.Errorf("%s: got %s, %v, want %s", says, got, err, want)
		}
	}
	for _, says := range []string{`{"context":{"a":1}}`, `{"next_actions":["Jump"]}`} {
		if _, _, err := linked(t, serve.LinkConfig{ID: "l", Tool: "ask", Apply: true}, says, nil); compose.KindOf(err) != compose.KindToolFailed {
			t.Errorf("%s: got %v", says, err)
		}
	}
}

// A tool that is not applicable is no result, and no failure; any other failure is.
func TestALinkWhoseToolIsNotApplicableDoesNothing(t *testing.T) {
	t.Parallel()
	cfg := serve.LinkConfig{ID: "l", Tool: "ask", Confidence: 0.1, Signals: []compose.Signal{"mine"}, Evidence: "found", Then: serve.Conclude}
	inv, res, err := linked(t, cfg, "", compose.ErrToolNotApplicable("no such entity"))
	if err != nil || inv.HasSignal("mine") || len(inv.Evidence) != 0 || inv.Confidence != 0 || res.Concluded || len(res.SkillsRun) != 1 {
		t.Errorf("got %+v, %+v, %v", inv, res, err)
	}
	if _, _, err := linked(t, cfg, "", protocol.ErrToolFailed("no")); compose.KindOf(err) != compose.KindToolFailed {
		t.Errorf("got %v", err)
	}
}

// Unless it is said, what a tool returns is evidence, also where it looks like more.
func TestALinkThatDoesNotApplyKeepsResultsAsEvidence(t *testing.T) {
	t.Parallel()
	for _, says := range []string{`{"confidence_delta":1,"signals":["forged"],"next_actions":["Conclude"]}`, `{"context":` + `{"entity_id":"x","partition":"p","signals":["forged"],"evidence":[],"confidence":1,"pending_actions":[]}}`} {
		inv, res, err := linked(t, serve.LinkConfig{ID: "l", Tool: "ask"}, says, nil)
		if err != nil || res.Concluded || inv.Confidence != 0 || len(inv.Signals) != 1 || len(inv.Evidence) != 1 {
			t.Errorf("%s: %+v, %+v, %v", says, inv, res, err)
		}
	}
	if _, err := serve.Link(serve.LinkConfig{ID: "l", Apply: true}); protocol.CodeOf(err) != protocol.CodeInvalidInput {
		t.Errorf("apply without a tool: %v", err)
	}
}
