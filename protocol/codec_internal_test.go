package protocol

import (
	"encoding/json"
	"reflect"
	"testing"
)

// FuzzMembers: the walkers see the members and elements that encoding/json sees, at every depth, and end on anything.
func FuzzMembers(f *testing.F) {
	for _, s := range []string{`{}`, `[]`, `{"a":1,"b":[1,{"c":"}"}],"\u0061":"\\\""}`, ` { "x" : [ ] , "y" : -1.5e3 } `, `{"a"`, `{"a":1`, `[1,2`, `["\`, "{\"\xff\":0}", `}`, `{"a" "b"}`, `[[[[`} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		if !json.Valid(data) {
			_ = members(data, func(_, _ []byte) error { return nil })
			_ = elements(data, func(int, []byte) error { return nil })
			return
		}
		walk(t, data[skipSpace(data, 0):])
	})
}

func walk(t *testing.T, raw []byte) {
	t.Helper()
	raw = raw[:skipValue(raw, 0)]
	switch raw[0] {
	case '{':
		var want map[string]json.RawMessage
		if err := json.Unmarshal(raw, &want); err != nil {
			t.Fatal(err)
		}
		got := map[string]json.RawMessage{}
		err := members(raw, func(name, value []byte) error {
			got[string(name)] = value
			walk(t, value)
			return nil
		})
		if err != nil || len(got) != len(want) {
			t.Fatalf("got %q, want %q, error %v", got, want, err)
		}
		for name := range want {
			if string(got[name]) != string(want[name]) {
				t.Fatalf("%q: got %q, want %q", name, got[name], want[name])
			}
		}
	case '[':
		var want, got []json.RawMessage
		if err := json.Unmarshal(raw, &want); err != nil {
			t.Fatal(err)
		}
		err := elements(raw, func(i int, value []byte) error {
			if i != len(got) {
				t.Fatalf("element %d after %d", i, len(got))
			}
			got = append(got, value)
			walk(t, value)
			return nil
		})
		if err != nil || len(got) != len(want) || len(got) > 0 && !reflect.DeepEqual(got, want) {
			t.Fatalf("got %q, want %q, error %v", got, want, err)
		}
	case '"':
		var want string
		if err := json.Unmarshal(raw, &want); err != nil {
			t.Fatal(err)
		}
		if got, err := unquote(raw); err != nil || got != want {
			t.Fatalf("got %q, want %q, error %v", got, want, err)
		}
	}
}

// FuzzAppendString: strings are written as encoding/json writes them.
func FuzzAppendString(f *testing.F) {
	for _, s := range []string{"", "plain", "<a&b>", "\"\\\b\f\n\r\t\x00\x1f\x7f", "grün 日本 🙂", "a\u2028b\u2029c\ufffd", "\xff\xc3", "\xe2\x80"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		want, err := Marshal([]string{s})
		if err != nil {
			t.Fatal(err)
		}
		if got := string(appendString([]byte("["), s)) + "]"; got != string(want) {
			t.Fatalf("got %s, want %s", got, want)
		}
	})
}

// TestMarshalOfNilPointers: as encoding/json has it.
func TestMarshalOfNilPointers(t *testing.T) {
	t.Parallel()
	for _, v := range []any{(*OperatorInput)(nil), (*Content)(nil), nil} {
		if got, err := Marshal(v); err != nil || string(got) != "null" {
			t.Errorf("%T: got %s, error %v", v, got, err)
		}
	}
}

// TestMarshalRefusesBadRawJSON: what we are given to pass on must be JSON.
func TestMarshalRefusesBadRawJSON(t *testing.T) {
	t.Parallel()
	for _, raw := range []string{`{`, ` `, `1 2`, ``, `{"a":1}}`} {
		if got, err := Marshal(OperatorInput{Metadata: json.RawMessage(raw)}); err == nil {
			t.Errorf("%q was written as %s", raw, got)
		}
	}
	if got, err := Marshal(Text("ok")); err != nil || len(got) == 0 {
		t.Errorf("after a failure: %s, error %v", got, err)
	}
}

// TestPlansFit: the decoder counts members in 64 bits, and every name is there once.
func TestPlansFit(t *testing.T) {
	t.Parallel()
	plans.Range(func(key, value any) bool {
		p := value.(*plan)
		if len(p.fields) > 64 || len(p.byName) < len(p.fields) {
			t.Errorf("%v: %d fields, %d names", key, len(p.fields), len(p.byName))
		}
		return true
	})
}
