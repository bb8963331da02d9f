package protocol

import (
	"errors"
	"fmt"
	"strconv"

	"github.com/shopspring/decimal"
)

// maxDecimal bounds the literals that are read, and what they would be written as: more digits than any sum of money
// needs, and few enough that a hostile exponent cannot make us write gigabytes.
const maxDecimal = 100

// Decimal is an exact decimal number, used for money (USD). It is written as a JSON string with its scale
// kept ("1.00" stays "1.00") and read from a string or from a number by its literal text, never
// through a float. The zero value is 0.
type Decimal struct{ decimal.Decimal }

// NewDecimal reads a literal such as 0.005 or 5e-3.
func NewDecimal(literal string) (Decimal, error) { return parseDecimal([]byte(literal)) }

// MustDecimal is NewDecimal for literals in code; it panics on a bad one.
func MustDecimal(literal string) Decimal {
	d, err := NewDecimal(literal)
	if err != nil {
		panic(err)
	}
	return d
}

func parseDecimal(literal []byte) (Decimal, error) {
	if len(literal) > maxDecimal || len(literal) == 0 {
		return Decimal{}, fmt.Errorf("expected a decimal number of 1 to %d characters", maxDecimal)
	}
	coefficient, scale, exact, err := scanDecimal(literal)
	if err != nil {
		return Decimal{}, err
	}
	if exact {
		if coefficient == 0 && scale == 0 {
			return Decimal{}, nil
		}
		return Decimal{decimal.New(coefficient, -scale)}, nil
	}
	d, err := decimal.NewFromString(string(literal))
	if err != nil || d.Exponent() < -maxDecimal || d.Exponent() > maxDecimal {
		return Decimal{}, fmt.Errorf("decimal number %q is out of range", literal)
	}
	if d.Exponent() > 0 { // 1e3 is written 1000
		d = decimal.NewFromBigInt(d.BigInt(), 0)
	}
	if len(Decimal{d}.Text()) > maxDecimal {
		return Decimal{}, fmt.Errorf("decimal number %q is out of range", literal)
	}
	return Decimal{d}, nil
}

var errNotDecimal = errors.New("expected a decimal number such as 0.005")

// scanDecimal checks the form: a sign, digits, a point and digits, an exponent; at least one digit before the exponent.
// Where there is no exponent and the digits fit, it returns their value and how many stand behind the point.
func scanDecimal(literal []byte) (coefficient int64, scale int32, exact bool, err error) {
	i, digits, point := 0, 0, -1
	negative := literal[0] == '-'
	if negative || literal[0] == '+' {
		i++
	}
	for ; i < len(literal); i++ {
		c := literal[i]
		switch {
		case c >= '0' && c <= '9':
			if digits++; digits <= maxFastDigits {
				coefficient = coefficient*10 + int64(c-'0')
			}
			if point >= 0 {
				scale++
			}
			continue
		case c == '.' && point < 0:
			point = i
			continue
		}
		break
	}
	if digits == 0 {
		return 0, 0, false, errNotDecimal
	}
	if i < len(literal) {
		return 0, 0, false, scanExponent(literal[i:])
	}
	if negative {
		coefficient = -coefficient
	}
	return coefficient, scale, digits <= maxFastDigits, nil
}

// maxFastDigits is how many decimal digits fit an int64, whatever they are.
const maxFastDigits = 18

func scanExponent(rest []byte) error {
	if rest[0] != 'e' && rest[0] != 'E' {
		return errNotDecimal
	}
	if rest = rest[1:]; len(rest) > 0 && (rest[0] == '+' || rest[0] == '-') {
		rest = rest[1:]
	}
	for _, c := range rest {
		if c < '0' || c > '9' {
			return errNotDecimal
		}
	}
	if len(rest) == 0 {
		return errNotDecimal
	}
	return nil
}

// append appends Text.
func (d Decimal) append(dst []byte) []byte {
	scale := -int(d.Exponent())
	if scale < 0 || scale > maxFastDigits || d.NumDigits() > maxFastDigits {
		if scale > 0 {
			return append(dst, d.StringFixed(-d.Exponent())...)
		}
		return append(dst, d.Decimal.String()...)
	}
	n := d.CoefficientInt64()
	if n < 0 {
		dst, n = append(dst, '-'), -n
	}
	var buf [maxFastDigits]byte
	digits := strconv.AppendInt(buf[:0], n, 10)
	const zeros = "0000000000000000000" // one more than maxFastDigits
	dst = append(dst, zeros[:max(0, scale+1-len(digits))]...)
	dst = append(dst, digits...)
	if scale == 0 {
		return dst
	}
	dst = append(dst, 0)
	point := len(dst) - 1 - scale
	copy(dst[point+1:], dst[point:])
	dst[point] = '.'
	return dst
}

// Text returns the number with its scale: 1.00 and not 1.
func (d Decimal) Text() string { return string(d.append(nil)) }

// String is Text.
func (d Decimal) String() string { return d.Text() }

// Format writes what Text does for %s and %v, and what fmt does with a string for other verbs. Without it the embedded
// number's own would be used, which drops zeros at the end.
func (d Decimal) Format(f fmt.State, verb rune) {
	if verb == 'v' {
		verb = 's'
	}
	_, _ = fmt.Fprintf(f, fmt.FormatString(f, verb), d.Text())
}

// MarshalJSON writes the number as a string.
func (d Decimal) MarshalJSON() ([]byte, error) {
	return append(d.append([]byte{'"'}), '"'), nil
}

// UnmarshalJSON reads a string or a number.
func (d *Decimal) UnmarshalJSON(raw []byte) (err error) {
	literal := raw
	if len(raw) > 0 && raw[0] == '"' {
		if literal, err = unquoteBytes(raw); err != nil {
			return err
		}
	}
	*d, err = parseDecimal(literal)
	return err
}

// MarshalText returns Text; it serves YAML and flags.
func (d Decimal) MarshalText() ([]byte, error) { return []byte(d.Text()), nil }

// UnmarshalText reads a literal.
func (d *Decimal) UnmarshalText(text []byte) (err error) {
	*d, err = parseDecimal(text)
	return err
}
