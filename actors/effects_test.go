package actors_test

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/skelegent/skelegent-go/actors"
	"github.com/skelegent/skelegent-go/actors/effect"
	"github.com/skelegent/skelegent-go/bus"
	"github.com/skelegent/skelegent-go/protocol"
)

// declares is an operator that declares effects.
func declares(effects ...protocol.Effect) protocol.Operator {
	return protocol.OperatorFunc(func(context.Context, protocol.OperatorInput) (protocol.OperatorOutput, error) {
		out := protocol.Reply("declared")
		out.Effects = effects
		return out, nil
	})
}

func custom(typ, data string) protocol.Effect {
	return protocol.CustomEffect{EffectType: typ, Data: json.RawMessage(data)}
}

// recorder is an executor outside of the node: it keeps what it was asked to do.
type recorder struct {
	mu   sync.Mutex
	done []effect.Request
	fail func(r effect.Request) error
}

func (r *recorder) Perform(_ context.Context, q effect.Request) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.done = append(r.done, q)
	if r.fail != nil {
		return r.fail(q)
	}
	return nil
}

func (r *recorder) ids() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	var ids []string
	for _, q := range r.done {
		ids = append(ids, q.ID)
	}
	return ids
}

// ledgerEvents follows what is committed to the ledger.
func ledgerEvents(t testing.TB, conn *bus.Conn) func(kind protocol.EventKind) (protocol.Event, []protocol.EffectOutcome) {
	t.Helper()
	sub := must1(t)(conn.NATS().SubscribeSync("skg.event.>"))
	return func(kind protocol.EventKind) (protocol.Event, []protocol.EffectOutcome) {
		t.Helper()
		for {
			m, err := sub.NextMsgWithContext(testContext(t))
			if err != nil {
				t.Fatalf("no event %s: %v", kind, err)
			}
			e, err := protocol.DecodeEvent(m.Data)
			if err != nil {
				t.Fatal(err)
			}
			if e.Kind != kind {
				continue
			}
			var rec struct {
				Outcomes []protocol.EffectOutcome `json:"outcomes"`
			}
			if err := protocol.Unmarshal(e.Data, &rec); err != nil {
				t.Fatal(err)
			}
			return e, rec.Outcomes
		}
	}
}

func dispatch(t testing.TB, conn *bus.Conn, id protocol.OperatorID, run protocol.RunID) {
	t.Helper()
	ctx := protocol.WithCall(testContext(t), protocol.Call{Run: run})
	if _, err := bus.NewDispatcher(conn).Dispatch(ctx, id, protocol.Text("go")); err != nil {
		t.Fatal(err)
	}
}

func TestEffectsOnceInOrder(t *testing.T) {
	t.Parallel()
	_, conn := server(t)
	rec := &recorder{}
	n := node(t, conn, actors.Config{})
	if err := n.Register("op", declares(custom("mail", `1`), custom("mail", `2`), custom("mail", `3`))); err != nil {
		t.Fatal(err)
	}
	if err := n.RegisterEffect("mail", rec, effect.Options{}); err != nil {
		t.Fatal(err)
	}
	start(t, n)
	next := ledgerEvents(t, conn)
	dispatch(t, conn, "op", "r1")
	e, outcomes := next(protocol.EventEffectDone)
	if e.Operator != "op" || e.Run != "r1" || len(outcomes) != 3 {
		t.Fatalf("event %+v, outcomes %+v", e, outcomes)
	}
	for i, o := range outcomes {
		if o.Status != protocol.OutcomeOK || o.EffectID != fmt.Sprintf("op/r1/mail/1/%d", i+1) {
			t.Errorf("outcome %d = %+v", i, o)
		}
	}
	// The same run again declares the same effects: they are done already.
	dispatch(t, conn, "op", "r1")
	dispatch(t, conn, "op", "r2")
	next(protocol.EventEffectDone)
	want := []string{"op/r1/mail/1/1", "op/r1/mail/1/2", "op/r1/mail/1/3", "op/r2/mail/1/1", "op/r2/mail/1/2", "op/r2/mail/1/3"}
	if got := rec.ids(); !slices.Equal(got, want) {
		t.Errorf("performed %v, want %v", got, want)
	}
	emptyEffects(t, conn)
}

// emptyEffects waits until every effect request is acknowledged.
func emptyEffects(t testing.TB, conn *bus.Conn) {
	t.Helper()
	ctx := testContext(t)
	for {
		stream, err := conn.JetStream().Stream(ctx, "SKG_EFFECTS")
		if err != nil {
			t.Fatal(err)
		}
		if stream.CachedInfo().State.Msgs == 0 {
			return
		}
		select {
		case <-ctx.Done():
			t.Fatalf("%d effect requests are left", stream.CachedInfo().State.Msgs)
		case <-time.After(10 * time.Millisecond):
		}
	}
}

// An executor that dies between acting and recording: another takes over. What is idempotent is done again; what is
// not, is not, and is reported as unknown.
func TestExecutorDiesBetweenActingAndRecording(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name       string
		idempotent bool
		acts       int
		status     protocol.OutcomeStatus
	}{
		{"idempotent", true, 2, protocol.OutcomeOK},
		{"not idempotent", false, 1, protocol.OutcomeUnknown},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			s, conn := server(t)
			opts := effect.Options{Idempotent: tc.idempotent}
			world := &recorder{}
			acted, dead := make(chan struct{}), make(chan struct{})
			// The first node's executor acts, and then its connection is cut before it can record anything.
			lost := must2[*nats.Conn](t)(s.Connect())
			doomed := must2[*bus.Conn](t)(bus.FromNATS(lost, conn.Names(), nil))
			first := must2[*actors.Node](t)(actors.NewNode(doomed, actors.Config{AckWait: 300 * time.Millisecond, WithoutEffects: true}))
			err := first.RegisterEffect("pay", effect.Func(func(ctx context.Context, r effect.Request) error {
				if err := world.Perform(ctx, r); err != nil {
					return err
				}
				close(acted)
				<-dead
				return nil
			}), opts)
			if err != nil {
				t.Fatal(err)
			}
			start(t, first)
			next := ledgerEvents(t, conn)
			n := node(t, conn, actors.Config{WithoutEffects: true, AckWait: 300 * time.Millisecond})
			if err := n.Register("op", declares(custom("pay", `"5.00"`))); err != nil {
				t.Fatal(err)
			}
			// It hosts the operator only: another node has the executor.
			start(t, n)
			dispatch(t, conn, "op", "r1")
			wait(t, acted)
			lost.Close()
			close(dead)
			stopBroken(t, first)

			second := node(t, conn, actors.Config{AckWait: 300 * time.Millisecond, WithoutEffects: true})
			if err := second.RegisterEffect("pay", world, opts); err != nil {
				t.Fatal(err)
			}
			start(t, second)
			_, outcomes := next(protocol.EventEffectDone)
			if len(outcomes) != 1 || outcomes[0].Status != tc.status {
				t.Errorf("outcomes = %+v, want %s", outcomes, tc.status)
			}
			if got := len(world.ids()); got != tc.acts {
				t.Errorf("acted %d times, want %d", got, tc.acts)
			}
			emptyEffects(t, conn)
			if letters := deadLetters(t, conn); (len(letters) == 1) != (tc.status == protocol.OutcomeUnknown) {
				t.Errorf("dead letters = %+v", letters)
			}
		})
	}
}

// stopBroken ends a node whose connection is gone.
func stopBroken(t testing.TB, n *actors.Node) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	_ = n.Stop(ctx) // it cannot flush
}

func must2[T any](t testing.TB) func(T, error) T {
	return func(v T, err error) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
}

func deadLetters(t testing.TB, conn *bus.Conn) []protocol.DeadLetter {
	t.Helper()
	ctx := testContext(t)
	stream, err := conn.JetStream().Stream(ctx, "SKG_DEAD")
	if err != nil {
		t.Fatal(err)
	}
	var letters []protocol.DeadLetter
	if stream.CachedInfo().State.Msgs == 0 {
		return nil
	}
	for seq := stream.CachedInfo().State.FirstSeq; seq <= stream.CachedInfo().State.LastSeq; seq++ {
		m, err := stream.GetMsg(ctx, seq)
		if err != nil {
			t.Fatal(err)
		}
		var l protocol.DeadLetter
		if err := protocol.Unmarshal(m.Data, &l); err != nil {
			t.Fatal(err)
		}
		letters = append(letters, l)
	}
	return letters
}

func TestEffectThatFails(t *testing.T) {
	t.Parallel()
	_, conn := server(t)
	rec := &recorder{fail: func(r effect.Request) error {
		switch string(r.Effect.(protocol.CustomEffect).Data) {
		case `"later"`:
			if r.Attempt < 3 {
				return protocol.NewError(protocol.CodeUnavailable, "not yet")
			}
			return nil
		case `"never"`:
			return protocol.NewError(protocol.CodeInvalidInput, "no such address")
		case `"down"`:
			return protocol.NewError(protocol.CodeUnavailable, "down")
		case `"panics"`:
			panic("secret")
		}
		return nil
	}}
	n := node(t, conn, actors.Config{})
	op := declares(custom("mail", `"later"`), custom("mail", `"never"`), custom("mail", `"down"`), custom("mail", `"panics"`), custom("mail", `"fine"`))
	if err := n.Register("op", op); err != nil {
		t.Fatal(err)
	}
	if err := n.RegisterEffect("mail", rec, effect.Options{Attempts: 4, Backoff: time.Millisecond}); err != nil {
		t.Fatal(err)
	}
	start(t, n)
	next := ledgerEvents(t, conn)
	dispatch(t, conn, "op", "r1")
	_, outcomes := next(protocol.EventEffectDone)
	var got []string
	for _, o := range outcomes {
		got = append(got, fmt.Sprintf("%s after %d %s", o.Status, o.Attempts, protocol.CodeOf(errorOf(o))))
	}
	want := []string{"ok after 3 ", "failed after 1 invalid_input", "failed after 4 unavailable", "unknown after 1 internal", "ok after 1 "}
	if !slices.Equal(got, want) {
		t.Errorf("outcomes = %q, want %q", got, want)
	}
	letters := deadLetters(t, conn)
	if len(letters) != 3 || letters[0].ID != "op/r1/mail/1/2" || letters[0].Reason.Message != "no such address" || letters[0].Effect == nil {
		t.Errorf("dead letters = %+v", letters)
	}
}

func errorOf(o protocol.EffectOutcome) error {
	if o.Error == nil {
		return nil
	}
	return o.Error
}

func TestUnreadableEffectRequest(t *testing.T) {
	t.Parallel()
	_, conn := server(t)
	rec := &recorder{}
	n := node(t, conn, actors.Config{})
	if err := n.RegisterEffect("mail", rec, effect.Options{}); err != nil {
		t.Fatal(err)
	}
	start(t, n)
	lying := protocol.EffectRequest{Operator: "other", Instance: "i", Run: "r", Kind: "mail", M: 1, Effects: []protocol.RequestedEffect{
		{EffectID: "x", Effect: protocol.AnyEffect{Effect: custom("mail", `1`)}},
	}}
	body := must2[[]byte](t)(protocol.Marshal(lying))
	for _, data := range []string{"garbage", `{"operator":"op"}`, string(body)} {
		if _, err := conn.JetStream().Publish(testContext(t), "skg.effect.mail.op.i", []byte(data)); err != nil {
			t.Fatal(err)
		}
	}
	emptyEffects(t, conn)
	letters := deadLetters(t, conn)
	if len(letters) != 3 || len(rec.ids()) != 0 {
		t.Fatalf("%d dead letters, performed %v; want 3 and none", len(letters), rec.ids())
	}
	garbage := slices.ContainsFunc(letters, func(l protocol.DeadLetter) bool { return string(l.Raw) == "garbage" })
	for _, l := range letters {
		if !garbage || l.Operator != "op" || l.Reason.Code != protocol.CodeInvalidInput {
			t.Errorf("dead letter = %+v", l)
		}
	}
}

func TestEffectsNotStoredMeansNoSuccess(t *testing.T) {
	t.Parallel()
	_, conn := server(t)
	n := node(t, conn, actors.Config{})
	if err := n.Register("op", declares(custom("mail", `1`))); err != nil {
		t.Fatal(err)
	}
	if err := n.Register("liar", declares(custom("log", `1`))); err != nil {
		t.Fatal(err)
	}
	start(t, n)
	if _, err := bus.NewDispatcher(conn).Dispatch(testContext(t), "liar", protocol.Text("x")); protocol.CodeOf(err) != protocol.CodeInvalidInput {
		t.Errorf("custom effect with a built-in name: %v", err)
	}
	if err := conn.JetStream().DeleteStream(testContext(t), "SKG_EFFECTS"); err != nil {
		t.Fatal(err)
	}
	_, err := bus.NewDispatcher(conn).Dispatch(testContext(t), "op", protocol.Text("x"))
	if protocol.CodeOf(err) != protocol.CodeUnavailable {
		t.Errorf("effects without a stream: %v", err)
	}
}

func TestBuiltinEffects(t *testing.T) {
	t.Parallel()
	_, conn := server(t)
	n := node(t, conn, actors.Config{})
	heard := make(chan protocol.OperatorInput, 2)
	listener := protocol.OperatorFunc(func(_ context.Context, in protocol.OperatorInput) (protocol.OperatorOutput, error) {
		heard <- in
		return protocol.Reply("heard"), nil
	})
	op := declares(
		protocol.Signal{Target: "flow/i.1", Payload: protocol.SignalPayload{SignalType: "user_feedback", Data: json.RawMessage(`{"rating":5}`)}},
		protocol.Delegate{Operator: "listener", Input: protocol.Text("child task")},
		protocol.Handoff{Operator: "listener", State: json.RawMessage(`{"ticket":123}`)},
		protocol.Log{Level: protocol.LogInfo, Message: "noted"},
		protocol.ToolApprovalRequired{ToolName: "rm", CallID: "c1", Input: json.RawMessage(`{}`)},
	)
	for id, o := range map[protocol.OperatorID]protocol.Operator{"op": op, "listener": listener} {
		if err := n.Register(id, o); err != nil {
			t.Fatal(err)
		}
	}
	start(t, n)
	next := ledgerEvents(t, conn)
	dispatch(t, conn, "op", "r1")
	for range 5 {
		if _, outcomes := next(protocol.EventEffectDone); outcomes[0].Status != protocol.OutcomeOK {
			t.Errorf("outcome = %+v", outcomes[0])
		}
	}
	var texts []string
	for range 2 {
		in := wait(t, heard)
		text, _ := in.Message.AsText()
		texts = append(texts, text+" "+string(in.Metadata))
	}
	slices.Sort(texts)
	if want := []string{`child task `, `{"ticket":123} {"handoff":true}`}; !slices.Equal(texts, want) {
		t.Errorf("dispatched %q, want %q", texts, want)
	}
	stream := must2[jetstream.Stream](t)(conn.JetStream().Stream(testContext(t), "SKG_LOG"))
	m := must2[*jetstream.RawStreamMsg](t)(stream.GetLastMsgForSubject(testContext(t), "skg.signal.flow.i=2E1.user_feedback"))
	if string(m.Data) != `{"rating":5}` || m.Header.Get("Skg-Signal-Id") != "op/r1/signal/1/1" {
		t.Errorf("signal = %s %v", m.Data, m.Header)
	}
	emptyEffects(t, conn)
}
