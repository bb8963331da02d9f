package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/skelegent/skelegent-go/actors/inspect"
	"github.com/skelegent/skelegent-go/actors/run"
	"github.com/skelegent/skelegent-go/protocol"
)

func newResult(a *app) *cobra.Command {
	var id string
	var wait bool
	var timeout time.Duration
	cmd := &cobra.Command{
		Use: "result OPERATOR/INSTANCE", Short: "Print what became of a run", Args: cobra.ExactArgs(1),
		Long: `Print the answer of a run: of the one that is open, the next, or else the last of the instance. With --json the whole
OperatorOutput.

A run that goes on is said so, with exit code 1, unless --wait. One that failed, was cancelled or refused is an error.`,
		Example: `  skelegent result assistant/tea
  skelegent result assistant/0199d9f4-0000-7000-8000-000000000000 --wait --timeout 10m
  skelegent result "$(skelegent dispatch assistant --task "Read all of it")" --wait --json`,
	}
	addRun(cmd, &id, "`ID` of the run (default the open one, the next, or the last)")
	cmd.Flags().BoolVar(&wait, "wait", false, "wait until it has ended")
	cmd.Flags().DurationVar(&timeout, "timeout", 0, "how long to wait with --wait (default for as long as it takes)")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		workflow, err := workflowArg(args[0])
		if err == nil {
			err = checkRunFlag(cmd, id)
		}
		if err != nil {
			return err
		}
		if cmd.Flags().Changed("timeout") && timeout <= 0 {
			return usagef("--timeout must be above 0")
		}
		if !wait && timeout == 0 {
			timeout = a.flags.timeout
		}
		return a.withConn(cmd, timeout, func(ctx context.Context, s *session) error {
			r := inspect.New(s.Conn)
			if wait {
				return a.awaitResult(ctx, r, workflow, protocol.RunID(id))
			}
			result, err := r.Result(ctx, workflow, protocol.RunID(id))
			if err != nil {
				return err
			}
			return a.showResult(result)
		})
	}
	return cmd
}

// awaitResult waits for the end of a run and shows it. At a terminal it says what the run waits for.
func (a *app) awaitResult(ctx context.Context, r *inspect.Reader, workflow protocol.WorkflowID, id protocol.RunID) error {
	result, err := a.wait(ctx, r, workflow, id)
	if err != nil {
		return err
	}
	return a.showResult(result)
}

func (a *app) wait(ctx context.Context, r *inspect.Reader, workflow protocol.WorkflowID, id protocol.RunID) (inspect.Result, error) {
	said, last := "", run.Status{}
	result, err := r.Wait(ctx, workflow, id, func(s run.Status) {
		last = s
		if text := waitText(s.Wait); text != said {
			said = text
			a.sayWaiting(workflow, s.Wait)
		}
	})
	if err != nil && ctx.Err() != nil {
		e := protocol.AsError(context.Cause(ctx))
		state := string(last.State)
		if said != "" {
			state += " (waits for " + said + ")"
		}
		return result, protocol.NewError(e.Code, fmt.Sprintf("%s is still %s", workflow, state)).Because(err)
	}
	return result, err
}

// showResult prints what a run came to; where that is no output it is an error.
func (a *app) showResult(result inspect.Result) error {
	switch result.State {
	case inspect.StateCompleted:
	case inspect.StateFailed, inspect.StateCancelled, inspect.StateRefused:
		return result.Error
	default:
		return errors.New(unfinished(result))
	}
	for _, next := range result.HandedTo {
		a.err.print(oneLine("handed off: "+command("result", next, "--wait")) + "\n")
	}
	out := *result.Output
	if a.flags.json {
		if err := a.printOutput(out); err != nil {
			return err
		}
	} else {
		a.out.print(a.out.text(messageText(out.Message)) + "\n")
	}
	a.footer(out, result.Run, out.Metadata.Duration.Duration())
	return nil
}

// unfinished says that a run goes on.
func unfinished(result inspect.Result) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s is ", result.Workflow)
	switch {
	case result.State == inspect.StateScheduled && result.Due != nil:
		b.WriteString("to begin at " + clock(*result.Due))
	case result.State == inspect.StateSuspended:
		b.WriteString("suspended: it waits for " + waitText(result.Wait))
	default:
		b.WriteString("still " + string(result.State))
	}
	if hint := answerHint(result.Workflow, result.Wait); hint != "" {
		return b.String() + "; " + hint
	}
	rest := []string{"--wait"}
	if !strings.HasSuffix(string(result.Workflow), "/"+string(result.Run)) {
		rest = []string{"--run", word(string(result.Run)), "--wait"}
	}
	return b.String() + "; wait with " + command("result", result.Workflow, rest...)
}
