package main

import (
	"context"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/skelegent/skelegent-go/bus"
)

func newDoctor(a *app) *cobra.Command {
	return &cobra.Command{
		Use: "doctor", Short: "Check the server, the streams and what waits",
		Long: `Check the connection, JetStream, streams and buckets, the copies in a cluster, the clocks, the operators, the pending
effects and the dead letters, and say what to do about what is wrong. Nothing is changed. Exit code 1 if a check fails.`,
		Example: "  skelegent doctor\n  skelegent doctor --json",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			var findings []bus.Finding
			err := a.withConn(cmd, a.flags.timeout, func(ctx context.Context, s *session) error {
				findings = append(s.Check(ctx, bus.Topology{}), checkOperators(ctx, s))
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
	found, err := s.Operators(ctx, 300*time.Millisecond)
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
