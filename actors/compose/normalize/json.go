package normalize

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/skelegent/skelegent-go/actors/compose"
	"github.com/skelegent/skelegent-go/protocol"
)

// reader collects the calls of one message.
type reader struct{ calls []protocol.ToolCall }

// read reads the calls of JSON after a form.
func read(raw []byte, form func(*reader, value) error) ([]protocol.ToolCall, error) {
	v, err := open(raw)
	if err == nil {
		var r reader
		if err = form(&r, v); err == nil {
			return r.calls, nil
		}
	}
	return nil, failed(err)
}

// add takes a call that was read from v.
func (r *reader) add(v value, c protocol.ToolCall) error {
	if len(r.calls) == MaxCalls {
		return v.fail(fmt.Sprintf("more than %d tool calls", MaxCalls))
	}
	call, err := compose.NewCall(c.ID, c.Name, bytes.Clone(c.Input))
	if err != nil { // neither the name nor the JSON can be wrong any more
		return v.fail("it is no tool call")
	}
	r.calls = append(r.calls, call)
	return nil
}

// identity reads the id of a call from a value, and its name from another.
func identity(around value, id string, v value) (c protocol.ToolCall, err error) {
	if given, ok := around.get(id); ok && given.kind() != 'n' {
		if given.kind() != '"' {
			return c, given.fail("must be a string")
		}
		c.ID = given.text()
	}
	name, ok := v.get("name")
	switch {
	case !ok:
		return c, v.fail("missing name")
	case name.kind() != '"':
		return c, name.fail("must be a string")
	}
	if c.Name = name.text(); !compose.IsIdentifier(c.Name) {
		return c, name.fail("invalid tool name " + shown(c.Name))
	}
	return c, nil
}

// value is a part of JSON that open has looked at. The zero value is none.
type value struct {
	raw  []byte // without white space around it
	path string
}

// open looks at all of JSON, so that what follows need not: that it is JSON, not too long and not too deep, and that no object
// has a key twice, since whoever reads it next may take the other one.
func open(raw []byte) (value, error) {
	v := value{raw: bytes.Trim(raw, spaces)}
	if len(raw) > MaxJSON {
		return v, v.fail(fmt.Sprintf("longer than %d bytes", MaxJSON))
	}
	if index, reason := malformed(raw); reason != "" {
		return v, position{}.after(raw[:index]).problem(reason)
	}
	return v, v.inspect(leading(raw))
}

const spaces = " \t\r\n"

func (v value) fail(reason string) error { return &PathError{Path: v.path, Reason: reason} }

// maxPath is how long a path may be, in bytes: names come from outside.
const maxPath = 400

// at is the value with the path of a member.
func (v value) at(name string) value {
	switch {
	case len(v.path) > maxPath:
	case name == "" || len(name) > maxShown || !compose.IsIdentifier(name) || strings.Contains(name, "."):
		v.path += "[" + shown(name) + "]"
	case v.path == "":
		v.path = name
	default:
		v.path += "." + name
	}
	return v
}

// of is the value with the path of an item.
func (v value) of(index int) value {
	if len(v.path) <= maxPath {
		v.path += "[" + strconv.Itoa(index) + "]"
	}
	return v
}

// kind is the first byte: { or [ or " or n, others for numbers and booleans, and 0 for none.
func (v value) kind() byte {
	if len(v.raw) == 0 {
		return 0
	}
	return v.raw[0]
}

// text is a string, empty if it is none.
func (v value) text() string {
	if v.kind() != '"' {
		return ""
	}
	if inner := v.raw[1 : len(v.raw)-1]; bytes.IndexByte(inner, '\\') < 0 {
		return string(inner)
	}
	var s string
	if json.Unmarshal(v.raw, &s) != nil { // it is a string
		return ""
	}
	return s
}

// typ is the type that an object says it has, empty if none.
func (v value) typ() string {
	m, _ := v.get("type")
	return m.text()
}

// get returns a member of an object.
func (v value) get(name string) (m value, ok bool) {
	if v.kind() != '{' {
		return value{}, false
	}
	for i := 1; ; {
		i = space(v.raw, i)
		if v.raw[i] == '}' {
			return value{}, false
		}
		end := skip(v.raw, i)
		key := value{raw: v.raw[i:end]}
		i = space(v.raw, space(v.raw, end)+1) // behind the colon
		end = skip(v.raw, i)
		if key.text() == name {
			m = v.at(name)
			m.raw = v.raw[i:end]
			return m, true
		}
		if i = space(v.raw, end); v.raw[i] == ',' {
			i++
		}
	}
}

// each calls f for each item of an array, until it returns an error.
func (v value) each(f func(value) error) error {
	if v.kind() != '[' {
		return nil
	}
	for n, i := 0, 1; ; n++ {
		i = space(v.raw, i)
		switch {
		case v.raw[i] == ']':
			return nil
		case n == MaxItems:
			return v.fail(fmt.Sprintf("more than %d items", MaxItems))
		}
		end := skip(v.raw, i)
		item := v.of(n)
		item.raw = v.raw[i:end]
		if err := f(item); err != nil {
			return err
		}
		if i = space(v.raw, end); v.raw[i] == ',' {
			i++
		}
	}
}

// some reports whether is holds for an item of an array.
func (v value) some(is func(value) bool) bool {
	found := errors.New("found")
	return errors.Is(v.each(func(item value) error {
		if is(item) {
			return found
		}
		return nil
	}), found)
}

// embedded is the JSON that a string has, or nothing.
func (v value) embedded() (value, error) {
	raw := []byte(v.text())
	inner := value{raw: bytes.Trim(raw, spaces), path: v.path}
	if len(inner.raw) == 0 {
		return value{}, nil
	}
	if index, reason := malformed(raw); reason != "" {
		return inner, v.fail(fmt.Sprintf("arguments JSON: %s at byte %d", reason, index))
	}
	return inner, inner.inspect(leading(raw))
}

// leading is how much white space raw begins with.
func leading(raw []byte) int { return len(raw) - len(bytes.TrimLeft(raw, spaces)) }

// space returns the index behind white space.
func space(raw []byte, i int) int {
	for i < len(raw) && strings.IndexByte(spaces, raw[i]) >= 0 {
		i++
	}
	return i
}

// skip returns the index behind the value that begins at i.
func skip(raw []byte, i int) int {
	for depth := 0; i < len(raw); {
		switch raw[i] {
		case '"':
			for i++; raw[i] != '"'; i++ {
				if raw[i] == '\\' {
					i++
				}
			}
			i++
		case '{', '[':
			depth++
			i++
		case '}', ']':
			depth--
			i++
		case ',', ':', ' ', '\t', '\r', '\n':
			i++
			continue // there are none but within
		default:
			for i < len(raw) && strings.IndexByte(",:]}"+spaces, raw[i]) < 0 {
				i++
			}
		}
		if depth == 0 {
			return i
		}
	}
	return i
}
