package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/nats-io/nats.go"
	"go.uber.org/zap"

	"github.com/skelegent/skelegent-go/actors"
	"github.com/skelegent/skelegent-go/actors/manifest"
	"github.com/skelegent/skelegent-go/bus"
	"github.com/skelegent/skelegent-go/bus/embed"
	"github.com/skelegent/skelegent-go/protocol/wire"
	"github.com/skelegent/skelegent-go/state/kv"
)

// hostConfig says what a process hosts: a node, and the server too unless it connects to one.
type hostConfig struct {
	connect     bus.ConnectConfig // used if remote
	remote      bool
	data        string // data directory of the embedded server; of a remote node, where its identity is, or empty
	listen      string
	allowRemote bool
	noSync      bool
	names       wire.Names
	name        string
	replicas    int
	drain       time.Duration
	manifest    *manifest.Manifest // nil for none
	skills      func(*manifest.Deps)
	log         *zap.Logger
}

// host is a running node with all that it stands on.
type host struct {
	cfg    hostConfig
	server *embed.Server   // nil if remote
	id     *embed.Identity // of a remote node that keeps one
	conn   *bus.Conn
	node   *actors.Node
}

// startHost returns when the operators answer. If it fails, nothing is left running.
func startHost(ctx context.Context, cfg hostConfig) (_ *host, err error) {
	h := &host{cfg: cfg}
	defer func() {
		if err != nil {
			stop, cancel := context.WithTimeout(context.WithoutCancel(ctx), cfg.drain)
			defer cancel()
			err = errors.Join(err, h.stop(stop))
		}
	}()
	if err := h.connect(ctx); err != nil {
		return nil, err
	}
	topology := bus.Topology{Replicas: cfg.replicas}
	if err := h.conn.Ensure(ctx, topology); err != nil {
		return nil, err
	}
	store, err := kv.Open(ctx, h.conn.JetStream(), kv.Config{Names: cfg.names, Create: true, Replicas: cfg.replicas, Log: cfg.log})
	if err != nil {
		return nil, err
	}
	nodeCfg := actors.Config{Name: cfg.name, State: store, Topology: topology, DrainTimeout: cfg.drain, Logger: cfg.log}
	switch {
	case h.server != nil:
		nodeCfg.ID = h.server.NodeID()
	case h.id != nil:
		nodeCfg.ID = h.id.NodeID()
	}
	if h.node, err = actors.NewNode(h.conn, nodeCfg); err != nil {
		return nil, err
	}
	if cfg.manifest != nil {
		deps := manifest.Deps{Dispatcher: bus.NewDispatcher(h.conn), State: store, Logger: cfg.log}
		if cfg.skills != nil {
			cfg.skills(&deps)
		}
		if err := cfg.manifest.Register(ctx, h.node, deps); err != nil {
			return nil, err
		}
	}
	return h, h.node.Start(ctx)
}

func (h *host) connect(ctx context.Context) error {
	if h.cfg.remote {
		if h.cfg.data != "" {
			id, err := embed.OpenIdentity(h.cfg.data)
			if err != nil {
				return err
			}
			h.id = id
		}
		conn, err := bus.Connect(ctx, h.cfg.connect)
		h.conn = conn
		return err
	}
	server, err := embed.Start(embed.Config{
		Dir: h.cfg.data, Listen: h.cfg.listen, AllowRemote: h.cfg.allowRemote, NoSync: h.cfg.noSync, Names: h.cfg.names, Logger: h.cfg.log,
	})
	if err != nil {
		return err
	}
	h.server = server
	nc, err := server.Connect(nats.Name("skelegent node " + h.cfg.name))
	if err != nil {
		return err
	}
	h.conn, err = bus.FromNATS(nc, h.cfg.names, h.cfg.log)
	if err != nil {
		nc.Close()
	}
	return err
}

// url is where clients find the bus.
func (h *host) url() string {
	if h.server == nil {
		return h.conn.NATS().ConnectedUrlRedacted()
	}
	return h.server.URL()
}

// stop drains the node, then takes away what it stands on. It works on what there is.
func (h *host) stop(ctx context.Context) error {
	var errs []error
	if h.node != nil {
		errs = append(errs, h.node.Stop(ctx))
	}
	if h.conn != nil {
		errs = append(errs, h.conn.Close(ctx))
	}
	if h.server != nil {
		errs = append(errs, h.server.Stop(ctx))
	}
	if h.id != nil {
		errs = append(errs, h.id.Close())
	}
	return errors.Join(errs...)
}

// defaultManifest is read where no file is named.
const defaultManifest = "skelegent.yaml"

// defaultData is the data directory beside the manifest.
const defaultData = ".skelegent"

// loadManifest reads the file that is named, or the default one if it is there; nil if there is none.
func loadManifest(file string) (m *manifest.Manifest, dir string, err error) {
	if file == "" {
		if _, err := os.Stat(defaultManifest); errors.Is(err, os.ErrNotExist) {
			return nil, ".", nil
		}
		file = defaultManifest
	}
	m, err = manifest.Load(file)
	return m, filepath.Dir(file), err
}

// readyLine is what a node prints when its operators answer.
func readyLine(h *host) string {
	operators := 0
	if h.cfg.manifest != nil {
		operators = len(h.cfg.manifest.Operators)
	}
	line := fmt.Sprintf("ready node=%s operators=%d", h.cfg.name, operators)
	if url := h.url(); url != "" {
		line += " nats=" + strings.TrimSpace(url)
	}
	return line
}
