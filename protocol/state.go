package protocol

import "encoding/json"

// MemoryTier says how quickly a value should be at hand.
type MemoryTier string

// The tiers. Stores may treat them alike.
const (
	TierHot  MemoryTier = "hot" // the default
	TierWarm MemoryTier = "warm"
	TierCold MemoryTier = "cold"
)

// UnmarshalJSON reads a tier.
func (t *MemoryTier) UnmarshalJSON(raw []byte) error {
	return oneOf(raw, t, TierHot, TierWarm, TierCold)
}

// Lifetime says how long a value should be kept.
type Lifetime string

// The lifetimes.
const (
	LifetimeTransient Lifetime = "transient" // this turn
	LifetimeSession   Lifetime = "session"   // this conversation
	LifetimeDurable   Lifetime = "durable"   // until it is deleted
)

// UnmarshalJSON reads a lifetime.
func (l *Lifetime) UnmarshalJSON(raw []byte) error {
	return oneOf(raw, l, LifetimeTransient, LifetimeSession, LifetimeDurable)
}

// ContentKind says what sort of memory a value is: one of the constants or a CustomContentKind. It is
// comparable.
type ContentKind string

// The kinds of memory.
const (
	ContentEpisodic   ContentKind = "episodic"   // what happened
	ContentSemantic   ContentKind = "semantic"   // what is known
	ContentProcedural ContentKind = "procedural" // how it is done
	ContentStructural ContentKind = "structural" // how things relate
)

// CustomContentKind is a kind of memory of the user's own naming.
func CustomContentKind(name string) ContentKind { return customOf[ContentKind](name) }

// Custom returns the name of a custom kind, and whether it is one.
func (k ContentKind) Custom() (string, bool) { return customName(k) }

// MarshalJSON writes "semantic" or {"custom":"name"}.
func (k ContentKind) MarshalJSON() ([]byte, error) { return marshalOpenEnum(k) }

// UnmarshalJSON reads either form.
func (k *ContentKind) UnmarshalJSON(raw []byte) error {
	return openEnum(raw, k, ContentEpisodic, ContentSemantic, ContentProcedural, ContentStructural)
}

// StoreOptions are hints for a write; nil means that the store decides. A store that cannot honour one
// ignores it, except TTL: a value must not be read after it.
type StoreOptions struct {
	Tier        *MemoryTier  `json:"tier"` // null if nil
	Lifetime    *Lifetime    `json:"lifetime,omitempty"`
	ContentKind *ContentKind `json:"content_kind,omitempty"`
	Salience    *float64     `json:"salience,omitempty"` // 0 to 1, how much it matters
	TTL         *Millis      `json:"ttl,omitempty"`
}

// SearchOptions narrow a search; nil means no bound.
type SearchOptions struct {
	MinScore    *float64     `json:"min_score,omitempty"`
	ContentKind *ContentKind `json:"content_kind,omitempty"`
	Tier        *MemoryTier  `json:"tier,omitempty"`
	MaxDepth    *uint32      `json:"max_depth,omitempty"` // steps along links
}

// MemoryLink relates two keys of one scope.
type MemoryLink struct {
	FromKey  string `json:"from_key" wire:"required"`
	ToKey    string `json:"to_key" wire:"required"`
	Relation string `json:"relation" wire:"required"`
	// Metadata is omitted if nil.
	Metadata json.RawMessage `json:"metadata,omitempty"`
}

// SearchResult is a key that a search found.
type SearchResult struct {
	Key string `json:"key" wire:"required"`
	// Score is higher for a better match; only its order within one search means something.
	Score   float64 `json:"score" wire:"required"`
	Snippet *string `json:"snippet"` // null if none
}
