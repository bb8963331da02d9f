package kv

import (
	"context"
	"encoding/json"
	"errors"

	"github.com/skelegent/skelegent-go/protocol"
	"github.com/skelegent/skelegent-go/state"
)

// Write implements protocol.StateStore. A TTL of 0 ends at once.
func (s *Store) Write(ctx context.Context, scope protocol.Scope, key string, value json.RawMessage, opts protocol.StoreOptions) error {
	_, err := s.write(ctx, scope, key, value, opts, nil, nil)
	return err
}

// Delete implements protocol.StateStore. It is possible in a full bucket.
func (s *Store) Delete(ctx context.Context, scope protocol.Scope, key string) error {
	return s.delete(ctx, scope, key, nil, nil)
}

// WriteOption adds to a WriteIf or DeleteIf.
type WriteOption func(*change)

// WithBy leaves a note, which must be JSON, for Entry to return: who changed this, and for what. The store does not
// look at it. A plain Write or Delete leaves the note that is there.
func WithBy(note json.RawMessage) WriteOption { return func(c *change) { c.by = note } }

// Exactly takes the revision to the letter: 0 then means that the key never had a value that the server remembers, not only
// that it has none now. Without it, a write at revision 0 also succeeds behind a deletion that came after the reading.
func Exactly() WriteOption { return func(c *change) { c.exact = true } }

// WriteIf stores value if the key has the revision that Entry returned, and returns its new revision. Revision 0 means
// that there must be no value. The error has code conflict if somebody else changed the key, and timeout if it is
// unknown whether the value was stored: read Entry again, By tells.
func (s *Store) WriteIf(ctx context.Context, scope protocol.Scope, key string, value json.RawMessage, opts protocol.StoreOptions,
	revision uint64, options ...WriteOption,
) (uint64, error) {
	return s.write(ctx, scope, key, value, opts, &revision, options)
}

// DeleteIf removes a value if the key has the revision that Entry returned. Its errors are those of WriteIf; a value that
// is gone already is a conflict.
func (s *Store) DeleteIf(ctx context.Context, scope protocol.Scope, key string, revision uint64, options ...WriteOption) error {
	return s.delete(ctx, scope, key, &revision, options)
}

func (s *Store) write(ctx context.Context, scope protocol.Scope, key string, value json.RawMessage, opts protocol.StoreOptions,
	revision *uint64, options []WriteOption,
) (uint64, error) {
	call, cancel, err := s.begin(ctx)
	if err != nil {
		return 0, err
	}
	defer cancel()
	if value, err = state.Canonical(value, s.cfg.MaxValue); err != nil {
		return 0, err
	}
	c := change{subject: s.prefix + entryKey(scope, key), record: newRecord(key, opts, s.cfg.Now()), value: value, revision: revision}
	if opts.TTL != nil {
		c.ttl = opts.TTL.Duration()
	}
	if err := c.apply(options); err != nil {
		return 0, err
	}
	seq, err := s.change(call, c)
	if err != nil {
		return 0, s.writeFailed(ctx, place(scope, key), err)
	}
	return seq, nil
}

func (s *Store) delete(ctx context.Context, scope protocol.Scope, key string, revision *uint64, options []WriteOption) error {
	call, cancel, err := s.begin(ctx)
	if err != nil {
		return err
	}
	defer cancel()
	c := change{subject: s.prefix + entryKey(scope, key), revision: revision}
	if err := c.apply(options); err != nil {
		return err
	}
	if _, err := s.change(call, c); err != nil {
		return s.writeFailed(ctx, "delete "+place(scope, key), err)
	}
	return nil
}

// apply takes over the options and checks what they brought.
func (c *change) apply(options []WriteOption) error {
	for _, o := range options {
		o(c)
	}
	if c.by == nil {
		return nil
	}
	by, err := state.Canonical(c.by, maxBy)
	c.by = by
	return err
}

// maxBy is the longest note of WithBy in bytes.
const maxBy = 16 << 10

// change makes one change of one key. It returns the new revision.
func (s *Store) change(ctx context.Context, c change) (uint64, error) {
	for n := 0; ; n++ {
		old, err := s.last(ctx, c.subject)
		if err != nil {
			return 0, err
		}
		expect, err := c.expect(old, s.cfg.Now())
		if err != nil {
			return 0, err
		}
		if c.record == nil && (c.revision == nil || *c.revision == 0) && !old.present() {
			return old.seq, nil // there is nothing to delete
		}
		if c.revision == nil && n == politeRounds {
			expect = nil
		}
		now := c
		if c.revision == nil && c.by == nil {
			now.by = old.record.By // who writes plainly does not take away what the last one with a note left
		}
		seq, err := s.attempt(ctx, now, old, expect)
		if c.revision != nil || !errors.Is(err, errConflict) {
			return seq, err
		}
	}
}

// politeRounds is how often a plain write that others are faster than replaces exactly what it saw, before it replaces
// whatever is there. The blob of that stays until Sweep.
const politeRounds = 2
