package workflow_test

import (
	"context"
	"fmt"
	"strings"

	"github.com/skelegent/skelegent-go/actors/compose/workflow"
)

// A workflow is made of functions and of other workflows, and the types have to fit.
func Example() {
	words := workflow.Func("words", func(_ context.Context, text string) ([]string, error) {
		return strings.Fields(text), nil
	})
	count := workflow.Func("count", func(_ context.Context, words []string) (string, error) {
		return fmt.Sprint(len(words), " words"), nil
	})
	longest := workflow.Func("longest", func(_ context.Context, words []string) (string, error) {
		long := ""
		for _, w := range words {
			if len(w) > len(long) {
				long = w
			}
		}
		return "the longest is " + long, nil
	})
	nothing := workflow.Func("nothing", func(context.Context, []string) ([]string, error) {
		return []string{"nothing"}, nil
	})
	size := func(_ context.Context, words []string) (string, error) {
		if len(words) == 0 {
			return "empty", nil
		}
		return "some", nil
	}
	report := workflow.Then("report", words, workflow.Branch("by size", size,
		map[string]workflow.Workflow[[]string, []string]{"empty": nothing},
		workflow.Parallel("look", 0, count, longest)))
	for _, text := range []string{"a small workflow", ""} {
		lines, err := report.Run(context.Background(), text)
		fmt.Println(strings.Join(lines, ", "), err)
	}
	// Output:
	// 3 words, the longest is workflow <nil>
	// nothing <nil>
}
