package main

import (
	"fmt"
	"os"
	"strings"
	"unicode/utf8"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"github.com/skelegent/skelegent-go/actors/skill"
)

// skillRow is a skill that was found.
type skillRow struct {
	Name         string       `json:"name"`
	Description  string       `json:"description"`
	Scope        skill.Source `json:"scope"`
	Dir          string       `json:"dir"`
	Location     string       `json:"location"`
	Trusted      bool         `json:"trusted"`
	AllowedTools []string     `json:"allowed_tools"`
	Paths        []string     `json:"paths"`
}

func newSkillsList(a *app, store *skillStore) *cobra.Command {
	var scopes skillScopes
	var strict bool
	cmd := &cobra.Command{
		Use: "ls", Short: "List the skills that are found", Args: cobra.NoArgs,
		Long: `List the skills that an agent would find, whether what they bring may be run, and the tools and files that they keep to.
What is wrong with them is said on the standard error; a skill that cannot be used is not in the list.`,
		Example: "  skelegent skills ls\n  skelegent skills ls --project ../other --json\n  skelegent skills ls --dir vendor/skills --strict",
	}
	scopes.add(cmd)
	cmd.Flags().BoolVar(&strict, "strict", false, "fail if a skill cannot be used")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		known, err := store.open()
		if err != nil {
			return err
		}
		found, err := a.discoverSkills(cmd, &scopes, known)
		if err != nil {
			return err
		}
		rows := make([]skillRow, 0, found.Len())
		for _, d := range found.List() {
			rows = append(rows, skillRow{
				Name: d.Name, Description: d.Description, Scope: d.Source, Dir: d.Dir, Location: d.Location,
				Trusted: known.Check(d) == nil, AllowedTools: skillTexts(d.AllowedTools), Paths: skillTexts(d.Paths),
			})
		}
		if err := a.showSkills(rows, found.Diagnostics()); err != nil {
			return err
		}
		if failures, _ := countDiagnostics(found.Diagnostics()); strict && failures > 0 {
			return fmt.Errorf("%s in skills that cannot be used", number(failures, "error"))
		}
		return nil
	}
	return cmd
}

func (a *app) showSkills(rows []skillRow, ds []skill.Diagnostic) error {
	if a.flags.json {
		if ds == nil {
			ds = []skill.Diagnostic{}
		}
		return a.out.json(struct {
			Skills      []skillRow         `json:"skills"`
			Diagnostics []skill.Diagnostic `json:"diagnostics"`
		}{rows, ds})
	}
	a.showDiagnostics(ds)
	if len(rows) == 0 {
		a.err.print("no skill was found\n")
		return nil
	}
	table := make([][]string, len(rows))
	for i, r := range rows {
		trusted := "no"
		if r.Trusted {
			trusted = "yes"
		}
		table[i] = []string{
			r.Name, string(r.Scope), trusted, listCell(r.AllowedTools, "all"), listCell(r.Paths, "any"), visible(r.Dir), visible(r.Description),
		}
	}
	header := []string{"NAME", "SCOPE", "TRUSTED", "TOOLS", "FILES", "DIRECTORY", "DESCRIPTION"}
	fitLast(header, table, a.out.width())
	return a.out.table(header, table)
}

// listCell is a list in a table, or a word if there is none.
func listCell(list []string, none string) string {
	if len(list) == 0 {
		return none
	}
	return clip(visible(strings.Join(list, " ")), 40)
}

// Widths of a table, in characters.
const (
	defaultWidth = 160 // where there is no terminal
	minLast      = 30
)

// width is how many characters are in a line.
func (o *output) width() int {
	if f, ok := o.w.(*os.File); ok && o.tty {
		if w, _, err := term.GetSize(int(f.Fd())); err == nil && w > 0 {
			return w
		}
	}
	return defaultWidth
}

// fitLast cuts the last column, so that lines fit.
func fitLast(header []string, rows [][]string, width int) {
	last := len(header) - 1
	for column := range last {
		most := len(header[column])
		for _, row := range rows {
			most = max(most, utf8.RuneCountInString(oneLine(row[column])))
		}
		width -= most + 2
	}
	for _, row := range rows {
		row[last] = clip(row[last], max(minLast, width))
	}
}
