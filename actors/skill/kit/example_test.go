package kit_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"github.com/skelegent/skelegent-go/actors/agent"
	"github.com/skelegent/skelegent-go/actors/agenttest"
	"github.com/skelegent/skelegent-go/actors/skill"
	"github.com/skelegent/skelegent-go/actors/skill/kit"
	"github.com/skelegent/skelegent-go/protocol"
)

const greeting = `---
name: greeting
description: How we greet people here.
allowed-tools: read_skill_resource
---

Greet ${1} as references/style.md says.
`

// An agent that learns from a skill how to greet.
func Example() {
	dir, err := os.MkdirTemp("", "skills")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(dir)
	for name, text := range map[string]string{"SKILL.md": greeting, "references/style.md": "Say ahoy."} {
		path := filepath.Join(dir, "skills", "greeting", name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			fmt.Println(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			fmt.Println(err)
		}
	}
	skills, err := kit.New(kit.Config{Scopes: []skill.Scope{skill.Project(dir)}})
	if err != nil {
		fmt.Println(err)
		return
	}
	found, err := skills.Discover(context.Background())
	fmt.Println("found:", found, err)

	model := agenttest.NewModel(nil,
		agenttest.Call(kit.ToolActivate, map[string]any{"name": "greeting", "arguments": "Ann"}),
		agenttest.Call(kit.ToolRead, map[string]any{"skill_name": "greeting", "path": "references/style.md"}).And("pay", nil),
		agenttest.Say("Ahoy, Ann!"),
	)
	cfg, err := skills.Equip(agent.Config{Provider: model})
	if err != nil {
		fmt.Println(err)
		return
	}
	greeter, err := agent.New(cfg)
	if err != nil {
		fmt.Println(err)
		return
	}
	r := agenttest.Run(nil, greeter, protocol.Text("Greet Ann."))
	for _, told := range model.Request(-1).ToolResults()[1:] {
		fmt.Println(told.Content)
	}
	fmt.Println(r.Text())
	// Output:
	// found: [greeting] <nil>
	// <skill_resource skill="greeting" path="references/style.md">
	// Say ahoy.
	// </skill_resource>
	// Skill 'greeting' does not permit tool 'pay'; allowed-tools: read_skill_resource
	// Ahoy, Ann!
}
