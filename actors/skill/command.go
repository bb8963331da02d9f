package skill

import (
	"context"
	"strconv"
	"strings"

	"github.com/skelegent/skelegent-go/protocol"
)

// Limits of commands in a body.
const (
	MaxCommands = 64
	MaxCommand  = 32 << 10 // bytes of one
)

// SegmentKind says what a part of a body is.
type SegmentKind string

// The kinds of segments.
const (
	SegmentText   SegmentKind = "text"
	SegmentInline SegmentKind = "inline" // !`command`
	SegmentBlock  SegmentKind = "block"  // three backticks and !, to the next three backticks
)

// Segment is a part of a body.
type Segment struct {
	Kind    SegmentKind
	Raw     string // as it is in the body; all of them together are the body
	Command string // what is to be run, without the marks; empty for a text or a block with nothing in it
	Line    int    // where it begins in the body, from 1
}

// Segments finds the commands of a body, in its original text: what variables and outputs bring is never one.
//
// A command is !`command` in one line, or a block of three backticks and !, to the next three backticks, which may be in the same
// line. Both count only at the beginning of the text or after white space, and within a block nothing else does. What is inside
// of a longer fence, of four backticks or of tildes, is an example and stays text. So does everything, with a warning, if a block
// is not closed, or if there are more than MaxCommands or one longer than MaxCommand: then it is not clear what was meant to run.
func Segments(body string) ([]Segment, []Diagnostic) {
	s := segmenter{body: body, line: 1}
	for i := 0; i < len(body); {
		switch n, done := s.next(i); {
		case done != "":
			d := Diagnostic{Line: 1 + strings.Count(body[:n], "\n"), Severity: SeverityWarning, Rule: RuleLimit, Message: done}
			if done == unclosedBlock {
				d.Rule = RuleBlockUnclosed
			}
			return []Segment{{Kind: SegmentText, Raw: body, Line: 1}}, []Diagnostic{d}
		case n > 0:
			i = n
		default:
			i = len(body)
		}
	}
	s.flush(len(body))
	return s.all, nil
}

const unclosedBlock = "a block of commands is not closed; no command is run"

const fence = "```"

type segmenter struct {
	body     string
	from     int // where the text that is not yet a segment begins
	line     int // there
	commands int
	all      []Segment
}

// next looks at the first place from i on where something can begin, and returns where to go on; 0 if there is none. If nothing is
// to be run, it says why, and where that is.
func (s *segmenter) next(i int) (n int, bad string) {
	k := strings.IndexAny(s.body[i:], "!`~")
	if k < 0 {
		return 0, ""
	}
	i += k
	rest := s.body[i:]
	free := i == 0 || strings.IndexByte(" \t\r\n\v\f", s.body[i-1]) >= 0
	if rest[0] == '!' {
		if !free {
			return i + 1, ""
		}
		if cmd, ok := inlineCommand(rest); ok {
			return s.command(SegmentInline, i, i+len(cmd)+3, cmd)
		}
		return i + 1, ""
	}
	run := len(rest) - len(strings.TrimLeft(rest, rest[:1]))
	switch {
	case s.opensExample(i, run):
		return s.example(i, run), ""
	case free && rest[0] == '`' && run == len(fence) && strings.HasPrefix(rest[run:], "!"):
		cmd, _, closed := strings.Cut(rest[run+1:], fence)
		if !closed {
			return i, unclosedBlock
		}
		return s.command(SegmentBlock, i, i+run+1+len(cmd)+len(fence), strings.TrimSpace(cmd))
	}
	return i + run, ""
}

// inlineCommand reads !`command`.
func inlineCommand(rest string) (string, bool) {
	if !strings.HasPrefix(rest, "!`") {
		return "", false
	}
	n := strings.IndexAny(rest[2:], "`\n\r")
	if n < 0 || rest[2+n] != '`' || strings.TrimSpace(rest[2:2+n]) == "" {
		return "", false
	}
	return rest[2 : 2+n], true
}

func (s *segmenter) command(kind SegmentKind, from, to int, cmd string) (n int, bad string) {
	if s.commands++; s.commands > MaxCommands {
		return from, "more than " + strconv.Itoa(MaxCommands) + " commands; none is run"
	}
	if len(cmd) > MaxCommand || strings.ContainsRune(cmd, 0) {
		return from, "a command is too long, or has a character that no command can have; none is run"
	}
	s.flush(from)
	s.all = append(s.all, Segment{Kind: kind, Raw: s.body[from:to], Command: cmd, Line: s.line})
	s.line += strings.Count(s.body[from:to], "\n")
	s.from = to
	return to, ""
}

// flush makes a segment of the text up to there.
func (s *segmenter) flush(to int) {
	if text := s.body[s.from:to]; text != "" {
		s.all = append(s.all, Segment{Kind: SegmentText, Raw: text, Line: s.line})
		s.line += strings.Count(text, "\n")
	}
	s.from = to
}

// opensExample reports whether a longer fence begins at i: the first in its line but for at most three spaces.
func (s *segmenter) opensExample(i, run int) bool {
	if run < len(fence) || (s.body[i] == '`' && run == len(fence)) {
		return false
	}
	for k := 0; k <= 3; k++ {
		if i-k == 0 || s.body[i-k-1] == '\n' {
			return true
		}
		if s.body[i-k-1] != ' ' {
			return false
		}
	}
	return false
}

// example returns where the fence that begins at i ends: after a line of as many of its characters or more, or with the text.
func (s *segmenter) example(i, run int) int {
	mark := s.body[i : i+run]
	for {
		n := strings.IndexByte(s.body[i:], '\n')
		if n < 0 {
			return len(s.body)
		}
		i += n + 1
		line, _, _ := strings.Cut(s.body[i:], "\n")
		trimmed := strings.Trim(line, " \t\r")
		if strings.HasPrefix(trimmed, mark) && strings.Trim(trimmed, mark[:1]) == "" {
			return i + len(line)
		}
	}
}

// RunFunc runs a command of a skill and returns what takes its place: what it printed, or a short text that says how it failed.
type RunFunc func(ctx context.Context, cmd string) string

// Expand returns the body with its variables and commands replaced: variables in its texts, and each command by what run returns
// for it, without white space around. Commands are run one after another in their order, as they are in the body: no variable is
// replaced in them, so nothing of the arguments is ever part of a command. What values and outputs have of commands or variables
// stays text. With a run that is nil no command is run, and all of them stay as they are.
//
// The diagnostics are those of Segments. An error is ctx ending, of code cancelled or timeout, or a result of more than MaxExpanded
// bytes, of code quota_exceeded.
func Expand(ctx context.Context, body string, vars Vars, run RunFunc) (string, []Diagnostic, error) {
	segments, ds := Segments(body)
	var b strings.Builder
	for _, s := range segments {
		var err error
		switch {
		case s.Kind == SegmentText:
			err = vars.substitute(&b, s.Raw)
		case run == nil:
			err = write(&b, s.Raw)
		case s.Command != "":
			if ctx.Err() != nil {
				return "", ds, protocol.AsError(ctx.Err())
			}
			err = write(&b, strings.TrimSpace(run(ctx, s.Command)))
		}
		if err != nil {
			return "", ds, err
		}
	}
	if ctx.Err() != nil {
		return "", ds, protocol.AsError(ctx.Err())
	}
	return b.String(), ds, nil
}
