package main

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/skelegent/skelegent-go/actors/inspect"
	"github.com/skelegent/skelegent-go/protocol"
	"github.com/skelegent/skelegent-go/state/kv"
)

func newForget(a *app) *cobra.Command {
	var force, yes bool
	cmd := &cobra.Command{
		Use: "forget OPERATOR/INSTANCE", Short: "Remove an instance for good: log, signals, blobs and state", Args: cobra.ExactArgs(1),
		Long: `Remove an instance for good: its log, signals, blobs, dead letters, and the state of its session, unless another operator
has that session too. This needs a node's credentials.

It is refused while a run is open, inputs wait or effects are pending, unless --force: what runs then stops where it is, and
nobody is answered.`,
		Example: "  skelegent forget assistant/tea --nkey .skelegent/node.key\n  skelegent forget assistant/tea --yes --force --nkey .skelegent/node.key",
	}
	cmd.Flags().BoolVar(&force, "force", false, "also while a run is open")
	cmd.Flags().BoolVar(&yes, "yes", false, "do not ask")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		workflow, err := workflowArg(args[0])
		if err != nil {
			return err
		}
		if err := a.confirm(yes, "remove "+string(workflow)+" for good"); err != nil {
			return err
		}
		return a.withInstance(func(ctx context.Context, s *session, r *inspect.Reader, workflow protocol.WorkflowID, _ []string) error {
			store, err := kv.Open(ctx, s.JetStream(), kv.Config{Names: s.Names(), Timeout: a.flags.timeout, Log: s.Logger()})
			if err != nil && protocol.CodeOf(err) != protocol.CodeUnavailable {
				return err
			}
			cfg := inspect.ForgetConfig{Force: force}
			if err == nil { // without a bucket there is no state
				cfg.State = store
			}
			gone, err := r.Forget(ctx, workflow, cfg)
			if err != nil {
				return err
			}
			return a.showForgotten(gone)
		})(cmd, args)
	}
	return cmd
}

// confirm asks whether to do something, at a terminal; elsewhere --yes has to say so.
func (a *app) confirm(yes bool, what string) error {
	if yes {
		return nil
	}
	if !a.inTTY || !a.err.tty {
		return usagef("to %s without being asked, give --yes", clip(what, 120))
	}
	a.err.print(clip(strings.ToUpper(what[:1])+what[1:], 300) + "? [y/N] ")
	answer, err := readLine(a.in)
	if err != nil {
		return err
	}
	if !isYes(answer) {
		return fmt.Errorf("nothing was done")
	}
	return nil
}

func isYes(s string) bool {
	s = strings.ToLower(strings.TrimSpace(s))
	return s == "y" || s == "yes"
}

func (a *app) showForgotten(gone inspect.Forgotten) error {
	if a.flags.json {
		return a.out.json(gone)
	}
	for _, other := range gone.SharedWith {
		a.err.print(oneLine("the state of the session is left: "+string(other)+" has it too") + "\n")
	}
	a.out.print(oneLine("forgot "+string(gone.Workflow)) + "\n")
	return nil
}
