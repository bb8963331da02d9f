package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/spf13/cobra"
	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"

	"github.com/skelegent/skelegent-go/bus"
	"github.com/skelegent/skelegent-go/protocol"
)

// closeWithin bounds how long the end of a connection may take.
const closeWithin = 2 * time.Second

// session is a connection that ends its command when the server does not permit something: package nats would only
// wait for an answer that never comes.
type session struct {
	*bus.Conn
	refuse context.CancelCauseFunc

	mu       sync.Mutex
	optional map[string]bool // subjects that the command can do without
}

// tolerate says that the command goes on where it may not subscribe to subject.
func (s *session) tolerate(subject string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.optional[subject] = true
}

// withConn connects, calls f with a context that ends after limit (never, if 0), and closes the connection.
func (a *app) withConn(cmd *cobra.Command, limit time.Duration, f func(ctx context.Context, s *session) error) error {
	ctx, refuse := context.WithCancelCause(cmd.Context())
	defer refuse(nil)
	s, err := a.connect(ctx, cmd.Name(), refuse)
	if err != nil {
		return err
	}
	defer func() {
		// The end of the command is no reason to leave things unsent.
		closing, cancel := context.WithTimeout(context.WithoutCancel(ctx), closeWithin)
		defer cancel()
		_ = s.Close(closing) // what mattered was acknowledged
	}()
	work := ctx
	if limit > 0 {
		var cancel context.CancelFunc
		work, cancel = context.WithTimeout(ctx, limit)
		defer cancel()
	}
	err = f(work, s)
	var denied *protocol.Error
	if err != nil && errors.As(context.Cause(ctx), &denied) {
		return denied
	}
	return err
}

func (a *app) connect(ctx context.Context, command string, refuse context.CancelCauseFunc) (*session, error) {
	cfg, err := a.flags.connectConfig()
	if err != nil {
		return nil, err
	}
	s := &session{refuse: refuse, optional: map[string]bool{}}
	log := a.logger()
	cfg.Name, cfg.Logger = "skelegent "+command, log
	cfg.Options = []nats.Option{
		nats.ErrorHandler(func(_ *nats.Conn, sub *nats.Subscription, err error) { s.failed(log, sub, err) }),
	}
	ctx, cancel := context.WithTimeout(ctx, a.flags.timeout)
	defer cancel()
	if s.Conn, err = bus.Connect(ctx, cfg); err != nil {
		return nil, err
	}
	return s, nil
}

// failed takes what goes wrong on the connection by itself.
func (s *session) failed(log *zap.Logger, sub *nats.Subscription, err error) {
	log.Warn("connection error", zap.Error(err))
	if !errors.Is(err, nats.ErrPermissionViolation) {
		return
	}
	if sub != nil {
		s.mu.Lock()
		optional := s.optional[sub.Subject]
		s.mu.Unlock()
		if optional {
			return
		}
	}
	s.refuse(protocol.NewError(protocol.CodePermissionDenied, fmt.Sprintf("the server does not permit %s: "+
		"connect with a node's credentials, such as --nkey .skelegent/node.key, or --creds FILE", denied(err.Error()))))
}

// denied is what the server's text says that we may not do.
func denied(text string) string {
	_, what, ok := strings.Cut(text, "Permissions Violation for ")
	if !ok {
		return "this"
	}
	return strings.NewReplacer("Publish to", "publishing to", "Subscription to", "subscribing to").Replace(what)
}

// logger writes to the standard error with --verbose, and nowhere without.
func (a *app) logger() *zap.Logger {
	if !a.flags.verbose {
		return zap.NewNop()
	}
	cfg := zap.NewDevelopmentEncoderConfig()
	cfg.CallerKey = ""
	return zap.New(zapcore.NewCore(zapcore.NewConsoleEncoder(cfg), zapcore.Lock(zapcore.AddSync(a.err)), zap.DebugLevel))
}
