package main

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/skelegent/skelegent-go/protocol"
	"github.com/skelegent/skelegent-go/state/kv"
)

func newState(a *app) *cobra.Command {
	return group(&cobra.Command{
		Use: "state", Short: "Read and change what is remembered",
		Long: "Read and change what is remembered.\n\nSCOPE is " + scopeForms + ". Writing needs a node's credentials: a guest may only read.",
		Example: `  skelegent state ls session/tea
  skelegent state get operator//assistant drink
  skelegent state put global motto '"be brief"' --nkey .skelegent/node.key`,
	}, newStateGet(a), newStatePut(a), newStateRemove(a), newStateList(a), newStateSearch(a))
}

// onState makes a command's function of f: it gets the scope, what stands behind it, and the store.
func (a *app) onState(f func(ctx context.Context, store *kv.Store, scope protocol.Scope, rest []string) error) func(*cobra.Command, []string) error {
	return func(cmd *cobra.Command, args []string) error {
		scope, err := parseScope(args[0])
		if err != nil {
			return usageError(err)
		}
		return a.withConn(cmd, a.flags.timeout, func(ctx context.Context, s *session) error {
			store, err := kv.Open(ctx, s.JetStream(), kv.Config{Names: s.Names(), Timeout: a.flags.timeout, Log: s.Logger()})
			if err != nil {
				return err
			}
			return f(ctx, store, scope, args[1:])
		})
	}
}

// keyed refuses an empty key before anything is asked.
func keyed(least, most int) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if err := cobra.RangeArgs(least, most)(cmd, args); err != nil {
			return err
		}
		if args[1] == "" {
			return errNoKey
		}
		return nil
	}
}

func missing(scope protocol.Scope, key string) error {
	return protocol.NewError(protocol.CodeNotFound, fmt.Sprintf("scope %s has no key %q", scope, key))
}

// entryView is an entry for machines.
type entryView struct {
	Scope       protocol.Scope        `json:"scope"`
	Key         string                `json:"key"`
	Value       json.RawMessage       `json:"value"`
	Tier        *protocol.MemoryTier  `json:"tier,omitempty"`
	Lifetime    *protocol.Lifetime    `json:"lifetime,omitempty"`
	ContentKind *protocol.ContentKind `json:"content_kind,omitempty"`
	Salience    *float64              `json:"salience,omitempty"`
	Expires     *time.Time            `json:"expires,omitempty"`
	By          json.RawMessage       `json:"by,omitempty"`
	Revision    uint64                `json:"revision"`
}

func newStateGet(a *app) *cobra.Command {
	return &cobra.Command{
		Use: "get SCOPE KEY", Short: "Print a value", Args: keyed(2, 2),
		Long:    "Print a value: a string as its text, everything else as JSON. With --json the whole entry.",
		Example: "  skelegent state get session/tea drink\n  skelegent state get global motto --json",
		RunE: a.onState(func(ctx context.Context, store *kv.Store, scope protocol.Scope, rest []string) error {
			e, found, err := store.Entry(ctx, scope, rest[0])
			if err != nil {
				return err
			}
			if !found {
				return missing(scope, rest[0])
			}
			if !a.flags.json {
				a.out.print(a.out.text(valueText(e.Value)) + "\n")
				return nil
			}
			view := entryView{
				Scope: scope, Key: rest[0], Value: e.Value, Tier: e.Options.Tier, Lifetime: e.Options.Lifetime,
				ContentKind: e.Options.ContentKind, Salience: e.Options.Salience, By: e.By, Revision: e.Revision,
			}
			if !e.Expires.IsZero() {
				view.Expires = &e.Expires
			}
			return a.out.json(view)
		}),
	}
}

// valueText is a value as get prints it.
func valueText(value json.RawMessage) string {
	var text string
	if json.Unmarshal(value, &text) == nil && strings.HasPrefix(strings.TrimSpace(string(value)), `"`) {
		return text
	}
	return string(value)
}

// parseValue is JSON as it stands, and everything else as a string.
func parseValue(text string) (json.RawMessage, error) {
	if trimmed := strings.TrimSpace(text); json.Valid([]byte(trimmed)) {
		return json.RawMessage(trimmed), nil
	}
	return protocol.Marshal(text)
}

func newStatePut(a *app) *cobra.Command {
	var ttl time.Duration
	cmd := &cobra.Command{
		Use: "put SCOPE KEY [VALUE|-]", Short: "Store a value", Args: keyed(2, 3),
		Long: `Store a value, and replace what was there. The value is taken from the standard input for -, or if there is none and
the standard input is no terminal. What is not JSON is stored as a string.`,
		Example: `  skelegent state put global motto "be brief"
  skelegent state put session/tea order '{"tea": 2}' --ttl 1h
  skelegent state put custom/docs intro - < intro.txt`,
	}
	cmd.Flags().DurationVar(&ttl, "ttl", 0, "remove it after this time")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if cmd.Flags().Changed("ttl") && ttl < time.Millisecond {
			return usagef("--ttl must be 1ms or more")
		}
		if _, err := parseScope(args[0]); err != nil {
			return usageError(err) // before the standard input is read
		}
		text, err := a.text(args[2:], "value")
		if err != nil {
			return err
		}
		value, err := parseValue(text)
		if err != nil {
			return usageError(err)
		}
		var opts protocol.StoreOptions
		if ttl > 0 {
			ms := protocol.MillisOf(ttl)
			opts.TTL = &ms
		}
		return a.onState(func(ctx context.Context, store *kv.Store, scope protocol.Scope, rest []string) error {
			return store.Write(ctx, scope, rest[0], value, opts)
		})(cmd, args)
	}
	return cmd
}

func newStateRemove(a *app) *cobra.Command {
	return &cobra.Command{
		Use: "rm SCOPE KEY", Short: "Remove a value", Args: keyed(2, 2), Example: "  skelegent state rm session/tea drink",
		RunE: a.onState(func(ctx context.Context, store *kv.Store, scope protocol.Scope, rest []string) error {
			_, found, err := store.Entry(ctx, scope, rest[0])
			if err != nil {
				return err
			}
			if !found {
				return missing(scope, rest[0])
			}
			return store.Delete(ctx, scope, rest[0])
		}),
	}
}
