package instance_test

import (
	"context"
	"encoding/json"
	"testing"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/skelegent/skelegent-go/actors/internal/actorx"
	"github.com/skelegent/skelegent-go/actors/internal/instance"
	"github.com/skelegent/skelegent-go/bus"
	"github.com/skelegent/skelegent-go/bus/embed"
	"github.com/skelegent/skelegent-go/bus/embed/embedtest"
	"github.com/skelegent/skelegent-go/bus/runlog"
	"github.com/skelegent/skelegent-go/bus/task"
	"github.com/skelegent/skelegent-go/protocol"
	"github.com/skelegent/skelegent-go/protocol/wire"
)

func TestMain(m *testing.M) { embedtest.VerifyTestMain(m) }

// host starts a durable operator on a server of its own.
func host(t *testing.T, cfg instance.Config) (*instance.Host, *bus.Conn) {
	t.Helper()
	s, err := embed.Start(embed.Config{Dir: t.TempDir(), Listen: embed.ListenNone, NoSync: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Stop(context.Background()) })
	nc, err := s.Connect()
	if err != nil {
		t.Fatal(err)
	}
	conn, err := bus.FromNATS(nc, wire.Names{}, nil)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	t.Cleanup(cancel)
	if err := conn.Ensure(ctx, bus.Topology{}); err != nil {
		t.Fatal(err)
	}
	if err := runlog.NewBlobs(conn.JetStream(), conn.Names()).Ensure(ctx, 1); err != nil {
		t.Fatal(err)
	}
	sys := actorx.NewSystem(actorx.Config{})
	cfg.Conn, cfg.ID = conn, "op"
	cfg.Sink = func(*protocol.Invocation) protocol.EventSink { return silent{} }
	h, err := instance.Start(ctx, sys, cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		stop, cancel := context.WithTimeout(context.Background(), 10*time.Second)
		defer cancel()
		if err := h.Drain(stop); err != nil {
			t.Error(err)
		}
		if err := sys.Stop(stop); err != nil {
			t.Error(err)
		}
		nc.Close()
	})
	return h, conn
}

type silent struct{}

func (silent) Emit(protocol.EventKind, any) {}

func submit(ctx context.Context, t *testing.T, conn *bus.Conn, in protocol.OperatorInput, id protocol.RunID) string {
	t.Helper()
	inbox := conn.NATS().NewInbox()
	sub, err := conn.NATS().SubscribeSync(inbox)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := task.New(conn).Submit(ctx, "op", in, task.Submission{Call: protocol.Call{Run: id}, Inboxes: []string{inbox}}); err != nil {
		t.Fatal(err)
	}
	m, err := sub.NextMsgWithContext(ctx)
	if err != nil {
		t.Fatal(err)
	}
	out, err := bus.DecodeReply(m)
	if err != nil {
		t.Fatal(err)
	}
	text, _ := out.Message.AsText()
	return text
}

// An idle instance is put away with what was said in it, one with effects that are not done stays, and who comes back finds a
// session that begins anew and whose effects are numbered on.
func TestClose(t *testing.T) {
	t.Parallel()
	effects := false
	h, conn := host(t, instance.Config{Durable: true, Retention: time.Millisecond, Operator: protocol.OperatorFunc(
		func(_ context.Context, in protocol.OperatorInput) (protocol.OperatorOutput, error) {
			out := protocol.OperatorOutput{Message: in.Message, ExitReason: protocol.Exit(protocol.ExitComplete)}
			if effects {
				out.Effects = protocol.Effects{protocol.CustomEffect{EffectType: "mail", Data: json.RawMessage(`{}`)}}
			}
			return out, nil
		})})
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	for range 3 {
		submit(ctx, t, conn, protocol.Text("secret").WithSession("s.1"), "")
	}
	submit(ctx, t, conn, protocol.Text("alone"), "r1")
	stream, err := conn.JetStream().Stream(ctx, "SKG_LOG")
	if err != nil {
		t.Fatal(err)
	}
	subjects := func() map[string]uint64 {
		info, err := stream.Info(ctx, jetstream.WithSubjectFilter(">"))
		if err != nil {
			t.Fatal(err)
		}
		return info.State.Subjects
	}
	time.Sleep(10 * time.Millisecond) // older than the retention time
	if n, err := h.Close(ctx); n != 2 || err != nil {
		t.Fatalf("closed %d, %v; want both", n, err)
	}
	if got := subjects(); got["skg.log.op.s=2E1.run"] != 1 || got["skg.log.op.r1.run"] != 1 || len(got) != 2 {
		t.Errorf("left: %v", got)
	}
	last, err := stream.GetLastMsgForSubject(ctx, "skg.log.op.r1.run")
	if err != nil || last.Header.Get("Nats-TTL") == "" {
		t.Errorf("the record of a single run stays for ever: %v, %v", last, err)
	}
	if n, err := h.Close(ctx); n != 0 || err != nil {
		t.Errorf("closed %d once more, %v", n, err)
	}
	effects = true
	if got := submit(ctx, t, conn, protocol.Text("again").WithSession("s.1"), ""); got != "again" {
		t.Errorf("after closing: %q", got)
	}
	time.Sleep(10 * time.Millisecond) // older than the retention time
	if n, err := h.Close(ctx); n != 0 || err != nil {
		t.Errorf("closed %d with an effect that nobody performed, %v", n, err)
	}
}
