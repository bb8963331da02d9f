package kv

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/skelegent/skelegent-go/protocol"
)

func TestKeysFitIntoAControlLine(t *testing.T) {
	t.Parallel()
	for _, token := range []string{strings.Repeat("x", 200), strings.Repeat("\xff", 66), strings.Repeat("x", 10_000)} {
		scope := protocol.OfOperator(protocol.WorkflowID(token), protocol.OperatorID(token))
		for _, key := range []string{entryKey(scope, token), linkKey(scope, token, token, token)} {
			// The limit of the server is 4,096 for the whole line; past it the connection is closed.
			if len(key) > 1024+64 {
				t.Errorf("a key of %d bytes: %.80s...", len(key), key)
			}
		}
	}
}

func TestAKeyIsOneTokenOfItsScope(t *testing.T) {
	t.Parallel()
	scopes := []protocol.Scope{
		protocol.GlobalScope(), protocol.InSession("a.b"), protocol.InWorkflow("op/inst"), protocol.OfOperator("", "x"), protocol.CustomScope("*"),
	}
	for _, scope := range scopes {
		key, filter := entryKey(scope, "a.b.>"), entryFilter(scope)
		prefix, _ := strings.CutSuffix(filter, "*")
		if token, ok := strings.CutPrefix(key, prefix); !ok || strings.Contains(token, ".") {
			t.Errorf("%s: key %s, filter %s", scope, key, filter)
		}
	}
}

func TestAPIPrefix(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		opts         jetstream.JetStreamOptions
		api, publish string
	}{
		{jetstream.JetStreamOptions{}, "$JS.API.", ""},
		{jetstream.JetStreamOptions{APIPrefix: "$JS.API."}, "$JS.API.", ""},
		{jetstream.JetStreamOptions{APIPrefix: "$JS.API"}, "$JS.API.", ""},
		{jetstream.JetStreamOptions{Domain: "hub"}, "$JS.hub.API.", "$JS.hub.API."},
		{jetstream.JetStreamOptions{APIPrefix: "acme.js"}, "acme.js.", "acme.js."},
	} {
		if api, publish := apiPrefix(test.opts); api != test.api || publish != test.publish {
			t.Errorf("%+v: got %q, %q", test.opts, api, publish)
		}
	}
}

func FuzzKey(f *testing.F) {
	f.Add("a.b")
	f.Add(strings.Repeat("\xff", 300))
	f.Add(strings.Repeat("k", 201))
	f.Fuzz(func(t *testing.T, key string) {
		subject := "$KV.SKG_STATE." + entryKey(protocol.GlobalScope(), key)
		r := newRecord(key, protocol.StoreOptions{}, time.Time{})
		r.Value = json.RawMessage("1")
		data, err := protocol.Marshal(r)
		if err != nil {
			t.Fatal(err)
		}
		st := parse(subject, 1, nil, data)
		if got, ok := st.key(); !ok || got != key {
			t.Errorf("got %q, %v, want %q", got, ok, key)
		}
	})
}

func FuzzParse(f *testing.F) {
	f.Add([]byte(`{"value":null}`), "")
	f.Add([]byte(`{"blob":{"name":"x","size":-1}}`), "DEL")
	f.Add([]byte(`{"by":1}`), "PURGE")
	f.Fuzz(func(t *testing.T, data []byte, op string) {
		st := parse("$KV.SKG_STATE.global.k", 1, nats.Header{headerOperation: {op}}, data)
		now := time.Now()
		if st.live(now) && st.bad == nil && st.record.Value == nil && st.record.Blob == nil {
			t.Errorf("%q is a value of nothing", data)
		}
		st.record.options(now)
		st.key()
	})
}
