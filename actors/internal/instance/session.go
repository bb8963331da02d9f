package instance

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/google/uuid"
	"github.com/nats-io/nats.go"
	"go.uber.org/zap"

	"github.com/skelegent/skelegent-go/actors/run"
	"github.com/skelegent/skelegent-go/bus/runlog"
	"github.com/skelegent/skelegent-go/protocol"
	"github.com/skelegent/skelegent-go/protocol/wire"
)

// session is what this process knows of one instance.
type session struct {
	host     *Host
	token    string
	instance string
	subject  string
	turn     chan struct{} // holds one: whoever has it may change the fold

	mu      sync.Mutex
	fold    *run.Fold // nil: to be loaded
	settled uint64    // the last commit that this process settled
	memory  uint64    // the last message of memory effects that is known to be done
	heard   time.Time // when the last append or read began that told how the log stands
	changed func(*run.Fold)
	watcher *worker // whose changed it is

	users int // guarded by Host.mu, as are used and line
	used  time.Time
	line  chan struct{} // closed when the newest task in line has decided
}

// lineUp gives a task its place: before is closed when the one before it has decided (nil if there is none), and decided must
// be called when it has itself.
func (s *session) lineUp() (before <-chan struct{}, decided func()) {
	own := make(chan struct{})
	s.host.mu.Lock()
	defer s.host.mu.Unlock()
	before, s.line = s.line, own
	return before, sync.OnceFunc(func() { close(own) })
}

// acquire returns the session of an instance, which its user must release.
func (h *Host) acquire(token, instance string) *session {
	h.mu.Lock()
	defer h.mu.Unlock()
	s := h.sessions[token]
	if s != nil {
		s.rename(instance)
	}
	if s == nil {
		s = &session{
			host: h, token: token, instance: instance, turn: make(chan struct{}, 1),
			subject: h.conn.Names().RunLog(string(h.cfg.ID), token),
		}
		h.sessions[token] = s
	}
	s.users++
	return s
}

// name is the instance's own, or its token where that is a digest and nobody has said the name yet.
func (s *session) name() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.instance
}

// rename takes a name that was not known at first.
func (s *session) rename(instance string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.instance == s.token && wire.Escape(instance) == s.token {
		s.instance = instance
		if s.fold != nil {
			s.fold.Instance = instance
		}
	}
}

func (h *Host) release(s *session) {
	h.mu.Lock()
	defer h.mu.Unlock()
	s.users--
	s.used = time.Now()
	if s.users == 0 && s.over() {
		delete(h.sessions, s.token)
	}
}

// over reports whether nobody is likely to come back soon: the instance waits, or is a single run that has ended.
func (s *session) over() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.fold == nil || s.fold.Suspended() || s.fold.Open == nil && len(s.fold.Queue) == 0 && len(s.fold.Known) > 0 &&
		string(s.fold.Known[len(s.fold.Known)-1].Run) == s.instance
}

// passivate forgets the sessions that nothing came for.
func (h *Host) passivate(now time.Time) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for token, s := range h.sessions {
		if s.users == 0 && now.Sub(s.used) > h.cfg.Idle {
			delete(h.sessions, token)
		}
	}
}

// view calls f with the fold, which it must neither change nor keep. It must not block.
func (s *session) view(f func(*run.Fold)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.fold != nil {
		f(s.fold)
	}
}

// take makes the caller the only one who changes the fold.
func (s *session) take(ctx context.Context) error {
	select {
	case s.turn <- struct{}{}:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

func (s *session) giveTurn() { <-s.turn }

// presume takes the log for empty. If it is not, the first append will tell.
func (s *session) presume() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.fold == nil {
		s.fold = run.New(s.host.cfg.ID, s.instance)
	}
}

// ensure loads the fold if there is none. The caller has the turn.
func (s *session) ensure(ctx context.Context) error {
	s.mu.Lock()
	loaded := s.fold != nil
	s.mu.Unlock()
	if loaded {
		return nil
	}
	begun := time.Now()
	records, err := s.host.runs.Load(ctx, s.subject)
	if err != nil {
		return err
	}
	defer s.hear(begun)
	if len(records) > 0 {
		if e, err := protocol.DecodeEvent(records[0].Data); err == nil {
			s.rename(e.Instance)
		}
	}
	f := run.New(s.host.cfg.ID, s.name())
	if err := s.host.apply(ctx, s.token, f, records); err != nil {
		return err
	}
	s.set(f)
	return nil
}

func (s *session) set(f *run.Fold) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.fold = f
	if s.changed != nil {
		s.changed(f)
	}
}

// hear remembers that the log was as it is known at that time. It takes the lock after those that it is deferred behind.
func (s *session) hear(at time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if at.After(s.heard) {
		s.heard = at
	}
}

// old reports whether another node may have taken over since the log was last heard of.
func (s *session) old(now time.Time) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return now.Sub(s.heard) > s.host.cfg.AckWait/2
}

// refresh folds in what was appended behind what is known. The caller has the turn.
func (s *session) refresh(ctx context.Context) error {
	var after uint64
	s.view(func(f *run.Fold) { after = f.Seq })
	if after == 0 {
		s.forget()
		return s.ensure(ctx)
	}
	begun := time.Now()
	records, err := s.host.runs.Tail(ctx, s.subject, after)
	if err != nil {
		return err
	}
	defer s.hear(begun)
	if len(records) == 0 {
		return nil
	}
	events, err := s.host.decode(ctx, s.token, records)
	if err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, e := range events {
		if err := s.fold.Apply(e); err != nil {
			s.fold = nil // half of it is folded
			return s.host.defect(err)
		}
	}
	if s.changed != nil {
		s.changed(s.fold)
	}
	return nil
}

// refreshed is refresh behind a conflict. If there is nothing new, what is known was removed: it is loaded anew.
func (s *session) refreshed(ctx context.Context) error {
	before, after := uint64(0), uint64(0)
	s.view(func(f *run.Fold) { before = f.Seq })
	err := s.refresh(ctx)
	s.view(func(f *run.Fold) { after = f.Seq })
	if err == nil && before == after {
		s.forget()
	}
	return err
}

func (s *session) forget() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.fold = nil
}

func (h *Host) apply(ctx context.Context, token string, f *run.Fold, records []runlog.Record) error {
	events, err := h.decode(ctx, token, records)
	if err != nil {
		return err
	}
	for _, e := range events {
		if err := f.Apply(e); err != nil {
			return h.defect(err)
		}
	}
	return nil
}

// errDefect is a log that cannot be folded.
var errDefect = errors.New("the log cannot be read by this program")

func (h *Host) defect(err error) error {
	h.log.Error("run log cannot be folded", zap.Error(err))
	return fmt.Errorf("%w: %w", errDefect, err)
}

// decode reads records, with the outputs that are kept elsewhere.
func (h *Host) decode(ctx context.Context, token string, records []runlog.Record) ([]run.Record, error) {
	out := make([]run.Record, len(records))
	for i, r := range records {
		if r.Kind == "" { // no node wrote this: where permissions are loose, anyone's acknowledgement may end up here
			h.log.Warn("record of a run log that no node wrote", zap.Uint64("seq", r.Seq), zap.Int("size", len(r.Data)))
			out[i] = run.Record{Seq: r.Seq}
			continue
		}
		e, err := protocol.DecodeEvent(r.Data)
		if err != nil {
			return nil, h.defect(fmt.Errorf("record %d: %w", r.Seq, err))
		}
		if err := h.hydrate(ctx, token, &e.Data, e.Kind); err != nil {
			return nil, err
		}
		for i := range e.Also {
			if err := h.hydrate(ctx, token, &e.Also[i].Data, e.Also[i].Kind); err != nil {
				return nil, err
			}
		}
		out[i] = run.Record{Seq: r.Seq, Event: e}
	}
	return out, nil
}

// hydrate puts an output back that was too large for the log: the fold needs its effects.
func (h *Host) hydrate(ctx context.Context, token string, data *json.RawMessage, kind protocol.EventKind) error {
	if kind != protocol.EventCompleted {
		return nil
	}
	var d run.Completed
	if err := json.Unmarshal(*data, &d); err != nil || d.Blob == nil || d.Output != nil {
		return nil //nolint:nilerr // the fold reports what cannot be read
	}
	var err error
	if d.Output, err = h.blob(ctx, token, d.Blob); err != nil {
		return err
	}
	*data, err = protocol.Marshal(d)
	return err
}

func (h *Host) blob(ctx context.Context, token string, b *run.Blob) (json.RawMessage, error) {
	return h.blobs.Get(ctx, string(h.cfg.ID), token, runlog.Blob{SHA256: b.SHA256, Size: b.Size})
}

// decide asks what to do next and, where that is an append, appends: as often as it takes. What it returns is not an append.
func (s *session) decide(ctx context.Context, d *run.Driver) (run.Command, error) {
	return s.commit(ctx, d, func(f *run.Fold) run.Command { return d.Next(f) })
}

// record appends facts of the run that d carries by a claim, or returns that it must be dropped.
func (s *session) record(ctx context.Context, d *run.Driver, claim string, items ...run.Item) (run.Command, error) {
	done := false
	return s.commit(ctx, d, func(f *run.Fold) run.Command {
		if done {
			return run.Command{}
		}
		if f.Claim != claim {
			return run.Command{Drop: true}
		}
		cmd := d.Fact(f, items...)
		done = cmd.Append != nil // undone by a conflict, see commit
		return cmd
	}, func() { done = false })
}

// ask returns what next wants. It leaves no lock behind, should next panic.
func (s *session) ask(d *run.Driver, next func(*run.Fold) run.Command) run.Command {
	s.mu.Lock()
	defer s.mu.Unlock()
	d.Settled(s.settled)
	return next(s.fold)
}

// commit asks next and carries out its appends under the fence, until it wants something else.
func (s *session) commit(ctx context.Context, d *run.Driver, next func(*run.Fold) run.Command, conflict ...func()) (run.Command, error) {
	if err := s.take(ctx); err != nil {
		return run.Command{}, err
	}
	defer s.giveTurn()
	for {
		if err := s.ensure(ctx); err != nil {
			return run.Command{}, err
		}
		cmd := s.ask(d, next)
		if cmd.Append == nil {
			return cmd, nil
		}
		id, err := s.append(ctx, cmd.Append, 0)
		switch {
		case err == nil:
			s.mu.Lock()
			d.Appended(cmd.Append, id) // steps of other goroutines look at it
			s.mu.Unlock()
		case errors.Is(err, runlog.ErrConflict):
			for _, f := range conflict {
				f()
			}
			if err := s.refreshed(ctx); err != nil {
				return run.Command{}, err
			}
		default:
			s.forget() // it may be in the log or not
			return run.Command{}, err
		}
	}
}

// append writes one message under the fence, to stay for a while or (0) for ever, and folds it. The caller has the turn.
func (s *session) append(ctx context.Context, items []run.Item, ttl time.Duration) (id string, err error) {
	var fence uint64
	var tail []uint64
	s.view(func(f *run.Fold) { fence, tail = f.Seq, f.Tail })
	e := protocol.Event{
		ID: uuid.NewString(), Kind: items[0].Kind, Operator: s.host.cfg.ID, Instance: s.name(), Run: items[0].Run, Time: time.Now().UTC(),
	}
	if e.Data, err = protocol.Marshal(items[0].Data); err != nil {
		return "", fmt.Errorf("write %s: %w", e.Kind, err)
	}
	for _, i := range items[1:] {
		data, err := protocol.Marshal(i.Data)
		if err != nil {
			return "", fmt.Errorf("write %s: %w", i.Kind, err)
		}
		e.Also = append(e.Also, protocol.EventPart{Kind: i.Kind, Data: data})
	}
	body, err := protocol.Marshal(&e)
	if err != nil {
		return "", fmt.Errorf("write %s: %w", e.Kind, err)
	}
	msg := &nats.Msg{Subject: s.subject, Data: body, Header: nats.Header{
		wire.HeaderKind: {string(e.Kind)}, wire.HeaderRunID: {string(e.Run)},
	}}
	if ttl > 0 {
		msg.Header.Set("Nats-TTL", ttl.String())
	}
	if len(tail) > 0 {
		msg.Header[wire.HeaderPrevious] = []string{runlog.EncodePrevious(tail)}
	}
	begun := time.Now()
	seq, err := s.host.runs.Append(ctx, msg, e.ID, fence)
	if err != nil {
		return "", err
	}
	defer s.hear(begun)
	if err := s.host.hydrate(ctx, s.token, &e.Data, e.Kind); err != nil {
		s.forget() // it is in the log: the next load will have it
		return e.ID, nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.fold.Apply(run.Record{Seq: seq, Event: e}); err != nil {
		s.fold = nil
		return "", s.host.defect(err)
	}
	if s.changed != nil {
		s.changed(s.fold)
	}
	return e.ID, nil
}
