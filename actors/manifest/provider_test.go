package manifest_test

import (
	"io"
	"strings"
	"testing"
	"time"

	"github.com/skelegent/skelegent-go/actors/manifest"
	"github.com/skelegent/skelegent-go/bus"
	"github.com/skelegent/skelegent-go/protocol"
)

// Each kind of provider speaks its own protocol with a real server, with its key and at its prices.
func TestKinds(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		kind, base, path, keys, model string
		answer                        func(io.Writer, string)
		header, cost                  string
	}{
		{
			kind: "anthropic", path: "/v1/messages", model: "m", answer: sayAnthropic, header: "X-Api-Key", cost: "0.00021",
			keys: `cache_prompt: true, prices: {m: {input: "0.15", output: "0.60"}}`,
		},
		{
			kind: "responses", base: "/v1", path: "/v1/responses", model: "m", answer: sayResponses, header: "Authorization", cost: "0.00021",
			keys: `prices: {m: {input: "0.15", output: "0.60"}}`,
		},
		{kind: "ollama", path: "/api/chat", model: "m", answer: sayOllama, header: "Authorization", cost: "0", keys: ""},
	} {
		t.Run(tc.kind+" "+tc.model, func(t *testing.T) {
			t.Parallel()
			s := newOther(t, tc.path, tc.answer)
			in := "providers:\n  p: {kind: " + tc.kind + ", base_url: SERVER" + tc.base + ", api_key: {file: key}, " + tc.keys + "}\n" +
				"operators:\n  a: {provider: p, model: " + tc.model + ", system: Be short., limits: {max_cost: 1}, durable: false}\n"
			out := dispatch(t, bed(t, in, bedConfig{urls: map[string]string{"SERVER": s.URL}}), "a", protocol.Text("What time is it?"))
			if got := textOf(t, out); got != "noon" || out.Metadata.Cost.Text() != tc.cost || out.Metadata.TokensIn != 1000 || out.Metadata.UnpricedCalls != 0 {
				t.Errorf("text %q, metadata %+v, want cost %s", got, out.Metadata, tc.cost)
			}
			body, header := s.request(t)
			if body["model"] != tc.model || !strings.Contains(header.Get(tc.header), apiKey) {
				t.Errorf("model %v, %s %q", body["model"], tc.header, header.Get(tc.header))
			}
			raw := mustJSON(t, body)
			if cached := strings.Contains(raw, "cache_control"); cached != strings.Contains(tc.keys, "cache_prompt") {
				t.Errorf("cached: %v in %s", cached, raw)
			}
		})
	}
}

func mustJSON(t testing.TB, v any) string {
	t.Helper()
	raw, err := protocol.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(raw)
}

const twoAgents = `
  a: {provider: p, model: m, durable: false, limits: {max_duration: 5s, max_consecutive_failures: 2}}
  b: {provider: p, model: m, durable: false, limits: {max_duration: 5s, max_consecutive_failures: 2}}
`

// What one agent uses of a provider's limits, another does not have.
func TestLimitsAreShared(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name, limits string
		refused      bool
	}{
		{"requests", "limits: {requests_per_minute: 1}", true},
		{"tokens", "limits: {tokens_per_minute: 1500}", true}, // a call takes 1100, and 900 more are not there for half a minute
		{"enough of both", "limits: {requests_per_minute: 10, tokens_per_minute: 100000, concurrency: 1}", false},
		{"none", "", false},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			l := newLLM(t, fixed(say("noon")))
			conn := bed(t, "providers:\n  p: {kind: openai, base_url: LLM, "+tc.limits+"}\noperators:"+
				strings.ReplaceAll(twoAgents, "model: m", "model: m, max_tokens: 900"), bedConfig{model: l})
			if got := textOf(t, dispatch(t, conn, "a", protocol.Text("go"))); got != "noon" {
				t.Errorf("text = %q", got)
			}
			_, err := bus.NewDispatcher(conn).Dispatch(testContext(t), "b", protocol.Text("go"))
			if tc.refused {
				if protocol.CodeOf(err) != protocol.CodeQuotaExceeded || !strings.Contains(err.Error(), "the turn of the call would come after its deadline") || len(l.requests()) != 1 {
					t.Errorf("error %v, %d requests", err, len(l.requests()))
				}
			} else if err != nil || len(l.requests()) != 2 {
				t.Errorf("error %v, %d requests", err, len(l.requests()))
			}
		})
	}
}

// Two agents that want a model at once get it one after the other.
func TestConcurrencyIsShared(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		limits string
		most   int
	}{{"concurrency: 1", 1}, {"concurrency: 2", 2}} {
		t.Run(tc.limits, func(t *testing.T) {
			t.Parallel()
			begun, free := make(chan string, 10), make(chan struct{})
			l := newLLM(t, func(_ *llm, c chat) reply {
				begun <- c.user()
				<-free
				return say("noon")
			})
			conn := bed(t, "providers:\n  p: {kind: openai, base_url: LLM, limits: {"+tc.limits+"}}\noperators:"+twoAgents, bedConfig{model: l})
			done := make(chan error, 2)
			for _, id := range []protocol.OperatorID{"a", "b"} {
				go func() {
					_, err := bus.NewDispatcher(conn).Dispatch(testContext(t), id, protocol.Text(string(id)))
					done <- err
				}()
			}
			for range tc.most {
				wait(t, begun)
			}
			if tc.most == 1 { // the other one waits for its place
				select {
				case id := <-begun:
					t.Errorf("%s was asked, too", id)
				case <-time.After(300 * time.Millisecond):
				}
			}
			close(free)
			for range 2 {
				if err := wait(t, done); err != nil {
					t.Error(err)
				}
			}
		})
	}
}

// A provider that failed one agent is not asked by another for a while.
func TestBreakerIsShared(t *testing.T) {
	t.Parallel()
	l := newLLM(t, fixed(status(500, "down")))
	conn := bed(t, "providers:\n  p: {kind: openai, base_url: LLM, breaker: {failures: 2, open_for: 1h}}\noperators:"+twoAgents, bedConfig{model: l})
	d := bus.NewDispatcher(conn)
	if _, err := d.Dispatch(testContext(t), "a", protocol.Text("go")); protocol.CodeOf(err) != protocol.CodeUnavailable {
		t.Errorf("a: %v", err)
	}
	_, err := d.Dispatch(testContext(t), "b", protocol.Text("go"))
	e := protocol.AsError(err)
	if e == nil || e.Code != protocol.CodeUnavailable || !strings.Contains(e.Message, "p is left alone for another") || e.RetryAfter < 50*time.Minute {
		t.Errorf("b: %v", err)
	}
	if n := len(l.requests()); n != 2 {
		t.Errorf("%d requests, want 2", n)
	}
}

// The router asks who is for the model, and another where that one fails.
func TestRouter(t *testing.T) {
	t.Parallel()
	down, up := newLLM(t, fixed(status(500, "down"))), newLLM(t, fixed(say("noon")))
	conn := bed(t, `
providers:
  down: {kind: openai, base_url: DOWN, prices: {gpt-x: {input: 9, output: 9}}}
  up:
    kind: openai
    base_url: UP
    prices: {m: {input: "0.15", output: "0.60"}, m2: {input: "1.5", output: "6"}}
    limits: {requests_per_minute: 1000}
    breaker: {}
  all:
    kind: router
    routes:
      - {prefix: gpt-, provider: down, fallback: [{provider: up, model: m2}]}
      - {prefix: "local:", provider: up}
    default: {provider: up, model: m}
operators:
  first: {provider: all, model: gpt-x, durable: false, limits: {max_cost: 1}}
  second: {provider: all, model: "local:m", durable: false}
  third: {provider: all, durable: false}
`, bedConfig{urls: map[string]string{"DOWN": down.URL, "UP": up.URL}})
	for i, tc := range []struct {
		id          protocol.OperatorID
		model, cost string
	}{{"first", "m2", "0.0021"}, {"second", "m", "0.00021"}, {"third", "m", "0.00021"}} {
		out := dispatch(t, conn, tc.id, protocol.Text("go"))
		if textOf(t, out) != "noon" || out.Metadata.Cost.Text() != tc.cost {
			t.Errorf("%s: %+v", tc.id, out)
		}
		if r := up.requests(); len(r) != i+1 || r[i].Model != tc.model {
			t.Errorf("%s: asked %d times, last for %s", tc.id, len(r), r[len(r)-1].Model)
		}
	}
	if n := len(down.requests()); n != 1 {
		t.Errorf("the one that is down was asked %d times", n)
	}
}

// A money limit needs prices, whatever stands before the provider; and with them it works there.
func TestMoneyThroughWrappers(t *testing.T) {
	t.Parallel()
	const wrappers = `
providers:
  plain: {kind: openai, prices: {m: {input: 1, output: 2}}}
  wrapped: {kind: openai, prices: {m: {input: 1, output: 2}}, limits: {concurrency: 5}, breaker: {failures: 3}}
  routed: {kind: router, routes: [{prefix: "x:", provider: wrapped}], default: plain, limits: {concurrency: 5}, breaker: {}}
  nested: {kind: router, default: {provider: routed, fallback: [wrapped]}}
  claude: {kind: anthropic, limits: {concurrency: 1}}
  local: {kind: ollama, breaker: {}}
  mixed: {kind: router, default: {provider: local, fallback: [claude]}}
operators:
  a: {KEYS}
`
	for _, tc := range []struct {
		keys    string
		unknown string // the model whose price is not known; empty if all are
	}{
		{"provider: plain, model: m, limits: {max_cost: 1}", ""},
		{"provider: wrapped, model: m, limits: {max_cost: 1}", ""},
		{"provider: wrapped, model: other, limits: {max_cost: 1}", "other"},
		{"provider: wrapped, model: other, ceiling: {max_cost: 1}", "other"},
		{"provider: wrapped, model: other", ""},
		{"provider: routed, model: 'x:m', limits: {max_cost: 1}", ""},
		{"provider: routed, model: 'x:other', limits: {max_cost: 1}", "x:other"},
		{"provider: nested, model: m, limits: {max_cost: 1}", ""},
		{"provider: nested, model: other, ceiling: {max_cost: 1}", "other"},
		{"provider: nested, model: 'x:m', limits: {max_cost: 1}", "x:m"}, // the fallback has no such model
		{"kind: single_shot, provider: nested, model: other, limits: {max_cost: 1}", "other"},
		{"provider: claude, model: claude-haiku-4-5, limits: {max_cost: 1}", ""},
		{"provider: claude, model: claude-unheard, limits: {max_cost: 1}", "claude-unheard"},
		{"provider: local, model: any, limits: {max_cost: 1}", ""},
		{"provider: mixed, model: any, limits: {max_cost: 1}", "any"},
		{"provider: mixed, model: claude-haiku-4-5, limits: {max_cost: 1}", ""},
		{"provider: wrapped, model: m, limits: {max_cost: 1}, compaction: {strategy: summarize, window: 9000, model: other}", "other"},
		{"provider: wrapped, model: m, limits: {max_cost: 1}, compaction: {strategy: summarize, window: 9000, model: m}", ""},
		{"provider: wrapped, model: m, compaction: {strategy: summarize, window: 9000, model: other}", ""},
	} {
		t.Run(tc.keys, func(t *testing.T) {
			t.Parallel()
			err := parse(t, strings.Replace(wrappers, "KEYS", tc.keys, 1)).Register(t.Context(), newRegistry(), manifest.Deps{})
			want := `there is a money limit, but the price of model "` + tc.unknown + `" is not known`
			if (err != nil) != (tc.unknown != "") || err != nil && !strings.Contains(err.Error(), want) {
				t.Errorf("error %v, want %s", err, want)
			}
		})
	}
	l := newLLM(t, restless)
	conn := bed(t, `
providers:
  main: {kind: openai, base_url: LLM, prices: {m: {input: "0.15", output: "0.60"}}, limits: {requests_per_minute: 100}, breaker: {}}
  all: {kind: router, default: main, limits: {concurrency: 4}}
operators:
  a: {provider: all, model: m, tools: [clock], max_tokens: 100, limits: {max_cost: "0.0004"}}
`, bedConfig{model: l})
	out := dispatch(t, conn, "a", protocol.Text("go"))
	if out.ExitReason.Kind() != protocol.ExitBudgetExhausted || out.Metadata.Cost.Text() != "0.00042" {
		t.Errorf("exit %v, cost %s", out.ExitReason, out.Metadata.Cost.Text())
	}
	// Quotes come through: an answer of 1000 tokens cannot be paid, so it is asked for a shorter one.
	over := protocol.Text("go")
	over.Config = &protocol.OperatorConfig{MaxCost: new(protocol.MustDecimal("0.00005"))}
	dispatch(t, conn, "a", over)
	if r := l.requests(); r[len(r)-1].MaxTokens >= 100 {
		t.Errorf("the last answer might have had %d tokens", r[len(r)-1].MaxTokens)
	}
}
