package normalize

import (
	"strconv"
	"unicode/utf16"
	"unicode/utf8"
)

// quoted reads a string in quotes.
func (p *blockParser) quoted() (string, error) {
	open, quote := p.pos, p.next()
	var out []byte
	for p.pos++; !p.over(); p.pos++ {
		c := p.next()
		switch c {
		case quote:
			p.pos++
			return string(out), nil
		case '\\':
			out = p.escape(out)
		default:
			out = append(out, c)
		}
	}
	return "", p.fail(open, "unterminated "+kind(quote)+" string")
}

func kind(quote byte) string {
	if quote == '\'' {
		return "single-quoted"
	}
	return "double-quoted"
}

// escape reads a backslash with what it stands before, to the last byte of it.
func (p *blockParser) escape(out []byte) []byte {
	if p.pos+1 == len(p.src) {
		return append(out, '\\')
	}
	p.pos++
	switch c := p.next(); c {
	case '\'', '"', '\\':
		return append(out, c)
	case 'n':
		return append(out, '\n')
	case 'r':
		return append(out, '\r')
	case 't':
		return append(out, '\t')
	case 'u':
		first, ok := p.unit(p.pos + 1)
		n := 4
		if utf16.IsSurrogate(first) && ok {
			ok = p.pos+6 < len(p.src) && p.src[p.pos+5] == '\\' && p.src[p.pos+6] == 'u'
			second, valid := p.unit(p.pos + 7)
			first = utf16.DecodeRune(first, second)
			ok, n = ok && valid && first != utf8.RuneError, 10
		}
		if ok {
			p.pos += n
			return utf8.AppendRune(out, first)
		}
	}
	return append(out, '\\', p.next())
}

// unit reads four hexadecimal digits.
func (p *blockParser) unit(at int) (rune, bool) {
	if at+4 > len(p.src) {
		return 0, false
	}
	n, err := strconv.ParseUint(string(p.src[at:at+4]), 16, 16)
	return rune(n), err == nil
}
