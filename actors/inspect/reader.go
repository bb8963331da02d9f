package inspect

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/skelegent/skelegent-go/actors/run"
	"github.com/skelegent/skelegent-go/bus"
	"github.com/skelegent/skelegent-go/bus/runlog"
	"github.com/skelegent/skelegent-go/protocol"
	"github.com/skelegent/skelegent-go/protocol/wire"
)

// Reader reads instances.
type Reader struct {
	conn  *bus.Conn
	log   *runlog.Log
	blobs *runlog.Blobs
}

// New returns a reader over conn, which stays the caller's to close. It asks the server nothing.
func New(conn *bus.Conn) *Reader {
	return &Reader{
		conn: conn, log: runlog.New(conn.JetStream(), conn.Names()), blobs: runlog.NewBlobs(conn.JetStream(), conn.Names()),
	}
}

// Instance is what the log of an instance says.
type Instance struct {
	Workflow protocol.WorkflowID
	// Fold is its state. Where Fold.Unknown is set, a newer program wrote the log, and the state is not all.
	Fold *run.Fold
	// Records are those since the last snapshot, with the outputs that are kept elsewhere.
	Records []Record
	// Updated is when the last of them was stored.
	Updated time.Time
}

// Record is a message of an instance's log.
type Record struct {
	run.Record

	Stored time.Time // when, by the server's clock
	Bytes  int       // how long it is
}

// target is an instance by name.
type target struct {
	workflow protocol.WorkflowID
	operator string
	instance string
	token    string // of its subjects
}

// lengthOfDigest is how long a token is that stands for a longer one.
const lengthOfDigest = 66

// parse reads a workflow id. An instance that is written as a digest is meant by its token: its name is not known to whoever
// sees only subjects.
func parse(workflow protocol.WorkflowID) (target, error) {
	operator, instance, err := wire.ParseWorkflow(string(workflow))
	if err != nil {
		return target{}, protocol.NewError(protocol.CodeInvalidInput, "invalid input: "+err.Error())
	}
	t := target{workflow: workflow, operator: operator, instance: instance, token: wire.Escape(instance)}
	if wire.IsDigest(instance) && len(instance) == lengthOfDigest {
		t.token = instance
	}
	return t, nil
}

// subject is that of the instance's log.
func (r *Reader) subject(t target) string { return r.conn.Names().RunLog(t.operator, t.token) }

// Load returns an instance: not_found if its log is empty, or has been forgotten.
func (r *Reader) Load(ctx context.Context, workflow protocol.WorkflowID) (*Instance, error) {
	t, err := parse(workflow)
	if err != nil {
		return nil, err
	}
	i, err := r.load(ctx, t, true)
	if err != nil {
		return nil, err
	}
	if i.empty() {
		return nil, protocol.ErrWorkflowNotFound(workflow)
	}
	return i, nil
}

// load is Load, but an empty log is an instance that does nothing. Without outputs they stay where they are.
func (r *Reader) load(ctx context.Context, t target, outputs bool) (*Instance, error) {
	records, err := r.log.Load(ctx, r.subject(t))
	if err != nil {
		return nil, err
	}
	return r.fold(ctx, t, records, outputs)
}

func (r *Reader) fold(ctx context.Context, t target, records []runlog.Record, outputs bool) (*Instance, error) {
	i := &Instance{Workflow: t.workflow, Fold: run.New(protocol.OperatorID(t.operator), t.instance)}
	for _, raw := range records {
		record, err := r.decode(ctx, t, raw, outputs)
		if err != nil {
			return nil, err
		}
		if err := i.apply(record); err != nil {
			return nil, err
		}
	}
	return i, nil
}

func (i *Instance) apply(record Record) error {
	if err := i.Fold.Apply(record.Record); err != nil {
		return defect(i.Workflow, err)
	}
	i.Records = append(i.Records, record)
	i.Updated = record.Stored
	return nil
}

// empty reports whether there is nothing to tell: no log, or what Forget leaves of one.
func (i *Instance) empty() bool {
	f := i.Fold
	return f.Seq == 0 || f.Closed && f.Turns == 0
}

func defect(workflow protocol.WorkflowID, err error) error {
	return protocol.NewError(protocol.CodeInternal, fmt.Sprintf("the log of %.200s cannot be read by this program: %v", workflow, err)).Because(err)
}

// decode reads a record, with the outputs that are kept elsewhere if they are wanted.
func (r *Reader) decode(ctx context.Context, t target, raw runlog.Record, outputs bool) (Record, error) {
	e, err := protocol.DecodeEvent(raw.Data)
	if err != nil {
		return Record{}, defect(t.workflow, fmt.Errorf("record %d: %w", raw.Seq, err))
	}
	record := Record{Record: run.Record{Seq: raw.Seq, Event: e}, Stored: raw.Time, Bytes: len(raw.Data)}
	if !outputs {
		return record, nil
	}
	if err := r.fetch(ctx, t, e.Kind, &record.Event.Data); err != nil {
		return Record{}, err
	}
	for i := range e.Also {
		if err := r.fetch(ctx, t, e.Also[i].Kind, &record.Event.Also[i].Data); err != nil {
			return Record{}, err
		}
	}
	return record, nil
}

// fetch puts an output back that was too large for the log. One that is lost stays a reference.
func (r *Reader) fetch(ctx context.Context, t target, kind protocol.EventKind, data *json.RawMessage) error {
	if kind != protocol.EventCompleted {
		return nil
	}
	var d run.Completed
	if err := json.Unmarshal(*data, &d); err != nil || d.Blob == nil || d.Output != nil {
		return nil //nolint:nilerr // the fold reports what cannot be read
	}
	var err error
	switch d.Output, err = r.blob(ctx, t, d.Blob); {
	case errors.Is(err, runlog.ErrGone), errors.Is(err, runlog.ErrDamaged):
		return nil
	case err != nil:
		return err
	}
	*data, err = protocol.Marshal(d)
	return err
}

func (r *Reader) blob(ctx context.Context, t target, b *run.Blob) (json.RawMessage, error) {
	return r.blobs.Get(ctx, t.operator, t.token, runlog.Blob{SHA256: b.SHA256, Size: b.Size})
}

// stream looks up one of our streams.
func (r *Reader) stream(ctx context.Context, attempted, suffix string) (jetstream.Stream, error) {
	s, err := r.conn.JetStream().Stream(ctx, r.conn.Names().Stream(suffix))
	return s, bus.Translate(attempted, err)
}
