package task

import (
	"context"
	"fmt"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/skelegent/skelegent-go/bus"
	"github.com/skelegent/skelegent-go/protocol"
	"github.com/skelegent/skelegent-go/protocol/wire"
)

// Submission is what goes with an input; the zero value asks for nothing.
type Submission struct {
	// Call is what travels with a dispatch; a run id is made where it has none.
	Call protocol.Call
	// Deadline is when the run has to be over; zero for never.
	Deadline time.Time
	// WhenBusy is what to do while a run of the session is open (enqueue, reject, steer, interrupt); the operator's own
	// policy if empty.
	WhenBusy string
	// Inboxes are told what the run came to.
	Inboxes []string
	// At is when to begin; zero, or a time that has passed, is at once.
	At time.Time
}

// Accepted says what a submission became.
type Accepted struct {
	// Workflow is OPERATOR/INSTANCE.
	Workflow protocol.WorkflowID `json:"workflow"`
	Run      protocol.RunID      `json:"run"`
	// Seq is the task's sequence, 0 for one that is to begin later.
	Seq uint64 `json:"seq,omitempty"`
}

// Submit stores an input for an operator, which nobody need host just now, and returns when it is accepted. Repeated with the
// same run id it is one run.
func (t *Tasks) Submit(ctx context.Context, operator protocol.OperatorID, in protocol.OperatorInput, s Submission) (Accepted, error) {
	if err := wire.CheckOperator(string(operator)); err != nil {
		return Accepted{}, protocol.NewError(protocol.CodeInvalidInput, "invalid input: "+err.Error())
	}
	if err := in.Validate(); err != nil {
		return Accepted{}, err
	}
	body, err := protocol.Marshal(in)
	if err != nil {
		return Accepted{}, protocol.NewError(protocol.CodeInvalidInput, "input cannot be written as JSON: "+err.Error()).Because(err)
	}
	if err := t.conn.CheckSize("input", len(body)); err != nil {
		return Accepted{}, err
	}
	if s.Call.Run == "" {
		s.Call.Run = bus.NewRunID()
	}
	instance := string(s.Call.Run)
	if in.Session != nil {
		instance = string(*in.Session)
	}
	accepted := Accepted{Workflow: protocol.WorkflowID(fmt.Sprintf("%s/%s", operator, instance)), Run: s.Call.Run}
	header := make(nats.Header, 4)
	bus.EncodeCall(header, s.Call, s.Deadline)
	if s.WhenBusy != "" {
		header[wire.HeaderWhenBusy] = []string{s.WhenBusy}
	}
	if len(s.Inboxes) > 0 {
		header[wire.HeaderReply] = s.Inboxes
	}
	if s.At.After(time.Now()) {
		return accepted, t.TaskAt(ctx, string(operator), string(accepted.Workflow)+"/"+string(s.Call.Run), s.At, header, body)
	}
	accepted.Seq, err = t.Enqueue(ctx, &nats.Msg{Subject: t.conn.Names().Task(string(operator)), Header: header, Data: body})
	return accepted, err
}

// Dispatcher returns a dispatcher that submits and does not wait: its outputs are empty. Those who want the answer are the
// inboxes of WithInboxes.
func (t *Tasks) Dispatcher() protocol.Dispatcher {
	return protocol.DispatcherFunc(func(ctx context.Context, operator protocol.OperatorID, in protocol.OperatorInput) (protocol.OperatorOutput, error) {
		inboxes, _ := ctx.Value(inboxesKey{}).([]string)
		_, err := t.Submit(ctx, operator, in, Submission{Call: protocol.NextCall(ctx), Inboxes: inboxes})
		return protocol.OperatorOutput{}, err
	})
}

type inboxesKey struct{}

// WithInboxes returns a context in which the Dispatcher has the answer sent to inboxes.
func WithInboxes(ctx context.Context, inboxes []string) context.Context {
	return context.WithValue(ctx, inboxesKey{}, inboxes)
}

// CheckCron returns an *protocol.Error with code invalid_input unless cron is what TaskEvery takes.
func CheckCron(cron string) error { return checkCron(cron) }
