package skill

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/skelegent/skelegent-go/protocol"
)

// skippedDirs are directories that hold no skills but may hold very much.
var skippedDirs = map[string]bool{
	".git": true, "node_modules": true, "target": true, "__pycache__": true, ".venv": true, "dist": true, "build": true,
}

// found is a SKILL.md that was read, ok if it can be used.
type found struct {
	findings
	rel string
	d   Descriptor
	ok  bool
}

// scanner looks through one directory.
type scanner struct {
	opts   Options
	source Source
	dir    string // absolute and without links
	root   *os.Root
	seen   map[string]bool // directories, relative
	ds     []Diagnostic
}

// scan finds the skills of one directory of the scope.
func (s Scope) scan(ctx context.Context, sub string, opts Options) ([]found, []Diagnostic, error) {
	if s.base == "" {
		return nil, nil, invalid("a scope has no directory")
	}
	base, err := filepath.Abs(s.base)
	if err != nil {
		return nil, nil, dirError(s.base, err)
	}
	named := filepath.Join(base, sub)
	dir, err := filepath.EvalSymlinks(named)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil, nil
	}
	if err != nil {
		return nil, nil, dirError(named, err)
	}
	if s.source == SourceProject {
		if project, err := filepath.EvalSymlinks(base); err != nil || !inside(project, dir) {
			return nil, []Diagnostic{{
				File: named, Severity: SeverityWarning, Rule: RuleLink,
				Message: "the directory leads out of the project and is not looked through",
			}}, nil
		}
	}
	root, err := openDir(dir)
	if err != nil {
		return nil, nil, dirError(named, err)
	}
	defer func() { _ = root.Close() }() // only read
	sc := &scanner{opts: opts, source: s.source, dir: dir, root: root, seen: map[string]bool{".": true}}
	first, err := sc.list(root, ".")
	if err != nil {
		return nil, nil, dirError(named, err)
	}
	all, err := sc.walk(ctx, first)
	return all, sc.ds, err
}

// walk looks through the directories level by level.
func (s *scanner) walk(ctx context.Context, level listing) ([]found, error) {
	var all []found
	dirs := 0
	for depth := 1; depth <= s.opts.MaxDepth; depth++ {
		rels := s.take(level)
		if left := s.opts.MaxDirs - dirs; len(rels) > left {
			s.warn(s.dir, RuleLimit, fmt.Sprintf("more than %d directories; the others are left out", s.opts.MaxDirs))
			rels = rels[:left]
		}
		if len(rels) == 0 {
			break
		}
		dirs += len(rels)
		results, err := s.probeAll(ctx, rels, depth < s.opts.MaxDepth)
		if err != nil {
			return nil, err
		}
		level = listing{}
		for _, r := range results {
			if r.skill != nil {
				all = append(all, *r.skill)
				continue
			}
			level.dirs = append(level.dirs, r.below.dirs...)
			level.ds = append(level.ds, r.below.ds...)
		}
	}
	slices.SortFunc(all, func(a, b found) int {
		return slices.Compare(strings.Split(a.rel, string(filepath.Separator)), strings.Split(b.rel, string(filepath.Separator)))
	})
	return all, nil
}

// take returns the directories of a listing that were not looked through before.
func (s *scanner) take(l listing) []string {
	for _, d := range l.ds {
		s.note(d)
	}
	var rels []string
	for _, rel := range l.dirs {
		if !s.seen[rel] {
			s.seen[rel] = true
			rels = append(rels, rel)
		}
	}
	return rels
}

func (s *scanner) warn(file, rule, text string) {
	s.note(Diagnostic{File: file, Severity: SeverityWarning, Rule: rule, Message: text})
}

func (s *scanner) note(d Diagnostic) {
	if len(s.ds) < maxAllDiagnostics {
		s.ds = append(s.ds, d)
	}
}

// listing is the directories of a directory, relative to the one that is looked through.
type listing struct {
	dirs []string
	ds   []Diagnostic
}

// probed is what a directory is: a skill, or some more directories.
type probed struct {
	skill *found
	below listing
}

// probeAll looks at the directories with a few readers, and waits for them.
func (s *scanner) probeAll(ctx context.Context, rels []string, deeper bool) ([]probed, error) {
	results := make([]probed, len(rels))
	var next atomic.Int64
	var wg sync.WaitGroup
	for range min(s.opts.Readers, len(rels)) {
		wg.Go(func() {
			for ctx.Err() == nil {
				i := int(next.Add(1)) - 1
				if i >= len(rels) {
					return
				}
				results[i] = s.probe(rels[i], deeper)
			}
		})
	}
	wg.Wait()
	if err := ctx.Err(); err != nil {
		return nil, protocol.AsError(err)
	}
	return results, nil
}

// probe looks at one directory.
func (s *scanner) probe(rel string, deeper bool) probed {
	sub, err := s.root.OpenRoot(withDot(rel))
	if err != nil {
		return probed{below: s.unreadable(rel, err)}
	}
	defer func() { _ = sub.Close() }() // only read
	f, bad := openRegular(sub, FileName)
	if bad != nil && bad.rule == RuleFileMissing {
		if !deeper {
			return probed{}
		}
		l, err := s.list(sub, rel)
		if err != nil {
			l = s.unreadable(rel, err)
		}
		return probed{below: l}
	}
	dir := filepath.Join(s.dir, rel)
	one := &found{rel: rel, findings: findings{file: filepath.Join(dir, FileName)}}
	if bad != nil {
		one.fail(0, bad.rule, bad.text)
		return probed{skill: one}
	}
	defer func() { _ = f.Close() }() // only read
	head, complete, err := readHead(f)
	if err != nil {
		one.fail(0, RuleFileRead, "the file cannot be read: "+reason(err))
		return probed{skill: one}
	}
	p := parser{findings: one.findings}
	if fr, ok := p.head(head, complete); ok {
		one.d = p.front(fr)
		p.directory(dir)
	}
	one.findings = p.findings
	one.ok = !p.bad
	one.d.Dir, one.d.Location, one.d.Source = dir, one.file, s.source
	return probed{skill: one}
}

func (s *scanner) unreadable(rel string, err error) listing {
	return listing{ds: []Diagnostic{{
		File: filepath.Join(s.dir, rel), Severity: SeverityWarning, Rule: RuleFileRead,
		Message: "the directory cannot be read: " + reason(err),
	}}}
}

// list returns the directories below rel. Links are followed to directories that are below the one that is looked through; by the
// path that those have without links, so that none is looked through twice.
func (s *scanner) list(sub *os.Root, rel string) (listing, error) {
	entries, more, err := readDir(sub, ".")
	if err != nil {
		return listing{}, err
	}
	var l listing
	warn := func(name, rule, text string) {
		if len(l.ds) < maxDiagnostics {
			l.ds = append(l.ds, Diagnostic{File: filepath.Join(s.dir, rel, name), Severity: SeverityWarning, Rule: rule, Message: text})
		}
	}
	if more {
		warn("", RuleLimit, fmt.Sprintf("more than %d entries; the others are left out", maxEntries))
	}
	for _, e := range entries {
		name, link := e.Name(), e.Type()&fs.ModeSymlink != 0
		if skippedDirs[name] || (!e.IsDir() && !link) {
			continue
		}
		if !plainName(name) {
			warn("", RuleControl, "the directory "+quoted(name)+" is left out for the characters of its name")
			continue
		}
		if !link {
			l.dirs = append(l.dirs, filepath.Join(rel, name))
			continue
		}
		real, err := filepath.EvalSymlinks(filepath.Join(s.dir, rel, name))
		if err != nil {
			warn(name, RuleLink, "the symbolic link cannot be followed")
			continue
		}
		switch info, err := os.Stat(real); {
		case err != nil || !info.IsDir():
			continue
		case !inside(s.dir, real):
			warn(name, RuleLink, "the symbolic link leads out of the directory that is looked through and is not followed")
			continue
		}
		if to, err := filepath.Rel(s.dir, real); err == nil {
			l.dirs = append(l.dirs, to)
		}
	}
	return l, nil
}
