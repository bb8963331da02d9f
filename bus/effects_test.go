package bus_test

import (
	"context"
	"testing"
	"time"

	"github.com/skelegent/skelegent-go/bus"
	"github.com/skelegent/skelegent-go/protocol"
)

func twoFamilies(t *testing.T) []protocol.EffectRequest {
	t.Helper()
	n := map[string]uint64{}
	requests, err := protocol.EffectRequests(protocol.EffectRequest{Operator: "op", Instance: "i", Run: "i"}, protocol.Effects{
		protocol.CustomEffect{EffectType: "a", Data: []byte("1")}, protocol.CustomEffect{EffectType: "b", Data: []byte("2")},
	}, func(family string) uint64 { n[family]++; return n[family] })
	if err != nil {
		t.Fatal(err)
	}
	return requests
}

// An acknowledgement that does not come leaves open whether the effects are stored: they are sent again until it does.
func TestEffectsWhoseAcknowledgementIsLost(t *testing.T) {
	t.Parallel()
	conn, ctx := embedded(t), minute(t)
	silent, err := conn.NATS().SubscribeSync("skg.effect.>") // somebody hears it, nobody answers
	if err != nil {
		t.Fatal(err)
	}
	published := make(chan error, 1)
	go func() { published <- conn.PublishEffects(ctx, twoFamilies(t)) }()
	if _, err := silent.NextMsgWithContext(ctx); err != nil {
		t.Fatal(err)
	}
	if err := conn.Ensure(ctx, bus.Topology{}); err != nil {
		t.Fatal(err)
	}
	if err := <-published; err != nil {
		t.Fatal(err)
	}
	_ = silent.Unsubscribe()
	if n := messages(ctx, t, conn, "SKG_EFFECTS"); n != 2 {
		t.Errorf("%d requests are stored, want 2", n)
	}
}

// Where some are stored and the others cannot be, the error says so, and does not invite to try again.
func TestEffectsThatAreStoredInPart(t *testing.T) {
	t.Parallel()
	conn, ctx := embedded(t), minute(t)
	if err := conn.Ensure(ctx, bus.Topology{}); err != nil {
		t.Fatal(err)
	}
	stream, err := conn.JetStream().Stream(ctx, "SKG_EFFECTS")
	if err != nil {
		t.Fatal(err)
	}
	cfg := stream.CachedInfo().Config
	cfg.MaxMsgs = 1
	if _, err := conn.JetStream().UpdateStream(ctx, cfg); err != nil {
		t.Fatal(err)
	}
	short, cancel := context.WithTimeout(ctx, 500*time.Millisecond)
	defer cancel()
	e := protocol.AsError(conn.PublishEffects(short, twoFamilies(t)))
	if e == nil || e.Retryable || e.Details["effects_stored"] != "at least 1 of 2 messages" {
		t.Errorf("error = %+v", e)
	}
	// None can be stored: a plain refusal, at once.
	e = protocol.AsError(conn.PublishEffects(ctx, twoFamilies(t)[1:]))
	if e == nil || e.Code != protocol.CodeQuotaExceeded || e.Details["effects_stored"] != "" {
		t.Errorf("error = %+v", e)
	}
}

func messages(ctx context.Context, t *testing.T, conn *bus.Conn, name string) uint64 {
	t.Helper()
	stream, err := conn.JetStream().Stream(ctx, name)
	if err != nil {
		t.Fatal(err)
	}
	return stream.CachedInfo().State.Msgs
}
