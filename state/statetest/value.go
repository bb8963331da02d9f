package statetest

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/skelegent/skelegent-go/protocol"
)

// keeps is a clause that values, which are without white space, are read as they were written.
func keeps(name string, values ...string) Clause {
	return clause(name, func(b bench) {
		for i, v := range values {
			b.write(session, fmt.Sprint(i), v)
			b.wants(session, fmt.Sprint(i), v)
		}
	})
}

var valueClauses = []Clause{
	keeps("value_null", `null`),
	keeps("value_scalars", `true`, `false`, `0`, `""`, `{}`, `[]`),
	keeps("value_numbers", `12345678901234567890`, `0.1000000000000000055511151231257827`, `1e400`, `-0`, `1.0`, `1E+2`),
	keeps("value_nested", `{"z":[{"a":{"b":[[[null,{"c":"d"}]]]}}],"a":1}`, strings.Repeat("[", 500)+strings.Repeat("]", 500)),
	keeps("value_html", `"<script>a&b</script>"`, "\"\u2028\u2029\""),
	keeps("value_escapes", `"\u00e9\n\"\\\/"`, `"\ud83e\uddb4"`, "\"é🦴\""),
	clause("value_white_space", func(b bench) {
		b.write(session, "k", " {\n\t\"a\" : [ 1 , \" two \" ]\r\n} ")
		var got struct{ A []any }
		if err := json.Unmarshal(b.read(session, "k"), &got); err != nil || len(got.A) != 2 || got.A[1] != " two " {
			b.Errorf("got %v, %v", got, err)
		}
	}),
	clause("value_not_json", func(b bench) {
		for _, v := range []string{"", " ", "hello", "{", `{"a":}`, "1 2", "\"\xff\"", "'a'", "NaN"} {
			err := b.store.Write(b.Context(), session, "bad", json.RawMessage(v), protocol.StoreOptions{})
			b.fails("write of "+v, err, protocol.CodeInvalidInput)
			if b.read(session, "bad") != nil {
				b.Errorf("write of %q left a value", v)
			}
		}
	}),
	clause("value_large", func(b bench) {
		large := `"` + strings.Repeat("0123456789abcdef", 3<<15) + `"` // 1.5 MiB
		b.write(session, "large", large)
		if got := b.read(session, "large"); string(got) != large {
			b.Errorf("a value of %d bytes came back as %d others", len(large), len(got))
		}
		b.write(session, "large", `"small"`)
		b.wants(session, "large", `"small"`)
	}),
	{
		Name: "options_kept",
		Asks: func(s protocol.StateStore) string {
			if _, ok := s.(OptionReader); !ok {
				return "the store cannot say how a value was written"
			}
			return ""
		},
		Check: func(t T, s protocol.StateStore) { optionsKept(bench{t, s}) },
	},
}

func optionsKept(b bench) {
	tier, life, kind, salience, ttl := protocol.TierCold, protocol.LifetimeSession, protocol.CustomContentKind("x"), 0.25, protocol.Millis(3_600_000)
	b.writeWith(session, "k", `1`, protocol.StoreOptions{Tier: &tier, Lifetime: &life, ContentKind: &kind, Salience: &salience, TTL: &ttl})
	got := b.options("k")
	if got.Tier == nil || *got.Tier != tier || got.Lifetime == nil || *got.Lifetime != life ||
		got.ContentKind == nil || *got.ContentKind != kind || got.Salience == nil || *got.Salience != salience {
		b.Errorf("options: got %+v", got)
	}
	if got.TTL == nil || *got.TTL > ttl || *got.TTL < ttl/2 {
		b.Errorf("TTL: got %v, want a little less than %v", got.TTL, ttl)
	}
	b.write(session, "k", `2`)
	if got := b.options("k"); got != (protocol.StoreOptions{}) {
		b.Errorf("after a write without options: got %+v", got)
	}
	if _, found, err := b.store.(OptionReader).Options(b.Context(), session, "none"); found || err != nil {
		b.Errorf("options of a missing key: got %v, %v", found, err)
	}
}

func (b bench) options(key string) protocol.StoreOptions {
	b.Helper()
	opts, found, err := b.store.(OptionReader).Options(b.Context(), session, key)
	if err != nil || !found {
		b.Fatalf("options of %q: found %v, error %v", key, found, err)
	}
	return opts
}
