package serve

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/skelegent/skelegent-go/actors/compose"
	"github.com/skelegent/skelegent-go/protocol"
)

// maxSignals is how many signals the metadata of an input may have, and maxSignal how long each may be in bytes.
const (
	maxSignals = 1000
	maxSignal  = 1024
)

// Signals returns the signals of an input's metadata, {"signals":["fire"]}. The error has the code invalid_input: signals are
// no list of strings, or too many.
func Signals(in protocol.OperatorInput) ([]compose.Signal, error) {
	var meta struct {
		Signals json.RawMessage `json:"signals"`
	}
	if json.Unmarshal(in.Metadata, &meta) != nil || len(meta.Signals) == 0 {
		return nil, nil //nolint:nilerr // metadata may be anything
	}
	var signals []compose.Signal
	if err := json.Unmarshal(meta.Signals, &signals); err != nil {
		return nil, compose.ErrInvalidArgument("metadata.signals must be a list of strings")
	}
	if len(signals) > maxSignals || slices.ContainsFunc(signals, func(s compose.Signal) bool { return len(s) > maxSignal }) {
		return nil, compose.ErrInvalidArgument(
			fmt.Sprintf("metadata.signals has more than %d signals, or one of more than %d bytes", maxSignals, maxSignal))
	}
	return signals, nil
}

// arguments are what a chain is to look into: a message that is an object in JSON is the arguments of a delegate; any other
// text is kept as evidence. The signals of the metadata are added.
func arguments(in protocol.OperatorInput) (json.RawMessage, error) {
	signals, err := Signals(in)
	if err != nil {
		return nil, err
	}
	text, ok := in.Message.AsText()
	if !ok {
		return nil, compose.ErrInvalidArgument("the message must be a text")
	}
	if strings.HasPrefix(strings.TrimSpace(text), "{") && len(signals) == 0 {
		return json.RawMessage(text), nil
	}
	inv := compose.NewInvestigation(compose.DefaultEntity, compose.DefaultPartition)
	if strings.HasPrefix(strings.TrimSpace(text), "{") {
		inv, err = compose.InvestigationFrom(json.RawMessage(text))
	} else if strings.TrimSpace(text) != "" {
		err = addMessage(inv, text)
	}
	if err != nil {
		return nil, err
	}
	raise(inv, signals)
	args, err := protocol.Marshal(map[string]any{"context": inv})
	if err != nil {
		return nil, compose.ErrSerialization(err)
	}
	return args, nil
}

func addMessage(inv *compose.Investigation, text string) error {
	detail, err := protocol.Marshal(text)
	if err != nil {
		return compose.ErrSerialization(err)
	}
	inv.AddEvidence(compose.Evidence{SourceSkill: "input", Label: "message", Detail: detail})
	return nil
}
