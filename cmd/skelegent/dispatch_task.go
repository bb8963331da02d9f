package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/skelegent/skelegent-go/actors/inspect"
	"github.com/skelegent/skelegent-go/bus"
	"github.com/skelegent/skelegent-go/bus/task"
	"github.com/skelegent/skelegent-go/protocol"
	"github.com/skelegent/skelegent-go/protocol/wire"
)

// submit stores a job and prints what it is called.
func (a *app) submit(ctx context.Context, s *session, j job) error {
	accepted, err := task.New(s.Conn).Submit(ctx, j.operator, j.in, task.Submission{
		Call: protocol.Call{Run: j.run}, WhenBusy: j.whenBusy, At: j.begin,
	})
	if err != nil {
		return err
	}
	if a.flags.json {
		return a.out.json(accepted)
	}
	a.out.print(a.out.text(string(accepted.Workflow)) + "\n")
	if !a.err.tty {
		return nil
	}
	hint := "accepted"
	if !j.begin.IsZero() {
		hint += ", begins at " + clock(j.begin)
	}
	rest := []string{"--wait"}
	if j.in.Session != nil {
		rest = []string{"--run", word(string(accepted.Run)), "--wait"}
	}
	a.err.print(a.err.in(dim, oneLine(hint+"; see "+command("result", accepted.Workflow, rest...))) + "\n")
	if found, err := s.Operators(ctx, discoveryWait); err == nil && !hosts(found, string(j.operator)) {
		a.err.print(a.err.in(yellow, "no node hosts "+string(j.operator)+" now: the task waits until one does") + "\n")
	}
	return nil
}

// discoveryWait is how long to wait for another node's answer.
const discoveryWait = 300 * time.Millisecond

func hosts(found []bus.OperatorService, operator string) bool {
	for _, o := range found {
		if o.Name == operator {
			return true
		}
	}
	return false
}

// request dispatches a job and waits for the answer.
func request(ctx context.Context, s *session, j job) (protocol.OperatorOutput, error) {
	ctx = protocol.WithCall(ctx, protocol.Call{Run: j.run})
	if j.whenBusy == "" {
		return bus.NewDispatcher(s.Conn).Dispatch(ctx, j.operator, j.in)
	}
	// The dispatcher has no word for it: the header is the node's.
	body, err := protocol.Marshal(j.in)
	if err != nil {
		return protocol.OperatorOutput{}, fmt.Errorf("write the input: %w", err)
	}
	if err := s.CheckSize("input", len(body)); err != nil {
		return protocol.OperatorOutput{}, err
	}
	msg := &nats.Msg{Subject: s.Names().Op(string(j.operator)), Data: body, Header: nats.Header{}}
	deadline, _ := ctx.Deadline()
	bus.EncodeCall(msg.Header, protocol.NextCall(ctx), deadline)
	msg.Header.Set(wire.HeaderWhenBusy, j.whenBusy)
	reply, err := s.NATS().RequestMsgWithContext(ctx, msg)
	if errors.Is(err, nats.ErrNoResponders) {
		return protocol.OperatorOutput{}, notHosted(ctx, s, j.operator)
	}
	if err != nil {
		return protocol.OperatorOutput{}, bus.Translate("dispatch to "+string(j.operator), err)
	}
	return bus.DecodeReply(reply)
}

// notHosted is the error of an operator that nobody hosts, with those that somebody does.
func notHosted(ctx context.Context, s *session, operator protocol.OperatorID) error {
	e := protocol.ErrOperatorNotFound(operator)
	found, err := s.Operators(ctx, discoveryWait)
	if err != nil {
		return e
	}
	var names []string
	for _, o := range found {
		if len(names) == 0 || names[len(names)-1] != o.Name {
			names = append(names, o.Name)
		}
	}
	return e.With("operators", strings.Join(names, ", "))
}

// lookWithin bounds how long is looked for a run whose answer did not come.
const lookWithin = 3 * time.Second

// goesOn is the error of a dispatch whose answer did not come in time. If the run goes on it says so, and how to find it.
func goesOn(ctx context.Context, s *session, j job, err error) error {
	code := protocol.CodeOf(err)
	if ctx.Err() == nil || code != protocol.CodeTimeout && code != protocol.CodeCancelled {
		return err
	}
	look, cancel := context.WithTimeout(context.WithoutCancel(ctx), lookWithin) // the command's own time is over
	defer cancel()
	result, lookErr := inspect.New(s.Conn).Result(look, j.workflow(), j.run)
	if lookErr != nil || result.State.Ended() {
		return err
	}
	state := "still " + string(result.State)
	if text := waitText(result.Wait); text != "" {
		state += " (waits for " + text + ")"
	}
	return protocol.NewError(code, fmt.Sprintf("%s is %s: %s", j.workflow(), state, resultHint(j))).Because(err)
}

func resultHint(j job) string {
	if j.in.Session == nil {
		return command("result", j.workflow(), "--wait")
	}
	return command("result", j.workflow(), "--run", word(string(j.run)), "--wait")
}
