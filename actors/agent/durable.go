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

// modelStep is the name of the step that a turn's model call is.
const modelStep = "model"

// ask makes a model call at this place.
func (r *run) ask(ctx context.Context, at step.At, name string, req protocol.InferRequest) (resp protocol.InferResponse, err error) {
	if !at.Durable() {
		resp, end := r.infer(ctx, req)
		return resp, end.orNil()
	}
	var end *stop
	e, err := at.Run(ctx, step.Spec{Kind: journal.StepModel, Name: name}, func(ctx context.Context) (journal.Entry, error) {
		ctx, cancel := r.timed(ctx, false)
		defer cancel()
		resp, end = r.infer(ctx, req)
		if end != nil {
			return journal.Entry{}, errUnrecorded
		}
		e, err := r.answered(resp)
		if err != nil {
			end = r.giveUp(r.log, protocol.WrapModel(protocol.ErrInvalidResponse("it cannot be recorded").Because(err)), protocol.Exit(protocol.ExitError))
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
	var how asked
	if err := json.Unmarshal(e.Result, &how); err != nil {
		return resp, &stop{err: err}
	}
	r.squeezed = how.Squeezed
	return resp, nil
}

// asked is what is recorded beside an answer of how it was asked for.
type asked struct {
	Squeezed bool `json:"squeezed,omitempty"`
}

// askFor makes a model call for a rule, at a place of its own.
func (r *run) askFor(ctx context.Context, name string, req protocol.InferRequest) (protocol.InferResponse, error) {
	at := step.Next(ctx)
	known, err := at.Known(ctx)
	if err != nil {
		return protocol.InferResponse{}, r.broken(ctx, err)
	}
	if end := r.mustStop(ctx, false, known, known); end != nil {
		return protocol.InferResponse{}, end
	}
	if req.Model == "" {
		req.Model = r.c.Params.Model
	}
	defer func(squeezed bool) { r.aside, r.squeezed = false, squeezed }(r.squeezed)
	r.aside = true
	resp, err := r.ask(ctx, at, name, req)
	var end *stop
	if errors.As(err, &end) && end.err != nil && ctx.Err() == nil { // the rule may go on without an answer
		err = end.err
	}
	return resp, err
}

// orNil is an error without a value where there is none.
func (s *stop) orNil() error {
	if s == nil {
		return nil
	}
	return s
}

// answered is what is recorded of a model's answer: what it adds, never what it was asked.
func (r *run) answered(resp protocol.InferResponse) (e journal.Entry, err error) {
	resp.ToolCalls = r.repair(resp)
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
	if how := encoded(asked{r.squeezed}); len(how) > len(`{}`) {
		e.Result = append(append(e.Result[:len(e.Result)-1], ','), how[1:]...)
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

// perform makes one call as a step. It is called side by side with others of the same answer.
func (r *run) perform(ctx context.Context, p *prepared) {
	c := p.op.Call
	spec := step.Spec{Kind: journal.StepTool, Name: c.Name}
	if p.tool != nil && !tool.CanRepeat(p.tool) {
		spec.Unknown = func() journal.Entry { return recorded(c, unknownOutcome()) }
		begun := assembled(c)
		if len(begun.Input) > maxShown { // what was called is in the answer
			begun.Input = nil
		}
		spec.Info = encoded(begun)
	}
	var live outcome
	e, err := p.at.Run(ctx, spec, func(ctx context.Context) (journal.Entry, error) {
		if spec.Unknown == nil && !p.known { // the log has no start of it
			r.events.Emit(protocol.EventToolCallAssembled, assembled(c))
		}
		ctx, cancel := r.timed(ctx, p.known)
		defer cancel()
		live = r.invoke(ctx, p, p.at.Key())
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
		p.out = live
		return
	case err != nil:
		p.end = r.broken(ctx, err)
		return
	}
	if err := json.Unmarshal(e.Result, &p.out); err != nil {
		p.end = &stop{err: err}
		return
	}
	if p.out.Error != nil {
		p.out.err = p.out.Error
		var crash *tool.PanicError
		if errors.As(live.err, &crash) { // for our own log
			p.out.err = p.out.Error.Because(crash)
		}
	}
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
