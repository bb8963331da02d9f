package tool

import (
	"context"
	"encoding/json"
	"fmt"
	"hash/fnv"
	"slices"

	"github.com/skelegent/skelegent-go/protocol"
	"github.com/skelegent/skelegent-go/protocol/wire"
)

// The prefixes of the names of Handoff's and Ask's tools.
const (
	handoffPrefix = "transfer_to_"
	askPrefix     = "ask_"
)

// Ask is FromOperator under the name ask_<id>, where what no name can have is replaced by _.
func Ask(d protocol.Dispatcher, id protocol.OperatorID, description string, opts ...Option) Tool {
	return FromOperator(nameFor(askPrefix, id), description, d, id, opts...)
}

type handoffInput struct {
	Reason string `json:"reason" jsonschema:"what is to be done and what is known so far; all that the other one sees"`
}

// handoffState is the state of a handoff that a tool declares.
type handoffState struct {
	Task string `json:"task"`
}

// Handoff gives the work to another operator for good: {"reason": string}. The tool declares a protocol.Handoff whose state
// is {"task": reason}, by which the run ends as handed_off. Its name is transfer_to_<id>, where what no name can have is
// replaced by _; an empty description becomes a plain one.
func Handoff(id protocol.OperatorID, description string, opts ...Option) Tool {
	if description == "" {
		description = fmt.Sprintf("Hands the work over to %s, who goes on instead of you.", id)
	}
	return Effect(nameFor(handoffPrefix, id), description,
		func(_ context.Context, in handoffInput) (handoffResult, protocol.Effects, error) {
			h, err := handoff(id, in.Reason)
			return handoffResult{TransferredTo: id}, protocol.Effects{h}, err
		}, opts...)
}

type handoffResult struct {
	TransferredTo protocol.OperatorID `json:"transferred_to"`
}

func handoff(id protocol.OperatorID, reason string) (protocol.Handoff, error) {
	state, err := protocol.Marshal(handoffState{Task: reason})
	return protocol.Handoff{Operator: id, State: state}, err
}

// sentinel is a result that stands for a handoff, of tools that can declare no effects.
type sentinel struct {
	Handoff bool   `json:"__handoff"`
	Target  string `json:"target"`
	Reason  string `json:"reason"`
}

// maxSentinel is the longest output in bytes that is looked at.
const maxSentinel = 64 << 10

// HandoffOf returns the handoff that the output of r stands for, {"__handoff":true,"target":T,"reason":R}, whose state is
// {"task": R}. It is false where the effects have a handoff already, and where the target cannot be an operator's id.
func HandoffOf(r Result) (protocol.Handoff, bool) {
	if len(r.Output) == 0 || len(r.Output) > maxSentinel || slices.ContainsFunc(r.Effects, isHandoff) {
		return protocol.Handoff{}, false
	}
	var s sentinel
	if json.Unmarshal(r.Output, &s) != nil || !s.Handoff || s.Target == "" || len(s.Target) > wire.MaxID {
		return protocol.Handoff{}, false
	}
	h, err := handoff(protocol.OperatorID(s.Target), s.Reason)
	return h, err == nil
}

func isHandoff(e protocol.Effect) bool { return e.Kind() == protocol.KindHandoff }

// nameFor makes a tool's name of an operator's id. One that is too long ends with a digest.
func nameFor(prefix string, id protocol.OperatorID) string {
	name := []byte(prefix + string(id))
	for i, c := range name {
		if !nameByte(c) {
			name[i] = '_'
		}
	}
	if len(name) <= maxName {
		return string(name)
	}
	digest := fnv.New32a()
	_, _ = digest.Write([]byte(id)) // it cannot fail
	end := fmt.Sprintf("_%08x", digest.Sum32())
	return string(name[:maxName-len(end)]) + end
}
