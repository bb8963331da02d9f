package kit_test

import (
	"encoding/json"
	"testing"

	"github.com/skelegent/skelegent-go/actors/agent"
	"github.com/skelegent/skelegent-go/actors/skill/kit"
	"github.com/skelegent/skelegent-go/actors/tool"
)

// BenchmarkActivate activates a skill without commands: its file is read, and its resources are listed.
func BenchmarkActivate(b *testing.B) {
	dir := tempDir(b)
	putSkill(b, dir, "one", "allowed-tools: Bash Read", "Do ${1} with ${ARGUMENTS}.\n\nThen do more.\n")
	put(b, dir, "one/scripts/run.py", "print(1)")
	put(b, dir, "one/references/list.md", "x")
	cfg, err := newKit(b, dir, kit.Config{}).Equip(agent.Config{})
	if err != nil {
		b.Fatal(err)
	}
	activate, _ := cfg.Registry.Get(kit.ToolActivate)
	input := json.RawMessage(`{"name":"one","arguments":"this that"}`)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := tool.Call(b.Context(), activate, input); err != nil {
			b.Fatal(err)
		}
	}
}
