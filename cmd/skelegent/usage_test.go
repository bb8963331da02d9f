package main

import (
	"errors"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spf13/cobra"
)

func TestWrongUsage(t *testing.T) {
	t.Parallel()
	for name, args := range map[string][]string{
		"unknown command":         {"dispach"},
		"unknown flag":            {"operators", "--nope"},
		"unknown global flag":     {"--nope"},
		"bad duration":            {"operators", "--wait", "soon"},
		"wait beyond timeout":     {"operators", "--wait", "20s"},
		"no timeout":              {"operators", "--timeout", "0s"},
		"limit":                   {"operators", "--limit", "0"},
		"extra argument":          {"operators", "x"},
		"bad prefix":              {"operators", "--prefix", "A.B"},
		"bad prefix of events":    {"events", "--prefix", "A.B"},
		"two servers":             {"operators", "--nats", "nats://a", "--context", "b"},
		"two keys":                {"operators", "--creds", "a", "--nkey", "b"},
		"dispatch without any":    {"dispatch"},
		"dispatch no text":        {"dispatch", "echo"},
		"dispatch empty text":     {"dispatch", "echo", ""},
		"dispatch bad operator":   {"dispatch", "Echo!", "x"},
		"dispatch bad JSON":       {"dispatch", "echo", `{"message": 7}`},
		"dispatch cost":           {"dispatch", "echo", "x", "--max-cost", "cheap"},
		"dispatch negative cost":  {"dispatch", "echo", "x", "--max-cost", "-1"},
		"dispatch turns":          {"dispatch", "echo", "x", "--max-turns", "-1"},
		"dispatch empty session":  {"dispatch", "echo", "x", "--session", ""},
		"dispatch run":            {"dispatch", "echo", "x", "--run-id", "a\nb"},
		"dispatch timeout":        {"dispatch", "echo", "x", "--timeout", "-1s"},
		"dispatch when busy":      {"dispatch", "echo", "x", "--when-busy", "panic"},
		"dispatch at":             {"dispatch", "echo", "x", "--at", "soon"},
		"dispatch at and in":      {"dispatch", "echo", "x", "--at", "12:00", "--in", "1h"},
		"dispatch in":             {"dispatch", "echo", "x", "--in", "-1h"},
		"chat nobody":             {"chat"},
		"chat operator":           {"chat", "Echo!"},
		"chat session":            {"chat", "echo", "--session", ""},
		"chat timeout":            {"chat", "echo", "--timeout", "0s"},
		"result nothing":          {"result"},
		"result no slash":         {"result", "assistant"},
		"result no instance":      {"result", "assistant/"},
		"result bad operator":     {"result", "No Such/x"},
		"result run":              {"result", "a/b", "--run", ""},
		"result timeout":          {"result", "a/b", "--wait", "--timeout", "-1s"},
		"runs operator":           {"runs", "No Such"},
		"runs limit":              {"runs", "--limit", "0"},
		"show no slash":           {"show", "assistant"},
		"show run":                {"show", "a/b", "--run", "a\nb"},
		"inbox operator":          {"inbox", "a/b"},
		"approve no slash":        {"approve", "assistant"},
		"approve modify":          {"approve", "a/b", "--modify", "c1"},
		"approve modify JSON":     {"approve", "a/b", "--modify", "c1={"},
		"approve modify twice":    {"approve", "a/b", "--modify", "c1={}", "--modify", "c1={}"},
		"deny nothing":            {"deny"},
		"deny no slash":           {"deny", "\x1b[2J"},
		"cancel no slash":         {"cancel", "assistant"},
		"cancel timeout":          {"cancel", "a/b", "--timeout", "0s"},
		"pause no slash":          {"pause", "assistant"},
		"resume two":              {"resume", "a/b", "c"},
		"steer no text":           {"steer", "a/b"},
		"steer no slash":          {"steer", "a", "text"},
		"steer empty":             {"steer", "a/b", ""},
		"signal no type":          {"signal", "a/b"},
		"signal empty type":       {"signal", "a/b", ""},
		"signal long type":        {"signal", "a/b", strings.Repeat("x", 129)},
		"signal no slash":         {"signal", "a", "t"},
		"query no type":           {"query", "a/b"},
		"query empty type":        {"query", "a/b", ""},
		"forget no slash":         {"forget", "assistant", "--yes"},
		"forget unasked":          {"forget", "a/b"},
		"events both":             {"events", "--live", "--log"},
		"events live since":       {"events", "--live", "--since-seq", "1"},
		"events count":            {"events", "--count", "-1"},
		"events filter":           {"events", "No Such"},
		"events instance":         {"events", "op/"},
		"events subject":          {"events", "skg.effect.>"},
		"events bad subject":      {"events", "skg.live..x"},
		"events nothing left":     {"events", "skg.event.>", "--live"},
		"events since of live":    {"events", "skg.live.>", "--since-seq", "1"},
		"effects limit":           {"effects", "--limit", "-1"},
		"dead alone":              {"dead"},
		"dead unknown":            {"dead", "list"},
		"dead operator":           {"dead", "ls", "A B"},
		"dead show":               {"dead", "show"},
		"dead retry nothing":      {"dead", "retry"},
		"dead retry both":         {"dead", "retry", "1", "--all"},
		"dead drop operator":      {"dead", "drop", "1", "--operator", "echo"},
		"state alone":             {"state"},
		"state unknown":           {"state", "set", "global", "a", "b"},
		"state scope":             {"state", "get", "nowhere", "a"},
		"state empty key":         {"state", "get", "global", ""},
		"state get arguments":     {"state", "get", "global"},
		"state put no value":      {"state", "put", "global", "a"},
		"state put scope":         {"state", "put", "session/", "a", "1"},
		"state put time to live":  {"state", "put", "global", "a", "1", "--ttl", "-1s"},
		"state ls limit":          {"state", "ls", "global", "--limit", "0"},
		"state search no query":   {"state", "search", "global"},
		"doctor argument":         {"doctor", "x"},
		"version argument":        {"version", "x"},
		"help topic":              {"help", "nothing"},
		"completion unknown kind": {"completion", "cmd.exe"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			call{inTTY: true}.run(t, args...).want(t, exitUsage, "", "--help`")
		})
	}
}

func TestSuggestion(t *testing.T) {
	t.Parallel()
	call{}.run(t, "dispach").want(t, exitUsage, "", `unknown command "dispach" for "skelegent" Did you mean this? dispatch; see`)
}

func TestNoServer(t *testing.T) {
	t.Parallel()
	for _, args := range [][]string{
		{"dispatch", "echo", "x"},
		{"operators"},
		{"events"},
		{"effects"},
		{"dead", "ls"},
		{"dead", "show", "1"},
		{"dead", "retry", "1"},
		{"dead", "drop", "1"},
		{"state", "get", "global", "a"},
		{"state", "ls", "global"},
		{"doctor"},
		{"dispatch", "echo", "x", "--task"},
		{"result", "a/b"},
		{"result", "a/b", "--wait"},
		{"runs"},
		{"show", "a/b"},
		{"inbox"},
		{"approve", "a/b"},
		{"cancel", "a/b"},
		{"pause", "a/b"},
		{"steer", "a/b", "x"},
		{"signal", "a/b", "t"},
		{"query", "a/b", "status"},
		{"forget", "a/b", "--yes"},
	} {
		t.Run(strings.Join(args, " "), func(t *testing.T) {
			t.Parallel()
			call{inTTY: true}.run(t, append(args, "--nats", "nats://127.0.0.1:1")...).want(t, exitFailed, "", `start a node with "skelegent up", or name another server with --nats URL`)
		})
	}
}

func TestEnvironment(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	foreign := filepath.Join(t.TempDir(), "no.key")
	for name, tc := range map[string]struct {
		env  map[string]string
		args []string
		code int
		err  string
	}{
		"address":              {map[string]string{"NATS_URL": w.url}, nil, exitDone, ""},
		"flag beats address":   {map[string]string{"NATS_URL": "nats://127.0.0.1:1"}, []string{"--nats", w.url}, exitDone, ""},
		"flag beats context":   {map[string]string{"NATS_CONTEXT": "nope"}, []string{"--nats", w.url}, exitDone, ""},
		"address beats":        {map[string]string{"NATS_CONTEXT": "nope", "NATS_URL": w.url}, nil, exitDone, ""},
		"context":              {map[string]string{"NATS_CONTEXT": "there-is-no-such"}, nil, exitFailed, "there-is-no-such"},
		"context flag":         {map[string]string{"NATS_URL": w.url}, []string{"--context", "there-is-no-such"}, exitFailed, "there-is-no-such"},
		"key":                  {map[string]string{"NATS_URL": w.url, "NATS_NKEY": w.key}, nil, exitDone, ""},
		"no key":               {map[string]string{"NATS_URL": w.url, "NATS_NKEY": foreign}, nil, exitFailed, foreign},
		"no credentials":       {map[string]string{"NATS_URL": w.url, "NATS_CREDS": foreign}, nil, exitFailed, foreign},
		"key beats variable":   {map[string]string{"NATS_URL": w.url, "NATS_CREDS": foreign}, []string{"--nkey", w.key}, exitDone, ""},
		"no authority":         {map[string]string{"NATS_URL": w.url, "NATS_CA": foreign}, nil, exitFailed, foreign},
		"half a certificate":   {map[string]string{"NATS_URL": w.url, "NATS_CERT": foreign}, nil, exitFailed, "needs its key"},
		"half a key":           {map[string]string{"NATS_URL": w.url, "NATS_KEY": foreign}, nil, exitFailed, "needs its key"},
		"prefix":               {map[string]string{"NATS_URL": w.url, "SKELEGENT_PREFIX": "Bad!"}, nil, exitUsage, "prefix"},
		"prefix without nodes": {map[string]string{"NATS_URL": w.url, "SKELEGENT_PREFIX": "other"}, nil, exitFailed, `does not permit publishing to "other.op.echo"`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			args := append([]string{"dispatch", "echo", "hi"}, tc.args...)
			call{env: tc.env, inTTY: true}.run(t, args...).want(t, tc.code, "", tc.err)
		})
	}
}

func TestEveryCommandHasAnExample(t *testing.T) {
	t.Parallel()
	var walk func(c *cobra.Command)
	walk = func(c *cobra.Command) {
		if c.Parent() != nil && c.Parent().Name() == "completion" {
			return // cobra's own; theirs are in the description
		}
		if c.Example == "" || c.Short == "" {
			t.Errorf("%s has no example or no description", c.CommandPath())
		}
		for _, below := range c.Commands() {
			walk(below)
		}
	}
	walk(newRoot(&buffer{}, &buffer{}, strings.NewReader("")))
}

func TestHelpAndVersion(t *testing.T) {
	t.Parallel()
	call{}.run(t).want(t, exitDone, "Examples:", "")
	call{}.run(t, "--help").want(t, exitDone, "dispatch", "")
	call{}.run(t, "help", "dead", "retry").want(t, exitDone, "skelegent dead retry ID|SEQ|--all", "")
	call{}.run(t, "state", "put", "--help").want(t, exitDone, "What is not JSON is stored as a string", "")
	call{}.run(t, "completion", "bash").want(t, exitDone, "bash completion", "")
	call{}.run(t, "version").want(t, exitDone, "skelegent ", "")
	if v := decode[versionInfo](t, call{}.run(t, "version", "--json")); v.Go == "" || v.Version == "" {
		t.Errorf("got %+v", v)
	}
	if v := readVersion(nil); v.Version != "(devel)" {
		t.Errorf("got %+v", v)
	}
}

// full is a disk that is.
type full struct{}

func (full) Write([]byte) (int, error) { return 0, errors.New("no space left") }

func TestOutputThatCannotBeWritten(t *testing.T) {
	t.Parallel()
	call{stdout: full{}}.run(t, "version").want(t, exitFailed, "", "no space left")
}
