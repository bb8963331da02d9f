package protocol_test

import (
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/skelegent/skelegent-go/protocol"
	"github.com/skelegent/skelegent-go/protocol/wire"
)

// The tables of SPEC.md name what the code names, no more and no less.
func TestSpecAgreesWithTheCode(t *testing.T) {
	t.Parallel()
	spec, err := os.ReadFile("SPEC.md")
	if err != nil {
		t.Fatal(err)
	}
	table := func(heading string) []string {
		_, section, ok := strings.Cut(string(spec), "\n## "+heading+"\n")
		if !ok {
			t.Fatalf("no section %q", heading)
		}
		section, _, _ = strings.Cut(section, "\n## ")
		var first []string
		for _, m := range regexp.MustCompile("(?m)^\\| `([^`]+)` \\|").FindAllStringSubmatch(section, -1) {
			first = append(first, m[1])
		}
		slices.Sort(first)
		return first
	}
	same := func(what string, got, want []string) {
		slices.Sort(want)
		if !slices.Equal(got, want) {
			t.Errorf("%s: SPEC.md has\n%v, the code\n%v", what, got, want)
		}
	}
	var codes []string
	for _, c := range protocol.Codes() {
		codes = append(codes, string(c))
	}
	same("codes", table("Errors"), codes)
	same("headers", table("Requests"), []string{
		wire.HeaderRunID, wire.HeaderParentRunID, wire.HeaderDeadline, wire.HeaderBudget, wire.HeaderDepth, wire.HeaderTrace, wire.HeaderEffects,
	})
	same("headers of tasks", table("Tasks"), []string{wire.HeaderReply, wire.HeaderWhenBusy, wire.HeaderParent, wire.HeaderParentSeq})
	same("kinds of the run log", table("The run log"), []string{
		string(protocol.EventInvocationStarted), string(protocol.EventQueued), string(protocol.EventRefused), string(protocol.EventAttached),
		string(protocol.EventNoted), string(protocol.EventInferenceCompleted), string(protocol.EventToolCallAssembled),
		string(protocol.EventToolResultReceived), string(protocol.EventStepStarted), string(protocol.EventStepCompleted),
		string(protocol.EventSuspended), string(protocol.EventCompleted), string(protocol.EventFailed), string(protocol.EventCancelled),
		string(protocol.EventSnapshot), string(protocol.EventClosed),
	})
	same("event kinds", table("Events"), []string{
		string(protocol.EventInvocationStarted), string(protocol.EventInferenceStarted), string(protocol.EventProgress),
		string(protocol.EventInferenceCompleted), string(protocol.EventToolCallAssembled), string(protocol.EventToolResultReceived),
		string(protocol.EventIntentDeclared), string(protocol.EventLog), string(protocol.EventCompleted), string(protocol.EventFailed),
		string(protocol.EventEffectActing), string(protocol.EventEffectReleased), string(protocol.EventEffectDone),
		string(protocol.EventObservation), string(protocol.EventMetric),
	})
	if k := string(protocol.EventArtifactProduced); !strings.Contains(string(spec), "`"+k+"`") {
		t.Errorf("SPEC.md does not name %s", k)
	}
	n := wire.Names{}
	o, i, f := "<operator>", "<instance>", "<family>"
	subject := func(tokens ...string) string { return n.Prefix() + "." + strings.Join(tokens, ".") }
	same("subjects", table("Subjects"), []string{
		n.Op(o), subject("signal", o, i, "<type>"), subject("query", o, i, "<type>"), subject("effect", f, o, i),
		n.Task(o), n.Wake(o, i, "sig.<type>"), n.RunLog(o, i),
		subject("log", o, i, "done", f), subject("event", "<what follows skg.log>"), subject("live", o, i, "<kind>"), n.Dead(o),
	})
	for _, suffix := range []string{wire.StreamLog, wire.StreamTasks, wire.StreamTimers, wire.StreamEffects, wire.StreamDead, wire.BucketState, wire.BucketBlobs} {
		if !strings.Contains(string(spec), "`"+n.Stream(suffix)+"`") {
			t.Errorf("SPEC.md does not name %s", n.Stream(suffix))
		}
	}
}
