package kit

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"strings"
	"sync"

	"go.uber.org/zap"

	"github.com/skelegent/skelegent-go/actors/skill"
)

// Kit is the skills of agents: those of code, and those of files. It is safe for concurrent use, and may equip any number of
// agents. What is active in a conversation belongs to that, and is not kept here.
type Kit struct {
	cfg  Config
	log  *zap.Logger
	code map[string]codeSkill

	discover sync.Mutex // held for all of what changes skills and tools
	equipped []equipped

	mu    sync.Mutex
	files *skill.Catalogue
	found []skill.Diagnostic
}

type codeSkill struct {
	info Info
	code Code
}

// New returns a kit. It reads nothing; see Kit.Discover. The error has the code invalid_input.
func New(cfg Config) (*Kit, error) {
	cfg = cfg.withDefaults()
	if err := cfg.validate(); err != nil {
		return nil, refuse(err.Error()).Because(err)
	}
	k := &Kit{cfg: cfg, log: cfg.Logger.Named("skill"), code: map[string]codeSkill{}, files: skill.NewCatalogue()}
	for _, c := range cfg.Code {
		name := c.Name()
		if _, taken := k.code[name]; taken {
			k.log.Warn("a skill of this name is there already", zap.String("skill", shown(name)))
			continue
		}
		info := Info{Name: name, Kind: KindCode, Description: c.Description(), HasPrompt: c.Prompt() != ""}
		for _, t := range c.Tools() {
			info.Tools = append(info.Tools, t.Metadata().Name)
		}
		k.code[name] = codeSkill{info, c}
	}
	if cfg.Catalogue != nil {
		k.take(cfg.Catalogue)
	}
	return k, nil
}

// Kind says where a skill is from.
type Kind string

// The kinds.
const (
	KindCode Kind = "code" // of the program
	KindFile Kind = "file" // a directory with a SKILL.md, or of a server
)

// Info is what is known of a skill.
type Info struct {
	Name        string       `json:"name"`
	Kind        Kind         `json:"kind"`
	Description string       `json:"description,omitempty"`
	Tools       []string     `json:"tools,omitempty"`      // that a skill of code adds
	HasPrompt   bool         `json:"has_prompt,omitempty"` // a skill of code adds to the system prompt
	Source      skill.Source `json:"source,omitempty"`     // of a file
	Location    string       `json:"location,omitempty"`   // of a file
	// Untrusted is why nothing of the skill is read or run; empty if it is trusted.
	Untrusted string `json:"untrusted,omitempty"`
}

// List returns the skills of both kinds, sorted by name.
func (k *Kit) List() []Info {
	var all []Info
	for _, c := range k.code {
		all = append(all, c.info.clone())
	}
	for _, d := range k.Catalogue().List() {
		all = append(all, k.fileInfo(d))
	}
	slices.SortFunc(all, func(a, b Info) int { return cmp.Compare(a.Name, b.Name) })
	return all
}

// Info returns what is known of a skill, and whether there is one of that name.
func (k *Kit) Info(name string) (Info, bool) {
	if c, ok := k.code[name]; ok {
		return c.info.clone(), true
	}
	if d, ok := k.Catalogue().Get(name); ok {
		return k.fileInfo(d), true
	}
	return Info{}, false
}

// Has reports whether there is a skill of that name, of either kind.
func (k *Kit) Has(name string) bool {
	_, ok := k.Info(name)
	return ok
}

// Count returns how many skills there are of both kinds.
func (k *Kit) Count() int { return len(k.code) + k.Catalogue().Len() }

// Catalogue returns the skills of files, as they are now.
func (k *Kit) Catalogue() *skill.Catalogue {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.files
}

// Diagnostics returns what was wrong with what the last Discover, or Config.Catalogue, brought.
func (k *Kit) Diagnostics() []skill.Diagnostic {
	k.mu.Lock()
	defer k.mu.Unlock()
	return slices.Clone(k.found)
}

func (i Info) clone() Info {
	i.Tools = slices.Clone(i.Tools)
	return i
}

func (k *Kit) fileInfo(d skill.Descriptor) Info {
	i := Info{Name: d.Name, Kind: KindFile, Description: d.Description, Source: d.Source, Location: d.Location}
	if err := k.trusted(d); err != nil {
		i.Untrusted = err.Error()
	}
	return i
}

// trusted returns why nothing of the skill may be read or run.
func (k *Kit) trusted(d skill.Descriptor) error {
	if k.cfg.Trusted == nil {
		return nil
	}
	return k.cfg.Trusted(d)
}

// Discover looks for skills in Config.Scopes, and returns the names of those that are new, sorted. They are in the system prompt
// of runs that begin later, in the place of the catalogue that was there, and in the tools of all agents that were equipped, from
// their next model call on. Nothing changes for conversations: what is active stays so.
//
// A skill whose front matter has changed is known by that from now on. One that has the name of another, of code or elsewhere, is
// left out with a diagnostic, but one that is not trusted hides none that is; one that is gone stays listed, and cannot be activated. The error is that of skill.Discover, and
// then nothing has changed.
func (k *Kit) Discover(ctx context.Context) ([]string, error) {
	k.discover.Lock()
	defer k.discover.Unlock()
	opts := k.cfg.Discovery
	if opts.Yields == nil {
		opts.Yields = func(d skill.Descriptor) bool { return k.trusted(d) != nil }
	}
	found, err := skill.Discover(ctx, k.cfg.Scopes, opts)
	if err != nil {
		return nil, err
	}
	added := k.take(found)
	if len(added) > 0 {
		if err := k.refresh(); err != nil {
			return added, err
		}
	}
	k.log.Info("skills discovered", zap.Int("new", len(added)), zap.Int("all", k.Catalogue().Len()))
	return added, nil
}

// take adds what was found to the catalogue, and returns the names that are new.
func (k *Kit) take(found *skill.Catalogue) (added []string) {
	k.mu.Lock()
	defer k.mu.Unlock()
	ds := found.Diagnostics()
	all := map[string]skill.Descriptor{}
	for _, d := range k.files.List() {
		all[d.Name] = d
	}
	for _, d := range found.List() {
		mine, taken := all[d.Name]
		_, code := k.code[d.Name]
		switch {
		case code || taken && (mine.Location != d.Location || mine.Source != d.Source):
			k.log.Warn("a skill of this name is there already", zap.String("skill", shown(d.Name)))
			ds = append(ds, skill.Diagnostic{
				File: d.Location, Severity: skill.SeverityWarning, Rule: skill.RuleShadowed,
				Message: "there is another skill " + shown(d.Name) + ", which is kept",
			})
			continue
		case !taken:
			added = append(added, d.Name)
		}
		all[d.Name] = d
	}
	k.files, k.found = skill.NewCatalogue(slices.Collect(maps.Values(all))...), ds
	return added
}

// maxShown is how much of a name, a path or a reason from outside is shown, in bytes.
const maxShown = 128

// shown is a name from outside in quotes, on one line and not too long.
func shown(name string) string { return "'" + clip(oneLine(name), maxShown) + "'" }

func oneLine(s string) string { return strings.Join(strings.Fields(s), " ") }

// clip returns what fits into n bytes.
func clip(s string, n int) string {
	if len(s) <= n {
		return s
	}
	return strings.ToValidUTF8(s[:n], "") + "..."
}
