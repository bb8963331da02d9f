package main

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/skelegent/skelegent-go/actors/inspect"
	"github.com/skelegent/skelegent-go/bus"
	"github.com/skelegent/skelegent-go/bus/task"
)

func newDoctor(a *app) *cobra.Command {
	return &cobra.Command{
		Use: "doctor", Short: "Check the server, the streams and what waits",
		Long: `Check the connection, JetStream, streams and buckets, the copies in a cluster, the clocks, the operators, the tasks and
timers, the pending effects and the dead letters, and say what to do about what is wrong. Nothing is changed. Exit code 1
if a check fails.`,
		Example: "  skelegent doctor\n  skelegent doctor --json",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			var findings []bus.Finding
			err := a.withConn(cmd, a.flags.timeout, func(ctx context.Context, s *session) error {
				findings = append(s.Check(ctx, bus.Topology{}), checkOperators(ctx, s), checkTasks(ctx, s), checkTimers(ctx, s))
				return context.Cause(ctx)
			})
			if err != nil {
				findings = append(findings, bus.Finding{Name: "connection", Level: bus.LevelFail, Text: err.Error()})
			}
			return a.showFindings(findings, err)
		},
	}
}

func checkOperators(ctx context.Context, s *session) bus.Finding {
	f := bus.Finding{Name: "operators", Level: bus.LevelOK}
	found, err := s.Operators(ctx, discoveryWait)
	switch {
	case err != nil:
		f.Level, f.Text = bus.LevelFail, err.Error()
	case len(found) == 0:
		f.Level, f.Text, f.Do = bus.LevelWarn, "none answers", "start a node with `skelegent up`"
	default:
		nodes := map[string]bool{}
		for _, o := range found {
			nodes[o.Metadata["skelegent.node"]] = true
		}
		f.Text = fmt.Sprintf("%d on %d nodes", len(found), len(nodes))
	}
	return f
}

// checkTasks finds tasks that nobody takes, or that wait for very long.
func checkTasks(ctx context.Context, s *session) bus.Finding {
	f := bus.Finding{Name: "tasks", Level: bus.LevelOK, Text: "none waits"}
	pending, err := task.New(s.Conn).Pending(ctx)
	if err != nil {
		f.Level, f.Text = bus.LevelFail, err.Error()
		return f
	}
	var n uint64
	var alone []string
	for _, p := range pending {
		for name, q := range map[string]task.Queue{"inputs": p.Inputs, "wakes": p.Wakes} {
			n += q.Messages
			if q.Messages > 0 && !q.Listening {
				alone = append(alone, fmt.Sprintf("%s (%d %s, since %s)", p.Operator, q.Messages, name, age(q.Oldest)))
			}
		}
	}
	if n > 0 {
		f.Text = fmt.Sprintf("%d wait or are in work", n)
	}
	if len(alone) > 0 {
		slices.Sort(alone)
		f.Level, f.Text = bus.LevelWarn, "waiting, and nobody takes them: "+strings.Join(alone, ", ")
		f.Do = "start a node that hosts these operators"
	}
	return f
}

// checkTimers counts what is set to come.
func checkTimers(ctx context.Context, s *session) bus.Finding {
	f := bus.Finding{Name: "timers", Level: bus.LevelOK, Text: "none is set"}
	timers, err := inspect.New(s.Conn).Timers(ctx)
	if err != nil {
		f.Level, f.Text = bus.LevelFail, err.Error()
		return f
	}
	parts := make([]string, 0, len(timers))
	for _, operator := range slices.Sorted(maps.Keys(timers)) {
		parts = append(parts, fmt.Sprintf("%s (%d)", operator, timers[operator]))
	}
	if len(parts) > 0 {
		f.Text = "set: " + strings.Join(parts, ", ")
	}
	return f
}

func (a *app) showFindings(findings []bus.Finding, err error) error {
	failures := 0
	for _, f := range findings {
		if f.Level == bus.LevelFail {
			failures++
		}
	}
	if a.flags.json {
		if jsonErr := a.out.json(findings); jsonErr != nil {
			return jsonErr
		}
	} else {
		for _, f := range findings {
			a.out.print(a.findingText(f) + "\n")
		}
	}
	switch {
	case err != nil:
		return err
	case failures > 0:
		return fmt.Errorf("%d of %d checks failed; do what they say, and run it again", failures, len(findings))
	}
	return nil
}

func (a *app) findingText(f bus.Finding) string {
	colour := map[bus.Level]string{bus.LevelOK: green, bus.LevelWarn: yellow, bus.LevelFail: red}[f.Level]
	line := a.out.in(colour, fmt.Sprintf("%-4s", f.Level)) + "  " + oneLine(f.Name+": "+f.Text)
	if f.Do != "" {
		line += "\n      -> " + oneLine(f.Do)
	}
	return line
}
