package actors_test

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/skelegent/skelegent-go/actors"
	"github.com/skelegent/skelegent-go/actors/agent"
	"github.com/skelegent/skelegent-go/actors/effect"
	"github.com/skelegent/skelegent-go/actors/tool"
	"github.com/skelegent/skelegent-go/bus"
	"github.com/skelegent/skelegent-go/bus/embed"
	"github.com/skelegent/skelegent-go/bus/task"
	"github.com/skelegent/skelegent-go/protocol"
	"github.com/skelegent/skelegent-go/state/memory"
)

var crashLong = flag.Bool("crash.long", false, "lose every single message, and signal at each, not only at some")

// leastBoundaries is what a faultless run sent when this was written: with fewer, the harness looks at less than it did.
const leastBoundaries = 35

// outside is the world that no log tells of: what the model was paid for, what the tools did, what was mailed.
type outside struct {
	mu    sync.Mutex
	paid  map[string]int // by what was asked
	tools map[string]int
	mails []string
	hints int // the most that one conversation had
}

// hint is what is said to a run while it runs; the model listens, and goes on.
const hint = "by the way"

func newOutside() *outside { return &outside{paid: map[string]int{}, tools: map[string]int{}} }

// Infer is the model: what it says follows from the conversation alone.
func (o *outside) Infer(_ context.Context, req protocol.InferRequest, _ func(protocol.StreamEvent)) (protocol.InferResponse, error) {
	messages := slices.DeleteFunc(slices.Clone(req.Messages), func(m protocol.Message) bool { return m.Text() == hint })
	last := messages[len(messages)-1]
	var said []string
	for i := len(messages) - 1; i >= 0; i-- {
		said = append(said, messages[i].Text())
		if messages[i].Role == protocol.RoleUser {
			break
		}
	}
	key := fmt.Sprintf("%d messages, last %.60q", len(said), said[0])
	o.mu.Lock()
	o.paid[key]++
	o.hints = max(o.hints, len(req.Messages)-len(messages))
	o.mu.Unlock()
	resp := protocol.InferResponse{Model: "m", StopReason: protocol.StopToolUse, Cost: new(protocol.MustDecimal("0.001"))}
	resp.Usage = protocol.TokenUsage{InputTokens: 10, OutputTokens: 5}
	call := func(id, name, input string) {
		resp.ToolCalls = append(resp.ToolCalls, protocol.ToolCall{ID: id, Name: name, Input: json.RawMessage(input)})
	}
	end := func(text string) {
		resp.Content, resp.StopReason = protocol.TextContent(text), protocol.StopEndTurn
	}
	switch text := last.Text(); {
	case last.Role == protocol.RoleUser && text == "second":
		end(fmt.Sprintf("second, after %d messages", len(messages)-1))
	case last.Role == protocol.RoleUser:
		resp.Content = protocol.TextContent("I look it up, and charge.")
		call("1", "lookup", `{}`)
		call("2", "charge", `{"amount":5}`)
	case strings.Contains(text, "unknown"): // the outcome of charge: a careful model looks before it goes on
		call("3", "lookup", `{}`)
	case strings.Contains(text, "charged") || strings.Contains(text, "found"):
		resp.Content = protocol.TextContent("Now I ask, and mail.")
		call("4", "helper", `{"message":"help"}`)
		call("5", "mail", `{"to":"ann"}`)
		call("6", "mail", `{"to":"bob"}`)
		call("7", "keep", `{}`)
		call("8", "mail", `{"to":"cid"}`)
	default:
		end("all done")
	}
	return resp, nil
}

// Priced implements provider.Pricer.
func (o *outside) Priced(string) bool { return true }

func (o *outside) did(name string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.tools[name]++
}

func (o *outside) register(t testing.TB, n *actors.Node) {
	t.Helper()
	type none struct{}
	type letter struct {
		To string `json:"to"`
	}
	mail := func(_ context.Context, in letter) (string, protocol.Effects, error) {
		data, err := protocol.Marshal(in)
		return "will be mailed", protocol.Effects{protocol.CustomEffect{EffectType: "mail", Data: data}}, err
	}
	keep := func(ctx context.Context, _ none) (string, protocol.Effects, error) {
		return "will be kept", protocol.Effects{protocol.WriteMemory{Scope: tool.ScopeFrom(ctx), Key: "k", Value: json.RawMessage(`1`)}}, nil
	}
	a, err := agent.New(agent.Config{Name: "agent", Provider: o, Model: "m", Tools: []tool.Tool{
		tool.Func("lookup", "Looks up.", func(context.Context, none) (string, error) { o.did("lookup"); return "found", nil }, tool.Repeatable()),
		tool.Func("charge", "Charges.", func(_ context.Context, in struct {
			Amount int `json:"amount"`
		},
		) (string, error) {
			o.did("charge")
			return fmt.Sprintf("charged %d", in.Amount), nil
		}, tool.RequiresApproval()),
		tool.FromOperator("helper", "Helps.", bus.NewDispatcher(nil), "helper"),
		tool.Effect("mail", "Mails.", mail), tool.Effect("keep", "Keeps.", keep),
	}})
	if err != nil {
		t.Fatal(err)
	}
	if err := n.Register("agent", a, actors.Durable()); err != nil {
		t.Fatal(err)
	}
	helper := func(ctx context.Context, _ protocol.OperatorInput) (protocol.OperatorOutput, error) {
		out, err := actors.Step(ctx, "help", func(context.Context) (string, error) { o.did("helper"); return "helped", nil })
		return protocol.Reply(out), err
	}
	register(t, n, "helper", helper, actors.Durable())
}

// mailer is a real executor: it has a memory of its own.
func (o *outside) mailer(_ context.Context, r effect.Request) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.mails = append(o.mails, string(r.Effect.(protocol.CustomEffect).Data))
	return nil
}

// TestCrashAtEveryBoundary runs an agent (three turns, two tools of which one must not be repeated, four effects, an approval,
// a child, and an input that waits) and ends the node's connection, and the node, at the i-th message that it sends which
// changes anything, for every i of a faultless run; then another node goes on. Then the same with that message lost, and the
// node alive.
func TestCrashAtEveryBoundary(t *testing.T) {
	t.Parallel()
	faultless := crashAt(t, newCutter(0, false), false)
	t.Logf("%d boundaries: %s", len(faultless), strings.Join(faultless, " "))
	if len(faultless) < leastBoundaries {
		t.Fatalf("a faultless run had %d boundaries, was %d", len(faultless), leastBoundaries)
	}
	for i := 1; i <= len(faultless); i++ {
		t.Run(fmt.Sprintf("ends at %d %s", i, faultless[i-1]), func(t *testing.T) {
			t.Parallel()
			crashAt(t, newCutter(i, false), i%4 == 0)
		})
	}
	for i := 1; i <= len(faultless); i++ {
		if !*crashLong && i%7 != 0 {
			continue
		}
		t.Run(fmt.Sprintf("loses %d %s", i, faultless[i-1]), func(t *testing.T) {
			t.Parallel()
			crashAt(t, newCutter(i, true), false)
		})
	}
}

// crashAt runs it all with one fault, and returns what the first node sent. stranger says that another machine goes on, not
// the same one again.
func crashAt(t *testing.T, c *cutter, stranger bool) []string {
	t.Helper()
	dir := t.TempDir()
	s, err := embed.Start(embed.Config{Dir: dir, Listen: "127.0.0.1:0", NoSync: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Stop(context.Background()) })
	o := newOutside()
	healthy := connect(t, s)
	// Executors are elsewhere, and what they do is counted there.
	executors := node(t, healthy, actors.Config{Name: "executors", State: memory.New(memory.Config{})})
	if err := executors.RegisterEffect("mail", effect.Func(o.mailer), effect.Options{}); err != nil {
		t.Fatal(err)
	}
	start(t, executors)

	first := node(t, through(t, s, dir, c), actors.Config{Name: "first", ID: "one", WithoutEffects: true, TaskWait: time.Second})
	o.register(t, first)
	start(t, first)
	ctx := within(t, 50*time.Second)
	begun := make(chan struct{})
	go approve(ctx, t, healthy, sync.OnceFunc(func() { close(begun) }))
	c.arm()
	answers := []func() string{submitted(ctx, t, healthy, "r1", "first"), func() string {
		select {
		case <-begun: // the order that is promised is that of the log
		case <-ctx.Done():
		}
		return submitted(ctx, t, healthy, "r2", "second")()
	}}
	done := make(chan struct{})
	var got [2]string
	go func() {
		defer close(done)
		var wg sync.WaitGroup
		for i, answer := range answers {
			wg.Go(func() { got[i] = answer() })
		}
		wg.Wait()
	}()
	select {
	case <-done:
	case <-c.cut:
		if !c.drop {
			kill(t, first.Stop)
			id := "one"
			if stranger {
				id = "two"
			}
			second := node(t, connect(t, s), actors.Config{Name: "second", ID: id, WithoutEffects: true, TaskWait: time.Second})
			o.register(t, second)
			start(t, second)
		}
		<-done
	}
	sent := c.boundaries()
	check(ctx, t, o, healthy, got, c)
	return sent
}

// submitted submits an input, and asks for its answer again while none comes: an answer may be lost, a result is not.
func submitted(ctx context.Context, t testing.TB, conn *bus.Conn, id protocol.RunID, text string) func() string {
	t.Helper()
	inbox := conn.NATS().NewInbox()
	sub, err := conn.NATS().SubscribeSync(inbox)
	if err != nil {
		t.Fatal(err)
	}
	submit := func() {
		_, err := task.New(conn).Submit(ctx, "agent", protocol.Text(text).WithSession("s"), task.Submission{
			Call: protocol.Call{Run: id}, Inboxes: []string{inbox},
		})
		if err != nil && ctx.Err() == nil {
			t.Error(err)
		}
	}
	submit()
	return func() string {
		defer func() { _ = sub.Unsubscribe() }() // what was answered once more stays unread
		for {
			m, err := sub.NextMsg(5 * time.Second)
			switch {
			case err == nil:
				return answerOf(m)
			case ctx.Err() != nil:
				return "no answer: " + ctx.Err().Error()
			}
			submit()
		}
	}
}

func answerOf(m *nats.Msg) string {
	out, err := bus.DecodeReply(m)
	if err != nil {
		return "error: " + err.Error()
	}
	text, _ := out.Message.AsText()
	return text
}

// approve lets every call happen that waits for a person, once. It tells when the first run has begun.
func approve(ctx context.Context, t testing.TB, conn *bus.Conn, begun func()) {
	d := bus.NewDispatcher(conn)
	_, log := bus.EventSubjects(conn.Names(), "agent", "s")
	asked := false
	err := conn.Observe(ctx, bus.ObserveConfig{Log: log, Since: 1}, func(o bus.Observation) bool {
		if o.Event.Kind == protocol.EventInvocationStarted {
			begun()
		}
		if o.Event.Kind == protocol.EventSuspended && strings.Contains(string(o.Event.Data), `"approval"`) && !asked {
			asked = true
			if err := d.Signal(ctx, "agent/s", protocol.SignalPayload{SignalType: "approve"}); err != nil && ctx.Err() == nil {
				t.Errorf("approve: %v", err)
			}
		}
		return true
	})
	if err != nil && ctx.Err() == nil {
		t.Errorf("observe: %v", err)
	}
}

// dump says where it hangs.
func dump(t *testing.T, conn *bus.Conn) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	for _, name := range []string{"SKG_TASKS", "SKG_TIMERS", "SKG_LOG"} {
		stream, err := conn.JetStream().Stream(ctx, name)
		if err != nil {
			t.Log(err)
			continue
		}
		info := stream.CachedInfo()
		t.Logf("%s: %d messages, sources %+v", name, info.State.Msgs, info.Sources)
		for _, s := range info.Sources {
			t.Logf("  source %+v", *s)
		}
		for seq := info.State.FirstSeq; seq <= info.State.LastSeq; seq++ {
			if m, err := stream.GetMsg(ctx, seq); err == nil {
				t.Logf("  %d %s %v %.150s", seq, m.Subject, m.Header, m.Data)
			}
		}
		all := stream.ListConsumers(ctx)
		for c := range all.Info() {
			t.Logf("  consumer %s pending %d acks %d redelivered %d waiting %d, delivered %+v", c.Name, c.NumPending, c.NumAckPending, c.NumRedelivered, c.NumWaiting, c.Delivered)
		}
	}
}

// check compares what happened outside with what may have.
func check(ctx context.Context, t *testing.T, o *outside, conn *bus.Conn, got [2]string, c *cutter) {
	t.Helper()
	if got[0] != "all done" || got[1] != "second, after 2 messages" {
		t.Errorf("answers %q", got)
		dump(t, conn)
	}
	three := []string{`{"to":"ann"}`, `{"to":"bob"}`, `{"to":"cid"}`}
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for {
		o.mu.Lock()
		n := len(o.mails)
		o.mu.Unlock()
		if n >= len(three) {
			break
		}
		select {
		case <-tick.C:
			continue
		case <-ctx.Done():
		}
		break
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	if !slices.Equal(o.mails, three) {
		t.Errorf("mailed %v", o.mails)
	}
	again := 0
	for what, n := range o.paid {
		again += n - 1
		if n > 2 {
			t.Errorf("paid %d times for %s", n, what)
		}
	}
	ended := c.at > 0 && !c.drop
	if again > 1 || again == 1 && !ended {
		t.Errorf("%d model calls paid again: %v", again, o.paid)
	}
	if o.tools["charge"] > 1 || o.tools["helper"] > 2 || !ended && o.tools["helper"] != 1 {
		t.Errorf("tools: %v", o.tools)
	}
}
