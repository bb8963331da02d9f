package embed

import (
	"context"
	"errors"
	"fmt"
	"net"
	"sync"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nkeys"
)

// Server is a running embedded NATS server. All methods are safe for concurrent use.
type Server struct {
	ns    *server.Server
	dir   *dataDir
	front *front // nil without a listener

	mu      sync.Mutex
	conns   []*nats.Conn  // handed out by Connect
	stopped chan struct{} // closed when all has ended; nil until Stop is first called
	stopErr error         // of Stop, valid once stopped is closed
}

// Start locks the data directory, opens the port and starts the server; it returns when clients are
// served. It fails with ErrDirInUse, ErrAddrInUse, ErrRemoteListen, or an error that says what is wrong
// with the directory or the stored data. When it fails it leaves nothing behind, locks included.
func Start(cfg Config) (_ *Server, err error) {
	cfg = cfg.withDefaults()
	if err := cfg.validate(); err != nil {
		return nil, err
	}
	dir, err := openDir(cfg.Dir)
	if err != nil {
		return nil, err
	}
	var ln net.Listener
	defer func() {
		if err == nil {
			return
		}
		if ln != nil {
			err = errors.Join(err, ln.Close())
		}
		err = errors.Join(err, dir.close())
	}()
	if cfg.Listen != ListenNone {
		if ln, err = listen(cfg.address(), cfg.AllowRemote); err != nil {
			return nil, err
		}
	}
	ns, err := startNATS(cfg, dir)
	if err != nil {
		return nil, err
	}
	s := &Server{ns: ns, dir: dir}
	if ln != nil {
		s.front = newFront(ln, ns.InProcessConn, dir.pub, int(cfg.MaxPayload), cfg.Logger)
		s.front.start()
	}
	return s, nil
}

// startNATS starts the server without a port of its own: clients come through front or in process.
func startNATS(cfg Config, dir *dataDir) (*server.Server, error) {
	guest, err := nkeys.CreateUser()
	if err != nil {
		return nil, fmt.Errorf("embedded server: %w", err)
	}
	guestKey, err := guest.PublicKey()
	if err != nil {
		return nil, fmt.Errorf("embedded server: %w", err)
	}
	ns, err := server.NewServer(&server.Options{
		ServerName:         dir.nodeID,
		DontListen:         true,
		JetStream:          true,
		StoreDir:           dir.path,
		SyncAlways:         !cfg.NoSync,
		MaxPayload:         cfg.MaxPayload,
		JetStreamMaxMemory: cfg.MaxMemory,
		JetStreamMaxStore:  cfg.MaxStore,
		NoSigs:             true,
		// A guest has a key that nobody holds: the server takes it for whoever names no user at all.
		NoAuthUser: guestKey,
		Nkeys: []*server.NkeyUser{
			{Nkey: dir.pub},
			{Nkey: guestKey, Permissions: guestPermissions(cfg.Names)},
		},
	})
	if err != nil {
		return nil, fmt.Errorf("embedded server: %w", err)
	}
	log := &logger{log: cfg.Logger}
	ns.SetLoggerV2(log, false, false, false)
	ns.Start()
	if log.failure() == "" && ns.ReadyForConnections(cfg.StartWithin) && ns.JetStreamEnabled() && log.failure() == "" {
		return ns, nil
	}
	ns.Shutdown()
	ns.WaitForShutdown()
	if why := log.failure(); why != "" {
		return nil, fmt.Errorf("embedded server in %s: %s", dir.path, why)
	}
	return nil, fmt.Errorf("embedded server in %s: not ready within %s", dir.path, cfg.StartWithin)
}

// NodeID returns the node's identity, a UUID that stays with the data directory.
func (s *Server) NodeID() string { return s.dir.nodeID }

// URL returns what clients connect to, with the real port; empty without a listener.
func (s *Server) URL() string {
	if s.front == nil {
		return ""
	}
	return s.front.url()
}

// Connect opens a connection within the process, with all rights of a node. The caller closes it; what
// is still open when the server stops is closed then. It returns ErrStopped after Stop.
func (s *Server) Connect(opts ...nats.Option) (*nats.Conn, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.stopped != nil {
		return nil, ErrStopped
	}
	all := []nats.Option{nats.CustomInboxPrefix(InboxPrefix), nats.MaxReconnects(-1)}
	all = append(all, opts...)
	all = append(all, nats.Nkey(s.dir.pub, s.dir.key.Sign), nats.InProcessServer(inProcess(s.ns.InProcessConn)))
	nc, err := nats.Connect("", all...)
	if err != nil {
		return nil, fmt.Errorf("connect in process: %w", err)
	}
	open := s.conns[:0]
	for _, c := range s.conns {
		if !c.IsClosed() {
			open = append(open, c)
		}
	}
	clear(s.conns[len(open):])
	s.conns = append(open, nc)
	return nc, nil
}

type inProcess func() (net.Conn, error)

func (f inProcess) InProcessConn() (net.Conn, error) { return f() }

// Stop closes the port and all connections, stores what is pending, waits until the server has ended
// and gives the data directory back. Calling it again waits for the same end. If ctx ends first, Stop
// returns its cause and the rest goes on. A nil Server is stopped already.
func (s *Server) Stop(ctx context.Context) error {
	if s == nil {
		return nil
	}
	s.mu.Lock()
	if s.stopped == nil {
		s.stopped = make(chan struct{})
		go s.stop(s.conns)
		s.conns = nil
	}
	s.mu.Unlock()
	select {
	case <-s.stopped:
		return s.stopErr
	case <-ctx.Done():
		return fmt.Errorf("stop embedded server: %w", context.Cause(ctx))
	}
}

func (s *Server) stop(conns []*nats.Conn) {
	defer close(s.stopped)
	if s.front != nil {
		s.front.closeListener()
	}
	for _, nc := range conns {
		nc.Close()
	}
	s.ns.Shutdown()
	s.ns.WaitForShutdown()
	if s.front != nil {
		s.front.wait()
	}
	s.stopErr = s.dir.close()
}
