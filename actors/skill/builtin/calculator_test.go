package builtin_test

import (
	"encoding/json"
	"math/big"
	"strings"
	"testing"
	"time"

	"github.com/skelegent/skelegent-go/actors/skill/builtin"
	"github.com/skelegent/skelegent-go/actors/tool"
	"github.com/skelegent/skelegent-go/protocol"
)

func calculator(t testing.TB) *builtin.Calculator {
	t.Helper()
	c, err := builtin.NewCalculator(builtin.CalculatorConfig{})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func TestCalculatorIsExact(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		op, a, b, want string
		rounded        bool
	}{
		{"multiply", `42`, `8`, "336", false},
		{"add", `0.1`, `0.2`, "0.3", false},
		{"add", `"0.1"`, `"0.20"`, "0.3", false},
		{"add", `9007199254740993`, `1`, "9007199254740994", false}, // not by way of a float
		{"add", `1e3`, `-1000`, "0", false},
		{"add", `"1e99"`, `"1e-98"`, "", false}, // 198 digits
		{"subtract", `1`, `"1.000000000000000000000000000001"`, "-0.000000000000000000000000000001", false},
		{"subtract", `5`, `7.50`, "-2.5", false},
		{"multiply", `"99999999999999999999"`, `"99999999999999999999"`, "9999999999999999999800000000000000000001", false},
		{"multiply", `"1e60"`, `"1e60"`, "", false},
		{"multiply", `"1e60"`, `"1e-60"`, "1", false},
		{"multiply", `"1e-60"`, `"1e-60"`, "", false},
		{"multiply", `-0`, `5`, "0", false},
		{"divide", `1`, `8`, "0.125", false},
		{"divide", `336`, `8`, "42", false},
		{"divide", `0`, `3`, "0", false},
		{"divide", `1`, `3`, "0." + strings.Repeat("3", 34), true},
		{"divide", `-2`, `3`, "-0." + strings.Repeat("6", 33) + "7", true},
		{"divide", `200`, `3`, "66." + strings.Repeat("6", 31) + "7", true},
		{"divide", `1`, `"7e20"`, "0.000000000000000000001428571428571428571428571428571429", true},
		{"divide", `"1e99"`, `7`, "1428571428571428571428571428571429" + strings.Repeat("0", 65), true},
		{"divide", `1`, `"1e98"`, "0." + strings.Repeat("0", 97) + "1", false},
		{"divide", `"1e-98"`, `3`, "", false},
		{"divide", `"1e99"`, `"1e-98"`, "", false},
	} {
		out, err := call(t, calculator(t), c.op, `{"a":`+c.a+`,"b":`+c.b+`}`)
		if c.want == "" {
			wantKind(t, err, protocol.KindToolExecutionFailed)
			continue
		}
		if err != nil {
			t.Errorf("%s %s %s: %v", c.op, c.a, c.b, err)
			continue
		}
		if r, _ := out["rounded"].(bool); out["result"] != c.want || r != c.rounded {
			t.Errorf("%s %s %s: got %v, want %s, rounded %v", c.op, c.a, c.b, out, c.want, c.rounded)
		}
	}
}

func TestDivisionByZeroIsAnErrorThatAModelUnderstands(t *testing.T) {
	t.Parallel()
	for _, zero := range []string{`0`, `"0.00"`, `-0`, `0e5`} {
		_, err := call(t, calculator(t), "divide", `{"a":1,"b":`+zero+`}`)
		wantKind(t, err, protocol.KindToolInvalidInput)
		if got := tool.ErrorText(err); got != "Error: invalid input: field b: must not be 0, nothing can be divided by zero" {
			t.Error(got)
		}
	}
}

func TestCalculatorRefusesWhatIsNoNumberOfBoundedSize(t *testing.T) {
	t.Parallel()
	start := time.Now()
	for _, a := range []string{
		`1e1000000`, `"1e1000000"`, `"1e-1000000"`, `"1e2147483647"`, `"1e-2147483648"`, `"1e99999999999999999999"`, `"0e1000000"`,
		`"1e100"`, `"` + strings.Repeat("9", 101) + `"`, strings.Repeat("9", 101), `"NaN"`, `"Inf"`, `"1,000"`, `""`,
		`" 1"`, `"0x10"`, `true`, `null`, `[1]`, `{}`,
	} {
		for _, op := range []string{"add", "subtract", "multiply", "divide"} {
			for _, input := range []string{`{"a":` + a + `,"b":2}`, `{"a":2,"b":` + a + `}`} {
				_, err := call(t, calculator(t), op, input)
				wantKind(t, err, protocol.KindToolInvalidInput)
			}
		}
	}
	for _, input := range []string{`{"a":1}`, `{"a":1,"b":2,"c":3}`, `{"A":1,"b":2}`, `[]`} {
		_, err := call(t, calculator(t), "add", input)
		wantKind(t, err, protocol.KindToolInvalidInput)
	}
	if d := time.Since(start); d > 20*time.Second {
		t.Errorf("took %v", d)
	}
}

func TestQuotientHasTheDigitsThatAreConfigured(t *testing.T) {
	t.Parallel()
	c, err := builtin.NewCalculator(builtin.CalculatorConfig{Digits: 3})
	if err != nil {
		t.Fatal(err)
	}
	for b, want := range map[string]string{"3": "0.667", "300": "0.00667", `"0.0003"`: "6670"} {
		if got := must(t, c, "divide", `{"a":2,"b":`+b+`}`)["result"]; got != want {
			t.Errorf("2/%s: got %v, want %s", b, got, want)
		}
	}
	_, err = builtin.NewCalculator(builtin.CalculatorConfig{Digits: 1000})
	wantKind(t, err, builtin.KindConfig)
}

func TestCalculatorsToolsMayRunTogetherAndAgain(t *testing.T) {
	t.Parallel()
	for _, x := range calculator(t).Tools() {
		if _, ask := tool.NeedsApproval(x, nil); ask || !tool.CanRepeat(x) || !x.Metadata().ParallelSafe {
			t.Errorf("%s", x.Metadata().Name)
		}
	}
}

// What is returned is what rational numbers say, and can be put in again.
func FuzzCalculator(f *testing.F) {
	f.Add("1.50", "-3")
	f.Add("1e99", "1e-98")
	f.Add("9.99e-40", "0.7")
	c := calculator(f)
	f.Fuzz(func(t *testing.T, a, b string) {
		x, okA := rational(a)
		y, okB := rational(b)
		for _, op := range []string{"add", "subtract", "multiply", "divide"} {
			out, err := call(t, c, op, in{"a": a, "b": b})
			if err != nil {
				continue
			}
			if !okA || !okB {
				t.Fatalf("%s of %q and %q gave %v", op, a, b, out)
			}
			text, _ := out["result"].(string)
			got, ok := rational(text)
			if !ok {
				t.Fatalf("%s of %q and %q gave %q", op, a, b, text)
			}
			want := new(big.Rat)
			switch op {
			case "add":
				want.Add(x, y)
			case "subtract":
				want.Sub(x, y)
			case "multiply":
				want.Mul(x, y)
			case "divide":
				want.Quo(x, y)
			}
			if out["rounded"] == true {
				off := new(big.Rat).Sub(got, want) // less than one of the last of 34 digits
				last := new(big.Rat).SetFrac(big.NewInt(1), new(big.Int).Exp(big.NewInt(10), big.NewInt(33), nil))
				if off.Quo(off, want).Abs(off).Cmp(last) > 0 {
					t.Fatalf("%s of %q and %q gave %q", op, a, b, text)
				}
			} else if got.Cmp(want) != 0 {
				t.Fatalf("%s of %q and %q gave %q", op, a, b, text)
			}
		}
	})
}

func rational(text string) (*big.Rat, bool) {
	var d protocol.Decimal
	raw, err := json.Marshal(text)
	if err != nil || d.UnmarshalJSON(raw) != nil {
		return nil, false
	}
	return d.Rat(), true
}
