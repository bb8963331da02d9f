package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/skelegent/skelegent-go/actors"
	"github.com/skelegent/skelegent-go/actors/agent"
	"github.com/skelegent/skelegent-go/actors/compose/record"
	"github.com/skelegent/skelegent-go/actors/effect"
	"github.com/skelegent/skelegent-go/actors/manifest"
	"github.com/skelegent/skelegent-go/actors/provider"
	"github.com/skelegent/skelegent-go/protocol"
	"github.com/skelegent/skelegent-go/state/memory"
)

func newReplay(a *app) *cobra.Command {
	var file, operator string
	cmd := &cobra.Command{
		Use: "replay FILE", Short: "Do a recorded run again, without a model and without tools", Args: cobra.ExactArgs(1),
		Long: `Have an agent do the task of a record again, with the recorded answers in place of the model and the recorded results in
place of the tools, and say what it does otherwise: another call, other arguments, another end. Nothing is asked and nothing is
called, so it needs no server and no key.

With -f the agent is an operator of a manifest, so that you see whether a changed manifest still does the same. Without it the
agent has the tools that the record names, no rules, and the usual limits.`,
		Example: "  skelegent replay tea.json\n  skelegent replay tea.json -f skelegent.yaml --operator assistant",
	}
	cmd.Flags().StringVarP(&file, "file", "f", "", "manifest with the operator")
	cmd.Flags().StringVar(&operator, "operator", "", "`NAME` of the operator in the manifest (default the record's)")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if operator != "" && file == "" {
			return usagef("--operator is one of a manifest: name that with -f")
		}
		r, err := readRecord(args[0])
		if err != nil {
			return err
		}
		cfg := agent.Config{Name: string(r.Operator)}
		if file != "" {
			if cfg, err = a.configOf(cmd.Context(), file, cmp.Or(operator, string(r.Operator))); err != nil {
				return err
			}
		}
		ctx, cancel := context.WithTimeout(cmd.Context(), a.flags.timeout)
		defer cancel()
		d, err := record.Replay(ctx, r, cfg)
		if err != nil {
			return err
		}
		return a.showReplay(r, d)
	}
	return cmd
}

// showReplay says what a replay came to. That it differs is an error.
func (a *app) showReplay(r *record.Run, d *record.Difference) error {
	if a.flags.json {
		err := a.out.json(struct {
			Same       bool               `json:"same"`
			Difference *record.Difference `json:"difference,omitempty"`
		}{d == nil, d})
		if err != nil {
			return err
		}
	}
	if d == nil {
		if !a.flags.json {
			a.out.printf("the same: %d turns, %s\n", len(r.Turns), oneLine(r.ExitReason.String()))
		}
		return nil
	}
	if !a.flags.json {
		at := fmt.Sprintf("turn %d: %s", d.Turn, d.What)
		if d.CallID != "" {
			at += fmt.Sprintf(" of %s (%s)", d.Tool, d.CallID)
		}
		a.out.printf("%s\n  want %s\n  got  %s\n", oneLine(at), oneLine(d.Want), oneLine(d.Got))
	}
	return fmt.Errorf("the replay differs from the record in turn %d", d.Turn)
}

// readRecord reads a record from a file.
func readRecord(file string) (*record.Run, error) {
	f, err := os.Open(file)
	if err != nil {
		return nil, err
	}
	defer f.Close() //nolint:errcheck // it was only read
	raw, err := io.ReadAll(io.LimitReader(f, record.MaxSize+1))
	if err != nil {
		return nil, err
	}
	return record.Decode(raw)
}

// configOf returns what an operator of a manifest is made of.
func (a *app) configOf(ctx context.Context, file, operator string) (agent.Config, error) {
	m, err := manifest.Load(file)
	if err != nil {
		return agent.Config{}, err
	}
	if _, ok := m.Operators[operator]; !ok {
		names := strings.Join(slices.Sorted(maps.Keys(m.Operators)), ", ")
		return agent.Config{}, fmt.Errorf("%s has no operator %.100q; there are: %s", file, operator, names)
	}
	found := map[string]agent.Config{}
	deps := manifest.Deps{
		Dispatcher: nowhere, State: memory.New(memory.Config{}), Providers: map[string]provider.Provider{},
		Agent: func(name string, cfg agent.Config) agent.Config {
			found[name] = cfg
			return cfg
		},
	}
	a.trustSkills(&deps)
	for name := range m.Providers {
		deps.Providers[name] = mute{}
	}
	if err := m.Register(ctx, ignored{}, deps); err != nil {
		return agent.Config{}, err
	}
	cfg, ok := found[operator]
	if !ok {
		return cfg, fmt.Errorf("%s: the operator %s asks no model, so it cannot be replayed", file, operator)
	}
	return cfg, nil
}

// What a manifest is made with that is only looked at.
var (
	errReplay = errors.New("nothing is asked in a replay")
	nowhere   = protocol.DispatcherFunc(refuseReplay)
)

func refuseReplay(context.Context, protocol.OperatorID, protocol.OperatorInput) (protocol.OperatorOutput, error) {
	return protocol.OperatorOutput{}, errReplay
}

type mute struct{}

// Infer implements provider.Provider.
func (mute) Infer(context.Context, protocol.InferRequest, func(protocol.StreamEvent)) (protocol.InferResponse, error) {
	return protocol.InferResponse{}, errReplay
}

type ignored struct{}

// Register implements manifest.Registry.
func (ignored) Register(protocol.OperatorID, protocol.Operator, ...actors.Option) error { return nil }

// RegisterEffect implements manifest.Registry.
func (ignored) RegisterEffect(string, effect.Executor, effect.Options) error { return nil }
