package main

import (
	"context"
	"errors"

	"github.com/spf13/cobra"

	"github.com/skelegent/skelegent-go/actors/compose/record"
	"github.com/skelegent/skelegent-go/actors/inspect"
	"github.com/skelegent/skelegent-go/actors/run"
	"github.com/skelegent/skelegent-go/bus/runlog"
	"github.com/skelegent/skelegent-go/protocol"
	"github.com/skelegent/skelegent-go/protocol/wire"
)

func newRecord(a *app) *cobra.Command {
	var id, file string
	cmd := &cobra.Command{
		Use: "record OPERATOR/INSTANCE", Args: cobra.ExactArgs(1),
		Short: "Write a run of a durable agent to a file, to check and to replay it",
		Long: `Write what a run of an agent was from its log: the task, what the model answered, what the tools said, and how it ended.
The run must have ended. The file holds prompts, answers and results as they were; without -o it is printed.`,
		Example: `  skelegent record assistant/tea -o tea.json
  skelegent record assistant/tea --run 0199d9f4-0000-7000-8000-000000000000 | jq .final_answer`,
	}
	addRun(cmd, &id, "`ID` of the run (default the open one, the next, or the last)")
	cmd.Flags().StringVarP(&file, "output", "o", "", "`FILE` to write; one that is there is replaced")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if err := checkRunFlag(cmd, id); err != nil {
			return err
		}
		if cmd.Flags().Changed("output") && file == "" {
			return usagef("-o must not be empty")
		}
		return a.withInstance(func(ctx context.Context, s *session, r *inspect.Reader, workflow protocol.WorkflowID, _ []string) error {
			recorded, err := recordOf(ctx, s, r, workflow, protocol.RunID(id))
			if err != nil {
				return err
			}
			return a.writeRecord(recorded, file)
		})(cmd, args)
	}
	return cmd
}

// writeRecord writes a record to a file, or prints it.
func (a *app) writeRecord(r *record.Run, file string) error {
	raw, err := r.Encode()
	if err != nil {
		return err
	}
	if file == "" {
		a.out.print(a.out.text(string(raw)))
		return nil
	}
	if err := writePrivate(file, raw); err != nil {
		return err
	}
	if a.flags.json {
		return a.out.json(struct {
			File  string              `json:"file"`
			Turns int                 `json:"turns"`
			Exit  protocol.ExitReason `json:"exit_reason"`
		}{file, len(r.Turns), r.ExitReason})
	}
	a.out.printf("recorded %d turns in %s: %s\n", len(r.Turns), oneLine(file), oneLine(r.ExitReason.String()))
	return nil
}

// recordOf reads a run from its log: with all that its events say where they are still those of the instance, else from what is
// kept of older runs.
func recordOf(
	ctx context.Context, s *session, r *inspect.Reader, workflow protocol.WorkflowID, id protocol.RunID,
) (*record.Run, error) {
	tree, err := r.Tree(ctx, workflow, id, inspect.TreeConfig{Full: true})
	if err != nil {
		return nil, err
	}
	if !tree.State.Ended() {
		return nil, protocol.NewError(protocol.CodeConflict,
			"the run has not ended: it is "+string(tree.State)+"; wait for it with `skelegent result --wait`")
	}
	if instance, err := r.Load(ctx, workflow); err == nil {
		records := make([]run.Record, len(instance.Records))
		for i, x := range instance.Records {
			records[i] = x.Record
		}
		if found, err := record.FromRecords(records, tree.Run); err == nil {
			return found, nil
		}
	}
	log, err := logOf(ctx, s, tree)
	if err != nil {
		return nil, err
	}
	return record.FromLog(log)
}

// logOf is what a tree says of its run.
func logOf(ctx context.Context, s *session, tree *inspect.Tree) (record.Log, error) {
	operator, instance, err := wire.ParseWorkflow(string(tree.Workflow))
	if err != nil {
		return record.Log{}, err
	}
	log := record.Log{
		Operator: protocol.OperatorID(operator), Input: tree.Input, Model: tree.Made.Model, Output: tree.Output, Error: tree.Error,
	}
	if log.Output != nil {
		log.Error = nil
	}
	blobs := runlog.NewBlobs(s.JetStream(), s.Names())
	for _, x := range tree.Steps {
		step := record.Step{Path: x.Path, Kind: x.Kind, Name: x.Name, Result: x.Result, Error: x.Error}
		if b := x.Blob; b != nil && step.Result == nil {
			step.Result, err = blobs.Get(ctx, operator, wire.Escape(instance), runlog.Blob{SHA256: b.SHA256, Size: b.Size})
			if step.Elsewhere = errors.Is(err, runlog.ErrGone) || errors.Is(err, runlog.ErrDamaged); err != nil && !step.Elsewhere {
				return log, err
			}
		}
		log.Steps = append(log.Steps, step)
	}
	return log, nil
}
