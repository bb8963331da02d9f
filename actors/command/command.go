// Package command runs programs as operators and as executors of effects: JSON on standard input, JSON or text on standard
// output.
//
//	OperatorInput  ->  stdin  [ program ]  stdout  ->  OperatorOutput, or text that becomes its message
//	Effect         ->  stdin  [ program ]  exit code: 0 done, 75 try again, else failed
//
// A program gets the environment of the node less what is listed below, its own process group, and a deadline at which the
// whole group is killed. Its output is bounded. There is no isolation beyond that: a program may do what the node's user may.
package command

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"time"

	"github.com/skelegent/skelegent-go/actors/effect"
	"github.com/skelegent/skelegent-go/protocol"
)

// Spec says what to run.
type Spec struct {
	// Command is the program and its arguments; no shell is involved.
	Command []string
	// Dir is its working directory; that of the node if empty.
	Dir string
	// Env is added to the environment, as NAME=value.
	Env []string
	// MaxOutput bounds standard output in bytes; 1 MiB if 0. More is an error.
	MaxOutput int
}

// exitTempFail is EX_TEMPFAIL of sysexits.h: nothing was done, another attempt may succeed.
const exitTempFail = 75

// killWait is how long a program whose group was killed may keep its pipes open.
const killWait = 2 * time.Second

// maxComplaint is how much of standard error is shown.
const maxComplaint = 300

// secretEnv are the ends of names of variables that a program does not inherit from the node.
var secretEnv = []string{"_API_KEY", "_TOKEN", "_SECRET", "_PASSWORD", "_CREDS", "_NKEY"}

// run runs the program with input on its standard input and returns its standard output.
func (s Spec) run(ctx context.Context, input []byte, env ...string) ([]byte, error) {
	if len(s.Command) == 0 || s.Command[0] == "" {
		return nil, protocol.NewError(protocol.CodeInvalidInput, "no command")
	}
	name := s.Command[0]
	life, end := context.WithCancel(ctx)
	defer end()
	cmd := exec.CommandContext(life, name, s.Command[1:]...) //nolint:gosec // the operator of the node chose it
	cmd.Dir = s.Dir
	cmd.Env = append(append(inherited(), s.Env...), env...)
	cmd.Stdin = bytes.NewReader(input)
	limit := s.MaxOutput
	if limit <= 0 {
		limit = 1 << 20
	}
	stdout, stderr := &bounded{limit: limit, full: end}, &bounded{limit: maxComplaint, lossy: true}
	cmd.Stdout, cmd.Stderr = stdout, stderr
	ownGroup(cmd)
	cmd.WaitDelay = killWait
	err := cmd.Run()
	endGroup(cmd) // also what a program that ended well left behind
	if errors.Is(err, exec.ErrWaitDelay) && cmd.ProcessState.Success() {
		err = nil // what it left behind held its output open
	}
	var exit *exec.ExitError
	switch {
	case stdout.over:
		return nil, protocol.NewError(protocol.CodeToolError, fmt.Sprintf("%s wrote more than %d bytes", name, limit))
	case ctx.Err() != nil:
		return nil, protocol.NewError(protocol.AsError(ctx.Err()).Code, name+" was stopped before it was done").Because(context.Cause(ctx))
	case errors.As(err, &exit) && exit.ExitCode() == exitTempFail:
		return nil, protocol.NewError(protocol.CodeUnavailable, complaint(name, "cannot now", stderr.buf.String())).Because(err)
	case errors.As(err, &exit) && !exit.Exited(): // what it did until then is unknown
		return nil, protocol.NewError(protocol.CodeCancelled, name+" was killed: "+exit.String()).Because(err)
	case errors.As(err, &exit):
		return nil, protocol.NewError(protocol.CodeToolError, complaint(name, exit.String(), stderr.buf.String())).Because(err)
	case err != nil:
		return nil, protocol.NewError(protocol.CodeToolError, fmt.Sprintf("cannot run %s: %v", name, err)).Because(err)
	}
	return stdout.buf.Bytes(), nil
}

func complaint(name, what, stderr string) string {
	if line, _, _ := strings.Cut(strings.TrimSpace(stderr), "\n"); line != "" {
		return fmt.Sprintf("%s: %s: %s", name, what, line)
	}
	return fmt.Sprintf("%s: %s", name, what)
}

func inherited() []string {
	var env []string
	for _, v := range os.Environ() {
		name, _, _ := strings.Cut(v, "=")
		if !secret(name) {
			env = append(env, v)
		}
	}
	return env
}

func secret(name string) bool {
	for _, end := range secretEnv {
		if strings.HasSuffix(strings.ToUpper(name), end) {
			return true
		}
	}
	return false
}

// bounded keeps up to limit bytes. Past that it drops the rest if lossy, else it fails the writer, and calls full: a program
// need not end when nobody reads what it writes.
type bounded struct {
	buf   bytes.Buffer // a field: its ReadFrom would pass the limit by
	limit int
	lossy bool
	full  func()
	over  bool
}

var errOver = errors.New("too much output")

func (b *bounded) Write(p []byte) (int, error) {
	room := b.limit - b.buf.Len()
	if len(p) <= room {
		return b.buf.Write(p)
	}
	if !b.lossy {
		b.over = true
		b.full()
		return 0, errOver
	}
	if _, err := b.buf.Write(p[:room]); err != nil {
		return 0, err
	}
	return len(p), nil
}

// Operator runs the program for each input. What it prints is an OperatorOutput if it starts with a brace, else the text of
// a message, without the last newline.
func Operator(s Spec) protocol.Operator {
	return protocol.OperatorFunc(func(ctx context.Context, in protocol.OperatorInput) (protocol.OperatorOutput, error) {
		start := time.Now()
		body, err := protocol.Marshal(in)
		if err != nil {
			return protocol.OperatorOutput{}, fmt.Errorf("encode input: %w", err)
		}
		inv := protocol.InvocationFrom(ctx)
		stdout, err := s.run(ctx, body, "SKG_OPERATOR="+string(inv.Operator), "SKG_RUN_ID="+string(inv.Run), "SKG_INSTANCE="+inv.Instance)
		if err != nil {
			return protocol.OperatorOutput{}, err
		}
		if trimmed := bytes.TrimSpace(stdout); bytes.HasPrefix(trimmed, []byte("{")) {
			var out protocol.OperatorOutput
			if err := protocol.Unmarshal(trimmed, &out); err != nil {
				return out, protocol.NewError(protocol.CodeToolError, fmt.Sprintf("%s printed no OperatorOutput: %v", s.Command[0], err))
			}
			return out, nil
		}
		out := protocol.Reply(strings.TrimSuffix(string(stdout), "\n"))
		out.Metadata.Duration = protocol.MillisOf(time.Since(start))
		return out, nil
	})
}

// Executor runs the program for each effect, which it gets on standard input, with the idempotency key in SKG_EFFECT_ID
// and the attempt in SKG_ATTEMPT.
func Executor(s Spec) effect.Executor {
	return effect.Func(func(ctx context.Context, r effect.Request) error {
		body, err := protocol.Marshal(r.Effect)
		if err != nil {
			return fmt.Errorf("encode effect: %w", err)
		}
		_, err = s.run(ctx, body, "SKG_EFFECT_ID="+r.ID, fmt.Sprintf("SKG_ATTEMPT=%d", r.Attempt),
			"SKG_OPERATOR="+string(r.Operator), "SKG_INSTANCE="+r.Instance, "SKG_RUN_ID="+string(r.Run))
		return err
	})
}
