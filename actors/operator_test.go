package actors_test

import (
	"context"
	"encoding/json"
	"errors"
	"math"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/micro"

	"github.com/skelegent/skelegent-go/actors"
	"github.com/skelegent/skelegent-go/bus"
	"github.com/skelegent/skelegent-go/protocol"
)

// gate is an operator that runs until it is let go.
type gate struct {
	began   chan protocol.OperatorInput
	release chan struct{}
}

func newGate() *gate {
	return &gate{began: make(chan protocol.OperatorInput, 1000), release: make(chan struct{})}
}

func (g *gate) Execute(ctx context.Context, in protocol.OperatorInput) (protocol.OperatorOutput, error) {
	g.began <- in
	select {
	case <-g.release:
		return protocol.Reply("let go"), nil
	case <-ctx.Done():
		return protocol.OperatorOutput{}, ctx.Err()
	}
}

func wait[T any](t testing.TB, ch <-chan T) T {
	t.Helper()
	select {
	case v := <-ch:
		return v
	case <-time.After(30 * time.Second):
		t.Fatal("nothing came")
		panic("unreachable")
	}
}

type result struct {
	out protocol.OperatorOutput
	err error
}

func dispatchAsync(t testing.TB, d protocol.Dispatcher, id protocol.OperatorID, in protocol.OperatorInput) <-chan result {
	t.Helper()
	ch := make(chan result, 1)
	ctx := testContext(t)
	go func() {
		out, err := d.Dispatch(ctx, id, in)
		ch <- result{out, err}
	}()
	return ch
}

func TestBeyondTheLimits(t *testing.T) {
	t.Parallel()
	_, conn := server(t)
	g := newGate()
	n := node(t, conn, actors.Config{})
	if err := n.Register("slow", g, actors.Concurrency(1), actors.Waiting(1)); err != nil {
		t.Fatal(err)
	}
	start(t, n)
	d := bus.NewDispatcher(conn)
	first := dispatchAsync(t, d, "slow", protocol.Text("1"))
	wait(t, g.began)
	// Of the next two one waits and the other is refused; which one is refused came last.
	second, third := dispatchAsync(t, d, "slow", protocol.Text("2")), dispatchAsync(t, d, "slow", protocol.Text("3"))
	var refused result
	var waiting <-chan result
	select {
	case refused = <-second:
		waiting = third
	case refused = <-third:
		waiting = second
	case <-time.After(30 * time.Second):
		t.Fatal("nobody was refused")
	}
	e := protocol.AsError(refused.err)
	if e == nil || e.Code != protocol.CodeUnavailable || !e.Retryable || e.RetryAfter <= 0 {
		t.Errorf("refusal = %+v, want unavailable with a hint when to retry", e)
	}
	close(g.release)
	for _, ch := range []<-chan result{first, waiting} {
		if r := wait(t, ch); r.err != nil {
			t.Errorf("accepted request: %v", r.err)
		}
	}
}

func TestPanicReachesItsCallerAlone(t *testing.T) {
	t.Parallel()
	_, conn := server(t)
	n := node(t, conn, actors.Config{})
	op := protocol.OperatorFunc(func(ctx context.Context, in protocol.OperatorInput) (protocol.OperatorOutput, error) {
		if text, _ := in.Message.AsText(); text == "boom" {
			panic("secret prompt")
		}
		return echo(ctx, in)
	})
	if err := n.Register("fragile", op); err != nil {
		t.Fatal(err)
	}
	start(t, n)
	d := bus.NewDispatcher(conn)
	var wg sync.WaitGroup
	var internal, fine atomic.Int32
	for i := range 100 {
		text := "fine"
		if i%10 == 0 {
			text = "boom"
		}
		wg.Go(func() {
			_, err := d.Dispatch(testContext(t), "fragile", protocol.Text(text))
			switch {
			case err == nil:
				fine.Add(1)
			case protocol.CodeOf(err) == protocol.CodeInternal && !strings.Contains(err.Error(), "secret"):
				internal.Add(1)
			default:
				t.Errorf("%s: %v", text, err)
			}
		})
	}
	wg.Wait()
	if fine.Load() != 90 || internal.Load() != 10 {
		t.Errorf("fine %d, internal %d; want 90 and 10", fine.Load(), internal.Load())
	}
}

func TestBadInput(t *testing.T) {
	t.Parallel()
	_, conn := server(t)
	n := node(t, conn, actors.Config{})
	if err := n.Register("echo", echo); err != nil {
		t.Fatal(err)
	}
	start(t, n)
	for _, tc := range []struct {
		name, body, header, value string
		code                      protocol.Code
		field                     string
	}{
		{name: "malformed", body: `{"message":`, code: protocol.CodeInvalidInput},
		{name: "empty", body: ``, code: protocol.CodeInvalidInput, field: "message"},
		{name: "no message", body: `{"trigger":"user"}`, code: protocol.CodeInvalidInput, field: "message"},
		{name: "wrong type", body: `{"message":7}`, code: protocol.CodeInvalidInput, field: "message"},
		{name: "wrong type deep", body: `{"message":"x","config":{"max_turns":"many"}}`, code: protocol.CodeInvalidInput, field: "config.max_turns"},
		{name: "unknown variant", body: `{"message":"x","trigger":"never"}`, code: protocol.CodeInvalidInput, field: "trigger"},
		{name: "negative money", body: `{"message":"x","config":{"max_cost":"-1"}}`, code: protocol.CodeInvalidInput, field: "config.max_cost"},
		{name: "empty session", body: `{"message":"x","session":""}`, code: protocol.CodeInvalidInput, field: "session"},
		{name: "bad deadline", body: `x`, header: "Skg-Deadline", value: "tomorrow", code: protocol.CodeInvalidInput, field: "Skg-Deadline"},
		{name: "bad budget", body: `x`, header: "Skg-Budget", value: "much", code: protocol.CodeInvalidInput, field: "Skg-Budget"},
		{name: "too deep", body: `x`, header: "Skg-Depth", value: "17", code: protocol.CodeQuotaExceeded},
		{name: "deadline passed", body: `x`, header: "Skg-Deadline", value: "2001-01-01T00:00:00Z", code: protocol.CodeTimeout},
		{name: "long run id", body: `x`, header: "Skg-Run-Id", value: strings.Repeat("x", 600), code: protocol.CodeInvalidInput, field: "Skg-Run-Id"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			msg := &nats.Msg{Subject: "skg.op.echo", Data: []byte(tc.body), Header: nats.Header{}}
			if tc.header != "" {
				msg.Header.Set(tc.header, tc.value)
			}
			m, err := conn.NATS().RequestMsgWithContext(testContext(t), msg)
			if err != nil {
				t.Fatal(err)
			}
			var e protocol.Error
			if err := protocol.Unmarshal(m.Data, &e); err != nil {
				t.Fatalf("%v: %s", err, m.Data)
			}
			if got := m.Header.Get("Nats-Service-Error-Code"); got != string(tc.code) || e.Code != tc.code {
				t.Errorf("code = %s in the header, %s in the body, want %s: %s", got, e.Code, tc.code, e.Message)
			}
			if m.Header.Get("Nats-Service-Error") == "" {
				t.Error("no Nats-Service-Error header")
			}
			if e.Details["field"] != tc.field {
				t.Errorf("field = %q, want %q: %s", e.Details["field"], tc.field, e.Message)
			}
			if strings.Contains(e.Message, ".go:") {
				t.Errorf("stack trace in %q", e.Message)
			}
		})
	}
}

func TestReplyOnlyToInboxes(t *testing.T) {
	t.Parallel()
	_, conn := server(t)
	n := node(t, conn, actors.Config{})
	if err := n.Register("echo", echo); err != nil {
		t.Fatal(err)
	}
	start(t, n)
	sub := must1(t)(conn.NATS().SubscribeSync("skg.log.>"))
	if err := conn.NATS().PublishRequest("skg.op.echo", "skg.log.echo.x.run", []byte("hi")); err != nil {
		t.Fatal(err)
	}
	request(t, conn, "echo", []byte("behind it"))
	if err := conn.NATS().Flush(); err != nil {
		t.Fatal(err)
	}
	if n, _, _ := sub.Pending(); n != 0 {
		t.Errorf("%d messages reached a log subject", n)
	}
}

func must1(t testing.TB) func(*nats.Subscription, error) *nats.Subscription {
	return func(s *nats.Subscription, err error) *nats.Subscription {
		s = must(t, s, err)
		t.Cleanup(func() { _ = s.Unsubscribe() }) // a drained connection waits for what nobody reads
		return s
	}
}

func TestUnknownOperator(t *testing.T) {
	t.Parallel()
	_, conn := server(t)
	n := node(t, conn, actors.Config{})
	if err := n.Register("echo", echo); err != nil {
		t.Fatal(err)
	}
	start(t, n)
	_, err := bus.NewDispatcher(conn).Dispatch(testContext(t), "nobody", protocol.Text("x"))
	e := protocol.AsError(err)
	if e == nil || e.Code != protocol.CodeNotFound || e.Message != "operator not found: nobody" {
		t.Fatalf("error = %v", err)
	}
	if e.Details["operators"] != "echo" {
		t.Errorf("operators = %q, want those that exist", e.Details["operators"])
	}
	_, err = bus.NewDispatcher(conn).Dispatch(testContext(t), "No Token", protocol.Text("x"))
	if protocol.CodeOf(err) != protocol.CodeInvalidInput {
		t.Errorf("bad operator id: %v", err)
	}
}

func TestOversize(t *testing.T) {
	t.Parallel()
	_, conn := server(t)
	n := node(t, conn, actors.Config{})
	big := strings.Repeat("x", 2<<20)
	op := protocol.OperatorFunc(func(context.Context, protocol.OperatorInput) (protocol.OperatorOutput, error) {
		return protocol.Reply(big), nil
	})
	if err := n.Register("big", op); err != nil {
		t.Fatal(err)
	}
	start(t, n)
	d := bus.NewDispatcher(conn)
	for name, in := range map[string]string{"input": big, "output": "small"} {
		_, err := d.Dispatch(testContext(t), "big", protocol.Text(in))
		e := protocol.AsError(err)
		if e == nil || e.Code != protocol.CodeQuotaExceeded || !strings.Contains(e.Message, "1048576") {
			t.Errorf("%s: error = %v, want quota_exceeded that names the limit", name, err)
		}
	}
}

func TestDeadlineTravels(t *testing.T) {
	t.Parallel()
	_, conn := server(t)
	n := node(t, conn, actors.Config{})
	ended := make(chan error, 1)
	op := protocol.OperatorFunc(func(ctx context.Context, _ protocol.OperatorInput) (protocol.OperatorOutput, error) {
		<-ctx.Done()
		ended <- context.Cause(ctx)
		return protocol.OperatorOutput{}, ctx.Err()
	})
	if err := n.Register("patient", op); err != nil {
		t.Fatal(err)
	}
	start(t, n)
	ctx, cancel := context.WithTimeout(testContext(t), 50*time.Millisecond)
	defer cancel()
	_, err := bus.NewDispatcher(conn).Dispatch(ctx, "patient", protocol.Text("x"))
	if protocol.CodeOf(err) != protocol.CodeTimeout {
		t.Errorf("caller got %v, want a timeout", err)
	}
	if cause := wait(t, ended); protocol.CodeOf(cause) != protocol.CodeTimeout {
		t.Errorf("operator's context ended by %v", cause)
	}
}

// The statistics of discovery are those of the runs, not of the hand-over.
func TestStatsAreTrue(t *testing.T) {
	t.Parallel()
	_, conn := server(t)
	n := node(t, conn, actors.Config{})
	const latency, requests, parallel = 50 * time.Millisecond, 40, 8
	var took atomic.Int64 // what the machine made of the latency
	op := protocol.OperatorFunc(func(_ context.Context, in protocol.OperatorInput) (protocol.OperatorOutput, error) {
		begin := time.Now()
		time.Sleep(latency) // the latency that has to be found
		took.Add(int64(time.Since(begin)))
		if text, _ := in.Message.AsText(); text == "fail" {
			return protocol.OperatorOutput{}, protocol.NewError(protocol.CodeToolError, "as told")
		}
		return protocol.Reply("done"), nil
	})
	if err := n.Register("timed", op, actors.Description("Takes its time."), actors.Concurrency(4)); err != nil {
		t.Fatal(err)
	}
	start(t, n)
	d := bus.NewDispatcher(conn)
	var wg sync.WaitGroup
	for w := range parallel {
		wg.Go(func() {
			for i := range requests / parallel {
				text := "go"
				if w == 0 && i == 0 {
					text = "fail"
				}
				_, err := d.Dispatch(testContext(t), "timed", protocol.Text(text))
				if (err != nil) != (text == "fail") {
					t.Errorf("%s: %v", text, err)
				}
			}
		})
	}
	wg.Wait()
	m := ask(t, conn, "$SRV.STATS.timed")
	var s micro.Stats
	if err := json.Unmarshal(m.Data, &s); err != nil {
		t.Fatal(err)
	}
	e := s.Endpoints[0]
	if e.NumRequests != requests || e.NumErrors != 1 || !strings.HasPrefix(e.LastError, "tool_error") {
		t.Errorf("requests %d, errors %d (%s); want %d and 1", e.NumRequests, e.NumErrors, e.LastError, requests)
	}
	known := time.Duration(took.Load() / requests)
	if off := math.Abs(float64(e.AverageProcessingTime-known)) / float64(known); off > 0.1 || known < latency {
		t.Errorf("average processing time %v is %.0f%% off %v", e.AverageProcessingTime, 100*off, known)
	}
	if e.Subject != "skg.op.timed" || s.Name != "timed" {
		t.Errorf("service %s at %s", s.Name, e.Subject)
	}
}

// counts are what discovery says beside the fields of micro.
type counts struct {
	Running, Waiting int64
	Refused          uint64
}

func statsOf(t testing.TB, conn *bus.Conn, operator string) counts {
	t.Helper()
	var s micro.Stats
	if err := json.Unmarshal(ask(t, conn, "$SRV.STATS."+operator).Data, &s); err != nil {
		t.Fatal(err)
	}
	var c counts
	if err := json.Unmarshal(s.Endpoints[0].Data, &c); err != nil {
		t.Fatal(err)
	}
	return c
}

// until asks again and again.
func until(t testing.TB, ok func() bool) {
	t.Helper()
	for ctx := testContext(t); !ok(); {
		if ctx.Err() != nil {
			t.Fatal("it does not come true")
		}
	}
}

func ask(t testing.TB, conn *bus.Conn, subject string) *nats.Msg {
	t.Helper()
	m, err := conn.NATS().RequestWithContext(testContext(t), subject, nil)
	return must(t, m, err)
}

func TestDiscovery(t *testing.T) {
	t.Parallel()
	_, conn := server(t)
	n := node(t, conn, actors.Config{})
	schema := json.RawMessage(`{"type":"object"}`)
	for _, id := range []protocol.OperatorID{"b", "a"} {
		if err := n.Register(id, echo, actors.Description("Says "+string(id)), actors.Schemas(schema, nil), actors.Concurrency(7)); err != nil {
			t.Fatal(err)
		}
	}
	start(t, n)
	found, err := conn.Operators(testContext(t), 200*time.Millisecond)
	if err != nil {
		t.Fatal(err)
	}
	if len(found) != 2 || found[0].Name != "a" || found[1].Name != "b" {
		t.Fatalf("found %+v", found)
	}
	a := found[0]
	if a.Description != "Says a" || a.Metadata["durable"] != "false" || a.Metadata["concurrency"] != "7" || a.Metadata["input_schema"] != string(schema) {
		t.Errorf("info = %+v", a.Info)
	}
	var ping micro.Ping
	if err := json.Unmarshal(ask(t, conn, "$SRV.PING.a."+a.ID).Data, &ping); err != nil || ping.Name != "a" || ping.Type != micro.PingResponseType {
		t.Errorf("ping = %+v, %v", ping, err)
	}
}

func TestLiveEvents(t *testing.T) {
	t.Parallel()
	_, conn := server(t)
	n := node(t, conn, actors.Config{})
	op := protocol.OperatorFunc(func(ctx context.Context, in protocol.OperatorInput) (protocol.OperatorOutput, error) {
		if text, _ := in.Message.AsText(); text == "fail" {
			return protocol.OperatorOutput{}, errors.New("private")
		}
		protocol.InvocationFrom(ctx).Events.Emit(protocol.EventProgress, map[string]string{"content": "half"})
		return protocol.Reply("done"), nil
	})
	if err := n.Register("talker", op); err != nil {
		t.Fatal(err)
	}
	start(t, n)
	sub := must1(t)(conn.NATS().SubscribeSync("skg.live.talker.>"))
	ctx := protocol.WithCall(testContext(t), protocol.Call{Run: "run-1", Trace: "00-abc"})
	if _, err := bus.NewDispatcher(conn).Dispatch(ctx, "talker", protocol.Text("x").WithSession("s.1")); err != nil {
		t.Fatal(err)
	}
	for i, kind := range []protocol.EventKind{protocol.EventInvocationStarted, protocol.EventProgress, protocol.EventCompleted} {
		m, err := sub.NextMsgWithContext(ctx)
		if err != nil {
			t.Fatal(err)
		}
		if want := "skg.live.talker.s=2E1." + string(kind); m.Subject != want {
			t.Errorf("subject = %s, want %s", m.Subject, want)
		}
		e, err := protocol.DecodeEvent(m.Data)
		if err != nil {
			t.Fatal(err)
		}
		if e.Kind != kind || e.Run != "run-1" || e.Instance != "s.1" || e.Seq != uint64(i+1) || e.Trace != "00-abc" || m.Header.Get("Skg-Kind") != string(kind) {
			t.Errorf("event = %+v", e)
		}
	}
	_, err := bus.NewDispatcher(conn).Dispatch(ctx, "talker", protocol.Text("fail"))
	if protocol.CodeOf(err) != protocol.CodeInternal || strings.Contains(err.Error(), "private") {
		t.Errorf("uncoded error reached the caller as %v", err)
	}
}
