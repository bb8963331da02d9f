package kv

import (
	"cmp"
	"errors"
	"time"

	"go.uber.org/zap"

	"github.com/skelegent/skelegent-go/protocol/wire"
	"github.com/skelegent/skelegent-go/state"
)

// Config says which bucket a Store uses, and how. The zero value opens SKG_STATE if it is there.
type Config struct {
	// Names give the bucket and the object store their names; the default prefix if zero.
	Names wire.Names
	// Create makes Open create the bucket and the object store if they are missing. Without it that is an error.
	Create bool
	// Replicas is how many servers keep a copy; 1 if 0. A bucket that exists must have at least as many.
	Replicas int
	// MaxBytes bounds a bucket that is created; 0 leaves it to the server's limits. A full bucket refuses what is new.
	MaxBytes int64
	// MaxValue is the longest value in bytes; state.DefaultMaxValue if 0.
	MaxValue int
	// Limits bound a search, and Entries also a traversal; see state.Limits for the defaults.
	Limits state.Limits
	// Timeout bounds every call, its repetitions included; 10 s if 0. An earlier deadline of the context wins.
	Timeout time.Duration
	// Attempt is how long one request waits for its answer before it is repeated; 2 s if 0.
	Attempt time.Duration
	// Now is the clock that ends a time to live; time.Now if nil.
	Now func() time.Time
	// Log gets what no caller is told: blobs that could not be removed, entries that cannot be read. None if nil.
	Log *zap.Logger
}

func (c Config) withDefaults() Config {
	c.Replicas = cmp.Or(c.Replicas, 1)
	c.MaxValue = cmp.Or(c.MaxValue, state.DefaultMaxValue)
	c.Limits = c.Limits.WithDefaults()
	c.Timeout = cmp.Or(c.Timeout, 10*time.Second)
	c.Attempt = cmp.Or(c.Attempt, 2*time.Second)
	if c.Now == nil {
		c.Now = time.Now
	}
	if c.Log == nil {
		c.Log = zap.NewNop()
	}
	return c
}

func (c Config) validate() error {
	switch {
	case c.Replicas < 1 || c.Replicas > 5:
		return errors.New("replicas must be 1 to 5")
	case c.MaxBytes < 0 || c.MaxValue < 0 || c.Timeout < 0 || c.Attempt < 0:
		return errors.New("limits and times must not be negative")
	}
	return nil
}
