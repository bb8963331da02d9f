package protocol_test

import (
	"fmt"
	"math/big"
	"strings"
	"testing"

	"github.com/shopspring/decimal"

	"github.com/skelegent/skelegent-go/protocol"
)

// TestDecimalReads: scale kept, number literals read exactly, exponents written out.
func TestDecimalReads(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		`"0"`: "0", `0`: "0", `-0`: "0", `"0.00"`: "0.00", `"-0.00"`: "0.00", `"1.00"`: "1.00", `"1.0"`: "1.0",
		`0.1`: "0.1", `1e-3`: "0.001", `1E+2`: "100", `"1.50e1"`: "15.0", `"+7"`: "7", `".5"`: "0.5", `"5."`: "5",
		`9007199254740993`:          "9007199254740993",
		`0.1000000000000000055511`:  "0.1000000000000000055511",
		`"-123456789012345678.9"`:   "-123456789012345678.9",
		`"999999999999999999"`:      "999999999999999999",
		`"0.000000000000000001"`:    "0.000000000000000001",
		`"-0.0000000000000000001"`:  "-0.0000000000000000001",
		`"0000000000000000000001"`:  "1",
		`"0.1000000000000000000"`:   "0.1000000000000000000",
		`"12345678901234567890.10"`: "12345678901234567890.10",
	} {
		var d protocol.Decimal
		if err := protocol.Unmarshal([]byte(in), &d); err != nil || d.Text() != want || d.String() != want {
			t.Errorf("%s: got %q, error %v, want %q", in, d.Text(), err, want)
		}
	}
}

func TestDecimalRefuses(t *testing.T) {
	t.Parallel()
	for _, in := range []string{
		`""`, `"."`, `"-"`, `"+"`, `"e5"`, `"1e"`, `"1e+"`, `"1e1.5"`, `"1.2.3"`, `"1 "`, `" 1"`, `"1_000"`, `"1,5"`, `"0x10"`,
		`"NaN"`, `"Infinity"`, `"--1"`, `true`, `null`, `{}`, `"1e1000000000"`, `1e-1000000000`, `"1e99999999999999999999"`, `1e101`,
		`"` + strings.Repeat("1", 101) + `"`,
	} {
		var d protocol.Decimal
		if err := protocol.Unmarshal([]byte(in), &d); err == nil {
			t.Errorf("%s was read as %s", in, d.Text())
		}
	}
}

// TestDecimalText: what was computed is written like what was read.
func TestDecimalText(t *testing.T) {
	t.Parallel()
	big20, _ := new(big.Int).SetString("12345678901234567890", 10)
	for want, d := range map[string]decimal.Decimal{
		"0":                       {},
		"0.005":                   decimal.New(5, -3),
		"1.23":                    decimal.New(123, -2),
		"-0.07":                   decimal.New(-7, -2),
		"1200":                    decimal.New(12, 2),
		"12345678901234567890":    decimal.NewFromBigInt(big20, 0),
		"0.12345678901234567890":  decimal.NewFromBigInt(big20, -20),
		"-9.223372036854775808":   decimal.New(-1<<63, -18),
		"0.000000000000000000001": decimal.New(1, -21),
	} {
		if got := (protocol.Decimal{Decimal: d}).Text(); got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	}
	sum := protocol.Decimal{Decimal: protocol.MustDecimal("0.10").Add(protocol.MustDecimal("0.2").Decimal)}
	if sum.Text() != "0.30" {
		t.Errorf("the sum is %s", sum)
	}
}

func TestMustDecimalPanics(t *testing.T) {
	t.Parallel()
	defer func() {
		if recover() == nil {
			t.Error("no panic")
		}
	}()
	protocol.MustDecimal("x")
}

// A number is shown with its scale, whichever verb shows it.
func TestDecimalIsShownWithItsScale(t *testing.T) {
	t.Parallel()
	d := protocol.MustDecimal("0.50")
	if got := fmt.Sprintf("%s %v %q %8s|%-6v|", d, d, d, d, d); got != `0.50 0.50 "0.50"     0.50|0.50  |` {
		t.Errorf("got %s", got)
	}
}
