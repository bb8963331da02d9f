package main

import (
	"bufio"
	"context"
	"io"
	"time"

	"github.com/spf13/cobra"

	"github.com/skelegent/skelegent-go/bus"
	"github.com/skelegent/skelegent-go/protocol"
	"github.com/skelegent/skelegent-go/protocol/wire"
)

func newChat(a *app) *cobra.Command {
	var name string
	var timeout time.Duration
	cmd := &cobra.Command{
		Use: "chat OPERATOR", Short: "Talk to an operator, line by line", Args: cobra.ExactArgs(1),
		Long: `Talk to an operator: each line is a turn of one session. At a terminal the answers are shown while they come, and what
needs approval can be answered with y or n. Ctrl-C stops the turn, Ctrl-D ends; the session stays, and can be gone on
with. Through a pipe every line is a turn and every answer is printed; the first turn that fails ends it.`,
		Example: `  skelegent chat assistant
  skelegent chat assistant --session tea
  printf 'I like tea.\nWhat do I like?\n' | skelegent chat assistant`,
	}
	cmd.Flags().StringVar(&name, "session", "", "conversation to go on with (default a new one)")
	cmd.Flags().DurationVar(&timeout, "timeout", 24*time.Hour, "how long a turn may take, with the time that people take to answer")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if err := wire.CheckOperator(args[0]); err != nil {
			return usageError(err)
		}
		given := cmd.Flags().Changed("session")
		if !given {
			name = string(bus.NewRunID())
		}
		if err := protocol.Text("x").WithSession(protocol.SessionID(name)).Validate(); err != nil {
			return usageError(err)
		}
		if timeout <= 0 {
			return usagef("--timeout must be above 0")
		}
		return a.withConn(cmd, 0, func(ctx context.Context, s *session) error {
			c := &chat{app: a, bus: s, operator: protocol.OperatorID(args[0]), session: name, timeout: timeout}
			err := c.run(ctx)
			if !given || a.err.tty {
				a.err.print(oneLine("go on with: skelegent chat "+args[0]+" --session "+word(name)) + "\n")
			}
			return err
		})
	}
	return cmd
}

// chat is a conversation.
type chat struct {
	app      *app
	bus      *session
	operator protocol.OperatorID
	session  string
	timeout  time.Duration

	lines       <-chan string   // what is typed; closed at its end
	interrupted <-chan struct{} // Ctrl-C
}

// run reads lines and has a turn for each, until they end.
func (c *chat) run(ctx context.Context) error {
	interrupted, giveBack := c.app.interrupts.take()
	defer giveBack()
	c.interrupted = interrupted
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	c.lines = readLines(ctx, c.app.in)
	for {
		c.prompt("> ")
		select {
		case line, ok := <-c.lines:
			if !ok {
				c.newline()
				return nil
			}
			if oneLine(line) == "" {
				continue
			}
			if err := c.turn(ctx, line); err != nil {
				if !c.app.inTTY || ctx.Err() != nil {
					return err
				}
				c.app.err.print(c.app.err.in(red, describe(err)) + "\n")
			}
		case <-c.interrupted:
			c.newline()
			return nil
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// prompt shows a person that it is his turn.
func (c *chat) prompt(s string) {
	if c.app.inTTY && c.app.out.tty {
		c.app.out.print(s)
	}
}

// newline ends the line of a prompt.
func (c *chat) newline() { c.prompt("\n") }

// readLines reads lines until their end or that of ctx. A read that nobody ends, of a terminal, ends with the process.
func readLines(ctx context.Context, in io.Reader) <-chan string {
	lines := make(chan string)
	go func() {
		defer close(lines)
		s := bufio.NewScanner(in)
		s.Buffer(nil, maxLine)
		for s.Scan() {
			select {
			case lines <- s.Text():
			case <-ctx.Done():
				return
			}
		}
	}()
	return lines
}
