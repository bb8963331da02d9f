package main

import (
	"path/filepath"
	"time"

	"github.com/spf13/cobra"

	"github.com/skelegent/skelegent-go/actors/skill/trust"
)

// trustRow is a directory that is trusted, and whether it is there.
type trustRow struct {
	trust.Entry
	Missing bool `json:"missing,omitempty"`
}

func newSkillsTrust(a *app, store *skillStore) *cobra.Command {
	var revoke bool
	cmd := &cobra.Command{
		Use: "trust [DIR]", Short: "Trust a directory's skills, or list what is trusted", Args: cobra.MaximumNArgs(1),
		Long: `Let what the skills in a directory bring be run: scripts, commands and hooks, of all skills in it and below it. Without a
directory, list those that are trusted.

Trust is of the path without links, whatever the files there become. With --revoke it ends, also of what is below.`,
		Example: `  skelegent skills trust .
  skelegent skills trust
  skelegent skills trust ../other --revoke`,
	}
	cmd.Flags().BoolVar(&revoke, "revoke", false, "trust it no more")
	cmd.RunE = func(_ *cobra.Command, args []string) error {
		switch {
		case len(args) == 1 && args[0] == "":
			return usagef("DIR must not be empty")
		case len(args) == 0 && revoke:
			return usagef("--revoke needs the directory")
		}
		known, err := store.open()
		switch {
		case err != nil:
			return err
		case len(args) == 0:
			list, err := known.List()
			if err != nil {
				return err
			}
			return a.showTrusted(list)
		case revoke:
			removed, err := known.Revoke(args[0])
			if err == nil && a.flags.json {
				return a.out.json(removed)
			}
			for _, e := range removed {
				a.out.print("trusted no more: " + visible(oneLine(e.Dir)) + "\n")
			}
			return err
		}
		e, err := known.Trust(args[0])
		if err != nil {
			return err
		}
		if a.flags.json {
			return a.out.json(e)
		}
		a.out.print("trusted: " + visible(oneLine(e.Dir)) + "\n")
		return nil
	}
	return cmd
}

func (a *app) showTrusted(list []trust.Entry) error {
	rows := make([]trustRow, len(list))
	for i, e := range list {
		real, err := filepath.EvalSymlinks(e.Dir)
		rows[i] = trustRow{Entry: e, Missing: err != nil || real != e.Dir}
	}
	if a.flags.json {
		return a.out.json(rows)
	}
	if len(rows) == 0 {
		a.err.print("no directory is trusted\n")
		return nil
	}
	table := make([][]string, len(rows))
	for i, r := range rows {
		table[i] = []string{r.At.Local().Format(time.DateTime), "yes", visible(r.Dir)}
		if r.Missing {
			table[i][1] = "no" // or it is a link by now
		}
	}
	return a.out.table([]string{"SINCE", "THERE", "DIRECTORY"}, table)
}
