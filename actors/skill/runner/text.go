package runner

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/skelegent/skelegent-go/protocol"
)

// maxComplaint is how much of standard error InlineText shows, in bytes.
const maxComplaint = 4096

// InlineText is what stands in a skill's text in place of an inline command: its standard output without white space around
// it, or why there is none:
//
//	[error: STDERR]         it failed and said why
//	[error: exit code N]    it failed and did not
//	[timeout after Ns]      it took too long
//	[sandbox error: E]      the sandbox could not be made
//	[error: E]              it was killed for another reason, or could not be run
//
// Output beyond the limit is marked as cut. The text is from outside: it may hold anything.
func InlineText(r Result, err error) string {
	if err != nil {
		e := protocol.AsError(err)
		if errors.Is(err, &protocol.Error{Kind: KindSandbox}) {
			return "[sandbox error: " + e.Message + "]"
		}
		return "[error: " + e.Message + "]"
	}
	switch {
	case r.Stopped == StopTimeout:
		return "[timeout after " + strconv.FormatFloat(r.Timeout.Seconds(), 'f', -1, 64) + "s]"
	case r.Stopped == StopOutput:
		return "[error: too much output]"
	case r.Stopped == StopProcesses:
		return "[error: too many processes]"
	case r.ExitCode != 0:
		if said := strings.TrimSpace(r.Stderr); said != "" {
			if len(said) > maxComplaint {
				said = clean([]byte(said[:maxComplaint])) + "..."
			}
			return "[error: " + said + "]"
		}
		return fmt.Sprintf("[error: exit code %d]", r.ExitCode)
	}
	text := strings.TrimSpace(r.Stdout)
	if r.Truncated {
		text += "\n[output truncated]"
	}
	return text
}
