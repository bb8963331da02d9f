package skill_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/skelegent/skelegent-go/actors/skill"
)

func TestPermits(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		list []string
		tool string
		want bool
	}{
		{nil, "anything", true},
		{[]string{"*"}, "anything", true},
		{[]string{"Bash"}, "Bash", true},
		{[]string{"Bash"}, "Bash(git:*)", true},
		{[]string{"Bash(*)"}, "Bash(git:status)", true},
		{[]string{"Bash(git:*)"}, "Bash(git:status)", true},
		{[]string{"Bash(git:*)"}, "Bash", false},
		{[]string{"Bash"}, "BashExtra", false},
		{[]string{"Bash"}, "bash", false},
		{[]string{"mcp__*"}, "mcp__a", true},
		{[]string{"Read", "Write"}, "Write", true},
		{[]string{"Read", "Write"}, "Edit", false},
		{[]string{""}, "(x", false},
		{[]string{""}, "x", false},
		{[]string{"["}, "x", false},
		{[]string{"run_skill_script"}, "read_skill_resource", false},
		{[]string{"Read"}, "", false},
	} {
		if got := skill.Permits(c.list, c.tool); got != c.want {
			t.Errorf("%q %q: %v", c.list, c.tool, got)
		}
		if got := (skill.Descriptor{AllowedTools: c.list}).Permits(c.tool); got != c.want {
			t.Errorf("descriptor: %q %q: %v", c.list, c.tool, got)
		}
	}
}

func TestUnionOfListsRestrictsIfOneDoes(t *testing.T) {
	t.Parallel()
	if got := skill.Union(nil, []string{}); !skill.Permits(got, "x") {
		t.Error(got)
	}
	got := skill.Union([]string{"b", "a"}, nil, []string{"b", "c"})
	if want := []string{"a", "b", "c"}; !cmp.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
	if skill.Permits(got, "x") || !skill.Permits(got, "c") {
		t.Error(got)
	}
}
