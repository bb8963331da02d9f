package main

import (
	"encoding/json"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/skelegent/skelegent-go/actors/compose/record"
	"github.com/skelegent/skelegent-go/protocol"
)

// checkFlags say what must be true of a record.
type checkFlags struct {
	normalized, grounded, noErrors, write bool
	tools                                 []string
	exit                                  string
	maxTurns                              int
}

func newCheck(a *app) *cobra.Command {
	var f checkFlags
	cmd := &cobra.Command{
		Use: "check FILE", Short: "Check what must be true of a recorded run", Args: cobra.ExactArgs(1),
		Long: `Check a record against what must be true of it, and fail if something is not. An answer is grounded if it has a word or
a number that a tool returned, and that was neither in the task nor in the input of a call.`,
		Example: `  skelegent check tea.json --tool-dispatched clock --grounded --exit complete
  skelegent check tea.json --normalized --no-errors --max-turns 5 --write`,
	}
	flags := cmd.Flags()
	flags.BoolVar(&f.normalized, "normalized", false, "the model asked for calls, and all that it asked for was understood")
	flags.StringArrayVar(&f.tools, "tool-dispatched", nil, "the tool `NAME` was called; may be given several times")
	flags.BoolVar(&f.grounded, "grounded", false, "the final answer has something that a tool returned")
	flags.StringVar(&f.exit, "exit", "", "how the run ended: complete, max_turns, ... or custom:`REASON`")
	flags.IntVar(&f.maxTurns, "max-turns", 0, "the run took at most `N` turns")
	flags.BoolVar(&f.noErrors, "no-errors", false, "no call failed or was refused, and there is an output")
	flags.BoolVar(&f.write, "write", false, "keep in the file what was found true")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		assertions, err := f.assertions(cmd)
		if err != nil {
			return err
		}
		r, err := readRecord(args[0])
		if err != nil {
			return err
		}
		failed := record.Check(r, assertions...)
		if f.write {
			raw, err := r.Encode()
			if err != nil {
				return err
			}
			if err := writePrivate(args[0], raw); err != nil {
				return err
			}
		}
		return a.showCheck(r, len(assertions), failed)
	}
	return cmd
}

// assertions are what the flags ask for, in this order.
func (f *checkFlags) assertions(cmd *cobra.Command) ([]record.Assertion, error) {
	var all []record.Assertion
	if f.normalized {
		all = append(all, record.ModelOutputNormalized())
	}
	for _, name := range f.tools {
		if name == "" {
			return nil, usagef("--tool-dispatched must not be empty")
		}
		all = append(all, record.ToolDispatched(name))
	}
	if f.grounded {
		all = append(all, record.FinalAnswerGrounded())
	}
	if cmd.Flags().Changed("exit") {
		reason, err := parseExit(f.exit)
		if err != nil {
			return nil, usagef("--exit: %w", err)
		}
		all = append(all, record.ExitIs(reason))
	}
	if cmd.Flags().Changed("max-turns") {
		if f.maxTurns < 0 {
			return nil, usagef("--max-turns must not be negative")
		}
		all = append(all, record.MaxTurns(f.maxTurns))
	}
	if f.noErrors {
		all = append(all, record.NoErrors())
	}
	if len(all) == 0 {
		return nil, usagef("check needs to know what: --normalized, --tool-dispatched, --grounded, --exit, --max-turns or --no-errors")
	}
	return all, nil
}

// parseExit reads an exit reason: its kind, or custom:name.
func parseExit(text string) (protocol.ExitReason, error) {
	const custom = "custom:"
	if len(text) > len(custom) && text[:len(custom)] == custom {
		return protocol.CustomExit(text[len(custom):]), nil
	}
	switch kind := protocol.ExitKind(text); kind {
	case protocol.ExitInterceptorHalt:
		return protocol.InterceptorHalt(""), nil
	case protocol.ExitSafetyStop:
		return protocol.SafetyStop(""), nil
	default:
	}
	var reason protocol.ExitReason
	raw, _ := json.Marshal(text) // a string always marshals
	if err := json.Unmarshal(raw, &reason); err != nil {
		return reason, fmt.Errorf("%.100q is no way in which a run ends, such as complete or max_turns", text)
	}
	return reason, nil
}

type checkFailure struct {
	Name  string `json:"name"`
	Error string `json:"error"`
}

// showCheck says what was found. That something is not true is an error.
func (a *app) showCheck(r *record.Run, checks int, failed error) error {
	failures := []checkFailure{}
	var joined interface{ Unwrap() []error }
	if errors.As(failed, &joined) {
		for _, err := range joined.Unwrap() {
			var one *record.AssertionError
			if errors.As(err, &one) {
				failures = append(failures, checkFailure{one.Name, one.Unwrap().Error()})
			}
		}
	}
	if a.flags.json {
		err := a.out.json(struct {
			Passed []string       `json:"passed"`
			Failed []checkFailure `json:"failed"`
		}{r.PassedAssertions, failures})
		if err != nil {
			return err
		}
	} else {
		for _, name := range r.PassedAssertions {
			a.out.printf("%s  %s\n", a.out.in(green, "ok  "), name)
		}
		for _, f := range failures {
			a.out.printf("%s  %s: %s\n", a.out.in(red, "FAIL"), f.Name, oneLine(f.Error))
		}
	}
	if len(failures) > 0 {
		return fmt.Errorf("%d of %d checks failed", len(failures), checks)
	}
	return nil
}
