package runner

import (
	"github.com/skelegent/skelegent-go/protocol"
)

// The kinds of this package's errors. Compare with errors.Is(err, &protocol.Error{Kind: k}).
const (
	KindInvalid       protocol.ErrorKind = "skill.invalid_spec"   // the Spec or Config cannot be used
	KindArguments     protocol.ErrorKind = "skill.arguments"      // an argument string is malformed or too long
	KindPath          protocol.ErrorKind = "skill.path"           // no relative path without ".."
	KindNotFound      protocol.ErrorKind = "skill.file_not_found" // there is no such file
	KindEscapes       protocol.ErrorKind = "skill.path_escapes"   // what the path leads to is outside the directory
	KindTooLarge      protocol.ErrorKind = "skill.file_too_large" // the file is larger than the limit
	KindNotText       protocol.ErrorKind = "skill.file_not_text"  // the file is not UTF-8
	KindUnreadable    protocol.ErrorKind = "skill.file_unreadable"
	KindNoInterpreter protocol.ErrorKind = "skill.no_interpreter" // what runs such scripts is not installed
	KindNotStarted    protocol.ErrorKind = "skill.not_started"    // the program could not be started
	KindSandbox       protocol.ErrorKind = "skill.sandbox"        // the sandbox could not be made
)

func failed(kind protocol.ErrorKind, code protocol.Code, text string) *protocol.Error {
	e := protocol.NewError(code, text)
	e.Kind, e.Retryable = kind, false
	return e
}

func invalid(text string) *protocol.Error {
	return failed(KindInvalid, protocol.CodeInvalidInput, text)
}

// maxQuoted is how much of a name from outside an error shows, in bytes.
const maxQuoted = 80

// shown is a name from outside, short enough for an error.
func shown(name string) string {
	if len(name) > maxQuoted {
		name = name[:maxQuoted] + "..."
	}
	return "\"" + clean([]byte(name)) + "\""
}
