package wire_test

import (
	"strings"
	"testing"

	"github.com/skelegent/skelegent-go/protocol/wire"
)

func TestEscape(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"": "=", "coder": "coder", "A-z_0": "A-z_0", "a.b": "a=2Eb", "a b": "a=20b", "=": "=3D", "==": "=3D=3D",
		"grün": "gr=C3=BCn", ">": "=3E", "*": "=2A", "\x00": "=00", "user@example.com": "user=40example=2Ecom",
	} {
		if got := wire.Escape(in); got != want {
			t.Errorf("%q: got %q, want %q", in, got, want)
		}
		if back, err := wire.Unescape(want); err != nil || back != in {
			t.Errorf("%q: back %q, error %v", want, back, err)
		}
	}
}

func TestEscapeOfLongStrings(t *testing.T) {
	t.Parallel()
	longest := strings.Repeat("a", wire.MaxToken)
	if wire.Escape(longest) != longest || wire.IsDigest(longest) {
		t.Error("the longest token is escaped")
	}
	for _, s := range []string{longest + "a", longest + "b", strings.Repeat(".", 67)} {
		token := wire.Escape(s)
		if !wire.IsDigest(token) || len(token) != 66 {
			t.Errorf("%q has token %q", s, token)
		}
		if _, err := wire.Unescape(token); err == nil {
			t.Errorf("%q has an original", token)
		}
	}
	if wire.Escape(longest+"a") == wire.Escape(longest+"b") {
		t.Error("two strings, one token")
	}
}

// TestUnescapeRefuses what Escape never makes.
func TestUnescapeRefuses(t *testing.T) {
	t.Parallel()
	for _, token := range []string{"", "a.b", "=4", "a=", "=41", "=2e", "=zz", "==", "a b", "ü", strings.Repeat("a", wire.MaxToken+1)} {
		if s, err := wire.Unescape(token); err == nil {
			t.Errorf("%q was read as %q", token, s)
		}
	}
}

func TestCheckOperator(t *testing.T) {
	t.Parallel()
	for id, ok := range map[string]bool{
		"coder": true, "a": true, "0-x_y": true, strings.Repeat("a", 64): true,
		"": false, "Coder": false, "-a": false, "_a": false, "a.b": false, "a/b": false, "a\n": false, "ä": false, strings.Repeat("a", 65): false,
	} {
		if got := wire.ValidOperator(id); got != ok || (wire.CheckOperator(id) == nil) != ok {
			t.Errorf("%q: got %v", id, got)
		}
	}
}

func TestNames(t *testing.T) {
	t.Parallel()
	n, err := wire.NewNames("")
	if err != nil {
		t.Fatal(err)
	}
	for got, want := range map[string]string{
		n.Op("coder"):                          "skg.op.coder",
		n.Effect("signal", "coder", "s 1"):     "skg.effect.signal.coder.s=201",
		n.EffectsOf("my.kind"):                 "skg.effect.my=2Ekind.>",
		n.Done("coder", "i", "write_memory"):   "skg.log.coder.i.done.write_memory",
		n.Event(n.Done("coder", "i", "log")):   "skg.event.coder.i.done.log",
		n.Live("coder", "", "progress"):        "skg.live.coder.=.progress",
		n.Signal("coder", "i", "cancel"):       "skg.signal.coder.i.cancel",
		n.Query("coder", "i", "a.b"):           "skg.query.coder.i.a=2Eb",
		n.Dead("coder"):                        "skg.dead.coder",
		n.All("log"):                           "skg.log.>",
		n.Stream(wire.StreamLog):               "SKG_LOG",
		n.Prefix():                             wire.DefaultPrefix,
		wire.Names{}.Stream(wire.BucketState):  "SKG_STATE",
		mustNames(t, "acme-1").Op("coder"):     "acme-1.op.coder",
		mustNames(t, "acme-1").Stream("BLOBS"): "ACME-1_BLOBS",
	} {
		if got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	}
	for _, bad := range []string{"Skg", "a.b", "-a", "a b", strings.Repeat("a", 33), ">"} {
		if _, err := wire.NewNames(bad); err == nil {
			t.Errorf("prefix %q was accepted", bad)
		}
	}
}

func mustNames(t *testing.T, prefix string) wire.Names {
	t.Helper()
	n, err := wire.NewNames(prefix)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

func TestParseWorkflow(t *testing.T) {
	t.Parallel()
	op, inst, err := wire.ParseWorkflow("coder/a/b c")
	if err != nil || op != "coder" || inst != "a/b c" {
		t.Errorf("got %q %q, error %v", op, inst, err)
	}
	for _, bad := range []string{"", "coder", "coder/", "/i", "Coder/i"} {
		if _, _, err := wire.ParseWorkflow(bad); err == nil {
			t.Errorf("%q was accepted", bad)
		}
	}
}
