package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"sync"
	"time"

	"github.com/skelegent/skelegent-go/actors"
	"github.com/skelegent/skelegent-go/actors/effect"
	"github.com/skelegent/skelegent-go/bus"
	"github.com/skelegent/skelegent-go/bus/embed"
	"github.com/skelegent/skelegent-go/protocol"
	"github.com/skelegent/skelegent-go/protocol/wire"
	"github.com/skelegent/skelegent-go/state/kv"
)

// demoWorld is all that the worker needs and that outlives it: the server, the model, and a node that hosts no operator
// but performs effects. It keeps its own count of what reaches it.
type demoWorld struct {
	dir    string
	server *embed.Server
	conn   *bus.Conn
	store  *kv.Store
	node   *actors.Node
	model  *demoModel
	mails  demoMailer
	// wake gets something whenever something may have changed.
	wake chan struct{}
}

// startDemoWorld starts it with its data in dir. If it fails nothing is left running.
func startDemoWorld(ctx context.Context, dir, listen string) (_ *demoWorld, err error) {
	w := &demoWorld{dir: dir, wake: make(chan struct{}, 1)}
	defer func() {
		if err != nil {
			err = errors.Join(err, w.stop(ctx))
		}
	}()
	if w.model, err = startDemoModel(ctx, demoHeld, w.changed); err != nil {
		return nil, err
	}
	if w.server, err = embed.Start(embed.Config{Dir: filepath.Join(dir, defaultData), Listen: listen}); err != nil {
		return nil, err
	}
	nc, err := w.server.Connect()
	if err != nil {
		return nil, err
	}
	if w.conn, err = bus.FromNATS(nc, wire.Names{}, nil); err != nil {
		nc.Close()
		return nil, err
	}
	if w.store, err = kv.Open(ctx, w.conn.JetStream(), kv.Config{Create: true}); err != nil {
		return nil, err
	}
	node, err := actors.NewNode(w.conn, actors.Config{Name: "outside", ID: w.server.NodeID(), State: w.store})
	if err != nil {
		return nil, err
	}
	// One at a time, so that the order is that of the requests; and not idempotent: nobody wants a mail twice.
	if err := node.RegisterEffect("mail", &w.mails, effect.Options{Concurrency: 1}); err != nil {
		return nil, err
	}
	w.node = node
	return w, node.Start(ctx)
}

// stop ends all of it, also where it was only begun, or is nil.
func (w *demoWorld) stop(ctx context.Context) error {
	if w == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), demoTimeout) // what was begun has to be ended
	defer cancel()
	var errs []error
	if w.node != nil {
		errs = append(errs, w.node.Stop(ctx))
	}
	if w.conn != nil {
		errs = append(errs, w.conn.Close(ctx))
	}
	w.model.close()
	return errors.Join(append(errs, w.server.Stop(ctx))...)
}

// changed wakes whoever waits for the world.
func (w *demoWorld) changed() {
	select {
	case w.wake <- struct{}{}:
	default:
	}
}

// lookEvery is how often the world is looked at where nothing says that it changed.
const lookEvery = 50 * time.Millisecond

// until returns when there is what is waited for, the worker has ended, or it takes too long.
func (w *demoWorld) until(ctx context.Context, worker *demoWorker, what string, there func(context.Context) (bool, error)) error {
	ctx, cancel := context.WithTimeoutCause(ctx, demoTimeout, fmt.Errorf("%s: not within %s", what, demoTimeout))
	defer cancel()
	tick := time.NewTicker(lookEvery)
	defer tick.Stop()
	for {
		ok, err := there(ctx)
		if ctx.Err() != nil {
			return fmt.Errorf("demo: %w", context.Cause(ctx))
		}
		if ok || err != nil {
			return err
		}
		select {
		case <-w.wake:
		case <-tick.C:
		case <-worker.done:
			return fmt.Errorf("demo: %s: %w", what, worker.ended())
		case <-ctx.Done():
		}
	}
}

// openTasks is how many messages the queue of tasks holds: what somebody works on, or has to.
func (w *demoWorld) openTasks(ctx context.Context) (int, error) {
	const attempted = "look at the tasks"
	s, err := w.conn.JetStream().Stream(ctx, w.conn.Names().Stream(wire.StreamTasks))
	if err != nil {
		return 0, bus.Translate(attempted, err)
	}
	return int(s.CachedInfo().State.Msgs), nil
}

// memory is what the state has under the demo's key, and how many writes the whole bucket has seen.
func (w *demoWorld) memory(ctx context.Context, session protocol.SessionID) (value string, writes int, err error) {
	raw, err := w.store.Read(ctx, protocol.InSession(session), demoKey)
	if err != nil {
		return "", 0, err
	}
	s, err := w.conn.JetStream().Stream(ctx, "KV_"+w.conn.Names().Stream(wire.BucketState))
	if err != nil {
		return "", 0, bus.Translate("look at the state", err)
	}
	return string(raw), int(s.CachedInfo().State.LastSeq), nil
}

// demoMailer performs the effects of the type mail. It remembers all that it was ever asked to do.
type demoMailer struct {
	mu   sync.Mutex
	sent []string // to whom
}

// Perform implements effect.Executor.
func (m *demoMailer) Perform(_ context.Context, r effect.Request) error {
	custom, ok := r.Effect.(protocol.CustomEffect)
	var mail struct {
		To string `json:"to"`
	}
	if !ok || json.Unmarshal(custom.Data, &mail) != nil || mail.To == "" {
		return protocol.NewError(protocol.CodeInvalidInput, "a mail needs the field to")
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.sent = append(m.sent, mail.To)
	return nil
}

func (m *demoMailer) all() []string {
	m.mu.Lock()
	defer m.mu.Unlock()
	return append([]string{}, m.sent...)
}
