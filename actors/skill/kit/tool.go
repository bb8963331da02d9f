package kit

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"strings"

	"github.com/skelegent/skelegent-go/actors/skill"
	"github.com/skelegent/skelegent-go/actors/skill/runner"
	"github.com/skelegent/skelegent-go/actors/tool"
	"github.com/skelegent/skelegent-go/protocol"
)

// maxText is how long a text in an input may be, in bytes.
const maxText = 64 << 10

// fileTool is one of the tools for skills of files. It looks at its input itself: what a model gets wrong in another way than by
// its form is for the model to read, not a violation of a schema.
type fileTool struct {
	meta       protocol.ToolMetadata
	repeatable bool
	call       func(ctx context.Context, s *session, in fields) (tool.Result, error)
}

// Metadata implements tool.Tool.
func (t *fileTool) Metadata() protocol.ToolMetadata { return t.meta }

// Repeatable implements tool.Repeater.
func (t *fileTool) Repeatable() bool { return t.repeatable }

// Call implements tool.Tool.
func (t *fileTool) Call(ctx context.Context, input json.RawMessage) (tool.Result, error) {
	var in fields
	if err := json.Unmarshal(input, &in); err != nil || in == nil {
		return tool.Result{}, protocol.ErrToolInput("it must be an object")
	}
	s, ok := tool.Dep[*session](ctx)
	if !ok {
		s = &session{} // called outside of an agent: nothing is active
	}
	return t.call(ctx, s, in)
}

// fields is the input of a tool.
type fields map[string]json.RawMessage

// required returns a text that must be there.
func (f fields) required(name string) (string, error) {
	var text *string
	if json.Unmarshal(f[name], &text) != nil || text == nil {
		return "", protocol.ErrToolInput("missing parameter '" + name + "': it must be a string")
	}
	if len(*text) > maxText {
		return "", tooLong(name)
	}
	return *text, nil
}

// optional returns a text, and whether it is there.
func (f fields) optional(name string) (string, bool, error) {
	raw, ok := f[name]
	if !ok || string(raw) == "null" {
		return "", false, nil
	}
	var text string
	if json.Unmarshal(raw, &text) != nil || len(text) > maxText {
		return "", false, tooLong(name)
	}
	return text, true, nil
}

func tooLong(name string) error {
	return invalid(name, fmt.Sprintf("it must be a string of at most %d bytes", maxText))
}

func invalid(name, why string) error {
	return protocol.ErrToolInput("invalid parameter '" + name + "': " + why)
}

// soft is what the model is told of a call that came to nothing, as a failure of the call.
func soft(text string) error {
	e := protocol.NewError(protocol.CodeToolError, text)
	e.Kind = protocol.KindToolExecutionFailed
	return e
}

// softErr is soft with the text of an error that may be shown.
func softErr(err error) error {
	var e *protocol.Error
	if errors.As(err, &e) {
		return soft(e.Message)
	}
	return soft(err.Error())
}

func output(text string) tool.Result {
	raw, err := protocol.Marshal(text)
	if err != nil { // a text always marshals
		return tool.Result{}
	}
	return tool.Result{Output: raw}
}

// tools returns the tools as they are for the skills that there are now; none if there are none.
func (k *Kit) tools(limit int) []tool.Tool {
	names := k.Catalogue().Names()
	if len(names) == 0 {
		return nil
	}
	const max = 16 << 10
	list := clip("One of: "+strings.Join(names, ", "), max)
	all := []tool.Tool{
		&fileTool{
			repeatable: true,
			meta: protocol.ToolMetadata{
				Name: ToolActivate,
				Description: "Loads the instructions of a skill. Call it before you work on a task that matches the description of the " +
					"skill, and follow the instructions then.",
				InputSchema: schema([]string{"name"},
					param{"name", map[string]any{"type": "string", "description": "The name of the skill. " + list, "enum": names}},
					param{"arguments", text("Arguments for the skill, separated by spaces.")},
					param{"context_path", text("The path of the file that the task is about. Skills that are for some files only need it.")}),
			},
			call: func(ctx context.Context, s *session, in fields) (tool.Result, error) {
				return k.activate(ctx, s, in, limit)
			},
		},
		&fileTool{
			repeatable: true,
			meta: protocol.ToolMetadata{
				Name: ToolRead, ParallelSafe: true,
				Description: "Reads a file of an active skill, such as one that its instructions name.",
				InputSchema: schema([]string{"skill_name", "path"},
					param{"skill_name", text("The name of the skill.")},
					param{"path", text("The path of the file, relative to the directory of the skill.")}),
			},
			call: k.read,
		},
	}
	if k.cfg.Runner != nil {
		all = append(all, &fileTool{
			meta: protocol.ToolMetadata{
				Name:        ToolRun,
				Description: "Runs a script of an active skill in the directory of the skill, and returns what it wrote.",
				InputSchema: schema([]string{"skill_name", "script"},
					param{"skill_name", text("The name of the skill.")},
					param{"script", text("The path of the script, relative to the directory of the skill.")},
					param{"args", text("Arguments of the script, with quotes as in a shell. No shell reads them.")}),
			},
			call: k.run,
		})
	}
	return all
}

type param struct {
	name string
	is   map[string]any
}

func text(description string) map[string]any {
	return map[string]any{"type": "string", "description": description}
}

func schema(required []string, params ...param) json.RawMessage {
	properties := map[string]any{}
	for _, p := range params {
		properties[p.name] = p.is
	}
	raw, err := protocol.Marshal(map[string]any{"type": "object", "properties": properties, "required": required})
	if err != nil { // texts always marshal
		return nil
	}
	return raw
}

// usable returns the skill for a call of one of the tools that need an active one.
func (k *Kit) usable(s *session, name, tool string) (skill.Descriptor, error) {
	if !s.has(name) {
		return skill.Descriptor{}, soft("Skill " + shown(name) + " is not activated. Call " + ToolActivate + " first.")
	}
	d, ok := k.Catalogue().Get(name)
	if !ok {
		return d, soft("Skill " + shown(name) + " not found in catalog")
	}
	if !d.Permits(tool) {
		return d, soft(denied([]string{name}, tool, d.AllowedTools))
	}
	if err := k.trusted(d); err != nil {
		return d, soft("Skill " + shown(name) + " is not trusted: " + clip(err.Error(), maxReason))
	}
	if refusal := s.refuses(k, tool); refusal != "" {
		return d, soft(refusal)
	}
	return d, nil
}

// spec is a program of a skill.
func (k *Kit) spec(ctx context.Context, d skill.Descriptor, s runner.Spec) runner.Spec {
	s.Dir, s.SessionID = d.Dir, k.cfg.Session(ctx)
	if s.Env == nil {
		s.Env = map[string]string{}
	}
	s.Env["CLAUDE_SKILL_DIR"] = d.Dir
	if s.SessionID != "" {
		s.Env["CLAUDE_SESSION_ID"] = s.SessionID
	}
	if k.cfg.Spec != nil {
		k.cfg.Spec(d, &s)
	}
	return s
}

// ownTags are the tags by which a model knows what is whose. White space and what is not seen may be anywhere in them.
var ownTags = regexp.MustCompile(`(?i)<([\s\p{Z}\p{C}]*/?[\s\p{Z}\p{C}]*(?:` +
	`skill_content|skill_resources?|allowed_tools|script_output|stderr|skill_hook))`)

// neutral returns a text in which no such tag begins.
func neutral(s string) string { return ownTags.ReplaceAllString(s, "&lt;$1") }

var escaper = strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;", `"`, "&quot;")

// attribute is a name as it can be within a tag.
func attribute(s string) string { return escaper.Replace(oneLine(s)) }

func line(s string) string {
	if s == "" || strings.HasSuffix(s, "\n") {
		return s
	}
	return s + "\n"
}
