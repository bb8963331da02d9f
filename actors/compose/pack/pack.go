package pack

import (
	"encoding/json"
	"iter"
	"strings"
	"unicode/utf8"

	"github.com/skelegent/skelegent-go/protocol"
)

// Reason says why an item was left out.
type Reason string

// The reasons. The first two are those of Plan, the others those of sources that know of something but do not give it.
const (
	ReasonMaxItems   Reason = "MaxItems"
	ReasonOverBudget Reason = "OverBudget"
	ReasonTooLarge   Reason = "TooLarge"
	ReasonNotText    Reason = "NotText"
)

// Omission is an item that was left out.
type Omission struct {
	Item   Item   `json:"item"`
	Reason Reason `json:"reason"`
}

// Pack is a plan of what enters the window.
type Pack struct {
	Config Config
	// Selected are the items that fit, in the order in which they are rendered. They must not be changed.
	Selected []Item
	// TotalChars is what they take with the separators between them, by their estimates.
	TotalChars int

	items []Item     // what it was planned from
	known []Omission // where it was read, what that said
}

// Text joins the selected texts with the separator.
func (p *Pack) Text() string {
	separator := p.Config.limits().separator
	var b strings.Builder
	for i, item := range p.Selected {
		if i > 0 {
			b.WriteString(separator)
		}
		b.WriteString(item.text)
	}
	return b.String()
}

// OmittedLen is how many items were left out.
func (p *Pack) OmittedLen() int { return len(p.items) + len(p.known) - p.selectedOf() }

// selectedOf is how many of items are selected; none of a Pack that was read.
func (p *Pack) selectedOf() int {
	if p.items == nil {
		return 0
	}
	return len(p.Selected)
}

// Omitted returns what was left out and why, in the order in which it was looked at. It is worked out anew each time.
func (p *Pack) Omitted() iter.Seq[Omission] {
	return func(yield func(Omission) bool) {
		for _, o := range p.known {
			if !yield(o) {
				return
			}
		}
		if p.items == nil {
			return
		}
		s := scratches.Get().(*scratch)
		defer s.release()
		room := room{limits: p.Config.limits()}
		for i := range s.ordered(p.items) {
			if why := room.take(&p.items[i]); why != "" && !yield(Omission{Item: p.items[i], Reason: why}) {
				return
			}
		}
	}
}

type packJSON struct {
	Config     Config     `json:"config"`
	Selected   []Item     `json:"selected"`
	Omitted    []Omission `json:"omitted"`
	TotalChars int        `json:"total_estimated_chars"`
}

// MarshalJSON writes the plan with all that was left out.
func (p *Pack) MarshalJSON() ([]byte, error) {
	j := packJSON{Config: p.Config, Selected: p.Selected, Omitted: make([]Omission, 0, p.OmittedLen()), TotalChars: p.TotalChars}
	if j.Selected == nil {
		j.Selected = []Item{}
	}
	for o := range p.Omitted() {
		j.Omitted = append(j.Omitted, o)
	}
	return protocol.Marshal(j)
}

// UnmarshalJSON reads a plan as it was written. Nothing is planned again.
func (p *Pack) UnmarshalJSON(raw []byte) error {
	var j packJSON
	if err := json.Unmarshal(raw, &j); err != nil {
		return err
	}
	*p = Pack{Config: j.Config, Selected: j.Selected, TotalChars: j.TotalChars, known: j.Omitted}
	return nil
}

func runes(s string) int { return utf8.RuneCountInString(s) }
