package pack

import (
	"encoding/json"

	"github.com/skelegent/skelegent-go/protocol"
)

// What a Config means where it says nothing.
const (
	DefaultMaxChars  = 4000
	DefaultMaxItems  = 16
	DefaultSeparator = "\n"
)

// Config says how much room there is. The zero Config works.
type Config struct {
	// MaxChars is how many characters the packed text may have; DefaultMaxChars if 0, none at all if negative.
	MaxChars int
	// MaxItems is how many items may be selected; DefaultMaxItems if 0, none at all if negative.
	MaxItems int
	// ReserveChars is what of MaxChars is kept free for something else. Negative is 0. More than MaxChars leaves no room.
	ReserveChars int
	// Separator stands between two items and is counted; DefaultSeparator if nil. new("") is none.
	Separator *string
}

// limits is a Config without its conventions.
type limits struct {
	chars, items int // chars is the budget
	separator    string
	gap          int // characters of the separator
}

func (c Config) limits() limits {
	j := c.effective()
	return limits{chars: max(0, j.MaxChars-j.ReserveChars), items: j.MaxItems, separator: *j.Separator, gap: runes(*j.Separator)}
}

// Budget is how many characters the packed text may have.
func (c Config) Budget() int { return c.limits().chars }

type configJSON struct {
	MaxChars     int     `json:"max_chars"`
	MaxItems     int     `json:"max_items"`
	ReserveChars int     `json:"reserve_chars"`
	Separator    *string `json:"separator"`
}

func (c Config) effective() configJSON {
	j := configJSON{
		MaxChars: orDefault(c.MaxChars, DefaultMaxChars), MaxItems: orDefault(c.MaxItems, DefaultMaxItems),
		ReserveChars: max(0, c.ReserveChars), Separator: c.Separator,
	}
	if j.Separator == nil {
		j.Separator = new(DefaultSeparator)
	}
	return j
}

func orDefault(n, standard int) int {
	if n == 0 {
		return standard
	}
	return max(0, n)
}

// MarshalJSON writes what the Config means: defaults are filled in, and 0 is 0.
func (c Config) MarshalJSON() ([]byte, error) { return protocol.Marshal(c.effective()) }

// UnmarshalJSON reads that. Members that are not there have their defaults; max_chars and max_items of 0 are none at all.
func (c *Config) UnmarshalJSON(raw []byte) error {
	var j struct {
		MaxChars     *int    `json:"max_chars"`
		MaxItems     *int    `json:"max_items"`
		ReserveChars int     `json:"reserve_chars"`
		Separator    *string `json:"separator"`
	}
	if err := json.Unmarshal(raw, &j); err != nil {
		return err
	}
	*c = Config{MaxChars: said(j.MaxChars), MaxItems: said(j.MaxItems), ReserveChars: j.ReserveChars, Separator: j.Separator}
	return nil
}

// said is a number as a Config has it.
func said(n *int) int {
	switch {
	case n == nil:
		return 0
	case *n <= 0:
		return -1
	}
	return *n
}
