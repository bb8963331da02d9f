package builtin

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/shopspring/decimal"

	"github.com/skelegent/skelegent-go/actors/tool"
	"github.com/skelegent/skelegent-go/protocol"
)

const (
	// DefaultDigits is how many significant digits a rounded quotient has if nothing is said.
	DefaultDigits = 34
	maxDigits     = 90

	// maxNumber is the longest number in characters, given or found: that of protocol.Decimal.
	maxNumber = 100
	// maxPlaces is how many digits behind the point such a number can have.
	maxPlaces = maxNumber - len("0.")
)

// CalculatorConfig is how a Calculator computes. The zero value works.
type CalculatorConfig struct {
	// Digits is how many significant digits a quotient has that must be rounded; DefaultDigits if 0, 90 at most.
	Digits int
}

// Calculator is the skill calculator: add, subtract, multiply and divide with exact decimal numbers. Each takes {"a","b"},
// JSON numbers or strings of 100 characters at most when written out, and returns {"result"}, a string without zeros at its
// end. A result that would have more than 100 characters is an error.
//
// A quotient is exact where it fits into 100 characters. Else it has CalculatorConfig.Digits significant digits, a last 5
// rounded away from zero, and "rounded" is true. To divide by zero is an error of kind tool.invalid_input.
//
// The tools may run beside others and may be called again.
type Calculator struct{ digits int32 }

// NewCalculator returns the skill. The error says that there are too many digits.
func NewCalculator(c CalculatorConfig) (*Calculator, error) {
	set(&c.Digits, DefaultDigits)
	if c.Digits > maxDigits {
		return nil, badConfig(NameCalculator, fmt.Sprintf("at most %d digits", maxDigits))
	}
	return &Calculator{digits: int32(c.Digits)}, nil
}

// Name implements Code.
func (*Calculator) Name() string { return NameCalculator }

// Description implements Code.
func (*Calculator) Description() string {
	return "Calculates with exact decimal numbers: adds, subtracts, multiplies and divides."
}

// Prompt implements Code.
func (*Calculator) Prompt() string {
	return "Use the tools add, subtract, multiply and divide for every calculation instead of doing it in your head, one " +
		"operation for each call. They are exact. Pass long numbers and those with many decimal places as strings, and pass a result on " +
		"as it was returned. Only a quotient that is marked \"rounded\" is not exact."
}

// Tools implements Code.
func (c *Calculator) Tools() []tool.Tool {
	exact := func(op func(a, b decimal.Decimal) decimal.Decimal) operation {
		return func(a, b decimal.Decimal) (decimal.Decimal, bool, error) { return op(a, b), false, nil }
	}
	return []tool.Tool{
		calculation("add", "Adds two numbers: a + b.", exact(decimal.Decimal.Add)),
		calculation("subtract", "Subtracts one number from another: a - b.", exact(decimal.Decimal.Sub)),
		calculation("multiply", "Multiplies two numbers: a * b.", exact(decimal.Decimal.Mul)),
		calculation("divide", "Divides one number by another: a / b.", c.divide),
	}
}

const operandsSchema = `{"type":"object","properties":{
	"a":{"type":["string","number"],"description":"the first number, such as 12.5 or \"12.5\""},
	"b":{"type":["string","number"],"description":"the second number"}},
	"required":["a","b"],"additionalProperties":false}`

type operands struct {
	A json.RawMessage `json:"a"`
	B json.RawMessage `json:"b"`
}

type calculated struct {
	Result  protocol.Decimal `json:"result"`
	Rounded bool             `json:"rounded,omitempty"`
}

// operation also says whether it rounded.
type operation func(a, b decimal.Decimal) (decimal.Decimal, bool, error)

func calculation(name, description string, op operation) tool.Tool {
	return typed(name, description, operandsSchema, func(_ context.Context, in operands) (calculated, error) {
		a, err := operand("a", in.A)
		if err != nil {
			return calculated{}, err
		}
		b, err := operand("b", in.B)
		if err != nil {
			return calculated{}, err
		}
		d, rounded, err := op(a, b)
		if err != nil {
			return calculated{}, err
		}
		result, ok := shown(d)
		if !ok {
			return calculated{}, protocol.ErrToolFailed(fmt.Sprintf("the result would have more than %d characters", maxNumber))
		}
		return calculated{Result: result, Rounded: rounded}, nil
	}, tool.Repeatable(), tool.ParallelSafe())
}

// operand reads a number. Its size is bounded before anything is computed.
func operand(field string, raw json.RawMessage) (decimal.Decimal, error) {
	var d protocol.Decimal
	if err := d.UnmarshalJSON(raw); err != nil {
		return decimal.Decimal{}, protocol.ErrToolInput("field " + field + ": " + err.Error()).Because(err)
	}
	return d.Decimal, nil
}

// shown is a number as it is returned, and whether it is short enough.
func shown(d decimal.Decimal) (protocol.Decimal, bool) {
	d = d.Normalize()
	if d.Exponent() < -int32(maxPlaces) || d.NumDigits()+max(0, int(d.Exponent())) > maxNumber {
		return protocol.Decimal{}, false
	}
	if d.Exponent() > 0 {
		d = decimal.NewFromBigInt(d.BigInt(), 0)
	}
	p := protocol.Decimal{Decimal: d}
	return p, len(p.Text()) <= maxNumber
}

func (c *Calculator) divide(a, b decimal.Decimal) (decimal.Decimal, bool, error) {
	if b.IsZero() {
		return decimal.Decimal{}, false, protocol.ErrToolInput("field b: must not be 0, nothing can be divided by zero")
	}
	if a.IsZero() {
		return decimal.Decimal{}, false, nil
	}
	if q, rest := a.QuoRem(b, int32(maxPlaces)); rest.IsZero() {
		if _, ok := shown(q); ok {
			return q, false, nil
		}
	}
	return a.DivRound(b, c.digits-1-leading(a.Abs(), b.Abs())), true, nil
}

// leading is the power of ten of the first digit of a/b, which are positive.
func leading(a, b decimal.Decimal) int32 {
	e := int32(a.NumDigits()) + a.Exponent() - int32(b.NumDigits()) - b.Exponent()
	if a.LessThan(b.Shift(e)) {
		return e - 1
	}
	return e
}
