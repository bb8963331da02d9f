package command_test

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/skelegent/skelegent-go/actors/command"
	"github.com/skelegent/skelegent-go/actors/effect"
	"github.com/skelegent/skelegent-go/protocol"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func sh(script string) command.Spec { return command.Spec{Command: []string{"sh", "-c", script}} }

func TestOperator(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name, script string
		want         string
		code         protocol.Code
		text         string
	}{
		{name: "text", script: `echo hello`, want: "hello"},
		{name: "input on stdin", script: `grep -o '"message":"ping"'`, want: `"message":"ping"`},
		{name: "output", script: `echo '{"message":"typed","exit_reason":"complete","metadata":{"tokens_in":0,"tokens_out":0,"cost":"0","turns_used":0,"sub_dispatches":[],"duration":0}}'`, want: "typed"},
		{name: "bad output", script: `echo '{"message":7}'`, code: protocol.CodeToolError, text: "message"},
		{name: "fails", script: `echo 'no such host' >&2; exit 3`, code: protocol.CodeToolError, text: "no such host"},
		{name: "temporary", script: `exit 75`, code: protocol.CodeUnavailable},
		{name: "too much", script: `head -c 3000000 /dev/zero`, code: protocol.CodeToolError, text: "more than 1048576 bytes"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			out, err := command.Operator(sh(tc.script)).Execute(t.Context(), protocol.Text("ping"))
			if got := protocol.CodeOf(err); got != tc.code {
				t.Fatalf("code = %q, want %q: %v", got, tc.code, err)
			}
			if err != nil && !strings.Contains(err.Error(), tc.text) {
				t.Errorf("error %q does not say %q", err, tc.text)
			}
			if got, _ := out.Message.AsText(); err == nil && got != tc.want {
				t.Errorf("message = %q, want %q", got, tc.want)
			}
		})
	}
}

func TestNoSuchProgram(t *testing.T) {
	t.Parallel()
	_, err := command.Operator(command.Spec{Command: []string{"/no/such/program"}}).Execute(t.Context(), protocol.Text("x"))
	if protocol.CodeOf(err) != protocol.CodeToolError {
		t.Errorf("error = %v", err)
	}
	_, err = command.Operator(command.Spec{}).Execute(t.Context(), protocol.Text("x"))
	if protocol.CodeOf(err) != protocol.CodeInvalidInput {
		t.Errorf("error = %v", err)
	}
}

// A program that ignores its parent's end is killed with all it started.
func TestDeadlineKillsTheGroup(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	_, err := command.Operator(sh(`sleep 60 & sleep 60`)).Execute(ctx, protocol.Text("x"))
	if protocol.CodeOf(err) != protocol.CodeTimeout {
		t.Errorf("error = %v, want a timeout", err)
	}
}

func TestExecutor(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "out")
	e := command.Executor(command.Spec{Command: []string{"sh", "-c", `printf '%s ' "$SKG_EFFECT_ID" "$SKG_ATTEMPT" > "$OUT"; cat >> "$OUT"`}, Env: []string{"OUT=" + file}})
	err := e.Perform(t.Context(), effect.Request{ID: "id-1", Attempt: 2, Effect: protocol.CustomEffect{EffectType: "mail", Data: json.RawMessage(`{"to":"x"}`)}})
	if err != nil {
		t.Fatal(err)
	}
	got, err := os.ReadFile(file)
	if want := `id-1 2 {"type":"custom","effect_type":"mail","data":{"to":"x"}}`; err != nil || string(got) != want {
		t.Errorf("program got %q, want %q (%v)", got, want, err)
	}
}

func TestSecretsAreNotInherited(t *testing.T) {
	t.Setenv("OPENAI_API_KEY", "sk-secret")
	t.Setenv("HARMLESS", "fine")
	out, err := command.Operator(sh(`echo "$OPENAI_API_KEY|$HARMLESS"`)).Execute(t.Context(), protocol.Text("x"))
	if got, _ := out.Message.AsText(); err != nil || got != "|fine" {
		t.Errorf("program saw %q, %v", got, err)
	}
}

// What a program starts and leaves behind ends with it, and its own success stays one.
func TestNothingIsLeftBehind(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "pid")
	out, err := command.Operator(sh(`sleep 600 & echo $! > '`+file+`'; echo done`)).Execute(t.Context(), protocol.Text("x"))
	if text, _ := out.Message.AsText(); err != nil || text != "done" {
		t.Fatalf("%q, %v", text, err)
	}
	pid, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	state := func() string { // gone, or a zombie that its new parent has not fetched yet
		data, err := os.ReadFile("/proc/" + strings.TrimSpace(string(pid)) + "/stat")
		if err != nil {
			return "gone"
		}
		return strings.Fields(string(data))[2]
	}
	if _, err := os.Stat("/proc/self/stat"); err != nil {
		t.Log("no /proc here: the process cannot be looked for")
		return
	}
	for end := time.Now().Add(10 * time.Second); state() != "gone" && state() != "Z"; {
		if time.Now().After(end) {
			t.Fatalf("process %s lives on in state %s", pid, state())
		}
	}
}
