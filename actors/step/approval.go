package step

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"

	"github.com/skelegent/skelegent-go/actors/run"
	"github.com/skelegent/skelegent-go/protocol"
)

const approval = "approval"

// Approval asks a person about pending tool calls and returns a decision for each, by call id, so these must differ. The run
// is suspended meanwhile. RunID and WaitPoint are filled in.
//
// What decides is the first approve or deny signal that can be read, stored after the question. Its body is an
// ApprovalResponse, or empty: then approve approves all and deny refuses all. A deny with a text, or with {"reason": text},
// refuses all for that reason; one with a response that only approves is no decision. Nor is an answer that names a call
// that does not wait: it is recorded as refused, and the wait goes on.
//
// Where the deadline passes the error is ErrExpired, and there are no decisions: expired is not denied.
func Approval(ctx context.Context, req protocol.ApprovalRequest, opts ...WaitOption) (map[string]Decision, error) {
	at := Next(ctx)
	if !at.Durable() {
		return nil, unsupported("step.Approval")
	}
	req.RunID, req.WaitPoint = at.in.rec.Info().Run, at.path
	t := term{at: at, d: waitingOf(opts).deadline}
	e, err := at.wait(ctx, run.StepAwait, approval, func() (*run.Entry, run.Wait, error) {
		answers, over := t.look(run.SignalApprove, run.SignalDeny)
		decided, refused := judge(answers, req.Pending)
		switch {
		case decided != nil:
			return decided, run.Wait{}, nil
		case over:
			return &run.Entry{Error: expired(approval), Signals: seqs(answers)}, run.Wait{}, nil
		}
		w := run.Wait{
			Reason: run.WaitApproval, Signals: []string{run.SignalApprove, run.SignalDeny}, Timers: t.timers(), Approval: &req,
		}
		if refused == nil {
			return nil, w, nil
		}
		return nil, w, at.refuse(ctx, *refused)
	})
	if err != nil {
		return nil, err
	}
	return decode[map[string]Decision](at, e)
}

// judge returns what is recorded of the first answer that decides, which takes all of them, or of those that do not.
func judge(answers []run.Signal, pending []protocol.PendingToolCall) (decided, refused *run.Entry) {
	for _, s := range answers {
		response, err := answerOf(s)
		if err == nil {
			err = known(named(response), pending)
		}
		if err != nil {
			refused = &run.Entry{Signals: seqs(answers), Error: protocol.NewError(protocol.CodeInvalidInput,
				fmt.Sprintf("signal %s is no decision: %v", s.Type, err)).Clip()}
			continue
		}
		raw, err := protocol.Marshal(Resolve(response, pending))
		if err != nil {
			return nil, &run.Entry{Signals: seqs(answers), Error: recordable(err)}
		}
		return &run.Entry{Result: raw, Signals: seqs(answers)}, nil
	}
	return nil, refused
}

func seqs(signals []run.Signal) []uint64 {
	all := make([]uint64, len(signals))
	for i, s := range signals {
		all[i] = s.Seq
	}
	return all
}

// refuse records answers that decide nothing, within the step.
func (a At) refuse(ctx context.Context, e run.Entry) error {
	for n := 1; ; n++ {
		within := a.in.at(a.path + "." + strconv.Itoa(n))
		_, found, err := within.lookup(ctx, run.StepAwait, approval)
		if err != nil {
			return err
		}
		if !found {
			_, err := within.record(ctx, run.StepAwait, approval, e)
			return err
		}
	}
}

func known(ids []string, pending []protocol.PendingToolCall) error {
	for _, id := range ids {
		if !slices.ContainsFunc(pending, func(p protocol.PendingToolCall) bool { return p.CallID == id }) {
			return fmt.Errorf("call %.100q does not wait for one", id)
		}
	}
	return nil
}

// answerOf reads a signal.
func answerOf(s run.Signal) (protocol.ApprovalResponse, error) {
	body := bytes.TrimSpace(s.Data)
	empty := len(body) == 0 || string(body) == "null" || string(body) == `""`
	if s.Type == run.SignalApprove {
		if empty {
			return protocol.ApproveAll{}, nil
		}
		return protocol.DecodeApprovalResponse(body)
	}
	if empty {
		return protocol.RejectAll{}, nil
	}
	response, err := protocol.DecodeApprovalResponse(body)
	switch response.(type) {
	case protocol.ApproveAll, protocol.Approve, protocol.Modify:
		return nil, fmt.Errorf("it denies and approves: %.100s", body)
	}
	if err == nil {
		return response, nil
	}
	if reason, ok := reasonOf(body); ok {
		return protocol.RejectAll{Reason: reason}, nil
	}
	return nil, err
}

// reasonOf reads a text, or an object that has nothing but a reason.
func reasonOf(body []byte) (string, bool) {
	var text string
	if json.Unmarshal(body, &text) == nil {
		return text, true
	}
	var object struct {
		Reason *string `json:"reason"`
	}
	d := json.NewDecoder(bytes.NewReader(body))
	d.DisallowUnknownFields()
	if d.Decode(&object) != nil || object.Reason == nil {
		return "", false
	}
	return *object.Reason, true
}
