package inspect

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/skelegent/skelegent-go/actors/run"
	"github.com/skelegent/skelegent-go/bus"
	"github.com/skelegent/skelegent-go/bus/runlog"
	"github.com/skelegent/skelegent-go/bus/task"
	"github.com/skelegent/skelegent-go/protocol"
	"github.com/skelegent/skelegent-go/protocol/wire"
)

// ForgetConfig says what to remove.
type ForgetConfig struct {
	// Force removes the instance although a run is open, inputs wait or effects are pending. What a node does in it ends at
	// its next record; nobody is answered, and effects that were asked for are performed all the same.
	Force bool
	// State is where the instance's own state is; nil leaves it.
	State protocol.StateStore
}

// Forgotten says what was removed.
type Forgotten struct {
	Workflow protocol.WorkflowID `json:"workflow"`
	Log      bool                `json:"log"` // there was one
	Signals  int                 `json:"signal_types"`
	Ledgers  int                 `json:"ledgers"`
	Letters  int                 `json:"dead_letters"`
	State    int                 `json:"state_keys"`
	// SharedWith are other operators' instances of the same session: so its state was left.
	SharedWith []protocol.WorkflowID `json:"shared_with,omitempty"`
}

// Forget removes an instance for good: log, signals, ledgers, blobs, dead letters, and its own state (of its session,
// unless another operator has that too, of its workflow, of its operator in it). The error is conflict where it is at work,
// not_found where nothing is there, permission_denied where the server does not let us. What is interrupted can be repeated.
//
// One record without content stays, of a single run for a day, and the last one of each ledger: they count the effects, whose
// ids must never come again, and they are what nodes meet that still have the instance in memory. A task that is to begin
// later still will.
func (r *Reader) Forget(ctx context.Context, workflow protocol.WorkflowID, cfg ForgetConfig) (Forgotten, error) {
	gone := Forgotten{Workflow: workflow}
	t, err := parse(workflow)
	if err != nil {
		return gone, err
	}
	if err := r.mayPurge(ctx, t); err != nil {
		return gone, err
	}
	i, err := r.bury(ctx, t, cfg.Force)
	if err != nil {
		return gone, err
	}
	gone.Log = !i.empty()
	if err := r.purge(ctx, t, single(i.Fold), &gone); err != nil {
		return gone, err
	}
	if gone.Letters, err = r.dropLetters(ctx, t); err != nil {
		return gone, err
	}
	if err := r.forgetState(ctx, t, cfg, &gone); err != nil {
		return gone, err
	}
	if !gone.Log && gone.Signals+gone.Ledgers+gone.Letters+gone.State == 0 {
		return gone, protocol.ErrWorkflowNotFound(workflow)
	}
	return gone, nil
}

// mayPurge finds out whether the server lets us purge, by a purge of nothing: it says no by itself, on the connection, and
// before it answers anything that was sent later.
func (r *Reader) mayPurge(ctx context.Context, t target) error {
	const attempted = "forget"
	nc := r.conn.NATS()
	api := jetstream.DefaultAPIPrefix
	switch opts := r.conn.JetStream().Options(); {
	case opts.Domain != "":
		api = "$JS." + opts.Domain + ".API."
	case opts.APIPrefix != "":
		api = strings.TrimSuffix(opts.APIPrefix, ".") + "."
	}
	subject := api + "STREAM.PURGE." + r.conn.Names().Stream(wire.StreamLog)
	body, err := json.Marshal(map[string]any{"filter": r.subject(t), "seq": 1})
	if err != nil {
		return fmt.Errorf("write request: %w", err)
	}
	if err := nc.PublishRequest(subject, nc.NewInbox(), body); err != nil {
		return bus.Translate(attempted, err)
	}
	ctx, cancel := context.WithTimeout(ctx, purgeTimeout)
	defer cancel()
	if err := nc.FlushWithContext(ctx); err != nil {
		return bus.Translate(attempted, err)
	}
	if err := nc.LastError(); errors.Is(err, nats.ErrPermissionViolation) && strings.Contains(err.Error(), subject) {
		return protocol.NewError(protocol.CodePermissionDenied, fmt.Sprintf("forget %.200s: only a node's credentials permit it", t.workflow)).Because(err)
	}
	return nil
}

const purgeTimeout = 10 * time.Second

// buryTries is how often an instance is looked at that goes on meanwhile.
const buryTries = 5

// bury puts a record without content at the end of the log, and returns what was there before.
func (r *Reader) bury(ctx context.Context, t target, force bool) (*Instance, error) {
	for n := 1; ; n++ {
		i, err := r.load(ctx, t, false)
		if err != nil {
			return nil, err
		}
		if i.Fold.Seq == 0 || i.empty() && len(i.Records) == 1 {
			return i, nil
		}
		if !force {
			if err := r.idle(ctx, t, i); err != nil {
				return nil, err
			}
		}
		err = r.appendClosed(ctx, t, i.Fold)
		if !errors.Is(err, runlog.ErrConflict) || n == buryTries {
			return i, err
		}
	}
}

// idle returns why an instance cannot be forgotten.
func (r *Reader) idle(ctx context.Context, t target, i *Instance) error {
	f := i.Fold
	busy := func(format string, args ...any) error {
		return protocol.NewError(protocol.CodeConflict, fmt.Sprintf("%.200s is at work: ", t.workflow)+fmt.Sprintf(format, args...))
	}
	switch {
	case f.Unknown != "":
		return protocol.NewError(protocol.CodeUnsupported, fmt.Sprintf("%.200s was written by a newer program: event %.80s is not known here", t.workflow, f.Unknown))
	case f.Open != nil:
		return busy("run %.200s is %s; cancel it first, or force", f.Open.Run, f.Status().State)
	case len(f.Queue) > 0:
		return busy("%d inputs wait; let them end, or force", len(f.Queue))
	}
	for family, m := range f.M {
		through, err := r.doneThrough(ctx, t, family)
		if err != nil {
			return err
		}
		if through < m {
			return busy("effects of the kind %.80s are not done yet; see what waits with effects, or force", family)
		}
	}
	return nil
}

// doneThrough is the last message of a family whose effects are all done.
func (r *Reader) doneThrough(ctx context.Context, t target, family string) (uint64, error) {
	last, found, err := r.log.Last(ctx, r.ledgers(t)+wire.Escape(family))
	if err != nil || !found {
		return 0, err
	}
	var event struct {
		Data struct {
			Through uint64 `json:"through"`
		} `json:"data"`
	}
	if err := json.Unmarshal(last.Data, &event); err != nil {
		return 0, defect(t.workflow, err)
	}
	return event.Data.Through, nil
}

// single reports whether the instance was one run without a session: nobody comes back to it.
func single(f *run.Fold) bool {
	return len(f.Known) == 1 && string(f.Known[0].Run) == f.Instance
}

// singleFor is how long the last record of a single run stays: longer than any node has it in memory.
const singleFor = 24 * time.Hour

// interrupted are the runs that will never end: their tasks may be in the hands of a node, or still to come, and must not be
// begun anew.
func interrupted(f *run.Fold) []run.Known {
	var known []run.Known
	forgotten := func(in *run.Input) {
		known = append(known, run.Known{Run: in.Run, Hash: in.Hash, Kind: protocol.EventCancelled, Seq: f.Seq})
	}
	if f.Open != nil {
		forgotten(&f.Open.Input)
	}
	for i := range f.Queue {
		forgotten(&f.Queue[i].Input)
	}
	return known
}

// appendClosed ends the log, fenced, with a state that only counts effects.
func (r *Reader) appendClosed(ctx context.Context, t target, f *run.Fold) error {
	empty := run.New(f.Operator, t.instance)
	empty.M = f.M
	empty.Known = interrupted(f)
	item := empty.Close()
	data, err := protocol.Marshal(item.Data)
	if err != nil {
		return fmt.Errorf("write record: %w", err)
	}
	id := uuid.NewString()
	body, err := protocol.Marshal(&protocol.Event{
		ID: id, Kind: item.Kind, Operator: f.Operator, Instance: t.instance, Run: item.Run, Time: time.Now().UTC(), Data: data,
	})
	if err != nil {
		return fmt.Errorf("write record: %w", err)
	}
	msg := &nats.Msg{Subject: r.subject(t), Data: body, Header: nats.Header{
		wire.HeaderKind: {string(item.Kind)}, wire.HeaderRunID: {string(item.Run)},
	}}
	if single(f) {
		msg.Header.Set(jetstream.MsgTTLHeader, singleFor.String())
	}
	_, err = r.log.Append(ctx, msg, id, f.Seq)
	return err
}

// purge removes what is on the subjects of the instance, and its blobs.
func (r *Reader) purge(ctx context.Context, t target, whole bool, gone *Forgotten) error {
	if err := r.purgeBelowLast(ctx, r.subject(t)); err != nil {
		return err
	}
	names := r.conn.Names()
	signals, err := r.subjects(ctx, names.All("signal."+t.operator+"."+t.token))
	if err != nil {
		return err
	}
	gone.Signals = len(signals)
	if err := r.log.PurgeSignals(ctx, t.operator, t.token); err != nil {
		return err
	}
	ledgers, err := r.subjects(ctx, r.ledgers(t)+">")
	if err != nil {
		return err
	}
	gone.Ledgers = len(ledgers)
	err = each(ctx, len(ledgers), func(ctx context.Context, n int) error {
		if whole {
			return r.log.Purge(ctx, ledgers[n], 0)
		}
		return r.purgeBelowLast(ctx, ledgers[n])
	})
	if err != nil {
		return err
	}
	timers := strings.TrimSuffix(names.TimerWake(t.operator, t.token, "x"), "x") + ">"
	if err := task.New(r.conn).Cancel(ctx, timers); err != nil {
		return err
	}
	return r.blobs.Purge(ctx, t.operator, t.token)
}

func (r *Reader) purgeBelowLast(ctx context.Context, subject string) error {
	last, found, err := r.log.Last(ctx, subject)
	if err != nil || !found {
		return err
	}
	return r.log.Purge(ctx, subject, last.Seq)
}

// subjects returns those of the log stream that match a filter.
func (r *Reader) subjects(ctx context.Context, filter string) ([]string, error) {
	const attempted = "list subjects"
	stream, err := r.stream(ctx, attempted, wire.StreamLog)
	if err != nil {
		return nil, err
	}
	info, err := stream.Info(ctx, jetstream.WithSubjectFilter(filter))
	if err != nil {
		return nil, bus.Translate(attempted, err)
	}
	found := make([]string, 0, len(info.State.Subjects))
	for subject := range info.State.Subjects {
		found = append(found, subject)
	}
	slices.Sort(found)
	return found, nil
}

// maxLetters bounds the dead letters that are looked through.
const maxLetters = 10_000

// dropLetters removes the dead letters about the instance.
func (r *Reader) dropLetters(ctx context.Context, t target) (dropped int, err error) {
	letters, err := r.conn.DeadLetters(ctx, t.operator, maxLetters)
	if err != nil {
		return 0, err
	}
	for _, d := range letters {
		if d.Letter.Instance != t.instance {
			continue
		}
		if err := r.conn.DropDead(ctx, d); err != nil {
			return dropped, err
		}
		dropped++
	}
	return dropped, nil
}
