package protocol

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"reflect"
	"strconv"
	"strings"
	"sync"
	"time"
)

// plan says how the members of a struct are read.
type plan struct {
	byName   map[string]int // member name or alias to index in fields
	fields   []planField
	required []int
}

type planField struct {
	name     string
	index    int
	nullable bool // null means absent, as for every optional member that is omitted when there is nothing to say
	notNull  bool // a required list may be empty but not null, nor may a required pointer
}

var plans sync.Map // reflect.Type to *plan

func planOf(t reflect.Type) *plan {
	if p, ok := plans.Load(t); ok {
		return p.(*plan)
	}
	p := &plan{byName: map[string]int{}}
	for i := range t.NumField() {
		f := t.Field(i)
		name, opts, _ := strings.Cut(f.Tag.Get("json"), ",")
		if name == "" || name == "-" {
			continue
		}
		n := len(p.fields)
		p.fields = append(p.fields, planField{name: name, index: i, nullable: strings.Contains(opts, "omitempty")})
		p.byName[name] = n
		for _, opt := range strings.Split(f.Tag.Get("wire"), ",") {
			if alias, ok := strings.CutPrefix(opt, "alias="); ok {
				p.byName[alias] = n
			} else if opt == "required" {
				p.required = append(p.required, n)
				k := f.Type.Kind()
				p.fields[n].notNull = (k == reflect.Slice || k == reflect.Pointer) && f.Type != reflect.TypeFor[json.RawMessage]()
			}
		}
	}
	actual, _ := plans.LoadOrStore(t, p)
	return actual.(*plan)
}

// decodeStruct reads an object into the struct v points to: unknown members are ignored, required ones
// must be there, a member given twice is an error.
func decodeStruct(data []byte, v any) error { return decodeFields(data, reflect.ValueOf(v).Elem()) }

func decodeFields(data []byte, v reflect.Value) error {
	p := planOf(v.Type())
	var seen uint64
	err := members(data, func(name, raw []byte) error {
		n, ok := p.byName[string(name)]
		if !ok {
			return nil
		}
		if seen&(1<<n) != 0 {
			return at(string(name), errTwice)
		}
		seen |= 1 << n
		if isNull(raw) && p.fields[n].nullable {
			return nil
		}
		if isNull(raw) && p.fields[n].notNull {
			return at(string(name), errNull)
		}
		if err := decodeValue(raw, v.Field(p.fields[n].index)); err != nil {
			return at(string(name), err)
		}
		return nil
	})
	if err != nil {
		return err
	}
	for _, n := range p.required {
		if seen&(1<<n) == 0 {
			return at(p.fields[n].name, errRequired)
		}
	}
	return nil
}

// decodeValue reads one value into v, which must be settable.
func decodeValue(raw []byte, v reflect.Value) error {
	if v.Kind() == reflect.Pointer {
		if isNull(raw) {
			v.SetZero()
			return nil
		}
		v.Set(reflect.New(v.Type().Elem()))
		return decodeValue(raw, v.Elem())
	}
	if isNull(raw) {
		if v.Kind() != reflect.Slice && v.Kind() != reflect.Map {
			return errNull
		}
		v.SetZero() // a list or map that is null is empty, a raw value that is null is nil
		return nil
	}
	switch u := v.Addr().Interface().(type) {
	case *json.RawMessage:
		*u = compacted(raw)
		return nil
	case *time.Time:
		if err := u.UnmarshalJSON(raw); err != nil {
			return fmt.Errorf("expected a time as in RFC 3339, such as 2026-01-02T15:04:05Z, got %s", describe(raw))
		}
		return nil
	case json.Unmarshaler:
		return u.UnmarshalJSON(raw)
	}
	switch v.Kind() {
	case reflect.String:
		s, err := unquote(raw)
		if err != nil {
			return err
		}
		v.SetString(s)
	case reflect.Bool:
		if s := string(raw); s != "true" && s != "false" {
			return fmt.Errorf("expected a boolean, got %s", describe(raw))
		}
		v.SetBool(raw[0] == 't')
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		n, err := strconv.ParseUint(string(raw), 10, v.Type().Bits())
		if err != nil {
			return fmt.Errorf("expected a whole number from 0 to %d, got %s", uint64(math.MaxUint64)>>(64-v.Type().Bits()), literal(raw))
		}
		v.SetUint(n)
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		n, err := strconv.ParseInt(string(raw), 10, v.Type().Bits())
		if err != nil {
			return fmt.Errorf("expected a whole number, got %s", literal(raw))
		}
		v.SetInt(n)
	case reflect.Float64:
		f, err := strconv.ParseFloat(string(raw), 64)
		if err != nil {
			return fmt.Errorf("expected a number, got %s", literal(raw))
		}
		v.SetFloat(f)
	case reflect.Slice:
		if v.Type().Elem().Kind() == reflect.Uint8 {
			return decodeBytes(raw, v)
		}
		return decodeSlice(raw, v)
	case reflect.Map:
		return decodeMap(raw, v)
	case reflect.Struct:
		return decodeFields(raw, v)
	case reflect.Interface:
		if decode, ok := unions[v.Type()]; ok {
			u, err := decode(raw)
			if err == nil {
				v.Set(u)
			}
			return err
		}
		return json.Unmarshal(raw, v.Addr().Interface())
	default:
		return json.Unmarshal(raw, v.Addr().Interface())
	}
	return nil
}

// decodeBytes reads bytes in base64, as encoding/json writes them.
func decodeBytes(raw []byte, v reflect.Value) error {
	text, err := unquote(raw)
	if err != nil {
		return err
	}
	b, err := base64.StdEncoding.Strict().DecodeString(text)
	if err != nil {
		return errors.New("expected a string of base64")
	}
	v.SetBytes(b)
	return nil
}

func decodeSlice(raw []byte, v reflect.Value) error {
	if isNull(raw) {
		v.SetZero()
		return nil
	}
	if v.Type().Elem().Kind() == reflect.Uint8 { // bytes are base64
		return json.Unmarshal(raw, v.Addr().Interface())
	}
	out := reflect.MakeSlice(v.Type(), 0, 0)
	err := elements(raw, func(_ int, el []byte) error {
		item := reflect.New(v.Type().Elem()).Elem()
		if err := decodeValue(el, item); err != nil {
			return err
		}
		out = reflect.Append(out, item)
		return nil
	})
	v.Set(out)
	return err
}

func decodeMap(raw []byte, v reflect.Value) error {
	out := reflect.MakeMap(v.Type())
	err := members(raw, func(name, el []byte) error {
		key := reflect.ValueOf(string(name)).Convert(v.Type().Key())
		if out.MapIndex(key).IsValid() {
			return at(string(name), errTwice)
		}
		item := reflect.New(v.Type().Elem()).Elem()
		if err := decodeValue(el, item); err != nil {
			return at(string(name), err)
		}
		out.SetMapIndex(key, item)
		return nil
	})
	v.Set(out)
	return err
}
