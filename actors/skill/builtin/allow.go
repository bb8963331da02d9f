package builtin

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"unicode"

	"github.com/skelegent/skelegent-go/actors/skill/runner"
)

const maxAllow = 256 // entries of a list

// allowed is an entry of a list of commands.
type allowed struct {
	words []string
	more  bool // with any further arguments
}

func (a allowed) matches(words []string) bool {
	if len(words) < len(a.words) || !a.more && len(words) > len(a.words) {
		return false
	}
	return slices.Equal(words[:len(a.words)], a.words)
}

func parseAllow(entries []string) ([]allowed, error) {
	if len(entries) > maxAllow {
		return nil, badConfig(NameShell, fmt.Sprintf("more than %d commands are allowed", maxAllow))
	}
	list := make([]allowed, 0, len(entries))
	for _, entry := range entries {
		command, more := strings.CutSuffix(entry, " *")
		words, ok := plainWords(command)
		switch {
		case !ok || len(entry) > maxCommand:
			return nil, badConfig(NameShell, quoted(entry)+" is no plain command")
		case strings.Contains(words[0], "=") || strings.ContainsAny(words[0], `/\`) && !filepath.IsAbs(words[0]):
			return nil, badConfig(NameShell, quoted(entry)+" must begin with the name, or the absolute path, of a program")
		}
		list = append(list, allowed{words: words, more: more})
	}
	return list, nil
}

// plainWords splits a command into words, and reports whether it is plain: a shell would make the same words of it, and run
// the program that the first one names with the others, and nothing else.
func plainWords(command string) ([]string, bool) {
	quote := rune(0)
	for _, r := range command {
		switch {
		case r == unicode.ReplacementChar || unicode.IsControl(r) && r != '\t':
			return nil, false
		case quote == '\'' && r != '\'', quote == '"' && !strings.ContainsRune("\"$`\\!", r):
		case quote == r && quote != 0:
			quote = 0
		case quote != 0:
			return nil, false
		case r == '\'' || r == '"':
			quote = r
		case !plainRune(r):
			return nil, false
		}
	}
	words, err := runner.ParseArgs(command) // refuses a quote that is not closed
	if err != nil || len(words) == 0 || words[0] == "" {
		return nil, false
	}
	return words, true
}

// plainRune reports whether a character outside of quotes is only itself.
func plainRune(r rune) bool {
	return unicode.IsLetter(r) || unicode.IsDigit(r) || strings.ContainsRune(" \t_-./:,+@%=", r)
}
