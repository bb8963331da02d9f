package pack_test

import (
	"fmt"

	"github.com/skelegent/skelegent-go/actors/compose/pack"
)

func ExamplePlan() {
	memory := pack.NewItem(pack.Memory, "memory/card/alice-location", "fact alice lives in Berlin").WithScore(9.5)
	weather := pack.NewItem(pack.ToolResult, "tool/weather/call-1", "weather Berlin is clear and cool").WithRank(1)
	notes := pack.NewItem(pack.File, "notes.md", "much more than what there is room for in such a small window").WithRank(2)
	p := pack.Plan([]pack.Item{notes, weather, memory}, pack.Config{MaxChars: 80, MaxItems: 8})
	fmt.Println(p.Text())
	for o := range p.Omitted() {
		fmt.Println("-", o.Item.SourceID, o.Reason)
	}
	// Output:
	// fact alice lives in Berlin
	// weather Berlin is clear and cool
	// - notes.md OverBudget
}
