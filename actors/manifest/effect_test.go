package manifest_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/skelegent/skelegent-go/protocol"
)

// How an effect that a program performs ends, and what is left of one that does not end well.
func TestExecEffect(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name, script, options string
		status                protocol.OutcomeStatus
		code                  protocol.Code
		text                  string
		attempts              int
	}{
		{name: "ok", script: "exit 0", status: protocol.OutcomeOK, attempts: 1},
		{name: "fails", script: "echo no such address >&2; exit 1", status: protocol.OutcomeFailed, code: protocol.CodeToolError, text: "no such address", attempts: 1},
		{name: "not now, then ok", script: "[ $SKG_ATTEMPT -ge 3 ] || exit 75", status: protocol.OutcomeOK, attempts: 3},
		{name: "not now, for long", script: "exit 75", options: ", attempts: 2", status: protocol.OutcomeFailed, code: protocol.CodeUnavailable, text: "cannot now", attempts: 2},
		{name: "timeout", script: "sleep 60", options: ", timeout: 2s", status: protocol.OutcomeUnknown, code: protocol.CodeTimeout, text: "was stopped", attempts: 1},
		{name: "timeout of what can be repeated", script: "[ $SKG_ATTEMPT -ge 2 ] || sleep 60", options: ", timeout: 2s, idempotent: true", status: protocol.OutcomeOK, attempts: 2},
		{name: "timeout each time", script: "sleep 60", options: ", timeout: 2s, idempotent: true, attempts: 2", status: protocol.OutcomeFailed, code: protocol.CodeTimeout, text: "was stopped", attempts: 2},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			ran := filepath.Join(t.TempDir(), "ran")
			conn := bed(t, fmt.Sprintf(`
operators:
  sender: {kind: exec, command: [sh, -c, 'echo "$0"', '%s']}
effects:
  mail: {kind: exec, command: [sh, -c, 'cat >> "$0"; echo >> "$0"; %s', '%s'], backoff: 10ms%s}
`, sent, tc.script, ran, tc.options), bedConfig{})
			done := outcomes(t, conn)
			out := dispatch(t, conn, "sender", protocol.Text("go"))
			if len(out.Effects) != 1 {
				t.Fatalf("output = %+v", out)
			}
			all := done()
			if len(all) != 1 {
				t.Fatalf("outcomes = %+v", all)
			}
			o := all[0]
			if o.Status != tc.status || o.Attempts != tc.attempts || protocol.CodeOf(asError(o.Error)) != tc.code {
				t.Errorf("outcome = %+v (%v), want %s after %d attempts", o, o.Error, tc.status, tc.attempts)
			}
			if o.Error != nil && !strings.Contains(o.Error.Message, tc.text) {
				t.Errorf("error %q does not say %q", o.Error.Message, tc.text)
			}
			wantRuns(t, ran, tc.attempts)
			letters, err := conn.DeadLetters(testContext(t), "", 10)
			if err != nil {
				t.Fatal(err)
			}
			if tc.status == protocol.OutcomeOK {
				if len(letters) != 0 {
					t.Errorf("dead letters = %+v", letters)
				}
				return
			}
			if len(letters) != 1 {
				t.Fatalf("%d dead letters, want 1", len(letters))
			}
			l := letters[0].Letter
			if l.ID != o.EffectID || l.Operator != "sender" || l.Attempts != tc.attempts || l.Reason.Code != tc.code || l.Effect == nil {
				t.Errorf("dead letter = %+v", l)
			}
		})
	}
}

// sent is the output of an operator that sends a mail.
const sent = `{"message":"sent","exit_reason":"complete","effects":[{"type":"custom","effect_type":"mail","data":{"to":"heron"}}],` +
	`"metadata":{"tokens_in":0,"tokens_out":0,"cost":"0","turns_used":0,"sub_dispatches":[],"duration":0}}`

// wantRuns checks that the program ran so often and each time got the effect.
func wantRuns(t *testing.T, file string, attempts int) {
	t.Helper()
	raw, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	line := `{"type":"custom","effect_type":"mail","data":{"to":"heron"}}` + "\n"
	if got := string(raw); got != strings.Repeat(line, attempts) {
		t.Errorf("the program got %q, want %d times %q", got, attempts, line)
	}
}

// asError keeps a nil pointer from being an error.
func asError(e *protocol.Error) error {
	if e == nil {
		return nil
	}
	return e
}
