package command

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"time"

	"github.com/skelegent/skelegent-go/actors/tool"
	"github.com/skelegent/skelegent-go/protocol"
)

// DefaultToolTimeout is how long a call of a Tool may take unless tool.Timeout says otherwise.
const DefaultToolTimeout = time.Minute

// toolEnv are the variables that the program of a tool has from the node.
var toolEnv = []string{"PATH", "HOME", "USER", "LANG", "LC_ALL", "TZ", "TMPDIR", "TEMP", "TMP", "SYSTEMROOT"}

// Tool runs the program for each call, with the input as JSON on standard input. What it prints is the result: JSON, or else
// a text, without the last newline. Input that does not fit meta's schema never reaches it. An exit code that is not 0 is an
// error of the tool with the first line of standard error; 75 is one that may pass.
//
// A model decides when it runs and with what, so the program has less of the node's environment than an Operator: only what
// any program needs. An entry of Spec.Env that is a name alone, without =, is taken from the node. SKG_IDEMPOTENCY_KEY,
// SKG_OPERATOR, SKG_RUN_ID, SKG_INSTANCE and SKG_SESSION say which call it is.
//
// The error says that there is no command, or that the schema cannot be used.
func Tool(meta protocol.ToolMetadata, s Spec, opts ...tool.Option) (tool.Tool, error) {
	if len(s.Command) == 0 || s.Command[0] == "" {
		return nil, protocol.NewError(protocol.CodeInvalidInput, "tool "+meta.Name+": no command")
	}
	return tool.Raw(meta, func(ctx context.Context, input json.RawMessage) (tool.Result, error) {
		stdout, err := s.call(ctx, input)
		if err != nil {
			return tool.Result{}, err
		}
		output, err := resultOf(stdout)
		return tool.Result{Output: output}, err
	}, append([]tool.Option{tool.Timeout(DefaultToolTimeout)}, opts...)...)
}

// resultOf is what a program printed as JSON.
func resultOf(stdout []byte) (json.RawMessage, error) {
	if trimmed := bytes.TrimSpace(stdout); json.Valid(trimmed) {
		return trimmed, nil
	}
	return protocol.Marshal(strings.ToValidUTF8(strings.TrimSuffix(string(stdout), "\n"), "\uFFFD"))
}

// call runs the program with the environment of a tool.
func (s Spec) call(ctx context.Context, input []byte) ([]byte, error) {
	name := s.Command[0]
	life, end := context.WithCancel(ctx)
	defer end()
	cmd := exec.CommandContext(life, name, s.Command[1:]...) //nolint:gosec // the operator of the node chose it
	cmd.Dir, cmd.Env = s.Dir, s.toolEnviron(tool.CallFrom(ctx))
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
	said := strings.ToValidUTF8(stderr.buf.String(), "\uFFFD")
	switch {
	case stdout.over:
		return nil, protocol.ErrToolFailed(fmt.Sprintf("%s wrote more than %d bytes", name, limit))
	case ctx.Err() != nil:
		return nil, protocol.AsError(ctx.Err()).Because(context.Cause(ctx))
	case errors.As(err, &exit) && exit.ExitCode() == exitTempFail:
		return nil, protocol.ErrToolTransient(complaint(name, "cannot now", said)).Because(err)
	case errors.As(err, &exit):
		return nil, protocol.ErrToolFailed(complaint(name, exit.String(), said)).Because(err)
	case err != nil:
		return nil, protocol.ErrToolFailed("cannot run " + name).Because(err)
	}
	return stdout.buf.Bytes(), nil
}

func (s Spec) toolEnviron(call tool.CallInfo) []string {
	var env []string
	inherit := func(name string) {
		if v, ok := os.LookupEnv(name); ok {
			env = append(env, name+"="+v)
		}
	}
	for _, name := range toolEnv {
		inherit(name)
	}
	for _, e := range s.Env {
		if strings.Contains(e, "=") {
			env = append(env, e)
		} else {
			inherit(e)
		}
	}
	env = append(env, "SKG_IDEMPOTENCY_KEY="+call.IdempotencyKey, "SKG_OPERATOR="+string(call.Operator),
		"SKG_RUN_ID="+string(call.Run), "SKG_INSTANCE="+call.Instance)
	if call.Session != nil {
		env = append(env, "SKG_SESSION="+string(*call.Session))
	}
	return env
}
