package actors_test

import (
	"bufio"
	"context"
	"io"
	"net"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/nats-io/nats.go"

	"github.com/skelegent/skelegent-go/bus"
	"github.com/skelegent/skelegent-go/bus/embed"
	"github.com/skelegent/skelegent-go/protocol/wire"
)

// cutter counts what a node sends that changes anything, and ends or thins out the connection at one of them.
type cutter struct {
	at   int    // the message at which; 0 is none
	drop bool   // only this message is lost, instead of the connection with it
	hook func() // or this is done before it is passed on

	mu    sync.Mutex
	sent  []string // the classes of what was sent, in order
	armed bool
	cut   chan struct{} // closed when it happened
}

func newCutter(at int, drop bool) *cutter {
	return &cutter{at: at, drop: drop, cut: make(chan struct{})}
}

// arm begins to count.
func (c *cutter) arm() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.armed = true
}

func (c *cutter) boundaries() []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return append([]string(nil), c.sent...)
}

// Dial implements nats.CustomDialer.
func (c *cutter) Dial(network, address string) (net.Conn, error) {
	up, err := net.Dial(network, address)
	if err != nil {
		return nil, err
	}
	near, far := net.Pipe()
	go func() { // ends when either side closes
		_, _ = io.Copy(far, up)
		_ = far.Close()
	}()
	go func() {
		c.pump(far, up)
		_ = up.Close()
		_ = far.Close()
	}()
	return near, nil
}

// pump passes on what the client sends, message by message.
func (c *cutter) pump(from io.Reader, to io.Writer) {
	in := bufio.NewReaderSize(from, 1<<16)
	for {
		line, err := in.ReadString('\n')
		if err != nil {
			return
		}
		words := strings.Fields(line)
		if len(words) == 0 || words[0] != "PUB" && words[0] != "HPUB" {
			if _, err := io.WriteString(to, line); err != nil {
				return
			}
			continue
		}
		size, err := strconv.Atoi(words[len(words)-1])
		if err != nil {
			return
		}
		body := make([]byte, size+2)
		if _, err := io.ReadFull(in, body); err != nil {
			return
		}
		switch c.decide(class(words[1], string(body[:size]))) {
		case passOn:
			if _, err := io.WriteString(to, line+string(body)); err != nil {
				return
			}
		case loseIt:
		case endIt:
			return
		}
	}
}

type ruling int

const (
	passOn ruling = iota
	loseIt
	endIt
)

func (c *cutter) decide(class string) ruling {
	if class == "" {
		return passOn
	}
	c.mu.Lock()
	if !c.armed {
		c.mu.Unlock()
		return passOn
	}
	c.sent = append(c.sent, class)
	now := len(c.sent) == c.at
	c.mu.Unlock()
	switch {
	case !now:
		return passOn
	case c.hook != nil:
		c.hook()
		return passOn
	}
	close(c.cut)
	if c.drop {
		return loseIt
	}
	return endIt
}

// class names what a message is, empty for what changes nothing: requests that read, events, heartbeats.
func class(subject, body string) string {
	for prefix, name := range map[string]string{
		"skg.log.": "log", "skg.effect.": "effect", "skg.task.": "task", "skg.wake.": "wake", "skg.timer.": "timer",
		"skg.signal.": "signal", "skg.dead.": "dead", "_INBOX": "answer", "$O.": "blob",
	} {
		if strings.HasPrefix(subject, prefix) {
			return name
		}
	}
	if strings.HasPrefix(subject, "$JS.ACK.") && !strings.HasPrefix(body, "+WPI") {
		if strings.HasPrefix(body, "-NAK") {
			return "nak"
		}
		return "ack"
	}
	return ""
}

// through connects a node over the cutter, which does not come back.
func through(t testing.TB, s *embed.Server, dir string, c *cutter) *bus.Conn {
	t.Helper()
	key, err := nats.NkeyOptionFromSeed(filepath.Join(dir, embed.NodeKeyFile))
	if err != nil {
		t.Fatal(err)
	}
	nc, err := nats.Connect(s.URL(), key, nats.CustomInboxPrefix(embed.InboxPrefix), nats.SetCustomDialer(c), nats.NoReconnect())
	if err != nil {
		t.Fatal(err)
	}
	conn, err := bus.FromNATS(nc, wire.Names{}, logger(t))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { nc.Close() })
	return conn
}

// kill ends a node whose connection is gone, as a process ends.
func kill(t testing.TB, stop func(context.Context) error) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	_ = stop(ctx) // nothing is left to drain to; the test's own clean-up waits for the goroutines
}
