package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/skelegent/skelegent-go/actors/skill"
	"github.com/skelegent/skelegent-go/protocol"
)

func newSkillsValidate(a *app) *cobra.Command {
	return &cobra.Command{
		Use: "validate DIR...", Short: "Check skills against the specification", Args: cobra.MinimumNArgs(1),
		Long: `Check skills against the specification, more strictly than an agent does that uses them. DIR is a skill's directory, its
SKILL.md, or a directory that has skills below. The exit code is 1 if there is an error, and 0 with warnings only.`,
		Example: "  skelegent skills validate skills/code-review\n  skelegent skills validate skills .agents/skills --json",
		RunE: func(cmd *cobra.Command, args []string) error {
			var dirs []string
			seen := map[string]bool{}
			for _, arg := range args {
				if arg == "" {
					return usagef("DIR must not be empty")
				}
				found, err := skillDirs(cmd.Context(), arg)
				if err != nil {
					return err
				}
				for _, dir := range found {
					if abs := absolute(dir); !seen[abs] {
						seen[abs] = true
						dirs = append(dirs, dir)
					}
				}
			}
			all := []skill.Diagnostic{}
			for _, dir := range dirs {
				if err := stopped(cmd.Context()); err != nil {
					return err
				}
				all = append(all, skill.Validate(dir)...)
			}
			return a.showValidation(len(dirs), all)
		},
	}
}

func (a *app) showValidation(skills int, ds []skill.Diagnostic) error {
	failures, warnings := countDiagnostics(ds)
	if a.flags.json {
		err := a.out.json(struct {
			Skills      int                `json:"skills"`
			Diagnostics []skill.Diagnostic `json:"diagnostics"`
		}{skills, ds})
		if err != nil {
			return err
		}
	} else {
		for _, d := range ds {
			a.out.print(diagnosticText(a.out, d) + "\n")
		}
		a.out.printf("%s, %s, %s\n", number(skills, "skill"), number(failures, "error"), number(warnings, "warning"))
	}
	if failures > 0 {
		return fmt.Errorf("not as the specification has it: %s", number(failures, "error"))
	}
	return nil
}

// Bounds of the search for skills below a directory; those of their discovery.
const (
	maxSkillDepth = skill.DefaultMaxDepth
	maxSkillDirs  = skill.DefaultMaxDirs
)

// withoutSkills are directories that are not searched.
var withoutSkills = map[string]bool{
	".git": true, "node_modules": true, "target": true, "__pycache__": true, ".venv": true, "dist": true, "build": true,
}

// skillDirs are the directories of the skills that a path means: its own, or those below. If there are none it is the path, and what
// validates it says so.
func skillDirs(ctx context.Context, path string) ([]string, error) {
	if filepath.Base(path) == skill.FileName && !isDir(path) {
		return []string{filepath.Dir(path)}, nil
	}
	var found []string
	looked := 0
	level := []string{filepath.Clean(path)}
	for depth := 0; depth <= maxSkillDepth && len(level) > 0; depth++ {
		var below []string
		for _, dir := range level {
			if err := stopped(ctx); err != nil {
				return nil, err
			}
			if looked++; looked > maxSkillDirs {
				return nil, protocol.NewError(protocol.CodeQuotaExceeded,
					fmt.Sprintf("there are more than %d directories in %.200q; name those of skills", maxSkillDirs, path))
			}
			if _, err := os.Lstat(filepath.Join(dir, skill.FileName)); err == nil {
				found = append(found, dir)
				continue
			}
			entries, err := os.ReadDir(dir)
			if err != nil && depth > 0 {
				return nil, unreadableDir(dir, err)
			}
			for _, e := range entries { // links are not followed: what is in the directory is found without them
				if e.IsDir() && !withoutSkills[e.Name()] {
					below = append(below, filepath.Join(dir, e.Name()))
				}
			}
		}
		level = below
	}
	if len(found) == 0 {
		found = []string{path}
	}
	return found, nil
}

func isDir(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.IsDir()
}

func unreadableDir(dir string, err error) error {
	code := protocol.CodeInvalidInput
	if errors.Is(err, fs.ErrPermission) {
		code = protocol.CodePermissionDenied
	}
	return protocol.NewError(code, fmt.Sprintf("the directory %.200q cannot be read", dir)).Because(err)
}
