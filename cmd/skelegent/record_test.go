package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/skelegent/skelegent-go/actors/compose/record"
)

func writeFile(t testing.TB, dir, name, text string) string {
	t.Helper()
	path := filepath.Join(dir, name)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func readText(t testing.TB, file string) string {
	t.Helper()
	raw, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return string(raw)
}

func TestRecordReplayCheck(t *testing.T) {
	t.Parallel()
	w := newDurable(t)
	dir := t.TempDir()
	file := filepath.Join(dir, "run.json")
	w.task(t, "agent", "delete it", "--session", "s")
	w.until(t, "agent/s", "suspended")
	w.run(t, "record", "agent/s").want(t, exitFailed, "", "conflict: the run has not ended: it is suspended")
	w.run(t, "deny", "agent/s", "call-1", "--reason", "not this").want(t, exitDone, "", "")
	w.run(t, "result", "agent/s", "--wait").want(t, exitDone, "That is done.", "")

	w.run(t, "record", "agent/s", "-o", file).want(t, exitDone, "recorded 2 turns in "+file+": complete\n", "")
	r, err := record.Decode([]byte(readText(t, file)))
	if err != nil {
		t.Fatal(err)
	}
	results := r.Turns[0].Results
	if r.Operator != "agent" || r.Model != "m" || len(results) != 2 || results[0].Decision == nil || !strings.Contains(results[0].Output, "not this") ||
		results[1].Output != "deleted /tmp" || r.Answer() != "That is done." {
		t.Errorf("got %+v", r)
	}
	if printed := w.run(t, "record", "agent/s"); printed.out != readText(t, file) {
		t.Errorf("printed is\n%s", printed.out)
	}
	if got := decode[map[string]any](t, w.run(t, "record", "agent/s", "-o", file, "--json")); got["turns"] != 2.0 || got["exit_reason"] != "complete" {
		t.Errorf("got %v", got)
	}
	first := decode[struct{ Run string }](t, w.run(t, "show", "agent/s", "--json")).Run
	w.run(t, "result", w.task(t, "agent", "hello", "--session", "s2"), "--wait").want(t, exitDone, "Nothing to delete.", "")
	w.run(t, "record", "agent/s2").want(t, exitDone, `"Nothing to delete."`, "")
	w.task(t, "agent", "delete it", "--session", "s")
	w.until(t, "agent/s", "suspended")
	if older := w.run(t, "record", "agent/s", "--run", first); older.out != readText(t, file) { // behind it another one is open
		t.Errorf("the older run is\n%s\n%s", older.out, older.err)
	}
	w.run(t, "cancel", "agent/s").want(t, exitDone, "", "")
	w.run(t, "result", "agent/s", "--wait").want(t, exitFailed, "", "cancelled")
	w.run(t, "record", "agent/s").want(t, exitDone, `"code": "cancelled"`, "")
	w.run(t, "record", "agent/none").want(t, exitFailed, "", "not_found")

	call{}.run(t, "replay", file).want(t, exitDone, "the same: 2 turns, complete\n", "")
	call{}.run(t, "replay", file, "--json").want(t, exitDone, `"same": true`, "")
	m := writeFile(t, dir, "skelegent.yaml", `providers: {main: {kind: openai, api_key: {env: NO_SUCH_KEY}}}
operators:
  agent:
    provider: main
    model: m
    tools:
      - {exec: [/no/such/program], as: delete, description: Deletes., approval: true, input_schema: {type: object}}
  short: {provider: main, model: m, limits: {max_turns: 1}, tools: [{exec: [/no/such/program], as: delete, description: d, input_schema: {type: object}}]}
  upper: {kind: exec, command: [tr, a-z, A-Z]}
`)
	call{}.run(t, "replay", file, "-f", m).want(t, exitDone, "the same", "")
	call{}.run(t, "replay", file, "-f", m, "--operator", "short").
		want(t, exitFailed, "turn 2: end\n  want complete\n  got  max_turns\n", "the replay differs from the record in turn")
	call{}.run(t, "replay", file, "-f", m, "--operator", "short", "--json").want(t, exitFailed, `"what": "end"`, "differs")
	call{}.run(t, "replay", file, "-f", m, "--operator", "upper").want(t, exitFailed, "", "asks no model")
	call{}.run(t, "replay", file, "-f", m, "--operator", "other").want(t, exitFailed, "", `no operator "other"; there are: agent, short, upper`)

	call{}.run(t, "check", file, "--normalized", "--tool-dispatched", "delete", "--exit", "complete", "--max-turns", "2", "--write").
		want(t, exitDone, "ok    model-output-normalized\nok    tool-dispatched\nok    exit\nok    max-turns\n", "")
	if r, err := record.Decode([]byte(readText(t, file))); err != nil || len(r.PassedAssertions) != 4 {
		t.Errorf("got %+v, %v", r, err)
	}
	call{}.run(t, "check", file, "--grounded", "--no-errors", "--exit", "custom:stuck").
		want(t, exitFailed, "FAIL  no-errors: turn 1: a call of \"delete\" failed\n", "3 of 3 checks failed")
	call{}.run(t, "check", file, "--tool-dispatched", "move", "--json").want(t, exitFailed, `"name": "tool-dispatched"`, "1 of 1 checks failed")
}

func TestRecordsUsedWrongly(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	bad, empty := writeFile(t, dir, "bad.json", `{"version": 9}`), writeFile(t, dir, "empty.json", "")
	for name, args := range map[string][]string{
		"record no slash":    {"record", "agent"},
		"record run":         {"record", "a/b", "--run", ""},
		"record no file":     {"record", "a/b", "-o", ""},
		"replay nothing":     {"replay"},
		"replay operator":    {"replay", bad, "--operator", "x"},
		"check nothing":      {"check", bad},
		"check what":         {"check"},
		"check exit":         {"check", bad, "--exit", "well"},
		"check empty tool":   {"check", bad, "--tool-dispatched", ""},
		"check fewer than 0": {"check", bad, "--max-turns", "-1"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			call{}.run(t, args...).want(t, exitUsage, "", "--help`")
		})
	}
	call{}.run(t, "replay", bad).want(t, exitFailed, "", "unsupported: run record: version 9 is not known")
	call{}.run(t, "check", empty, "--grounded").want(t, exitFailed, "", "invalid_input: run record: ")
	call{}.run(t, "replay", filepath.Join(dir, "none")).want(t, exitFailed, "", "no such file")
	call{}.run(t, "record", "a/b", "--nats", "nats://127.0.0.1:1").want(t, exitFailed, "", "start a node")
}
