package instance

import (
	"context"
	"encoding/json"
	"time"

	"github.com/nats-io/nats.go/jetstream"
	"go.uber.org/zap"

	"github.com/skelegent/skelegent-go/actors/run"
	"github.com/skelegent/skelegent-go/bus"
	"github.com/skelegent/skelegent-go/protocol"
	"github.com/skelegent/skelegent-go/protocol/wire"
)

// How long a run waits for what an earlier turn wrote: in memory, and then suspended, for how long at a time.
const (
	memoryInline = time.Second
	memoryPoll   = 5 * time.Millisecond
	memoryLater  = 2 * time.Second
)

// behind returns nil once the memory effects up to message m are done, so that a turn reads what the turn before wrote; or
// what to wait for where that takes long.
func (s *session) behind(ctx context.Context, m uint64) *run.Wait {
	h := s.host
	s.mu.Lock()
	done := s.memory >= m
	s.mu.Unlock()
	if done {
		return nil
	}
	subject := h.conn.Names().Done(string(h.cfg.ID), s.name(), protocol.FamilyMemory)
	poll, patience := memoryPoll, time.Now().Add(memoryInline)
	for {
		through, err := h.doneThrough(ctx, subject)
		if err != nil {
			h.log.Debug("ledger not read", zap.Error(err))
		}
		if err == nil && through >= m {
			s.mu.Lock()
			s.memory = max(s.memory, through)
			s.mu.Unlock()
			return nil
		}
		if time.Now().After(patience) || !sleep(ctx, poll) {
			return &run.Wait{Reason: run.WaitEffects, Timers: []run.Due{{Path: "memory", At: time.Now().Add(memoryLater).UTC()}}}
		}
		poll = min(2*poll, 100*time.Millisecond)
	}
}

// doneThrough is the last message whose effects are all done, by the ledger.
func (h *Host) doneThrough(ctx context.Context, subject string) (uint64, error) {
	last, found, err := h.runs.Last(ctx, subject)
	if err != nil || !found {
		return 0, err
	}
	e, err := protocol.DecodeEvent(last.Data)
	if err != nil {
		return 0, err
	}
	var record struct {
		Through uint64 `json:"through"`
	}
	return record.Through, json.Unmarshal(e.Data, &record)
}

// lookUp remembers when the task stream was made: ids that are derived from its sequences hold for that one only.
func (h *Host) lookUp(ctx context.Context) error {
	stream, err := h.conn.JetStream().Stream(ctx, h.conn.Names().Stream(wire.StreamTasks))
	if err != nil {
		return bus.Translate("look up tasks", err)
	}
	h.stream = stream.CachedInfo().Created.UnixNano()
	return nil
}

// maxTakeBack bounds how many unacknowledged tasks are looked at when a node starts.
const maxTakeBack = 10_000

// takeBack has the server deliver again, at once, what a former process with this node's identity carried. What it misses
// comes after AckWait.
func (h *Host) takeBack(ctx context.Context, consumers ...jetstream.Consumer) {
	if h.cfg.Node == "" {
		return
	}
	stream, err := h.conn.JetStream().Stream(ctx, h.conn.Names().Stream(wire.StreamTasks))
	if err != nil {
		return
	}
	taken := 0
	for _, c := range consumers {
		info, err := c.Info(ctx)
		if err != nil || info.NumAckPending == 0 {
			continue
		}
		seq := info.AckFloor.Stream
		for looked := 0; looked < maxTakeBack && seq < info.Delivered.Stream; looked++ {
			msg, err := stream.GetMsg(ctx, seq+1, jetstream.WithGetMsgSubject(info.Config.FilterSubject))
			if err != nil || msg.Sequence > info.Delivered.Stream {
				break
			}
			seq = msg.Sequence
			if h.takeBackOne(ctx, msg) {
				taken++
			}
		}
	}
	if taken > 0 {
		h.log.Info("took back what an earlier process of this node carried", zap.Int("tasks", taken))
	}
}

func (h *Host) takeBackOne(ctx context.Context, msg *jetstream.RawStreamMsg) bool {
	token := h.tokenOf(msg)
	if token == "" {
		return false
	}
	records, err := h.runs.Load(ctx, h.conn.Names().RunLog(string(h.cfg.ID), token))
	if err != nil || len(records) == 0 {
		return false
	}
	f := run.New(h.cfg.ID, token)
	if h.apply(ctx, token, f, records) != nil || f.Node != h.cfg.Node || f.Carrier.ID.Seq != msg.Sequence {
		return false
	}
	if err := h.tasks.GiveBack(ctx, f.Carrier.Ack); err != nil {
		h.log.Debug("task not taken back", zap.Error(err))
		return false
	}
	return true
}

// tokenOf is the instance that a task is for, empty if that cannot be read.
func (h *Host) tokenOf(msg *jetstream.RawStreamMsg) string {
	names := h.conn.Names()
	if msg.Subject != names.Task(string(h.cfg.ID)) {
		token, _ := h.wakeToken(msg.Subject)
		return token
	}
	in, err := bus.DecodeInput(msg.Data)
	switch {
	case err != nil:
		return ""
	case in.Session != nil:
		return wire.Escape(string(*in.Session))
	}
	if id := msg.Header.Get(wire.HeaderRunID); id != "" {
		return wire.Escape(id)
	}
	return wire.Escape(string(h.derivedRun(msg.Header, run.TaskID{Seq: msg.Sequence, Time: msg.Time.UnixNano()})))
}
