package main

import (
	"context"
	"encoding/json"
	"strings"

	"github.com/spf13/cobra"

	"github.com/skelegent/skelegent-go/bus"
	"github.com/skelegent/skelegent-go/protocol"
	"github.com/skelegent/skelegent-go/protocol/wire"
)

// eventsFlags say which events to show.
type eventsFlags struct {
	live, log bool
	since     uint64
	count     int
	run       string
}

func newEvents(a *app) *cobra.Command {
	var f eventsFlags
	cmd := &cobra.Command{
		Use: "events [FILTER]", Short: "Follow what happens",
		Long: `Print events as they come, one a line, until Ctrl-C: live ones (tokens, progress, runs that keep no log) and those
that were committed to the log. Committed events have a number, by which --since-seq reads on without a gap.

FILTER is an operator, OPERATOR/INSTANCE, or a NATS subject below skg.live or skg.event.`,
		Example: `  skelegent events
  skelegent events assistant/tea
  skelegent events 'skg.event.*.*.done.>' --json
  skelegent events --log --since-seq 1 --count 10`,
		Args: cobra.MaximumNArgs(1),
	}
	flags := cmd.Flags()
	flags.BoolVar(&f.live, "live", false, "only events that no log keeps")
	flags.BoolVar(&f.log, "log", false, "only committed events")
	flags.Uint64Var(&f.since, "since-seq", 0, "begin with this sequence of the log, then go on with what comes")
	flags.IntVar(&f.count, "count", 0, "end after so many events")
	flags.StringVar(&f.run, "run", "", "only events of the run with this `ID`")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		names, err := wire.NewNames(a.flags.prefix)
		if err != nil {
			return usageError(err)
		}
		cfg, err := f.observe(names, strings.Join(args, ""))
		if err != nil {
			return err
		}
		return a.withConn(cmd, 0, func(ctx context.Context, s *session) error { return a.showEvents(ctx, s, &f, cfg) })
	}
	return cmd
}

// observe says which subjects the flags and a filter mean.
func (f *eventsFlags) observe(names wire.Names, filter string) (bus.ObserveConfig, error) {
	cfg := bus.ObserveConfig{Since: f.since}
	switch {
	case f.live && f.log:
		return cfg, usagef("give --live or --log, not both; without either both are shown")
	case f.live && f.since > 0:
		return cfg, usagef("--since-seq reads the log: it excludes --live")
	case f.count < 0:
		return cfg, usagef("--count must not be negative")
	}
	var err error
	if cfg.Live, cfg.Log, err = eventSubjects(names, filter); err != nil {
		return cfg, usageError(err)
	}
	if f.live {
		cfg.Log = ""
	}
	if f.log {
		cfg.Live = ""
	}
	if cfg.Live == "" && cfg.Log == "" || f.since > 0 && cfg.Log == "" {
		return cfg, usagef("nothing is left to show: the filter %q excludes what the flags ask for", filter)
	}
	return cfg, nil
}

// showEvents prints events until enough have come or ctx ends, which is how it ends well.
func (a *app) showEvents(ctx context.Context, s *session, f *eventsFlags, cfg bus.ObserveConfig) error {
	cfg.Ready = func() {
		if a.err.tty {
			a.err.printf("following %s (Ctrl-C ends)\n", strings.TrimSpace(cfg.Live+" "+cfg.Log))
		}
	}
	shown, lost := 0, 0
	err := s.Observe(ctx, cfg, func(o bus.Observation) bool {
		if o.Lost > lost {
			a.err.printf("%d events were not shown: they came faster than they can be written; the log has the committed ones\n", o.Lost-lost)
			lost = o.Lost
		}
		if f.run != "" && string(o.Event.Run) != f.run {
			return true
		}
		if a.flags.json {
			if err := a.out.jsonLine(newEventLine(o)); err != nil {
				return false
			}
		} else {
			a.out.print(a.eventText(o) + "\n")
		}
		shown++
		return a.out.failed == nil && (f.count == 0 || shown < f.count)
	})
	if ctx.Err() != nil && protocol.CodeOf(context.Cause(ctx)) == protocol.CodeCancelled {
		return nil // Ctrl-C
	}
	return err
}

// eventLine is an event for machines.
type eventLine struct {
	Subject   string          `json:"subject"`
	StreamSeq uint64          `json:"stream_seq,omitempty"`
	Event     json.RawMessage `json:"event,omitempty"`
	// Raw is the message where it is no event, and Error says why.
	Raw   string `json:"raw,omitempty"`
	Error string `json:"error,omitempty"`
}

func newEventLine(o bus.Observation) eventLine {
	line := eventLine{Subject: o.Subject, StreamSeq: o.Seq, Event: o.Data}
	if o.Err != nil {
		line.Event, line.Raw, line.Error = nil, string(o.Data), o.Err.Error()
	}
	return line
}
