package protocol

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strconv"
	"unicode/utf8"
)

// members calls f with the name and the raw value of each member of the object in data, in order. The name is only
// valid during the call.
func members(data []byte, f func(name, value []byte) error) error {
	if len(data) == 0 || data[0] != '{' {
		return fmt.Errorf("expected an object, got %s", describe(data))
	}
	i := skipSpace(data, 1)
	for i < len(data) && data[i] != '}' {
		end := skipValue(data, i)
		if end < 0 || data[i] != '"' {
			return errTruncated
		}
		name, err := unquoteBytes(data[i:end])
		if err != nil {
			return err
		}
		i = skipSpace(data, end)
		if i >= len(data) || data[i] != ':' {
			return errTruncated
		}
		i = skipSpace(data, i+1)
		if end = skipValue(data, i); end < 0 {
			return errTruncated
		}
		if err := f(name, data[i:end]); err != nil {
			return err
		}
		i = skipSpace(data, end)
		if i < len(data) && data[i] == ',' {
			i = skipSpace(data, i+1)
		}
	}
	return nil
}

// elements calls f with the index and the raw value of each element of the array in data.
func elements(data []byte, f func(i int, value []byte) error) error {
	if len(data) == 0 || data[0] != '[' {
		return fmt.Errorf("expected an array, got %s", describe(data))
	}
	i := skipSpace(data, 1)
	for n := 0; i < len(data) && data[i] != ']'; n++ {
		end := skipValue(data, i)
		if end < 0 {
			return errTruncated
		}
		if err := f(n, data[i:end]); err != nil {
			return at("["+strconv.Itoa(n)+"]", err)
		}
		i = skipSpace(data, end)
		if i < len(data) && data[i] == ',' {
			i = skipSpace(data, i+1)
		}
	}
	return nil
}

func endsScalar(c byte) bool {
	switch c {
	case ',', ':', ']', '}', ' ', '\n', '\t', '\r':
		return true
	}
	return false
}

func skipSpace(data []byte, i int) int {
	for i < len(data) && (data[i] == ' ' || data[i] == '\n' || data[i] == '\t' || data[i] == '\r') {
		i++
	}
	return i
}

// skipValue returns the index behind the value that starts at i, or -1. The data was found valid before; on anything
// else it ends without looking further than the data.
func skipValue(data []byte, i int) int {
	for depth := 0; i < len(data); {
		switch data[i] {
		case '"':
			if i = skipString(data, i); i < 0 {
				return -1
			}
		case '{', '[':
			depth++
			i++
		case '}', ']':
			depth--
			i++
		case ',', ':', ' ', '\n', '\t', '\r':
			if depth == 0 {
				return -1
			}
			i++
			continue
		default: // a number, true, false or null
			for i < len(data) && !endsScalar(data[i]) {
				i++
			}
		}
		if depth == 0 {
			return i
		}
		if depth < 0 {
			return -1
		}
	}
	return -1
}

// skipString returns the index behind the string that starts at i, or -1.
func skipString(data []byte, i int) int {
	for i++; i < len(data); i++ {
		switch data[i] {
		case '"':
			return i + 1
		case '\\':
			i++
		}
	}
	return -1
}

// unquote reads a JSON string.
func unquote(raw []byte) (string, error) {
	b, err := unquoteBytes(raw)
	return string(b), err
}

// unquoteBytes is unquote into raw itself where nothing is escaped.
func unquoteBytes(raw []byte) ([]byte, error) {
	if len(raw) < 2 || raw[0] != '"' {
		return nil, fmt.Errorf("expected a string, got %s", describe(raw))
	}
	if body := raw[1 : len(raw)-1]; bytes.IndexByte(body, '\\') < 0 && utf8.Valid(body) {
		return body, nil
	}
	var s string
	err := json.Unmarshal(raw, &s)
	return []byte(s), err
}

func isNull(raw []byte) bool { return string(raw) == "null" }

// bare returns the one of known that raw, a JSON string, is.
func bare[T ~string](raw []byte, known []T) (T, bool) {
	if len(raw) >= 2 && raw[0] == '"' {
		body := raw[1 : len(raw)-1]
		for _, k := range known {
			if string(body) == string(k) {
				return k, true
			}
		}
	}
	return "", false
}

// literal is a number as it was written, as far as that is short, or else what raw is.
func literal(raw []byte) string {
	if len(raw) > 0 && (raw[0] == '-' || raw[0] >= '0' && raw[0] <= '9') {
		return string(raw[:min(len(raw), 40)])
	}
	return describe(raw)
}

func describe(raw []byte) string {
	if len(raw) == 0 {
		return "nothing"
	}
	switch raw[0] {
	case '{':
		return "an object"
	case '[':
		return "an array"
	case '"':
		return "a string"
	case 't', 'f':
		return "a boolean"
	case 'n':
		return "null"
	}
	return "a number"
}
