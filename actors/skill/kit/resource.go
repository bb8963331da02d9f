package kit

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/skelegent/skelegent-go/actors/skill/runner"
	"github.com/skelegent/skelegent-go/actors/tool"
	"github.com/skelegent/skelegent-go/protocol"
)

func isKind(err error, kind protocol.ErrorKind) bool {
	return errors.Is(err, &protocol.Error{Kind: kind})
}

// read is the tool read_skill_resource.
func (k *Kit) read(_ context.Context, s *session, in fields) (tool.Result, error) {
	name, err := in.required("skill_name")
	if err != nil {
		return tool.Result{}, err
	}
	path, err := in.required("path")
	if err != nil {
		return tool.Result{}, err
	}
	if err := runner.CheckPath(path); isKind(err, runner.KindPath) {
		return tool.Result{}, softErr(err)
	}
	d, err := k.usable(s, name, ToolRead)
	if err != nil {
		return tool.Result{}, err
	}
	if d.Dir == "" {
		return tool.Result{}, soft("Skill " + shown(name) + " has no files")
	}
	content, err := runner.Read(d.Dir, path, k.cfg.Limits.Resource)
	if err != nil {
		return tool.Result{}, softErr(err)
	}
	return output(fmt.Sprintf("<skill_resource skill=\"%s\" path=\"%s\">\n%s</skill_resource>",
		attribute(name), attribute(path), line(neutral(content)))), nil
}

// run is the tool run_skill_script.
func (k *Kit) run(ctx context.Context, s *session, in fields) (tool.Result, error) {
	name, err := in.required("skill_name")
	if err != nil {
		return tool.Result{}, err
	}
	script, err := in.required("script")
	if err != nil {
		return tool.Result{}, err
	}
	args, _, err := in.optional("args")
	if err != nil {
		return tool.Result{}, err
	}
	if err := runner.CheckPath(script); err != nil {
		return tool.Result{}, soft("Script path " + shown(script) + " must be relative and inside the skill directory")
	}
	d, err := k.usable(s, name, ToolRun)
	if err != nil {
		return tool.Result{}, err
	}
	if !d.RunsCommands() || d.Dir == "" {
		return tool.Result{}, soft("Skill " + shown(name) + " runs nothing: it is of a server")
	}
	if _, err := runner.Resolve(d.Dir, script); err != nil {
		return tool.Result{}, softErr(err)
	}
	list, err := runner.ParseArgs(args)
	if err != nil {
		return tool.Result{}, invalid("args", protocol.AsError(err).Message)
	}
	argv, err := runner.Script(k.cfg.Runner, d.Dir, script, list)
	if err != nil {
		return tool.Result{}, softErr(err)
	}
	l := k.cfg.Limits
	r, err := k.cfg.Runner.Run(ctx, k.spec(ctx, d, runner.Spec{Command: argv, Timeout: l.Script, MaxOutput: l.Output}))
	switch {
	case err != nil && ctx.Err() != nil:
		return tool.Result{}, err
	case err != nil:
		return tool.Result{}, softErr(err)
	}
	return scriptResult(name, script, r)
}

func scriptResult(name, script string, r runner.Result) (tool.Result, error) {
	var b strings.Builder
	fmt.Fprintf(&b, "<script_output skill=\"%s\" script=\"%s\" exit_code=\"%d\" sandbox=\"%s\">\n",
		attribute(name), attribute(script), r.ExitCode, attribute(r.Sandbox))
	b.WriteString(line(neutral(r.Stdout)))
	if r.Stderr != "" {
		b.WriteString("<stderr>\n" + line(neutral(r.Stderr)) + "</stderr>\n")
	}
	if r.Truncated {
		b.WriteString("(the output was cut)\n")
	}
	b.WriteString("</script_output>")
	switch {
	case r.Stopped == runner.StopTimeout:
		return tool.Result{}, soft(fmt.Sprintf("Script %s timed out after %gs", shown(script), r.Timeout.Seconds()))
	case r.Stopped != "":
		return tool.Result{}, soft(fmt.Sprintf("Script %s was killed for its %s", shown(script), r.Stopped))
	case r.ExitCode != 0:
		return tool.Result{}, soft(fmt.Sprintf("%s\nScript %s exited with code %d", b.String(), shown(script), r.ExitCode))
	}
	return output(b.String()), nil
}
