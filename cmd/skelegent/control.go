package main

import (
	"context"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/skelegent/skelegent-go/actors/inspect"
	"github.com/skelegent/skelegent-go/actors/run"
	"github.com/skelegent/skelegent-go/bus"
	"github.com/skelegent/skelegent-go/protocol"
)

// sent is a signal that was stored, for machines.
type sent struct {
	Workflow protocol.WorkflowID `json:"workflow"`
	Run      protocol.RunID      `json:"run,omitempty"`
	Signal   string              `json:"signal"`
}

// send stores a signal and says so.
func (a *app) send(ctx context.Context, s *session, workflow protocol.WorkflowID, id protocol.RunID, typ string, data []byte) error {
	err := bus.NewDispatcher(s.Conn).Signal(bus.ToRun(ctx, id), workflow, protocol.SignalPayload{SignalType: typ, Data: data})
	if err != nil {
		return err
	}
	if a.flags.json {
		return a.out.json(sent{workflow, id, typ})
	}
	if a.err.tty {
		a.err.print(a.err.in(dim, oneLine(typ+" sent to "+string(workflow))) + "\n")
	}
	return nil
}

// openRun returns the run that a signal is for: the one that is named, or the open one. A named one need not have begun.
func openRun(ctx context.Context, r *inspect.Reader, workflow protocol.WorkflowID, id protocol.RunID) (protocol.RunID, error) {
	i, err := r.Load(ctx, workflow)
	missing := protocol.CodeOf(err) == protocol.CodeNotFound
	switch {
	case err != nil && !missing:
		return "", err
	case id != "" && missing:
		return id, nil
	case id != "":
		if k, over := i.Fold.Ended(id); over {
			return "", protocol.NewError(protocol.CodeConflict, fmt.Sprintf("run %.200s is over: %s", id, k.Kind))
		}
		return id, nil
	case missing: // it may be accepted, and not yet begun
		result, lookErr := r.Result(ctx, workflow, "")
		if lookErr != nil || result.Run == "" {
			return "", err
		}
		return result.Run, nil
	}
	if i.Fold.Open == nil {
		return "", protocol.NewError(protocol.CodeConflict, fmt.Sprintf("no run of %s is open: it is %s", workflow, stateText(i.Fold.Status())))
	}
	return i.Fold.Open.Run, nil
}

func newCancel(a *app) *cobra.Command {
	var id, reason string
	var wait bool
	var timeout time.Duration
	cmd := &cobra.Command{
		Use: "cancel OPERATOR/INSTANCE", Short: "Stop a run, and those that it began", Args: cobra.ExactArgs(1),
		Long: `Stop the open run, or with --run another one, also before it begins. A model call in flight is ended, what was recorded
stays, and who waits for the answer is told. With --wait the exit code is 1 if the run ended otherwise before.`,
		Example: "  skelegent cancel assistant/tea\n  skelegent cancel assistant/tea --reason \"wrong file\" --wait",
	}
	addRun(cmd, &id, "`ID` of the run (default the open one)")
	cmd.Flags().StringVar(&reason, "reason", "", "why")
	cmd.Flags().BoolVar(&wait, "wait", false, "wait until it has stopped")
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
			return a.cancel(ctx, s, workflow, protocol.RunID(id), reason, wait)
		})
	}
	return cmd
}

func (a *app) cancel(ctx context.Context, s *session, workflow protocol.WorkflowID, id protocol.RunID, reason string, wait bool) error {
	r := inspect.New(s.Conn)
	id, err := openRun(ctx, r, workflow, id)
	if err != nil {
		return err
	}
	var data []byte
	if reason != "" {
		if data, err = protocol.Marshal(reason); err != nil {
			return fmt.Errorf("write the reason: %w", err)
		}
	}
	if err := a.send(ctx, s, workflow, id, run.SignalCancel, data); err != nil || !wait {
		return err
	}
	result, err := a.wait(ctx, r, workflow, id)
	if err != nil {
		return err
	}
	if result.State != inspect.StateCancelled {
		return protocol.NewError(protocol.CodeConflict, fmt.Sprintf("run %.200s was over before it could be stopped: %s", id, result.State))
	}
	return nil
}

// newToOpen is a command that sends the open run a signal without more to say.
func newToOpen(a *app, typ, short, long string) *cobra.Command {
	var id string
	cmd := &cobra.Command{
		Use: typ + " OPERATOR/INSTANCE", Short: short, Long: long, Args: cobra.ExactArgs(1), Example: "  skelegent " + typ + " assistant/tea",
	}
	addRun(cmd, &id, "`ID` of the run (default the open one)")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if err := checkRunFlag(cmd, id); err != nil {
			return err
		}
		return a.withInstance(func(ctx context.Context, s *session, r *inspect.Reader, workflow protocol.WorkflowID, _ []string) error {
			id, err := openRun(ctx, r, workflow, protocol.RunID(id))
			if err != nil {
				return err
			}
			return a.send(ctx, s, workflow, id, typ, nil)
		})(cmd, args)
	}
	return cmd
}

func newPause(a *app) *cobra.Command {
	return newToOpen(a, run.SignalPause, "Hold a run at its next step",
		"Hold a run before its next step. Nothing is lost, and nothing is held meanwhile; resume lets it go on.")
}

func newResume(a *app) *cobra.Command {
	return newToOpen(a, run.SignalResume, "Let a run go on that was paused", "Let a run go on that was paused.")
}

func newSteer(a *app) *cobra.Command {
	var id string
	cmd := &cobra.Command{
		Use: "steer OPERATOR/INSTANCE [TEXT|-]", Short: "Tell a run something while it runs", Args: cobra.MinimumNArgs(1),
		Long: `Tell the open run something: an agent hears it before its next model call. The text is taken from the standard input
for -, or if there is none and the standard input is no terminal.`,
		Example: "  skelegent steer assistant/tea \"Only the files of this year\"",
	}
	addRun(cmd, &id, "`ID` of the run (default the open one)")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if _, err := workflowArg(args[0]); err != nil {
			return err
		}
		if err := checkRunFlag(cmd, id); err != nil {
			return err
		}
		text, err := a.text(args[1:], "text")
		if err != nil {
			return err
		}
		if text == "" {
			return usagef("the text is empty")
		}
		data, err := protocol.Marshal(text)
		if err != nil {
			return usageError(err)
		}
		return a.withInstance(func(ctx context.Context, s *session, r *inspect.Reader, workflow protocol.WorkflowID, _ []string) error {
			id, err := openRun(ctx, r, workflow, protocol.RunID(id))
			if err != nil {
				return err
			}
			return a.send(ctx, s, workflow, id, run.SignalSteer, data)
		})(cmd, args)
	}
	return cmd
}
