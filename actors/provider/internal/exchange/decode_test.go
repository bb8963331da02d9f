package exchange_test

import (
	"encoding/json"
	"errors"
	"math"
	"strings"
	"testing"

	"github.com/skelegent/skelegent-go/actors/provider/internal/exchange"
)

func TestUnmarshalTakesFewValues(t *testing.T) {
	t.Parallel()
	many := 100_000
	for name, c := range map[string]struct {
		raw string
		ok  bool
	}{
		"objects":            {"[" + strings.Repeat("{},", many) + "{}]", false},
		"numbers":            {"[" + strings.Repeat("0,", many) + "0]", false},
		"on lines":           {"[" + strings.Repeat("{\n},\n", many) + "{}]", false},
		"nested":             {strings.Repeat("[", many) + strings.Repeat("]", many), false},
		"behind a quote":     {`["\\",` + strings.Repeat("{},", many) + "{}]", false},
		"in a text":          {`"` + strings.Repeat("{},", many) + `"`, true},
		"in a text of texts": {`["` + strings.Repeat(`\"{},\",`, many) + `"]`, true},
		"few":                {"[" + strings.Repeat("{},", 1000) + "{}]", true},
	} {
		var v json.RawMessage
		if err := exchange.Unmarshal([]byte(c.raw), &v); (err == nil) != c.ok || !c.ok && !errors.Is(err, exchange.ErrTooLarge) {
			t.Errorf("%s: got %v", name, err)
		}
	}
}

func TestCount(t *testing.T) {
	t.Parallel()
	for n, want := range map[int64]uint64{0: 0, -1: 0, math.MinInt64: 0, 7: 7, math.MaxInt64: 1 << 53} {
		if got := exchange.Count(n); got != want {
			t.Errorf("%d: got %d, want %d", n, got, want)
		}
	}
}
