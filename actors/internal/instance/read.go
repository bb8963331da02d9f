package instance

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/google/uuid"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"go.uber.org/zap"

	"github.com/skelegent/skelegent-go/actors/internal/operator"
	"github.com/skelegent/skelegent-go/actors/run"
	"github.com/skelegent/skelegent-go/bus"
	"github.com/skelegent/skelegent-go/bus/task"
	"github.com/skelegent/skelegent-go/protocol"
	"github.com/skelegent/skelegent-go/protocol/wire"
)

// maxInline is how large an input, an output or a result may be to go into the log itself; what is larger becomes a blob.
const maxInline = 32 << 10

// incoming is a task that was read.
type incoming struct {
	task            run.Task
	token, instance string
	// fresh says that the log is in all likelihood empty.
	fresh bool
	// large is an input that is too large for the log.
	large []byte
}

// unreadable is the error of a task that no attempt can make sense of.
type unreadable struct{ reason *protocol.Error }

func (u *unreadable) Error() string { return u.reason.Message }
func (u *unreadable) Unwrap() error { return u.reason }

// read makes a task of a message. Its error is *unreadable.
func (h *Host) read(msg jetstream.Msg, meta *jetstream.MsgMetadata) (incoming, error) {
	carrier := run.Carrier{
		ID:  run.TaskID{Seq: meta.Sequence.Stream, Time: meta.Timestamp.UnixNano()},
		Ack: msg.Reply(), Delivery: meta.NumDelivered,
	}
	var in incoming
	var err error
	if msg.Subject() == h.conn.Names().Task(string(h.cfg.ID)) {
		in, err = h.readInput(msg, meta, carrier.ID)
	} else {
		in, err = h.readWake(msg, meta)
	}
	in.task.Carrier = carrier
	return in, err
}

func (h *Host) readInput(msg jetstream.Msg, meta *jetstream.MsgMetadata, id run.TaskID) (incoming, error) {
	headers := msg.Headers()
	call, deadline, err := bus.DecodeCall(headers)
	if err != nil {
		return incoming{}, &unreadable{protocol.AsError(err)}
	}
	body, err := bus.DecodeInput(msg.Data())
	if err != nil {
		return incoming{}, &unreadable{protocol.AsError(err)}
	}
	canonical, err := protocol.Marshal(body)
	if err != nil {
		return incoming{}, &unreadable{protocol.AsError(err)}
	}
	in := &run.Input{
		Run: call.Run, Hash: digest(canonical), Body: canonical, Mode: run.Mode(headers.Get(wire.HeaderWhenBusy)), ParentRun: call.Parent,
		Deadline: deadline, Budget: call.Budget, Depth: call.Depth, Trace: call.Trace, TakeEffects: call.TakeEffects, Task: id,
	}
	if in.Mode == "" {
		in.Mode = h.cfg.WhenBusy
	}
	if !in.Mode.Valid() {
		return incoming{}, badHeader(wire.HeaderWhenBusy, "must be enqueue, reject, steer or interrupt")
	}
	for _, inbox := range headers.Values(wire.HeaderReply) {
		if !validInbox(inbox) || len(in.Inboxes) == maxInboxes {
			h.log.Warn("task with a reply subject that is no inbox")
			continue
		}
		in.Inboxes = append(in.Inboxes, inbox)
	}
	if in.Run == "" {
		in.Run = h.derivedRun(headers, id)
	}
	out := incoming{task: run.Task{Input: in}, instance: string(in.Run)}
	if body.Session != nil {
		out.instance = string(*body.Session)
	} else {
		out.fresh = meta.NumDelivered == 1
	}
	if !utf8.ValidString(out.instance) {
		return incoming{}, &unreadable{protocol.NewError(protocol.CodeInvalidInput, "invalid input: session: not UTF-8")}
	}
	out.token = wire.Escape(out.instance)
	if in.Parent, err = parentOf(headers.Get(wire.HeaderParent), headers.Get(wire.HeaderParentSeq), call.Parent); err != nil {
		return incoming{}, err
	}
	if len(canonical) > maxInline {
		in.Body, out.large = nil, canonical
	}
	return out, nil
}

// derivedRun is the run id of a task that brings none: the same at every delivery. What a schedule made is known by the
// sequence that it had there, for a server that was killed may take it over from there twice.
func (h *Host) derivedRun(headers nats.Header, id run.TaskID) protocol.RunID {
	seed := fmt.Sprintf("%d/%d/%d", h.stream, id.Seq, id.Time)
	if seq, ok := task.Source(headers); ok {
		seed = fmt.Sprintf("%d/source/%d", h.stream, seq)
	}
	return protocol.RunID(uuid.NewSHA1(uuid.NameSpaceOID, []byte(seed)).String())
}

// maxInboxes bounds who waits for one answer by one task.
const maxInboxes = 16

// maxInbox is the longest inbox that is answered to.
const maxInbox = 256

// validInbox reports whether a node may publish to what a task says is an inbox, and the server would take it.
func validInbox(s string) bool {
	if s == "" || len(s) > maxInbox || !operator.Replyable(s) || strings.HasSuffix(s, ".") || strings.Contains(s, "..") {
		return false
	}
	for i := range len(s) {
		if s[i] <= ' ' || s[i] > '~' || s[i] == '*' || s[i] == '>' {
			return false
		}
	}
	return true
}

func badHeader(name, what string) error {
	return &unreadable{protocol.NewError(protocol.CodeInvalidInput, "invalid input: header "+name+": "+what).With("field", name)}
}

func parentOf(workflow, seq string, parent protocol.RunID) (*run.Parent, error) {
	if workflow == "" {
		return nil, nil //nolint:nilnil // most runs have none
	}
	op, instance, err := wire.ParseWorkflow(workflow)
	n, seqErr := strconv.ParseUint(seq, 10, 64)
	if err != nil || seqErr != nil || parent == "" {
		return nil, badHeader(wire.HeaderParent, "not what a node writes")
	}
	return &run.Parent{Operator: protocol.OperatorID(op), Instance: instance, Run: parent, Seq: n}, nil
}

func (h *Host) putBlob(ctx context.Context, token string, data []byte) (*run.Blob, error) {
	b, err := h.blobs.Put(ctx, string(h.cfg.ID), token, data)
	if err != nil {
		return nil, err
	}
	return &run.Blob{SHA256: b.SHA256, Size: b.Size}, nil
}

// digest is the SHA-256 in hexadecimal digits.
func digest(b []byte) string {
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:])
}

// readWake reads skg.wake.<operator>.<instance>.<source>.
func (h *Host) readWake(msg jetstream.Msg, meta *jetstream.MsgMetadata) (incoming, error) {
	token, source := h.wakeToken(msg.Subject())
	out := incoming{token: token, instance: token}
	if len(token) > wire.MaxToken || len(source) > wire.MaxToken+len("sig.") { // a log of that name would be longer than a line may be
		return out, &unreadable{protocol.NewError(protocol.CodeInvalidInput, fmt.Sprintf("a name in a subject may have %d bytes", wire.MaxToken))}
	}
	if instance, err := wire.Unescape(token); err == nil {
		out.instance = instance
	}
	headers := msg.Headers()
	switch {
	case strings.HasPrefix(source, "sig."):
		typ, err := wire.Unescape(strings.TrimPrefix(source, "sig."))
		if err != nil {
			return out, &unreadable{protocol.NewError(protocol.CodeInvalidInput, "signal type cannot be read")}
		}
		seq, ok := task.Source(headers)
		if !ok {
			return out, &unreadable{protocol.NewError(protocol.CodeInvalidInput, "wake of a signal that no log has")}
		}
		out.task.Signal = &run.Signal{
			Seq: seq, Type: typ, Run: protocol.RunID(headers.Get(wire.HeaderRunID)), Time: meta.Timestamp.UTC(),
			Data: signalData(msg.Data()),
		}
		if len(out.task.Signal.Data) > maxInline || len(out.task.Signal.Run) > wire.MaxID || !utf8.ValidString(string(out.task.Signal.Run)) {
			return out, &unreadable{protocol.NewError(protocol.CodeQuotaExceeded, fmt.Sprintf("a signal may have %d bytes", maxInline))}
		}
		return out, nil
	case source == sourceBar:
		out.task.Input, out.task.Bar = &run.Input{}, true
		err := readJSON(msg.Data(), out.task.Input)
		if err == nil && (out.task.Input.Run == "" || out.task.Input.Parent == nil) {
			err = badHeader(wire.HeaderParent, "not what a node writes")
		}
		return out, err
	case source == "timer":
		out.task.Timer = &run.Timer{}
		return out, readJSON(msg.Data(), out.task.Timer)
	case source == "child":
		out.task.Child = &run.ChildEnd{}
		after, err := strconv.ParseUint(headers.Get(wire.HeaderParentSeq), 10, 64)
		if err != nil {
			return out, badHeader(wire.HeaderParentSeq, "not what a node writes")
		}
		out.task.After = after
		return out, readJSON(msg.Data(), out.task.Child)
	}
	return out, &unreadable{protocol.NewError(protocol.CodeInvalidInput, "wake from an unknown source")}
}

// wakeToken splits the subject of a wake.
func (h *Host) wakeToken(subject string) (token, source string) {
	rest := strings.TrimPrefix(subject, strings.TrimSuffix(h.conn.Names().WakesOf(string(h.cfg.ID)), ">"))
	token, source, _ = strings.Cut(rest, ".")
	return token, source
}

// sourceBar is the source of a wake that keeps a child from beginning whose parent was stopped.
const sourceBar = "bar"

func readJSON(data []byte, v any) error {
	if err := json.Unmarshal(data, v); err != nil {
		return &unreadable{protocol.NewError(protocol.CodeInvalidInput, "wake cannot be read").Because(err)}
	}
	return nil
}

// signalData is a signal's body as JSON: nothing is nothing, JSON is itself, anything else a string.
func signalData(body []byte) json.RawMessage {
	trimmed := bytes.TrimSpace(body)
	if len(trimmed) == 0 {
		return nil
	}
	if json.Valid(trimmed) {
		return trimmed
	}
	text, err := protocol.Marshal(strings.ToValidUTF8(string(body), "\uFFFD"))
	if err != nil {
		return nil
	}
	return text
}

// settleUnreadable answers and buries a task that nobody can read; trouble with that gives it back.
func (h *Host) settleUnreadable(ctx context.Context, d *delivery, meta *jetstream.MsgMetadata, err error) {
	u, ok := err.(*unreadable) //nolint:errorlint // read does not wrap it
	if !ok {
		h.trouble(ctx, d, "read task", err)
		return
	}
	answered := false
	for _, inbox := range d.msg.Headers().Values(wire.HeaderReply) {
		if validInbox(inbox) {
			answered = h.conn.NATS().PublishMsg(bus.ErrorMessage(inbox, u.reason)) == nil
		}
	}
	h.log.Warn("unreadable task", zap.Uint64("seq", meta.Sequence.Stream), zap.String("code", string(u.reason.Code)), zap.Error(u.reason))
	if !answered {
		if err := h.conn.PublishDead(ctx, protocol.DeadLetter{
			ID: fmt.Sprintf("task/%d-%d", meta.Sequence.Stream, meta.Timestamp.UnixNano()), Operator: h.cfg.ID, Subject: d.msg.Subject(),
			Reason: u.reason, Attempts: 1, Raw: d.msg.Data(),
		}); err != nil {
			h.trouble(ctx, d, "publish dead letter", err)
			return
		}
	}
	h.ack(d)
}
