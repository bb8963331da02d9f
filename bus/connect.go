package bus

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/synadia-io/orbit.go/natscontext"
	"go.uber.org/zap"

	"github.com/skelegent/skelegent-go/protocol/wire"
)

const (
	connectWithin   = 5 * time.Second  // for each address
	pingEvery       = 20 * time.Second // two unanswered pings end a connection
	reconnectMin    = 100 * time.Millisecond
	reconnectMax    = 5 * time.Second
	reconnectBuffer = 4 << 20 // bytes published while there is no connection; more is refused
)

// ConnectConfig says where the NATS server is and who we are to it. The zero value means the server on
// this machine at its default port, without credentials.
type ConnectConfig struct {
	// URL is one or more server addresses, separated by commas. Empty means nats://127.0.0.1:4222.
	URL string
	// Context is the name of a NATS context, or the absolute path of its file. It brings its own address, so
	// URL must be empty.
	Context string
	// Creds is a credentials file, NKey a seed file such as the node key of an embedded server. At most one.
	Creds, NKey string
	// CA, Cert and Key are PEM files: the authority to trust, and our certificate with its key. Any of them,
	// or TLSServerName, makes TLS required.
	CA, Cert, Key string
	// TLSServerName is the name in the server's certificate where it differs from the address.
	TLSServerName string
	// Name is how the connection shows in the server's lists.
	Name string
	// Names are the names on the wire; the zero value is the default prefix.
	Names wire.Names
	// InboxPrefix is what reply subjects start with; empty means "_INBOX".
	InboxPrefix string
	// Logger gets what happens to the connection; nil means none.
	Logger *zap.Logger
	// Options come after all of the above and win.
	Options []nats.Option
}

// Conn is a connection to NATS with what everything above it needs. It is safe for concurrent use.
type Conn struct {
	nc    *nats.Conn
	js    jetstream.JetStream
	names wire.Names
	log   *zap.Logger
}

// Connect connects to NATS. It fails if no server is reached now, with an error that says where it tried and
// what to do, and is ErrConnect, or ErrUnauthorized too where a server refused us. Once connected it
// reconnects for ever. It blocks until connected or ctx ends.
func Connect(ctx context.Context, cfg ConnectConfig) (*Conn, error) {
	if cfg.Logger == nil {
		cfg.Logger = zap.NewNop()
	}
	log := cfg.Logger.Named("bus")
	opts, err := cfg.options(log)
	if err != nil {
		return nil, err
	}
	dial := &firstDial{}
	opts = append(opts, dial.option(ctx))
	var (
		nc       *nats.Conn
		settings natscontext.Settings
	)
	if cfg.Context != "" {
		nc, settings, err = natscontext.Connect(cfg.Context, opts...)
	} else {
		nc, err = nats.Connect(cfg.address(), opts...)
	}
	if err = dial.done(ctx, nc, err); err != nil {
		return nil, connectError(ctx, cfg.where(), err)
	}
	js, err := newJetStream(nc, settings)
	if err != nil {
		nc.Close()
		return nil, connectError(ctx, cfg.where(), err)
	}
	log.Info("connected", zap.String("url", nc.ConnectedUrlRedacted()))
	return &Conn{nc: nc, js: js, names: cfg.Names, log: cfg.Logger}, nil
}

// FromNATS makes a Conn of a connection that exists, for instance one within the process. Close drains
// and closes it. The error handler stays as it is.
func FromNATS(nc *nats.Conn, names wire.Names, log *zap.Logger) (*Conn, error) {
	if log == nil {
		log = zap.NewNop()
	}
	js, err := jetstream.New(nc)
	if err != nil {
		return nil, fmt.Errorf("%w: %v", ErrConnect, err) //nolint:errorlint // no nats error passes bus
	}
	return &Conn{nc: nc, js: js, names: names, log: log}, nil
}

func newJetStream(nc *nats.Conn, s natscontext.Settings) (jetstream.JetStream, error) {
	switch {
	case s.JSAPIPrefix != "":
		return jetstream.NewWithAPIPrefix(nc, s.JSAPIPrefix)
	case s.JSDomain != "":
		return jetstream.NewWithDomain(nc, s.JSDomain)
	}
	return jetstream.New(nc)
}

// NATS returns the connection itself. Its errors are those of package nats.
func (c *Conn) NATS() *nats.Conn { return c.nc }

// JetStream returns the client of the streams.
func (c *Conn) JetStream() jetstream.JetStream { return c.js }

// Names returns the names on the wire.
func (c *Conn) Names() wire.Names { return c.names }

// Logger returns the logger that the connection was made with; it is never nil.
func (c *Conn) Logger() *zap.Logger { return c.log }

// MaxPayload returns the largest message in bytes that the server takes.
func (c *Conn) MaxPayload() int64 { return c.nc.MaxPayload() }

// Close stops the subscriptions, lets their handlers finish, sends what is buffered and closes the
// connection. When ctx ends before that, or there is no connection now, it closes at once and returns an
// error if anything may be lost. It may be called again, and concurrently: every call returns when the
// connection is closed.
func (c *Conn) Close(ctx context.Context) error {
	closed := c.nc.StatusChanged(nats.CLOSED)
	defer c.nc.RemoveStatusListener(closed)
	unsent, _ := c.nc.Buffered()
	switch err := c.nc.Drain(); {
	case errors.Is(err, nats.ErrConnectionReconnecting) && unsent > 0: // it closed at once
		return fmt.Errorf("close connection while disconnected: %d bytes were not sent", unsent)
	case c.nc.IsClosed():
		return nil
	}
	select {
	case <-closed:
		return nil
	case <-ctx.Done():
		c.nc.Close()
		return fmt.Errorf("close connection before it was drained: %w", context.Cause(ctx))
	}
}

// reconnectDelay is exponential with jitter, so that a server coming back is not met by all at once.
func reconnectDelay(attempts int) time.Duration {
	d := min(reconnectMin<<min(max(attempts-1, 0), 10), reconnectMax)
	return d/2 + rand.N(d/2) //nolint:gosec // no secret
}
