package embed

import (
	"bytes"
	"context"
	"io"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// TestServerLeavesOpen shows why there is a guard: a guest that reaches the server without it has the
// server write to the log and delete a stream. If this fails after an upgrade, the server checks by itself
// now.
func TestServerLeavesOpen(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	s, err := Start(Config{Dir: t.TempDir(), Listen: ListenNone, NoSync: true})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := s.Stop(ctx); err != nil {
			t.Error(err)
		}
	}()
	owner, err := s.Connect()
	if err != nil {
		t.Fatal(err)
	}
	js, err := jetstream.New(owner)
	if err != nil {
		t.Fatal(err)
	}
	for name, subject := range map[string]string{"SKG_LOG": "skg.signal.>", "VICTIM": "victim.>"} {
		cfg := jetstream.StreamConfig{Name: name, Subjects: []string{subject}, AllowDirect: true}
		if _, err := js.CreateStream(ctx, cfg); err != nil {
			t.Fatal(err)
		}
	}
	deleted, err := owner.SubscribeSync("$JS.EVENT.ADVISORY.STREAM.DELETED.VICTIM")
	if err != nil {
		t.Fatal(err)
	}
	// The server delivers to a consumer's subject once somebody subscribes to it, literally.
	const protected = "skg.log.echo.i1.run"
	written, err := owner.SubscribeSync(protected)
	if err != nil {
		t.Fatal(err)
	}
	if err := owner.Flush(); err != nil {
		t.Fatal(err)
	}
	guest, err := nats.Connect("", nats.InProcessServer(inProcess(s.ns.InProcessConn)))
	if err != nil {
		t.Fatal(err)
	}
	defer guest.Close()
	for _, body := range []string{"", "forged"} { // empty is what a request to delete a stream looks like
		if _, err := guest.RequestWithContext(ctx, "skg.signal.echo.i1.steer", []byte(body)); err != nil {
			t.Fatal(err)
		}
	}
	for i, msg := range []*nats.Msg{
		{Subject: "$JS.API.DIRECT.GET.SKG_LOG", Reply: "$JS.API.STREAM.DELETE.VICTIM", Data: []byte(`{"seq":1}`)},
		{Subject: "$JS.API.DIRECT.GET.SKG_LOG", Reply: protected, Data: []byte(`{"seq":2}`)},
		{Subject: createConsumer + "SKG_LOG.push", Data: []byte(`{"stream_name":"SKG_LOG","config":` +
			`{"name":"push","ack_policy":"none","deliver_policy":"last","deliver_subject":"` + protected + `"}}`)},
	} {
		if err := guest.PublishMsg(msg); err != nil {
			t.Fatal(i, err)
		}
	}
	for _, how := range []string{"reply", "delivery"} {
		if msg, err := written.NextMsgWithContext(ctx); err != nil || string(msg.Data) != "forged" {
			t.Errorf("%s: got %v, %v, want the forged message", how, msg, err)
		}
	}
	if _, err := deleted.NextMsgWithContext(ctx); err != nil {
		t.Errorf("stream deletion: %v", err)
	}
	if err := guest.LastError(); err != nil {
		t.Errorf("the server objects: %v", err)
	}
}

// oneWay is a connection for one direction.
type oneWay struct {
	net.Conn
	io.Reader
	io.Writer
}

func (w oneWay) Read(p []byte) (int, error)  { return w.Reader.Read(p) }
func (w oneWay) Write(p []byte) (int, error) { return w.Writer.Write(p) }

func guarded(data []byte) []byte {
	var out bytes.Buffer
	g := newGuard(oneWay{Reader: bytes.NewReader(data)}, oneWay{Writer: &out}, "UNODE", "nonce", 1<<16)
	_ = g.run() // always an error: the input ends
	return out.Bytes()
}

// FuzzGuard checks that what the guard lets through it lets through again unchanged, so both times it
// was read the same way, and that no reply subject outside the inboxes survives.
func FuzzGuard(f *testing.F) {
	for _, seed := range []string{
		"CONNECT {}\r\nPING\r\n", "PUB a 2\r\nhi\r\n", "PUB a _INBOX.b 2\r\nhi\r\nPUB a c 0\r\n\r\n",
		"HPUB a _INBOX.b 12 14\r\nNATS/1.0\r\n\r\nhi\r\n", "SUB a q 1\r\nUNSUB 1 2\r\nPONG\n", "pub\ta\t0\n\r\n",
		"PUB $JS.API.CONSUMER.CREATE.S 32\r\n{\"config\":{\"deliver_subject\":\"x\"}}\r\n",
		"PUB a 5\r\nPUB b\r\nPUB c d 0\r\n\r\n",
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		once := guarded(data)
		if twice := guarded(once); !bytes.Equal(once, twice) {
			t.Errorf("%q: got %q, then %q", data, once, twice)
		}
		for rest := string(once); ; {
			line, after, ok := strings.Cut(rest, "\r\n")
			if !ok {
				return
			}
			args := strings.Split(line, " ")
			if args[0] != "PUB" && args[0] != "HPUB" {
				rest = after
				continue
			}
			n, _ := size(args[len(args)-1])
			if replied := len(args) == 4 && args[0] == "PUB" || len(args) == 5; replied && !strings.HasPrefix(args[2], GuestInbox) {
				t.Errorf("%q: reply to %q", data, args[2])
			}
			if len(after) < n+2 {
				return
			}
			rest = after[n+2:]
		}
	})
}
