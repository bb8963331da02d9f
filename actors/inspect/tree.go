package inspect

import (
	"context"
	"encoding/json"
	"time"

	"github.com/skelegent/skelegent-go/actors/run"
	"github.com/skelegent/skelegent-go/bus/runlog"
	"github.com/skelegent/skelegent-go/protocol"
)

// Tree is one run with all that belongs to it, for people.
type Tree struct {
	Workflow protocol.WorkflowID `json:"workflow"`
	Run      protocol.RunID      `json:"run"`
	Parent   protocol.RunID      `json:"parent,omitempty"`
	State    State               `json:"state"`
	Begun    *time.Time          `json:"begun,omitempty"`
	Ended    *time.Time          `json:"ended,omitempty"`
	Cost     protocol.Decimal    `json:"cost"` // in USD
	Made     run.Made            `json:"made,omitzero"`
	// Records of the log are about the run, with so many Bytes.
	Records int `json:"records"`
	Bytes   int `json:"bytes"`

	Claims  []Claim  `json:"claims"`
	Steps   []Step   `json:"steps"` // in the order of their paths
	Waits   []Waited `json:"waits,omitempty"`
	Signals []Signal `json:"signals,omitempty"`
	Effects []Effect `json:"effects,omitempty"`
	// Queue are the runs that wait for the end of this one.
	Queue []protocol.RunID `json:"queue,omitempty"`

	Input    json.RawMessage          `json:"input,omitempty"`  // an OperatorInput, if asked for
	Output   *protocol.OperatorOutput `json:"output,omitempty"` // if asked for
	Error    *protocol.Error          `json:"error,omitempty"`
	HandedTo []protocol.WorkflowID    `json:"handed_to,omitempty"`
	// Problem says why there is not more.
	Problem string `json:"problem,omitempty"`
}

// Claim is how a node took the run.
type Claim struct {
	Time    time.Time `json:"time"`
	Node    string    `json:"node"`
	Attempt int       `json:"attempt"`
	Resumed bool      `json:"resumed,omitempty"`
}

// Step is a step of the run.
type Step struct {
	Path string       `json:"path"`
	Kind run.StepKind `json:"kind"`
	Name string       `json:"name"`
	// Model is that of a model call, Tokens what it took.
	Model  string               `json:"model,omitempty"`
	Tokens *protocol.TokenUsage `json:"tokens,omitempty"`
	// Begun is when its start was recorded, or else the record before it; Ended is nil while it is not over.
	Begun   *time.Time        `json:"begun,omitempty"`
	Ended   *time.Time        `json:"ended,omitempty"`
	Cost    *protocol.Decimal `json:"cost,omitempty"`
	Error   *protocol.Error   `json:"error,omitempty"`
	IsError bool              `json:"is_error,omitempty"` // a tool's answer that is an error
	Signals []uint64          `json:"signals,omitempty"`  // that it took
	Inputs  []protocol.RunID  `json:"inputs,omitempty"`   // of the queue, that it took
	Result  json.RawMessage   `json:"result,omitempty"`   // if asked for
	Blob    *run.Blob         `json:"blob,omitempty"`
	// Child is the run that a call began.
	Child *Tree `json:"child,omitempty"`

	child *run.Child
}

// Waited is a time in which the run was suspended.
type Waited struct {
	Path     string              `json:"path,omitempty"` // of the step that waited
	Reason   run.Reason          `json:"reason"`
	Signals  []string            `json:"signals,omitempty"`
	Children []protocol.RunID    `json:"children,omitempty"`
	Due      *time.Time          `json:"due,omitempty"`
	Since    time.Time           `json:"since"`
	Until    *time.Time          `json:"until,omitempty"`
	Approval []Asked             `json:"approval,omitempty"`
	Decided  map[string]Decision `json:"decided,omitempty"` // by call id
}

// Asked is a call that a person was asked about.
type Asked struct {
	CallID string          `json:"call_id"`
	Tool   string          `json:"tool"`
	Input  json.RawMessage `json:"input,omitempty"` // if asked for
}

// Decision is what was decided about a call.
type Decision struct {
	Approved bool   `json:"approved"`
	Reason   string `json:"reason,omitempty"`
	// Input took the place of the call's own; if asked for.
	Input json.RawMessage `json:"input,omitempty"`
}

// Effect is an effect that the run declared.
type Effect struct {
	ID   string              `json:"effect_id"`
	Kind protocol.EffectKind `json:"kind"`
	// Status is ok, failed, unknown, or pending.
	Status   protocol.OutcomeStatus `json:"status"`
	Attempts int                    `json:"attempts,omitempty"`
	Error    *protocol.Error        `json:"error,omitempty"`
	Time     *time.Time             `json:"time,omitempty"`
}

// OutcomePending is the status of an effect that no executor has recorded an outcome of.
const OutcomePending protocol.OutcomeStatus = "pending"

// TreeConfig says what a tree holds.
type TreeConfig struct {
	// Full is with what was said: input, output, results, the data of signals.
	Full bool
	// Depth is how deep children are looked at; 0 is not at all.
	Depth int
}

// maxChildren bounds how many children are looked at for one tree.
const maxChildren = 100

// Tree returns a run with all that belongs to it: the one that Result would choose if id is empty. What is no longer kept is
// missing, and Problem says so.
func (r *Reader) Tree(ctx context.Context, workflow protocol.WorkflowID, id protocol.RunID, cfg TreeConfig) (*Tree, error) {
	children := maxChildren
	return r.tree(ctx, workflow, id, cfg, &children)
}

func (r *Reader) tree(ctx context.Context, workflow protocol.WorkflowID, id protocol.RunID, cfg TreeConfig, children *int) (*Tree, error) {
	t, err := parse(workflow)
	if err != nil {
		return nil, err
	}
	i, result, err := r.resolve(ctx, t, id)
	if err != nil {
		return nil, err
	}
	tree := &Tree{Workflow: workflow, Run: result.Run, State: result.State, Claims: []Claim{}, Steps: []Step{}}
	if i == nil { // it has not begun
		return tree, nil
	}
	if result, err = r.resultOf(ctx, t, i, tree.Run); err != nil {
		if protocol.CodeOf(err) != protocol.CodeNotFound {
			return nil, err
		}
		tree.Problem = err.Error()
		if k, over := i.Fold.Ended(tree.Run); over {
			tree.State = State(k.Kind)
		}
		return tree, nil
	}
	tree.State, tree.Error, tree.HandedTo = result.State, result.Error, result.HandedTo
	if result.TakenBy != "" {
		tree.Problem = "its input was taken up by run " + string(result.TakenBy)
		return tree, nil
	}
	if err := r.fill(ctx, t, i, tree, cfg); err != nil {
		return nil, err
	}
	return tree, r.addChildren(ctx, tree, cfg, children)
}

// fill reads the records of the run.
func (r *Reader) fill(ctx context.Context, t target, i *Instance, tree *Tree, cfg TreeConfig) error {
	records, err := r.recordsOf(ctx, t, i, tree.Run)
	if err != nil {
		return err
	}
	b := newBuilder(t, tree, cfg)
	for _, raw := range records {
		record, err := r.decode(ctx, t, raw, true)
		if err != nil {
			return err
		}
		b.add(record)
	}
	b.finish(i.Fold)
	if err := r.addOutcomes(ctx, t, b); err != nil {
		return err
	}
	return r.addSignals(ctx, t, i, tree, cfg)
}

// recordsOf returns the records up to the run's last: all of it, since there is no snapshot while a run is open.
func (r *Reader) recordsOf(ctx context.Context, t target, i *Instance, id protocol.RunID) ([]runlog.Record, error) {
	if k, over := i.Fold.Ended(id); over && k.Kind != protocol.EventRefused {
		return r.upTo(ctx, t, k.Seq)
	}
	return r.log.Load(ctx, r.subject(t))
}

// addSignals adds the stored signals that concern the run, or that nobody has heard of.
func (r *Reader) addSignals(ctx context.Context, t target, i *Instance, tree *Tree, cfg TreeConfig) error {
	stored, err := r.signals(ctx, t)
	if err != nil {
		return err
	}
	known := map[uint64]int{}
	for n, s := range tree.Signals {
		known[s.Seq] = n
	}
	open := i.Fold.Open != nil && i.Fold.Open.Run == tree.Run
	seen := fatesOf(i.Fold, nil)
	for _, s := range stored {
		n, ours := known[s.Seq]
		_, noted := seen[s.Seq]
		switch {
		case ours:
			tree.Signals[n].From = s.From
		case noted:
		case s.Run == tree.Run, s.Run == "" && open && s.Seq > i.Fold.Open.First:
			tree.Signals = append(tree.Signals, s)
		}
	}
	if !cfg.Full {
		for n := range tree.Signals {
			tree.Signals[n].Data = nil
		}
	}
	return nil
}

// addChildren looks at the runs that this one began.
func (r *Reader) addChildren(ctx context.Context, tree *Tree, cfg TreeConfig, left *int) error {
	for n := range tree.Steps {
		c := tree.Steps[n].child
		if c == nil {
			continue
		}
		workflow := protocol.WorkflowID(string(c.Operator) + "/" + c.Instance)
		child := &Tree{Workflow: workflow, Run: c.Run, Claims: []Claim{}, Steps: []Step{}}
		tree.Steps[n].Child = child
		if cfg.Depth <= 0 || *left <= 0 {
			child.Problem = "not looked at: too deep, or too many"
			continue
		}
		*left--
		below := cfg
		below.Depth--
		found, err := r.tree(ctx, workflow, c.Run, below, left)
		switch code := protocol.CodeOf(err); {
		case err == nil:
			tree.Steps[n].Child = found
		case ctx.Err() == nil && (code == protocol.CodeNotFound || code == protocol.CodeInternal):
			child.Problem = err.Error()
		default:
			return err
		}
	}
	return nil
}
