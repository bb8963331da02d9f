package kit_test

import (
	"strings"
	"testing"

	"github.com/skelegent/skelegent-go/actors/agent"
	"github.com/skelegent/skelegent-go/actors/agenttest"
	"github.com/skelegent/skelegent-go/actors/compact"
	"github.com/skelegent/skelegent-go/actors/engine"
	"github.com/skelegent/skelegent-go/actors/skill/kit"
	"github.com/skelegent/skelegent-go/actors/tool"
	"github.com/skelegent/skelegent-go/protocol"
)

// No strategy takes the instructions of a skill or the call that brought them, whatever else goes.
func TestNoCompactionTakesInstructions(t *testing.T) {
	t.Parallel()
	state := `{"episodic_trace":"a","semantic_gist":"b","focal_entities":[],"relational_map":[],"goal":"c","constraints":[],"predictive_cue":"d","uncertainty":[],"artifact_refs":[]}`
	for name, strategy := range map[string]engine.Strategy{
		"sliding window": compact.SlidingWindow(1), "halve": compact.Halve(), "tiered": compact.Tiered(1), "policy trim": compact.PolicyTrim(1),
		"token budget": compact.TokenBudget(1), "salience": compact.Salience(compact.SalienceConfig{Tokens: 1}),
		"summary": compact.SummarizeAndReplace(compact.SummaryConfig{KeepLast: 1}), "extract": compact.Extract[compact.CognitiveState](compact.ExtractConfig{KeepLast: 1}),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := tempDir(t)
			putSkill(t, dir, "one", "", "Always be kind.")
			said := "A summary."
			if name == "extract" {
				said = state
			}
			aside := agenttest.Asked(func(r agenttest.Request) bool { return len(r.Tools()) == 0 })
			model := agenttest.NewModel(t, agenttest.When(aside, agenttest.Say(said).Always()), agenttest.Call("work", in{"a": "first"}), activate("one"),
				agenttest.Call("work", in{"a": "second"}).Times(4), agenttest.Say("done"))
			a := newAgent(t, newKit(t, dir, kit.Config{}), agent.Config{
				Provider: model, Tools: []tool.Tool{echo("work")},
				Rules: compact.When(func(c *engine.Context) bool { return c.Metrics().Turns >= 3 }, strategy),
			})
			agenttest.Run(t, a, protocol.Text("go"))
			var last agenttest.Request
			for _, r := range model.Requests() {
				if len(r.Tools()) > 0 {
					last = r
				}
			}
			got := strings.Join(last.Conversation(), "\n")
			wantContains(t, got, "call call_2: activate_skill", "Always be kind.", "</skill_content>")
			if strings.Contains(got, "first") {
				t.Errorf("nothing was compacted: %s", got)
			}
		})
	}
}

// The messages of an earlier turn, which nobody had pinned.
func TestEarlierInstructionsAreProtected(t *testing.T) {
	t.Parallel()
	model := agenttest.NewModel(t, agenttest.Say("done"))
	a := newAgent(t, oneSkill(t, kit.Config{}), agent.Config{
		Provider: model, System: "system",
		Rules: compact.When(func(*engine.Context) bool { return true }, compact.SlidingWindow(2)),
	})
	input := protocol.Text("latest user")
	input.Context = append([]protocol.Message{says(protocol.RoleUser, "old user <skill_content"), says(protocol.RoleAssistant, "old assistant")},
		activation("one", block)[1:3]...)
	input.Context = append(input.Context, says(protocol.RoleUser, "old question"), says(protocol.RoleAssistant, "recent assistant"))
	agenttest.Run(t, a, input)
	got := model.Request(0)
	all := strings.Join(got.Conversation(), "\n")
	wantContains(t, all, "call old_1: activate_skill", "Do one.", "recent assistant", "latest user")
	wantNone(t, all, "old assistant", "old question")
	if got.System() == "" {
		t.Error("the system prompt is gone")
	}
}

// What a user writes is not protected by looking like a skill.
func TestATagProtectsNothing(t *testing.T) {
	t.Parallel()
	model := agenttest.NewModel(t, agenttest.Say("done"))
	a := newAgent(t, oneSkill(t, kit.Config{}), agent.Config{
		Provider: model, Rules: compact.When(func(*engine.Context) bool { return true }, compact.SlidingWindow(1)),
	})
	input := protocol.Text("latest")
	input.Context = []protocol.Message{says(protocol.RoleUser, block), says(protocol.RoleAssistant, block)}
	agenttest.Run(t, a, input)
	wantNone(t, strings.Join(model.Request(0).Conversation(), "\n"), "skill_content")
}
