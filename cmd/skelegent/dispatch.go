package main

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/skelegent/skelegent-go/actors/run"
	"github.com/skelegent/skelegent-go/protocol"
	"github.com/skelegent/skelegent-go/protocol/wire"
)

func newDispatch(a *app) *cobra.Command {
	var f dispatchFlags
	cmd := &cobra.Command{
		Use:   "dispatch OPERATOR [TEXT|-]",
		Short: "Have an operator do something, and print its answer",
		Long: `Send a text to an operator and print the message that it answers with. On a terminal the answer is shown while it
comes.

The text is taken from the standard input for -, or if there is none and the standard input is no terminal. A text
that begins with { is an OperatorInput in JSON, unless --raw says that it is the message; the flags then override what
it says.

The run of a durable operator goes on whatever becomes of this command; result finds what it came to. With --task the
input is stored, and done as soon as a node hosts the operator. To begin later (--at, --in) needs a node's credentials.`,
		Example: `  skelegent dispatch assistant "What time is it in Oslo?"
  skelegent dispatch assistant --session tea "And in Lima?"
  skelegent dispatch reviewer - < change.diff
  skelegent dispatch assistant --task "Read all of it" && skelegent runs assistant
  skelegent dispatch triage --signal fire "It smells of smoke in room 12"
  skelegent dispatch assistant --in 1h "Water the plants" --nkey .skelegent/node.key
  skelegent dispatch assistant --json '{"message": "Hello", "config": {"max_turns": 3}}'`,
		Args: cobra.MinimumNArgs(1),
	}
	f.add(cmd.Flags())
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if err := f.check(); err != nil {
			return err
		}
		if err := wire.CheckOperator(args[0]); err != nil {
			return usageError(err)
		}
		begin, err := f.begin(time.Now())
		if err != nil {
			return err
		}
		text, err := a.text(args[1:], "text")
		if err != nil {
			return err
		}
		in, err := f.input(text)
		if err != nil {
			return err
		}
		id, err := f.id()
		if err != nil {
			return err
		}
		j := job{operator: protocol.OperatorID(args[0]), in: in, run: id, whenBusy: f.whenBusy, begin: begin}
		if !f.task {
			return a.withConn(cmd, f.timeout, func(ctx context.Context, s *session) error { return a.dispatch(ctx, s, j) })
		}
		limit := a.flags.timeout
		if f.given("timeout") {
			limit = f.timeout
		}
		return a.withConn(cmd, limit, func(ctx context.Context, s *session) error { return a.submit(ctx, s, j) })
	}
	return cmd
}

// job is an input on its way.
type job struct {
	operator protocol.OperatorID
	in       protocol.OperatorInput
	run      protocol.RunID
	whenBusy string
	begin    time.Time
}

func (j *job) instance() string {
	if j.in.Session != nil {
		return string(*j.in.Session)
	}
	return string(j.run)
}

func (j *job) workflow() protocol.WorkflowID {
	return protocol.WorkflowID(string(j.operator) + "/" + j.instance())
}

func (a *app) dispatch(ctx context.Context, s *session, j job) error {
	show := func(text string) { a.out.print(a.out.text(text)) }
	finish := func(text string) { show(text + "\n") }
	if a.out.tty && !a.flags.json {
		stream, err := followRun(ctx, s, &j, show, func(w *run.Wait) { a.sayWaiting(j.workflow(), w) })
		if err != nil {
			return err
		}
		defer stream.stop()
		finish = stream.finish
	}
	start := time.Now()
	out, err := request(ctx, s, j)
	if err != nil {
		return goesOn(ctx, s, j, err)
	}
	if a.flags.json {
		finish = func(string) { err = a.printOutput(out) }
	}
	finish(messageText(out.Message))
	a.footer(out, j.run, time.Since(start))
	return err
}

// printOutput prints an output for machines.
func (a *app) printOutput(out protocol.OperatorOutput) error {
	body, err := protocol.Marshal(out)
	if err != nil {
		return fmt.Errorf("write the output: %w", err)
	}
	a.out.print(a.out.text(string(body)) + "\n")
	return nil
}

// sayWaiting tells a person at a terminal what a run waits for, if somebody has to say it.
func (a *app) sayWaiting(workflow protocol.WorkflowID, w *run.Wait) {
	if hint := answerHint(workflow, w); hint != "" && a.err.tty {
		a.err.print(a.err.in(yellow, oneLine("waits for "+waitText(w)+": "+hint)) + "\n")
	}
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
func (a *app) footer(out protocol.OperatorOutput, id protocol.RunID, took time.Duration) {
	if a.err.tty {
		md := out.Metadata
		cost := md.Cost.Text() + " USD"
		if md.UnpricedCalls > 0 {
			cost += fmt.Sprintf(" and %d calls without a price", md.UnpricedCalls)
		}
		line := fmt.Sprintf("%s, %d tokens in, %d out, %s, %s, run %s",
			out.ExitReason, md.TokensIn, md.TokensOut, cost, took.Round(time.Millisecond), id)
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
