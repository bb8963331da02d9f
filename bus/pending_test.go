package bus_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/skelegent/skelegent-go/bus"
	"github.com/skelegent/skelegent-go/bus/embed"
	"github.com/skelegent/skelegent-go/protocol"
	"github.com/skelegent/skelegent-go/protocol/wire"
)

var wireNames wire.Names

func TestPendingEffects(t *testing.T) {
	t.Parallel()
	c, ctx := ensured(t, time.Minute), connectContext(t)
	if found, err := c.PendingEffects(ctx); err != nil || len(found) != 0 {
		t.Errorf("got %v, %v", found, err)
	}
	long := strings.Repeat("x", 500)
	for i, family := range []string{"mail", "mail", "a.b", long, "mail"} {
		if _, err := c.JetStream().Publish(ctx, c.Names().Effect(family, "op", fmt.Sprint(i)), []byte("{}")); err != nil {
			t.Fatal(err)
		}
	}
	cons, err := c.JetStream().CreateConsumer(ctx, "SKG_EFFECTS", jetstream.ConsumerConfig{
		Durable: "somebody", FilterSubject: c.Names().EffectsOf("mail"), AckPolicy: jetstream.AckExplicitPolicy,
	})
	if err != nil {
		t.Fatal(err)
	}
	found, err := c.PendingEffects(ctx)
	if err != nil || len(found) != 3 || found[0].Family[:2] != "==" {
		t.Fatalf("got %+v, %v", found, err)
	}
	if p := found[1]; p.Family != "a.b" || p.Messages != 1 || p.Executor || p.Oldest.IsZero() {
		t.Errorf("got %+v", p)
	}
	if p := found[2]; p.Family != "mail" || p.Messages != 3 || !p.Executor || p.Listening || p.InFlight != 0 {
		t.Errorf("got %+v", p)
	}
	if _, err := cons.Next(); err != nil {
		t.Fatal(err)
	}
	if found, err = c.PendingEffects(ctx); err != nil || found[2].InFlight != 1 || !found[2].Listening || found[2].Messages != 3 {
		t.Errorf("got %+v, %v", found, err)
	}
}

func TestOutcomes(t *testing.T) {
	t.Parallel()
	c, ctx := ensured(t, time.Minute), connectContext(t)
	put := func(subject string, kind protocol.EventKind, outcomes ...string) {
		t.Helper()
		list := []protocol.EffectOutcome{}
		for _, id := range outcomes {
			list = append(list, protocol.EffectOutcome{EffectID: id, Kind: protocol.KindCustom, Status: protocol.OutcomeOK})
		}
		data, err := json.Marshal(map[string]any{"family": "mail", "outcomes": list})
		if err != nil {
			t.Fatal(err)
		}
		body, err := protocol.Marshal(protocol.Event{ID: "e", Kind: kind, Operator: "op", Instance: "i", Run: "r", Time: time.Now(), Data: data})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := c.JetStream().Publish(ctx, subject, body); err != nil {
			t.Fatal(err)
		}
	}
	put("skg.log.op.i.done.mail", protocol.EventEffectDone, "1", "2")
	for range 200 { // the outcomes are far back
		put("skg.log.op.i.run", protocol.EventCompleted)
	}
	put("skg.log.op.i.done.mail", protocol.EventEffectDone, "3")
	put("skg.log.op.i.done.mail", protocol.EventEffectActing, "4")
	if _, err := c.JetStream().Publish(ctx, "skg.log.op.i.done.mail", []byte("rubbish")); err != nil {
		t.Fatal(err)
	}
	for limit, want := range map[int]string{1: "3", 3: "3 2 1", 4: "3 2 1", 100: "3 2 1"} {
		found, err := c.Outcomes(ctx, limit)
		var got []string
		for _, o := range found {
			got = append(got, o.EffectID)
		}
		if err != nil || strings.Join(got, " ") != want {
			t.Errorf("%d: got %v, %v, want %q", limit, got, err, want)
		}
	}
}

func TestCheck(t *testing.T) {
	t.Parallel()
	c, ctx := ensured(t, time.Minute), connectContext(t)
	find := func(findings []bus.Finding, name string) bus.Finding {
		for _, f := range findings {
			if f.Name == name {
				return f
			}
		}
		t.Errorf("no finding %q in %+v", name, findings)
		return bus.Finding{}
	}
	findings := c.Check(ctx, bus.Topology{})
	for _, name := range []string{"connection", "jetstream", "stream SKG_LOG", "stream SKG_EFFECTS", "stream SKG_DEAD", "clock", "effects", "dead letters"} {
		if f := find(findings, name); f.Level != bus.LevelOK {
			t.Errorf("got %+v", f)
		}
	}
	if f := find(findings, "bucket KV_SKG_STATE"); f.Level != bus.LevelWarn || f.Do == "" {
		t.Errorf("got %+v", f)
	}
	if _, err := c.JetStream().UpdateStream(ctx, jetstream.StreamConfig{
		Name: "SKG_DEAD", Subjects: []string{"skg.dead.*", "skg.more"}, MaxConsumers: 100_000, Duplicates: time.Second,
	}); err != nil {
		t.Fatal(err)
	}
	store(t, c, letter("a/1", "a", "x"), "m1")
	if err := c.JetStream().DeleteStream(ctx, "SKG_EFFECTS"); err != nil {
		t.Fatal(err)
	}
	findings = c.Check(ctx, bus.Topology{})
	if f := find(findings, "stream SKG_DEAD"); f.Level != bus.LevelFail || !strings.Contains(f.Text, "subjects") || !strings.Contains(f.Do, "nats stream edit SKG_DEAD") {
		t.Errorf("got %+v", f)
	}
	if f := find(findings, "stream SKG_EFFECTS"); f.Level != bus.LevelFail || f.Do == "" {
		t.Errorf("got %+v", f)
	}
	if f := find(findings, "dead letters"); f.Level != bus.LevelWarn || f.Text != "1" {
		t.Errorf("got %+v", f)
	}
}

func TestCheckClosedConnection(t *testing.T) {
	t.Parallel()
	s := startEmbedded(t, embed.Config{Dir: t.TempDir(), Listen: "127.0.0.1:0"})
	c := connect(t, bus.ConnectConfig{URL: s.URL()})
	c.NATS().Close()
	findings := c.Check(connectContext(t), bus.Topology{})
	if len(findings) != 2 || findings[0].Level != bus.LevelFail || findings[1].Level != bus.LevelFail {
		t.Errorf("got %+v", findings)
	}
}
