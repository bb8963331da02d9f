package normalize

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"unicode/utf8"
)

// malformed returns where raw stops being JSON, and why.
func malformed(raw []byte) (index int, reason string) {
	if !utf8.Valid(raw) {
		for index < len(raw) {
			c, n := utf8.DecodeRune(raw[index:])
			if c == utf8.RuneError && n == 1 {
				return index, "invalid UTF-8"
			}
			index += n
		}
	}
	var syntax *json.SyntaxError
	if err := json.Unmarshal(raw, new(json.RawMessage)); errors.As(err, &syntax) {
		index = min(len(raw), max(0, int(syntax.Offset)-1))
		if index == len(raw)-1 && !endsWrong(raw) {
			index = len(raw)
		}
		if nesting(raw[:index]) > MaxDepth { // which the library, too, has a limit for
			return index, tooDeep
		}
		return index, "malformed JSON"
	}
	return 0, ""
}

// endsWrong reports whether the last byte is what is wrong, and not that there is nothing behind it.
func endsWrong(raw []byte) bool {
	err := json.Unmarshal(append(bytes.Clone(raw), ' '), new(json.RawMessage))
	var syntax *json.SyntaxError
	return errors.As(err, &syntax) && int(syntax.Offset) == len(raw)
}

// nesting is how deep it is at the end of what may be no JSON.
func nesting(raw []byte) (depth int) {
	quoted := false
	for i := 0; i < len(raw); i++ {
		switch c := raw[i]; {
		case c == '"':
			quoted = !quoted
		case quoted && c == '\\':
			i++
		case quoted:
		case c == '{' || c == '[':
			depth++
		case c == '}' || c == ']':
			depth--
		}
	}
	return depth
}

// level is an object or array that inspect is in.
type level struct {
	object bool
	key    bool // the next string is one
	name   []byte
	index  int
	seen   map[string]bool
}

// inspect looks for what is too deep and for keys that come twice. So many bytes are before the value.
func (v value) inspect(before int) error {
	var in []level
	for i := 0; i < len(v.raw); i++ {
		c := v.raw[i]
		switch c {
		case '{', '[':
			if len(in) == MaxDepth {
				return v.under(in).fail(fmt.Sprintf("%s (byte %d)", tooDeep, before+i))
			}
			in = append(in, level{object: c == '{', key: c == '{'})
		case '}', ']':
			in = in[:len(in)-1]
		case ',':
			top := &in[len(in)-1]
			top.key = top.object
			top.index++
		case ':':
			in[len(in)-1].key = false
		case '"':
			end := skip(v.raw, i)
			if top := len(in) - 1; top >= 0 && in[top].key {
				in[top].name = v.raw[i:end]
				name := value{raw: v.raw[i:end]}.text()
				if in[top].seen[name] {
					return v.under(in[:top]).fail(fmt.Sprintf("duplicate object key %s (byte %d)", shown(name), before+i))
				}
				if in[top].seen == nil {
					in[top].seen = map[string]bool{}
				}
				in[top].seen[name] = true
			}
			i = end - 1
		}
	}
	return nil
}

// under is the value that inspect is in.
func (v value) under(in []level) value {
	for _, l := range in {
		if l.object {
			v = v.at(value{raw: l.name}.text())
		} else {
			v = v.of(l.index)
		}
	}
	return v
}
