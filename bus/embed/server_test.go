package embed_test

import (
	"context"
	"errors"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/skelegent/skelegent-go/bus/embed"
)

func TestOneServerPerDirectory(t *testing.T) {
	t.Parallel()
	cfg := config(t)
	first := start(t, cfg)
	_, err := embed.Start(cfg)
	var inUse *embed.InUseError
	if !errors.Is(err, embed.ErrDirInUse) || !errors.As(err, &inUse) {
		t.Fatalf("got %v, want an InUseError", err)
	}
	if inUse.PID != os.Getpid() || inUse.Dir != cfg.Dir || !strings.Contains(err.Error(), cfg.Dir) {
		t.Errorf("got %+v: %v", inUse, err)
	}
	stop(t, first)
	stop(t, start(t, cfg))
}

func TestAddressInUse(t *testing.T) {
	t.Parallel()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	cfg := config(t)
	cfg.Listen = ln.Addr().String()
	_, err = embed.Start(cfg)
	if !errors.Is(err, embed.ErrAddrInUse) || !strings.Contains(err.Error(), cfg.Listen) {
		t.Fatalf("got %v, want %v that names %s", err, embed.ErrAddrInUse, cfg.Listen)
	}
	if err := ln.Close(); err != nil {
		t.Fatal(err)
	}
	stop(t, start(t, cfg)) // the failed start gave the directory back, the stop the port
	stop(t, start(t, cfg))
}

func TestRemoteListen(t *testing.T) {
	t.Parallel()
	for _, addr := range []string{"0.0.0.0:0", ":0", "[::]:-1"} {
		cfg := config(t)
		cfg.Listen = addr
		if _, err := embed.Start(cfg); !errors.Is(err, embed.ErrRemoteListen) {
			t.Errorf("%s: got %v, want %v", addr, err, embed.ErrRemoteListen)
		}
	}
	cfg := config(t)
	cfg.Listen, cfg.AllowRemote = "0.0.0.0:0", true
	guest(t, start(t, cfg)) // the URL names an address that works here
}

func TestBadConfig(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for name, cfg := range map[string]embed.Config{
		"no directory":   {},
		"a file":         {Dir: file},
		"no port":        {Dir: t.TempDir(), Listen: "127.0.0.1"},
		"negative limit": {Dir: t.TempDir(), MaxPayload: -1},
		"bad host":       {Dir: t.TempDir(), Listen: "256.1.1.1:0"},
	} {
		if s, err := embed.Start(cfg); err == nil {
			t.Errorf("%s: no error", name)
			stop(t, s)
		}
	}
}

func TestRestartKeepsDataAndIdentity(t *testing.T) {
	t.Parallel()
	cfg := config(t)
	cfg.NoSync = false
	ctx := testContext(t)
	s := start(t, cfg)
	j := topology(t, s)
	id, before := s.NodeID(), messages(t, j)
	key, err := os.ReadFile(filepath.Join(cfg.Dir, embed.NodeKeyFile))
	if err != nil {
		t.Fatal(err)
	}
	stop(t, s)
	s = start(t, cfg)
	j = js(t, node(t, s))
	if s.NodeID() != id || id == "" {
		t.Errorf("node id: got %q, want %q", s.NodeID(), id)
	}
	if got := messages(t, j); got["SKG_LOG"] != before["SKG_LOG"] || len(got) != len(before) {
		t.Errorf("messages: got %v, want %v", got, before)
	}
	if _, err := j.Publish(ctx, "skg.log.echo.i1.run", nil, jetstream.WithExpectLastSequencePerSubject(1)); err != nil {
		t.Errorf("fenced append: %v", err)
	}
	if again, err := os.ReadFile(filepath.Join(cfg.Dir, embed.NodeKeyFile)); err != nil || string(again) != string(key) {
		t.Errorf("the node key changed: %v", err)
	}
	for _, name := range []string{embed.NodeKeyFile, "node-id"} {
		if info, err := os.Stat(filepath.Join(cfg.Dir, name)); err != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("%s: got %v, %v, want mode 0600", name, info, err)
		}
	}
}

func TestDamagedIdentity(t *testing.T) {
	t.Parallel()
	for _, name := range []string{embed.NodeKeyFile, "node-id"} {
		cfg := config(t)
		file := filepath.Join(cfg.Dir, name)
		if err := os.WriteFile(file, []byte("SUSECRET\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		_, err := embed.Start(cfg)
		if err == nil || !strings.Contains(err.Error(), file) || strings.Contains(err.Error(), "SUSECRET") {
			t.Errorf("%s: got %v, want an error that names the file and not what is in it", name, err)
		}
		if err := os.Remove(file); err != nil {
			t.Fatal(err)
		}
		stop(t, start(t, cfg))
	}
}

func TestStop(t *testing.T) {
	t.Parallel()
	cfg := config(t)
	cfg.Listen = embed.ListenNone
	s := start(t, cfg)
	if s.URL() != "" {
		t.Errorf("URL: got %q, want none", s.URL())
	}
	nc := node(t, s)
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() { stop(t, s) })
	}
	wg.Wait()
	if !nc.IsClosed() {
		t.Error("a connection outlived the server")
	}
	if _, err := s.Connect(); !errors.Is(err, embed.ErrStopped) {
		t.Errorf("connect: got %v, want %v", err, embed.ErrStopped)
	}
	ended, cancel := context.WithCancel(context.Background())
	cancel()
	if err := s.Stop(ended); err != nil && !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	if err := (*embed.Server)(nil).Stop(ended); err != nil {
		t.Errorf("stop of no server: %v", err)
	}
}

func TestStartStopStress(t *testing.T) {
	t.Parallel()
	cfg := config(t)
	for range 25 {
		s := start(t, cfg)
		var wg sync.WaitGroup
		for range 4 {
			wg.Go(func() {
				nc, err := nats.Connect(s.URL(), nats.MaxReconnects(0))
				if err != nil {
					return // the server may be gone already
				}
				_ = nc.Flush()
				nc.Close()
			})
		}
		wg.Go(func() { stop(t, s) })
		wg.Wait()
	}
}
