package main

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/skelegent/skelegent-go/actors/skill"
	"github.com/skelegent/skelegent-go/actors/skill/runner"
	"github.com/skelegent/skelegent-go/protocol"
)

// Limits of scripts.
const (
	scriptTimeout    = 30 * time.Second
	maxScriptTimeout = 5 * time.Minute
)

// scriptTool is the tool that runs scripts for a model; a skill may keep to tools without it.
const scriptTool = "run_skill_script"

// scriptResult is what a script did.
type scriptResult struct {
	ExitCode   int         `json:"exit_code"`
	Stdout     string      `json:"stdout"`
	Stderr     string      `json:"stderr"`
	Sandbox    string      `json:"sandbox"`
	DurationMS int64       `json:"duration_ms"`
	Stopped    runner.Stop `json:"stopped"`
	Truncated  bool        `json:"truncated"`
}

func newSkillsRun(a *app, store *skillStore) *cobra.Command {
	var scopes skillScopes
	var sandbox string
	var timeout time.Duration
	cmd := &cobra.Command{
		Use: "run NAME SCRIPT [-- ARGS...]", Short: "Run a script of a skill, as an agent would", Args: scriptArgs,
		Long: `Run a script of a skill as the tool run_skill_script does: in the skill's directory, without this environment, with
limits of time, memory and output, and in a sandbox if there is one. SCRIPT is a path in the skill's directory.

A script that fails is exit code 1 of this command, and its own exit code is said on the standard error.`,
		Example: `  skelegent skills run code-review scripts/lint.sh
  skelegent skills run report scripts/report.py --sandbox bwrap --timeout 2m -- --month 7 "all of it"`,
	}
	scopes.add(cmd)
	cmd.Flags().StringVar(&sandbox, "sandbox", "auto", "`HOW` it is isolated: bwrap, direct (not at all), or auto, bwrap where it works")
	cmd.Flags().DurationVar(&timeout, "timeout", scriptTimeout, "how long it may take")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		switch {
		case timeout <= 0 || timeout > maxScriptTimeout:
			return usagef("--timeout must be above 0, and %s at most", maxScriptTimeout)
		case sandbox != "auto" && sandbox != runner.NameDirect && sandbox != runner.NameBubblewrap:
			return usagef("--sandbox must be auto, %s or %s", runner.NameDirect, runner.NameBubblewrap)
		}
		known, err := store.open()
		if err != nil {
			return err
		}
		if err := runner.CheckPath(args[1]); err != nil {
			return err
		}
		d, _, err := a.findSkill(cmd, &scopes, known, args[0])
		if err != nil {
			return err
		}
		if !d.Permits(scriptTool) {
			return protocol.NewError(protocol.CodePermissionDenied, fmt.Sprintf("the skill %.100q does not permit the tool %s; it permits: %s",
				d.Name, scriptTool, clip(strings.Join(d.AllowedTools, ", "), maxShown)))
		}
		if err := known.Check(d); err != nil {
			return err
		}
		result, err := runScript(cmd.Context(), sandbox, timeout, d, args[1], args[2:])
		if err != nil {
			return err
		}
		return a.showScript(result, args[1])
	}
	return cmd
}

// scriptArgs refuses what run_skill_script does not take, and arguments that could be meant for this program.
func scriptArgs(cmd *cobra.Command, args []string) error {
	if dash := cmd.ArgsLenAtDash(); len(args) < 2 || (dash >= 0 && dash < 2) {
		return fmt.Errorf("it needs the name of a skill and a script")
	} else if dash > 2 || (dash < 0 && len(args) > 2) {
		return fmt.Errorf("the script's arguments go behind --")
	}
	size := 0
	for _, arg := range args[2:] {
		size += len(arg)
	}
	if len(args)-2 > runner.MaxArgs || size > runner.MaxArgsLength {
		return fmt.Errorf("a script takes at most %d arguments, and %d bytes", runner.MaxArgs, runner.MaxArgsLength)
	}
	return nil
}

func newRunner(ctx context.Context, sandbox string) (runner.Runner, error) {
	cfg := runner.Config{MaxTimeout: maxScriptTimeout}
	switch sandbox {
	case runner.NameDirect:
		return runner.Direct(cfg), nil
	case runner.NameBubblewrap:
		return runner.Bubblewrap(ctx, cfg)
	}
	return runner.Detect(ctx, cfg)
}

func runScript(ctx context.Context, sandbox string, timeout time.Duration, d skill.Descriptor, script string, args []string) (runner.Result, error) {
	run, err := newRunner(ctx, sandbox)
	if err != nil {
		return runner.Result{}, err
	}
	command, err := runner.Script(run, d.Dir, script, args)
	if err != nil {
		return runner.Result{}, err
	}
	return run.Run(ctx, runner.Spec{Command: command, Dir: d.Dir, Timeout: timeout})
}

// showScript prints what a script wrote. That it failed is an error.
func (a *app) showScript(r runner.Result, script string) error {
	if a.flags.json {
		err := a.out.json(scriptResult{
			ExitCode: r.ExitCode, Stdout: r.Stdout, Stderr: r.Stderr, Sandbox: r.Sandbox, DurationMS: r.Duration.Milliseconds(),
			Stopped: r.Stopped, Truncated: r.Truncated,
		})
		if err != nil {
			return err
		}
	} else {
		a.out.print(a.out.text(r.Stdout))
		a.err.print(a.err.text(r.Stderr))
		if r.Stderr != "" && !strings.HasSuffix(r.Stderr, "\n") && (!r.OK() || r.Truncated) {
			a.err.print("\n") // what is said next is a line of its own
		}
		if r.Truncated {
			a.err.print("the script wrote more than is shown\n")
		}
	}
	switch {
	case r.OK():
		return nil
	case r.Stopped == runner.StopTimeout:
		return protocol.NewError(protocol.CodeTimeout, fmt.Sprintf("the script %.100q was stopped after %s; give it longer with --timeout", script, r.Timeout))
	case r.Stopped == runner.StopOutput:
		return protocol.NewError(protocol.CodeQuotaExceeded, fmt.Sprintf("the script %.100q was stopped: it wrote too much", script))
	case r.Stopped == runner.StopProcesses:
		return protocol.NewError(protocol.CodeQuotaExceeded, fmt.Sprintf("the script %.100q was stopped: it started too many processes", script))
	}
	return protocol.NewError(protocol.CodeToolError, fmt.Sprintf("the script %.100q exited with code %d", script, r.ExitCode))
}
