package compact_test

import (
	"context"
	"fmt"

	"github.com/skelegent/skelegent-go/actors/compact"
	"github.com/skelegent/skelegent-go/actors/engine"
)

// A conversation that never has more than four messages when the model is asked.
func ExampleRule() {
	c := engine.New(engine.Config{Rules: compact.Rule(compact.Config{Messages: 4, Strategy: compact.SlidingWindow(3)})})
	for i := range 6 {
		if err := c.Inject(user(fmt.Sprint("message ", i))); err != nil {
			fmt.Println(err)
			return
		}
		if err := c.Run(context.Background(), &engine.Infer{Call: noAnswer}); err != nil {
			fmt.Println(err)
			return
		}
	}
	fmt.Println(shape(c.Messages()))
	// Output: message 2|message 3|message 4|message 5
}

// A summary takes the place of what was said between the task and the last messages.
func ExampleSummarizeAndReplace() {
	model := &teller{says: []string{"The tea is in the second drawer."}}
	c := engine.New(engine.Config{Ask: model.ask})
	if err := c.Inject(user("Find the tea."), calls("1"), result("1"), assistant("It is not here."), user("Go on.")); err != nil {
		fmt.Println(err)
		return
	}
	s := compact.SummarizeAndReplace(compact.SummaryConfig{KeepLast: 1})
	if err := c.Run(context.Background(), &engine.Compaction{Strategy: s}); err != nil {
		fmt.Println(err)
		return
	}
	for _, m := range c.Messages() {
		fmt.Println(m.Role, m.Text())
	}
	// Output:
	// user Find the tea.
	// assistant The tea is in the second drawer.
	// user Go on.
}
