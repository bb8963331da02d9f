package kit

import (
	"context"
	"encoding/json"
	"html"
	"regexp"
	"time"

	"go.uber.org/zap"

	"github.com/skelegent/skelegent-go/actors/engine"
	"github.com/skelegent/skelegent-go/actors/skill"
	"github.com/skelegent/skelegent-go/actors/step"
	"github.com/skelegent/skelegent-go/protocol"
)

// source is that of the messages by which skills speak.
const source = "skill:"

// snapshot is what a run takes from outside of its conversation, recorded where it is durable: so a run that goes on decides the
// same, whatever has become of the files.
type snapshot struct {
	Active     []inForce          `json:"active,omitempty"`
	Texts      []string           `json:"texts,omitempty"` // of those that were active in earlier turns, in the order of Active
	Discovered []skill.Descriptor `json:"discovered,omitempty"`
}

const snapshotStep = "skills"

// begin looks at messages that came in: which skills do they show as active? The first time it also takes what the state has.
func (k *Kit) begin(ctx context.Context, c *engine.Context) error {
	s := k.of(c)
	shown := shownIn(c.Conversation())
	var fresh []begun
	for _, b := range shown {
		if !s.has(b.Name) {
			fresh = append(fresh, b)
		}
	}
	if !s.looked {
		s.showed(shownBytes(c.Conversation()))
	}
	outside := !s.looked && (k.cfg.HooksAtDiscovery || k.cfg.State != nil)
	s.looked = true
	if len(fresh) == 0 && !outside {
		return nil
	}
	if err := c.SetPolicy(protocol.PolicyPinned, func(m protocol.Message) bool { return len(activatedBy(m)) > 0 }); err != nil {
		return err
	}
	snap, err := step.Do(ctx, snapshotStep, func(ctx context.Context) (snapshot, error) {
		snap := snapshot{Active: k.known(fresh)}
		if !outside {
			return snap, nil
		}
		if k.cfg.HooksAtDiscovery {
			snap.Discovered = k.withHooks()
		}
		return snap, k.restore(ctx, shown, &snap)
	})
	if err != nil {
		return err
	}
	s.add(snap.Active...)
	if outside {
		s.discovered = snap.Discovered
	}
	for i := len(snap.Texts) - 1; i >= 0; i-- {
		m := protocol.PinnedMessage(protocol.RoleSystem, protocol.TextContent(snap.Texts[i]))
		m.Meta.Source = new(source + snap.Active[len(fresh)+i].Skill.Name)
		if err := c.InjectAt(m, protocol.Front()); err != nil {
			return err
		}
		s.showed(len(snap.Texts[i]))
	}
	return nil
}

// shownBytes is how much of the messages is of activations.
func shownBytes(all []protocol.Message) (n int) {
	for _, m := range all {
		if len(activatedBy(m)) > 0 {
			n += len(m.Text())
		}
	}
	return n
}

// restore activates anew what was active in earlier turns of the session, but for what the messages have. What cannot be activated
// any more is not active.
func (k *Kit) restore(ctx context.Context, have []begun, snap *snapshot) error {
	all, err := k.remembered(ctx)
	if err != nil {
		return err
	}
	done := map[string]bool{}
	for _, b := range have {
		done[b.Name] = true
	}
	left := &allowance{until: time.Now().Add(k.cfg.Limits.Activation), bytes: k.cfg.Limits.Content / 2}
	total := 0
	for _, b := range all {
		d, ok := k.Catalogue().Get(b.Name)
		if !ok || done[b.Name] {
			continue
		}
		done[b.Name] = true
		text, err := k.content(ctx, d, b.Arguments, left)
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if err == nil && total+len(text) > maxRestored {
			err = protocol.NewError(protocol.CodeQuotaExceeded, "skills: more than a turn can bring along")
		}
		if err != nil {
			k.log.Warn("a skill of an earlier turn cannot be activated again", zap.String("skill", shown(b.Name)),
				zap.String("code", string(protocol.CodeOf(err))))
			continue
		}
		total += len(text)
		snap.Active, snap.Texts = append(snap.Active, inForce{Skill: slim(d), Arguments: b.Arguments}), append(snap.Texts, text)
	}
	return nil
}

// maxRestored is how much earlier turns can bring along, in bytes: it is one entry of the log.
const maxRestored = MaxShown

// known returns what is known of skills that were activated. One that is not trusted, such as that of another project under the
// same name, decides nothing: it is as if it were not installed.
func (k *Kit) known(list []begun) []inForce {
	var all []inForce
	for _, b := range list {
		d, ok := k.Catalogue().Get(b.Name)
		if ok = ok && k.trusted(d) == nil; !ok {
			d = skill.Descriptor{Name: b.Name}
		}
		all = append(all, inForce{Skill: slim(d), Arguments: b.Arguments, Unknown: !ok})
	}
	return all
}

// slim is what counts of a skill that is in force.
func slim(d skill.Descriptor) skill.Descriptor {
	return skill.Descriptor{
		Name: d.Name, Dir: d.Dir, Location: d.Location, Shell: d.Shell, AllowedTools: d.AllowedTools, Hooks: d.Hooks, Source: d.Source,
		Digest: d.Digest,
	}
}

// withHooks returns the trusted skills that have hooks.
func (k *Kit) withHooks() []skill.Descriptor {
	var all []skill.Descriptor
	for _, d := range k.Catalogue().List() {
		if !d.Hooks.IsZero() && k.trusted(d) == nil {
			all = append(all, slim(d))
		}
	}
	return all
}

// opening is how the block of a skill begins. Nothing in a body, a command's output or an argument can look like it.
var opening = regexp.MustCompile(`(?m)^<skill_content name="([^"\n]*)">$`)

// namesIn returns the skills whose instructions the result of an activation has.
func namesIn(result string) []string {
	var names []string
	for _, m := range opening.FindAllStringSubmatch(result, MaxActive) {
		names = append(names, html.UnescapeString(m[1]))
	}
	return names
}

// activatedBy returns the skills whose instructions a message has that is the result of an activation. No user can write such a
// message, whatever he writes.
func activatedBy(m protocol.Message) []string {
	name, id, ok := m.Role.Tool()
	if !ok || name != ToolActivate {
		return nil
	}
	for _, b := range m.Content.Blocks() {
		if r, ok := b.(protocol.ToolResultBlock); ok && r.ToolUseID == id && !r.IsError {
			return namesIn(r.Content)
		}
	}
	return nil
}

// shownIn returns the activations that a conversation has: the results of calls that the model made.
func shownIn(all []protocol.Message) []begun {
	var found []begun
	calls := map[string]protocol.ToolUseBlock{}
	for _, m := range all {
		if m.Role == protocol.RoleAssistant {
			for _, b := range m.Content.Blocks() {
				if u, ok := b.(protocol.ToolUseBlock); ok {
					calls[u.ID] = u
				}
			}
			continue
		}
		names := activatedBy(m)
		_, id, _ := m.Role.Tool()
		call := calls[id]
		if call.Name != ToolActivate {
			continue
		}
		found = append(found, withArguments(names, call.Input)...)
	}
	return found[:min(len(found), MaxActive)]
}

// withArguments returns what a call activated: the arguments are those of the skill that it names, and no dependency's.
func withArguments(names []string, input json.RawMessage) []begun {
	var in struct{ Name, Arguments string }
	_ = json.Unmarshal(input, &in) // a call that succeeded has them
	var all []begun
	for _, name := range names {
		b := begun{Name: name}
		if name == in.Name {
			b.Arguments = in.Arguments
		}
		all = append(all, b)
	}
	return all
}
