package main

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

const interopManifest = `
providers:
  main:
    kind: openai
    base_url: http://%s/v1
    api_key: {env: INTEROP_API_KEY}
    prices: {gpt-4o-mini: {input: "0.15", output: "0.60"}}
operators:
  assistant:
    kind: agent
    description: Answers and remembers.
    provider: main
    model: gpt-4o-mini
    system: You are a careful assistant.
    tools: [clock, remember]
    limits: {max_turns: 5, max_cost: "0.50", max_duration: 1m}
`

// TestInterop starts the built binary with a model server that nobody here wrote, and lets a JavaScript client use it.
func TestInterop(t *testing.T) {
	t.Parallel()
	needNode(t)
	dir := t.TempDir()
	if err := os.CopyFS(dir, os.DirFS("testdata/interop")); err != nil {
		t.Fatal(err)
	}
	runProgram(t, dir, "npm", "ci", "--no-audit", "--no-fund", "--loglevel=error")

	model := freeAddress(t)
	host, port, _ := net.SplitHostPort(model)
	background(t, dir, nil, "./node_modules/.bin/llmock", "-h", host, "-p", port, "-f", "fixtures.json", "--strict", "--log-level", "warn")
	waitHTTP(t, "http://"+model+"/v1/models")

	file := filepath.Join(dir, "skelegent.yaml")
	if err := os.WriteFile(file, fmt.Appendf(nil, interopManifest, model), 0o600); err != nil {
		t.Fatal(err)
	}
	node := startNode(t, binary(t), []string{"INTEROP_API_KEY=sk-interop-secret"}, "-f", file, "--listen", "127.0.0.1:0")
	out := runProgram(t, dir, "node", "client.mjs", node.url)
	if !strings.Contains(out, "interop: ok") {
		t.Errorf("client said: %s", out)
	}
	if log := node.terminate(t); strings.Contains(log, "sk-interop-secret") || strings.Contains(log, "remember tea") {
		t.Errorf("a secret or a prompt is in the log:\n%s", log)
	}
}

// needNode skips a test where there is no Node.js, loudly, and fails it where there must be.
func needNode(t *testing.T) {
	t.Helper()
	for _, tool := range []string{"node", "npm"} {
		if _, err := exec.LookPath(tool); err != nil {
			if os.Getenv("CI") != "" {
				t.Fatalf("%s is missing, and CI must run this test", tool)
			}
			fmt.Fprintf(os.Stderr, "\n*** %s is missing: THE JAVASCRIPT CLIENT WAS NOT TESTED. Install Node.js and npm. ***\n\n", tool)
			t.Skipf("%s is missing", tool)
		}
	}
}

var build struct {
	once sync.Once
	path string
	err  error
}

// binary builds the program once for all tests.
func binary(t *testing.T) string {
	t.Helper()
	build.once.Do(func() {
		dir, err := os.MkdirTemp("", "skelegent-test-") //nolint:usetesting // it outlives the first test that needs it
		if err != nil {
			build.err = err
			return
		}
		build.path = filepath.Join(dir, "skelegent")
		out, err := exec.Command("go", "build", "-o", build.path, ".").CombinedOutput()
		if err != nil {
			build.err = fmt.Errorf("%w: %s", err, out)
		}
	})
	if build.err != nil {
		t.Fatal(build.err)
	}
	return build.path
}

// nodeProcess is a node in a process of its own.
type nodeProcess struct {
	cmd  *exec.Cmd
	url  string
	log  *lines
	done chan error
}

var readyURL = regexp.MustCompile(`nats=(\S+)`)

func startNode(t *testing.T, bin string, env []string, args ...string) *nodeProcess {
	t.Helper()
	p := &nodeProcess{cmd: exec.Command(bin, append([]string{"up"}, args...)...), log: &lines{}, done: make(chan error, 1)}
	p.cmd.Env = append(os.Environ(), env...)
	p.cmd.Stderr = p.log
	stdout, err := p.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := p.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	ready := make(chan string, 1)
	go func() {
		s := bufio.NewScanner(stdout)
		for s.Scan() {
			if strings.HasPrefix(s.Text(), "ready") {
				ready <- s.Text()
			}
		}
		p.done <- p.cmd.Wait()
	}()
	t.Cleanup(func() { _ = p.cmd.Process.Kill() })
	select {
	case line := <-ready:
		p.url = readyURL.FindStringSubmatch(line)[1]
	case err := <-p.done:
		t.Fatalf("node ended: %v\n%s", err, p.log)
	case <-time.After(time.Minute):
		t.Fatalf("node is not ready\n%s", p.log)
	}
	return p
}

// terminate sends SIGTERM and returns the log of the ended node.
func (p *nodeProcess) terminate(t *testing.T) string {
	t.Helper()
	if err := p.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	select {
	case err := <-p.done:
		if err != nil {
			t.Errorf("node ended with %v\n%s", err, p.log)
		}
	case <-time.After(time.Minute):
		t.Errorf("node does not end\n%s", p.log)
	}
	return p.log.String()
}

// lines collects output.
type lines struct {
	mu sync.Mutex
	b  strings.Builder
}

func (l *lines) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *lines) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

func runProgram(t *testing.T, dir, name string, args ...string) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Dir = dir
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%s %s: %v\n%s", name, strings.Join(args, " "), err, out)
	}
	return string(out)
}

func background(t *testing.T, dir string, env []string, name string, args ...string) {
	t.Helper()
	cmd := exec.Command(name, args...)
	cmd.Dir, cmd.Env = dir, append(os.Environ(), env...)
	cmd.Stdout, cmd.Stderr = io.Discard, io.Discard
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
}

func freeAddress(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = l.Close() }()
	return l.Addr().String()
}

func waitHTTP(t *testing.T, url string) {
	t.Helper()
	for end := time.Now().Add(time.Minute); time.Now().Before(end); time.Sleep(50 * time.Millisecond) {
		resp, err := http.Get(url)
		if err == nil {
			_ = resp.Body.Close()
			return
		}
	}
	t.Fatalf("%s does not answer", url)
}
