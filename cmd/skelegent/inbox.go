package main

import (
	"context"
	"encoding/json"

	"github.com/spf13/cobra"

	"github.com/skelegent/skelegent-go/actors/inspect"
	"github.com/skelegent/skelegent-go/protocol"
)

func newInbox(a *app) *cobra.Command {
	cmd := &cobra.Command{
		Use: "inbox [OPERATOR]", Short: "List what waits for a person", Args: cobra.MaximumNArgs(1),
		Long: `List the runs that wait until somebody says something: approves or denies what a model wants to do, sends a signal, or
resumes what was paused. Those that wait longest come first, each with the command that answers.`,
		Example: "  skelegent inbox\n  skelegent inbox assistant --json",
	}
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		operator, err := optionalOperator(args)
		if err != nil {
			return err
		}
		return a.withConn(cmd, a.flags.timeout, func(ctx context.Context, s *session) error {
			found, err := inspect.New(s.Conn).Inbox(ctx, operator)
			if err != nil {
				return err
			}
			return a.showInbox(found)
		})
	}
	return cmd
}

func (a *app) showInbox(found []inspect.Waiting) error {
	if a.flags.json {
		return a.out.json(found)
	}
	if len(found) == 0 {
		a.out.print("nobody is waited for\n")
	}
	for i, w := range found {
		if i > 0 {
			a.out.print("\n")
		}
		a.out.print(a.out.in(yellow, clip(string(w.Workflow), 200)) + "  waits for " + clip(waitText(&w.Wait), 200) + ", since " + age(w.Since) + "\n")
		if w.Wait.Approval != nil {
			a.showQuestion(w.Wait.Approval)
		}
		a.out.print("  " + answerHint(w.Workflow, &w.Wait) + "\n")
	}
	return nil
}

// maxQuestion is how much of a call's input is shown.
const maxQuestion = 400

// showQuestion prints the calls that wait for a decision.
func (a *app) showQuestion(q *protocol.ApprovalRequest) {
	if q.Prompt != nil && *q.Prompt != "" {
		a.out.print("  " + clip(*q.Prompt, maxQuestion) + "\n")
	}
	for _, p := range q.Pending {
		line := clip(p.CallID, 80) + "  " + clip(p.ToolName, 80) + " " + clip(compact(p.ToolInput), maxQuestion)
		if reason := reasonText(p.Reason); reason != "" {
			line += "  (" + clip(reason, 120) + ")"
		}
		a.out.print("  " + line + "\n")
	}
}

// compact is JSON on one line; as it is if it is none.
func compact(raw json.RawMessage) string {
	short, err := protocol.Marshal(raw)
	if err != nil {
		return string(raw)
	}
	return string(short)
}

// reasonText says why a call needs approval, where there is more to say than that it does.
func reasonText(r protocol.ApprovalReason) string {
	switch r.Kind() {
	case protocol.ReasonPolicyAlways:
		return ""
	case protocol.ReasonMiddlewareBlocked:
		return "held by " + r.Detail()
	case protocol.ReasonPolicyPredicate:
	}
	return r.Detail()
}
