package skill

import (
	"strconv"
	"strings"

	"github.com/skelegent/skelegent-go/protocol"
)

// MaxExpanded is how many bytes a body can have when variables and commands are replaced.
const MaxExpanded = 4 << 20

// Vars are the values of variables: ${SKILL_DIR} and ${CLAUDE_SKILL_DIR}, ${SESSION_ID} and ${CLAUDE_SESSION_ID}, ${ARGUMENTS}
// with spaces in between, and ${1}, ${2} and so on.
type Vars struct {
	SkillDir  string
	SessionID string
	Arguments []string
}

// Substitute replaces the variables of a text. All of it is done at once: what a value has of variables stays as it is. So does
// what is none, such as ${0}, $1 or a position that no argument has. The error, of code quota_exceeded, is a result of more than
// MaxExpanded bytes.
func (v Vars) Substitute(text string) (string, error) {
	var b strings.Builder
	if err := v.substitute(&b, text); err != nil {
		return "", err
	}
	return b.String(), nil
}

func (v Vars) substitute(b *strings.Builder, text string) error {
	all := strings.Join(v.Arguments, " ")
	for {
		if b.Len() > MaxExpanded {
			return tooLong()
		}
		i := strings.Index(text, "${")
		if i < 0 {
			return write(b, text)
		}
		value, end, ok := v.lookup(text[i+2:], all)
		if !ok {
			b.WriteString(text[:i+2])
			text = text[i+2:]
			continue
		}
		b.WriteString(text[:i])
		if err := write(b, value); err != nil {
			return err
		}
		text = text[i+2+end:]
	}
}

// lookup reads "NAME}" and returns the value and how long that was.
func (v Vars) lookup(rest, all string) (value string, end int, ok bool) {
	const longest = 32
	n := strings.IndexByte(rest[:min(len(rest), longest)], '}')
	if n <= 0 {
		return "", 0, false
	}
	switch name := rest[:n]; name {
	case "SKILL_DIR", "CLAUDE_SKILL_DIR":
		value = v.SkillDir
	case "SESSION_ID", "CLAUDE_SESSION_ID":
		value = v.SessionID
	case "ARGUMENTS":
		value = all
	default:
		i, err := strconv.Atoi(name)
		if err != nil || i < 1 || i > len(v.Arguments) || strconv.Itoa(i) != name {
			return "", 0, false
		}
		value = v.Arguments[i-1]
	}
	return value, n + 1, true
}

func write(b *strings.Builder, s string) error {
	if b.Len()+len(s) > MaxExpanded {
		return tooLong()
	}
	b.WriteString(s)
	return nil
}

func tooLong() error {
	return protocol.NewError(protocol.CodeQuotaExceeded,
		"skill: with all variables and commands replaced the instructions are larger than "+strconv.Itoa(MaxExpanded)+" bytes")
}
