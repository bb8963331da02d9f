package pack

import (
	"encoding/json"
	"fmt"
	"math"
	"unicode/utf8"

	"github.com/skelegent/skelegent-go/protocol"
)

// Item is one piece of context that may enter a model's window. NewItem makes one: its text cannot be changed later, so that
// its characters are counted once. The zero Item is an empty text.
type Item struct {
	// Source says what sort of place it comes from, SourceID which one.
	Source   Kind
	SourceID string
	// Rank is its place among others: the lowest first.
	Rank int
	// Score is how well it fits what was asked for, for whoever reads it. It orders nothing; any number will do, also none.
	Score float64
	// EstimatedChars is how much room it takes at least. NewItem makes it the number of characters of the text. A greater one
	// counts instead of that, a smaller one does not.
	EstimatedChars int
	// Provenance and Metadata are JSON of the user's own; null if empty. See WithOrigin for a form of the first.
	Provenance json.RawMessage
	Metadata   json.RawMessage

	text  string
	chars int
	unfit Reason // why it cannot be selected, whatever room there is
}

// NewItem returns an item of rank and score 0, and counts its characters.
func NewItem(source Kind, id, text string) Item {
	n := utf8.RuneCountInString(text)
	return Item{Source: source, SourceID: id, EstimatedChars: n, text: text, chars: n}
}

// unfit is an item that a source knows of but does not give.
func unfitItem(source Kind, id string, chars int, why Reason) Item {
	return Item{Source: source, SourceID: id, EstimatedChars: chars, unfit: why}
}

// Text is what the model is shown.
func (i Item) Text() string { return i.text }

// Chars is how much room the item takes: the characters of its text, or EstimatedChars if that is more.
func (i Item) Chars() int { return max(i.chars, i.EstimatedChars) }

// WithRank returns the item with a rank.
func (i Item) WithRank(rank int) Item {
	i.Rank = rank
	return i
}

// WithScore returns the item with a score.
func (i Item) WithScore(score float64) Item {
	i.Score = score
	return i
}

// WithEstimate returns the item with an estimate of the room that it takes, in characters.
func (i Item) WithEstimate(chars int) Item {
	i.EstimatedChars = chars
	return i
}

// WithProvenance returns the item with where it comes from, as JSON of the user's own.
func (i Item) WithProvenance(provenance json.RawMessage) Item {
	i.Provenance = provenance
	return i
}

// WithMetadata returns the item with JSON of the user's own.
func (i Item) WithMetadata(metadata json.RawMessage) Item {
	i.Metadata = metadata
	return i
}

// WithText returns the item with another text, whose characters are counted. An estimate that was not more than those of the
// old text goes with it.
func (i Item) WithText(text string) Item {
	n := utf8.RuneCountInString(text)
	if i.EstimatedChars <= i.chars {
		i.EstimatedChars = n
	}
	i.text, i.chars = text, n
	return i
}

type itemJSON struct {
	Source         *Kind           `json:"source"`
	SourceID       *string         `json:"source_id"`
	Rank           int             `json:"rank"`
	Score          *float64        `json:"score"`
	Text           *string         `json:"text"`
	EstimatedChars *int            `json:"estimated_chars"`
	Provenance     json.RawMessage `json:"provenance"`
	Metadata       json.RawMessage `json:"metadata"`
}

// MarshalJSON writes all members. A score that is no number is null.
func (i Item) MarshalJSON() ([]byte, error) {
	j := itemJSON{
		Source: &i.Source, SourceID: &i.SourceID, Rank: i.Rank, Score: &i.Score, Text: &i.text, EstimatedChars: &i.EstimatedChars,
		Provenance: orNull(i.Provenance), Metadata: orNull(i.Metadata),
	}
	if math.IsNaN(i.Score) || math.IsInf(i.Score, 0) {
		j.Score = nil
	}
	return protocol.Marshal(j)
}

// UnmarshalJSON reads an item: source, source_id and text are required. A score of null is 0, and an estimate that is not there
// is the number of characters.
func (i *Item) UnmarshalJSON(raw []byte) error {
	var j itemJSON
	if err := json.Unmarshal(raw, &j); err != nil {
		return err
	}
	switch {
	case j.Source == nil:
		return missing("source")
	case j.SourceID == nil:
		return missing("source_id")
	case j.Text == nil:
		return missing("text")
	}
	*i = NewItem(*j.Source, *j.SourceID, *j.Text)
	i.Rank, i.Provenance, i.Metadata = j.Rank, notNull(j.Provenance), notNull(j.Metadata)
	if j.Score != nil {
		i.Score = *j.Score
	}
	if j.EstimatedChars != nil {
		i.EstimatedChars = *j.EstimatedChars
	}
	return nil
}

func missing(field string) error { return fmt.Errorf("context item: %s is missing", field) }

func orNull(raw json.RawMessage) json.RawMessage {
	if len(raw) == 0 {
		return json.RawMessage("null")
	}
	return raw
}

func notNull(raw json.RawMessage) json.RawMessage {
	if string(raw) == "null" {
		return nil
	}
	return raw
}
