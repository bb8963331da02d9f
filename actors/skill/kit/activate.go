package kit

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/skelegent/skelegent-go/actors/skill"
	"github.com/skelegent/skelegent-go/actors/skill/runner"
	"github.com/skelegent/skelegent-go/actors/tool"
	"github.com/skelegent/skelegent-go/protocol"
)

// maxReason is how much of a reason from outside is shown, in bytes.
const maxReason = 1024

// maxInline is how much of a command's output goes into a body, in bytes.
const maxInline = 16 << 10

func notActivated(name, why string) error {
	return soft("Failed to activate skill " + shown(name) + ": " + why)
}

// activate is the tool activate_skill.
func (k *Kit) activate(ctx context.Context, s *session, in fields, limit int) (tool.Result, error) {
	name, err := in.required("name")
	if err != nil {
		return tool.Result{}, err
	}
	arguments, _, err := in.optional("arguments")
	if err != nil {
		return tool.Result{}, err
	}
	path, given, err := in.optional("context_path")
	if err != nil {
		return tool.Result{}, err
	}
	all := k.Catalogue()
	d, known := all.Get(name)
	if err := matches(d, path, given); err != nil {
		return tool.Result{}, err
	}
	switch {
	case s.has(name):
		return output("Skill " + shown(name) + " is already activated; its instructions are in the conversation above."), nil
	case !known:
		return tool.Result{}, notActivated(name, "skill "+shown(name)+" not found in catalog")
	}
	order, ds := all.Order(name)
	order = slices.DeleteFunc(order, s.has)
	now, size := s.begun(), 0
	if len(now)+len(order) > MaxActive {
		return tool.Result{}, notActivated(name, fmt.Sprintf("more than %d skills would be active", MaxActive))
	}
	left := &allowance{until: time.Now().Add(k.cfg.Limits.Activation), bytes: limit / 2}
	var blocks []string
	for _, each := range order {
		e, _ := all.Get(each)
		b := begun{Name: each}
		if each == name {
			b.Arguments = arguments
		}
		block, err := k.content(ctx, e, b.Arguments, left)
		if err != nil {
			if ctx.Err() == nil && each != name {
				err = fmt.Errorf("it depends on %s: %w", shown(each), err)
			}
			return tool.Result{}, notActivated(name, reason(err))
		}
		if size += len(block); size > limit {
			return tool.Result{}, tooLarge(name, size, limit)
		}
		blocks, now = append(blocks, block), append(now, b)
	}
	for _, note := range ds {
		blocks = append(blocks, "Note: "+clip(neutral(oneLine(note.Message)), maxReason))
	}
	text := strings.Join(blocks, "\n\n")
	if room := s.room(); len(text) > room {
		return tool.Result{}, notActivated(name, fmt.Sprintf(
			"its instructions take %d bytes, and %d are left of the %d that all active skills may take", len(text), max(0, room), MaxShown))
	}
	if len(text) > limit {
		return tool.Result{}, tooLarge(name, len(text), limit)
	}
	res := output(text)
	if session := tool.RunFrom(ctx).Session; session != nil && k.cfg.State != nil {
		res.Effects = protocol.Effects{remember(ctx, string(*session), now)}
	}
	return res, nil
}

func tooLarge(name string, size, limit int) error {
	return notActivated(name, fmt.Sprintf("its instructions take %d bytes, and %d can be shown", size, limit))
}

// matches returns what is wrong with the path of a skill that is for some files only.
func matches(d skill.Descriptor, path string, given bool) error {
	globs := clip(oneLine(strings.Join(d.Paths, ", ")), maxReason)
	switch {
	case len(d.Paths) == 0:
		return nil
	case !given || path == "":
		return notActivated(d.Name, "it needs a matching context_path; it is for: "+globs)
	case !d.MatchesPath(path):
		return notActivated(d.Name, "context_path "+shown(path)+" does not match; expected: "+globs)
	}
	return nil
}

// reason is the text of an error of this library or of Config.Trusted.
func reason(err error) string {
	text := err.Error()
	return clip(text, maxReason)
}

// allowance is what the commands of an activation may still take.
type allowance struct {
	until time.Time
	bytes int
}

// content is what a model is shown of a skill, with its variables and commands replaced.
func (k *Kit) content(ctx context.Context, d skill.Descriptor, arguments string, left *allowance) (string, error) {
	if err := k.trusted(d); err != nil {
		return "", err
	}
	c, err := skill.Load(d)
	if err != nil {
		return "", err
	}
	vars := skill.Vars{SessionID: k.cfg.Session(ctx), Arguments: strings.Fields(arguments)}
	c, _, err = c.Expand(ctx, vars, func(ctx context.Context, command string) string { return k.inline(ctx, d, command, left) })
	if err != nil {
		return "", err
	}
	block := c.PromptBlock()
	if !slices.Equal(namesIn(block), []string{d.Name}) { // it is by the block that a conversation knows what is active
		return "", refuse("its name cannot be shown as it is, and would be taken for another")
	}
	return block, nil
}

// inline runs a command of a body and returns what stands in its place.
func (k *Kit) inline(ctx context.Context, d skill.Descriptor, command string, left *allowance) string {
	if k.cfg.Runner == nil {
		return "[error: no command is run here]"
	}
	limit := min(k.cfg.Limits.Command, time.Until(left.until))
	switch {
	case limit <= 0:
		return runner.InlineText(runner.Result{Stopped: runner.StopTimeout, Timeout: k.cfg.Limits.Activation}, nil)
	case left.bytes <= 0:
		return runner.InlineText(runner.Result{Stopped: runner.StopOutput}, nil)
	}
	argv, err := runner.Shell(k.cfg.Runner, d.Shell, command)
	if err != nil {
		return runner.InlineText(runner.Result{}, err)
	}
	r, err := k.cfg.Runner.Run(ctx, k.spec(ctx, d, runner.Spec{Command: argv, Timeout: limit, MaxOutput: min(maxInline, left.bytes)}))
	text := runner.InlineText(r, err)
	left.bytes -= len(text)
	return text
}
