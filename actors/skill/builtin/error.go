package builtin

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"unicode"

	"github.com/skelegent/skelegent-go/actors/skill/runner"
	"github.com/skelegent/skelegent-go/actors/tool"
	"github.com/skelegent/skelegent-go/protocol"
)

// The kinds of this package's errors, beside those of tools. Compare with errors.Is(err, &protocol.Error{Kind: k}).
const (
	KindPath       = runner.KindPath       // no relative path without ".."
	KindEscapes    = runner.KindEscapes    // the path leads out of the root
	KindNotFound   = runner.KindNotFound   // there is no such file or directory
	KindTooLarge   = runner.KindTooLarge   // the file, or what is to be written, is larger than the limit
	KindNotText    = runner.KindNotText    // the file is not UTF-8
	KindUnreadable = runner.KindUnreadable // the file cannot be read or written

	KindNotRegular protocol.ErrorKind = "skill.not_a_regular_file"
	KindChanged    protocol.ErrorKind = "skill.file_changed"        // the file is not what the caller has seen
	KindNotAllowed protocol.ErrorKind = "skill.command_not_allowed" // the command is not on the list
	KindNoPlace    protocol.ErrorKind = "skill.place_not_found"     // there is no weather for such a place
	KindConfig     protocol.ErrorKind = "skill.invalid_config"
)

func ofKind(kind protocol.ErrorKind, code protocol.Code, text string) *protocol.Error {
	e := protocol.NewError(code, text)
	e.Kind, e.Retryable = kind, false
	return e
}

func badConfig(skill, text string) *protocol.Error {
	return ofKind(KindConfig, protocol.CodeInvalidInput, "skill "+skill+": "+text)
}

// maxQuoted is how much of a text from outside an error shows, in bytes.
const maxQuoted = 120

// quoted is a text from outside, short and on one line.
func quoted(text string) string {
	if len(text) > maxQuoted {
		text = text[:maxQuoted] + "..."
	}
	return "\"" + oneLine(text) + "\""
}

// oneLine is text without what does not show.
func oneLine(text string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsPrint(r) {
			return r
		}
		return unicode.ReplacementChar
	}, strings.ToValidUTF8(text, string(unicode.ReplacementChar)))
}

// typed is a tool with a schema that no Go type says, such as one with choices. It panics if the schema, a constant of this
// package, cannot be used.
func typed[In, Out any](
	name, description, schema string, fn func(ctx context.Context, in In) (Out, error), opts ...tool.Option,
) tool.Tool {
	meta := protocol.ToolMetadata{Name: name, Description: description, InputSchema: json.RawMessage(schema)}
	t, err := tool.Raw(meta, func(ctx context.Context, input json.RawMessage) (tool.Result, error) {
		var in In
		if err := json.Unmarshal(input, &in); err != nil {
			return tool.Result{}, protocol.ErrToolInput("a field does not fit its type").Because(err)
		}
		out, err := fn(ctx, in)
		if err != nil {
			return tool.Result{}, err
		}
		raw, err := protocol.Marshal(out)
		if err != nil {
			return tool.Result{}, protocol.ErrToolFailed("the result is not JSON").Because(err)
		}
		return tool.Result{Output: raw}, nil
	}, opts...)
	if err != nil {
		panic(fmt.Sprintf("tool %s: %v", name, err))
	}
	return t
}

// set gives v a default.
func set[T ~int | ~int64](v *T, def T) {
	if *v <= 0 {
		*v = def
	}
}
