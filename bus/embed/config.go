package embed

import (
	"fmt"
	"net"
	"strings"
	"time"

	"go.uber.org/zap"

	"github.com/skelegent/skelegent-go/protocol/wire"
)

// Defaults of Config.
const (
	DefaultListen      = "127.0.0.1:4222"
	DefaultMaxPayload  = 1 << 20         // bytes
	DefaultMaxStore    = int64(16) << 30 // bytes
	DefaultMaxMemory   = int64(256) << 20
	DefaultStartWithin = 30 * time.Second
)

// ListenNone as Config.Listen opens no port: only Server.Connect reaches the server.
const ListenNone = "none"

// Config says how the embedded server runs. Only Dir is required.
type Config struct {
	// Dir is the data directory. It is created if absent, with mode 0700, and held under a lock.
	Dir string
	// Listen is the HOST:PORT that clients reach; DefaultListen if empty, ListenNone for no port at all.
	// Port 0 or -1 takes a free one.
	Listen string
	// AllowRemote permits a Listen address that other machines reach. Whoever connects there without
	// credentials is a guest: may give the operators work and read everything that is stored.
	AllowRemote bool
	// Names are the names that the guest's permissions are made of; the zero value is the default prefix.
	Names wire.Names
	// MaxPayload is the largest message in bytes; 0 means DefaultMaxPayload.
	MaxPayload int32
	// NoSync leaves it to the operating system when what was acknowledged reaches the disk. For tests and
	// benchmarks: a power failure then loses acknowledged messages. A killed process does not.
	NoSync bool
	// MaxStore and MaxMemory limit all streams together, in bytes on disk and in memory; 0 means
	// DefaultMaxStore and DefaultMaxMemory. When they are reached, publishing is refused with an error.
	MaxStore, MaxMemory int64
	// StartWithin is how long recovery of the stored streams may take; 0 means DefaultStartWithin.
	StartWithin time.Duration
	// Logger gets the server's warnings and errors, and at debug level its notices; nil means none.
	Logger *zap.Logger
}

func (c Config) withDefaults() Config {
	if c.Listen == "" {
		c.Listen = DefaultListen
	}
	if c.MaxPayload == 0 {
		c.MaxPayload = DefaultMaxPayload
	}
	if c.MaxStore == 0 {
		c.MaxStore = DefaultMaxStore
	}
	if c.MaxMemory == 0 {
		c.MaxMemory = DefaultMaxMemory
	}
	if c.StartWithin == 0 {
		c.StartWithin = DefaultStartWithin
	}
	if c.Logger == nil {
		c.Logger = zap.NewNop()
	}
	c.Logger = c.Logger.Named("nats")
	return c
}

func (c Config) validate() error {
	if c.Dir == "" {
		return fmt.Errorf("embedded server: a data directory is required")
	}
	if c.MaxPayload < 0 || c.MaxStore < 0 || c.MaxMemory < 0 || c.StartWithin < 0 {
		return fmt.Errorf("embedded server: limits must not be negative")
	}
	if c.Listen == ListenNone {
		return nil
	}
	if _, _, err := net.SplitHostPort(c.Listen); err != nil {
		return fmt.Errorf("listen address %q: must be HOST:PORT, such as %s, or %q", c.Listen, DefaultListen, ListenNone)
	}
	return nil
}

// address is Listen in the form that package net takes: -1 and 0 both mean any free port.
func (c Config) address() string {
	if host, ok := strings.CutSuffix(c.Listen, ":-1"); ok {
		return host + ":0"
	}
	return c.Listen
}
