package main

import (
	"context"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"github.com/skelegent/skelegent-go/bus"
	"github.com/skelegent/skelegent-go/protocol"
)

func newEffects(a *app) *cobra.Command {
	var pending bool
	var limit int
	cmd := &cobra.Command{
		Use: "effects", Short: "List the effects that wait and those that ended last",
		Long: `List what waits to be performed, one line a kind (the kinds on memory are one), with the age of the oldest and
whether somebody performs it; and how the effects that ended last did, newest first.`,
		Example: "  skelegent effects --pending\n  skelegent effects --limit 20 --json",
		Args:    cobra.NoArgs,
	}
	cmd.Flags().BoolVar(&pending, "pending", false, "only what waits")
	addLimit(cmd, &limit)
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		if err := checkLimit(limit); err != nil {
			return err
		}
		return a.withConn(cmd, a.flags.timeout, func(ctx context.Context, s *session) error {
			var found effectsFound
			var err error
			if found.Pending, err = s.PendingEffects(ctx); err != nil {
				return err
			}
			found.Pending = cut(a, found.Pending, limit)
			if !pending {
				if found.Outcomes, err = s.Outcomes(ctx, limit); err != nil {
					return err
				}
			}
			return a.showEffects(found)
		})
	}
	return cmd
}

// effectsFound is what the command shows.
type effectsFound struct {
	Pending  []bus.PendingEffects `json:"pending"`
	Outcomes []bus.Outcome        `json:"outcomes,omitempty"`
}

func (a *app) showEffects(found effectsFound) error {
	if a.flags.json {
		return a.out.json(found)
	}
	if len(found.Pending) == 0 {
		a.out.print("no effects are pending\n")
	} else if err := a.showPending(found.Pending); err != nil {
		return err
	}
	if len(found.Outcomes) == 0 {
		return nil
	}
	a.out.print("\n")
	rows := make([][]string, len(found.Outcomes))
	for i, o := range found.Outcomes {
		reason := ""
		if o.Error != nil {
			reason = string(o.Error.Code) + ": " + o.Error.Message
		}
		rows[i] = []string{
			o.Time.Local().Format(time.DateTime), string(o.Kind), string(o.Status), strconv.Itoa(max(1, o.Attempts)), o.EffectID, clip(reason, 80),
		}
	}
	return a.out.table([]string{"ENDED", "KIND", "STATUS", "TRIES", "EFFECT", "REASON"}, rows)
}

func (a *app) showPending(pending []bus.PendingEffects) error {
	rows := make([][]string, len(pending))
	for i, p := range pending {
		state := "at work"
		switch {
		case !p.Executor:
			state = "nobody executes this kind"
		case !p.Listening:
			state = "its executor is away"
		}
		rows[i] = []string{p.Family, strconv.FormatUint(p.Messages, 10), strconv.Itoa(p.InFlight), age(p.Oldest), state}
	}
	return a.out.table([]string{"KIND", "PENDING", "IN FLIGHT", "OLDEST", "EXECUTOR"}, rows)
}

// effectText is an effect on a line: what it is, not what it holds.
func effectText(e *protocol.RequestedEffect) string {
	if e == nil {
		return "-"
	}
	return protocol.FamilyOf(e.Effect.Effect)
}
