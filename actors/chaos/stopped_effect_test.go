//go:build unix

package chaos_test

import (
	"fmt"
	"math/rand/v2"
	"syscall"
	"testing"

	"github.com/skelegent/skelegent-go/protocol"
)

// The same of effects: a node that was stopped wakes up with requests that another performs now. It leaves them to that one:
// nobody is told that their outcome is unknown.
func TestStoppedExecutorWakesUp(t *testing.T) {
	t.Parallel()
	const effects = 8 // as many as are performed at a time
	by := max(*seed, 1)
	w := newWorld(t.Context(), t, plan{serverCount: 1, nodeCount: 2}, keptDir(t, by), rand.New(rand.NewPCG(by, by)))
	ctx := t.Context()
	for waiting := 0; waiting < 2; { // until both ask for requests
		if c, err := w.conn.JetStream().Consumer(ctx, "SKG_EFFECTS", "exec_"+mailEffect); err == nil {
			waiting = c.CachedInfo().NumWaiting
		}
		if err := pause(ctx, stallTick); err != nil {
			t.Fatal(err)
		}
	}
	if !w.nodes[0].signal(faultStop, syscall.SIGSTOP) {
		t.Fatal("no node to stop")
	}
	for i := range effects {
		data := fmt.Appendf(nil, `{"session":"s-%d","hold":true}`, i)
		requests, err := protocol.EffectRequests(protocol.EffectRequest{Operator: chat, Instance: fmt.Sprintf("s-%d", i), Run: "r"},
			protocol.Effects{protocol.CustomEffect{EffectType: mailEffect, Data: data}}, func(string) uint64 { return 1 })
		if err != nil {
			t.Fatal(err)
		}
		if err := w.conn.PublishEffects(ctx, requests); err != nil {
			t.Fatal(err)
		}
	}
	if err := pause(ctx, taskWait+taskWait/2); err != nil { // what it was given has come to the other node, which performs it
		t.Fatal(err)
	}
	w.nodes[0].resume()
	if err := w.idle(ctx); err != nil {
		t.Fatal(err)
	}
	records, err := readLog(ctx, w.conn, w.dir)
	if err != nil {
		t.Fatal(err)
	}
	h, err := newHistory(records)
	if err != nil {
		t.Fatal(err)
	}
	lines, err := readOutside(w.dir)
	if err != nil {
		t.Fatal(err)
	}
	sent := map[string]int{}
	for _, l := range lines {
		if l.What == lineMail {
			sent[l.ID]++
		}
	}
	for id, outcomes := range h.outcomes {
		if len(outcomes) != 1 || outcomes[0].Status != protocol.OutcomeOK || sent[id] != 1 {
			t.Errorf("effect %s was performed %d times, outcomes %v", id, sent[id], outcomes)
		}
	}
	if len(h.outcomes) != effects {
		t.Errorf("%d outcomes, want %d", len(h.outcomes), effects)
	}
	letters, err := w.conn.DeadLetters(ctx, "", effects)
	if err != nil {
		t.Fatal(err)
	}
	for _, d := range letters {
		t.Errorf("dead letter %s: %v", d.Letter.ID, d.Letter.Reason)
	}
}
