package bus_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/skelegent/skelegent-go/bus"
)

// The configuration in deploy is one that a server takes, and its roles may do what they need and no more.
func TestDeployedServer(t *testing.T) { //nolint:paralleltest // it sets the environment
	for _, role := range []string{"NODE", "EXECUTOR", "READER", "GUEST"} {
		t.Setenv(role+"_PASSWORD", "pw-"+role)
	}
	opts, err := server.ProcessConfigFile("../deploy/nats/server.conf")
	if err != nil {
		t.Fatal(err)
	}
	if !opts.SyncAlways {
		t.Error("what is acknowledged is not on the disk")
	}
	opts.Host, opts.Port, opts.StoreDir, opts.NoLog, opts.NoSigs = "127.0.0.1", -1, t.TempDir(), true, true
	s, err := server.NewServer(opts)
	if err != nil {
		t.Fatal(err)
	}
	s.Start()
	defer func() { s.Shutdown(); s.WaitForShutdown() }()
	if !s.ReadyForConnections(10 * time.Second) {
		t.Fatal("server is not ready")
	}
	as := func(role string) *bus.Conn {
		url := fmt.Sprintf("nats://%s:pw-%s@%s", map[string]string{
			"NODE": "node", "EXECUTOR": "executor", "READER": "reader", "GUEST": "guest",
		}[role], role, s.Addr())
		return connect(t, bus.ConnectConfig{URL: url})
	}
	ctx := connectContext(t)
	node := as("NODE")
	if err := node.Ensure(ctx, bus.Topology{}); err != nil {
		t.Fatal(err)
	}
	if _, err := node.JetStream().Publish(ctx, "skg.effect.mail.op.i", []byte("{}")); err != nil {
		t.Fatal(err)
	}

	executor := as("EXECUTOR").JetStream()
	consumer, err := executor.CreateConsumer(ctx, "SKG_EFFECTS", jetstream.ConsumerConfig{
		Durable: "exec_mail", FilterSubject: "skg.effect.mail.>", AckPolicy: jetstream.AckExplicitPolicy,
	})
	if err != nil {
		t.Fatalf("executor's consumer: %v", err)
	}
	msg, err := consumer.Next(jetstream.FetchMaxWait(5 * time.Second))
	if err != nil {
		t.Fatalf("executor gets nothing: %v", err)
	}
	if _, err := executor.Publish(ctx, "skg.log.op.i.done.mail", []byte("{}"), jetstream.WithExpectLastSequencePerSubject(0)); err != nil {
		t.Errorf("executor's ledger: %v", err)
	}
	if err := msg.DoubleAck(ctx); err != nil {
		t.Errorf("executor's ack: %v", err)
	}

	for _, tc := range []struct {
		role, subject string
		denied        bool
	}{
		{"EXECUTOR", "skg.log.op.i.run", true},
		{"EXECUTOR", "skg.effect.mail.op.i", true},
		{"EXECUTOR", "skg.task.op", true},
		{"EXECUTOR", "skg.wake.op.i.effect", true},
		{"READER", "skg.log.op.i.run", true},
		{"READER", "$JS.API.STREAM.DELETE.SKG_LOG", true},
		{"READER", "$JS.API.STREAM.INFO.SKG_LOG", false},
		{"READER", "$JS.API.STREAM.MSG.GET.SKG_TASKS", false},
		{"READER", "$JS.API.CONSUMER.CREATE.SKG_TASKS.c1", true},
		{"READER", "$JS.API.STREAM.PURGE.SKG_TIMERS", true},
		{"READER", "skg.task.op", false},
		{"READER", "skg.timer.task.op.x", true},
		{"GUEST", "skg.op.assistant", false},
		{"GUEST", "skg.task.assistant", false},
		{"GUEST", "skg.wake.op.i.child", true},
		{"GUEST", "skg.timer.wake.op.i.x", true},
		{"GUEST", "skg.due.wake.op.i", true},
		{"GUEST", "skg.event.op.i.run", true},
		{"GUEST", "$JS.API.STREAM.INFO.SKG_LOG", true},
		{"GUEST", "$KV.SKG_STATE.global.x", true},
	} {
		violations := make(chan error, 8)
		c := as(tc.role)
		c.NATS().SetErrorHandler(func(_ *nats.Conn, _ *nats.Subscription, err error) { violations <- err })
		if err := c.NATS().PublishRequest(tc.subject, c.NATS().NewInbox(), nil); err != nil {
			t.Fatal(err)
		}
		if err := c.NATS().FlushWithContext(ctx); err != nil {
			t.Fatal(err)
		}
		got := violation(ctx, c, violations)
		if denied := errors.Is(got, nats.ErrPermissionViolation); denied != tc.denied {
			t.Errorf("%s on %s: denied %v, want %v (%v)", tc.role, tc.subject, denied, tc.denied, got)
		}
	}
}

// violation returns what the server complained of before the answer to a flush, nil if nothing. The client hands errors
// over in a goroutine of its own, so its last error is asked too.
func violation(ctx context.Context, c *bus.Conn, got <-chan error) error {
	if c.NATS().LastError() == nil {
		return nil
	}
	select {
	case err := <-got:
		return err
	case <-ctx.Done():
		return ctx.Err()
	}
}
