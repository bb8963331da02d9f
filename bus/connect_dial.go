package bus

import (
	"context"
	"net"
	"sync"

	"github.com/nats-io/nats.go"
)

// firstDial ties the first attempt to a context, which package nats does not; later ones go on for ever.
type firstDial struct {
	mu   sync.Mutex
	over bool
	stop []func() bool // one for each connection of the first attempt
}

func (f *firstDial) option(ctx context.Context) nats.Option {
	return func(o *nats.Options) error {
		if o.InProcessServer == nil {
			o.CustomDialer = dialerFunc(f.dialer(ctx, o))
		}
		return nil
	}
}

func (f *firstDial) dialer(ctx context.Context, o *nats.Options) func(network, addr string) (net.Conn, error) {
	inner, plain := o.CustomDialer, net.Dialer{Timeout: o.Timeout}
	return func(network, addr string) (net.Conn, error) {
		ctx := ctx
		if f.isOver() {
			ctx = context.WithoutCancel(ctx) // a reconnect
		}
		var (
			conn net.Conn
			err  error
		)
		if inner != nil {
			conn, err = inner.Dial(network, addr)
		} else {
			conn, err = plain.DialContext(ctx, network, addr)
		}
		if err == nil {
			f.tie(ctx, conn)
		}
		return conn, err
	}
}

func (f *firstDial) isOver() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.over
}

// tie closes conn when ctx ends, while the first attempt goes on.
func (f *firstDial) tie(ctx context.Context, conn net.Conn) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if !f.over {
		f.stop = append(f.stop, context.AfterFunc(ctx, func() { _ = conn.Close() }))
	}
}

// done ends the tie. If ctx ended while the last step was under way, its connection is closed.
func (f *firstDial) done(ctx context.Context, nc *nats.Conn, err error) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.over = true
	cut := false
	for _, stop := range f.stop {
		cut = !stop()
	}
	f.stop = nil
	if err == nil && cut {
		nc.Close()
		return context.Cause(ctx)
	}
	return err
}

type dialerFunc func(network, addr string) (net.Conn, error)

func (f dialerFunc) Dial(network, addr string) (net.Conn, error) { return f(network, addr) }
