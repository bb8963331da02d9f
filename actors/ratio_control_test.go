package actors_test

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"testing"
	"time"

	"go.uber.org/zap"

	"github.com/skelegent/skelegent-go/actors"
	"github.com/skelegent/skelegent-go/actors/agent"
	"github.com/skelegent/skelegent-go/actors/provider/openai"
	"github.com/skelegent/skelegent-go/actors/tool"
	"github.com/skelegent/skelegent-go/bus"
	"github.com/skelegent/skelegent-go/bus/embed"
	"github.com/skelegent/skelegent-go/bus/task"
	"github.com/skelegent/skelegent-go/protocol"
)

// controlled is a model server over HTTP that tells when a word reached it, and when its client went.
type controlled struct {
	word  chan string // what was said last
	begun chan struct{}
	gone  chan struct{}
}

// steered answers each request with one more call of a tool, until the run is steered; then it is done.
func (c *controlled) steered(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return
	}
	w.Header().Set("Content-Type", "application/json")
	if bytes.Contains(body, []byte("steered")) {
		c.word <- "steered"
		_, _ = io.WriteString(w, `{"model":"m","choices":[{"index":0,"finish_reason":"stop","message":{"role":"assistant","content":"done"}}]}`)
		return
	}
	select {
	case c.begun <- struct{}{}:
	default:
	}
	_, _ = io.WriteString(w, `{"model":"m","choices":[{"index":0,"finish_reason":"tool_calls","message":{"role":"assistant","content":"",`+
		`"tool_calls":[{"id":"","type":"function","function":{"name":"clock","arguments":"{}"}}]}}]}`)
}

// silent begins a stream and never ends it.
func (c *controlled) silent(w http.ResponseWriter, r *http.Request) {
	_, _ = io.ReadAll(r.Body)
	w.Header().Set("Content-Type", "text/event-stream")
	_, _ = io.WriteString(w, "data: {\"model\":\"m\",\"choices\":[{\"index\":0,\"delta\":{\"content\":\"hm\"}}]}\n\n")
	_ = http.NewResponseController(w).Flush()
	c.begun <- struct{}{}
	<-r.Context().Done()
	c.gone <- struct{}{}
}

// TestControlRatio prints how long a word to a run takes from its publishing to the first model call that has it, and a cancel
// until the provider's connection is closed, beside the least: what a signal takes to be stored.
func TestControlRatio(t *testing.T) { //nolint:paralleltest // it measures
	if *ratio == 0 {
		t.Skip("run by make bench")
	}
	s, err := embed.Start(embed.Config{Dir: t.TempDir(), Listen: embed.ListenNone, NoSync: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Stop(context.Background()) })
	c := &controlled{word: make(chan string), begun: make(chan struct{}), gone: make(chan struct{})}
	conn := connect(t, s)
	n := node(t, conn, actors.Config{Logger: zap.NewNop(), WithoutEffects: true})
	for id, handler := range map[protocol.OperatorID]http.HandlerFunc{"steered": c.steered, "silent": c.silent} {
		server := httptest.NewServer(handler)
		t.Cleanup(server.Close)
		p := openai.New(openai.Config{BaseURL: server.URL})
		t.Cleanup(p.Close)
		a, err := agent.New(agent.Config{Provider: p, NoStream: id == "steered", Model: "m", Tools: []tool.Tool{tool.Clock()}, Limits: agent.Limits{MaxTurns: 100_000}})
		if err != nil {
			t.Fatal(err)
		}
		if err := n.Register(id, a, actors.Durable()); err != nil {
			t.Fatal(err)
		}
	}
	start(t, n)
	d, tasks := bus.NewDispatcher(conn), task.New(conn)
	signal := func(to protocol.WorkflowID, kind, text string) time.Time {
		begun := time.Now()
		data, _ := json.Marshal(text)
		if err := d.Signal(t.Context(), to, protocol.SignalPayload{SignalType: kind, Data: data}); err != nil {
			t.Fatal(err)
		}
		return begun
	}
	const rounds = 51
	times := map[string][]time.Duration{}
	for range rounds {
		begun := signal("steered/nobody", "word", "stored")
		times["floor: a signal is stored"] = append(times["floor: a signal is stored"], time.Since(begun))

		run, err := tasks.Submit(t.Context(), "steered", protocol.Text("go"), task.Submission{})
		if err != nil {
			t.Fatal(err)
		}
		<-c.begun
		begun = signal(run.Workflow, "steer", "steered")
		<-c.word
		times["steer: to the model call that has it"] = append(times["steer: to the model call that has it"], time.Since(begun))

		if run, err = tasks.Submit(t.Context(), "silent", protocol.Text("go"), task.Submission{}); err != nil {
			t.Fatal(err)
		}
		<-c.begun
		begun = signal(run.Workflow, "cancel", "enough")
		<-c.gone
		times["cancel: to the closed connection"] = append(times["cancel: to the closed connection"], time.Since(begun))
	}
	for _, name := range []string{"floor: a signal is stored", "steer: to the model call that has it", "cancel: to the closed connection"} {
		all := times[name]
		slices.Sort(all)
		t.Logf("%-40s p50 %10s  p90 %10s  max %10s", name, all[len(all)/2], all[len(all)*9/10], all[len(all)-1])
	}
}
