package instance

import (
	"context"
	"encoding/json"
	"fmt"
	"strconv"
	"time"

	"github.com/nats-io/nats.go"
	"go.uber.org/zap"

	"github.com/skelegent/skelegent-go/actors/internal/operator"
	"github.com/skelegent/skelegent-go/actors/run"
	"github.com/skelegent/skelegent-go/bus"
	"github.com/skelegent/skelegent-go/protocol"
	"github.com/skelegent/skelegent-go/protocol/wire"
)

// settlePause is how long a settlement waits that failed.
const settlePause = 500 * time.Millisecond

// settle does what follows from a commit, until it is done or ctx ends. All of it has ids or names of its own, so that it can
// be done again.
func (h *Host) settle(ctx context.Context, s *session, c *run.Commit) error {
	for {
		err := h.trySettle(ctx, s, c)
		if err == nil || ctx.Err() != nil || h.isLeaving() {
			return err
		}
		h.log.Warn("commit not settled, trying again", zap.String("run_id", string(c.Run)), zap.Uint64("seq", c.Seq),
			zap.String("code", string(protocol.CodeOf(err))), zap.Error(err))
		if !sleep(ctx, settlePause) {
			return err
		}
	}
}

func (h *Host) trySettle(ctx context.Context, s *session, c *run.Commit) error {
	if len(c.Requests) > 0 {
		if err := h.conn.PublishEffects(ctx, handedOn(c)); err != nil {
			return err
		}
	}
	if err := h.stopChildren(ctx, s, c); err != nil {
		return err
	}
	if c.Wait != nil {
		return h.settleWait(ctx, s, c)
	}
	if c.Parent != nil {
		if err := h.tellParent(ctx, c); err != nil {
			return err
		}
	}
	if c.Kind == protocol.EventFailed {
		if err := h.bury(ctx, s, c); err != nil {
			return err
		}
	}
	return h.answer(c.Inboxes, c)
}

// handsOff reports whether another operator goes on, and answers.
func handsOff(c *run.Commit) bool {
	for _, r := range c.Requests {
		if r.Kind == string(protocol.KindHandoff) {
			return true
		}
	}
	return false
}

// handedOn lets the first operator that is handed to answer those who wait.
func handedOn(c *run.Commit) []protocol.EffectRequest {
	for i, r := range c.Requests {
		if r.Kind == string(protocol.KindHandoff) && len(c.Inboxes) > 0 {
			out := append([]protocol.EffectRequest(nil), c.Requests...)
			out[i].Inboxes = c.Inboxes
			return out
		}
	}
	return c.Requests
}

// settleWait sets the timers of a suspended run.
func (h *Host) settleWait(ctx context.Context, s *session, c *run.Commit) error {
	for _, d := range c.Wait.Timers {
		body, err := protocol.Marshal(run.Timer{Run: c.Run, Path: d.Path, After: c.Seq})
		if err != nil {
			return fmt.Errorf("write timer: %w", err)
		}
		name := string(c.Run) + "/" + d.Path
		if err := h.tasks.WakeAt(ctx, string(h.cfg.ID), s.token, name, d.At, nil, body); err != nil {
			return err
		}
	}
	return nil
}

// stopChildren tells the children that a run leaves behind to stop, and bars those that may not have begun: nobody else
// would tell of their end.
func (h *Host) stopChildren(ctx context.Context, s *session, c *run.Commit) error {
	dispatcher := bus.NewDispatcher(h.conn)
	for _, child := range c.Stop {
		target := protocol.WorkflowID(string(child.Operator) + "/" + child.Instance)
		if err := dispatcher.Signal(bus.ToRun(ctx, child.Run), target, protocol.SignalPayload{
			SignalType: run.SignalCancel, Data: json.RawMessage(`"the run that waited for it has ended"`),
		}); err != nil {
			return err
		}
		body, err := protocol.Marshal(run.Input{Run: child.Run, Parent: &run.Parent{
			Operator: h.cfg.ID, Instance: s.name(), Run: c.Run, Seq: child.Seq,
		}})
		if err != nil {
			return fmt.Errorf("write bar: %w", err)
		}
		if _, err := h.tasks.Enqueue(ctx, &nats.Msg{
			Subject: h.conn.Names().Wake(string(child.Operator), wire.Escape(child.Instance), sourceBar), Data: body,
			Header: nats.Header{wire.HeaderRunID: {string(child.Run)}},
		}); err != nil {
			return err
		}
	}
	return nil
}

// tellParent wakes the run that waits for the end of this one.
func (h *Host) tellParent(ctx context.Context, c *run.Commit) error {
	p := c.Parent
	end := run.ChildEnd{Run: c.Run, Output: c.Output, Error: c.Error}
	body, err := protocol.Marshal(end)
	if err == nil && (len(body) > maxInline || h.conn.CheckSize("output", len(body)) != nil) && c.Output != nil {
		// The parent's own blob: this instance may be forgotten before the parent reads it.
		end.Output = nil
		blob, putErr := h.blobs.Put(ctx, string(p.Operator), wire.Escape(p.Instance), c.Output)
		if putErr != nil {
			return putErr
		}
		end.Blob = &run.Blob{SHA256: blob.SHA256, Size: blob.Size}
		body, err = protocol.Marshal(end)
	}
	if err != nil {
		return fmt.Errorf("write end of child: %w", err)
	}
	_, err = h.tasks.Enqueue(ctx, &nats.Msg{
		Subject: h.conn.Names().Wake(string(p.Operator), wire.Escape(p.Instance), "child"), Data: body,
		Header: nats.Header{wire.HeaderParentSeq: {strconv.FormatUint(p.Seq, 10)}, wire.HeaderRunID: {string(c.Run)}},
	})
	return err
}

// bury puts a failed run among the dead letters, with its input.
func (h *Host) bury(ctx context.Context, s *session, c *run.Commit) error {
	letter := protocol.DeadLetter{
		ID: string(h.cfg.ID) + "/" + s.token + "/" + string(c.Run), Operator: h.cfg.ID, Instance: s.name(), Run: c.Run,
		Subject: h.conn.Names().Task(string(h.cfg.ID)), Reason: c.Error, Attempts: c.Attempts,
	}
	body, err := h.bodyOf(ctx, s.token, &c.Input)
	if err != nil {
		return err
	}
	letter.Input = body
	return h.conn.PublishDead(ctx, letter)
}

// answer tells those who wait what the run came to. They may have gone; then result finds it.
func (h *Host) answer(inboxes []string, c *run.Commit) error {
	if c.Kind == protocol.EventCompleted && handsOff(c) {
		return nil
	}
	for _, inbox := range inboxes {
		if !operator.Replyable(inbox) {
			continue
		}
		if err := h.conn.NATS().PublishMsg(h.reply(inbox, c.Output, c.Error)); err != nil {
			return bus.Translate("answer", err)
		}
	}
	return nil
}

func (h *Host) reply(inbox string, output json.RawMessage, failure *protocol.Error) *nats.Msg {
	if failure == nil && h.conn.CheckSize("output", len(output)) != nil {
		failure = protocol.AsError(h.conn.CheckSize("output", len(output)))
		failure.Message += "; it is in the log: ask for the result"
	}
	if failure != nil {
		return bus.ErrorMessage(inbox, failure)
	}
	return &nats.Msg{Subject: inbox, Data: output}
}

// answerKnown answers a task whose run is over, or will not be.
func (h *Host) answerKnown(ctx context.Context, s *session, in *run.Input, k run.Known) error {
	var output json.RawMessage
	var failure *protocol.Error
	if k.Kind == "" || k.Hash != in.Hash {
		failure = protocol.NewError(protocol.CodeConflict, fmt.Sprintf("run id %s was given to another input before", in.Run))
	} else {
		// The record that says so has it; it may be gone.
		record, err := h.runs.Get(ctx, k.Seq)
		if err != nil {
			failure = protocol.NewError(protocol.CodeNotFound, "the run is over, and its result is no longer kept").Because(err)
			if protocol.CodeOf(err) != protocol.CodeNotFound {
				return err
			}
		} else if output, failure, err = h.endOf(ctx, s, record.Data, k.Kind); err != nil {
			return err
		}
	}
	if in.Parent != nil {
		if err := h.tellParent(ctx, &run.Commit{Input: *in, Output: output, Error: failure}); err != nil {
			return err
		}
	}
	for _, inbox := range in.Inboxes {
		if err := h.conn.NATS().PublishMsg(h.reply(inbox, output, failure)); err != nil {
			return bus.Translate("answer", err)
		}
	}
	return nil
}

// endOf reads what a run came to out of the record that says so.
func (h *Host) endOf(ctx context.Context, s *session, data []byte, kind protocol.EventKind) (json.RawMessage, *protocol.Error, error) {
	e, err := protocol.DecodeEvent(data)
	if err != nil {
		return nil, nil, h.defect(err)
	}
	parts := append([]protocol.EventPart{{Kind: e.Kind, Data: e.Data}}, e.Also...)
	for _, p := range parts {
		if p.Kind != kind {
			continue
		}
		var end struct {
			run.Completed
			run.Refused
			run.Cancelled
		}
		if err := h.hydrate(ctx, s.token, &p.Data, p.Kind); err != nil {
			return nil, nil, err
		}
		if err := json.Unmarshal(p.Data, &end); err != nil {
			return nil, nil, h.defect(err)
		}
		switch {
		case kind == protocol.EventCompleted:
			return end.Output, nil, nil
		case end.Error != nil:
			return nil, end.Error, nil
		case kind == protocol.EventCancelled:
			return nil, run.CancelledError(end.Reason), nil
		}
	}
	return nil, protocol.NewError(protocol.CodeConflict, "the input was taken up by another run of its instance"), nil
}
