package pack

import (
	"encoding/json"
	"fmt"

	"github.com/skelegent/skelegent-go/protocol"
)

// Origin is a form of Item.Provenance that programs can agree on. All of it is optional.
type Origin struct {
	SourceURI string `json:"source_uri,omitempty"`
	// Principal is on whose behalf it was read, Scope what it belongs to.
	Principal string `json:"principal,omitempty"`
	Scope     string `json:"scope,omitempty"`
	// RetentionTier is how long its source keeps it, in the source's words.
	RetentionTier string `json:"retention_tier,omitempty"`
	// RecordedAtMillis is when it was written down, EffectiveAtMillis from when on it holds; milliseconds since 1970.
	RecordedAtMillis  *int64 `json:"recorded_at_millis,omitempty"`
	EffectiveAtMillis *int64 `json:"effective_at_millis,omitempty"`
	// Confidence is 0 to 1.
	Confidence *float64 `json:"confidence,omitempty"`
	// VersionKey is the same for all versions of one thing.
	VersionKey    string  `json:"version_key,omitempty"`
	SourceFrameID *uint64 `json:"source_frame_id,omitempty"`
	// State is what became of it on its way here, Reason why.
	State  ProjectionState `json:"projection_state,omitempty"`
	Reason string          `json:"reason,omitempty"`
}

// ProjectionState says what became of an item on its way into a window. Others than the constants are allowed.
type ProjectionState string

// The states.
const (
	StateCandidate  ProjectionState = "candidate"
	StateExpanded   ProjectionState = "expanded"
	StateSkipped    ProjectionState = "skipped"
	StateSuppressed ProjectionState = "suppressed"
	StateRejected   ProjectionState = "rejected"
	StateSuperseded ProjectionState = "superseded"
	StateStale      ProjectionState = "stale"
	StateConflict   ProjectionState = "conflict"
	StateEscalated  ProjectionState = "escalated"
)

// WithOrigin returns the item with where it comes from. A confidence that is no number is left out.
func (i Item) WithOrigin(o Origin) Item {
	raw, err := protocol.Marshal(o)
	if err != nil {
		o.Confidence = nil // nothing else has values without JSON
		raw, _ = protocol.Marshal(o)
	}
	i.Provenance = raw
	return i
}

// Origin reads the provenance of the item. Members that Origin does not know are ignored; an item without provenance has an
// empty one.
func (i Item) Origin() (Origin, error) {
	var o Origin
	if len(i.Provenance) == 0 {
		return o, nil
	}
	if err := json.Unmarshal(i.Provenance, &o); err != nil {
		return Origin{}, fmt.Errorf("provenance of %.100q: %w", i.SourceID, err)
	}
	return o, nil
}
