package command_test

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/skelegent/skelegent-go/actors/command"
	"github.com/skelegent/skelegent-go/actors/tool"
	"github.com/skelegent/skelegent-go/protocol"
)

func toolOf(t *testing.T, s command.Spec, opts ...tool.Option) tool.Tool {
	t.Helper()
	x, err := command.Tool(protocol.ToolMetadata{
		Name: "x", InputSchema: json.RawMessage(`{"type":"object","properties":{"n":{"type":"integer"}},"required":["n"]}`),
	}, s, opts...)
	if err != nil {
		t.Fatal(err)
	}
	return x
}

func TestTool(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("e", 5000)
	for name, tc := range map[string]struct {
		script string
		want   string
		kind   protocol.ErrorKind
		text   string
	}{
		"input on stdin": {script: `cat`, want: `{"n":1}`},
		"json":           {script: `printf ' [1, 2]\n'`, want: `[1,2]`},
		"text":           {script: `echo 'two words'`, want: `two words`},
		"two values":     {script: `echo 1; echo 2`, want: "1\n2"},
		"nothing":        {script: `:`, want: ""},
		"not utf-8":      {script: `printf 'a\377b'`, want: "a\uFFFDb"},
		"fails":          {script: `echo 'no such host' >&2; exit 3`, kind: protocol.KindToolExecutionFailed, text: "execution failed: sh: exit status 3: no such host"},
		"long complaint": {script: `echo ` + long + ` >&2; exit 1`, kind: protocol.KindToolExecutionFailed, text: strings.Repeat("e", 300)},
		"temporary":      {script: `exit 75`, kind: protocol.KindToolTransient, text: "cannot now"},
		"too much":       {script: `head -c 3000000 /dev/zero`, kind: protocol.KindToolExecutionFailed, text: "more than 1048576 bytes"},
		"killed":         {script: `kill -9 $$`, kind: protocol.KindToolExecutionFailed, text: "killed"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			res, err := tool.Call(t.Context(), toolOf(t, sh(tc.script)), json.RawMessage(`{"n":1}`))
			if tc.kind == "" {
				if err != nil || res.Text() != tc.want {
					t.Errorf("got %q, %v, want %q", res.Text(), err, tc.want)
				}
				return
			}
			if e := protocol.AsError(err); e == nil || e.Kind != tc.kind || !strings.Contains(e.Message, tc.text) || len(e.Message) > 500 {
				t.Errorf("got %v, want %s with %q", err, tc.kind, tc.text)
			}
		})
	}
}

func TestToolChecksItsInput(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "ran")
	_, err := tool.Call(t.Context(), toolOf(t, sh(`touch '`+file+`'`)), json.RawMessage(`{"n":"x"}`))
	if e := protocol.AsError(err); e == nil || e.Kind != protocol.KindToolInvalidInput {
		t.Errorf("got %v", err)
	}
	if _, err := os.Stat(file); err == nil {
		t.Error("the program ran")
	}
	if _, err := command.Tool(protocol.ToolMetadata{Name: "x"}, command.Spec{}); protocol.CodeOf(err) != protocol.CodeInvalidInput {
		t.Errorf("got %v", err)
	}
}

// The time limit ends the program and what it started.
func TestToolTimeout(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "pid")
	x := toolOf(t, sh(`sleep 600 & echo $! > '`+file+`'; sleep 600`), tool.Timeout(300*time.Millisecond))
	_, err := tool.Call(t.Context(), x, json.RawMessage(`{"n":1}`))
	if e := protocol.AsError(err); e == nil || e.Code != protocol.CodeTimeout || e.Message != "execution failed: timed out after 300ms" {
		t.Errorf("got %v", err)
	}
	if pid, err := os.ReadFile(file); err == nil { // it may have been too slow to write it
		gone(t, strings.TrimSpace(string(pid)))
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := tool.Call(ctx, toolOf(t, sh(`sleep 600`)), json.RawMessage(`{"n":1}`)); protocol.CodeOf(err) != protocol.CodeCancelled {
		t.Errorf("got %v", err)
	}
}

// gone waits until a process has ended.
func gone(t *testing.T, pid string) {
	t.Helper()
	if _, err := os.Stat("/proc/self/stat"); err != nil {
		t.Log("no /proc here: the process cannot be looked for")
		return
	}
	for end := time.Now().Add(10 * time.Second); ; {
		data, err := os.ReadFile("/proc/" + pid + "/stat")
		if err != nil || strings.Fields(string(data))[2] == "Z" {
			return
		}
		if time.Now().After(end) {
			t.Fatalf("process %s lives on", pid)
		}
	}
}

func TestToolEnvironment(t *testing.T) {
	t.Setenv("AWS_SECRET_ACCESS_KEY", "secret")
	t.Setenv("DATABASE_URL", "secret")
	t.Setenv("NAMED_TOKEN", "wanted")
	s := sh(`echo "$AWS_SECRET_ACCESS_KEY|$DATABASE_URL|$NAMED_TOKEN|$OWN|$SKG_IDEMPOTENCY_KEY|$SKG_OPERATOR|$SKG_RUN_ID|$SKG_SESSION"`)
	s.Env = []string{"NAMED_TOKEN", "OWN=1", "NOT_THERE"}
	session := protocol.SessionID("s1")
	ctx := protocol.WithInvocation(t.Context(), &protocol.Invocation{Call: protocol.Call{Run: "r1"}, Operator: "op"})
	ctx = tool.WithRun(ctx, tool.Run{Session: &session, IdempotencyKey: "r1/2"})
	res, err := tool.Call(ctx, toolOf(t, s), json.RawMessage(`{"n":1}`))
	if want := "||wanted|1|r1/2|op|r1|s1"; err != nil || res.Text() != want {
		t.Errorf("got %s, %v, want %s", res.Text(), err, want)
	}
}

// Nobody reads what a program writes beyond the limit; it must not go on until its deadline.
func TestTooMuchOutputEndsTheProgram(t *testing.T) {
	t.Parallel()
	script := sh(`trap "" PIPE; head -c 3000000 /dev/zero; exec sleep 60`)
	start := time.Now()
	_, err := tool.Call(t.Context(), toolOf(t, script), json.RawMessage(`{"n":1}`))
	_, also := command.Operator(script).Execute(t.Context(), protocol.Text("x"))
	for _, err := range []error{err, also} {
		if err == nil || !strings.Contains(err.Error(), "wrote more than 1048576 bytes") {
			t.Errorf("got %v", err)
		}
	}
	if took := time.Since(start); took > 20*time.Second {
		t.Errorf("it took %v", took)
	}
}
