package main

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/skelegent/skelegent-go/actors/skill"
)

// skillView is a skill with all that is known of it.
type skillView struct {
	Skill     skill.Descriptor `json:"skill"`
	Trusted   bool             `json:"trusted"`
	Resources []skill.Resource `json:"resources"`
	More      int              `json:"more,omitempty"` // resources that are not listed
	// Commands are those that are run when the skill is activated.
	Commands    []string           `json:"commands"`
	Diagnostics []skill.Diagnostic `json:"diagnostics"`
	Prompt      string             `json:"prompt,omitempty"`
}

func newSkillsShow(a *app, store *skillStore) *cobra.Command {
	var scopes skillScopes
	var prompt bool
	cmd := &cobra.Command{
		Use: "show NAME", Short: "Show a skill: what it is, has and runs", Args: cobra.ExactArgs(1),
		Long: `Show a skill: what it is, its resources and hooks, and the commands that are run when it is activated. Nothing is run.
With --prompt it is what a model is shown when it activates the skill, with the commands as they are.`,
		Example: "  skelegent skills show code-review\n  skelegent skills show code-review --prompt | wc -c\n  skelegent skills show tea --dir vendor/skills --json",
	}
	scopes.add(cmd)
	cmd.Flags().BoolVar(&prompt, "prompt", false, "print what a model is shown")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		known, err := store.open()
		if err != nil {
			return err
		}
		d, found, err := a.findSkill(cmd, &scopes, known, args[0])
		if err != nil {
			return err
		}
		content, err := skill.Load(d)
		if err != nil {
			return err
		}
		segments, ds := skill.Segments(content.Instructions)
		v := skillView{
			Skill: d, Trusted: known.Check(d) == nil, Resources: content.Resources, More: content.More, Commands: []string{},
			Diagnostics: diagnosticsOf(d, found.Diagnostics(), ds),
		}
		if v.Resources == nil {
			v.Resources = []skill.Resource{}
		}
		for _, s := range segments {
			if s.Command != "" {
				v.Commands = append(v.Commands, s.Command)
			}
		}
		if prompt {
			shown, _, err := content.Expand(cmd.Context(), skill.Vars{}, nil) // no function, so nothing runs
			if err != nil {
				return err
			}
			v.Prompt = shown.PromptBlock()
		}
		return a.showSkill(v)
	}
	return cmd
}

// diagnosticsOf are those of one skill's file.
func diagnosticsOf(d skill.Descriptor, all, body []skill.Diagnostic) []skill.Diagnostic {
	own := []skill.Diagnostic{}
	for _, one := range all {
		if one.File == d.Location {
			own = append(own, one)
		}
	}
	for _, one := range body {
		one.File, one.Line, one.Column = d.Location, 0, 0 // its line is that of the body
		own = append(own, one)
	}
	return own
}

func (a *app) showSkill(v skillView) error {
	if a.flags.json {
		return a.out.json(v)
	}
	a.showDiagnostics(v.Diagnostics)
	if v.Prompt != "" {
		text := v.Prompt
		if a.out.tty {
			text = visible(a.out.text(text))
		}
		a.out.print(text + "\n")
		return nil
	}
	for _, line := range v.lines() {
		a.out.printf("%-15s%s\n", line[0], visible(oneLine(line[1])))
	}
	return nil
}

// lines are what is known of a skill, each with what it is.
func (v *skillView) lines() [][2]string {
	d := v.Skill
	trusted := "not trusted"
	if v.Trusted {
		trusted = "trusted"
	}
	all := [][2]string{{"name", d.Name}, {"description", d.Description}, {"scope", string(d.Source) + ", " + trusted}, {"file", d.Location}}
	add := func(what string, texts ...string) {
		for _, text := range texts {
			if text != "" {
				all = append(all, [2]string{what, text})
				what = ""
			}
		}
	}
	add("license", d.License)
	add("compatibility", d.Compatibility)
	for i, key := range slices.Sorted(maps.Keys(d.Metadata)) {
		what := "metadata"
		if i > 0 {
			what = ""
		}
		all = append(all, [2]string{what, key + ": " + d.Metadata[key]})
	}
	add("tools", strings.Join(d.AllowedTools, " "))
	add("files", strings.Join(d.Paths, " "))
	add("depends on", strings.Join(d.DependsOn, " "))
	add("shell", d.Shell)
	commands := make([]string, len(v.Commands))
	for i, c := range v.Commands {
		commands[i] = commandText(c)
	}
	add("runs", commands...)
	add("hooks", append(hookLines("before", d.Hooks.PreToolUse), hookLines("after", d.Hooks.PostToolUse)...)...)
	resources := make([]string, len(v.Resources))
	for i, r := range v.Resources {
		resources[i] = r.Path + " (" + string(r.Kind) + ")"
	}
	if v.More > 0 {
		resources = append(resources, fmt.Sprintf("and %d more", v.More))
	}
	add("resources", resources...)
	return all
}

// hookLines are what is done at calls of tools.
func hookLines(when string, rules []skill.HookRule) []string {
	var all []string
	for _, r := range rules {
		for _, act := range r.Actions {
			text := ""
			switch act.Type {
			case skill.HookCommand:
				text = act.Command
			case skill.HookPrompt:
				text = clip(act.Prompt, maxShown)
			case skill.HookPermission:
				text = strings.TrimSpace(string(act.Decision) + " " + act.Reason)
			}
			all = append(all, commandText(fmt.Sprintf("%s %s: %s: %s", when, r.Matcher, act.Type, text)))
		}
	}
	return all
}

// maxCommandShown is how much of a command is shown: whoever looks at what a skill runs should not miss its end.
const maxCommandShown = 4000

// commandText is a command on one line.
func commandText(c string) string {
	return clip(strings.ReplaceAll(strings.TrimSpace(c), "\n", `\n`), maxCommandShown)
}
