package main

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/skelegent/skelegent-go/protocol"
)

func TestState(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.node(t, "state", "put", "session/tea", "drink", "green tea").want(t, exitDone, "", "")
	w.run(t, "state", "get", "session/tea", "drink").want(t, exitDone, "green tea\n", "")
	w.node(t, "state", "put", "session/tea", "order", `{"tea": 2}`, "--ttl", "1h").want(t, exitDone, "", "")
	w.run(t, "state", "get", "session/tea", "order").want(t, exitDone, `{"tea":`, "")
	w.call(t, call{in: "line\n"}, "--nkey", w.key, "state", "put", "operator//echo", "note").want(t, exitDone, "", "")
	w.run(t, "state", "get", "operator//echo", "note", "--json").want(t, exitDone, `"value": "line\n"`, "")
	w.call(t, call{in: "7"}, "--nkey", w.key, "state", "put", "custom/a b", "n", "-").want(t, exitDone, "", "")
	if got := w.run(t, "state", "get", "custom/a b", "n"); got.out != "7\n" {
		t.Errorf("got %q", got.out)
	}

	entry := decode[entryView](t, w.run(t, "state", "get", "session/tea", "order", "--json"))
	if entry.Scope != protocol.InSession("tea") || entry.Revision == 0 || entry.Expires == nil || time.Until(*entry.Expires) > time.Hour {
		t.Errorf("got %+v", entry)
	}
	w.run(t, "state", "ls", "session/tea").want(t, exitDone, "drink\norder\n", "")
	w.run(t, "state", "ls", "session/tea", "or").want(t, exitDone, "order\n", "")
	w.run(t, "state", "ls", "session/tea", "--limit", "1").want(t, exitDone, "drink\n", "1 of 2 shown")
	if keys := decode[[]string](t, w.run(t, "state", "ls", "session/other", "--json")); len(keys) != 0 {
		t.Errorf("got %v", keys)
	}
	w.run(t, "state", "search", "session/tea", "green").want(t, exitDone, "drink", "")
	w.run(t, "state", "search", "session/tea", "coffee").want(t, exitDone, "", "nothing was found")
	if found := decode[[]protocol.SearchResult](t, w.run(t, "state", "search", "session/tea", "green", "tea", "--json")); len(found) == 0 || found[0].Key != "drink" {
		t.Errorf("got %v", found)
	}

	w.node(t, "state", "rm", "session/tea", "drink").want(t, exitDone, "", "")
	w.node(t, "state", "rm", "session/tea", "drink").want(t, exitFailed, "", `not_found: scope session/tea has no key "drink"`)
	w.run(t, "state", "get", "session/tea", "drink").want(t, exitFailed, "", `not_found: scope session/tea has no key "drink"`)
}

func TestStateAsGuest(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	begin := time.Now()
	w.run(t, "state", "put", "global", "a", "1").want(t, exitFailed, "", "permission_denied: the server does not permit publishing to")
	w.run(t, "state", "put", "global", "a", "1").want(t, exitFailed, "", "--nkey .skelegent/node.key")
	if took := time.Since(begin); took > defaultTimeout {
		t.Errorf("took %s: the refusal was not noticed", took)
	}
}

func TestStateWithoutBucket(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.node(t, "--prefix", "other", "state", "get", "global", "a").want(t, exitFailed, "", "unavailable: ")
}

func TestValue(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		`hello`: `"hello"`, `"hello"`: `"hello"`, ` 7 `: `7`, `null`: `null`, `{"a": 1}`: `{"a": 1}`, `{"a"`: `"{\"a\""`, ``: `""`, "a\nb": `"a\nb"`,
	} {
		got, err := parseValue(text)
		if err != nil || string(got) != want {
			t.Errorf("%q: got %s, %v, want %s", text, got, err, want)
		}
	}
	for value, want := range map[string]string{`"a\nb"`: "a\nb", `7`: "7", `null`: "null", `{"a":"b"}`: `{"a":"b"}`} {
		if got := valueText(json.RawMessage(value)); got != want {
			t.Errorf("%s: got %q, want %q", value, got, want)
		}
	}
	if got := clip(strings.Repeat("é", 1000), 10); got != "ééééééé..." {
		t.Errorf("got %q", got)
	}
	for d, want := range map[time.Duration]string{0: "0s", 90 * time.Second: "1m", 3 * time.Hour: "3h", 72 * time.Hour: "3d", -time.Hour: "0s"} {
		if got := age(time.Now().Add(-d - time.Second/2)); got != want {
			t.Error(fmt.Errorf("%s: got %s, want %s", d, got, want))
		}
	}
}
