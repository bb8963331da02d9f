package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/skelegent/skelegent-go/bus"
	"github.com/skelegent/skelegent-go/bus/embed"
	"github.com/skelegent/skelegent-go/protocol"
)

// Each run says that it began, takes a moment, and declares an effect; each performance of an effect leaves a line.
const drainManifest = `
operators:
  work:
    kind: exec
    concurrency: 8
    command:
      - sh
      - -c
      - |
        echo "$SKG_RUN_ID" >> began
        sleep 0.02
        echo '{"message":"done","exit_reason":"complete","metadata":{"tokens_in":0,"tokens_out":0,"cost":"0","turns_used":0,"sub_dispatches":[],"duration":0},"effects":[{"type":"custom","effect_type":"mark","data":1}]}'
effects:
  mark: {kind: exec, command: [sh, -c, 'echo "$SKG_EFFECT_ID" >> marks'], concurrency: 2}
`

// TestTerminateUnderLoad: SIGTERM while clients keep asking. Every run that began is answered, every answer's effect is
// performed once, here or after a restart.
func TestTerminateUnderLoad(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	file := filepath.Join(dir, "skelegent.yaml")
	if err := os.WriteFile(file, []byte(drainManifest), 0o600); err != nil {
		t.Fatal(err)
	}
	node := startNode(t, binary(t), nil, "-f", file, "--listen", "127.0.0.1:0")
	outcome := load(t, node)
	log := node.terminate(t)
	answered, failed := outcome()
	if len(answered) < 50 {
		t.Fatalf("only %d answers before the end\n%s", len(answered), log)
	}
	for _, run := range linesOf(t, dir, "began") {
		if err, ok := failed[run]; ok && (protocol.CodeOf(err) == protocol.CodeTimeout || protocol.CodeOf(err) == protocol.CodeInternal) {
			t.Errorf("run %s began and its caller got %v", run, err)
		}
	}
	for run, err := range failed {
		if protocol.CodeOf(err) == protocol.CodeInternal {
			t.Errorf("run %s: %v", run, err)
		}
	}

	again := startNode(t, binary(t), nil, "-f", file, "--listen", "127.0.0.1:0")
	waitForEffects(t, again, filepath.Join(dir, ".skelegent", embed.NodeKeyFile))
	again.terminate(t)
	marks := map[string]int{}
	for _, id := range linesOf(t, dir, "marks") {
		marks[id]++
	}
	for id, n := range marks {
		if n != 1 {
			t.Errorf("effect %s was performed %d times", id, n)
		}
	}
	for run := range answered {
		if id := "work/" + run + "/mark/1/1"; marks[id] != 1 {
			t.Errorf("effect %s of an answered run was performed %d times", id, marks[id])
		}
	}
	t.Logf("%d answered, %d refused or lost, %d effects", len(answered), len(failed), len(marks))
}

// load keeps clients asking; it returns when the node is busy. The function that it returns waits for the clients, which
// end when the node is gone.
func load(t *testing.T, node *nodeProcess) func() (answered map[string]bool, failed map[string]error) {
	t.Helper()
	conn := must(t)(bus.Connect(t.Context(), bus.ConnectConfig{URL: node.url}))
	t.Cleanup(conn.NATS().Close)
	d := bus.NewDispatcher(conn, bus.WithTimeout(5*time.Second))
	var mu sync.Mutex
	var wg sync.WaitGroup
	var count atomic.Int32
	busy := make(chan struct{})
	answered, failed := map[string]bool{}, map[string]error{}
	for w := range 16 {
		wg.Go(func() {
			for i := range 10_000 {
				run := fmt.Sprintf("r-%d-%d", w, i)
				ctx := protocol.WithCall(context.Background(), protocol.Call{Run: protocol.RunID(run)})
				_, err := d.Dispatch(ctx, "work", protocol.Text("go"))
				mu.Lock()
				if err == nil {
					answered[run] = true
				} else {
					failed[run] = err
				}
				mu.Unlock()
				if err == nil && count.Add(1) == 60 {
					close(busy)
				}
				if err != nil {
					return
				}
			}
		})
	}
	select {
	case <-busy:
	case <-time.After(time.Minute):
		t.Fatal("no load")
	}
	return func() (map[string]bool, map[string]error) {
		wg.Wait()
		return answered, failed
	}
}

func waitForEffects(t *testing.T, node *nodeProcess, key string) {
	t.Helper()
	conn := must(t)(bus.Connect(t.Context(), bus.ConnectConfig{URL: node.url, NKey: key, InboxPrefix: embed.InboxPrefix}))
	defer conn.NATS().Close()
	for end := time.Now().Add(time.Minute); ; time.Sleep(20 * time.Millisecond) {
		stream, err := conn.JetStream().Stream(t.Context(), "SKG_EFFECTS")
		if err != nil {
			t.Fatal(err)
		}
		left := stream.CachedInfo().State.Msgs
		if left == 0 {
			return
		}
		if time.Now().After(end) {
			t.Fatalf("%d effect requests are left\n%s", left, node.log)
		}
	}
}

func must(t *testing.T) func(*bus.Conn, error) *bus.Conn {
	return func(c *bus.Conn, err error) *bus.Conn {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return c
	}
}

func linesOf(t *testing.T, dir, name string) []string {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(dir, name))
	if err != nil {
		t.Fatal(err)
	}
	return strings.Fields(string(data))
}

// TestKilledNode: kill -9 while effects are performed. What must not be repeated is not, and is reported where its outcome
// is unknown.
func TestKilledNode(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	file := filepath.Join(dir, "skelegent.yaml")
	slow := strings.Replace(drainManifest, `echo "$SKG_EFFECT_ID" >> marks`, `echo "$SKG_EFFECT_ID" >> marks; sleep 0.2`, 1)
	if err := os.WriteFile(file, []byte(slow), 0o600); err != nil {
		t.Fatal(err)
	}
	node := startNode(t, binary(t), nil, "-f", file, "--listen", "127.0.0.1:0")
	outcome := load(t, node)
	if err := node.cmd.Process.Signal(syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	<-node.done
	answered, _ := outcome()
	again := startNode(t, binary(t), nil, "-f", file, "--listen", "127.0.0.1:0")
	key := filepath.Join(dir, ".skelegent", embed.NodeKeyFile)
	waitForEffects(t, again, key)
	log := again.terminate(t)
	marks := map[string]int{}
	for _, id := range linesOf(t, dir, "marks") {
		marks[id]++
	}
	for id, n := range marks {
		if n != 1 {
			t.Errorf("effect %s was performed %d times", id, n)
		}
	}
	for run := range answered {
		id := "work/" + run + "/mark/1/1"
		if marks[id] == 0 && !strings.Contains(log, id) {
			t.Errorf("effect %s of an answered run is lost", id)
		}
	}
}
