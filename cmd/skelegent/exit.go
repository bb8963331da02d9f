package main

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/skelegent/skelegent-go/bus"
	"github.com/skelegent/skelegent-go/protocol"
)

// Exit codes.
const (
	exitDone   = 0
	exitFailed = 1
	exitUsage  = 2
)

// wrongUsage is an error of whoever called the program.
type wrongUsage struct{ err error }

func (e *wrongUsage) Error() string { return e.err.Error() }
func (e *wrongUsage) Unwrap() error { return e.err }

func usageError(err error) error { return &wrongUsage{err} }

func usagef(format string, args ...any) error { return usageError(fmt.Errorf(format, args...)) }

// runError is an error of a command that was used rightly. What fails before a command runs is wrong usage.
type runError struct{ err error }

func (e *runError) Error() string { return e.err.Error() }
func (e *runError) Unwrap() error { return e.err }

// run makes a command's function of f: its errors are told apart from wrong usage, and output that could not be written
// is an error.
func (a *app) run(f func(cmd *cobra.Command, args []string) error) func(*cobra.Command, []string) error {
	return func(cmd *cobra.Command, args []string) error {
		err := f(cmd, args)
		if err == nil && a.out.failed != nil {
			err = fmt.Errorf("write output: %w", a.out.failed)
		}
		var usage *wrongUsage
		if err == nil || errors.As(err, &usage) {
			return err
		}
		return &runError{err}
	}
}

// report returns the exit code for an error and the line that says what happened and what to do.
func report(err error) (code int, text string) {
	var failed *runError
	if errors.As(err, &failed) {
		return exitFailed, describe(failed.err)
	}
	return exitUsage, describe(err)
}

func describe(err error) string {
	text := err.Error()
	var e *protocol.Error
	switch {
	case errors.As(err, &e):
		text = string(e.Code) + ": " + text + hint(e)
	case errors.Is(err, bus.ErrConnect):
		text = "skelegent: " + text
	case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		e = protocol.AsError(err)
		text = string(e.Code) + ": " + e.Message + hint(e)
	default:
		text = "skelegent: " + text
	}
	return oneLine(text)
}

// hint says what to do about an error; empty if its message does.
func hint(e *protocol.Error) string {
	operators, known := e.Details["operators"]
	switch {
	case known && operators == "":
		return "; no operator answers: start a node with `skelegent up`"
	case known:
		return "; there are: " + operators
	case e.RetryAfter > 0:
		return "; try again in " + e.RetryAfter.String()
	case e.Code == protocol.CodeTimeout && !strings.Contains(e.Message, "--timeout") && !strings.Contains(e.Message, "skelegent "):
		return "; give it longer with --timeout"
	}
	return ""
}
