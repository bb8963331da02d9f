package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/spf13/cobra"
)

// commands are all that there are, in the order of the help.
func commands() []func(*app) *cobra.Command {
	return []func(*app) *cobra.Command{
		newUp, newDemo, newDispatch, newChat, newResult, newRuns, newShow, newInbox, newApprove, newDeny, newCancel, newPause,
		newResume, newSteer, newSignal, newQuery, newForget, newRecord, newReplay, newCheck, newOperators, newEvents, newEffects,
		newDead, newState, newSkills, newDoctor, newVersion,
	}
}

// app is what the commands of one invocation share.
type app struct {
	in     io.Reader
	inTTY  bool
	out    *output
	err    *output
	getenv func(string) string
	flags  globals

	interrupts interrupts
}

func newRoot(stdout, stderr io.Writer, stdin io.Reader) *cobra.Command {
	return newApp(stdout, stderr, stdin, os.Getenv).root()
}

func newApp(stdout, stderr io.Writer, stdin io.Reader, getenv func(string) string) *app {
	colour := getenv("NO_COLOR") == "" && getenv("TERM") != "dumb"
	return &app{
		in: stdin, inTTY: isTerminal(stdin), out: newOutput(stdout, colour), err: newOutput(stderr, colour), getenv: getenv,
	}
}

func (a *app) root() *cobra.Command {
	root := &cobra.Command{
		Use:   "skelegent",
		Short: "Event-driven actors for LLM agents on NATS",
		Long: `Skelegent runs operators (agents, tools, functions) as actors on NATS, and talks to them.

Exit codes: 0 done, 1 failed, 2 wrong usage.`,
		Example: `  skelegent dispatch echo "Hello there"
  skelegent chat assistant
  skelegent runs
  skelegent inbox
  skelegent operators
  skelegent --nats nats://nats.example:4222 --creds me.creds doctor`,
		SilenceErrors: true, SilenceUsage: true,
		PersistentPreRunE: func(cmd *cobra.Command, _ []string) error { return a.flags.settle(cmd, a.getenv) },
		RunE:              func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	root.SetOut(a.out)
	root.SetErr(a.err)
	root.SetIn(a.in)
	a.flags.add(root.PersistentFlags())
	for _, command := range commands() {
		root.AddCommand(command(a))
	}
	root.SetHelpCommand(newHelp())
	root.InitDefaultCompletionCmd()
	for _, cmd := range root.Commands() {
		if cmd.Name() == "completion" {
			cmd.Example = "  skelegent completion bash > /etc/bash_completion.d/skelegent\n  source <(skelegent completion zsh)"
			group(cmd)
		}
	}
	a.wrap(root)
	return root
}

// wrap tells errors of commands apart from wrong usage, in the whole tree.
func (a *app) wrap(cmd *cobra.Command) {
	if cmd.RunE != nil {
		cmd.RunE = a.run(cmd.RunE)
	}
	for _, below := range cmd.Commands() {
		a.wrap(below)
	}
}

// newHelp is cobra's help command, but an unknown topic is wrong usage.
func newHelp() *cobra.Command {
	return &cobra.Command{
		Use: "help [COMMAND]", Short: "Help about a command", Example: "  skelegent help dispatch",
		RunE: func(cmd *cobra.Command, args []string) error {
			topic, rest, err := cmd.Root().Find(args)
			if err != nil || len(rest) > 0 {
				return usagef("unknown help topic %q", strings.Join(args, " "))
			}
			topic.InitDefaultHelpFlag()
			return topic.Help()
		},
	}
}

// group is a command that only has others below it.
func group(cmd *cobra.Command, below ...*cobra.Command) *cobra.Command {
	cmd.AddCommand(below...)
	var names []string
	for _, b := range cmd.Commands() {
		names = append(names, b.Name())
	}
	cmd.Args = cobra.ArbitraryArgs
	cmd.RunE = func(_ *cobra.Command, args []string) error {
		if len(args) > 0 {
			return usagef("unknown command %q for %q: say one of %s", args[0], cmd.CommandPath(), strings.Join(names, ", "))
		}
		return usagef("%s needs to know what: one of %s", cmd.CommandPath(), strings.Join(names, ", "))
	}
	return cmd
}

// execute runs a command line and returns the exit code.
func execute(ctx context.Context, root *cobra.Command, args []string) int {
	root.SetArgs(args)
	cmd, err := root.ExecuteContextC(ctx)
	if err == nil {
		return exitDone
	}
	code, text := report(err)
	if code == exitUsage {
		text = fmt.Sprintf("%s; see `%s --help`", text, cmd.CommandPath())
	}
	_, _ = fmt.Fprintln(root.ErrOrStderr(), text) // there is nowhere left to say that this failed
	return code
}
