package embed

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"net"
	"strconv"
	"strings"

	"github.com/skelegent/skelegent-go/protocol/wire"
)

// errRefused means that the server was told what the client did wrong and will end the connection.
var errRefused = errors.New("refused")

// maxHeader is how many bytes of headers a guest's message may have; the server allows 64 KiB.
const maxHeader = 16 << 10

// maxLine is how many bytes of a control line are read before giving up; the server allows 4 KiB.
const maxLine = 16 << 10

// guard passes on what one client sends to the server, and closes what permissions leave open: the
// server checks where a client publishes, but neither where it wants the answer (the reply subject)
// nor where it has a consumer deliver (deliver_subject). Those messages the server or a node publishes
// with rights of their own, so a guest could have a stored message of its choice written to a log, or
// sent to the API as a request to delete a stream.
//
// A guest's messages are parsed and written anew, so what was checked is what the server sees, and both
// must lie under GuestInbox. Nor may a guest take the effects of a run (wire.HeaderEffects), which would keep an operator from
// having them performed. Headers must be short: the server stores those of a signal twice, the second
// time with one more, and where they then were too long for it that signal would hold up all others for
// good. Who proves to hold the node's key is passed through as it is.
type guard struct {
	in         *bufio.Reader
	out        *bufio.Writer
	client, up net.Conn
	nodeKey    string
	nonce      string
	maxPayload int
}

func newGuard(client, up net.Conn, nodeKey, nonce string, maxPayload int) *guard {
	g := &guard{client: client, up: up, nodeKey: nodeKey, nonce: nonce, maxPayload: maxPayload}
	g.out = bufio.NewWriterSize(up, maxLine)
	g.in = bufio.NewReaderSize(g, maxLine)
	return g
}

// Read sends on what is complete before it waits for more of the client.
func (g *guard) Read(p []byte) (int, error) {
	if err := g.out.Flush(); err != nil {
		return 0, err
	}
	return g.client.Read(p)
}

// run returns errRefused, or the error of the side that went away first.
func (g *guard) run() error {
	for first := true; ; first = false {
		line, err := g.in.ReadSlice('\n')
		if errors.Is(err, bufio.ErrBufferFull) {
			return g.refuse()
		}
		if err != nil {
			return err
		}
		text := strings.TrimSuffix(strings.TrimSuffix(string(line), "\n"), "\r")
		if strings.ContainsAny(text, "\r\x00") {
			return g.refuse()
		}
		verb, args := text, ""
		if i := strings.IndexAny(text, " \t"); i >= 0 {
			verb, args = text[:i], text[i+1:]
		}
		verb = strings.ToUpper(verb)
		if verb == "CONNECT" {
			if !first {
				return g.refuse()
			}
			g.write(text, "\r\n")
			if g.isNode(args) {
				return g.passThrough()
			}
			continue
		}
		if err := g.command(verb, splitArgs(args)); err != nil {
			return err
		}
	}
}

func (g *guard) command(verb string, args []string) error {
	switch {
	case (verb == "PING" || verb == "PONG") && len(args) == 0,
		verb == "SUB" && (len(args) == 2 || len(args) == 3),
		verb == "UNSUB" && (len(args) == 1 || len(args) == 2):
		g.write(strings.Join(append([]string{verb}, args...), " "), "\r\n")
		return nil
	case verb == "PUB" && (len(args) == 2 || len(args) == 3):
		return g.publish(verb, args[:len(args)-1], 0, args[len(args)-1:])
	case verb == "HPUB" && (len(args) == 3 || len(args) == 4):
		header, ok := size(args[len(args)-2])
		if !ok {
			return g.refuse()
		}
		return g.publish(verb, args[:len(args)-2], header, args[len(args)-2:])
	}
	return g.refuse()
}

// publish passes on one message to: its subject and perhaps its reply subject.
func (g *guard) publish(verb string, to []string, header int, sizes []string) error {
	total, ok := size(sizes[len(sizes)-1])
	if !ok || header > total {
		return g.refuse()
	}
	line := strings.Join(append(append([]string{verb}, to...), sizes...), " ")
	if total > g.maxPayload {
		g.write(line, "\r\n") // the server answers with the violation and hangs up
		return g.flushRefused()
	}
	if header > maxHeader {
		g.deny("header_above_", strconv.Itoa(maxHeader))
		return g.payload(io.Discard, total)
	}
	if len(to) == 2 && !strings.HasPrefix(to[1], GuestInbox) {
		g.deny("reply_outside_", GuestInbox, to[1])
		return g.payload(io.Discard, total)
	}
	var body bytes.Buffer
	if err := g.copy(&body, header); err != nil {
		return err
	}
	if takesEffects(body.Bytes()) {
		g.deny("header_", wire.HeaderEffects)
		return g.payload(io.Discard, total-header)
	}
	if !strings.HasPrefix(to[0], createConsumer) {
		g.write(line, "\r\n", body.String())
		return g.payload(g.out, total-header)
	}
	if err := g.payload(&body, total-header); err != nil {
		return err
	}
	if subject, ok := deliversTo(body.Bytes()[header:total]); !ok {
		g.deny("deliver_outside_", GuestInbox, subject)
		return nil
	}
	g.write(line, "\r\n", body.String())
	return nil
}

// payload copies a message's n bytes and the line end after them.
func (g *guard) payload(to io.Writer, n int) error {
	if err := g.copy(to, n); err != nil {
		return err
	}
	end, err := g.in.Peek(2)
	if err != nil {
		return err
	}
	if string(end) != "\r\n" {
		return g.refuse()
	}
	return g.copy(to, 2)
}

// copy does what io.CopyN does without a buffer of its own, and without out reading for itself, which it
// must not: Read flushes it.
func (g *guard) copy(to io.Writer, n int) error {
	for n > 0 {
		if _, err := g.in.Peek(1); err != nil {
			return err
		}
		chunk, err := g.in.Peek(min(n, g.in.Buffered()))
		if err != nil {
			return err
		}
		if _, err := to.Write(chunk); err != nil {
			return err
		}
		if _, err := g.in.Discard(len(chunk)); err != nil {
			return err
		}
		n -= len(chunk)
	}
	return nil
}

// deny has the server answer with a permissions violation that says why, by a publish that no guest may do.
func (g *guard) deny(why ...string) {
	g.write("PUB REFUSED_", strings.Join(why, ""), " 0\r\n\r\n")
}

// refuse has the server answer that this is not the protocol, and hang up.
func (g *guard) refuse() error {
	g.write("REFUSED\r\n")
	return g.flushRefused()
}

func (g *guard) flushRefused() error {
	if err := g.out.Flush(); err != nil {
		return err
	}
	return errRefused
}

// write keeps the first error in out; the next Flush returns it.
func (g *guard) write(parts ...string) {
	for _, p := range parts {
		_, _ = g.out.WriteString(p)
	}
}

// passThrough ends the parsing: what is read already and all that follows goes to the server as it is.
func (g *guard) passThrough() error {
	if err := g.copy(g.out, g.in.Buffered()); err != nil {
		return err
	}
	if err := g.out.Flush(); err != nil {
		return err
	}
	_, err := io.Copy(g.up, g.client)
	return err
}
