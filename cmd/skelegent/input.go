package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"github.com/skelegent/skelegent-go/actors/run"
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

// maxLine is the longest line that is read from a person.
const maxLine = 1 << 20

// readLine reads a line, without its end. At the end of the input it is io.EOF.
func readLine(in io.Reader) (string, error) {
	line, err := bufio.NewReader(io.LimitReader(in, maxLine)).ReadString('\n')
	if err != nil && line == "" {
		return "", err
	}
	return strings.TrimRight(line, "\r\n"), nil
}

// dispatchFlags change an input, and how it is sent.
type dispatchFlags struct {
	session, runID, model, maxCost string
	maxTurns                       uint32
	whenBusy, at                   string
	metadata                       string
	signals                        []string
	task, raw                      bool
	in, timeout                    time.Duration
	given                          func(name string) bool
}

// add defines the flags.
func (f *dispatchFlags) add(flags *pflag.FlagSet) {
	flags.StringVar(&f.session, "session", "", "conversation that the message belongs to")
	flags.StringVar(&f.runID, "run-id", "", "`ID` of the run (default a new UUIDv7); the same id again is the same run")
	flags.DurationVar(&f.timeout, "timeout", bus.DefaultTimeout, "how long to wait for the answer")
	flags.BoolVar(&f.task, "task", false, "do not wait: print OPERATOR/INSTANCE when the input is accepted")
	flags.StringVar(&f.at, "at", "", "begin at this `TIME`, such as 17:30, \"2026-12-24 18:00\" or RFC 3339; implies --task")
	flags.DurationVar(&f.in, "in", 0, "begin after this time; implies --task")
	flags.StringVar(&f.whenBusy, "when-busy", "", "while a run of the session is open: enqueue, reject, steer or interrupt")
	flags.StringVar(&f.model, "model", "", "model instead of the operator's own")
	flags.StringVar(&f.maxCost, "max-cost", "", "end the run beyond this cost in `USD`, such as 0.05")
	flags.Uint32Var(&f.maxTurns, "max-turns", 0, "end the run after this many turns")
	flags.BoolVar(&f.raw, "raw", false, "the text is the message, also if it begins with {")
	flags.StringArrayVar(&f.signals, "signal", nil, "a signal `NAME` in the input's metadata, by which coordinators route and chains begin; repeatable")
	flags.StringVar(&f.metadata, "metadata", "", "metadata of the input: an object in `JSON`")
	f.given = flags.Changed
}

// check refuses flags that do not go together.
func (f *dispatchFlags) check() error {
	switch {
	case f.timeout <= 0:
		return usagef("--timeout must be above 0")
	case f.given("at") && f.given("in"):
		return usagef("give --at or --in, not both")
	case f.given("in") && f.in <= 0:
		return usagef("--in must be above 0")
	case f.given("when-busy") && !run.Mode(f.whenBusy).Valid():
		return usagef("--when-busy must be enqueue, reject, steer or interrupt")
	}
	f.task = f.task || f.given("at") || f.given("in")
	return nil
}

// begin is when the run is to begin; zero is at once.
func (f *dispatchFlags) begin(now time.Time) (time.Time, error) {
	switch {
	case f.given("in"):
		return now.Add(f.in), nil
	case f.given("at"):
		return parseTime(f.at, now)
	}
	return time.Time{}, nil
}

// parseTime reads a time to come: of the day, which is tomorrow's if it has passed; of a date; or with a zone.
func parseTime(s string, now time.Time) (time.Time, error) {
	for _, layout := range []string{"15:04", time.TimeOnly} {
		if t, err := time.ParseInLocation(layout, s, now.Location()); err == nil {
			y, m, d := now.Date()
			t = time.Date(y, m, d, t.Hour(), t.Minute(), t.Second(), 0, now.Location())
			if !t.After(now) {
				t = time.Date(y, m, d+1, t.Hour(), t.Minute(), t.Second(), 0, now.Location())
			}
			return t, nil
		}
	}
	for _, layout := range []string{time.RFC3339Nano, "2006-01-02 15:04", time.DateTime, "2006-01-02T15:04", "2006-01-02T15:04:05"} {
		t, err := time.ParseInLocation(layout, s, now.Location())
		if err != nil {
			continue
		}
		if !t.After(now) {
			return t, usagef("--at: %s has passed", t.Format(time.RFC3339))
		}
		return t, nil
	}
	return time.Time{}, usagef("--at: %.60q is no time: say 17:30, \"2026-12-24 18:00\", or RFC 3339 such as 2026-12-24T18:00:00Z", s)
}

// input makes an OperatorInput of a text, which is one itself if it begins with a brace.
func (f *dispatchFlags) input(text string) (protocol.OperatorInput, error) {
	in, err := protocol.Text(text), error(nil)
	if !f.raw {
		in, err = bus.DecodeInput([]byte(text))
	}
	if err != nil {
		return in, usageError(err)
	}
	if in.Metadata, err = f.tags(in.Metadata); err != nil {
		return in, err
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

// tags puts what the flags say into metadata.
func (f *dispatchFlags) tags(metadata json.RawMessage) (json.RawMessage, error) {
	if f.given("metadata") {
		metadata = json.RawMessage(f.metadata)
	}
	if !f.given("metadata") && len(f.signals) == 0 {
		return metadata, nil
	}
	all := map[string]json.RawMessage{}
	if len(metadata) > 0 && json.Unmarshal(metadata, &all) != nil {
		return nil, usagef("--metadata: must be an object in JSON")
	}
	if all == nil { // null
		all = map[string]json.RawMessage{}
	}
	if len(f.signals) > 0 {
		raw, err := protocol.Marshal(f.signals)
		if err != nil {
			return nil, fmt.Errorf("write the signals: %w", err)
		}
		all["signals"] = raw
	}
	return protocol.Marshal(all)
}

// id returns the run id: the one given, or a new one.
func (f *dispatchFlags) id() (protocol.RunID, error) {
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
