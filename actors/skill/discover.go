package skill

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"

	"github.com/skelegent/skelegent-go/protocol"
)

// Defaults of Options.
const (
	DefaultMaxDepth  = 4
	DefaultMaxDirs   = 2000
	DefaultMaxSkills = 2000
	DefaultReaders   = 8
)

// Options bound what Discover does. The zero value has the defaults.
type Options struct {
	MaxDepth  int // levels of directories below the one that is looked through, 1 to 16; 4 if zero
	MaxDirs   int // directories below each that is looked through; 2000 if zero
	MaxSkills int // skills that are kept; 2000 if zero
	Readers   int // files that are read at the same time, at most 64; 8 if zero
	// Allow is asked for each skill that could be read, one at a time and in order; nil allows all. One that it does not allow is
	// left out with a diagnostic, and hides no other of its name. It is where the skills of a project that is not trusted are
	// kept out.
	Allow func(Descriptor) bool
	// Yields is asked for each skill that has the name of another: one for which it is true hides none for which it is not,
	// wherever they are. So a project that is not trusted does not take the place of a guard of the user. Nil is false for all.
	Yields func(Descriptor) bool
}

func (o Options) withDefaults() (Options, error) {
	if o.MaxDepth < 0 || o.MaxDepth > 16 || o.MaxDirs < 0 || o.MaxSkills < 0 || o.Readers < 0 || o.Readers > 64 {
		return o, invalid("a limit of the discovery is out of bounds")
	}
	def := func(v *int, d int) {
		if *v == 0 {
			*v = d
		}
	}
	def(&o.MaxDepth, DefaultMaxDepth)
	def(&o.MaxDirs, DefaultMaxDirs)
	def(&o.MaxSkills, DefaultMaxSkills)
	def(&o.Readers, DefaultReaders)
	return o, nil
}

// Scope is a place where skills are.
type Scope struct {
	source Source
	base   string   // what was named
	dirs   []string // below it, in order; none is the base itself
}

// Project is the directories skills and .agents/skills of a project. One of them that is a symbolic link out of the project is
// not followed.
func Project(root string) Scope {
	return Scope{SourceProject, root, []string{"skills", filepath.Join(".agents", "skills")}}
}

// User is the directory .agents/skills of somebody's home.
func User(home string) Scope {
	return Scope{SourceUser, home, []string{filepath.Join(".agents", "skills")}}
}

// Custom is a directory that has directories of skills.
func Custom(dir string) Scope { return Scope{source: SourceCustom, base: dir, dirs: []string{"."}} }

// Discover finds the skills of the scopes. A skill is a directory with a SKILL.md; where there is none, the directories below are
// looked through, but for those that hold no sources, such as .git and node_modules. Of two skills with one name the one of the
// earlier scope is kept, of one scope that of the earlier directory, of one directory the one whose path comes first; but see
// Options.Yields.
//
// Only front matters are read. A skill that cannot be used is left out, and the diagnostics of the catalogue say why; so do they
// for one that is hidden by another, for links that are not followed and for limits that were met. A directory of a scope that is
// not there is no error; one that cannot be read is, and so is ctx ending. The codes are invalid_input, permission_denied and
// cancelled or timeout. All that was started has ended when Discover returns.
func Discover(ctx context.Context, scopes []Scope, opts Options) (*Catalogue, error) {
	opts, err := opts.withDefaults()
	if err != nil {
		return nil, err
	}
	c := newCatalogue()
	hides := func(d, first Descriptor) bool {
		return opts.Yields != nil && opts.Yields(first.clone()) && !opts.Yields(d.clone())
	}
	locations := map[string]bool{}
	full := false
	for _, scope := range scopes {
		for _, dir := range scope.dirs {
			found, ds, err := scope.scan(ctx, dir, opts)
			if err != nil {
				return nil, err
			}
			c.note(ds...)
			for _, s := range found {
				switch {
				case locations[s.d.Location]: // found by another way
					if first := c.byName[s.d.Name]; s.ok && first.Location == s.d.Location && hides(s.d, first) {
						c.byName[s.d.Name] = s.d
					}
					continue
				case !s.ok:
					c.note(s.all...)
					continue
				}
				locations[s.d.Location] = true
				c.note(s.all...)
				at := Diagnostic{File: s.d.Location, Severity: SeverityWarning}
				first, taken := c.byName[s.d.Name]
				switch {
				case opts.Allow != nil && !opts.Allow(s.d.clone()):
					at.Rule, at.Message = RuleNotAllowed, "the skill "+quoted(s.d.Name)+" is not allowed"
					c.note(at)
				case taken && hides(s.d, first):
					at.File, at.Rule, at.Message = first.Location, RuleShadowed, "the skill "+quoted(s.d.Name)+" is hidden by "+oneLine(s.d.Location)
					c.note(at)
					c.byName[s.d.Name] = s.d
				case taken:
					at.Rule, at.Message = RuleShadowed, "the skill "+quoted(s.d.Name)+" is hidden by "+oneLine(first.Location)
					c.note(at)
				case c.Len() == opts.MaxSkills:
					if !full {
						at.Rule, at.Message = RuleLimit, fmt.Sprintf("more than %d skills; the others are left out", opts.MaxSkills)
						c.note(at)
					}
					full = true
				default:
					c.add(s.d)
				}
			}
		}
	}
	_, ds := c.Order(c.Names()...)
	c.note(ds...)
	return c, nil
}

// dirError says that a directory of a scope cannot be read.
func dirError(dir string, err error) error {
	e := invalid("the directory " + quoted(dir) + " cannot be read: " + reason(err))
	if errors.Is(err, fs.ErrPermission) {
		e = e.WithCode(protocol.CodePermissionDenied)
	}
	return e.Because(err)
}
