package main

import (
	"context"
	"fmt"
	"regexp"
	"strings"
	"time"
	"unicode"

	"github.com/spf13/cobra"

	"github.com/skelegent/skelegent-go/actors/inspect"
	"github.com/skelegent/skelegent-go/actors/run"
	"github.com/skelegent/skelegent-go/protocol"
	"github.com/skelegent/skelegent-go/protocol/wire"
)

// workflowArg reads the argument OPERATOR/INSTANCE.
func workflowArg(arg string) (protocol.WorkflowID, error) {
	if _, _, err := wire.ParseWorkflow(arg); err != nil {
		return "", usageError(err)
	}
	return protocol.WorkflowID(arg), nil
}

// withInstance makes a command's function of f: it gets the instance that the first argument names, the arguments behind it,
// and a reader. What takes longer than --timeout is ended.
func (a *app) withInstance(f func(ctx context.Context, s *session, r *inspect.Reader, workflow protocol.WorkflowID, rest []string) error) func(*cobra.Command, []string) error {
	return func(cmd *cobra.Command, args []string) error {
		workflow, err := workflowArg(args[0])
		if err != nil {
			return err
		}
		return a.withConn(cmd, a.flags.timeout, func(ctx context.Context, s *session) error {
			return f(ctx, s, inspect.New(s.Conn), workflow, args[1:])
		})
	}
}

// addRun adds the flag that names a run.
func addRun(cmd *cobra.Command, id *string, what string) { cmd.Flags().StringVar(id, "run", "", what) }

// checkRunFlag refuses a --run that no run can have.
func checkRunFlag(cmd *cobra.Command, id string) error {
	if !cmd.Flags().Changed("run") {
		return nil
	}
	if err := checkRun(id); err != nil {
		return usagef("--run: %w", err)
	}
	return nil
}

var plainWord = regexp.MustCompile(`^[A-Za-z0-9_./:@%+=,-]+$`)

// word is s as a shell reads it back as one word. Whatever is in it, it can be shown on a terminal.
func word(s string) string {
	switch {
	case plainWord.MatchString(s):
		return s
	case strings.ContainsFunc(s, unicode.IsControl):
		var b strings.Builder
		for _, c := range []byte(s) {
			switch {
			case c == '\\' || c == '\'':
				b.WriteString(`\` + string(rune(c)))
			case c < ' ' || c >= 0x7f:
				fmt.Fprintf(&b, `\x%02x`, c)
			default:
				b.WriteByte(c)
			}
		}
		return "$'" + b.String() + "'"
	}
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}

// command is a command line of this program.
func command(name string, workflow protocol.WorkflowID, rest ...string) string {
	return strings.Join(append([]string{"skelegent", name, word(string(workflow))}, rest...), " ")
}

// waitText says what a suspended run waits for.
func waitText(w *run.Wait) string {
	if w == nil {
		return ""
	}
	switch w.Reason {
	case run.WaitApproval:
		var tools []string
		if w.Approval != nil {
			for _, p := range w.Approval.Pending {
				tools = append(tools, p.ToolName)
			}
		}
		return strings.TrimSuffix("an approval: "+strings.Join(tools, ", "), ": ")
	case run.WaitSignal:
		text := "signal " + strings.Join(w.Signals, " or ")
		if len(w.Timers) > 0 {
			text += " until " + clock(w.Timers[0].At)
		}
		return text
	case run.WaitTimer:
		return "the time " + firstDue(w)
	case run.WaitRetry:
		return "another attempt at " + firstDue(w)
	case run.WaitChild:
		if len(w.Children) == 1 {
			return "run " + string(w.Children[0])
		}
		return fmt.Sprintf("%d runs", len(w.Children))
	case run.WaitPaused:
		return "resume"
	case run.WaitEffects:
		return "what an earlier turn wrote"
	}
	return string(w.Reason)
}

func firstDue(w *run.Wait) string {
	if len(w.Timers) == 0 {
		return "?"
	}
	return clock(w.Timers[0].At)
}

// clock is a time for people: without the date if that is today's.
func clock(t time.Time) string {
	t = t.Local()
	if t.Format(time.DateOnly) == time.Now().Format(time.DateOnly) {
		return t.Format(time.TimeOnly)
	}
	return t.Format(time.DateTime)
}

// answerHint says how to go on with a run that waits for somebody; empty if nobody has to.
func answerHint(workflow protocol.WorkflowID, w *run.Wait) string {
	switch {
	case w == nil:
		return ""
	case w.Approval != nil:
		return command("approve", workflow) + ", or " + command("deny", workflow)
	case w.Paused:
		return command("resume", workflow)
	case len(w.Signals) > 0:
		return command("signal", workflow, word(w.Signals[0]), "DATA")
	}
	return ""
}
