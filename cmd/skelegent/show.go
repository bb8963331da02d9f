package main

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/skelegent/skelegent-go/actors/inspect"
	"github.com/skelegent/skelegent-go/protocol"
)

// showDepth is how deep children are shown.
const showDepth = 4

func newShow(a *app) *cobra.Command {
	var id string
	var full bool
	cmd := &cobra.Command{
		Use: "show OPERATOR/INSTANCE", Short: "Show a run as a tree: steps, waits, children, signals, effects", Args: cobra.ExactArgs(1),
		Long: `Show a run as its log has it: which nodes took it, its steps with their cost and time, what it waited for and what was
decided, the runs that it began, the signals that reached it, and what became of its effects. What was said is shown
with --full alone, and of that the beginning; with --json all of it.`,
		Example: "  skelegent show assistant/tea\n  skelegent show assistant/tea --run 0199d9f4-0000-7000-8000-000000000000 --full",
	}
	addRun(cmd, &id, "`ID` of the run (default the open one, the next, or the last)")
	cmd.Flags().BoolVar(&full, "full", false, "with input, output, results and the data of signals")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if err := checkRunFlag(cmd, id); err != nil {
			return err
		}
		return a.withInstance(func(ctx context.Context, _ *session, r *inspect.Reader, workflow protocol.WorkflowID, _ []string) error {
			tree, err := r.Tree(ctx, workflow, protocol.RunID(id), inspect.TreeConfig{Full: full, Depth: showDepth})
			if err != nil {
				return err
			}
			if a.flags.json {
				return a.out.json(tree)
			}
			a.showTree(tree)
			return nil
		})(cmd, args)
	}
	return cmd
}
