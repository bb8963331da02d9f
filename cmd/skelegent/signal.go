package main

import (
	"context"
	"encoding/json"

	"github.com/spf13/cobra"

	"github.com/skelegent/skelegent-go/actors/inspect"
	"github.com/skelegent/skelegent-go/bus"
	"github.com/skelegent/skelegent-go/protocol"
	"github.com/skelegent/skelegent-go/protocol/wire"
)

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
		Long: `Ask a node that hosts the operator, which changes nothing: status, history, cost, pending, signals, or a question of the
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
