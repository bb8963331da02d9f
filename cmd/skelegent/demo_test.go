package main

import (
	"bufio"
	"bytes"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/skelegent/skelegent-go/bus/embed"
)

// A demonstration starts its own program as a node: in a test that is the test's program.
func init() {
	if len(os.Args) > 1 && os.Args[1] == "up" {
		os.Exit(start())
	}
}

var demoProcess = regexp.MustCompile(`process (\d+)`)

// workersOf returns the processes that the output names.
func workersOf(t testing.TB, out string) (pids []int) {
	t.Helper()
	for _, m := range demoProcess.FindAllStringSubmatch(out, -1) {
		pid, err := strconv.Atoi(m[1])
		if err != nil {
			t.Fatal(err)
		}
		pids = append(pids, pid)
	}
	return pids
}

func lives(pid int) bool {
	p, err := os.FindProcess(pid)
	return err == nil && p.Signal(syscall.Signal(0)) == nil
}

// wantGone checks that so many workers are named in the output and none is left.
func wantGone(t testing.TB, out string, workers int) {
	t.Helper()
	pids := workersOf(t, out)
	if len(pids) != workers {
		t.Errorf("%d workers are named, want %d, in %q", len(pids), workers, out)
	}
	for _, pid := range pids {
		if lives(pid) {
			t.Errorf("worker %d lives on", pid)
		}
	}
}

func TestDemo(t *testing.T) {
	t.Parallel()
	r := call{}.run(t, "demo")
	r.want(t, exitDone, "The verdict", "")
	for _, line := range []string{
		"skelegent approve assistant/demo   (approved call-2-2)", "kill -9 ", "0 open tasks", "order 1 is placed",
		"turn 1 paid once, turn 2 paid twice (1 was in flight at the kill), turn 3 paid once",
		"begun, resumed, taken over", "skelegent show assistant/demo", "nats kv get SKG_STATE session.demo.drink",
	} {
		if !strings.Contains(r.out, line) {
			t.Errorf("%q is not in %s", line, r.out)
		}
	}
	if strings.Contains(r.out, "FAILED") {
		t.Error(r.out)
	}
	wantGone(t, r.out, 2)
}

func TestDemoJSON(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "kept")
	v := decode[demoVerdict](t, call{}.run(t, "demo", "--json", "--dir", dir))
	if !v.Passed || len(v.Checks) != 9 || v.Records == 0 || v.Bytes == 0 || v.KillToCall <= 0 || v.Took <= v.KillToCall {
		t.Errorf("got %+v", v)
	}
	if v.Cost.Text() != "0.00018030" || v.Billed.Text() != "0.00024165" {
		t.Errorf("cost %s, billed %s", v.Cost, v.Billed)
	}
	if want := []demoTurnBill{{1, 1, 0, 1}, {2, 2, 1, 1}, {3, 1, 0, 1}}; !slices.Equal(v.Turns, want) {
		t.Errorf("paid %+v, want %+v", v.Turns, want)
	}
	for _, name := range []string{defaultManifest, demoOrders, demoLog, filepath.Join(demoWorkers, "node-id")} {
		if _, err := os.Stat(filepath.Join(dir, name)); err != nil {
			t.Error(err)
		}
	}

	again := decode[demoVerdict](t, call{}.run(t, "demo", "--json", "--dir", dir)) // begins anew
	if !again.Passed || again.Run == v.Run {
		t.Errorf("got %+v", again)
	}
}

// The checks find what is wrong: here it is made wrong.
func TestDemoThatFails(t *testing.T) {
	t.Parallel()
	replace := func(pairs ...string) func(string) string { return strings.NewReplacer(pairs...).Replace }
	for name, tc := range map[string]struct {
		edit    func(string) string
		workers int
		failed  []string
	}{
		"an agent without a log repeats what it did": {
			edit:    replace("durable: true", "durable: false", ", approval: true", ""),
			workers: 2,
			failed: []string{
				"approval (nobody was asked)", "model calls (turn 1 paid twice, turn 2 paid twice (1 was in flight at the kill)",
				"order (placed twice", "mails (warehouse, warehouse", "answer (complete: At", "log (",
			},
		},
		"an agent without a log cannot wait": {
			edit:    replace("durable: true", "durable: false"),
			workers: 1,
			failed:  []string{"approval (nobody was asked)", "order (placed never", "mails (nothing)", "answer (awaiting_approval", "recovery (nobody was killed)"},
		},
		"too little money": {
			edit:    replace("max_cost: \"0.50\"", "max_cost: \"0.0001\""),
			workers: 1,
			failed:  []string{"answer (budget_exhausted", "model calls (turn 1 paid once)", "recovery (nobody was killed)"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var b buffer
			program, err := os.Executable()
			if err != nil {
				t.Fatal(err)
			}
			err = runDemo(testContext(t), newOutput(&b, false), demoConfig{listen: "127.0.0.1:0", program: program, edit: tc.edit})
			if err == nil {
				t.Fatalf("nothing is wrong in %s", b.String())
			}
			code, text := report(&runError{err})
			if code != exitFailed || strings.Contains(text, "\n") {
				t.Errorf("code %d, %q", code, text)
			}
			for _, check := range tc.failed {
				if !strings.Contains(text, check) {
					t.Errorf("%q is not in %q", check, text)
				}
				if name, _, _ := strings.Cut(check, " ("); !strings.Contains(b.String(), "FAILED  "+name) {
					t.Errorf("%q is not said to have failed in %s", name, b.String())
				}
			}
			wantGone(t, b.String(), tc.workers)
		})
	}
}

func TestDemoWorkerThatDoesNotStart(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		program string
		edit    func(string) string
		want    string
	}{
		"no program":   {program: "/no/such/program", want: "no such file"},
		"bad manifest": {edit: func(m string) string { return m + "nonsense: 1\n" }, want: "nonsense"},
		"ends at once": {program: "true", want: "the worker ended by itself: exit status 0"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var b buffer
			err := runDemo(testContext(t), newOutput(&b, false), demoConfig{listen: "127.0.0.1:0", program: tc.program, edit: tc.edit})
			if err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("error %v does not say %q", err, tc.want)
			}
		})
	}
}

// endsAt ends a context as soon as something is written.
type endsAt struct {
	buffer
	text string
	end  func()
}

func (e *endsAt) Write(p []byte) (int, error) {
	n, err := e.buffer.Write(p)
	if strings.Contains(e.String(), e.text) {
		e.end()
	}
	return n, err
}

// Ctrl-C in the middle, wherever that is, leaves no process behind.
func TestDemoThatIsEnded(t *testing.T) {
	t.Parallel()
	for said, workers := range map[string]int{"a model that keeps": 0, "2. A worker": 1, "Accepted": 1, "kill -9": 1, "6. A new worker": 2} {
		t.Run(said, func(t *testing.T) {
			t.Parallel()
			ctx, cancel := context.WithCancel(testContext(t))
			defer cancel()
			b := &endsAt{text: said, end: cancel}
			r := call{ctx: ctx, stdout: b}.run(t, "demo")
			r.out = b.String()
			r.want(t, exitFailed, said, "cancelled: ")
			wantGone(t, b.String(), workers)
		})
	}
}

// demoStay starts the program and returns it when the story is told, with what it said and where its server is.
func demoStay(t *testing.T) (cmd *exec.Cmd, out, url string) {
	t.Helper()
	cmd = exec.Command(binary(t), "demo", "--stay", "--dir", t.TempDir())
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	for s := bufio.NewScanner(stdout); s.Scan(); {
		out += s.Text() + "\n"
		if found, ok := strings.CutPrefix(strings.TrimSpace(s.Text()), "export NATS_URL="); ok {
			url = found
		}
		if strings.Contains(s.Text(), "are in") { // its last line
			return cmd, out, url
		}
	}
	t.Fatalf("the story is not told: %s", out)
	return nil, "", ""
}

// What the demonstration proposes to try works.
func TestDemoStays(t *testing.T) {
	t.Parallel()
	cmd, out, url := demoStay(t)
	w := &world{url: url}
	w.run(t, "show", "assistant/demo").want(t, exitDone, "claim 3", "")
	w.run(t, "result", "assistant/demo").want(t, exitDone, "order 1 is placed", "")
	w.run(t, "dispatch", "assistant", "--task", "--session", "again", "Order two more boxes.").want(t, exitDone, "assistant/again", "")
	w.eventually(t, "assistant/again", "inbox")
	w.run(t, "approve", "assistant/again").want(t, exitDone, "approved", "")
	w.run(t, "result", "assistant/again", "--wait").want(t, exitDone, "order 2 is placed", "")
	w.run(t, "dispatch", "assistant", "--task", "--session", "none", "Order no more.").want(t, exitDone, "assistant/none", "")
	w.eventually(t, "assistant/none", "inbox")
	w.run(t, "deny", "assistant/none", "--reason", "enough tea").want(t, exitDone, "denied", "")
	w.run(t, "result", "assistant/none", "--wait").want(t, exitDone, "Nothing was ordered", "")
	w.run(t, "runs").want(t, exitDone, "assistant/again", "")

	nc, err := nats.Connect(url) // as any client does
	if err != nil {
		t.Fatal(err)
	}
	defer nc.Close()
	send := func(subject, body string) []byte {
		t.Helper()
		m, err := nc.Request(subject, []byte(body), patience)
		if err != nil {
			t.Fatal(err)
		}
		return m.Data
	}
	send("skg.task.assistant", `{"message":"Order one more.","session":"more"}`)
	w.eventually(t, "assistant/more", "inbox")
	if got := send("skg.query.assistant.more.pending", ""); !bytes.Contains(got, []byte(`"tool_name":"order"`)) {
		t.Errorf("pending: %s", got)
	}
	send("skg.signal.assistant.more.approve", "")
	w.run(t, "result", "assistant/more", "--wait").want(t, exitDone, "order 3 is placed", "")

	if err := cmd.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Wait(); err != nil {
		t.Errorf("Ctrl-C: %v", err)
	}
	wantGone(t, out, 2)
}

// A demonstration that is killed itself leaves no process behind either, where the system has the means.
func TestDemoThatIsKilled(t *testing.T) {
	t.Parallel()
	if runtime.GOOS != "linux" {
		t.Skip("only Linux ends a process with its parent")
	}
	cmd, out, _ := demoStay(t)
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait()
	for _, pid := range workersOf(t, out) {
		for end := time.Now().Add(patience); lives(pid); time.Sleep(10 * time.Millisecond) {
			if time.Now().After(end) {
				t.Fatalf("worker %d lives on", pid)
			}
		}
	}
}

func TestDemoDirectory(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	file := filepath.Join(dir, defaultManifest)
	if err := os.WriteFile(file, []byte("mine"), 0o600); err != nil {
		t.Fatal(err)
	}
	call{}.run(t, "demo", "--dir", dir).want(t, exitFailed, "", "has files in it that are not the demo's: name an empty directory with --dir")
	if data, err := os.ReadFile(file); err != nil || string(data) != "mine" {
		t.Errorf("the file is %q, %v", data, err)
	}

	dir = t.TempDir()
	path, remove, err := openDemoDir(dir)
	if err != nil || path != dir {
		t.Fatalf("%q, %v", path, err)
	}
	holder, err := embed.OpenIdentity(filepath.Join(dir, demoWorkers))
	if err != nil {
		t.Fatal(err)
	}
	call{}.run(t, "demo", "--dir", dir).want(t, exitFailed, "", "in use")
	if err := holder.Close(); err != nil {
		t.Error(err)
	}
	if err := remove(); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(dir); err != nil {
		t.Error(err)
	}
}

func TestDemoUsage(t *testing.T) {
	t.Parallel()
	call{}.run(t, "demo", "please").want(t, exitUsage, "", "demo --help")
	call{}.run(t, "demo", "--listen", "nowhere").want(t, exitFailed, "", "HOST:PORT")
}
