package skill_test

import (
	"testing"

	"github.com/skelegent/skelegent-go/actors/skill"
)

func TestSubstitute(t *testing.T) {
	t.Parallel()
	vars := skill.Vars{SkillDir: "/skills/a", SessionID: "session-1", Arguments: []string{"arg1", "arg2"}}
	for _, c := range []struct {
		vars       skill.Vars
		text, want string
	}{
		{vars, "Dir: ${SKILL_DIR} ${CLAUDE_SKILL_DIR}", "Dir: /skills/a /skills/a"},
		{vars, "Session: ${SESSION_ID} ${CLAUDE_SESSION_ID}", "Session: session-1 session-1"},
		{vars, "All: ${ARGUMENTS}, first ${1}, second ${2}", "All: arg1 arg2, first arg1, second arg2"},
		{skill.Vars{}, "No args: ${ARGUMENTS} and ${1}", "No args:  and ${1}"},
		{vars, "${3} ${0} ${01} ${-1} ${+1} $1 ${ 1} ${1", "${3} ${0} ${01} ${-1} ${+1} $1 ${ 1} ${1"},
		{vars, "${HOME} ${} $ ${skill_dir}", "${HOME} ${} $ ${skill_dir}"},
		{vars, "${${1}}", "${arg1}"},
		{vars, "${99999999999999999999}", "${99999999999999999999}"},
		{skill.Vars{Arguments: []string{"${2}", "${SKILL_DIR}"}, SkillDir: "${1}"}, "${1} ${2} ${SKILL_DIR} ${ARGUMENTS}", "${2} ${SKILL_DIR} ${1} ${2} ${SKILL_DIR}"},
		{skill.Vars{Arguments: []string{"$", "{1}"}}, "${1}${2}", "${1}"},
		{skill.Vars{}, "", ""},
	} {
		if got, err := c.vars.Substitute(c.text); err != nil || got != c.want {
			t.Errorf("%q: %q %v, want %q", c.text, got, err, c.want)
		}
	}
}
