package runner_test

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/skelegent/skelegent-go/actors/skill/runner"
)

func TestParseArgs(t *testing.T) {
	t.Parallel()
	for text, want := range map[string][]string{
		``: nil, `   `: nil, " \t\n ": nil,
		`--name "hello world" --verbose`: {"--name", "hello world", "--verbose"},
		`a  b`:                           {"a", "b"},
		`'a b' "c d"`:                    {"a b", "c d"},
		`"" ''`:                          {"", ""},
		`a""b'c'd`:                       {"abcd"},
		`a\ b`:                           {"a b"},
		`\"a\'`:                          {`"a'`},
		`"a\"b\\c\$d\e"`:                 {`a"b\c$d\e`},
		`'a\b'`:                          {`a\b`},
		`"it's"`:                         {"it's"},
		"a\\\nb":                         {"ab"},
		"\"a\\\nb\"":                     {"ab"},
		"a \\\n b":                       {"a", "b"},
		"'a\nb'":                         {"a\nb"},
		`# $HOME * ; | ${1} ~`:           {"#", "$HOME", "*", ";", "|", "${1}", "~"},
		`ü "€ x"`:                        {"ü", "€ x"},
	} {
		if got, err := runner.ParseArgs(text); err != nil || !slices.Equal(got, want) {
			t.Errorf("%q: got %q, want %q, %v", text, got, want, err)
		}
	}
}

func TestParseArgsRefusesMalformed(t *testing.T) {
	t.Parallel()
	for _, text := range []string{
		`--name "unterminated`, `'`, `"`, `a'b`, `"a\"`, `a\`, `"a" 'b`, "a\x00b", "'\x00'", "\\\x00", "\"\x00\"",
		strings.Repeat("a ", runner.MaxArgs+1), strings.Repeat("a ", runner.MaxArgs) + "b", strings.Repeat("a", runner.MaxArgsLength+1),
	} {
		if args, err := runner.ParseArgs(text); !isKind(err, runner.KindArguments) || args != nil {
			t.Errorf("%.40q: got %d arguments, %v", text, len(args), err)
		}
	}
	if args, err := runner.ParseArgs(strings.Repeat("a ", runner.MaxArgs)); err != nil || len(args) != runner.MaxArgs {
		t.Errorf("as many as may be: %d, %v", len(args), err)
	}
}

// quote writes arguments in one of the ways a shell reads.
func quote(args []string, way int) string {
	var words []string
	for i, arg := range args {
		switch (way + i) % 3 {
		case 0:
			words = append(words, "'"+strings.ReplaceAll(arg, "'", `'\''`)+"'")
		case 1:
			words = append(words, `"`+strings.NewReplacer(`\`, `\\`, `"`, `\"`, `$`, `\$`, "`", "\\`").Replace(arg)+`"`)
		case 2:
			var b strings.Builder
			for i := range len(arg) {
				if arg[i] == '\n' {
					b.WriteString("'\n'")
				} else {
					b.WriteString(`\` + arg[i:i+1])
				}
			}
			if arg == "" {
				b.WriteString("''")
			}
			words = append(words, b.String())
		}
	}
	return strings.Join(words, " ")
}

func TestQuotedArgumentsParseBack(t *testing.T) {
	t.Parallel()
	chars := []rune(" \t\n'\"\\$`#ab=-€*")
	for range 3000 {
		var args []string
		for range rand.IntN(6) {
			var b strings.Builder
			for range rand.IntN(8) {
				b.WriteRune(chars[rand.IntN(len(chars))])
			}
			args = append(args, b.String())
		}
		text := quote(args, rand.IntN(3))
		if got, err := runner.ParseArgs(text); err != nil || !slices.Equal(got, args) {
			t.Fatalf("%q: got %q, want %q, %v", text, got, args, err)
		}
	}
}

// What is parsed is what a real shell makes of the text, where that has nothing to expand.
func TestParseArgsAgreesWithAShell(t *testing.T) {
	t.Parallel()
	run := runner.Direct(config())
	for _, text := range []string{
		`a "b c" 'd e' f\ g`, `"a\"b\\c\$d\e" x`, `a""b'c'd`, `'' ""`, "a\\\nb c", "\"x\\\ny\"", `\a\b '\' "'"`,
	} {
		got, err := runner.ParseArgs(text)
		if err != nil {
			t.Fatal(err)
		}
		r := do(t, run, sh(t, run, `printf '%s\n' `+text))
		if want := strings.Join(got, "\n") + "\n"; r.Stdout != want {
			t.Errorf("%q: a shell has %q, we %q", text, r.Stdout, want)
		}
	}
}

func FuzzParseArgs(f *testing.F) {
	for _, seed := range []string{`a "b c"`, `'`, `\`, `"\`, "a\x00", `""`} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		args, err := runner.ParseArgs(text)
		if err != nil {
			return
		}
		if strings.ContainsRune(strings.Join(args, ""), 0) || len(args) > runner.MaxArgs {
			t.Fatalf("%q: %q", text, args)
		}
		if again, err := runner.ParseArgs(quote(args, 0)); err == nil && !slices.Equal(again, args) {
			t.Errorf("%q: %q, then %q", text, args, again)
		}
	})
}
