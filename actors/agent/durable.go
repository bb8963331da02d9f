package agent

import (
	"context"
	"encoding/json"
	"errors"

	journal "github.com/skelegent/skelegent-go/actors/run"
	"github.com/skelegent/skelegent-go/actors/step"
	"github.com/skelegent/skelegent-go/actors/tool"
	"github.com/skelegent/skelegent-go/protocol"
)

// This file is what a run records that has a log. Each model call is a step, each tool call is one, and each answer that
// needs approval. On replay they come from the log, so the conversation is the same and nothing is paid or done again.

// history are the earlier turns of the session.
func history(turns []journal.Turn) (messages []protocol.Message) {
	say := func(role protocol.Role, raw json.RawMessage) {
		var c protocol.Content
		if len(raw) == 0 || protocol.Unmarshal(raw, &c) != nil {
			return // written by another program; the rest still helps
		}
		if text, ok := c.AsText(); ok && text == "" && len(c.Blocks()) == 0 {
			return // providers refuse it
		}
		messages = append(messages, protocol.NewMessage(role, c))
	}
	for _, t := range turns {
		say(protocol.RoleUser, t.In)
		say(protocol.RoleAssistant, t.Out)
	}
	return messages
}

// broken returns how the run stops on an error of its recorder.
func (r *run) broken(ctx context.Context, err error) *stop {
	if !step.Unwinding(err) {
		if end := ended(ctx); end != nil {
			return end
		}
	}
	return &stop{err: err}
}

// errUnrecorded leaves a step whose outcome is not for the log, but known to who made it.
var errUnrecorded = errors.New("not recorded")

// ask makes the model call at this place, behind what was said to the run meanwhile.
func (r *run) ask(ctx context.Context, at step.At) (resp protocol.InferResponse, end *stop) {
	if !at.Durable() {
		return r.infer(ctx)
	}
	said, err := at.Steer(ctx)
	if err != nil {
		return resp, r.broken(ctx, err)
	}
	r.conv.Append(said...)
	e, err := at.Run(ctx, step.Spec{Kind: journal.StepModel, Name: "model"}, func(ctx context.Context) (journal.Entry, error) {
		ctx, cancel := r.timed(ctx, false)
		defer cancel()
		resp, end = r.infer(ctx)
		if end != nil {
			return journal.Entry{}, errUnrecorded
		}
		e, err := r.answered(resp)
		if err != nil {
			end = r.giveUp(r.log, protocol.ErrInvalidResponse("it cannot be recorded").Because(err), protocol.Exit(protocol.ExitError))
			return journal.Entry{}, errUnrecorded
		}
		return e, nil
	})
	switch {
	case errors.Is(err, errUnrecorded):
		return resp, end
	case err != nil:
		return resp, r.broken(ctx, err)
	}
	resp = protocol.InferResponse{}
	if err := protocol.Unmarshal(e.Result, &resp); err != nil {
		return resp, &stop{err: err}
	}
	return resp, nil
}

// answered is what is recorded of a model's answer: what it adds, never what it was asked.
func (r *run) answered(resp protocol.InferResponse) (e journal.Entry, err error) {
	resp.ToolCalls = r.repair(resp.ToolCalls)
	if resp.StopReason == "" {
		resp.StopReason = protocol.StopEndTurn
	}
	e.Cost = resp.Cost
	if e.Result, err = protocol.Marshal(resp); err != nil {
		return e, err
	}
	if err := protocol.Unmarshal(e.Result, new(protocol.InferResponse)); err != nil {
		return e, err
	}
	info := struct {
		Model      string              `json:"model"`
		Usage      protocol.TokenUsage `json:"usage"`
		Cost       json.RawMessage     `json:"cost,omitempty"` // null if unknown, else the entry's own
		StopReason protocol.StopReason `json:"stop_reason"`
		ToolCalls  int                 `json:"tool_calls"`
	}{Model: resp.Model, Usage: resp.Usage, StopReason: resp.StopReason, ToolCalls: len(resp.ToolCalls)}
	if resp.Cost == nil {
		info.Cost = json.RawMessage("null")
	}
	e.Info, err = protocol.Marshal(info)
	return e, err
}

// maxShown is how many bytes of a result observers of the log are shown; the model sees what Config.MaxResultText says.
const maxShown = 16 << 10

// perform makes one call as a step.
func (r *run) perform(ctx context.Context, at step.At, c protocol.ToolCall, known bool) (o outcome, end *stop) {
	spec := step.Spec{Kind: journal.StepTool, Name: c.Name}
	if t, ok := r.tools.Get(c.Name); ok && !tool.CanRepeat(t) {
		spec.Unknown = func() journal.Entry { return recorded(c, unknownOutcome()) }
		spec.Info = encoded(assembled(c))
	}
	var live outcome
	e, err := at.Run(ctx, spec, func(ctx context.Context) (journal.Entry, error) {
		if spec.Unknown == nil && !known { // the log has no start of it
			r.events.Emit(protocol.EventToolCallAssembled, assembled(c))
		}
		ctx, cancel := r.timed(ctx, known)
		defer cancel()
		live = r.invoke(ctx, c, at.Key())
		switch {
		case step.Unwinding(live.err):
			return journal.Entry{}, live.err
		case live.err != nil && ctx.Err() != nil:
			live.interrupted = true
			return journal.Entry{}, errUnrecorded
		}
		return recorded(c, live), nil
	})
	switch {
	case errors.Is(err, errUnrecorded):
		return live, nil
	case err != nil:
		return o, r.broken(ctx, err)
	}
	if err := json.Unmarshal(e.Result, &o); err != nil {
		return o, &stop{err: err}
	}
	if o.Error != nil {
		o.err = o.Error
		var crash *tool.PanicError
		if errors.As(live.err, &crash) { // for our own log
			o.err = o.Error.Because(crash)
		}
	}
	return o, nil
}

// recorded is what is recorded of a call. One whose effects do not fit into the log has failed: they cannot be declared.
func recorded(c protocol.ToolCall, o outcome) journal.Entry {
	raw, err := protocol.Marshal(o)
	if err == nil {
		err = json.Unmarshal(raw, new(outcome))
	}
	if err != nil {
		e := protocol.ErrToolFailed("what the tool declared cannot be recorded; this is a defect of the tool")
		o.Effects, o.Text, o.Error = nil, tool.ErrorText(e), e
		raw = encoded(o)
	}
	return journal.Entry{
		Result: raw, Cost: o.Cost, Info: encoded(received(c, tool.Cut(o.Text, maxShown), o.Error != nil)),
	}
}

func unknownOutcome() outcome {
	e := protocol.ErrToolFailed("the outcome of this call is unknown: the process ended while it was made, so it may or may not " +
		"have happened. Find out before you repeat it")
	return outcome{Text: tool.ErrorText(e), Error: e, Unknown: true}
}
