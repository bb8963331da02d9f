package operator

import (
	"context"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/skelegent/skelegent-go/bus"
	"github.com/skelegent/skelegent-go/protocol/wire"
)

// enqueueTimeout bounds the storing of a request as a task.
const enqueueTimeout = 10 * time.Second

// enqueue makes a task of a request. Whoever runs it answers; here only what goes wrong is.
//
// The caller's deadline says how long he waits, not how long the run may take: it stays behind.
func (h *Host) enqueue(ctx context.Context, m *nats.Msg) {
	task, err := taskOf(h.cfg.Conn.Names().Task(string(h.cfg.ID)), m)
	if err == nil {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), enqueueTimeout) // a node that leaves still stores it
		defer cancel()
		err = h.cfg.Enqueue(ctx, task)
	}
	if err == nil {
		return
	}
	h.stats.refuse(failure(err))
	if m.Reply == "" {
		return
	}
	if sendErr := h.send(m.Reply, encoded{}, err); sendErr != nil {
		h.log.Warn("reply not sent")
	}
}

func taskOf(subject string, m *nats.Msg) (*nats.Msg, error) {
	call, deadline, err := bus.DecodeCall(m.Header)
	if err != nil {
		return nil, err
	}
	if !deadline.IsZero() && time.Now().After(deadline) {
		return nil, errDeadline
	}
	if _, err := bus.DecodeInput(m.Data); err != nil {
		return nil, err
	}
	if call.Run == "" {
		call.Run = bus.NewRunID()
	}
	task := &nats.Msg{Subject: subject, Data: m.Data, Header: make(nats.Header, 4)}
	bus.EncodeCall(task.Header, call, time.Time{})
	if mode := m.Header.Get(wire.HeaderWhenBusy); mode != "" {
		task.Header[wire.HeaderWhenBusy] = []string{mode}
	}
	if m.Reply != "" {
		task.Header[wire.HeaderReply] = []string{m.Reply}
	}
	return task, nil
}
