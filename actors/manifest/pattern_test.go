package manifest_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/skelegent/skelegent-go/bus"
	"github.com/skelegent/skelegent-go/protocol"
)

// members are programs that say what they heard and their own name; h hands the work to b, and is done with what is not new.
const members = `
operators:
  a: {kind: exec, command: [./add.sh, a]}
  b: {kind: exec, command: [./add.sh, b], durable: true}
  h: {kind: exec, command: [./hand.sh, b]}
  s: {kind: exec, command: [./hand.sh, far]}
  t: {kind: exec, command: [./hand.sh, h]}
`

var memberFiles = map[string]string{
	"add.sh": "#!/bin/sh\necho \"$(grep -o '\"message\":\"[^\"]*\"' | cut -d'\"' -f4)$1\"\n",
	"hand.sh": `#!/bin/sh
cat > /dev/null
echo '{"message":"over","exit_reason":"handed_off","effects":[{"type":"handoff","operator":"'"$1"'","state":7}],
"metadata":{"tokens_in":0,"tokens_out":0,"cost":"0","turns_used":0,"sub_dispatches":[],"duration":0}}'
`,
}

// Every pattern works over the bus, durable or not, with members of both kinds, which are found by name and by id.
func TestPatterns(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct{ name, keys, text, exit string }{
		{"sequential", "kind: sequential, operators: [a, {operator: b}, a]", "xaba", "complete"},
		{"parallel", "kind: parallel, operators: [a, b]", "xa\nxb", "complete"},
		{"loop", "kind: loop, operator: a, until_contains: aaa", "xaaa", "complete"},
		{"loop to the end", "kind: loop, operator: b, until_contains: aaa, max_iterations: 2", "xbb", "max_turns"},
		{"supervisor", "kind: supervisor, operators: [a, b], selector: round_robin", "xa", "complete"},
		{"supervisor until", "kind: supervisor, operators: [a, b], selector: round_robin, until_contains: abab", "xabab", "complete"},
		{"supervisor for long", "kind: supervisor, operators: [a, b], selector: round_robin, until_contains: z, max_rounds: 3", "xaba", "max_turns"},
		{"supervisor by chance", "kind: supervisor, operators: [a], selector: random", "xa", "complete"},
		{"supervisor that hands off", "kind: supervisor, operators: [h, b], selector: handoff", "7b", "complete"},
		{"supervisor that hands off to others", "kind: supervisor, operators: [s, b], selector: handoff", "over", "handed_off"},
		{"swarm", "kind: swarm, start: h, transitions: {h: [a, b]}", "7b", "complete"},
		{"swarm of strangers", "kind: swarm, start: {operator: h}, transitions: {h: [{operator: b}], b: [h]}, max_handoffs: 3", "7b", "complete"},
		{"swarm of two handoffs", "kind: swarm, start: t, transitions: {t: [h], h: [b]}, max_handoffs: 2", "7b", "complete"},
		{"swarm that hands off too often", "kind: swarm, start: t, transitions: {t: [h], h: [b]}, max_handoffs: 1", "over", "max_turns"},
		{"swarm that is refused", "kind: swarm, start: h, transitions: {h: [a]}", "over", "interceptor_halt: h may not hand off to b; it may to [a]"},
	} {
		for _, durable := range []string{"", ", durable: false"} {
			t.Run(tc.name+durable, func(t *testing.T) {
				t.Parallel()
				conn := bed(t, members+"  far: {kind: exec, command: [./add.sh, far]}\n  p: {"+tc.keys+durable+"}\n", bedConfig{files: memberFiles})
				out := dispatch(t, conn, "p", protocol.Text("x"))
				text, exit := tc.text, tc.exit
				if exit == "handed_off" && durable == "" { // who it was handed to answers
					text, exit = "7far", "complete"
				}
				if got := textOf(t, out); got != text || out.ExitReason.String() != exit {
					t.Errorf("%q, %v; want %q, %s", got, out.ExitReason, text, exit)
				}
			})
		}
	}
}

// By chance is not in turn.
func TestRandomSelector(t *testing.T) {
	t.Parallel()
	conn := bed(t, members+"  p: {kind: supervisor, operators: [a, b], selector: random, until_contains: z, max_rounds: 30}\n", bedConfig{files: memberFiles})
	text := textOf(t, dispatch(t, conn, "p", protocol.Text("x")))
	if len(text) != 31 || strings.Trim(text, "xab") != "" {
		t.Errorf("text = %q", text)
	}
	if !strings.Contains(text, "aa") && !strings.Contains(text, "bb") { // one time in 500 million it is
		t.Errorf("%q is in turn", text)
	}
}

// Patterns are durable unless the manifest says otherwise, and are seen with their kind.
func TestPatternsAreDurable(t *testing.T) {
	t.Parallel()
	conn := bed(t, members+"  p: {kind: parallel, operators: [a, b], description: Both.}\n  q: {kind: parallel, operators: [a, b], durable: false}\n", bedConfig{files: memberFiles})
	found, err := conn.Operators(testContext(t), 200*time.Millisecond)
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]string{}
	for _, s := range found {
		got[s.Name] = s.Metadata["kind"] + " " + s.Metadata["durable"] + " " + s.Description
	}
	for name, want := range map[string]string{"a": "exec false ", "b": "exec true ", "p": "parallel true Both.", "q": "parallel false "} {
		if got[name] != want {
			t.Errorf("%s is %q, want %q", name, got[name], want)
		}
	}
}

// A member that nobody hosts is an error that names it.
func TestPatternWithoutMember(t *testing.T) {
	t.Parallel()
	conn := bed(t, "operators:\n  p: {kind: sequential, operators: [{operator: nobody}]}\n", bedConfig{})
	_, err := bus.NewDispatcher(conn).Dispatch(testContext(t), "p", protocol.Text("x"))
	if protocol.CodeOf(err) != protocol.CodeNotFound || !strings.Contains(err.Error(), "nobody") {
		t.Errorf("error = %v", err)
	}
}

// A durable pattern waits without holding anything for a child that takes long: an agent, whose run is named after its own.
func TestPatternWaitsForItsChild(t *testing.T) {
	t.Parallel()
	free := make(chan struct{})
	l := newLLM(t, func(_ *llm, c chat) reply {
		<-free
		return say("A heron. ")
	})
	conn := bed(t, strings.Replace(members, "operators:", provider, 1)+`
  writer: {provider: main, model: m, system: writer}
  p: {kind: sequential, operators: [a, writer, b]}
`, bedConfig{model: l, files: memberFiles})
	next := events(t, conn, "skg.event.>")
	done := make(chan protocol.OperatorOutput, 1)
	go func() {
		out, err := bus.NewDispatcher(conn).Dispatch(testContext(t), "p", protocol.Text("x"))
		if err != nil {
			t.Error(err)
		}
		done <- out
	}()
	var parent, child protocol.RunID
	for parent == "" {
		switch e := next(""); {
		case e.Operator == "p" && e.Kind == protocol.EventSuspended:
			parent = e.Run
		case e.Operator == "writer" && e.Kind == protocol.EventInvocationStarted:
			child = e.Run
		}
	}
	close(free)
	out := wait(t, done)
	if textOf(t, out) != "A heron. b" || out.Metadata.Cost.Text() != "0.00021" || len(l.requests()) != 1 || l.requests()[0].user() != "xa" {
		t.Errorf("output = %+v, %d requests", out, len(l.requests()))
	}
	if !strings.HasPrefix(string(child), string(parent)+".") {
		t.Errorf("the child of %s is %s", parent, child)
	}
}

// A member's handoff is the pattern's: who is handed the work is asked once, and paid once.
func TestHandoffOfMember(t *testing.T) {
	t.Parallel()
	for _, durable := range []string{"true", "false"} {
		l := newLLM(t, func(_ *llm, c chat) reply {
			if strings.Contains(c.system(), "desk") {
				return reply{calls: []call{{"transfer_to_expert", `{"reason":"it is hard"}`}}}
			}
			return reply{text: "expert says so"}
		})
		conn := bed(t, provider+`  desk: {provider: main, model: m, system: desk, tools: [{handoff: expert}], durable: `+durable+`}
  expert: {provider: main, model: m, system: expert, durable: `+durable+`}
  crew: {kind: swarm, start: desk, transitions: {desk: [expert]}, durable: `+durable+`}
`, bedConfig{model: l})
		out := dispatch(t, conn, "crew", protocol.Text("go"))
		if textOf(t, out) != "expert says so" || out.ExitReason.Kind() != protocol.ExitComplete || len(out.Effects) != 0 || out.Metadata.TurnsUsed != 2 {
			t.Errorf("durable %s: %+v", durable, out)
		}
		if n := len(l.requests()); n != 2 {
			t.Errorf("durable %s: the model was asked %d times", durable, n)
		}
	}
}

// What a member declares is performed once.
func TestEffectOfMember(t *testing.T) {
	t.Parallel()
	for _, durable := range []string{"true", "false"} {
		ran := filepath.Join(t.TempDir(), "ran")
		conn := bed(t, `
operators:
  sender: {kind: exec, command: [sh, -c, 'echo "$0"', '`+sent+`']}
  p: {kind: parallel, operators: [sender], durable: `+durable+`}
effects:
  mail: {kind: exec, command: [sh, -c, 'cat >> "$0"; echo >> "$0"', '`+ran+`']}
`, bedConfig{})
		done := outcomes(t, conn)
		for range 3 { // the effects of the second and third run come behind all of the first
			if out := dispatch(t, conn, "p", protocol.Text("go")); textOf(t, out) != "sent" || len(out.Effects) != 1 {
				t.Errorf("output = %+v", out)
			}
			if o := done(); len(o) != 1 || o[0].Status != protocol.OutcomeOK {
				t.Errorf("outcomes = %+v", o)
			}
		}
		raw, err := os.ReadFile(ran)
		if n := strings.Count(string(raw), "heron"); err != nil || n != 3 {
			t.Errorf("durable %s: the effects of 3 runs were performed %d times, %v", durable, n, err)
		}
	}
}
