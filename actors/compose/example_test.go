package compose_test

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/skelegent/skelegent-go/actors/compose"
	"github.com/skelegent/skelegent-go/actors/tool"
)

// A skill as a type. Small ones are written with NewSkill.
type keywordSkill struct{}

func (keywordSkill) ID() string { return "example.keyword" }

func (keywordSkill) Applies(inv *compose.Investigation) bool { return inv.HasSignal("keyword.match") }

func (keywordSkill) Execute(context.Context, *compose.Investigation, *compose.Tools) (compose.Outcome, error) {
	return compose.Delta(0.25), nil
}

// An agent runs a chain of skills over an investigation.
func Example() {
	skills, err := compose.NewSkills(keywordSkill{})
	if err != nil {
		fmt.Println(err)
		return
	}
	tools, err := compose.NewTools()
	if err != nil {
		fmt.Println(err)
		return
	}
	agent, err := compose.NewAgent("triage", skills, tools, compose.AgentConfig{Skills: []string{"example.keyword"}})
	if err != nil {
		fmt.Println(err)
		return
	}
	result, err := agent.Step(context.Background(), compose.NewInvestigation("entity-1", "default").WithSignal("keyword.match"))
	fmt.Println(result.SkillsRun, result.Confidence, err)
	// Output: [example.keyword] 0.25 <nil>
}

// A skill asks a tool, and takes one that has nothing to say for no result.
func ExampleTools_Invoke() {
	lookup := tool.Func("reputation.lookup", "Looks up a host.",
		func(_ context.Context, in struct {
			Host string `json:"host"`
		},
		) (string, error) {
			if in.Host != "host-a" {
				return "", compose.ErrToolNotApplicable("unknown host")
			}
			return "bad", nil
		})
	tools, err := compose.NewTools(lookup)
	if err != nil {
		fmt.Println(err)
		return
	}
	view := tools.Scoped("reputation.lookup")
	for _, host := range []string{"host-a", "host-b"} {
		args, _ := json.Marshal(map[string]string{"host": host})
		res, err := view.Invoke(context.Background(), "reputation.lookup", args)
		if compose.KindOf(err) == compose.KindToolNotApplicable {
			fmt.Println(host, "is not known")
			continue
		}
		fmt.Println(host, "is", res.Text())
	}
	_, err = view.Invoke(context.Background(), "shell", nil)
	fmt.Println(err)
	// Output:
	// host-a is bad
	// host-b is not known
	// tool `shell` is not authorised for this agent
}

// A coordinator has a specialist do the work, by the signals and without a model.
func ExampleCoordinator() {
	specialist := func(name string, delta float64) compose.Agent {
		id := name + ".look"
		skills, _ := compose.NewSkills(compose.NewSkill(id,
			func(context.Context, *compose.Investigation, *compose.Tools) (compose.Outcome, error) {
				return compose.Delta(delta).WithNext(compose.Conclude{}), nil
			}))
		agent, _ := compose.NewAgent(name, skills, nil, compose.AgentConfig{Skills: []string{id}})
		return agent
	}
	front := compose.NewCoordinator(compose.CoordinatorConfig{
		Name:        "front",
		Specialists: []compose.Agent{specialist("network", 0.5), specialist("general", 0.125)},
		Rules:       []compose.Rule{{Agent: "network", Signals: []compose.Signal{"port.scan", "dns.tunnel"}}},
		Fallback:    "general",
	})
	for _, signal := range []compose.Signal{"dns.tunnel", "disk.full"} {
		result, err := front.Step(context.Background(), compose.NewInvestigation("host-a", "lab").WithSignal(signal))
		fmt.Println(result.SkillsRun, result.Confidence, result.Concluded, err)
	}
	// Output:
	// [network.look] 0.5 true <nil>
	// [general.look] 0.125 true <nil>
}

// A delegate is an agent that a model, or a skill, asks as it asks any tool.
func ExampleDelegateTool() {
	skills, _ := compose.NewSkills(compose.NewSkill("raise",
		func(context.Context, *compose.Investigation, *compose.Tools) (compose.Outcome, error) {
			return compose.Delta(0.4), nil
		}, compose.When("raise")))
	agent, err := compose.NewAgent("analyst", skills, nil, compose.AgentConfig{Skills: []string{"raise"}})
	if err != nil {
		fmt.Println(err)
		return
	}
	ask, err := compose.DelegateTool("analyst.ask", "Has the analyst look at it.", compose.InProcess(agent))
	if err != nil {
		fmt.Println(err)
		return
	}
	tools, err := compose.NewTools(ask)
	if err != nil {
		fmt.Println(err)
		return
	}
	args := json.RawMessage(`{"entity_id":"host-a","partition":"lab","signals":["raise"]}`)
	res, err := tools.Invoke(context.Background(), "analyst.ask", args)
	if err != nil {
		fmt.Println(err)
		return
	}
	var said struct {
		Agent  string             `json:"agent"`
		Result compose.StepResult `json:"result"`
	}
	err = json.Unmarshal(res.Output, &said)
	fmt.Println(said.Agent, said.Result.SkillsRun, said.Result.Confidence, err)
	// Output: analyst [raise] 0.4 <nil>
}
