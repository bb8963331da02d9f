package actors

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
	"go.uber.org/zap/zaptest/observer"

	"github.com/skelegent/skelegent-go/bus"
	"github.com/skelegent/skelegent-go/bus/embed"
	"github.com/skelegent/skelegent-go/protocol/wire"
)

type counting struct{ n int }

func (c *counting) Sweep(context.Context) (int, error) {
	if c.n++; c.n == 1 {
		return 0, errors.New("not now")
	}
	return 1, nil
}

func TestJanitorSweepsNowAndThen(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		core, logs := observer.New(zapcore.InfoLevel)
		c := &counting{}
		j, ctx := startJanitor(zap.New(core))
		j.every(ctx, sweepEvery, j.sweep(c))
		time.Sleep(10 * time.Hour)
		j.stop()
		if c.n < 6 || c.n > 20 {
			t.Errorf("swept %d times in ten hours", c.n)
		}
		if failed := logs.FilterMessage("state store not swept").Len(); failed != 1 || logs.Len() != c.n {
			t.Errorf("%d lines, %d of failures; swept %d times", logs.Len(), failed, c.n)
		}
	})
}

func TestJanitorWarnsOfEffectsThatNobodyExecutes(t *testing.T) {
	t.Parallel()
	s, err := embed.Start(embed.Config{Dir: t.TempDir(), Listen: embed.ListenNone, NoSync: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Stop(context.Background()) })
	nc, err := s.Connect()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(nc.Close)
	conn, err := bus.FromNATS(nc, wire.Names{}, nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := conn.Ensure(t.Context(), bus.Topology{}); err != nil {
		t.Fatal(err)
	}
	core, logs := observer.New(zapcore.WarnLevel)
	j, _ := startJanitor(zap.New(core))
	defer j.stop()
	j.watch(conn)(t.Context())
	if logs.Len() != 0 {
		t.Errorf("warned of nothing: %v", logs.All())
	}
	if _, err := conn.JetStream().Publish(t.Context(), "skg.effect.fax.op.i", []byte("{}")); err != nil {
		t.Fatal(err)
	}
	j.watch(conn)(t.Context())
	if logs.Len() != 1 || logs.All()[0].ContextMap()["family"] != "fax" {
		t.Errorf("logged %v", logs.All())
	}
}
