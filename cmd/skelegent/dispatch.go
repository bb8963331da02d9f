package main

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/skelegent/skelegent-go/bus"
	"github.com/skelegent/skelegent-go/protocol"
	"github.com/skelegent/skelegent-go/protocol/wire"
)

func newDispatch(a *app) *cobra.Command {
	var f dispatchFlags
	var timeout time.Duration
	cmd := &cobra.Command{
		Use:   "dispatch OPERATOR [TEXT|-]",
		Short: "Have an operator do something, and print its answer",
		Long: `Send a text to an operator and print the message that it answers with. On a terminal the answer is shown while it
comes.

The text is taken from the standard input for -, or if there is none and the standard input is no terminal. A text
that begins with { is an OperatorInput in JSON; the flags then override what it says.`,
		Example: `  skelegent dispatch assistant "What time is it in Oslo?"
  skelegent dispatch assistant --session tea "And in Lima?"
  skelegent dispatch reviewer - < change.diff
  skelegent dispatch assistant --json '{"message": "Hello", "config": {"max_turns": 3}}'`,
		Args: cobra.MinimumNArgs(1),
	}
	flags := cmd.Flags()
	flags.StringVar(&f.session, "session", "", "conversation that the message belongs to")
	flags.StringVar(&f.runID, "run-id", "", "`ID` of the run (default a new UUIDv7)")
	flags.DurationVar(&timeout, "timeout", bus.DefaultTimeout, "how long to wait for the answer")
	flags.StringVar(&f.model, "model", "", "model instead of the operator's own")
	flags.StringVar(&f.maxCost, "max-cost", "", "end the run beyond this cost in `USD`, such as 0.05")
	flags.Uint32Var(&f.maxTurns, "max-turns", 0, "end the run after this many turns")
	f.given = flags.Changed
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if timeout <= 0 {
			return usagef("--timeout must be above 0")
		}
		if err := wire.CheckOperator(args[0]); err != nil {
			return usageError(err)
		}
		text, err := a.text(args[1:], "text")
		if err != nil {
			return err
		}
		in, err := f.input(text)
		if err != nil {
			return err
		}
		run, err := f.run()
		if err != nil {
			return err
		}
		return a.withConn(cmd, timeout, func(ctx context.Context, s *session) error {
			return a.dispatch(ctx, s, protocol.OperatorID(args[0]), in, run)
		})
	}
	return cmd
}

func (a *app) dispatch(ctx context.Context, s *session, operator protocol.OperatorID, in protocol.OperatorInput, run protocol.RunID) error {
	finish := func(text string) { a.out.print(a.out.text(text) + "\n") }
	if a.out.tty && !a.flags.json {
		instance := string(run)
		if in.Session != nil {
			instance = string(*in.Session)
		}
		stream, err := a.follow(ctx, s, string(operator), instance, run)
		if err != nil {
			return err
		}
		defer stream.stop()
		finish = stream.finish
	}
	start := time.Now()
	out, err := bus.NewDispatcher(s.Conn).Dispatch(protocol.WithCall(ctx, protocol.Call{Run: run}), operator, in)
	if err != nil {
		return err
	}
	if a.flags.json {
		body, err := protocol.Marshal(out)
		if err != nil {
			return fmt.Errorf("write the output: %w", err)
		}
		a.out.print(string(body) + "\n")
	} else {
		finish(messageText(out.Message))
	}
	a.footer(out, run, time.Since(start))
	return nil
}

// messageText is what a message says: its texts, and the JSON of what is none.
func messageText(c protocol.Content) string {
	if c.Blocks() == nil {
		text, _ := c.AsText()
		return text
	}
	var parts []string
	for _, b := range c.Blocks() {
		if t, ok := b.(protocol.TextBlock); ok {
			parts = append(parts, t.Text)
		} else if body, err := protocol.Marshal(b); err == nil {
			parts = append(parts, string(body))
		}
	}
	return strings.Join(parts, "\n")
}

// footer says what a run took, for a person, and how it ended if not as it should, for everybody.
func (a *app) footer(out protocol.OperatorOutput, run protocol.RunID, took time.Duration) {
	if a.err.tty {
		md := out.Metadata
		cost := md.Cost.Text() + " USD"
		if md.UnpricedCalls > 0 {
			cost += fmt.Sprintf(" and %d calls without a price", md.UnpricedCalls)
		}
		line := fmt.Sprintf("%s, %d tokens in, %d out, %s, %s, run %s",
			out.ExitReason, md.TokensIn, md.TokensOut, cost, took.Round(time.Millisecond), run)
		if n := len(out.Effects); n > 0 {
			line += fmt.Sprintf(", %d effects declared", n)
		}
		a.err.print(a.err.in(dim, oneLine(line)) + "\n")
		return
	}
	if out.ExitReason.Kind() != protocol.ExitComplete {
		a.err.print(oneLine("the run did not complete: "+out.ExitReason.String()) + "\n")
	}
}
