package record

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"github.com/skelegent/skelegent-go/protocol"
)

// What a file may have at most.
const (
	MaxSize     = 64 << 20 // bytes
	maxTurns    = 10_000
	maxCalls    = 1000 // of one answer
	maxNames    = 1000 // of assertions
	maxAsides   = 1000 // before one turn
	maxNameSize = 256  // bytes
)

// Encode writes the run as JSON, indented, with a line end. The error has the code invalid_input: it is no run that Decode
// would read.
func (r *Run) Encode() ([]byte, error) {
	full := *r
	full.fill()
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	if err := e.Encode(&full); err != nil {
		return nil, refuse("%v", err)
	}
	if _, err := Decode(b.Bytes()); err != nil {
		return nil, err
	}
	return b.Bytes(), nil
}

// fill puts empty lists where there are none.
func (r *Run) fill() {
	if r.Version == 0 {
		r.Version = Version
	}
	if r.Turns == nil {
		r.Turns = []Turn{}
	}
	turns := make([]Turn, len(r.Turns))
	for i, t := range r.Turns {
		if t.Invocations == nil {
			t.Invocations = []protocol.ToolCall{}
		}
		if t.Results == nil {
			t.Results = []Result{}
		}
		turns[i] = t
	}
	r.Turns = turns
	if r.PassedAssertions == nil {
		r.PassedAssertions = []string{}
	}
}

// Decode reads a run. The error has the code invalid_input, or unsupported where a newer program wrote it.
func Decode(data []byte) (*Run, error) {
	if len(data) > MaxSize {
		return nil, refuse("it is longer than %d bytes", MaxSize)
	}
	var head struct {
		Version *int `json:"version"`
	}
	switch err := json.Unmarshal(data, &head); {
	case err != nil:
		return nil, refuse("it is no JSON object of that form: %v", err)
	case head.Version == nil:
		return nil, refuse("version is missing")
	case *head.Version != Version:
		return nil, protocol.NewError(protocol.CodeUnsupported,
			fmt.Sprintf("run record: version %d is not known; this program knows %d", *head.Version, Version))
	}
	var compact bytes.Buffer // so that raw values are as they were before they were indented
	if err := json.Compact(&compact, data); err != nil {
		return nil, refuse("%v", err)
	}
	d := json.NewDecoder(&compact)
	d.DisallowUnknownFields()
	r := &Run{}
	if err := d.Decode(r); err != nil {
		return nil, refuse("%v", err)
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return nil, refuse("there is more behind it")
	}
	if err := r.Validate(); err != nil {
		return nil, err
	}
	return r, nil
}

func refuse(format string, args ...any) error {
	text := fmt.Sprintf(format, args...)
	const most = 300
	if len(text) > most {
		text = text[:most]
	}
	return protocol.NewError(protocol.CodeInvalidInput, "run record: "+text).Clip()
}

// Validate says what keeps the run from being one; nil if nothing does. The error has the code invalid_input.
func (r *Run) Validate() error {
	switch {
	case r.Version != Version:
		return refuse("version is %d", r.Version)
	case len(r.Turns) > maxTurns:
		return refuse("more than %d turns", maxTurns)
	case len(r.Asides) > maxAsides:
		return refuse("more than %d asides", maxAsides)
	case len(r.PassedAssertions) > maxNames:
		return refuse("more than %d assertions", maxNames)
	}
	if err := r.Task.Validate(); err != nil {
		return refuse("task: %v", err)
	}
	for i := range r.Turns {
		if err := r.Turns[i].validate(); err != nil {
			return refuse("turn %d: %v", i+1, err)
		}
	}
	return r.validateAsides(r.Asides)
}

func (r *Run) validateAsides(all []Answer) error {
	for _, a := range all {
		if err := a.validate(); err != nil {
			return refuse("asides: %v", err)
		}
	}
	return nil
}

func (a Answer) validate() error {
	if a.Output.Role != protocol.RoleAssistant {
		return errors.New("the output is no message of an assistant")
	}
	switch a.StopReason {
	case protocol.StopEndTurn, protocol.StopToolUse, protocol.StopMaxTokens, protocol.StopContentFilter:
	default:
		return errors.New("an answer without a stop reason")
	}
	if len(a.Invocations) > maxCalls {
		return fmt.Errorf("more than %d invocations", maxCalls)
	}
	seen := map[string]bool{}
	for _, c := range a.Invocations {
		switch {
		case c.ID == "" || seen[c.ID]:
			return errors.New("an invocation without an id of its own")
		case c.Name == "" || len(c.Name) > maxNameSize:
			return errors.New("an invocation without a name, or with one that is too long")
		case !json.Valid(c.Input):
			return errors.New("an invocation whose input is no JSON")
		}
		seen[c.ID] = true
	}
	return nil
}

func (t *Turn) validate() error {
	if err := t.Answer.validate(); err != nil {
		return err
	}
	if len(t.Asides) > maxAsides {
		return fmt.Errorf("more than %d asides", maxAsides)
	}
	for _, a := range t.Asides {
		if err := a.validate(); err != nil {
			return fmt.Errorf("asides: %w", err)
		}
	}
	seen := map[string]bool{}
	for _, r := range t.Results {
		call, ok := t.invocation(r.CallID)
		if !ok || call.Name != r.Name || seen[r.CallID] {
			return errors.New("a result that belongs to no invocation of the turn, or is there twice")
		}
		seen[r.CallID] = true
	}
	return nil
}
