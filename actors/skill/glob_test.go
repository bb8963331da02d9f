package skill_test

import (
	"strings"
	"testing"
	"time"

	"github.com/skelegent/skelegent-go/actors/skill"
)

func TestMatchPaths(t *testing.T) {
	t.Parallel()
	facts := []string{"*.py", "tests/**"}
	for _, c := range []struct {
		globs []string
		path  string
		want  bool
	}{
		{facts, "main.py", true},
		{facts, "./tests/unit/test_demo.rs", true},
		{facts, "src/main.rs", false},
		{facts, "src/a/b.py", true},
		{facts, `tests\unit\x.rs`, true},
		{facts, "MAIN.PY", false},
		{facts, "", false},
		{nil, "anything", true},
		{nil, "", true},
		{[]string{"./a.py"}, "./a.py", true},
		{[]string{"a.py"}, "x/y/a.py", true},
		{[]string{"src/*.py"}, "src/a/b.py", true},
		{[]string{"src/**/*.rs"}, "src/x.rs", true},
		{[]string{"src/**/*.rs"}, "src/a/b/x.rs", true},
		{[]string{"src/**/x.rs"}, "src/ax.rs", false},
		{[]string{"**/x.rs"}, "x.rs", true},
		{[]string{"a/**/b/**/c"}, "a/b/c", true},
		{[]string{"a/**/b/**/c"}, "a/1/b/2/3/c", true},
		{[]string{"a/**"}, "a", false},
		{[]string{"**"}, "a/b", true},
		{[]string{"a?c"}, "abc", true},
		{[]string{"a?c"}, "aéc", true},
		{[]string{"a?c"}, "ac", false},
		{[]string{"[a-c].x"}, "b.x", true},
		{[]string{"[a-c].x"}, "d.x", false},
		{[]string{"[!a-c].x"}, "d.x", true},
		{[]string{"[!a-c].x"}, "b.x", false},
		{[]string{"[]].x"}, "].x", true},
		{[]string{"[-a].x"}, "-.x", true},
		{[]string{"[^a].x"}, "b.x", true},
		{[]string{`[\d].x`}, "1.x", false},
		{[]string{"[+--].x"}, ",.x", true},
		{[]string{"*.{py,rs}"}, "a.py", false},
		{[]string{"*.{py,rs}"}, "a.{py,rs}", true},
		{[]string{"a.py"}, "aXpy", false},
		{[]string{"(a|b)"}, "a", false},
		{[]string{"a**"}, "ab", false},
		{[]string{"**a"}, "ba", false},
		{[]string{"***"}, "a", false},
		{[]string{"[a"}, "a", false},
		{[]string{"[z-a]"}, "m", false},
		{[]string{""}, "a", false},
		{[]string{"["}, "[", false},
		{[]string{"[a", "b"}, "b", true},
		{[]string{"*.py"}, "a\nb.py", true},
		{[]string{strings.Repeat("a", skill.MaxPattern+1)}, strings.Repeat("a", skill.MaxPattern+1), false},
		{[]string{"*"}, strings.Repeat("a", skill.MaxContextPath+1), false},
		{append(make([]string, skill.MaxPatterns), "a"), "a", false},
	} {
		if got := skill.MatchPaths(c.globs, c.path); got != c.want {
			t.Errorf("%.60q %.60q: %v", c.globs, c.path, got)
		}
	}
	if !(skill.Descriptor{Paths: facts}).MatchesPath("main.py") {
		t.Error("the descriptor does not match")
	}
}

func TestHostileGlobsTakeNoLongTime(t *testing.T) {
	t.Parallel()
	path := strings.Repeat("a/", skill.MaxContextPath/2)
	begun := time.Now()
	for _, part := range []string{"*a", "**/", "[!b]*", "*?", "*a*"} {
		globs := make([]string, skill.MaxPatterns)
		for i := range globs {
			globs[i] = strings.Repeat(part, (skill.MaxPattern-1)/len(part)) + "b"
		}
		if skill.MatchPaths(globs, path) {
			t.Errorf("%s matches", part)
		}
	}
	if d := time.Since(begun); d > 20*time.Second {
		t.Errorf("took %s", d)
	} else {
		t.Logf("took %s", d)
	}
}
