package builtin

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/skelegent/skelegent-go/actors/skill/runner"
	"github.com/skelegent/skelegent-go/actors/tool"
	"github.com/skelegent/skelegent-go/protocol"
)

// Defaults of ShellConfig.
const (
	DefaultShellTimeout    = 30 * time.Second
	DefaultShellMaxTimeout = 5 * time.Minute
	DefaultShellMaxOutput  = 32 << 10
)

// maxCommand is the longest command, in bytes.
const maxCommand = 32 << 10

// ShellConfig is what commands a Shell runs, and how.
type ShellConfig struct {
	// Runner runs them. A direct one lets them do all that the node's user may; see package runner.
	Runner runner.Runner
	// Dir is the directory that they run in, an absolute path. It must exist.
	Dir string
	// Allow are the commands that need no approval. "git status" is that command and no other; "git log *" is git log with
	// any arguments, also none. A program with any arguments can often be made to run others, as find, git and env can, or
	// to write files: list only what may do all that its options let it.
	Allow []string
	// OnlyAllowed refuses every other command, instead of asking a person: for nodes where there is none.
	OnlyAllowed bool
	// ReadOnly keeps commands from writing in Dir. It needs a sandbox.
	ReadOnly bool
	// Network lets commands use the network of the node. Without a sandbox they always can.
	Network bool
	// Env are further variables, as of runner.Spec.
	Env map[string]string
	// Syntax is runner.ShellBash, also if empty, or runner.ShellPowerShell.
	Syntax string
	// Timeout is how long a command may take that does not say; DefaultShellTimeout if 0.
	Timeout time.Duration
	// MaxTimeout is the longest that a command can ask for; DefaultShellMaxTimeout if 0. The runner's own limit stays.
	MaxTimeout time.Duration
	// MaxOutput is how many bytes are kept of standard output and of standard error; DefaultShellMaxOutput if 0.
	MaxOutput int
}

// Shell is the skill shell: the tool shell, {"command","timeout"}, runs a command and returns its exit code and what it
// wrote.
//
// A person must allow each call, but for commands of ShellConfig.Allow. Those must be plain words, in which no character
// outside of quotes means anything to a shell, and no $, ` or \ within double ones: what was compared with the list is what
// runs, word by word and without a shell. Everything else runs in a shell, once it was allowed.
//
// A command that ends with another exit code than 0, or that is killed at a limit, is a result and no error. Calls are never
// made again, and run alone.
type Shell struct {
	config ShellConfig
	allow  []allowed
}

// NewShell returns the skill. The error says what of the configuration cannot be used.
func NewShell(c ShellConfig) (*Shell, error) {
	switch {
	case c.Runner == nil:
		return nil, badConfig(NameShell, "it needs a runner")
	case !filepath.IsAbs(c.Dir):
		return nil, badConfig(NameShell, "the directory must be an absolute path")
	case c.ReadOnly && c.Runner.Name() == runner.NameDirect:
		return nil, badConfig(NameShell, "read-only needs a sandbox")
	case c.OnlyAllowed && len(c.Allow) == 0:
		return nil, badConfig(NameShell, "no command is allowed")
	case c.Syntax != "" && c.Syntax != runner.ShellBash && c.Syntax != runner.ShellPowerShell:
		return nil, badConfig(NameShell, "there is no syntax "+quoted(c.Syntax))
	}
	allow, err := parseAllow(c.Allow)
	if err != nil {
		return nil, err
	}
	if !c.OnlyAllowed {
		if _, err := runner.Shell(c.Runner, c.Syntax, "exit"); err != nil {
			return nil, badConfig(NameShell, protocol.AsError(err).Message).Because(err)
		}
	}
	set(&c.Timeout, DefaultShellTimeout)
	set(&c.MaxTimeout, DefaultShellMaxTimeout)
	set(&c.MaxOutput, DefaultShellMaxOutput)
	c.Allow = slices.Clone(c.Allow)
	return &Shell{config: c, allow: allow}, nil
}

// Name implements Code.
func (*Shell) Name() string { return NameShell }

// Description implements Code.
func (*Shell) Description() string { return "Runs commands in a shell." }

// Prompt implements Code.
func (s *Shell) Prompt() string {
	text := "You can run commands with the tool shell, in a working directory that stays the same: cd does not last from one call " +
		"to the next. Nobody answers a command that asks something. Prefer one short command to a long script, and look at the " +
		"exit code."
	list := strings.Join(s.config.Allow, "\n  ")
	switch {
	case s.config.OnlyAllowed:
		return text + " Only these commands are allowed, as plain words without pipes, variables or other signs of a shell; * is " +
			"any arguments:\n  " + list
	case list != "":
		return text + " A person must allow each command, but for these, as plain words without pipes, variables or other signs of " +
			"a shell; * is any arguments:\n  " + list
	}
	return text + " A person must allow each command."
}

// Tools implements Code.
func (s *Shell) Tools() []tool.Tool {
	var opts []tool.Option
	switch {
	case s.config.OnlyAllowed: // what is not allowed is refused when it is called
	case len(s.allow) == 0:
		opts = []tool.Option{tool.RequiresApproval()}
	default:
		opts = []tool.Option{tool.RequiresApprovalIf("the command is not one of those that are allowed", s.needsApproval)}
	}
	description := fmt.Sprintf("Runs a command and returns its exit code, standard output and standard error. It may take %v, "+
		"or as many seconds as timeout says, up to %v.", s.config.Timeout, s.config.MaxTimeout)
	return []tool.Tool{tool.Func("shell", description, s.run, opts...)}
}

type shellInput struct {
	Command string  `json:"command" jsonschema:"the command, as it would be typed"`
	Timeout float64 `json:"timeout,omitempty" jsonschema:"how long it may take, in seconds"`
}

type shellResult struct {
	ExitCode int    `json:"exit_code"`
	Stdout   string `json:"stdout"`
	Stderr   string `json:"stderr"`
	// Truncated says that it wrote more than is here.
	Truncated bool `json:"truncated,omitempty"`
	// Stopped says why it was killed: timeout, output or processes.
	Stopped string `json:"stopped,omitempty"`
}

// needsApproval reads the input as run does, so that both see the same command.
func (s *Shell) needsApproval(input json.RawMessage) bool {
	var in shellInput
	if err := json.Unmarshal(input, &in); err != nil {
		return true
	}
	_, ok := s.allowed(in.Command)
	return !ok
}

// allowed returns the words of a command that is on the list.
func (s *Shell) allowed(command string) ([]string, bool) {
	words, ok := plainWords(command)
	return words, ok && slices.ContainsFunc(s.allow, func(a allowed) bool { return a.matches(words) })
}

func (s *Shell) run(ctx context.Context, in shellInput) (shellResult, error) {
	switch {
	case strings.TrimSpace(in.Command) == "" || strings.ContainsRune(in.Command, 0):
		return shellResult{}, protocol.ErrToolInput("field command: must not be empty or hold a NUL")
	case len(in.Command) > maxCommand:
		return shellResult{}, protocol.ErrToolInput(fmt.Sprintf("field command: must not have more than %d bytes", maxCommand))
	case in.Timeout < 0:
		return shellResult{}, protocol.ErrToolInput("field timeout: must not be negative")
	}
	spec := runner.Spec{
		Dir: s.config.Dir, Env: s.config.Env, Network: s.config.Network, Timeout: s.timeout(in.Timeout),
		MaxOutput: s.config.MaxOutput,
	}
	if !s.config.ReadOnly {
		spec.Writable = []string{s.config.Dir}
	}
	if session := tool.CallFrom(ctx).Session; session != nil {
		spec.SessionID = string(*session)
	}
	words, plain := s.allowed(in.Command)
	var err error
	switch {
	case plain:
		var program string
		if program, err = s.config.Runner.LookPath(words[0]); errors.Is(err, exec.ErrNotFound) {
			return shellResult{ExitCode: 127, Stderr: words[0] + ": not found"}, nil // as a shell has it
		}
		spec.Command = append([]string{program}, words[1:]...)
	case s.config.OnlyAllowed:
		return shellResult{}, ofKind(KindNotAllowed, protocol.CodePermissionDenied,
			"the command is not one of those that are allowed, or not in plain words")
	default:
		spec.Command, err = runner.Shell(s.config.Runner, s.config.Syntax, in.Command)
	}
	if err != nil {
		return shellResult{}, err
	}
	r, err := s.config.Runner.Run(ctx, spec)
	if err != nil {
		return shellResult{}, err
	}
	return shellResult{
		ExitCode: r.ExitCode, Stdout: r.Stdout, Stderr: r.Stderr, Truncated: r.Truncated, Stopped: string(r.Stopped),
	}, nil
}

// timeout is the limit of a command that asked for seconds.
func (s *Shell) timeout(seconds float64) time.Duration {
	switch limit := s.config.MaxTimeout; {
	case seconds == 0:
		return min(s.config.Timeout, limit)
	case seconds >= limit.Seconds():
		return limit
	default:
		return max(time.Millisecond, time.Duration(seconds*float64(time.Second)))
	}
}
