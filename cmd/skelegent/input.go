package main

import (
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/skelegent/skelegent-go/bus"
	"github.com/skelegent/skelegent-go/protocol"
)

// maxInput is how much of the standard input is read. The server takes less.
const maxInput = 64 << 20

// text returns what the arguments say, joined, or the standard input for a single "-", or for none where it is no
// terminal.
func (a *app) text(args []string, what string) (string, error) {
	if len(args) > 0 && (len(args) > 1 || args[0] != "-") {
		return strings.Join(args, " "), nil
	}
	if len(args) == 0 && a.inTTY {
		return "", usagef("give a %s, or - to read it from the standard input", what)
	}
	data, err := io.ReadAll(io.LimitReader(a.in, maxInput+1))
	if err != nil {
		return "", fmt.Errorf("read the standard input: %w", err)
	}
	if len(data) > maxInput {
		return "", protocol.NewError(protocol.CodeQuotaExceeded, fmt.Sprintf("the standard input has more than %d bytes", maxInput))
	}
	return string(data), nil
}

// dispatchFlags change an input.
type dispatchFlags struct {
	session, runID, model, maxCost string
	maxTurns                       uint32
	given                          func(name string) bool
}

// input makes an OperatorInput of a text, which is one itself if it begins with a brace.
func (f *dispatchFlags) input(text string) (protocol.OperatorInput, error) {
	in, err := bus.DecodeInput([]byte(text))
	if err != nil {
		return in, usageError(err)
	}
	if f.given("session") {
		in = in.WithSession(protocol.SessionID(f.session))
	}
	if f.given("model") || f.given("max-cost") || f.given("max-turns") {
		if in.Config == nil {
			in.Config = &protocol.OperatorConfig{}
		}
	}
	if f.given("model") {
		in.Config.Model = &f.model
	}
	if f.given("max-turns") {
		in.Config.MaxTurns = &f.maxTurns
	}
	if f.given("max-cost") {
		cost, err := protocol.NewDecimal(f.maxCost)
		if err != nil {
			return in, usagef("--max-cost: %w", err)
		}
		in.Config.MaxCost = &cost
	}
	if err := in.Validate(); err != nil {
		return in, usageError(err)
	}
	return in, nil
}

// run returns the run id: the one given, or a new one.
func (f *dispatchFlags) run() (protocol.RunID, error) {
	if !f.given("run-id") {
		return bus.NewRunID(), nil
	}
	if err := checkRun(f.runID); err != nil {
		return "", usagef("--run-id: %w", err)
	}
	return protocol.RunID(f.runID), nil
}

// checkRun refuses what a header cannot carry as it is.
func checkRun(id string) error {
	if id == "" || strings.TrimSpace(id) != id || strings.ContainsFunc(id, func(r rune) bool { return r < ' ' || r == 0x7f }) {
		return errors.New("must not be empty, begin or end with a space, or hold control characters")
	}
	return nil
}
