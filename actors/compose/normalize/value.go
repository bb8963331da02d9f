package normalize

import (
	"bytes"
	"fmt"
	"unicode"

	"github.com/skelegent/skelegent-go/actors/compose"
)

// value reads one value and writes it as JSON.
func (p *blockParser) value() error {
	p.space()
	switch p.next() {
	case '\'', '"':
		s, err := p.quoted()
		if err == nil {
			p.text(s)
		}
		return err
	case '[':
		return p.list()
	case '{':
		return p.object()
	}
	start := p.pos
	word, err := p.word(false)
	if err != nil {
		return err
	}
	raw, special := literal(word)
	switch {
	case !special:
		p.text(word)
	case raw == "":
		return p.fail(start, "non-finite float")
	default:
		p.out = append(p.out, raw...)
	}
	return nil
}

func (p *blockParser) enter() error {
	if p.depth++; p.depth > MaxDepth {
		return p.fail(p.pos, tooDeep)
	}
	return nil
}

var tooDeep = fmt.Sprintf("nested deeper than %d", MaxDepth)

func (p *blockParser) list() error {
	if err := p.enter(); err != nil {
		return err
	}
	open := p.pos
	p.pos++
	p.out = append(p.out, '[')
	for first := true; ; first = false {
		p.space()
		switch p.next() {
		case ']':
			p.pos++
			p.depth--
			p.out = append(p.out, ']')
			return nil
		case ',':
			return p.fail(p.pos, "empty list item")
		}
		if !first {
			p.out = append(p.out, ',')
		}
		if err := p.value(); err != nil {
			return err
		}
		if err := p.separator(open, ']', "unterminated list literal"); err != nil {
			return err
		}
	}
}

func (p *blockParser) object() error {
	if err := p.enter(); err != nil {
		return err
	}
	open := p.pos
	p.pos++
	p.out = append(p.out, '{')
	seen := map[string]bool{}
	for {
		p.space()
		switch p.next() {
		case '}':
			p.pos++
			p.depth--
			p.out = append(p.out, '}')
			return nil
		}
		start := p.pos
		key, err := p.name(open)
		switch {
		case err != nil:
			return err
		case seen[key]:
			return p.fail(start, "duplicate object key "+shown(key))
		}
		seen[key] = true
		p.member(key, len(seen) == 1)
		if err := p.value(); err != nil {
			return err
		}
		if err := p.separator(open, '}', unterminatedObject); err != nil {
			return err
		}
	}
}

const unterminatedObject = "unterminated object literal"

// name reads a key of the object that begins at open, and the : behind it.
func (p *blockParser) name(open int) (key string, err error) {
	const noString = "object key must be a string"
	start := p.pos
	switch p.next() {
	case '[', '{':
		return "", p.fail(start, noString)
	case '\'', '"':
		if key, err = p.quoted(); err != nil {
			return "", err
		}
	default:
		if key, err = p.word(true); err != nil {
			return "", err
		}
		if _, special := literal(key); special || key == "" && p.next() == ':' {
			return "", p.fail(start, noString)
		}
	}
	p.space()
	switch p.next() {
	case ':':
		p.pos++
		return key, nil
	case 0, ')', ']':
		return "", p.fail(open, unterminatedObject)
	}
	return "", p.fail(start, "object entry without ':'")
}

// separator reads the comma behind an item. It leaves what closes where it is.
func (p *blockParser) separator(open int, closer byte, unterminated string) error {
	p.space()
	switch c := p.next(); c {
	case closer:
	case ',':
		p.pos++
	case 0, ')', ']', '}':
		return p.fail(open, unterminated)
	default:
		return p.fail(p.pos, "trailing content after a value")
	}
	return nil
}

// word reads a value without quotes: up to a comma or a bracket that closes what it is in, or as a key to a colon. At the end
// there is white space neither before nor behind it.
func (p *blockParser) word(asKey bool) (string, error) {
	start, end := p.pos, p.pos // of what is not white space
	token, fresh := p.pos, true
	var closers []byte
	for ; !p.over(); p.pos++ {
		c := p.next()
		switch c {
		case '\'', '"':
			return "", p.fail(p.pos, "quote inside an unquoted value")
		case '(', '[', '{':
			if p.depth+len(closers) >= MaxDepth {
				return "", p.fail(p.pos, tooDeep)
			}
			closers = append(closers, closerOf[c])
		case ')', ']', '}':
			if len(closers) == 0 {
				return p.trimmed(start, end), nil
			}
			if closers[len(closers)-1] != c {
				return "", p.fail(p.pos, fmt.Sprintf("unexpected '%c'", c))
			}
			closers = closers[:len(closers)-1]
		case ',':
			if len(closers) == 0 {
				return p.trimmed(start, end), nil
			}
		case ':':
			if len(closers) == 0 && asKey {
				return p.trimmed(start, end), nil
			}
		case '=': // x=1 y=2
			if fresh && token > start && compose.IsIdentifier(string(p.src[token:end])) && !p.follows('=') {
				return "", p.fail(token, "missing ',' before "+shown(p.src[token:end]))
			}
			fresh = false
		case ' ', '\t', '\n', '\r':
			continue
		}
		if end < p.pos { // there was white space
			token, fresh = p.pos, c != '='
		}
		end = p.pos + 1
	}
	if len(closers) > 0 {
		return "", p.fail(p.pos, fmt.Sprintf("missing closing '%c'", closers[len(closers)-1]))
	}
	return p.trimmed(start, end), nil
}

func (p *blockParser) trimmed(start, end int) string {
	return string(bytes.TrimRightFunc(p.src[start:end], unicode.IsSpace))
}

var closerOf = map[byte]byte{'(': ')', '[': ']', '{': '}'}

// follows reports whether c comes behind the next byte.
func (p *blockParser) follows(c byte) bool { return p.pos+1 < len(p.src) && p.src[p.pos+1] == c }
