package actors_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/skelegent/skelegent-go/actors"
	"github.com/skelegent/skelegent-go/actors/effect"
	"github.com/skelegent/skelegent-go/bus"
	"github.com/skelegent/skelegent-go/protocol"
	"github.com/skelegent/skelegent-go/protocol/wire"
)

// These were defects once.

// An error too large for a message is cut, not repeated for ever.
func TestHugeErrorOfAnExecutor(t *testing.T) {
	t.Parallel()
	_, conn := server(t)
	rec := &recorder{fail: func(effect.Request) error {
		return protocol.NewError(protocol.CodeToolError, strings.Repeat("x", 8<<20))
	}}
	n := node(t, conn, actors.Config{})
	if err := n.Register("op", declares(custom("mail", `1`))); err != nil {
		t.Fatal(err)
	}
	if err := n.RegisterEffect("mail", rec, effect.Options{Idempotent: true}); err != nil {
		t.Fatal(err)
	}
	start(t, n)
	next := ledgerEvents(t, conn)
	dispatch(t, conn, "op", "r1")
	if _, outcomes := next(protocol.EventEffectDone); outcomes[0].Status != protocol.OutcomeFailed || len(outcomes[0].Error.Message) > 4096 {
		t.Errorf("outcome %s with %d bytes of error", outcomes[0].Status, len(outcomes[0].Error.Message))
	}
	if letters := deadLetters(t, conn); len(letters) != 1 || len(rec.ids()) != 1 {
		t.Errorf("%d dead letters, performed %d times", len(letters), len(rec.ids()))
	}
}

func TestHugeErrorOfAnOperator(t *testing.T) {
	t.Parallel()
	_, conn := server(t)
	n := node(t, conn, actors.Config{})
	op := protocol.OperatorFunc(func(context.Context, protocol.OperatorInput) (protocol.OperatorOutput, error) {
		return protocol.OperatorOutput{}, protocol.NewError(protocol.CodeToolError, strings.Repeat("x", 8<<20)).With("k", strings.Repeat("y", 8<<20))
	})
	if err := n.Register("op", op); err != nil {
		t.Fatal(err)
	}
	start(t, n)
	_, err := bus.NewDispatcher(conn).Dispatch(testContext(t), "op", protocol.Text("x"))
	if protocol.CodeOf(err) != protocol.CodeToolError || len(err.Error()) > 4096 {
		t.Errorf("code %s, %d bytes", protocol.CodeOf(err), len(err.Error()))
	}
}

// An unreadable message as large as one can be is put away, and does not block what is behind it.
func TestHugeUnreadableEffectRequest(t *testing.T) {
	t.Parallel()
	_, conn := server(t)
	rec := &recorder{}
	n := node(t, conn, actors.Config{})
	if err := n.RegisterEffect("mail", rec, effect.Options{Concurrency: 1}); err != nil {
		t.Fatal(err)
	}
	if err := n.Register("op", declares(custom("mail", `1`))); err != nil {
		t.Fatal(err)
	}
	start(t, n)
	if _, err := conn.JetStream().Publish(testContext(t), "skg.effect.mail.op.i", []byte(strings.Repeat("x", 1<<20-1000))); err != nil {
		t.Fatal(err)
	}
	dispatch(t, conn, "op", "r1")
	emptyEffects(t, conn)
	letters := deadLetters(t, conn)
	if len(letters) != 1 || letters[0].Reason.Details["omitted_sha256"] == "" || len(rec.ids()) != 1 {
		t.Errorf("dead letters %+v, performed %v", letters, rec.ids())
	}
}

// Many effects of one run travel in several messages, and keep their order.
func TestManyEffects(t *testing.T) {
	t.Parallel()
	_, conn := server(t)
	rec := &recorder{}
	n := node(t, conn, actors.Config{})
	var effects []protocol.Effect
	for i := range 200 {
		effects = append(effects, custom("mail", fmt.Sprint(i)))
	}
	if err := n.Register("op", declares(effects...)); err != nil {
		t.Fatal(err)
	}
	if err := n.RegisterEffect("mail", rec, effect.Options{}); err != nil {
		t.Fatal(err)
	}
	start(t, n)
	dispatch(t, conn, "op", "r1")
	emptyEffects(t, conn)
	rec.mu.Lock()
	defer rec.mu.Unlock()
	if len(rec.done) != 200 {
		t.Fatalf("%d performed", len(rec.done))
	}
	for i, r := range rec.done {
		if got := string(r.Effect.(protocol.CustomEffect).Data); got != fmt.Sprint(i) {
			t.Fatalf("effect %d is %s", i, got)
		}
	}
}

// A run id that no JSON can say is refused before anything runs.
func TestRunIDThatIsNotUTF8(t *testing.T) {
	t.Parallel()
	_, conn := server(t)
	n := node(t, conn, actors.Config{})
	if err := n.Register("op", declares(custom("mail", `1`))); err != nil {
		t.Fatal(err)
	}
	start(t, n)
	m, err := conn.NATS().RequestMsgWithContext(testContext(t), &nats.Msg{
		Subject: "skg.op.op", Data: []byte("x"), Header: nats.Header{"Skg-Run-Id": {"r\xff1"}},
	})
	if err != nil || m.Header.Get("Nats-Service-Error-Code") != "invalid_input" {
		t.Errorf("reply %v %s, %v", m.Header, m.Data, err)
	}
}

// What a delegate's operator says, it says after it ran: it is not run again. What never began is.
func TestDelegateRunsOnce(t *testing.T) {
	t.Parallel()
	_, conn := server(t)
	n := node(t, conn, actors.Config{})
	var runs atomic.Int32
	for id, err := range map[protocol.OperatorID]error{
		"missing": protocol.NewError(protocol.CodeNotFound, "no such customer"),
		"busy":    protocol.NewError(protocol.CodeUnavailable, "the shop is closed"),
		"nested":  (&protocol.Error{Code: protocol.CodeUnavailable, Message: "its own child", Retryable: true, Kind: protocol.KindOrchNotStarted}),
	} {
		op := protocol.OperatorFunc(func(context.Context, protocol.OperatorInput) (protocol.OperatorOutput, error) {
			runs.Add(1)
			return protocol.OperatorOutput{}, err
		})
		if err := n.Register(id, op); err != nil {
			t.Fatal(err)
		}
	}
	op := declares(
		protocol.Delegate{Operator: "missing", Input: protocol.Text("x")}, protocol.Delegate{Operator: "busy", Input: protocol.Text("x")},
		protocol.Delegate{Operator: "nested", Input: protocol.Text("x")},
	)
	if err := n.Register("op", op); err != nil {
		t.Fatal(err)
	}
	start(t, n)
	next := ledgerEvents(t, conn)
	dispatch(t, conn, "op", "r1")
	_, outcomes := next(protocol.EventEffectDone)
	for _, o := range outcomes { // the task is accepted; what becomes of the run is a matter of its own
		if o.Status != protocol.OutcomeOK || o.Attempts != 1 {
			t.Errorf("outcome = %+v", o)
		}
	}
	reasons := map[string]bool{}
	for _, l := range buried(t, conn, 3) {
		reasons[l.Letter.Reason.Message] = true
	}
	if !reasons["no such customer"] || !reasons["the shop is closed"] || !reasons["its own child"] {
		t.Errorf("dead letters say %v", reasons)
	}
	if runs.Load() != 3 {
		t.Errorf("%d runs, want one each", runs.Load())
	}
}

// A guest cannot keep a signal from being stored by guessing an id.
func TestSignalIsNotSuppressed(t *testing.T) {
	t.Parallel()
	_, conn := server(t)
	n := node(t, conn, actors.Config{})
	signal := protocol.Signal{Target: "flow/i", Payload: protocol.SignalPayload{SignalType: "go", Data: json.RawMessage(`1`)}}
	if err := n.Register("op", declares(signal)); err != nil {
		t.Fatal(err)
	}
	start(t, n)
	if _, err := conn.JetStream().Publish(testContext(t), "skg.signal.a.b.c", nil, jetstream.WithMsgID("op/r1/signal/1/1")); err != nil {
		t.Fatal(err)
	}
	dispatch(t, conn, "op", "r1")
	emptyEffects(t, conn)
	stream := must2[jetstream.Stream](t)(conn.JetStream().Stream(testContext(t), "SKG_LOG"))
	if _, err := stream.GetLastMsgForSubject(testContext(t), "skg.signal.flow.i.go"); err != nil {
		t.Errorf("signal: %v", err)
	}
	found, err := bus.NewDispatcher(conn).SignalStored(testContext(t), "flow/i", "go", "op/r1/signal/1/1", 0)
	if !found || err != nil {
		t.Errorf("stored: %v, %v", found, err)
	}
}

// An executor that was cut off in the middle of a write and comes back does not revert what was written since.
func TestLateMemoryWriteIsSkipped(t *testing.T) {
	t.Parallel()
	_, conn := server(t)
	state := store(t, conn)
	perform := func(seq uint64, value string) {
		t.Helper()
		err := effect.Memory(state).Perform(testContext(t), effect.Request{
			ID: fmt.Sprint(seq), Effect: write("k", value), Order: effect.Order{Stream: 1, Seq: seq, Position: 1},
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	perform(1, `"first"`)
	perform(2, `"second"`)
	perform(1, `"first"`)
	if got := must2[json.RawMessage](t)(state.Read(testContext(t), protocol.GlobalScope(), "k")); string(got) != `"second"` {
		t.Errorf("k = %s", got)
	}
	remove := effect.Request{ID: "3", Effect: protocol.DeleteMemory{Scope: protocol.GlobalScope(), Key: "k"}, Order: effect.Order{Stream: 1, Seq: 3, Position: 1}}
	if err := effect.Memory(state).Perform(testContext(t), remove); err != nil {
		t.Fatal(err)
	}
	perform(2, `"second"`)
	if got := must2[json.RawMessage](t)(state.Read(testContext(t), protocol.GlobalScope(), "k")); got != nil {
		t.Errorf("k = %s after its deletion", got)
	}
	perform(4, `"fourth"`)
	if err := state.Write(testContext(t), protocol.GlobalScope(), "k", json.RawMessage(`"by hand"`), protocol.StoreOptions{}); err != nil {
		t.Fatal(err)
	}
	perform(4, `"fourth"`) // once more, as after a crash: what a person wrote since stays
	entry, found, err := state.Entry(testContext(t), protocol.GlobalScope(), "k")
	if err != nil || !found || string(entry.Value) != `"by hand"` {
		t.Errorf("entry = %+v, %v, %v", entry, found, err)
	}
}

// The log refuses the outcome of an effect for a moment: it is not forgotten.
func TestOutcomeIsKeptUntilItIsRecorded(t *testing.T) {
	t.Parallel()
	_, conn := server(t)
	n := node(t, conn, actors.Config{})
	stuck := make(chan struct{})
	exec := effect.Func(func(ctx context.Context, _ effect.Request) error {
		return limit(ctx, conn, 1) // from now on the log is full
	})
	if err := n.Register("op", declares(custom("mail", `1`))); err != nil {
		t.Fatal(err)
	}
	if err := n.RegisterEffect("mail", exec, effect.Options{}); err != nil {
		t.Fatal(err)
	}
	start(t, n)
	next := ledgerEvents(t, conn)
	dispatch(t, conn, "op", "r1")
	go func() {
		defer close(stuck)
		for { // until the effect has been performed
			stream, err := conn.JetStream().Stream(testContext(t), "SKG_LOG")
			if err != nil || stream.CachedInfo().Config.MaxMsgs == 1 {
				break
			}
		}
		if err := limit(testContext(t), conn, -1); err != nil {
			t.Errorf("limit: %v", err)
		}
	}()
	if _, outcomes := next(protocol.EventEffectDone); outcomes[0].Status != protocol.OutcomeOK {
		t.Errorf("outcome = %+v", outcomes[0])
	}
	wait(t, stuck)
}

func limit(ctx context.Context, conn *bus.Conn, messages int64) error {
	stream, err := conn.JetStream().Stream(ctx, "SKG_LOG")
	if err != nil {
		return err
	}
	cfg := stream.CachedInfo().Config
	cfg.MaxMsgs = messages
	_, err = conn.JetStream().UpdateStream(ctx, cfg)
	return err
}

// A node on a connection that is gone stops with an error at most.
func TestStopWithoutConnection(t *testing.T) {
	t.Parallel()
	s, _ := server(t)
	nc := must2[*nats.Conn](t)(s.Connect())
	conn := must2[*bus.Conn](t)(bus.FromNATS(nc, wire.Names{}, nil))
	n := must2[*actors.Node](t)(actors.NewNode(conn, actors.Config{}))
	if err := n.Register("echo", echo); err != nil {
		t.Fatal(err)
	}
	start(t, n)
	nc.Close()
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	if err := n.Stop(ctx); err != nil {
		t.Logf("stop: %v", err)
	}
}

// Runs that outlive a Stop are waited for by the next one.
func TestStopAgainAfterATimeout(t *testing.T) {
	t.Parallel()
	_, conn := server(t)
	n := must2[*actors.Node](t)(actors.NewNode(conn, actors.Config{}))
	began, release := make(chan struct{}), make(chan struct{})
	stubborn := protocol.OperatorFunc(func(context.Context, protocol.OperatorInput) (protocol.OperatorOutput, error) {
		close(began)
		<-release // heeds no context
		return protocol.Reply("late"), nil
	})
	if err := n.Register("stubborn", stubborn); err != nil {
		t.Fatal(err)
	}
	start(t, n)
	running := dispatchAsync(t, bus.NewDispatcher(conn), "stubborn", protocol.Text("x"))
	wait(t, began)
	short, cancel := context.WithTimeout(context.Background(), 300*time.Millisecond)
	defer cancel()
	if err := n.Stop(short); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("first stop: %v", err)
	}
	close(release)
	if err := n.Stop(testContext(t)); err != nil {
		t.Errorf("second stop: %v", err)
	}
	wait(t, running)
}

// A node that leaves while an effect waits for its next attempt gives it back: it does not fail there, and it is done once.
func TestLeavingGivesBackWhatCanWait(t *testing.T) {
	t.Parallel()
	_, conn := server(t)
	tried := make(chan struct{}, 100)
	first := node(t, conn, actors.Config{WithoutEffects: true})
	if err := first.Register("op", declares(custom("mail", `1`), custom("mail", `2`))); err != nil {
		t.Fatal(err)
	}
	refuses := effect.Func(func(_ context.Context, r effect.Request) error {
		if string(r.Effect.(protocol.CustomEffect).Data) == "1" {
			return nil
		}
		tried <- struct{}{}
		return protocol.NewError(protocol.CodeUnavailable, "not now")
	})
	if err := first.RegisterEffect("mail", refuses, effect.Options{Backoff: time.Hour}); err != nil {
		t.Fatal(err)
	}
	start(t, first)
	next := ledgerEvents(t, conn)
	dispatch(t, conn, "op", "r1")
	wait(t, tried)
	if err := first.Stop(testContext(t)); err != nil {
		t.Fatal(err)
	}
	if e, outcomes := next(protocol.EventEffectReleased); len(outcomes) != 1 || outcomes[0].Status != protocol.OutcomeOK {
		t.Errorf("released with %+v: %s", outcomes, e.Data)
	}
	rec := &recorder{}
	second := node(t, conn, actors.Config{WithoutEffects: true})
	if err := second.RegisterEffect("mail", rec, effect.Options{}); err != nil {
		t.Fatal(err)
	}
	start(t, second)
	_, outcomes := next(protocol.EventEffectDone)
	if len(outcomes) != 2 || outcomes[1].Status != protocol.OutcomeOK || len(rec.ids()) != 1 || rec.ids()[0] != "op/r1/mail/1/2" {
		t.Errorf("outcomes %+v, performed %v", outcomes, rec.ids())
	}
	if letters := deadLetters(t, conn); len(letters) != 0 {
		t.Errorf("dead letters %+v", letters)
	}
}

// A Stop whose context has ended already still ends everything, some time after.
func TestStopWithEndedContext(t *testing.T) {
	t.Parallel()
	_, conn := server(t)
	for range 10 {
		n := must2[*actors.Node](t)(actors.NewNode(conn, actors.Config{}))
		if err := n.Register("echo", echo); err != nil {
			t.Fatal(err)
		}
		starting := make(chan error, 1)
		go func() { starting <- n.Start(testContext(t)) }()
		ended, cancel := context.WithCancel(context.Background())
		cancel()
		_ = n.Stop(ended) // its error is that of the context
		<-starting
		if err := n.Stop(testContext(t)); err != nil {
			t.Errorf("second stop: %v", err)
		}
		found, err := conn.Operators(testContext(t), 20*time.Millisecond)
		if err != nil || len(found) != 0 {
			t.Errorf("still there: %+v, %v", found, err)
		}
	}
}

// A node that is stopped by force writes down what it knows: an effect that was performed at the last moment is not
// unknown, and not performed again.
func TestForcedStopKeepsWhatIsKnown(t *testing.T) {
	t.Parallel()
	_, conn := server(t)
	began := make(chan struct{}, 1)
	first := node(t, conn, actors.Config{WithoutEffects: true})
	if err := first.Register("op", declares(custom("mail", `1`), custom("mail", `2`))); err != nil {
		t.Fatal(err)
	}
	late := effect.Func(func(ctx context.Context, _ effect.Request) error {
		began <- struct{}{}
		<-ctx.Done()
		return nil // it got through all the same
	})
	if err := first.RegisterEffect("mail", late, effect.Options{}); err != nil {
		t.Fatal(err)
	}
	start(t, first)
	next := ledgerEvents(t, conn)
	dispatch(t, conn, "op", "r1")
	wait(t, began)
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Second)
	defer cancel()
	if err := first.Stop(ctx); err != nil {
		t.Fatal(err)
	}
	rec := &recorder{}
	second := node(t, conn, actors.Config{WithoutEffects: true})
	if err := second.RegisterEffect("mail", rec, effect.Options{}); err != nil {
		t.Fatal(err)
	}
	start(t, second)
	_, outcomes := next(protocol.EventEffectDone)
	if len(outcomes) != 2 || outcomes[0].Status != protocol.OutcomeOK || outcomes[1].Status != protocol.OutcomeOK {
		t.Errorf("outcomes = %+v", outcomes)
	}
	if ids := rec.ids(); len(ids) != 1 || ids[0] != "op/r1/mail/1/2" {
		t.Errorf("performed by the second: %v", ids)
	}
}

// What a run left of its budget is all that a run which it delegates to may spend.
func TestBudgetTravelsWithADelegate(t *testing.T) {
	t.Parallel()
	_, conn := server(t)
	n := node(t, conn, actors.Config{})
	heard := make(chan *protocol.Decimal, 1)
	child := protocol.OperatorFunc(func(ctx context.Context, _ protocol.OperatorInput) (protocol.OperatorOutput, error) {
		heard <- protocol.InvocationFrom(ctx).Budget
		return protocol.Reply("heard"), nil
	})
	parent := protocol.OperatorFunc(func(context.Context, protocol.OperatorInput) (protocol.OperatorOutput, error) {
		out := protocol.Reply("delegated")
		out.Metadata.Cost = protocol.MustDecimal("0.20")
		out.Effects = protocol.Effects{protocol.Delegate{Operator: "child", Input: protocol.Text("x")}}
		return out, nil
	})
	for id, op := range map[protocol.OperatorID]protocol.Operator{"child": child, "parent": parent} {
		if err := n.Register(id, op); err != nil {
			t.Fatal(err)
		}
	}
	start(t, n)
	for budget, want := range map[string]string{"0.50": "0.30", "0.10": "0"} {
		b := protocol.MustDecimal(budget)
		ctx := protocol.WithCall(testContext(t), protocol.Call{Budget: &b})
		if _, err := bus.NewDispatcher(conn).Dispatch(ctx, "parent", protocol.Text("go")); err != nil {
			t.Fatal(err)
		}
		if got := wait(t, heard); got == nil || got.Text() != want {
			t.Errorf("of %s the child may spend %v, want %s", budget, got, want)
		}
	}
}
