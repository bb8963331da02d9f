package normalize

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/skelegent/skelegent-go/actors/compose"
	"github.com/skelegent/skelegent-go/protocol"
)

// blockParser reads what is between two markers. It looks at each byte a bounded number of times.
type blockParser struct {
	src   []byte
	pos   int    // what is next
	depth int    // of lists and objects
	room  int    // for calls
	out   []byte // the JSON of the arguments of the call so far
}

// placed is what is wrong at an index of src.
type placed struct {
	index  int
	reason string
}

func (e *placed) Error() string { return e.reason }

func (p *blockParser) fail(index int, reason string) error { return &placed{index, reason} }

// block reads all of src behind pos.
func (p *blockParser) block() (calls []protocol.ToolCall, err error) {
	if err := p.characters(); err != nil {
		return nil, err
	}
	p.src = bytes.TrimRightFunc(p.src, unicode.IsSpace)
	p.space()
	if p.next() == '[' && p.src[len(p.src)-1] == ']' {
		p.pos++
		p.src = p.src[:len(p.src)-1]
	}
	for p.space(); !p.over(); p.space() {
		if p.next() == ',' {
			p.pos++
			continue
		}
		if len(calls) == p.room {
			return nil, p.fail(p.pos, fmt.Sprintf("more than %d tool calls", MaxCalls))
		}
		c, err := p.call()
		if err != nil {
			return nil, err
		}
		calls = append(calls, c)
		if p.space(); !p.over() && p.next() != ',' {
			return nil, p.fail(p.pos, "trailing content after a tool call")
		}
	}
	return calls, nil
}

// characters looks for bytes that are no text.
func (p *blockParser) characters() error {
	for i := p.pos; i < len(p.src); {
		c, n := rune(p.src[i]), 1
		if c >= utf8.RuneSelf {
			c, n = utf8.DecodeRune(p.src[i:])
		}
		switch {
		case c == utf8.RuneError && n == 1:
			return p.fail(i, "invalid UTF-8")
		case c < ' ' && c != '\t' && c != '\n' && c != '\r':
			return p.fail(i, fmt.Sprintf("control character %U", c))
		}
		i += n
	}
	return nil
}

// call reads name(key=value, ...).
func (p *blockParser) call() (protocol.ToolCall, error) {
	start := p.pos
	for !p.over() && p.next() != '(' && p.next() != ',' {
		p.pos++
	}
	name := bytes.TrimRightFunc(p.src[start:p.pos], unicode.IsSpace)
	switch {
	case p.next() != '(':
		return protocol.ToolCall{}, p.fail(p.pos, "expected '(' after a tool name")
	case len(name) == 0:
		return protocol.ToolCall{}, p.fail(start, "empty tool name")
	case !compose.IsIdentifier(string(name)):
		return protocol.ToolCall{}, p.fail(start, "invalid tool name "+shown(name))
	}
	p.pos++
	p.out = append([]byte(nil), '{')
	if err := p.arguments(); err != nil {
		return protocol.ToolCall{}, err
	}
	return compose.NewCall("", string(name), json.RawMessage(append(p.out, '}')))
}

// arguments reads up to the closing parenthesis, and that.
func (p *blockParser) arguments() error {
	seen := map[string]bool{}
	for {
		p.space()
		switch p.next() {
		case 0:
			return p.fail(p.pos, "missing closing ')'")
		case ')':
			p.pos++
			return nil
		case ',':
			p.pos++
			continue
		}
		start := p.pos
		key, err := p.key()
		switch {
		case err != nil:
			return err
		case seen[key]:
			return p.fail(start, "duplicate kwarg "+shown(key))
		case len(seen) == MaxArguments:
			return p.fail(start, fmt.Sprintf("more than %d kwargs in a tool call", MaxArguments))
		}
		seen[key] = true
		p.member(key, len(seen) == 1)
		if err := p.value(); err != nil {
			return err
		}
		p.space()
		switch p.next() {
		case 0, ',', ')':
		default:
			return p.fail(p.pos, "trailing content after a value")
		}
	}
}

// key reads the name of an argument and the = behind it.
func (p *blockParser) key() (string, error) {
	start := p.pos
	for !p.over() && strings.IndexByte(`=,()[]{}'"`, p.next()) < 0 {
		p.pos++
	}
	key := bytes.TrimRightFunc(p.src[start:p.pos], unicode.IsSpace)
	switch {
	case p.over():
		return "", p.fail(p.pos, "missing closing ')'")
	case p.next() != '=':
		return "", p.fail(start, "kwarg without '='")
	case len(key) == 0:
		return "", p.fail(start, "empty kwarg name")
	case !compose.IsIdentifier(string(key)):
		return "", p.fail(start, "invalid kwarg name "+shown(key))
	}
	p.pos++
	return string(key), nil
}

// member writes the key of an object.
func (p *blockParser) member(key string, first bool) {
	if !first {
		p.out = append(p.out, ',')
	}
	p.text(key)
	p.out = append(p.out, ':')
}

// text writes a string.
func (p *blockParser) text(s string) {
	raw, _ := protocol.Marshal(s) // a string always marshals
	p.out = append(p.out, raw...)
}

func (p *blockParser) over() bool { return p.pos >= len(p.src) }

// next is the next byte, 0 at the end; characters has seen that there is no other.
func (p *blockParser) next() byte {
	if p.over() {
		return 0
	}
	return p.src[p.pos]
}

// space skips white space.
func (p *blockParser) space() {
	for !p.over() {
		c, n := utf8.DecodeRune(p.src[p.pos:])
		if !unicode.IsSpace(c) {
			return
		}
		p.pos += n
	}
}
