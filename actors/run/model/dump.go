package model

import (
	"encoding/binary"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/skelegent/skelegent-go/actors/run"
)

// appendDriver appends all that a driver keeps to itself, whatever that is: two drivers that differ in it are two states. What
// it was made with does not change.
func appendDriver(b []byte, d *run.Driver) []byte {
	v := reflect.ValueOf(d).Elem()
	for i := range v.NumField() {
		if !v.Type().Field(i).IsExported() {
			b = append(appendValue(b, v.Field(i)), 0)
		}
	}
	return b
}

func appendValue(b []byte, v reflect.Value) []byte {
	switch v.Kind() { //nolint:exhaustive // others panic
	case reflect.Pointer, reflect.Interface:
		if v.IsNil() {
			return append(b, '-')
		}
		return appendValue(append(b, '&'), v.Elem())
	case reflect.String:
		return append(b, v.String()...)
	case reflect.Bool:
		return append(b, bit(v.Bool()))
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		return binary.AppendVarint(b, v.Int())
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		return binary.AppendUvarint(b, v.Uint())
	case reflect.Struct:
		for i := range v.NumField() {
			b = append(appendValue(b, v.Field(i)), ',')
		}
		return b
	case reflect.Slice:
		if v.Type().Elem().Kind() == reflect.Uint8 {
			return append(b, v.Bytes()...)
		}
		for i := range v.Len() {
			b = append(appendValue(b, v.Index(i)), ',')
		}
		return b
	case reflect.Map:
		keys := v.MapKeys()
		slices.SortFunc(keys, func(x, y reflect.Value) int { return strings.Compare(x.String(), y.String()) })
		for _, k := range keys {
			b = append(appendValue(appendValue(b, k), v.MapIndex(k)), ',')
		}
		return b
	}
	panic(fmt.Sprintf("a driver keeps a %s, which the model cannot tell from another", v.Type()))
}
