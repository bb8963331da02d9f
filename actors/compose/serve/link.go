package serve

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"math"
	"slices"

	"github.com/skelegent/skelegent-go/actors/compose"
	"github.com/skelegent/skelegent-go/protocol"
)

// LinkConfig is a skill that is said rather than written.
type LinkConfig struct {
	ID          string
	Description string
	// When are the signals of which one must be there for the skill to apply; none is always. Unless are those of which none may.
	When, Unless []compose.Signal
	// Tool is called first; empty is none. Its result says what to make of the investigation; see Link.
	Tool string
	// Args are the tool's arguments; nil is the investigation.
	Args json.RawMessage
	// Apply has the result change the investigation where it says how; see Link. Else it is evidence, whatever it is: what a tool
	// returns may come from anywhere.
	Apply bool
	// Confidence is added to that of the investigation.
	Confidence float64
	// Signals are added where they are not there yet.
	Signals []compose.Signal
	// Evidence is a label that is added as evidence; empty is none.
	Evidence string
	// Then is conclude or discard, by which the chain ends; empty goes on.
	Then Then
}

// Then says how a chain goes on.
type Then string

// The ways.
const (
	GoOn     Then = ""
	Conclude Then = "conclude"
	Discard  Then = "discard"
)

// Link is a skill made of its configuration.
//
// A tool's result is kept as evidence under the tool's name. With Apply, one that is what a chain answers, {"context":
// investigation, ...}, takes the place of the investigation, and one that has confidence_delta, signals or next_actions, which is
// an outcome, is applied as well. A tool that is not applicable is no result, and the rest of the link is left
// out; any other error of a tool is that of the skill. What Confidence, Signals, Evidence and Then say comes after.
//
// The error says what in cfg cannot be used.
func Link(cfg LinkConfig) (compose.Skill, error) {
	switch {
	case !compose.IsIdentifier(cfg.ID):
		return nil, compose.ErrInvalidArgument("a link needs an id of letters, digits, _, . and -")
	case cfg.Then != GoOn && cfg.Then != Conclude && cfg.Then != Discard:
		return nil, compose.ErrInvalidArgument("link " + cfg.ID + ": then is conclude or discard")
	case math.IsNaN(cfg.Confidence) || math.Abs(cfg.Confidence) > 1:
		return nil, compose.ErrInvalidArgument("link " + cfg.ID + ": confidence must be from -1 to 1")
	case cfg.Tool == "" && cfg.Apply:
		return nil, compose.ErrInvalidArgument("link " + cfg.ID + ": apply is for the result of a tool")
	case cfg.Tool == "" && cfg.Args != nil:
		return nil, compose.ErrInvalidArgument("link " + cfg.ID + ": args are those of a tool")
	case cfg.Args != nil && !json.Valid(cfg.Args):
		return nil, compose.ErrInvalidArgument("link " + cfg.ID + ": args are not JSON")
	}
	cfg.When, cfg.Unless, cfg.Signals = slices.Clone(cfg.When), slices.Clone(cfg.Unless), slices.Clone(cfg.Signals)
	return link{cfg}, nil
}

type link struct{ LinkConfig }

// ID implements compose.Skill.
func (l link) ID() string { return l.LinkConfig.ID }

// Description implements compose.Describer.
func (l link) Description() string { return l.LinkConfig.Description }

// Applies implements compose.Skill.
func (l link) Applies(inv *compose.Investigation) bool {
	return (len(l.When) == 0 || slices.ContainsFunc(l.When, inv.HasSignal)) && !slices.ContainsFunc(l.Unless, inv.HasSignal)
}

// Execute implements compose.Skill.
func (l link) Execute(ctx context.Context, inv *compose.Investigation, tools *compose.Tools) (compose.Outcome, error) {
	var outcome compose.Outcome
	if l.Tool != "" {
		var err error
		outcome, err = l.consult(ctx, inv, tools)
		if errors.Is(err, &protocol.Error{Kind: compose.KindToolNotApplicable}) {
			return compose.Outcome{}, nil
		}
		if err != nil {
			return compose.Outcome{}, err
		}
	}
	raise(inv, l.Signals)
	if l.Evidence != "" {
		inv.AddEvidence(l.found(l.Evidence, nil))
	}
	outcome.ConfidenceDelta += l.Confidence
	switch l.Then {
	case GoOn:
	case Conclude:
		outcome = outcome.WithNext(compose.Conclude{})
	case Discard:
		outcome = outcome.WithNext(compose.Discard{})
	}
	return outcome, nil
}

// found is evidence of the link. Its agent says when it was.
func (l link) found(label string, detail json.RawMessage) compose.Evidence {
	return compose.Evidence{SourceSkill: l.LinkConfig.ID, Label: label, Detail: detail}
}

// raise adds signals that are not there yet.
func raise(inv *compose.Investigation, signals []compose.Signal) {
	for _, s := range signals {
		if !inv.HasSignal(s) {
			inv.AddSignal(s)
		}
	}
}

// consult calls the tool and applies what it says.
func (l link) consult(ctx context.Context, inv *compose.Investigation, tools *compose.Tools) (compose.Outcome, error) {
	args := l.Args
	if args == nil {
		raw, err := protocol.Marshal(inv)
		if err != nil {
			return compose.Outcome{}, compose.ErrSerialization(err)
		}
		args = raw
	}
	res, err := tools.Invoke(ctx, l.Tool, args)
	if err != nil {
		return compose.Outcome{}, err
	}
	said := struct {
		Context     json.RawMessage   `json:"context"`
		Delta       *float64          `json:"confidence_delta"`
		Signals     *[]compose.Signal `json:"signals"`
		NextActions []json.RawMessage `json:"next_actions"`
	}{}
	if t := bytes.TrimSpace(res.Output); !l.Apply || len(t) == 0 || t[0] != '{' || json.Unmarshal(t, &said) != nil {
		inv.AddEvidence(l.found(l.Tool, res.Output))
		return compose.Outcome{}, nil //nolint:nilerr // it is a finding of another form
	}
	switch {
	case len(said.Context) > 0 && said.Context[0] == '{': // else it is something else of that name
		next := &compose.Investigation{}
		if err := next.UnmarshalJSON(said.Context); err != nil {
			return compose.Outcome{}, compose.ErrToolFailed(l.Tool + " answers with no investigation: " + err.Error())
		}
		*inv = *next
		return compose.Outcome{NextActions: next.Pending}, nil
	case said.Delta == nil && said.Signals == nil && said.NextActions == nil:
		inv.AddEvidence(l.found(l.Tool, res.Output))
		return compose.Outcome{}, nil
	}
	var outcome compose.Outcome
	for _, raw := range said.NextActions {
		action, err := compose.DecodeNextAction(raw)
		if err != nil {
			return compose.Outcome{}, compose.ErrToolFailed(l.Tool + " answers with an unknown action").Because(err)
		}
		outcome = outcome.WithNext(action)
	}
	if said.Delta != nil {
		outcome.ConfidenceDelta = *said.Delta
	}
	if said.Signals != nil {
		raise(inv, *said.Signals)
	}
	inv.AddEvidence(l.found(l.Tool, res.Output))
	return outcome, nil
}
