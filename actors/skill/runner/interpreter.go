package runner

import (
	"fmt"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"github.com/skelegent/skelegent-go/protocol"
)

// Script returns the command that runs a script of a skill: an interpreter by the extension of its name, the script's
// absolute path, and the arguments as they are; no shell is involved. rel is relative to dir and must lead to a file in it,
// see Resolve for what can be exchanged after. The errors are those of Resolve, and of KindNoInterpreter with what to
// install.
func Script(f Finder, dir, rel string, args []string) ([]string, error) {
	file, err := Resolve(dir, rel)
	if err != nil {
		return nil, err
	}
	command, err := Interpreter(f, rel)
	if err != nil {
		return nil, err
	}
	return slices.Concat(command, []string{file}, args), nil
}

// Interpreter returns what runs a script of that name: the program's absolute path and the arguments that go before the
// script's. An unknown extension, and none, is a shell's. The error, of KindNoInterpreter, says what to install.
func Interpreter(f Finder, name string) ([]string, error) {
	extension := strings.ToLower(strings.TrimPrefix(filepath.Ext(name), "."))
	return first(f, interpreters(runtime.GOOS == "windows", extension), "scripts "+shown(filepath.Base(name)))
}

// The shells of inline commands and hooks.
const (
	ShellBash       = "bash"
	ShellPowerShell = "powershell"
)

const maxShellCommand = 32 << 10

// Shell returns the command that runs a text in a shell: ShellPowerShell, or bash for any other name. Where there is no bash
// or no PowerShell it is sh. The error, of KindNoInterpreter, says what to install; a text that is too long or holds a NUL
// is of KindInvalid.
func Shell(f Finder, shell, text string) ([]string, error) {
	if len(text) > maxShellCommand || strings.ContainsRune(text, 0) {
		return nil, invalid("the command is too long or holds a NUL")
	}
	command, err := first(f, shells(runtime.GOOS == "windows", shell == ShellPowerShell), "commands of "+ShellBash)
	if err != nil {
		return nil, err
	}
	return append(command, text), nil
}

// candidate is a way to run something.
type candidate struct {
	name   string
	before []string
}

func programs(names ...string) []candidate {
	var list []candidate
	for _, name := range names {
		list = append(list, candidate{name: name})
	}
	return list
}

var (
	gitBash = candidate{name: `C:\Program Files\Git\bin\bash.exe`}
	psFile  = []string{"-NoProfile", "-NonInteractive", "-File"}
	psText  = []string{"-NoProfile", "-NonInteractive", "-Command"}
	psWin   = []string{"-NoProfile", "-NonInteractive", "-ExecutionPolicy", "Bypass", "-File"}
)

// interpreters are the candidates for an extension in lower case, the best first.
func interpreters(windows bool, extension string) []candidate {
	switch extension {
	case "py":
		if windows {
			return []candidate{{name: "python"}, {name: "py", before: []string{"-3"}}}
		}
		return programs("python3", "python")
	case "js", "mjs", "cjs":
		return programs("node")
	case "ts", "mts", "tsx":
		return []candidate{
			{name: "bun"}, {name: "deno", before: []string{"run", "--allow-read", "--allow-env"}}, {name: "npx", before: []string{"tsx"}},
		}
	case "ps1":
		if windows {
			return []candidate{{name: "pwsh", before: psFile}, {name: "powershell", before: psWin}}
		}
		return []candidate{{name: "pwsh", before: psFile}, {name: "sh"}}
	case "rb":
		return programs("ruby")
	case "pl":
		return programs("perl")
	case "php":
		return programs("php")
	case "r":
		return programs("Rscript")
	}
	if windows {
		return []candidate{gitBash, {name: "bash"}, {name: "powershell", before: psWin}}
	}
	return programs("bash", "sh")
}

// shells are the candidates for the text of a command.
func shells(windows, powershell bool) []candidate {
	text := []string{"-c", "--"} // also a text that begins with a hyphen
	switch {
	case windows && powershell:
		return []candidate{{name: "pwsh", before: psText}, {name: "powershell", before: psText}}
	case windows:
		return []candidate{{name: gitBash.name, before: text}, {name: "bash", before: text}, {name: "powershell", before: psText}}
	case powershell:
		return []candidate{{name: "pwsh", before: psText}, {name: "sh", before: text}}
	}
	return []candidate{{name: "bash", before: text}, {name: "sh", before: text}}
}

// first returns the first candidate that is there.
func first(f Finder, candidates []candidate, what string) ([]string, error) {
	var names []string
	for _, c := range candidates {
		if file, err := f.LookPath(c.name); err == nil {
			return append([]string{file}, c.before...), nil
		}
		names = append(names, c.name)
	}
	return nil, failed(KindNoInterpreter, protocol.CodeUnsupported,
		fmt.Sprintf("nothing here runs %s: install %s", what, strings.Join(names, " or ")))
}
