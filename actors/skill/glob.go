package skill

import (
	"slices"
	"strings"
)

// Limits of patterns. What is beyond them never matches.
const (
	MaxPatterns    = 64   // globs of one skill
	MaxPattern     = 256  // bytes of a glob
	MaxContextPath = 1024 // bytes of a path
)

// MatchPaths reports whether one of the globs matches the path: the whole of it, with or without a leading ./, or the name of the
// file alone. Backslashes of the path count as slashes. No globs match everything.
//
// In a glob * is any text, slashes too; ** between slashes is any directories, or none; ? is one character, [a-z] and [!a-z] one
// of a class. There are no {alternatives}. Upper and lower case differ. A glob that is invalid or too long matches nothing, and of
// more than MaxPatterns the others do not count. The time is linear in the length of the path and in that of the globs.
//
// It says when a skill is meant to be used. It guards no file: "tests/../secret" matches "tests/**".
func MatchPaths(globs []string, path string) bool {
	if len(globs) == 0 {
		return true
	}
	if len(path) > MaxContextPath {
		return false
	}
	whole := strings.ReplaceAll(path, `\`, "/")
	trimmed := whole
	for strings.HasPrefix(trimmed, "./") {
		trimmed = trimmed[2:]
	}
	name := trimmed[strings.LastIndexByte(trimmed, '/')+1:]
	for _, glob := range globs[:min(len(globs), MaxPatterns)] {
		g, ok := compileGlob(glob)
		if ok && (g.matches(trimmed) || (whole != trimmed && g.matches(whole)) || (name != "" && name != trimmed && g.matches(name))) {
			return true
		}
	}
	return false
}

// globKind says what a part of a glob matches.
type globKind byte

const (
	globRune  globKind = iota // the character from
	globOne                   // any character
	globClass                 // one of the ranges, or none of them
	globText                  // any text, also none
	globDirs                  // nothing, or what the globLoop that follows it does
	globLoop                  // any text that ends with a slash
)

type globPart struct {
	kind   globKind
	from   rune
	not    bool
	ranges [][2]rune
}

type globPattern []globPart

// compileGlob reads a glob. It reports false if that is invalid or too long.
func compileGlob(glob string) (globPattern, bool) {
	if glob == "" || len(glob) > MaxPattern {
		return nil, false
	}
	var all globPattern
	rs := []rune(glob)
	for i := 0; i < len(rs); {
		switch rs[i] {
		case '*':
			end := i + 1
			for end < len(rs) && rs[end] == '*' {
				end++
			}
			switch {
			case end == i+1:
				all = append(all, globPart{kind: globText})
			case end > i+2 || (i > 0 && rs[i-1] != '/') || (end < len(rs) && rs[end] != '/'):
				return nil, false // ** is a whole component or an error
			case end == len(rs):
				all = append(all, globPart{kind: globText})
			default:
				all = append(all, globPart{kind: globDirs}, globPart{kind: globLoop})
				end++
			}
			i = end
		case '?':
			all = append(all, globPart{kind: globOne})
			i++
		case '[':
			class, end, ok := readClass(rs, i)
			if !ok {
				return nil, false
			}
			all = append(all, class)
			i = end
		default:
			all = append(all, globPart{from: rs[i]})
			i++
		}
	}
	return all, true
}

// readClass reads the class that begins at rs[i], and returns where it ends. A ] that comes first is part of it.
func readClass(rs []rune, i int) (class globPart, end int, ok bool) {
	i++
	class.kind = globClass
	if i < len(rs) && (rs[i] == '!' || rs[i] == '^') {
		class.not = true
		i++
	}
	end = i + 1
	for end < len(rs) && rs[end] != ']' {
		end++
	}
	if end >= len(rs) {
		return class, 0, false
	}
	for ; i < end; i++ {
		r := [2]rune{rs[i], rs[i]}
		if i+2 < end && rs[i+1] == '-' {
			r[1] = rs[i+2]
			i += 2
		}
		if r[0] > r[1] {
			return class, 0, false
		}
		class.ranges = append(class.ranges, r)
	}
	return class, end + 1, true
}

func (p globPart) matches(r rune) bool {
	switch p.kind {
	case globRune:
		return p.from == r
	case globClass:
		return p.not != slices.ContainsFunc(p.ranges, func(of [2]rune) bool { return of[0] <= r && r <= of[1] })
	default:
		return true
	}
}

// matches reports whether the glob matches all of s. It follows all ways at once: each character of s is looked at once for each
// part of the glob at most.
func (g globPattern) matches(s string) bool {
	states := make([]bool, 2*(len(g)+1))
	now, next := states[:len(g)+1], states[len(g)+1:]
	now[0] = true
	g.skip(now)
	for _, r := range s {
		clear(next)
		alive := false
		for i, on := range now[:len(g)] {
			if !on {
				continue
			}
			switch part := g[i]; part.kind {
			case globText:
				next[i], alive = true, true
			case globDirs: // skip went on
			case globLoop:
				next[i], alive = true, true
				if r == '/' {
					next[i+1] = true
				}
			default:
				if part.matches(r) {
					next[i+1], alive = true, true
				}
			}
		}
		if !alive {
			return false
		}
		g.skip(next)
		now, next = next, now
	}
	return now[len(g)]
}

// skip goes on from parts that can match nothing.
func (g globPattern) skip(on []bool) {
	for i, part := range g {
		switch {
		case !on[i]:
		case part.kind == globText:
			on[i+1] = true
		case part.kind == globDirs:
			on[i+1], on[i+2] = true, true
		}
	}
}

// pathRule returns what is wrong with a glob of the field paths, empty if nothing is.
func pathRule(glob string) (rule, text string) {
	switch {
	case strings.Contains(glob, ".."):
		return RulePathParent, `has ".."`
	case !balanced(glob, '{', '}') || !balanced(glob, '[', ']'):
		return RulePathUnbalanced, "has unbalanced brackets"
	case glob == "*" || glob == "**":
		return RulePathBroad, "is overly broad"
	}
	if _, ok := compileGlob(glob); !ok {
		return RulePathInvalid, "is no valid glob and matches nothing"
	}
	return "", ""
}

func balanced(s string, open, closing rune) bool {
	n := 0
	for _, r := range s {
		switch r {
		case open:
			n++
		case closing:
			n--
		}
		if n < 0 {
			return false
		}
	}
	return n == 0
}
