package skill

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/skelegent/skelegent-go/protocol"
)

// MaxResources is how many files of a skill are listed.
const MaxResources = 256

// ResourceKind says what a file of a skill is for.
type ResourceKind string

// The kinds of resources.
const (
	ResourceScript    ResourceKind = "script"
	ResourceReference ResourceKind = "reference"
	ResourceAsset     ResourceKind = "asset"
	ResourceOther     ResourceKind = "other"
)

// Resource is a file of a skill. Its path is relative to the skill's directory and has slashes.
type Resource struct {
	Path string       `json:"path"`
	Kind ResourceKind `json:"kind"`
}

// Content is a skill as it is activated.
type Content struct {
	Descriptor   Descriptor `json:"descriptor"`
	Instructions string     `json:"instructions"`
	Resources    []Resource `json:"resources,omitempty"` // sorted by path
	More         int        `json:"more,omitempty"`      // resources that are not listed
	Digest       string     `json:"digest,omitempty"`    // the SHA-256 of the whole SKILL.md in hex
}

// Load reads the body of a skill that was discovered, and lists its resources without reading them: the files in scripts,
// references and assets, and at its top those that are text. Links that leave the directory are not followed.
//
// Whatever the skill was allowed and asked about as is its front matter at discovery. Of a file with another one by now the error
// is of code conflict: discover again. A file that is gone is not_found, and one that cannot be read or used invalid_input.
func Load(d Descriptor) (Content, error) {
	if d.Dir == "" {
		return Content{}, protocol.NewError(protocol.CodeUnsupported, "skill: "+quoted(d.Name)+" is not a directory")
	}
	if real, err := filepath.EvalSymlinks(d.Dir); err != nil || real != d.Dir {
		return Content{}, missing(d.Name)
	}
	root, err := openDir(d.Dir)
	if err != nil {
		return Content{}, missing(d.Name).Because(err)
	}
	defer func() { _ = root.Close() }() // only read
	raw, err := readSkill(root, d)
	if err != nil {
		return Content{}, err
	}
	p := parser{findings: findings{file: FileName}}
	now, body := p.file(raw)
	if err := p.err(); err != nil {
		return Content{}, err
	}
	if d.Digest != "" && d.Digest != now.Digest {
		return Content{}, protocol.NewError(protocol.CodeConflict,
			"skill: the front matter of "+quoted(d.Name)+" has changed since it was discovered")
	}
	sum := sha256.Sum256(raw)
	c := Content{Descriptor: d.clone(), Instructions: body, Digest: hex.EncodeToString(sum[:])}
	c.Resources, c.More = resources(root)
	return c, nil
}

func missing(name string) *protocol.Error {
	return protocol.NewError(protocol.CodeNotFound, "skill: the directory of "+quoted(name)+" is gone")
}

func readSkill(root *os.Root, d Descriptor) ([]byte, error) {
	f, bad := openRegular(root, FileName)
	if bad != nil {
		code := protocol.CodeInvalidInput
		if bad.rule == RuleFileMissing {
			code = protocol.CodeNotFound
		}
		return nil, invalid("the file of " + quoted(d.Name) + ": " + bad.text).WithCode(code)
	}
	defer func() { _ = f.Close() }() // only read
	raw, err := io.ReadAll(io.LimitReader(f, maxHead+MaxBody+1))
	if err != nil {
		return nil, invalid("the file of " + quoted(d.Name) + ": " + reason(err)).Because(err)
	}
	if len(raw) > maxHead+MaxBody {
		return nil, invalid("the file of " + quoted(d.Name) + " is too large")
	}
	return raw, nil
}

// resourceDirs are the directories whose files are listed.
var resourceDirs = map[string]ResourceKind{
	"scripts": ResourceScript, "references": ResourceReference, "assets": ResourceAsset,
}

// resources lists the files of a skill, and counts those that are too many.
func resources(root *os.Root) ([]Resource, int) {
	all := resourceFiles(root, ".", ResourceOther)
	for dir, kind := range resourceDirs {
		all = append(all, resourceFiles(root, dir, kind)...)
	}
	slices.SortFunc(all, func(a, b Resource) int { return strings.Compare(a.Path, b.Path) })
	if len(all) > MaxResources {
		return all[:MaxResources], len(all) - MaxResources
	}
	return all, 0
}

func resourceFiles(root *os.Root, dir string, kind ResourceKind) []Resource {
	entries, _, err := readDir(root, dir)
	if err != nil {
		return nil // most skills have only some of the directories, and one that cannot be read has nothing to list
	}
	var all []Resource
	for _, e := range entries {
		name := path.Join(dir, e.Name())
		if !plainName(name) || (kind == ResourceOther && !topResource(name)) {
			continue
		}
		regular := e.Type().IsRegular()
		if e.Type()&fs.ModeSymlink != 0 {
			info, err := root.Stat(name) // fails for what is outside
			regular = err == nil && info.Mode().IsRegular()
		}
		if regular {
			all = append(all, Resource{Path: name, Kind: kind})
		}
	}
	return all
}

// topResource reports whether a file beside SKILL.md is listed.
func topResource(name string) bool {
	switch strings.ToLower(path.Ext(name)) {
	case ".md", ".txt", ".yaml", ".yml", ".json":
		return name != FileName
	}
	return false
}

// Expand replaces the variables and commands of the instructions as the function Expand does. The variable SKILL_DIR is the
// skill's directory if vars has none. Commands of a skill that RunsCommands denies are never run.
func (c Content) Expand(ctx context.Context, vars Vars, run RunFunc) (Content, []Diagnostic, error) {
	if vars.SkillDir == "" {
		vars.SkillDir = c.Descriptor.Dir
	}
	if !c.Descriptor.RunsCommands() {
		run = nil
	}
	text, ds, err := Expand(ctx, c.Instructions, vars, run)
	for i := range ds {
		ds[i].File = c.Descriptor.Location
	}
	if err != nil {
		return Content{}, ds, err
	}
	c.Instructions = text
	return c, ds, nil
}

// PromptBlock returns the skill as a model is shown it: in <skill_content name="...">, with the directory, the tools that it keeps
// to, and its resources. The instructions stay as they are but for what looks like the beginning or end of this block or one of
// its parts, and names and paths are escaped: neither can end the block.
func (c Content) PromptBlock() string {
	var b strings.Builder
	d := c.Descriptor
	fmt.Fprintf(&b, "<skill_content name=\"%s\">\n%s\n", escape(d.Name), neutral(strings.TrimSpace(c.Instructions)))
	if d.Dir != "" {
		fmt.Fprintf(&b, "\nSkill directory: %s\nRelative paths in this skill are relative to this directory.\n", escape(d.Dir))
	}
	if len(d.AllowedTools) > 0 {
		b.WriteString("\n<allowed_tools>\n")
		for _, tool := range d.AllowedTools {
			fmt.Fprintf(&b, "  %s\n", escape(tool))
		}
		b.WriteString("</allowed_tools>\n")
	}
	if len(c.Resources) > 0 {
		b.WriteString("\n<skill_resources>\n")
		for _, r := range c.Resources {
			fmt.Fprintf(&b, "  <file kind=\"%s\">%s</file>\n", escape(string(r.Kind)), escape(r.Path))
		}
		if c.More > 0 {
			fmt.Fprintf(&b, "  (%d more files are not listed)\n", c.More)
		}
		b.WriteString("</skill_resources>\n")
	}
	b.WriteString("</skill_content>")
	return b.String()
}

var xmlEscaper = strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;", `"`, "&quot;")

// escape returns a name as it can be within a tag or between two, on one line.
func escape(s string) string { return xmlEscaper.Replace(oneLine(s)) }

// ownTags are the tags that tell a model what is a skill and what of one. White space and what is not seen may be anywhere in them.
var ownTags = regexp.MustCompile(`(?i)<([\s\p{Z}\p{C}]*/?[\s\p{Z}\p{C}]*(?:` +
	strings.Join([]string{"skill_content", "skill_resources?", "allowed_tools", "script_output", "skill_hook"}, "|") + `))`)

// neutral returns a text in which no such tag begins.
func neutral(s string) string { return ownTags.ReplaceAllString(s, "&lt;$1") }
