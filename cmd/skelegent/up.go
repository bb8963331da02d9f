package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"
	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
)

func newUp(a *app) *cobra.Command {
	var file, data, listen, name, level string
	var allowRemote, noSync bool
	var replicas int
	var drain time.Duration
	cmd := &cobra.Command{
		Use:   "up",
		Short: "Run a node: the operators and executors of a manifest",
		Long: `Run a node: the operators and executors of a manifest, and the built-in executors of effects.

Without --nats, --context or NATS_URL the node embeds a NATS server with its data under --data, and listens on
--listen so that the nats CLI and clients in any language work. Prints a line that starts with "ready" when its
operators answer. SIGTERM or Ctrl-C drains: what was accepted is answered, the rest is given back. A second one ends
at once.`,
		Example: `  skelegent up
  skelegent up -f agents.yaml --listen 127.0.0.1:4333
  skelegent up --nats nats://nats.example.com --creds node.creds --replicas 3`,
		Args: cobra.NoArgs,
		RunE: a.run(func(cmd *cobra.Command, _ []string) error {
			log, err := newLogger(level, a.err)
			if err != nil {
				return usagef("%w", err)
			}
			m, dir, err := loadManifest(file)
			if err != nil {
				return err
			}
			if name == "" {
				if name, err = os.Hostname(); err != nil {
					name = "node"
				}
			}
			connect, err := a.flags.connectConfig()
			if err != nil {
				return err
			}
			connect.Name, connect.Logger = "skelegent node "+name, log
			remote := connect.URL != "" || connect.Context != ""
			if data == "" && !remote {
				data = filepath.Join(dir, defaultData)
			}
			cfg := hostConfig{
				connect: connect, remote: remote, data: data, listen: listen,
				allowRemote: allowRemote, noSync: noSync, names: connect.Names, name: name, replicas: replicas, drain: drain,
				manifest: m, skills: a.trustSkills, log: log,
			}
			if m == nil {
				log.Warn("no manifest: this node hosts no operators", zap.String("looked_for", defaultManifest))
			}
			return runUp(cmd, cfg)
		}),
	}
	f := cmd.Flags()
	f.StringVarP(&file, "file", "f", "", "manifest (default "+defaultManifest+" if it is there)")
	f.StringVar(&data, "data", "", "data directory of the embedded server (default "+defaultData+" beside the manifest); with --nats, where the node keeps its identity, so that after a crash it takes back its runs at once")
	f.StringVar(&listen, "listen", "127.0.0.1:4222", "where the embedded server listens; port 0 takes a free one")
	f.BoolVar(&allowRemote, "allow-remote", false, "let the embedded server listen on addresses other machines reach; they need no password")
	f.BoolVar(&noSync, "no-sync", false, "do not wait for the disk: faster, but a power failure loses what was acknowledged")
	f.StringVar(&name, "name", "", "name of the node (default the host's)")
	f.IntVar(&replicas, "replicas", 1, "copies of every stream, in a cluster")
	f.DurationVar(&drain, "drain-timeout", 30*time.Second, "how long what runs may take to end at a shutdown")
	f.StringVar(&level, "log-level", "info", "debug, info, warn or error")
	return cmd
}

func runUp(cmd *cobra.Command, cfg hostConfig) error {
	ctx := cmd.Context() // ends with the first signal; the second one ends the process
	h, err := startHost(ctx, cfg)
	if err != nil {
		return err
	}
	if _, err := fmt.Fprintln(cmd.OutOrStdout(), readyLine(h)); err != nil {
		cfg.log.Warn("ready line not written", zap.Error(err))
	}
	<-ctx.Done()
	stop, cancel := context.WithTimeout(context.WithoutCancel(ctx), cfg.drain)
	defer cancel()
	return h.stop(stop)
}

// newLogger writes lines for people to a terminal and JSON to everything else.
func newLogger(level string, w io.Writer) (*zap.Logger, error) {
	lvl, err := zapcore.ParseLevel(level)
	if err != nil {
		return nil, fmt.Errorf("log level %q is not one of debug, info, warn, error", level)
	}
	cfg := zap.NewProductionEncoderConfig()
	cfg.EncodeTime = zapcore.RFC3339NanoTimeEncoder
	encoder := zapcore.NewJSONEncoder(cfg)
	if o, ok := w.(*output); ok && o.tty {
		cfg.EncodeTime = zapcore.TimeEncoderOfLayout(time.TimeOnly)
		encoder = zapcore.NewConsoleEncoder(cfg)
	}
	return zap.New(zapcore.NewCore(encoder, zapcore.AddSync(w), lvl)), nil
}
