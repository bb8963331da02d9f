package embed

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"strconv"
	"sync"
	"syscall"
	"time"

	"go.uber.org/zap"
)

// writeWithin is how long a client may not read before its connection ends, as in the server itself.
const writeWithin = 10 * time.Second

// lingerFor is how long a client that the server refused may take to read why.
const lingerFor = time.Second

// front is the listener. It stands between clients and the server, which has no port of its own, since
// what guests send has to go through a guard.
type front struct {
	ln         net.Listener
	dial       func() (net.Conn, error) // to the server
	nodeKey    string
	maxPayload int
	log        *zap.Logger
	wg         sync.WaitGroup

	mu     sync.Mutex
	conns  map[net.Conn]struct{}
	closed bool
}

func listen(addr string, remote bool) (net.Listener, error) {
	ln, err := net.Listen("tcp", addr)
	if errors.Is(err, syscall.EADDRINUSE) {
		return nil, &AddrInUseError{Addr: addr}
	}
	if err != nil {
		return nil, fmt.Errorf("listen on %s: %w", addr, err)
	}
	if tcp, ok := ln.Addr().(*net.TCPAddr); !remote && (!ok || !tcp.IP.IsLoopback()) {
		return nil, errors.Join(fmt.Errorf("listen on %s: %w, and guests need no password there: "+
			"listen on %s, or allow remote guests explicitly", addr, ErrRemoteListen, DefaultListen), ln.Close())
	}
	return ln, nil
}

func newFront(ln net.Listener, dial func() (net.Conn, error), nodeKey string, maxPayload int, log *zap.Logger) *front {
	return &front{
		ln: ln, dial: dial, nodeKey: nodeKey, maxPayload: maxPayload, log: log, conns: make(map[net.Conn]struct{}),
	}
}

func (f *front) start() { f.wg.Go(f.accept) }

// url names the loopback address where the listener is on all addresses.
func (f *front) url() string {
	addr := f.ln.Addr().(*net.TCPAddr)
	host := addr.IP.String()
	if addr.IP.IsUnspecified() {
		host = "127.0.0.1"
	}
	return "nats://" + net.JoinHostPort(host, strconv.Itoa(addr.Port))
}

// closeListener ends accepting. Open connections go on.
func (f *front) closeListener() {
	f.mu.Lock()
	f.closed = true
	f.mu.Unlock()
	if err := f.ln.Close(); err != nil {
		f.log.Warn("close listener", zap.Error(err))
	}
}

// wait closes what is open and returns when every connection has ended.
func (f *front) wait() {
	f.mu.Lock()
	for c := range f.conns {
		_ = c.Close() // its owner closes it again and has no use for the error either
	}
	f.mu.Unlock()
	f.wg.Wait()
}

func (f *front) accept() {
	for {
		c, err := f.ln.Accept()
		if err != nil {
			if errors.Is(err, net.ErrClosed) {
				return
			}
			// Out of file descriptors, most likely: some will be given back.
			f.log.Warn("accept", zap.Error(err))
			time.Sleep(50 * time.Millisecond)
			continue
		}
		if f.add(c) {
			f.wg.Go(func() { f.serve(c) })
		}
	}
}

func (f *front) add(c net.Conn) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.closed {
		_ = c.Close()
		return false
	}
	f.conns[c] = struct{}{}
	return true
}

func (f *front) serve(c net.Conn) {
	defer func() {
		_ = c.Close()
		f.mu.Lock()
		delete(f.conns, c)
		f.mu.Unlock()
	}()
	up, err := f.dial()
	if err != nil {
		return // the server is shutting down
	}
	defer up.Close() //nolint:errcheck // an in-memory pipe
	down := bufio.NewReaderSize(up, maxLine)
	info, err := down.ReadString('\n')
	if err != nil {
		return
	}
	if _, err := io.WriteString(c, info); err != nil {
		return
	}
	var downDone sync.WaitGroup
	downDone.Go(func() {
		_, _ = down.WriteTo(impatient{c}) // either side may go away at any time
		hangUp(c)
	})
	g := newGuard(c, up, f.nodeKey, nonce(info), f.maxPayload)
	if err := g.run(); !errors.Is(err, errRefused) {
		_ = up.Close()
	}
	downDone.Wait() // the server's last word, -ERR and why, goes out before the connection ends
	_, _ = io.Copy(io.Discard, c)
}

// hangUp says that nothing more comes, and gives the client a moment to read what is on its way: closing
// with its bytes unread would reset the connection and lose them.
func hangUp(c net.Conn) {
	if half, ok := c.(interface{ CloseWrite() error }); ok {
		_ = half.CloseWrite()
	}
	_ = c.SetReadDeadline(time.Now().Add(lingerFor))
}

// impatient is a connection that a client which stopped reading cannot hold for ever.
type impatient struct{ net.Conn }

func (c impatient) Write(p []byte) (int, error) {
	if err := c.SetWriteDeadline(time.Now().Add(writeWithin)); err != nil {
		return 0, err
	}
	return c.Conn.Write(p)
}

// nonce is what a client of this connection signs to prove that it holds a key.
func nonce(info string) string {
	var fields struct {
		Nonce string `json:"nonce"`
	}
	if len(info) < len("INFO ") || json.Unmarshal([]byte(info[len("INFO "):]), &fields) != nil {
		return ""
	}
	return fields.Nonce
}
