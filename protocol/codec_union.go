package protocol

import (
	"bytes"
	"fmt"
	"reflect"
	"slices"
	"strings"
)

// customTag is the variant of an open enumeration that carries a name of the user's own.
const customTag = "custom"

// externalTag reads an externally tagged variant: a bare string, or an object with the tag as its only
// key. data is nil for a bare string.
func externalTag(raw []byte) (tag string, data []byte, err error) {
	if len(raw) > 0 && raw[0] == '"' {
		tag, err = unquote(raw)
		return tag, nil, err
	}
	if len(raw) == 0 || raw[0] != '{' {
		return "", nil, fmt.Errorf("expected a string or an object with one key, got %s", describe(raw))
	}
	n := 0
	err = members(raw, func(name, value []byte) error {
		tag, data = string(name), value
		n++
		return nil
	})
	if err == nil && n != 1 {
		err = fmt.Errorf("expected an object with one key, got %d", n)
	}
	return tag, data, err
}

// internalTag returns the "type" member of the object raw.
func internalTag(raw []byte) (tag string, err error) {
	found := false
	err = members(raw, func(name, value []byte) error {
		if string(name) != "type" {
			return nil
		}
		if found {
			return at("type", errTwice)
		}
		found = true
		tag, err = unquote(value)
		return at("type", err)
	})
	if err == nil && !found {
		err = at("type", errRequired)
	}
	return tag, err
}

// oneOf reads a bare string that must be one of known.
func oneOf[T ~string](raw []byte, dst *T, known ...T) error {
	if v, ok := bare(raw, known); ok {
		*dst = v
		return nil
	}
	s, err := unquote(raw) // it may be written with escapes
	if err != nil {
		return err
	}
	if !slices.Contains(known, T(s)) {
		return unknownVariant(s, stringsOf(known)...)
	}
	*dst = T(s)
	return nil
}

// openEnum reads a bare string of known, or {"custom":"name"}, which becomes custom:name.
func openEnum[T ~string](raw []byte, dst *T, known ...T) error {
	if v, ok := bare(raw, known); ok {
		*dst = v
		return nil
	}
	tag, data, err := externalTag(raw)
	switch {
	case err != nil:
		return err
	case data == nil && slices.Contains(known, T(tag)):
		*dst = T(tag)
		return nil
	case data != nil && tag == customTag:
		name, err := unquote(data)
		if err != nil {
			return at(customTag, err)
		}
		*dst = customOf[T](name)
		return nil
	}
	return unknownVariant(tag, append(stringsOf(known), customTag)...)
}

func customOf[T ~string](name string) T { return T(customTag + ":" + name) }

// customName returns the name behind custom:, and whether v is such a value.
func customName[T ~string](v T) (string, bool) { return strings.CutPrefix(string(v), customTag+":") }

func marshalOpenEnum[T ~string](v T) ([]byte, error) {
	if name, ok := customName(v); ok {
		return Marshal(map[string]string{customTag: name})
	}
	return Marshal(string(v))
}

func stringsOf[T ~string](vs []T) []string {
	out := make([]string, len(vs))
	for i, v := range vs {
		out[i] = string(v)
	}
	return out
}

// marshalTagged writes the object that plain marshals to with its "type" first.
func marshalTagged(tag string, plain any) ([]byte, error) {
	body, err := Marshal(plain)
	if err != nil {
		return nil, err
	}
	out := make([]byte, 0, len(body)+len(tag)+10)
	out = append(out, `{"type":"`...)
	out = append(out, tag...)
	out = append(out, '"')
	if !bytes.Equal(body, []byte("{}")) {
		out = append(out, ',')
	}
	return append(out, body[1:]...), nil
}

// marshalExternal writes the one-key object {tag: data}.
func marshalExternal[T ~string](tag T, data any) ([]byte, error) {
	return Marshal(map[string]any{string(tag): data})
}

// unions holds, by interface type, how its variants are read: decodeValue needs it where a field, an element or the
// value itself is an interface.
var unions = map[reflect.Type]func(raw []byte) (reflect.Value, error){}

// union maps the tags of an interface T to its variants.
type union[T any] struct {
	order    []string
	types    map[string]reflect.Type
	external bool // {"tag":{...}} or "tag", else {"type":"tag",...}
}

// newUnion takes tag and prototype pairs; the prototypes are values of the concrete types.
func newUnion[T any](variants ...variant[T]) union[T] { return makeUnion(false, variants) }

// newExternalUnion is newUnion for externally tagged variants; those without fields are bare strings.
func newExternalUnion[T any](variants ...variant[T]) union[T] { return makeUnion(true, variants) }

func makeUnion[T any](external bool, variants []variant[T]) union[T] {
	u := union[T]{types: map[string]reflect.Type{}, external: external}
	for _, v := range variants {
		u.order = append(u.order, v.tag)
		u.types[v.tag] = reflect.TypeOf(v.proto)
	}
	unions[reflect.TypeFor[T]()] = u.decodeReflect
	return u
}

type variant[T any] struct {
	tag   string
	proto T
}

func (u union[T]) decode(raw []byte) (T, error) {
	v, err := u.decodeReflect(raw)
	if err != nil {
		var zero T
		return zero, err
	}
	return v.Interface().(T), nil
}

func (u union[T]) decodeReflect(raw []byte) (reflect.Value, error) {
	if u.external {
		return u.decodeExternal(raw)
	}
	tag, err := internalTag(raw)
	if err != nil {
		return reflect.Value{}, err
	}
	t, ok := u.types[tag]
	if !ok {
		return reflect.Value{}, at("type", unknownVariant(tag, u.order...))
	}
	v := reflect.New(t).Elem()
	return v, decodeFields(raw, v)
}

func (u union[T]) decodeExternal(raw []byte) (reflect.Value, error) {
	tag, data, err := externalTag(raw)
	if err != nil {
		return reflect.Value{}, err
	}
	t, ok := u.types[tag]
	if !ok || (data == nil) != (t.NumField() == 0) {
		return reflect.Value{}, unknownVariant(tag, u.order...)
	}
	v := reflect.New(t).Elem()
	if data == nil {
		return v, nil
	}
	return v, at(tag, decodeFields(data, v))
}

func (u union[T]) decodeAll(raw []byte) ([]T, error) {
	out := []T{}
	if isNull(raw) {
		return out, nil
	}
	err := elements(raw, func(_ int, el []byte) error {
		v, err := u.decode(el)
		out = append(out, v)
		return err
	})
	return out, err
}

// orEmpty makes a nil slice an empty one, so that it is written as [] and not as null.
func orEmpty[T any](s []T) []T {
	if s == nil {
		return []T{}
	}
	return s
}
