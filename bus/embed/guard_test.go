package embed_test

import (
	"bufio"
	"encoding/json"
	"errors"
	"io"
	"net"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/nats-io/nats.go"

	"github.com/skelegent/skelegent-go/bus/embed"
)

// createBody asks for a consumer of the log that delivers to a subject.
func createBody(t testing.TB, deliver string) []byte {
	t.Helper()
	body, err := json.Marshal(map[string]any{
		"stream_name": "SKG_LOG",
		"config": map[string]any{
			"name": "c1", "deliver_subject": deliver, "deliver_policy": "all", "ack_policy": "none", "replay_policy": "instant",
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	return body
}

func TestGuestCannotRedirectAnswers(t *testing.T) {
	t.Parallel()
	s := start(t, config(t))
	j := topology(t, s)
	operator := node(t, s)
	if _, err := operator.Subscribe("skg.op.echo", func(m *nats.Msg) {
		if err := m.Respond(m.Data); err != nil {
			t.Error(err)
		}
	}); err != nil {
		t.Fatal(err)
	}
	if err := operator.Flush(); err != nil {
		t.Fatal(err)
	}
	before := messages(t, j)
	create := "$JS.API.CONSUMER.CREATE.SKG_LOG.c1"
	cases := map[string]*nats.Msg{
		"operator's answer":    {Subject: "skg.op.echo", Reply: "skg.log.echo.i1.run"},
		"publish receipt":      {Subject: "skg.signal.echo.i1.steer", Reply: "skg.wake.echo.i1.timer"},
		"info":                 {Subject: "$JS.API.STREAM.INFO.SKG_LOG", Reply: "skg.log.echo.i1.run"},
		"stored message":       {Subject: "$JS.API.DIRECT.GET.SKG_LOG", Reply: "skg.log.echo.i1.run", Data: []byte(`{"seq":1}`)},
		"an API request":       {Subject: "$JS.API.DIRECT.GET.SKG_LOG", Reply: "$JS.API.STREAM.DELETE.SKG_DEAD", Data: []byte(`{"seq":1}`)},
		"pull":                 {Subject: "$JS.API.CONSUMER.MSG.NEXT.SKG_LOG.c1", Reply: "skg.effect.log.echo.i1"},
		"node's inbox":         {Subject: "skg.op.echo", Reply: "_INBOX_NODE.x.1"},
		"nearly an inbox":      {Subject: "skg.op.echo", Reply: "_INBOX"},
		"takes effects":        {Subject: "skg.task.echo", Header: nats.Header{"Skg-Effects": {"caller"}}, Data: []byte("x")},
		"takes effects, small": {Subject: "skg.task.echo", Header: nats.Header{"A": {"b"}, "skg-effects": {"caller"}}},
		"with a header":        {Subject: "skg.op.echo", Reply: "skg.log.echo.i1.run", Header: nats.Header{"A": {"b"}}},
		"delivery":             {Subject: create, Data: createBody(t, "skg.log.echo.i1.run")},
		"delivery to an API":   {Subject: create, Data: createBody(t, "$JS.API.STREAM.PURGE.SKG_DEAD")},
		"delivery to a node":   {Subject: create, Data: createBody(t, "_INBOX_NODE.x.1")},
		"delivery, old API":    {Subject: "$JS.API.CONSUMER.CREATE.SKG_LOG", Data: createBody(t, "skg.effect.log.echo.i1")},
		"delivery, header":     {Subject: create, Data: createBody(t, "skg.dead.echo"), Header: nats.Header{"A": {"b"}}},
		"delivery, not JSON":   {Subject: create, Data: []byte(`{"config":{"deliver_subject":"skg.dead.echo"}`)},
		"delivery, twice":      {Subject: create, Data: append(createBody(t, ""), createBody(t, "skg.dead.echo")...)},
		"delivery, other case": {Subject: create, Data: []byte(`{"stream_name":"SKG_LOG","CONFIG":{"DELIVER_SUBJECT":"skg.dead.echo"}}`)},
		"delivery, blank":      {Subject: create, Data: createBody(t, "skg.dead.echo 0\r\n\r\nPUB x")},
	}
	for name, msg := range cases { //nolint:paralleltest // each looks at what the streams hold after it
		t.Run(name, func(t *testing.T) {
			nc := guest(t, s)
			if err := errors.Join(nc.PublishMsg(msg), nc.Flush()); err != nil {
				t.Fatal(err)
			}
			if err := nc.LastError(); !errors.Is(err, nats.ErrPermissionViolation) {
				t.Errorf("got %v, want a permissions violation", err)
			}
			if n, err := nc.GetClientID(); err != nil || n == 0 {
				t.Errorf("the connection did not survive: %v", err)
			}
		})
	}
	if err := operator.Flush(); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(before, messages(t, j)); diff != "" {
		t.Errorf("stored messages changed (-want +got):\n%s", diff)
	}
}

func TestNodeOverTCP(t *testing.T) {
	t.Parallel()
	cfg := config(t)
	s := start(t, cfg)
	j := topology(t, s)
	key, err := nats.NkeyOptionFromSeed(filepath.Join(cfg.Dir, embed.NodeKeyFile))
	if err != nil {
		t.Fatal(err)
	}
	nc := guest(t, s, key, nats.CustomInboxPrefix(embed.InboxPrefix))
	ctx := testContext(t)
	if _, err := js(t, nc).Publish(ctx, "skg.log.echo.i2.run", make([]byte, 900_000)); err != nil {
		t.Error(err)
	}
	if err := js(t, nc).DeleteStream(ctx, "SKG_TIMERS"); err != nil {
		t.Error(err)
	}
	if n := messages(t, j)["SKG_LOG"]; n != 2 {
		t.Errorf("log: got %d messages, want 2", n)
	}
}

func TestWrongCredentials(t *testing.T) {
	t.Parallel()
	s, other := start(t, config(t)), config(t)
	stop(t, start(t, other))
	foreign, err := nats.NkeyOptionFromSeed(filepath.Join(other.Dir, embed.NodeKeyFile))
	if err != nil {
		t.Fatal(err)
	}
	for name, opt := range map[string]nats.Option{
		"user": nats.UserInfo("node", "x"), "empty password": nats.UserInfo("guest", ""), "token": nats.Token("x"), "key": foreign,
	} {
		nc, err := nats.Connect(s.URL(), opt)
		if !errors.Is(err, nats.ErrAuthorization) {
			t.Errorf("%s: got %v, want %v", name, err, nats.ErrAuthorization)
		}
		if nc != nil {
			nc.Close()
		}
	}
}

// raw speaks the protocol by hand and returns all that the server says until it hangs up.
func raw(t *testing.T, s *embed.Server, text string) string {
	t.Helper()
	c, err := net.Dial("tcp", strings.TrimPrefix(s.URL(), "nats://"))
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if err := c.SetDeadline(time.Now().Add(patience)); err != nil {
		t.Fatal(err)
	}
	r := bufio.NewReader(c)
	if info, err := r.ReadString('\n'); err != nil || !strings.HasPrefix(info, "INFO {") {
		t.Fatalf("got %q, %v, want INFO", info, err)
	}
	if _, err := io.WriteString(c, text); err != nil {
		t.Fatal(err)
	}
	rest, err := io.ReadAll(r)
	if err != nil {
		t.Fatal(err)
	}
	return string(rest)
}

func TestRawProtocol(t *testing.T) {
	t.Parallel()
	s := start(t, config(t))
	const (
		connect = "CONNECT {\"verbose\":false}\r\n"
		quit    = "QUIT\r\n"
		unknown = "-ERR 'Unknown Protocol Operation'"
	)
	cases := map[string]struct{ send, want string }{
		"lower case, tabs, bare line feeds": {connect + "sub\tskg.live.a  7\nping\n" + quit, "PONG\r\n"},
		"protected reply":                   {connect + "PUB skg.op.x skg.log.a.b.run 2\r\nhi\r\nPING\r\n" + quit, "REFUSED_reply_outside__INBOX.skg.log.a.b.run"},
		"second CONNECT":                    {connect + connect, unknown},
		"unknown":                           {connect + "MSG a 1 2\r\n", unknown},
		"payload too short":                 {connect + "PUB skg.op.x 1\r\nhi\r\n", unknown},
		"carriage return in a line":         {connect + "PUB skg.op.x\r1\r\n", unknown},
		"negative size":                     {connect + "PUB skg.op.x -1\r\n", unknown},
		"signed size":                       {connect + "PUB skg.op.x +1\r\n", unknown},
		"header longer than message":        {connect + "HPUB skg.op.x 9 3\r\nabc\r\n", unknown},
		"too large":                         {connect + "PUB skg.op.x 9000000\r\n", "-ERR 'Maximum Payload Violation'"},
		"endless line":                      {connect + strings.Repeat("x", 100_000), unknown},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := raw(t, s, c.send); !strings.Contains(got, c.want) {
				t.Errorf("got %q, want %q in it", got, c.want)
			}
		})
	}
}
