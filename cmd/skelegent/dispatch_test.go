package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/skelegent/skelegent-go/protocol"
)

func TestDispatch(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for name, tc := range map[string]struct {
		c    call
		args []string
		code int
		out  string
		err  string
	}{
		"text":          {call{inTTY: true}, []string{"echo", "hello"}, exitDone, "hello\n", ""},
		"words":         {call{inTTY: true}, []string{"echo", "hello", "there"}, exitDone, "hello there\n", ""},
		"input":         {call{in: "from afar\n"}, []string{"echo"}, exitDone, "from afar\n\n", ""},
		"dash":          {call{in: "from afar", inTTY: true}, []string{"echo", "-"}, exitDone, "from afar\n", ""},
		"JSON":          {call{inTTY: true}, []string{"echo", `{"message": "in JSON"}`}, exitDone, "in JSON\n", ""},
		"blocks":        {call{inTTY: true}, []string{"echo", `{"message": [{"type":"text","text":"a"},{"type":"data","data":1}]}`}, exitDone, "a\n{\"type\":\"data\"", ""},
		"flags":         {call{inTTY: true}, []string{"echo", "x", "--session", "s1", "--run-id", "r1", "--model", "m", "--max-cost", "0.5", "--timeout", "5s"}, exitDone, "x\n", ""},
		"exit reason":   {call{inTTY: true}, []string{"echo", "x", "--max-turns", "1"}, exitDone, "x\n", "the run did not complete: max_turns"},
		"footer":        {call{inTTY: true, errTTY: true}, []string{"echo", "x", "--run-id", "r2"}, exitDone, "x\n", "complete, 0 tokens in, 0 out, 0 USD"},
		"effects":       {call{inTTY: true, errTTY: true}, []string{"keeper", "x"}, exitDone, "declared\n", "1 effects declared"},
		"no terminal":   {call{inTTY: true}, []string{"talk", "x"}, exitDone, "one two three\n", ""},
		"tokens":        {call{inTTY: true, outTTY: true}, []string{"talk", "x"}, exitDone, "one two three\n", ""},
		"tokens, chat":  {call{inTTY: true, outTTY: true}, []string{"talk", "x", "--session", "a b"}, exitDone, "one two three\n", ""},
		"escapes":       {call{inTTY: true, outTTY: true}, []string{"echo", "a\x1b[2Jb"}, exitDone, "a[2Jb\n", ""},
		"no operator":   {call{inTTY: true}, []string{"nobody", "x"}, exitFailed, "", "not_found: operator not found: nobody; there are: broken, busy, echo"},
		"unavailable":   {call{inTTY: true}, []string{"busy", "x"}, exitFailed, "", "unavailable: too much to do; try again in 3s"},
		"coded":         {call{inTTY: true}, []string{"broken", "x"}, exitFailed, "", "tool_error: line one line two\n"},
		"coded, tokens": {call{inTTY: true, outTTY: true}, []string{"broken", "x"}, exitFailed, "", "tool_error: line one line two\n"},
		"timeout":       {call{inTTY: true}, []string{"slow", "x", "--timeout", "300ms"}, exitFailed, "", "timeout: "},
		"oversize":      {call{in: strings.Repeat("x", 2<<20)}, []string{"echo"}, exitFailed, "", "quota_exceeded: input is 2097"},
		"verbose":       {call{inTTY: true}, []string{"echo", "x", "--verbose"}, exitDone, "x\n", "connected"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := w.call(t, tc.c, append([]string{"dispatch"}, tc.args...)...)
			r.want(t, tc.code, tc.out, tc.err)
			if strings.Count(r.out, "three") > 1 {
				t.Errorf("printed twice: %q", r.out)
			}
			if !tc.c.errTTY && tc.err == "" && r.err != "" {
				t.Errorf("said %q without a terminal", r.err)
			}
		})
	}
}

func TestDispatchJSON(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	out := decode[protocol.OperatorOutput](t, w.run(t, "dispatch", "keeper", "x", "--json"))
	if text, _ := out.Message.AsText(); text != "declared" || len(out.Effects) != 1 {
		t.Errorf("got %+v", out)
	}
}

func TestDispatchInterrupted(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	sub, err := w.conn.NATS().SubscribeSync("skg.live.slow.>")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(testContext(t))
	done := make(chan result)
	go func() { done <- w.call(t, call{ctx: ctx, inTTY: true}, "dispatch", "slow", "x") }()
	if _, err := sub.NextMsgWithContext(testContext(t)); err != nil { // it has begun
		t.Fatal(err)
	}
	cancel()
	r := <-done
	r.want(t, exitFailed, "", "cancelled: dispatch to slow: cancelled")
}

type brokenReader struct{}

func (brokenReader) Read([]byte) (int, error) { return 0, errors.New("unplugged") }

func TestInputThatCannotBeRead(t *testing.T) {
	t.Parallel()
	a := newApp(&buffer{}, &buffer{}, brokenReader{}, func(string) string { return "" })
	if _, err := a.text(nil, "text"); err == nil || !strings.Contains(err.Error(), "unplugged") {
		t.Errorf("got %v", err)
	}
}

// What is told of a run on a terminal: never anything twice, and the whole answer in the end.
func TestTelling(t *testing.T) {
	t.Parallel()
	started, completed := protocol.EventInferenceStarted, protocol.EventInferenceCompleted
	type event struct {
		kind    protocol.EventKind
		content string
		skip    uint64 // events lost before this one
		run     protocol.RunID
	}
	said := func(s string) event { return event{kind: protocol.EventProgress, content: s} }
	for name, tc := range map[string]struct {
		events []event
		text   string
		want   string
	}{
		"nothing":       {nil, "answer", "answer\n"},
		"empty":         {nil, "", "\n"},
		"all":           {[]event{{kind: started}, said("ans"), said("wer")}, "answer", "answer\n"},
		"the rest":      {[]event{{kind: started}, said("ans")}, "answer", "answer\n"},
		"another":       {[]event{{kind: started}, said("draft")}, "answer", "draft\nanswer\n"},
		"spaces":        {[]event{{kind: started}, said(" answer \n")}, "answer", " answer \n"},
		"two turns":     {[]event{{kind: started}, said("let me see"), {kind: completed}, {kind: started}, said("answer")}, "answer", "let me see\nanswer\n"},
		"asked again":   {[]event{{kind: started}, said("ans"), {kind: started}, said("answer")}, "answer", "ans\n(the model is asked again)\nanswer\n"},
		"lost":          {[]event{{kind: started}, said("ans"), {kind: protocol.EventProgress, content: "r", skip: 2}}, "answer", "answer\n"},
		"lost the head": {[]event{{kind: protocol.EventProgress, content: "wer", skip: 3}}, "answer", "answer\n"},
		"another run":   {[]event{{kind: started}, {kind: protocol.EventProgress, content: "x", run: "r2"}, said("answer")}, "answer", "answer\n"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var got strings.Builder
			tell := telling{run: "r1", print: func(s string) { got.WriteString(s) }}
			seq := uint64(0)
			for _, e := range tc.events {
				if e.run == "" {
					seq += 1 + e.skip
					e.run = "r1"
				}
				tell.live(protocol.Event{Kind: e.kind, Run: e.run, Seq: seq, Data: fmt.Appendf(nil, `{"content":%q}`, e.content)})
			}
			tell.finish(tc.text)
			tell.stop()
			if got.String() != tc.want {
				t.Errorf("got %q, want %q", got.String(), tc.want)
			}
		})
	}
	t.Run("over before it begins", func(t *testing.T) {
		t.Parallel()
		var got strings.Builder
		tell := telling{run: "r1", print: func(s string) { got.WriteString(s) }}
		for n, text := range []string{"let me see", "answer"} {
			tell.committed(completed) // it may be heard of first
			tell.live(protocol.Event{Kind: started, Run: "r1", Seq: uint64(2*n + 1)})
			tell.live(protocol.Event{Kind: protocol.EventProgress, Run: "r1", Seq: uint64(2*n + 2), Data: fmt.Appendf(nil, `{"content":%q}`, text)})
		}
		if tell.finish("answer"); got.String() != "let me see\nanswer\n" {
			t.Errorf("got %q", got.String())
		}
	})
	t.Run("failed", func(t *testing.T) {
		t.Parallel()
		var got strings.Builder
		tell := telling{run: "r1", print: func(s string) { got.WriteString(s) }}
		tell.live(protocol.Event{Kind: protocol.EventProgress, Run: "r1", Seq: 1, Data: []byte(`{"content":"half"}`)})
		if tell.stop(); got.String() != "half\n" {
			t.Errorf("got %q", got.String())
		}
	})
}
