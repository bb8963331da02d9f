package portable

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/skelegent/skelegent-go/actors/compose"
)

// The errors of this package. Each is a *protocol.Error of compose.KindToolFailed, too, with its text: so errors.As and
// compose.KindOf find.
type (
	// ParseError says that a text is no manifest.
	ParseError struct {
		// File is empty where the text is from no file.
		File string
		// Line counts from 1.
		Line int
		Text string
	}
	// FileError says that a file could not be read.
	FileError struct {
		File string
		err  error
	}
	// MissingHostTool says that the host does not have a tool that the agent needs, or does not let it be seen.
	MissingHostTool struct{ Name string }
	// MissingDelegateExecutor says that nobody does the work of a delegate that is to be in this process.
	MissingDelegateExecutor struct{ Key string }
)

// Error names the file, if there is one, and the line.
func (e *ParseError) Error() string {
	if e.File == "" {
		return fmt.Sprintf("line %d: %s", e.Line, e.Text)
	}
	return fmt.Sprintf("%s:%d: %s", e.File, e.Line, e.Text)
}

// Error says what could not be done.
func (e *FileError) Error() string { return "read manifest: " + e.err.Error() }

// Error names the tool.
func (e *MissingHostTool) Error() string {
	return "the manifest needs the tool " + quoted(e.Name) + ", which the host does not have"
}

// Error names the key.
func (e *MissingDelegateExecutor) Error() string {
	return "the manifest has an in-process delegate " + quoted(e.Key) + ", for which there is no executor"
}

// Unwrap returns it as an error of the kernel.
func (e *ParseError) Unwrap() error { return compose.ErrToolFailed(e.Error()) }

// Unwrap returns it as an error of the kernel, whose cause is that of the system.
func (e *FileError) Unwrap() error { return compose.ErrToolFailed(e.Error()).Because(e.err) }

// Unwrap returns it as an error of the kernel.
func (e *MissingHostTool) Unwrap() error { return compose.ErrToolFailed(e.Error()) }

// Unwrap returns it as an error of the kernel.
func (e *MissingDelegateExecutor) Unwrap() error { return compose.ErrToolFailed(e.Error()) }

// quoted is a name for an error's text.
func quoted(name string) string {
	const most = 80
	if len(name) > most {
		name = strings.ToValidUTF8(name[:most], "") + "..."
	}
	return strconv.Quote(name)
}
