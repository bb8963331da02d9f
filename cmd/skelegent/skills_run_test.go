package main

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// scripts is a project with a skill that has some, and a file beside it.
func (w *skillWorld) scripts(t testing.TB) string {
	t.Helper()
	for name, text := range map[string]string{
		"args.sh":   `printf '%s|' "$@"; echo; pwd; echo "session=${SESSION_ID-none} home=${HOME-none}"`,
		"fail.sh":   "echo out; printf err >&2; exit 7",
		"slow.sh":   "echo began; while :; do sleep 0.1; done",
		"raw.sh":    `printf '\033[2Jout'; printf '\033[2Jerr' >&2`,
		"signal.sh": "kill -9 $$",
		"much.sh":   "head -c 300000 /dev/zero | tr '\\0' x",
	} {
		w.put(t, "project/skills/tools/scripts/"+name, text)
	}
	w.put(t, "project/secret.sh", "echo secret")
	dir := w.skill(t, "project/skills/tools")
	if err := os.Symlink(filepath.Join(w.project, "secret.sh"), filepath.Join(dir, "scripts", "link.sh")); err != nil {
		t.Fatal(err)
	}
	return dir
}

// script runs one of the project without a sandbox.
func (w *skillWorld) script(t testing.TB, c call, name string, rest ...string) result {
	t.Helper()
	return w.call(t, c, append([]string{"run", "tools", name, "--project", w.project, "--sandbox", "direct"}, rest...)...)
}

func TestSkillsRunNeedsTrust(t *testing.T) {
	t.Parallel()
	w := newSkillWorld(t)
	dir := w.scripts(t)
	w.put(t, "project/skills/tools/scripts/touch.sh", "touch pwned")
	for _, format := range []string{"--json=false", "--json"} {
		r := w.script(t, call{}, "scripts/touch.sh", format)
		r.want(t, exitFailed, "", "permission_denied: the skill \"tools\" is in a directory that is not trusted; "+
			"read what it runs, and then run `skelegent skills trust "+dir+"`")
		if r.out != "" {
			t.Errorf("got %q", r.out)
		}
	}
	if _, err := os.Stat(filepath.Join(dir, "pwned")); err == nil {
		t.Error("it was run")
	}
	w.run(t, "trust", dir).want(t, exitDone, "", "")
	w.script(t, call{}, "scripts/touch.sh").want(t, exitDone, "", "")
	if _, err := os.Stat(filepath.Join(dir, "pwned")); err != nil {
		t.Error("it was not run")
	}
	w.run(t, "trust", w.project, "--revoke").want(t, exitDone, "", "")
	w.script(t, call{}, "scripts/touch.sh").want(t, exitFailed, "", "permission_denied: ")
	// A directory that is named is the user's word for it.
	w.run(t, "run", "tools", "scripts/touch.sh", "--dir", filepath.Join(w.project, "skills"), "--sandbox", "direct").want(t, exitDone, "", "")
}

func TestSkillsRun(t *testing.T) {
	t.Parallel()
	w := newSkillWorld(t)
	dir := w.scripts(t)
	w.run(t, "trust", w.project).want(t, exitDone, "", "")

	r := w.script(t, call{}, "scripts/args.sh", "--", "--json", "a b", "", "$(id)")
	if want := "--json|a b||$(id)|\n" + dir + "\nsession=none home=none\n"; r.code != exitDone || r.out != want || r.err != "" {
		t.Errorf("got %+v, want %q", r, want)
	}
	r = w.script(t, call{}, "scripts/fail.sh")
	if r.code != exitFailed || r.out != "out\n" || r.err != "err\ntool_error: the script \"scripts/fail.sh\" exited with code 7\n" {
		t.Errorf("got %+v", r)
	}
	w.script(t, call{}, "scripts/signal.sh").want(t, exitFailed, "", "exited with code 137")
	w.script(t, call{}, "scripts/slow.sh", "--timeout", "300ms").want(t, exitFailed, "began\n",
		"timeout: the script \"scripts/slow.sh\" was stopped after 300ms; give it longer with --timeout\n")
	w.script(t, call{}, "scripts/much.sh").want(t, exitDone, "xxxxx", "the script wrote more than is shown\n")
	r = w.script(t, call{outTTY: true, errTTY: true}, "scripts/raw.sh")
	if r.out != "[2Jout" || r.err != "[2Jerr" {
		t.Errorf("got %+v", r)
	}
	w.call(t, call{}, "run", "tools", "scripts/args.sh", "--project", w.project, "--", "x").want(t, exitDone, "x|", "") // auto
}

func TestSkillsRunJSON(t *testing.T) {
	t.Parallel()
	w := newSkillWorld(t)
	w.scripts(t)
	w.run(t, "trust", w.project).want(t, exitDone, "", "")
	r := w.script(t, call{}, "scripts/args.sh", "--json")
	if v := decode[scriptResult](t, r); v.ExitCode != 0 || v.Sandbox != "direct" || v.Stopped != "" || !strings.HasPrefix(v.Stdout, "|\n") {
		t.Errorf("got %+v", v)
	}
	for name, want := range map[string]scriptResult{
		"fail": {ExitCode: 7, Stdout: "out\n", Stderr: "err"},
		"slow": {ExitCode: 137, Stdout: "began\n", Stopped: "timeout"},
	} {
		r := w.script(t, call{}, "scripts/"+name+".sh", "--json", "--timeout", "500ms")
		r.want(t, exitFailed, "", "the script")
		r.code = exitDone
		got := decode[scriptResult](t, r)
		if want.Sandbox, want.DurationMS = "direct", got.DurationMS; got != want {
			t.Errorf("got %+v, want %+v", got, want)
		}
		var fields map[string]any
		if err := json.Unmarshal([]byte(r.out), &fields); err != nil || len(fields) != 7 {
			t.Errorf("got %v, %v", fields, err)
		}
	}
}

func TestSkillsRunOnlyWhatIsInTheSkill(t *testing.T) {
	t.Parallel()
	w := newSkillWorld(t)
	w.scripts(t)
	w.run(t, "trust", w.project).want(t, exitDone, "", "")
	for path, want := range map[string]string{
		"../../secret.sh":                      `invalid_input: the path must not contain ".."`,
		filepath.Join(w.project, "secret.sh"):  "permission_denied: Resolved path escapes the skill directory",
		"scripts/link.sh":                      "permission_denied: Resolved path escapes the skill directory",
		"scripts/none.sh":                      "not_found: Resource file not found",
		"scripts":                              "Resource file cannot be read",
		"":                                     "invalid_input: the path is empty",
		"a\x00b":                               "invalid_input: ",
		"scripts/" + strings.Repeat("x", 5000): "invalid_input: ",
		"scripts/../scripts/args.sh":           "invalid_input: ",
		"scripts\\..\\..\\..\\..\\secret.sh":   "invalid_input: ",
	} {
		r := w.script(t, call{}, path)
		r.want(t, exitFailed, "", want)
		if strings.Contains(r.out, "secret") {
			t.Errorf("%q was run", path)
		}
	}
	w.run(t, "run", "nothing", "scripts/args.sh", "--project", w.project).want(t, exitFailed, "", `there is no skill "nothing"; there are: tools`)
}

func TestSkillsRunKeepsToTheToolsOfTheSkill(t *testing.T) {
	t.Parallel()
	w := newSkillWorld(t)
	w.skill(t, "vendor/locked", "allowed-tools: read_skill_resource")
	w.skill(t, "vendor/open", "allowed-tools: run_skill_script")
	for _, name := range []string{"locked", "open"} {
		w.put(t, "vendor/"+name+"/x.sh", "echo ran")
	}
	args := []string{"x.sh", "--dir", filepath.Join(w.base, "vendor"), "--sandbox", "direct"}
	w.run(t, append([]string{"run", "locked"}, args...)...).want(t, exitFailed, "",
		`permission_denied: the skill "locked" does not permit the tool run_skill_script; it permits: read_skill_resource`)
	w.run(t, append([]string{"run", "open"}, args...)...).want(t, exitDone, "ran\n", "")
}

func TestSkillsRunStopsWithTheCommand(t *testing.T) {
	t.Parallel()
	w := newSkillWorld(t)
	w.scripts(t)
	w.put(t, "project/skills/tools/scripts/sign.sh", "echo > begun; while :; do sleep 0.05; done")
	w.run(t, "trust", w.project).want(t, exitDone, "", "")
	ctx, cancel := context.WithCancel(testContext(t))
	done := make(chan result, 1)
	go func() { done <- w.script(t, call{ctx: ctx}, "scripts/sign.sh") }()
	w.appears(t, "project/skills/tools/begun")
	cancel()
	(<-done).want(t, exitFailed, "", "cancelled: ")
}

// appears waits for a file.
func (w *skillWorld) appears(t testing.TB, name string) {
	t.Helper()
	ctx := testContext(t)
	for {
		if _, err := os.Stat(filepath.Join(w.base, name)); err == nil {
			return
		}
		select {
		case <-time.After(5 * time.Millisecond):
		case <-ctx.Done():
			t.Fatalf("%s does not appear", name)
		}
	}
}
