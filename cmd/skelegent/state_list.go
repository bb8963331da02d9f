package main

import (
	"context"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/skelegent/skelegent-go/protocol"
	"github.com/skelegent/skelegent-go/state/kv"
)

func newStateList(a *app) *cobra.Command {
	var limit int
	cmd := &cobra.Command{
		Use: "ls SCOPE [PREFIX]", Short: "List the keys of a scope", Args: cobra.RangeArgs(1, 2),
		Example: "  skelegent state ls global\n  skelegent state ls session/tea user. --json",
	}
	addLimit(cmd, &limit)
	list := a.onState(func(ctx context.Context, store *kv.Store, scope protocol.Scope, rest []string) error {
		keys, err := store.List(ctx, scope, strings.Join(rest, ""))
		if err != nil {
			return err
		}
		keys = cut(a, keys, limit)
		if a.flags.json {
			return a.out.json(keys)
		}
		for _, key := range keys {
			a.out.print(a.out.text(key) + "\n")
		}
		return nil
	})
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if err := checkLimit(limit); err != nil {
			return err
		}
		return list(cmd, args)
	}
	return cmd
}

func newStateSearch(a *app) *cobra.Command {
	var limit int
	cmd := &cobra.Command{
		Use: "search SCOPE QUERY...", Short: "Find keys by what their values say", Args: cobra.MinimumNArgs(2),
		Example: "  skelegent state search session/tea green tea",
	}
	addLimit(cmd, &limit)
	search := a.onState(func(ctx context.Context, store *kv.Store, scope protocol.Scope, rest []string) error {
		found, err := store.Search(ctx, scope, strings.Join(rest, " "), limit)
		if err != nil {
			return err
		}
		if a.flags.json {
			return a.out.json(found)
		}
		if len(found) == 0 {
			a.err.print("nothing was found\n")
			return nil
		}
		rows := make([][]string, len(found))
		for i, r := range found {
			snippet := ""
			if r.Snippet != nil {
				snippet = *r.Snippet
			}
			rows[i] = []string{strconv.FormatFloat(r.Score, 'f', 3, 64), r.Key, clip(snippet, 80)}
		}
		return a.out.table([]string{"SCORE", "KEY", "SNIPPET"}, rows)
	})
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if err := checkLimit(limit); err != nil {
			return err
		}
		return search(cmd, args)
	}
	return cmd
}
