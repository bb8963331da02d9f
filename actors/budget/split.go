package budget

import (
	"github.com/shopspring/decimal"

	"github.com/skelegent/skelegent-go/protocol"
)

// digits are how many decimals of a dollar a share has.
const digits = 8

// Split is what each of n may spend of an amount: an nth of it, not more, to a hundred-millionth of a dollar. No limit, nil, is
// none for each.
func Split(d *protocol.Decimal, n int) *protocol.Decimal {
	if d == nil || n <= 1 {
		return d
	}
	part, _ := d.QuoRem(decimal.NewFromInt(int64(n)), digits)
	short, err := protocol.NewDecimal(part.String()) // without zeros at the end
	if err != nil {
		short = protocol.Decimal{Decimal: part}
	}
	return &short
}
