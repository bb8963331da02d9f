package main

import (
	"context"
	"embed"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/spf13/cobra"
	"go.uber.org/zap"

	"github.com/skelegent/skelegent-go/actors/manifest"
	"github.com/skelegent/skelegent-go/bus"
	"github.com/skelegent/skelegent-go/protocol"
	"github.com/skelegent/skelegent-go/state/kv"
)

//go:embed demo/*.yaml
var demoFiles embed.FS

// demoTimeout bounds every step of the demonstration.
const demoTimeout = 20 * time.Second

// What the demonstration asks, and the effect that has to come of it.
const (
	demoQuestion = "What time is it? And remember that I like tea."
	demoSession  = "demo"
	demoKey      = "drink"
	demoValue    = `"tea"`
)

func newDemo(a *app) *cobra.Command {
	var listen, dir string
	var stay bool
	cmd := &cobra.Command{
		Use:   "demo",
		Short: "Show the main job: an agent, a tool, an effect, the events; no key, no network",
		Long: `Run an agent with a scripted model on an embedded NATS server, send it a message as a client would, and show what
came of it: the events, the answer and its cost, and the effect that a separate executor performed. Each is
checked; the exit code is 1 if one is missing.`,
		Example: `  skelegent demo
  skelegent demo --stay --listen 127.0.0.1:4222    # and then try the nats lines that it prints`,
		Args: cobra.NoArgs,
		RunE: a.run(func(cmd *cobra.Command, _ []string) error {
			return runDemo(cmd.Context(), a.out, listen, dir, stay)
		}),
	}
	cmd.Flags().StringVar(&listen, "listen", "127.0.0.1:0", "where the embedded server listens; port 0 takes a free one")
	cmd.Flags().StringVar(&dir, "dir", "", "keep the files and the data here (default a temporary directory)")
	cmd.Flags().BoolVar(&stay, "stay", false, "go on until Ctrl-C, so that the printed commands can be tried")
	return cmd
}

func runDemo(ctx context.Context, w io.Writer, listen, dir string, stay bool) (err error) {
	p := &printer{w: w}
	if dir == "" {
		if dir, err = os.MkdirTemp("", "skelegent-demo-"); err != nil {
			return fmt.Errorf("make a temporary directory: %w", err)
		}
		defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	}
	if err := writeDemoFiles(dir); err != nil {
		return err
	}
	m, err := manifest.Load(filepath.Join(dir, defaultManifest))
	if err != nil {
		return err
	}
	h, err := startHost(ctx, hostConfig{
		data: filepath.Join(dir, defaultData), listen: listen, name: "demo", drain: demoTimeout, manifest: m, log: zap.NewNop(),
	})
	if err != nil {
		return err
	}
	defer func() {
		stop, cancel := context.WithTimeout(context.WithoutCancel(ctx), demoTimeout)
		defer cancel()
		err = errors.Join(err, h.stop(stop))
	}()
	p.line("1. A node with an embedded NATS server at %s hosts the operator %q:", h.url(), "assistant")
	p.line("   an agent with a scripted model and the tools clock and remember.")
	if err := tellDemo(ctx, p, h.url()); err != nil {
		return err
	}
	p.line("\nTry it yourself, from any language (%s):", stayHint(stay))
	p.line("   nats -s %s req skg.op.assistant 'What time is it?'", h.url())
	p.line("   nats -s %s sub 'skg.live.>' 'skg.event.>'", h.url())
	p.line("   nats -s %s kv get SKG_STATE session.%s.%s", h.url(), demoSession, demoKey)
	p.line("   nats -s %s micro stats assistant", h.url())
	if stay && p.err == nil {
		<-ctx.Done()
	}
	return p.err
}

func stayHint(stay bool) string {
	if stay {
		return "Ctrl-C ends the node"
	}
	return "with the node kept running by: skelegent demo --stay"
}

// tellDemo is a client of the node: it knows its address and no more.
func tellDemo(ctx context.Context, p *printer, url string) error {
	ctx, cancel := context.WithTimeout(ctx, demoTimeout)
	defer cancel()
	conn, err := bus.Connect(ctx, bus.ConnectConfig{URL: url, Name: "demo client"})
	if err != nil {
		return err
	}
	defer func() { _ = conn.Close(context.WithoutCancel(ctx)) }() // the story is told
	events := make(chan *nats.Msg, 256)
	for _, family := range []string{"live", "event"} {
		sub, err := conn.NATS().ChanSubscribe(conn.Names().All(family), events)
		if err != nil {
			return bus.Translate("subscribe to events", err)
		}
		defer func() { _ = sub.Unsubscribe() }()
	}
	p.line("\n2. A client sends on skg.op.assistant: %q", demoQuestion)
	out, err := bus.NewDispatcher(conn).Dispatch(ctx, "assistant", protocol.Text(demoQuestion).WithSession(demoSession))
	if err != nil {
		return err
	}
	outcome, err := p.follow(ctx, events)
	if err != nil {
		return err
	}
	text, _ := out.Message.AsText()
	md := out.Metadata
	p.line("\n3. The answer: %q", text)
	p.line("   %s after %d turns and %d tool calls, %d tokens in, %d out, cost $%s, %s",
		out.ExitReason, md.TurnsUsed, len(md.SubDispatches), md.TokensIn, md.TokensOut, md.Cost, md.Duration)

	store, err := kv.Open(ctx, conn.JetStream(), kv.Config{})
	if err != nil {
		return err
	}
	value, err := store.Read(ctx, protocol.InSession(demoSession), demoKey)
	if err != nil {
		return err
	}
	p.line("\n4. The effect write_memory was performed by its executor (%s): session %q now has %s = %s", outcome.Status, demoSession, demoKey, value)
	return verdict(p, out, outcome, string(value))
}

// verdict checks the story; the first thing that is wrong is the error.
func verdict(p *printer, out protocol.OperatorOutput, outcome protocol.EffectOutcome, value string) error {
	switch {
	case out.ExitReason.Kind() != protocol.ExitComplete:
		return fmt.Errorf("demo: the run ended with %s", out.ExitReason)
	case out.Metadata.Cost.Text() != "0.00010065":
		return fmt.Errorf("demo: the cost is %s, must be 0.00010065", out.Metadata.Cost)
	case outcome.Status != protocol.OutcomeOK || value != demoValue:
		return fmt.Errorf("demo: the effect ended with %q and the value %s", outcome.Status, value)
	}
	p.line("\nAll of it checked: answer complete, cost exact, effect applied once, events seen.")
	return nil
}

// printer writes lines and keeps the first error.
type printer struct {
	w   io.Writer
	err error
}

func (p *printer) line(format string, args ...any) {
	if p.err == nil {
		_, p.err = fmt.Fprintf(p.w, format+"\n", args...)
	}
}

// follow prints the events until the effects of the run are recorded, and returns the outcome of the first.
func (p *printer) follow(ctx context.Context, events <-chan *nats.Msg) (protocol.EffectOutcome, error) {
	p.line("   and what happens is seen on skg.live.> and skg.event.>:")
	for {
		select {
		case <-ctx.Done():
			return protocol.EffectOutcome{}, fmt.Errorf("demo: the effect was not performed: %w", context.Cause(ctx))
		case m := <-events:
			e, err := protocol.DecodeEvent(m.Data)
			if err != nil {
				return protocol.EffectOutcome{}, fmt.Errorf("demo: event on %s: %w", m.Subject, err)
			}
			if e.Kind == protocol.EventProgress {
				continue // one for each piece of text
			}
			p.line("   %s  %s", e.Time.Format("15:04:05.000000"), m.Subject)
			if e.Kind != protocol.EventEffectDone {
				continue
			}
			var record struct {
				Outcomes []protocol.EffectOutcome `json:"outcomes" wire:"required"`
			}
			if err := protocol.Unmarshal(e.Data, &record); err != nil || len(record.Outcomes) == 0 {
				return protocol.EffectOutcome{}, fmt.Errorf("demo: event %s has no outcomes: %w", e.ID, err)
			}
			return record.Outcomes[0], nil
		}
	}
}

func writeDemoFiles(dir string) error {
	return fs.WalkDir(demoFiles, "demo", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		data, err := demoFiles.ReadFile(path)
		if err == nil {
			err = os.WriteFile(filepath.Join(dir, filepath.Base(path)), data, 0o600)
		}
		if err != nil {
			return fmt.Errorf("write the demo's files: %w", err)
		}
		return nil
	})
}
