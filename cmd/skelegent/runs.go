package main

import (
	"context"
	"strconv"

	"github.com/spf13/cobra"

	"github.com/skelegent/skelegent-go/actors/inspect"
	"github.com/skelegent/skelegent-go/actors/run"
)

func newRuns(a *app) *cobra.Command {
	var limit int
	cmd := &cobra.Command{
		Use: "runs [OPERATOR]", Short: "List what runs, waits and ran, the latest first", Args: cobra.MaximumNArgs(1),
		Long: `List the instances that have a log, those first in which something happened last: what each does or how its last run
ended, what it waits for, how many runs it had, what they cost in USD, and how long ago the last thing happened.`,
		Example: "  skelegent runs\n  skelegent runs assistant --limit 20\n  skelegent runs --json",
	}
	addLimit(cmd, &limit)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		operator, err := optionalOperator(args)
		if err == nil {
			err = checkLimit(limit)
		}
		if err != nil {
			return err
		}
		return a.withConn(cmd, a.flags.timeout, func(ctx context.Context, s *session) error {
			found, cut, err := inspect.New(s.Conn).List(ctx, operator, limit)
			if err != nil {
				return err
			}
			if cut {
				a.err.printf("the latest %d are shown; see more with --limit\n", limit)
			}
			return a.showRuns(found)
		})
	}
	return cmd
}

func (a *app) showRuns(found []inspect.Summary) error {
	if a.flags.json {
		return a.out.json(found)
	}
	if len(found) == 0 {
		a.out.print("nothing runs or ran\n")
		return nil
	}
	rows := make([][]string, len(found))
	for i, s := range found {
		if s.Problem != "" {
			rows[i] = []string{clip(string(s.Workflow), 60), "unreadable", "", "", "", age(s.Updated)}
			continue
		}
		rows[i] = []string{
			clip(string(s.Workflow), 60), stateText(s.Status), clip(waitText(s.Wait), 40), strconv.Itoa(s.Turns), s.Cost.Text(), age(s.Updated),
		}
	}
	return a.out.table([]string{"WORKFLOW", "STATE", "WAITS FOR", "TURNS", "COST", "AGE"}, rows)
}

// stateText is what an instance does, or how its last run ended, and how many inputs wait.
func stateText(s run.Status) string {
	text := string(s.State)
	if s.State == run.StateIdle {
		text = string(s.Kind)
	}
	if s.Queue > 0 {
		text += " +" + strconv.Itoa(s.Queue)
	}
	return text
}
