package runner

import (
	"fmt"
	"strings"

	"github.com/skelegent/skelegent-go/protocol"
)

// Limits of ParseArgs.
const (
	MaxArgs       = 256
	MaxArgsLength = 64 << 10 // bytes
)

// ParseArgs splits a text into arguments as a shell does: at white space, with single quotes, double quotes and backslashes.
// Nothing is expanded, and # is a character as any other. A quote that is not closed, a backslash at the end, a NUL, and
// more than MaxArgs or MaxArgsLength are errors of KindArguments, never one opaque argument.
func ParseArgs(text string) ([]string, error) {
	if len(text) > MaxArgsLength {
		return nil, badArgs(fmt.Sprintf("more than %d bytes", MaxArgsLength))
	}
	var args []string
	var word strings.Builder
	open := false // a word has begun, maybe an empty one
	for i := 0; i < len(text); i++ {
		switch c := text[i]; c {
		case 0:
			return nil, badArgs("a NUL")
		case ' ', '\t', '\n', '\r':
			if open {
				args, open = append(args, word.String()), false
				word.Reset()
			}
		case '\'', '"':
			n, err := quoted(&word, text[i:])
			if err != nil {
				return nil, err
			}
			i, open = i+n, true
		case '\\':
			i++
			switch {
			case i == len(text):
				return nil, badArgs("a backslash at the end")
			case text[i] == 0:
				return nil, badArgs("a NUL")
			case text[i] == '\n': // the line goes on
			default:
				word.WriteByte(text[i])
				open = true
			}
		default:
			word.WriteByte(c)
			open = true
		}
		if len(args) > MaxArgs {
			break
		}
	}
	if open {
		args = append(args, word.String())
	}
	if len(args) > MaxArgs {
		return nil, badArgs(fmt.Sprintf("more than %d arguments", MaxArgs))
	}
	return args, nil
}

// quoted adds what is in the quotes that the text starts with, and returns where the closing one is.
func quoted(word *strings.Builder, text string) (int, error) {
	quote := text[0]
	for i := 1; i < len(text); i++ {
		switch c := text[i]; {
		case c == 0:
			return 0, badArgs("a NUL")
		case c == quote:
			return i, nil
		case c == '\\' && quote == '"' && i+1 < len(text) && strings.IndexByte("$`\"\\\n", text[i+1]) >= 0:
			i++
			if text[i] != '\n' {
				word.WriteByte(text[i])
			}
		default:
			word.WriteByte(c)
		}
	}
	return 0, badArgs("a quote that is not closed")
}

func badArgs(what string) error {
	return failed(KindArguments, protocol.CodeInvalidInput, "malformed arguments: "+what)
}
