package kit

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"path/filepath"
	"strings"
	"time"

	"go.uber.org/zap"

	"github.com/skelegent/skelegent-go/actors/skill"
	"github.com/skelegent/skelegent-go/actors/skill/runner"
	"github.com/skelegent/skelegent-go/actors/step"
	"github.com/skelegent/skelegent-go/protocol"
)

// exitBlock is the exit code by which a hook blocks; what it wrote to standard error is the reason.
const exitBlock = 2

// answer is what one action of a hook says. That of a command is recorded in a durable run.
type answer struct {
	Block       bool            `json:"block,omitempty"`
	Reason      string          `json:"reason,omitempty"`
	Decision    skill.Decision  `json:"decision,omitempty"`
	Suggestions []string        `json:"suggestions,omitempty"`
	Input       json.RawMessage `json:"input,omitempty"`
	Mode        mode            `json:"mode,omitempty"`
	Stop        bool            `json:"stop,omitempty"` // no further hooks
}

// command runs the command of a hook, once for a run that is recorded.
func (k *Kit) command(ctx context.Context, d skill.Descriptor, a skill.HookAction, e event, until time.Time) (answer, error) {
	return step.Do(ctx, "skill hook "+clip(d.Name, maxShown), func(ctx context.Context) (answer, error) {
		said, failure := k.ask(ctx, d, a, e, until)
		if err := ctx.Err(); err != nil {
			return answer{}, err
		}
		if failure == "" {
			return said, nil
		}
		k.log.Warn("a hook failed", zap.String("skill", shown(d.Name)), zap.String("event", e.name),
			zap.String("then", string(k.cfg.OnHookFailure)))
		if k.cfg.OnHookFailure == FailOpen {
			return answer{}, nil
		}
		return answer{Block: true, Reason: "Hook " + failure}, nil
	})
}

// ask runs the command of a hook and returns what it says, or why it says nothing.
func (k *Kit) ask(ctx context.Context, d skill.Descriptor, a skill.HookAction, e event, until time.Time) (said answer, failure string) {
	limit := a.Timeout
	set(&limit, skill.DefaultHookTimeout)
	limit = min(limit, skill.MaxHookTimeout, time.Until(until))
	switch {
	case k.cfg.Runner == nil || d.Dir == "" || !d.RunsCommands():
		return said, "could not be run: no command of this skill is run here"
	case limit <= 0:
		return said, "could not be run: the hooks of this call took too long"
	}
	if err := k.trusted(d); err != nil {
		return said, "could not be run: the skill is not trusted: " + clip(oneLine(err.Error()), maxReason)
	}
	stdin, err := e.json()
	if err != nil {
		return said, "could not be told of the call"
	}
	shell := a.Shell
	set(&shell, d.Shell)
	argv, err := runner.Shell(k.cfg.Runner, shell, a.Command)
	if err != nil {
		return said, "could not be run: " + protocol.AsError(err).Message
	}
	if name := filepath.Base(argv[0]); strings.HasPrefix(name, "pwsh") || strings.HasPrefix(name, "powershell") {
		last := len(argv) - 1 // other shells have the variables of the environment by the same names
		argv[last] = strings.NewReplacer("${SKILL_DIR}", "${env:SKILL_DIR}", "${CLAUDE_SKILL_DIR}", "${env:SKILL_DIR}",
			"${CLAUDE_PLUGIN_ROOT}", "${env:SKILL_DIR}").Replace(argv[last])
	}
	r, err := k.cfg.Runner.Run(ctx, k.spec(ctx, d, runner.Spec{
		Command: argv, Stdin: stdin, Timeout: limit, MaxOutput: k.cfg.Limits.Output, Env: map[string]string{"CLAUDE_PLUGIN_ROOT": d.Dir},
	}))
	switch {
	case err != nil:
		return said, "could not be run: " + protocol.AsError(err).Message
	case r.Stopped == runner.StopTimeout:
		return said, fmt.Sprintf("timed out after %gs", r.Timeout.Seconds())
	case r.Stopped != "":
		return said, "was killed for its " + string(r.Stopped)
	}
	return understand(r)
}

// json is the line that a hook reads.
func (e event) json() ([]byte, error) {
	raw, err := protocol.Marshal(struct {
		Event  string          `json:"hook_event_name"`
		Tool   string          `json:"tool_name"`
		Input  json.RawMessage `json:"tool_input"`
		Output *string         `json:"tool_output"`
		Failed bool            `json:"tool_error,omitempty"`
	}{e.name, e.tool, e.input, e.output, e.failed})
	return append(raw, '\n'), err
}

// written is what a hook writes. What else it writes counts nothing.
type written struct {
	Decision    string          `json:"decision"`
	Reason      string          `json:"reason"`
	Input       json.RawMessage `json:"updatedInput"`
	Continue    json.RawMessage `json:"continue"`
	Permission  skill.Decision  `json:"permission_decision"`
	Because     string          `json:"permission_reason"`
	Suggestions []string        `json:"permission_suggestions"`
	Mode        mode            `json:"permission_mode"`
}

// understand reads what a hook wrote. What is not meant to be JSON counts nothing; JSON that cannot be read is a failure.
func understand(r runner.Result) (said answer, failure string) {
	var w written
	out := bytes.TrimSpace([]byte(r.Stdout))
	if len(out) > 0 && out[0] == '{' {
		if r.Truncated || json.Unmarshal(out, &w) != nil {
			failure = "wrote an answer that cannot be read"
		}
	} else if r.Truncated {
		failure = "wrote too much"
	}
	switch {
	case r.ExitCode == exitBlock:
		reason := oneLine(r.Stderr)
		set(&reason, oneLine(w.Reason))
		set(&reason, fmt.Sprintf("Hook exited with code %d", exitBlock))
		return answer{Block: true, Reason: clip(reason, maxReason)}, ""
	case failure != "":
		return said, failure
	case r.ExitCode != 0 && w.Decision != "block" && w.Decision != "allow":
		return said, fmt.Sprintf("exited with code %d", r.ExitCode)
	}
	return w.answer()
}

func (w written) answer() (said answer, failure string) {
	said.Reason = clip(oneLine(w.Reason), maxReason)
	switch w.Decision {
	case "", "allow", "approve":
	case "block", "deny":
		said.Block = true
		set(&said.Reason, "Hook blocked the call")
	default:
		return answer{}, "wrote a decision that there is not"
	}
	switch w.Permission {
	case "":
	case skill.DecisionAllow, skill.DecisionAsk, skill.DecisionDeny:
		said.Decision = w.Permission
		if !said.Block {
			set(&w.Because, w.Reason)
			said.Reason = clip(oneLine(w.Because), maxReason)
		}
		if said.Decision == skill.DecisionDeny {
			set(&said.Reason, "Hook denied")
		}
	default:
		return answer{}, "wrote a permission_decision that there is not"
	}
	for _, s := range w.Suggestions[:min(len(w.Suggestions), skill.MaxHookSuggestions)] {
		said.Suggestions = append(said.Suggestions, clip(oneLine(s), maxShown))
	}
	if in := bytes.TrimSpace(w.Input); len(in) > 0 && string(in) != "null" {
		if in[0] != '{' {
			return answer{}, "wrote an updatedInput that is no object"
		}
		said.Input = in
	}
	if w.Mode.known() {
		said.Mode = w.Mode
	}
	said.Stop = string(bytes.TrimSpace(w.Continue)) == "false"
	return said, ""
}
