package compose

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/google/uuid"

	"github.com/skelegent/skelegent-go/protocol"
)

// Signal is something that was noticed, by which skills and rules decide whether they apply.
type Signal string

// Evidence is what a skill found.
type Evidence struct {
	SourceSkill string `json:"source_skill" wire:"required"`
	Label       string `json:"label" wire:"required"`
	// Detail is any JSON, null if empty.
	Detail json.RawMessage `json:"detail" wire:"required"`
	// RecordedAt is when; an agent fills it in where it is zero.
	RecordedAt time.Time `json:"recorded_at" wire:"required"`
}

// NewEvidence returns evidence that is recorded now. In a durable run leave the time to the agent instead, whose clock may
// be one that is the same on replay: Evidence{SourceSkill: id, Label: label}.
func NewEvidence(skill, label string) Evidence {
	return Evidence{SourceSkill: skill, Label: label, RecordedAt: time.Now().UTC().Round(0)}
}

// WithDetail returns e with a detail.
func (e Evidence) WithDetail(detail json.RawMessage) Evidence {
	e.Detail = detail
	return e
}

// Investigation is what a chain of skills works on: the context that they share. It belongs to one step at a time and is not
// safe for concurrent use.
type Investigation struct {
	EntityID string `json:"entity_id" wire:"required"`
	// BlockID is the only member that may be missing when an investigation is read.
	BlockID   *uuid.UUID `json:"block_id,omitempty"`
	Partition string     `json:"partition" wire:"required"`
	// Signals may hold one more than once.
	Signals  []Signal   `json:"signals" wire:"required"`
	Evidence []Evidence `json:"evidence" wire:"required"`
	// Confidence is from 0 to 1.
	Confidence float64 `json:"confidence" wire:"required"`
	// Pending is what the last skill that ran said should happen next.
	Pending []NextAction `json:"pending_actions" wire:"required"`
}

// NewInvestigation returns an empty investigation of an entity.
func NewInvestigation(entity, partition string) *Investigation {
	return &Investigation{EntityID: entity, Partition: partition}
}

// WithBlock sets the block and returns inv.
func (inv *Investigation) WithBlock(id uuid.UUID) *Investigation {
	inv.BlockID = &id
	return inv
}

// WithSignal adds a signal and returns inv.
func (inv *Investigation) WithSignal(s Signal) *Investigation {
	inv.AddSignal(s)
	return inv
}

// AddSignal adds signals, also those that are there already.
func (inv *Investigation) AddSignal(s ...Signal) { inv.Signals = append(inv.Signals, s...) }

// HasSignal reports whether exactly that signal is there.
func (inv *Investigation) HasSignal(s Signal) bool { return slices.Contains(inv.Signals, s) }

// AddEvidence adds evidence.
func (inv *Investigation) AddEvidence(e ...Evidence) { inv.Evidence = append(inv.Evidence, e...) }

// Clone returns a copy that shares nothing with inv.
func (inv *Investigation) Clone() *Investigation {
	c := *inv
	if inv.BlockID != nil {
		id := *inv.BlockID
		c.BlockID = &id
	}
	c.Signals, c.Evidence, c.Pending = slices.Clone(inv.Signals), slices.Clone(inv.Evidence), slices.Clone(inv.Pending)
	for i := range c.Evidence {
		c.Evidence[i].Detail = bytes.Clone(c.Evidence[i].Detail)
	}
	for i, a := range c.Pending {
		if a, ok := a.(InvokeTool); ok {
			a.Args = bytes.Clone(a.Args)
			c.Pending[i] = a
		}
	}
	return &c
}

// Limits of an investigation. One that is beyond them is not read, and no agent works on it. Lengths are in bytes.
const (
	MaxInvestigation = 4 << 20 // as JSON, or of all the texts and values in it together
	MaxSignals       = 1_000
	MaxEvidence      = 1_000
	MaxPending       = 100
	MaxName          = 256     // an entity, a partition, a signal, a skill or a tool
	MaxLabel         = 1 << 10 // of evidence
	MaxDetail        = 64 << 10
)

// Validate returns an error of kind KindInvalidArgument that names the limit which inv is beyond, or nil. A confidence must
// be a number.
func (inv *Investigation) Validate() error {
	for _, l := range []struct {
		what string
		n    int
		most int
	}{
		{"bytes of entity_id", len(inv.EntityID), MaxName},
		{"bytes of partition", len(inv.Partition), MaxName},
		{"signals", len(inv.Signals), MaxSignals},
		{"entries of evidence", len(inv.Evidence), MaxEvidence},
		{"pending actions", len(inv.Pending), MaxPending},
	} {
		if err := within(l.what, l.n, l.most); err != nil {
			return err
		}
	}
	if math.IsNaN(inv.Confidence) || math.IsInf(inv.Confidence, 0) {
		return ErrInvalidArgument("an investigation whose confidence is no number")
	}
	for _, s := range inv.Signals {
		if err := within("bytes of a signal", len(s), MaxName); err != nil {
			return err
		}
	}
	if err := inv.validateLists(); err != nil {
		return err
	}
	return within("bytes", inv.size(), MaxInvestigation)
}

// size is how many bytes the texts and the values in the lists have.
func (inv *Investigation) size() (n int) {
	for _, s := range inv.Signals {
		n += len(s)
	}
	for _, e := range inv.Evidence {
		n += len(e.SourceSkill) + len(e.Label) + len(e.Detail)
	}
	for _, a := range inv.Pending {
		if a, ok := a.(InvokeTool); ok {
			n += len(a.Tool) + len(a.Args)
		}
	}
	return n
}

func (inv *Investigation) validateLists() error {
	for _, e := range inv.Evidence {
		if err := within("bytes of a source_skill", len(e.SourceSkill), MaxName); err != nil {
			return err
		}
		if err := within("bytes of a label", len(e.Label), MaxLabel); err != nil {
			return err
		}
		if err := within("bytes of a detail", len(e.Detail), MaxDetail); err != nil {
			return err
		}
	}
	for _, a := range inv.Pending {
		if err := validateAction(a); err != nil {
			return err
		}
	}
	return nil
}

func validateAction(a NextAction) error {
	switch a := a.(type) {
	case RunSkill:
		return within("bytes of a skill's id", len(a.ID), MaxName)
	case InvokeTool:
		if err := within("bytes of a tool's name", len(a.Tool), MaxName); err != nil {
			return err
		}
		return within("bytes of a tool's arguments", len(a.Args), MaxDetail)
	case Conclude, Discard:
		return nil
	}
	return ErrInvalidArgument("an investigation with an action that is none")
}

func within(what string, n, most int) error {
	if n <= most {
		return nil
	}
	return ErrInvalidArgument(fmt.Sprintf("an investigation with %d %s, at most %d are taken", n, what, most))
}

// MarshalJSON writes empty lists as [].
func (inv Investigation) MarshalJSON() ([]byte, error) {
	type plain Investigation
	inv.Signals, inv.Evidence, inv.Pending = list(inv.Signals), list(inv.Evidence), list(inv.Pending)
	return protocol.Marshal(plain(inv))
}

// UnmarshalJSON reads an investigation, all members of which but block_id must be there; those it does not know are ignored.
// A confidence beyond 0 to 1 is brought into it. The error is of kind KindSerialization, or KindInvalidArgument for one that
// is beyond the limits; inv is then as it was.
func (inv *Investigation) UnmarshalJSON(raw []byte) error {
	if err := within("bytes", len(raw), MaxInvestigation); err != nil {
		return err
	}
	var read struct {
		EntityID   string     `json:"entity_id" wire:"required"`
		BlockID    *uuid.UUID `json:"block_id,omitempty"`
		Partition  string     `json:"partition" wire:"required"`
		Signals    []Signal   `json:"signals" wire:"required"`
		Evidence   []Evidence `json:"evidence" wire:"required"`
		Confidence float64    `json:"confidence" wire:"required"`
		Pending    []tagged   `json:"pending_actions" wire:"required"`
	}
	if err := protocol.Unmarshal(raw, &read); err != nil {
		return ErrSerialization(err)
	}
	next := Investigation{
		EntityID: read.EntityID, BlockID: read.BlockID, Partition: read.Partition, Signals: read.Signals, Evidence: read.Evidence,
		Confidence: clamp(read.Confidence), Pending: actions(read.Pending),
	}
	if err := next.Validate(); err != nil {
		return err
	}
	*inv = next
	return nil
}

func clamp(c float64) float64 { return min(max(c, 0), 1) }
