package main

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/skelegent/skelegent-go/actors/inspect"
	"github.com/skelegent/skelegent-go/actors/run"
	"github.com/skelegent/skelegent-go/bus"
	"github.com/skelegent/skelegent-go/protocol"
)

func newApprove(a *app) *cobra.Command {
	var modify []string
	cmd := &cobra.Command{
		Use: "approve OPERATOR/INSTANCE [CALL_ID...]", Short: "Let the calls run that wait for approval", Args: cobra.MinimumNArgs(1),
		Long: `Let the calls run that a suspended run asks about: all of them, or those that are named, and then the others are denied.
With --modify a call runs with another input; without CALL_ID the others then run as they are.

What was asked is read first, and the answer holds for that question alone. The first answer counts.`,
		Example: `  skelegent inbox
  skelegent approve assistant/tea
  skelegent approve assistant/tea call-1
  skelegent approve assistant/tea --modify 'call-1={"path": "/tmp/x"}'`,
	}
	cmd.Flags().StringArrayVar(&modify, "modify", nil, "`CALL_ID=JSON`: let this call run with another input; may be repeated")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		changed, err := parseModify(modify)
		if err != nil {
			return err
		}
		return a.decide(func(pending []string, named []string) protocol.ApprovalResponse {
			return approval(pending, named, changed)
		},
			"approved", changed)(cmd, args)
	}
	return cmd
}

func newDeny(a *app) *cobra.Command {
	var reason string
	cmd := &cobra.Command{
		Use: "deny OPERATOR/INSTANCE [CALL_ID...]", Short: "Refuse the calls that wait for approval", Args: cobra.MinimumNArgs(1),
		Long: `Refuse the calls that a suspended run asks about: all of them, or those that are named, and then the others run. The
model is told the reason, and goes on.`,
		Example: `  skelegent deny assistant/tea
  skelegent deny assistant/tea call-1 --reason "not this file"`,
	}
	cmd.Flags().StringVar(&reason, "reason", "", "why; the model is told")
	cmd.RunE = a.decide(func(_, named []string) protocol.ApprovalResponse {
		return protocol.Reject{CallIDs: named, Reason: reason}
	}, "denied", nil)
	return cmd
}

// modified is a call's other input.
type modified struct {
	id    string
	input json.RawMessage
}

func parseModify(flags []string) ([]modified, error) {
	var all []modified
	for _, f := range flags {
		id, input, ok := strings.Cut(f, "=")
		switch {
		case !ok || id == "":
			return nil, usagef("--modify %.60q: must be CALL_ID=JSON", f)
		case !json.Valid([]byte(input)):
			return nil, usagef("--modify %.60q: what stands behind = is no JSON", f)
		case slices.ContainsFunc(all, func(m modified) bool { return m.id == id }):
			return nil, usagef("--modify names the call %.60q twice", id)
		}
		all = append(all, modified{id, json.RawMessage(input)})
	}
	return all, nil
}

// approval lets the named calls run, and the changed ones with another input. pending are all that were asked about.
func approval(pending, named []string, changed []modified) protocol.ApprovalResponse {
	if len(changed) == 0 {
		return protocol.Approve{CallIDs: named}
	}
	if len(changed) == 1 && len(named) == len(pending) {
		return protocol.Modify{CallID: changed[0].id, NewInput: changed[0].input}
	}
	var b protocol.Batch
	for _, id := range pending {
		at := slices.IndexFunc(changed, func(m modified) bool { return m.id == id })
		switch {
		case at >= 0:
			b.Decisions = append(b.Decisions, protocol.ToolCallDecision{CallID: id, Action: protocol.ModifyCall{NewInput: changed[at].input}})
		case slices.Contains(named, id):
			b.Decisions = append(b.Decisions, protocol.ToolCallDecision{CallID: id, Action: protocol.ApproveCall{}})
		default:
			b.Decisions = append(b.Decisions, protocol.ToolCallDecision{CallID: id, Action: protocol.RejectCall{Reason: "not approved"}})
		}
	}
	return b
}

// decide makes a command's function of how it answers: the calls that are named, all if none is.
func (a *app) decide(answer func(pending, named []string) protocol.ApprovalResponse, done string, changed []modified) func(*cobra.Command, []string) error {
	return a.withInstance(func(ctx context.Context, s *session, r *inspect.Reader, workflow protocol.WorkflowID, named []string) error {
		i, err := r.Load(ctx, workflow)
		if err != nil {
			return err
		}
		q, err := question(i)
		if err != nil {
			return err
		}
		var pending []string
		for _, p := range q.Pending {
			pending = append(pending, p.CallID)
		}
		for _, id := range named {
			if err := asked(id, pending); err != nil {
				return err
			}
		}
		for _, m := range changed {
			if err := asked(m.id, pending); err != nil {
				return err
			}
		}
		if len(named) == 0 {
			named = pending
		}
		if err := sendDecision(ctx, s, workflow, i.Fold.Open.Run, answer(pending, named), done); err != nil {
			return err
		}
		said := slices.DeleteFunc(slices.Clone(pending), func(id string) bool {
			return !slices.Contains(named, id) && !slices.ContainsFunc(changed, func(m modified) bool { return m.id == id })
		})
		return a.sayDecided(workflow, done, said, pending)
	})
}

// question is what an instance asks.
func question(i *inspect.Instance) (*protocol.ApprovalRequest, error) {
	o := i.Fold.Open
	switch {
	case o == nil || o.Wait == nil && len(o.Asked) == 0:
		return nil, protocol.NewError(protocol.CodeConflict, fmt.Sprintf("%s waits for no approval: it is %s", i.Workflow, stateText(i.Fold.Status())))
	case o.Wait == nil:
		return nil, protocol.NewError(protocol.CodeConflict, fmt.Sprintf("%s was answered just now, or goes on; see `skelegent show`", i.Workflow))
	case o.Wait.Approval == nil:
		return nil, protocol.NewError(protocol.CodeConflict, fmt.Sprintf("%s waits for no approval but for %s", i.Workflow, waitText(o.Wait)))
	}
	return o.Wait.Approval, nil
}

func asked(id string, pending []string) error {
	if slices.Contains(pending, id) {
		return nil
	}
	return protocol.NewError(protocol.CodeNotFound, fmt.Sprintf("call %.80q does not wait; there are: %s", id, strings.Join(pending, ", ")))
}

// sendDecision signals an answer to the run that asked.
func sendDecision(ctx context.Context, s *session, workflow protocol.WorkflowID, id protocol.RunID, response protocol.ApprovalResponse, done string) error {
	body, err := protocol.Marshal(response)
	if err != nil {
		return fmt.Errorf("write the decision: %w", err)
	}
	typ := run.SignalApprove
	if done == "denied" {
		typ = run.SignalDeny
	}
	return bus.NewDispatcher(s.Conn).Signal(bus.ToRun(ctx, id), workflow, protocol.SignalPayload{SignalType: typ, Data: body})
}

// decided is what was answered, for machines.
type decided struct {
	Workflow protocol.WorkflowID `json:"workflow"`
	Decision string              `json:"decision"`
	CallIDs  []string            `json:"call_ids"`
	Others   []string            `json:"others,omitempty"` // of which the opposite holds
}

func (a *app) sayDecided(workflow protocol.WorkflowID, done string, named, pending []string) error {
	d := decided{Workflow: workflow, Decision: done, CallIDs: named}
	for _, id := range pending {
		if !slices.Contains(named, id) {
			d.Others = append(d.Others, id)
		}
	}
	if a.flags.json {
		return a.out.json(d)
	}
	line := done + " " + strings.Join(d.CallIDs, ", ")
	if len(d.Others) > 0 {
		opposite := map[string]string{"approved": "denied", "denied": "approved"}[done]
		line += "; " + opposite + " " + strings.Join(d.Others, ", ")
	}
	a.out.print(oneLine(line) + "\n")
	return nil
}
