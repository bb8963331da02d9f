package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/spf13/cobra"

	"github.com/skelegent/skelegent-go/bus"
)

// demoTimeout bounds every step of the demonstration.
const demoTimeout = 20 * time.Second

// demoSession is the conversation of the demonstration.
const demoSession = "demo"

// demoConfig says how the demonstration runs.
type demoConfig struct {
	listen string
	dir    string // empty for a temporary one
	stay   bool
	json   bool
	// program is what the worker is a process of; this one if empty.
	program string
	// edit changes the manifest, for tests of what the checks find; nil leaves it.
	edit func(manifest string) string
}

func newDemo(a *app) *cobra.Command {
	var cfg demoConfig
	cmd := &cobra.Command{
		Use:   "demo",
		Short: "Show what a crash costs: an agent that is killed in the middle; no key, no network",
		Long: `Show an agent that outlives the process it runs in: a model, a tool that must not run twice, the approval of a person,
a kill -9 while the model is asked, a new process that goes on, effects, and what all of it came to.

This process is the world outside: an embedded NATS server, a model server with a script that keeps a bill, and an
executor of effects. The agent runs in a process of its own, which is what is killed. What the world counted is compared
with what has to be; the exit code is 1 if anything differs.`,
		Example: `  skelegent demo
  skelegent demo --json
  skelegent demo --stay --listen 127.0.0.1:4222    # and then try the lines that it prints`,
		Args: cobra.NoArgs,
		RunE: a.run(func(cmd *cobra.Command, _ []string) error {
			cfg.json = a.flags.json
			return runDemo(cmd.Context(), a.out, cfg)
		}),
	}
	cmd.Flags().StringVar(&cfg.listen, "listen", "127.0.0.1:0", "where the embedded server listens; port 0 takes a free one")
	cmd.Flags().StringVar(&cfg.dir, "dir", "", "keep the files and the data here, until the next demo here (default a temporary directory)")
	cmd.Flags().BoolVar(&cfg.stay, "stay", false, "go on until Ctrl-C, so that the printed commands can be tried")
	return cmd
}

// runDemo tells the story and prints the verdict. It leaves no process behind, and no files unless they are wanted.
func runDemo(ctx context.Context, out *output, cfg demoConfig) (err error) {
	if cfg.program == "" {
		if cfg.program, err = os.Executable(); err != nil {
			return fmt.Errorf("find this program: %w", err)
		}
	}
	dir, remove, err := openDemoDir(cfg.dir)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, remove()) }()
	world, err := startDemoWorld(ctx, dir, cfg.listen)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, world.stop(ctx)) }()
	if err := writeDemoFiles(dir, world.model.url, cfg.edit); err != nil {
		return err
	}
	client, err := bus.Connect(ctx, bus.ConnectConfig{URL: world.server.URL(), Name: "demo client"})
	if err != nil {
		return err
	}
	defer func() { _ = client.Close(context.WithoutCancel(ctx)) }() // the story is told
	s := newDemoStory(world, client, cfg, out)
	defer func() { s.worker.stop() }() // whichever it is by then
	v, err := s.tell(ctx)
	if err != nil {
		return err
	}
	if cfg.json {
		err = out.json(v)
	} else {
		v.print(out)
		printTry(out, dir, world.server.URL(), cfg)
	}
	if err = errors.Join(err, v.failure()); err == nil && cfg.stay && out.failed == nil {
		<-ctx.Done()
	}
	return err
}

// printTry prints what a newcomer may do next. Each line works as it is, for as long as the demonstration runs.
func printTry(out *output, dir, url string, cfg demoConfig) {
	hint := "until Ctrl-C"
	if !cfg.stay {
		hint = "while it runs: skelegent demo --stay"
	}
	out.printf("\nTry it yourself (%s):\n   export NATS_URL=%s\n", hint, url)
	for _, line := range demoLines {
		out.printf("   %s\n", line)
	}
	if cfg.dir != "" {
		out.printf("The manifest, its programs and all data are in %s\n", dir)
	}
}

// demoLines are commands to try. The nats CLI stands for a client in any language.
var demoLines = []string{
	"skelegent show assistant/demo",
	"skelegent result assistant/demo",
	"skelegent dispatch assistant --task --session again 'Order two more boxes.'",
	"skelegent inbox",
	"skelegent approve assistant/again",
	"skelegent runs",
	"nats sub 'skg.live.>' 'skg.event.>'",
	"nats pub skg.task.assistant '{\"message\":\"Order one more.\",\"session\":\"more\"}'",
	"nats req skg.query.assistant.more.pending ''",
	"nats pub skg.signal.assistant.more.approve ''",
	"nats kv get SKG_STATE session.demo.drink",
	"nats micro stats assistant",
}
