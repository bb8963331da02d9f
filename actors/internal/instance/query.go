package instance

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"time"

	"github.com/nats-io/nats.go"
	"go.uber.org/zap"

	"github.com/skelegent/skelegent-go/actors/internal/actorx"
	"github.com/skelegent/skelegent-go/actors/internal/operator"
	"github.com/skelegent/skelegent-go/actors/run"
	"github.com/skelegent/skelegent-go/bus"
	"github.com/skelegent/skelegent-go/protocol"
	"github.com/skelegent/skelegent-go/protocol/wire"
)

// Answerer is the role of an operator that answers queries of its own. It must not change anything.
type Answerer interface {
	// Answer answers a query about an instance; an *Error with code unsupported where it has no such query.
	Answer(ctx context.Context, status run.Status, query protocol.QueryPayload) (json.RawMessage, error)
}

// queryTimeout bounds how long a query may take here.
const queryTimeout = 10 * time.Second

// answerQueries subscribes to the questions about the operator's instances; any node answers.
func (h *Host) answerQueries() (err error) {
	subject := h.conn.Names().All("query." + string(h.cfg.ID))
	h.queries, err = h.conn.NATS().QueueSubscribe(subject, operator.Queue, func(m *nats.Msg) {
		if !h.ref.Tell(&question{msg: m}) {
			return // it is leaving: the caller asks again
		}
	})
	return bus.Translate("subscribe to queries of "+string(h.cfg.ID), err)
}

// question is a query on its way through the actor.
type question struct{ msg *nats.Msg }

func (k *keeper) ask(c *actorx.Context, q *question) {
	if k.asked >= maxQuestions {
		k.host.replyTo(q.msg, nil, protocol.NewError(protocol.CodeUnavailable, "too many queries at a time").After(time.Second))
		return
	}
	k.asked++
	actorx.Async(c, func(ctx context.Context) (struct{}, error) {
		ctx, cancel := context.WithTimeout(ctx, queryTimeout)
		defer cancel()
		body, err := k.host.query(ctx, q.msg)
		k.host.replyTo(q.msg, body, err)
		return struct{}{}, nil
	}, func(_ *actorx.Context, _ struct{}, err error) {
		k.asked--
		if err != nil {
			k.host.log.Error("query crashed", zap.Error(err))
		}
	})
}

// maxQuestions bounds the queries in work.
const maxQuestions = 256

func (h *Host) replyTo(m *nats.Msg, body json.RawMessage, err error) {
	if m.Reply == "" || !operator.Replyable(m.Reply) {
		return
	}
	reply := &nats.Msg{Subject: m.Reply, Data: body}
	if err == nil {
		err = h.conn.CheckSize("answer", len(body))
	}
	if err != nil {
		reply = bus.ErrorMessage(m.Reply, err)
	}
	if err := h.conn.NATS().PublishMsg(reply); err != nil {
		h.log.Warn("query not answered", zap.Error(err))
	}
}

// query answers skg.query.<operator>.<instance>.<type>.
func (h *Host) query(ctx context.Context, m *nats.Msg) (json.RawMessage, error) {
	parts := strings.Split(m.Subject, ".")
	if len(parts) != 5 {
		return nil, protocol.NewError(protocol.CodeInvalidInput, "a query goes to "+h.conn.Names().Prefix()+".query.OPERATOR.INSTANCE.TYPE")
	}
	if len(parts[3]) > wire.MaxToken || len(parts[4]) > wire.MaxToken {
		return nil, protocol.NewError(protocol.CodeInvalidInput, "a name in the subject is too long")
	}
	token, instance := parts[3], parts[3]
	if name, err := wire.Unescape(token); err == nil {
		instance = name
	}
	kind, err := wire.Unescape(parts[4])
	if err != nil {
		return nil, protocol.NewError(protocol.CodeInvalidInput, "query type cannot be read")
	}
	if kind == run.QuerySignals { // also where no run was ever begun
		n, err := h.runs.CountSignals(ctx, string(h.cfg.ID), token)
		if err != nil {
			return nil, err
		}
		return protocol.Marshal(map[string]uint64{"signals": n})
	}
	s := h.acquire(token, instance)
	defer h.release(s)
	if err := s.catchUp(ctx); err != nil {
		return nil, h.safe(err)
	}
	var answer json.RawMessage
	var known bool
	var status run.Status
	s.view(func(f *run.Fold) {
		status = f.Status()
		answer, known, err = f.Answer(kind)
	})
	switch {
	case status.Seq == 0:
		return nil, protocol.ErrWorkflowNotFound(protocol.WorkflowID(string(h.cfg.ID) + "/" + instance))
	case known || err != nil:
		return answer, err
	}
	if a, ok := h.cfg.Operator.(Answerer); ok {
		return a.Answer(ctx, status, protocol.QueryPayload{QueryType: kind, Params: m.Data})
	}
	return nil, protocol.NewError(protocol.CodeUnsupported, "there is no query "+strings.ToValidUTF8(kind, "?")+
		"; there are status, history, cost, pending, signals")
}

func (h *Host) safe(err error) error {
	if errors.Is(err, errDefect) {
		return protocol.NewError(protocol.CodeInternal, errDefect.Error()).Because(err)
	}
	return err
}
