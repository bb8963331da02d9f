package main

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/skelegent/skelegent-go/actors/inspect"
	"github.com/skelegent/skelegent-go/actors/run"
	"github.com/skelegent/skelegent-go/bus"
	"github.com/skelegent/skelegent-go/protocol"
	"github.com/skelegent/skelegent-go/protocol/wire"
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

func newSignal(a *app) *cobra.Command {
	var id string
	cmd := &cobra.Command{
		Use: "signal OPERATOR/INSTANCE TYPE [DATA|-]", Short: "Send an instance a signal", Args: cobra.RangeArgs(2, 3),
		Long: `Store a signal for an instance: JSON, a text, or nothing. It concerns the run that is open when it is stored, or the one
that --run names, which need not have begun. DATA is taken from the standard input for -.

Types that every run understands: cancel, pause, resume, steer, approve, deny.`,
		Example: `  skelegent signal onboard/ann manager-approval '{"by": "eve"}'
  skelegent signal onboard/ann document - < contract.txt`,
	}
	addRun(cmd, &id, "`ID` of the run (default the one that is open)")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if _, err := workflowArg(args[0]); err != nil {
			return err
		}
		if err := checkType(args[1]); err != nil {
			return err
		}
		if err := checkRunFlag(cmd, id); err != nil {
			return err
		}
		var data string
		if len(args) > 2 {
			var err error
			if data, err = a.text(args[2:], "text"); err != nil {
				return err
			}
		}
		return a.withInstance(func(ctx context.Context, s *session, r *inspect.Reader, workflow protocol.WorkflowID, _ []string) error {
			if id == "" {
				if _, err := openRun(ctx, r, workflow, ""); err != nil {
					a.err.print(oneLine("no run is open: the signal is stored, and recorded as ignored; name a run with --run") + "\n")
				}
			}
			return a.send(ctx, s, workflow, protocol.RunID(id), args[1], []byte(data))
		})(cmd, args)
	}
	return cmd
}

func checkType(typ string) error {
	if typ == "" || len(typ) > wire.MaxSignalType {
		return usagef("TYPE must be 1 to %d bytes", wire.MaxSignalType)
	}
	return nil
}

func newQuery(a *app) *cobra.Command {
	return &cobra.Command{
		Use: "query OPERATOR/INSTANCE TYPE [PARAMS]", Short: "Ask a node about an instance", Args: cobra.RangeArgs(2, 3),
		Long: `Ask a node that hosts the operator, which changes nothing: status, history, cost, pending, or a question of the
operator's own. The answer is JSON. Without a node there is no answer; show reads the log itself.`,
		Example: "  skelegent query assistant/tea status\n  skelegent query assistant/tea history",
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := checkType(args[1]); err != nil {
				return err
			}
			return a.withInstance(func(ctx context.Context, s *session, _ *inspect.Reader, workflow protocol.WorkflowID, rest []string) error {
				q := protocol.QueryPayload{QueryType: rest[0]}
				if len(rest) > 1 {
					q.Params = json.RawMessage(rest[1])
				}
				answer, err := bus.NewDispatcher(s.Conn).Query(ctx, workflow, q)
				if err != nil {
					return err
				}
				if a.out.tty {
					return a.out.json(answer)
				}
				a.out.print(string(answer) + "\n")
				return nil
			})(cmd, args)
		},
	}
}
