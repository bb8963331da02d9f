package normalize

import (
	"bytes"
	"errors"
	"fmt"

	"github.com/skelegent/skelegent-go/actors/compose"
	"github.com/skelegent/skelegent-go/protocol"
)

// Stream reads what LFM reads, from a text that comes in pieces. However the text is cut, the result is the same: the texts and
// calls of all Feeds and of Close together, and the error. The zero value is ready. A Stream is not safe for concurrent use.
//
// It holds back no more than a block that has begun, or what may be the begin of a marker.
type Stream struct {
	held   []byte   // what is not decided: a part of a marker, or a block from its start marker on
	at     position // of held
	inside bool     // held is a block
	seen   int      // how much of a block was looked at
	quote  byte     // the quote in which that ends, 0 if in none
	opened int      // where in held that quote is
	size   int      // of the blocks before
	calls  int
	err    error
}

var (
	startMarker = []byte(StartMarker)
	endMarker   = []byte(EndMarker)
)

// Feed takes the next piece. It returns what is certain to be outside of blocks, and the calls of the blocks that are complete
// now. Text and calls that come with an error were before it. After an error nothing more is taken, and every Feed returns that
// error; after Close it returns compose.ErrInvalidArgument.
func (s *Stream) Feed(piece string) (text string, calls []protocol.ToolCall, err error) {
	if s.err != nil {
		return "", nil, s.err
	}
	s.held = append(s.held, piece...)
	var out []byte
	for s.err == nil {
		if !s.inside {
			n := bytes.Index(s.held, startMarker)
			if s.inside = n >= 0; !s.inside {
				n = len(s.held) - begun(s.held)
			}
			out = append(out, s.held[:n]...)
			s.drop(n)
			s.seen = len(startMarker)
		}
		if !s.inside || !s.complete() {
			break
		}
		calls = s.block(calls)
	}
	return string(out), calls, s.err
}

// Close says that there is no more text, and returns what was held back of it. The error is that of Feed, or that a block is
// unclosed.
func (s *Stream) Close() (text string, err error) {
	switch {
	case errors.Is(s.err, errClosed):
		return "", nil
	case s.err != nil:
		return "", s.err
	case s.inside && s.quote != 0:
		return "", s.fail(s.opened, unclosed+": unterminated "+kind(s.quote)+" string")
	case s.inside:
		return "", s.fail(0, unclosed)
	}
	text, s.held, s.err = string(s.held), nil, errClosed
	return text, nil
}

const unclosed = "unclosed tool call block"

var errClosed = compose.ErrInvalidArgument("the stream is closed")

// Held returns what Feed holds back. After an error it is all that was not returned: the text from the start marker of the block
// that is wrong to the end of the piece.
func (s *Stream) Held() string { return string(s.held) }

// begun is how long the part of a start marker is in which text ends.
func begun(text []byte) int {
	i := bytes.LastIndexByte(text, StartMarker[0]) // it is nowhere else in a marker
	if i < 0 || !bytes.HasPrefix(startMarker, text[i:]) {
		return 0
	}
	return len(text) - i
}

// complete reports whether the block has its end marker, which then is at seen.
func (s *Stream) complete() bool {
	for s.seen < len(s.held) {
		c := s.held[s.seen]
		switch {
		case c == '\\' && s.quote != 0:
			if s.seen+1 == len(s.held) { // what it stands before is to come
				return false
			}
			s.seen++
		case s.quote != 0:
			if c == s.quote {
				s.quote = 0
			}
		case c == '\'' || c == '"':
			s.quote, s.opened = c, s.seen
		case c == '<':
			rest := s.held[s.seen:]
			switch {
			case bytes.HasPrefix(rest, endMarker):
				return true
			case bytes.HasPrefix(rest, startMarker):
				_ = s.fail(0, unclosed+", and another begins in it")
				return false
			case bytes.HasPrefix(endMarker, rest) || bytes.HasPrefix(startMarker, rest):
				return false
			}
		}
		if s.size+s.seen-len(startMarker) >= MaxBytes {
			_ = s.fail(s.seen, fmt.Sprintf("the tool call blocks are longer than %d bytes", MaxBytes))
			return false
		}
		s.seen++
	}
	return false
}

// block reads a complete block.
func (s *Stream) block(calls []protocol.ToolCall) []protocol.ToolCall {
	p := blockParser{src: s.held[:s.seen], pos: len(startMarker), room: MaxCalls - s.calls}
	found, err := p.block()
	if err != nil {
		var at *placed
		if errors.As(err, &at) {
			err = s.fail(at.index, at.reason)
		}
		s.err = err
		return calls
	}
	s.calls += len(found)
	s.size += s.seen - len(startMarker)
	s.drop(s.seen + len(endMarker))
	s.inside = false
	return append(calls, found...)
}

// drop forgets the first n bytes of what is held.
func (s *Stream) drop(n int) {
	s.at = s.at.after(s.held[:n])
	s.held = s.held[n:]
}

// fail ends the stream with what is wrong at an index of what is held.
func (s *Stream) fail(index int, reason string) error {
	s.err = failed(s.at.after(s.held[:index]).problem(reason))
	return s.err
}
