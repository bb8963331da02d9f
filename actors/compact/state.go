package compact

import (
	"context"
	"fmt"

	"github.com/skelegent/skelegent-go/protocol"
)

// StateKey is where a store has the state that Extract makes.
const StateKey = "__skg_cognitive_state"

// CognitiveState is what an agent knows of its work, in a bounded form: not what was said, but what matters to go on.
type CognitiveState struct {
	EpisodicTrace string     `json:"episodic_trace" jsonschema:"what changed"`
	SemanticGist  string     `json:"semantic_gist" jsonschema:"what it is about"`
	FocalEntities []Entity   `json:"focal_entities" jsonschema:"whom and what it is about"`
	RelationalMap []Relation `json:"relational_map" jsonschema:"what depends on what"`
	Goal          string     `json:"goal" jsonschema:"what is to be reached"`
	Constraints   []string   `json:"constraints" jsonschema:"rules that hold until they are revoked"`
	PredictiveCue string     `json:"predictive_cue" jsonschema:"what comes next"`
	Uncertainty   []string   `json:"uncertainty" jsonschema:"what is open or doubtful"`
	ArtifactRefs  []string   `json:"artifact_refs" jsonschema:"where evidence is that is not repeated here"`
}

// Entity is something that a state is about.
type Entity struct {
	Name string `json:"name"`
	Type string `json:"entity_type"`
}

// Relation is how one entity depends on another.
type Relation struct {
	From     string `json:"from"`
	To       string `json:"to"`
	Relation string `json:"relation"`
}

// MarshalJSON writes empty lists as [].
func (s CognitiveState) MarshalJSON() ([]byte, error) {
	type plain CognitiveState
	s.FocalEntities, s.RelationalMap = orEmpty(s.FocalEntities), orEmpty(s.RelationalMap)
	s.Constraints, s.Uncertainty, s.ArtifactRefs = orEmpty(s.Constraints), orEmpty(s.Uncertainty), orEmpty(s.ArtifactRefs)
	return protocol.Marshal(plain(s))
}

func orEmpty[T any](list []T) []T {
	if list == nil {
		return []T{}
	}
	return list
}

// SaveState puts a state into a store, in place of the one that is there.
func SaveState(ctx context.Context, store protocol.StateStore, scope protocol.Scope, s CognitiveState) error {
	raw, err := protocol.Marshal(s)
	if err != nil {
		return fmt.Errorf("save cognitive state: %w", err)
	}
	return store.Write(ctx, scope, StateKey, raw, protocol.StoreOptions{})
}

// LoadState returns the state that a store has, and whether it has one.
func LoadState(ctx context.Context, store protocol.StateReader, scope protocol.Scope) (s CognitiveState, ok bool, err error) {
	raw, err := store.Read(ctx, scope, StateKey)
	if err != nil || len(raw) == 0 || string(raw) == "null" {
		return s, false, err
	}
	if err := protocol.Unmarshal(raw, &s); err != nil {
		return CognitiveState{}, false, fmt.Errorf("load cognitive state: %w", err)
	}
	return s, true, nil
}
