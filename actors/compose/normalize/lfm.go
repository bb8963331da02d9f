package normalize

import (
	"strings"

	"github.com/skelegent/skelegent-go/protocol"
)

// The markers between which a model writes calls as text.
const (
	StartMarker = "<|tool_call_start|>"
	EndMarker   = "<|tool_call_end|>"
)

// LFM reads the calls that LiquidAI's models, and others after their example, write as text:
//
//	Let me look. <|tool_call_start|>[get_weather(city='Berlin', days=3), list_tools()]<|tool_call_end|>
//
// A text may have any number of blocks. A block has calls between commas, in brackets or not, and each call arguments by name;
// commas too many do no harm. A value is
//   - a string in single or double quotes, in which \' \" \\ \n \r \t and \uXXXX stand for what they do in Python and JSON; any
//     other backslash stays as it is written, so that patterns such as '\d+' and '\bword\b' survive;
//   - a list [1, 2,] or an object {'a': 1,}, whose keys are strings, with or without quotes;
//   - True or true, False or false, None or null;
//   - a number, of any size with all its digits; also +5, .5 and 5., which JSON does not have. One that begins with a zero and
//     goes on with digits is a code such as 01234 and stays a string;
//   - anything else: a string without quotes, which ends at a comma or a bracket of what it is in. It may have brackets of its own
//     if they are in pairs. An empty one is "".
//
// What could be meant in two ways is an error, not a guess:
//   - A marker within quotes is text. It neither ends the block nor begins one; and where quotes are not closed, the block is not
//     either.
//   - A block that begins before the one before it has ended.
//   - Calls or arguments without a comma between them, two strings in a row, a quote in the middle of an unquoted value, brackets
//     that do not fit, and empty places in lists.
//   - Arguments and keys of objects that come twice, and numbers that are not finite: nan, inf, 1e999.
//   - Control characters other than tab and line ends, and what is not UTF-8.
//
// true and false are booleans, other than with rig-compose, where they are strings: a model that writes true means it.
//
// The zero value is ready.
type LFM struct{}

var _ Normalizer = LFM{}

// Name returns "lfm".
func (LFM) Name() string { return "lfm" }

// Applicable reports whether a block begins in text.
func (LFM) Applicable(text string) bool { return strings.Contains(text, StartMarker) }

// Parse returns the calls in text, and what is outside of the blocks as it is written. Where there is no start marker that is all
// of it, end markers included. If there is an error there are no calls.
func (LFM) Parse(text string) (calls []protocol.ToolCall, outside string, err error) {
	var s Stream
	outside, calls, err = s.Feed(text)
	if err != nil {
		return nil, "", err
	}
	rest, err := s.Close()
	if err != nil {
		return nil, "", err
	}
	return calls, outside + rest, nil
}

// Normalize is Parse without the text.
func (l LFM) Normalize(text string) ([]protocol.ToolCall, error) {
	calls, _, err := l.Parse(text)
	return calls, err
}
