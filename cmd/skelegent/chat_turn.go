package main

import (
	"context"
	"strings"
	"time"

	"github.com/skelegent/skelegent-go/actors/inspect"
	"github.com/skelegent/skelegent-go/actors/run"
	"github.com/skelegent/skelegent-go/bus"
	"github.com/skelegent/skelegent-go/protocol"
)

// answer is how a turn ended.
type answer struct {
	out protocol.OperatorOutput
	err error
}

// turn has the operator answer one line.
func (c *chat) turn(ctx context.Context, text string) error {
	a := c.app
	id := bus.NewRunID()
	j := job{operator: c.operator, in: protocol.Text(text).WithSession(protocol.SessionID(c.session)), run: id}
	waits := make(chan *run.Wait, 16)
	print := func(string) {}
	if a.out.tty && !a.flags.json {
		print = func(s string) { a.out.print(a.out.text(s)) }
	}
	ctx, cancel := context.WithTimeout(ctx, c.timeout)
	defer cancel()
	stream, err := followRun(ctx, c.bus, &j, print, func(w *run.Wait) {
		select {
		case waits <- w:
		default: // so many at once that nobody could answer
		}
	})
	if err != nil {
		return err
	}
	defer stream.stop()
	begin := time.Now()
	got := make(chan answer, 1)
	go func() { // ends with ctx at the latest
		out, err := request(ctx, c.bus, j)
		got <- answer{out, err}
	}()
	t := &turn{chat: c, job: j, cancel: cancel}
	end, err := t.await(ctx, got, waits)
	if err != nil {
		return err
	}
	if end.err != nil {
		return goesOn(ctx, c.bus, j, end.err)
	}
	stream.finish(messageText(end.out.Message))
	switch {
	case a.flags.json:
		if err := a.printOutput(end.out); err != nil {
			return err
		}
	case !a.out.tty:
		a.out.print(messageText(end.out.Message) + "\n")
	}
	a.footer(end.out, id, time.Since(begin))
	return nil
}

// turn is a turn under way.
type turn struct {
	chat    *chat
	job     job
	cancel  context.CancelFunc
	asking  *protocol.ApprovalRequest // what a person at the terminal is asked
	stopped bool                      // Ctrl-C was typed
}

// await waits for the answer. Meanwhile it asks what the run asks, and stops it with Ctrl-C.
func (t *turn) await(ctx context.Context, got <-chan answer, waits <-chan *run.Wait) (answer, error) {
	for {
		var lines <-chan string
		if t.asking != nil {
			lines = t.chat.lines
		}
		select {
		case end := <-got:
			return end, nil
		case w := <-waits:
			t.waits(w)
		case line, ok := <-lines:
			if !ok { // Ctrl-D
				t.cancel()
				return answer{}, protocol.NewError(protocol.CodeCancelled, "not answered: "+answerHint(t.job.workflow(), &run.Wait{Approval: t.asking}))
			}
			if err := t.decide(ctx, line); err != nil {
				return answer{}, err
			}
		case <-t.chat.interrupted:
			if err := t.interrupt(ctx); err != nil {
				return answer{}, err
			}
		}
	}
}

// waits tells what the run waits for, and asks where it is to be approved and somebody sits there.
func (t *turn) waits(w *run.Wait) {
	a := t.chat.app
	hint := answerHint(t.job.workflow(), w)
	if hint == "" {
		return
	}
	if w.Approval == nil || !a.inTTY || !a.out.tty || a.flags.json {
		a.err.print(oneLine("waits for "+waitText(w)+": "+hint) + "\n")
		return
	}
	a.out.print(a.out.in(yellow, "waits for your approval:") + "\n")
	a.showQuestion(w.Approval)
	t.asking = w.Approval
	t.chat.prompt(approvalPrompt)
}

const approvalPrompt = "approve? [y, n, or n and why] "

// decide takes a line as the answer to what was asked.
func (t *turn) decide(ctx context.Context, line string) error {
	verb, reason, _ := strings.Cut(strings.TrimSpace(line), " ")
	var ids []string
	for _, p := range t.asking.Pending {
		ids = append(ids, p.CallID)
	}
	var response protocol.ApprovalResponse
	done := "approved"
	switch strings.ToLower(verb) {
	case "y", "yes":
		response = protocol.Approve{CallIDs: ids}
	case "n", "no":
		response, done = protocol.Reject{CallIDs: ids, Reason: strings.TrimSpace(reason)}, "denied"
	default:
		t.chat.prompt(approvalPrompt)
		return nil
	}
	t.asking = nil
	return sendDecision(ctx, t.chat.bus, t.job.workflow(), t.job.run, response, done)
}

// interrupt stops the run: one that has a log is told to, and answers; any other is left alone. The second time it is left
// alone too.
func (t *turn) interrupt(ctx context.Context) error {
	t.asking = nil
	a := t.chat.app
	if t.stopped {
		t.cancel()
		return protocol.NewError(protocol.CodeCancelled, "no longer waited for; "+resultHint(t.job))
	}
	t.stopped = true
	look, cancel := context.WithTimeout(ctx, lookWithin)
	defer cancel()
	result, err := inspect.New(t.chat.bus.Conn).Result(look, t.job.workflow(), t.job.run)
	if err != nil {
		t.cancel()
		return protocol.NewError(protocol.CodeCancelled, "no longer waited for; the operator keeps no log, and may go on")
	}
	if result.State.Ended() {
		return nil
	}
	if a.err.tty {
		a.err.print("\nstopping ...\n")
	}
	err = bus.NewDispatcher(t.chat.bus.Conn).Signal(bus.ToRun(ctx, t.job.run), t.job.workflow(), protocol.SignalPayload{SignalType: run.SignalCancel})
	return err
}
