package compact_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/skelegent/skelegent-go/actors/agent"
	"github.com/skelegent/skelegent-go/actors/compact"
	"github.com/skelegent/skelegent-go/actors/engine"
	"github.com/skelegent/skelegent-go/actors/run"
	"github.com/skelegent/skelegent-go/actors/step/steptest"
	"github.com/skelegent/skelegent-go/actors/tool"
	"github.com/skelegent/skelegent-go/protocol"
)

// lastStep is when the walker is there.
const lastStep = 9

// walker is a model that takes one step after the other by what the last result says, and sums up when it is asked to.
type walker struct {
	mu    sync.Mutex
	asks  map[string][]string // the requests by the step, or "sum"
	fails int                 // how many of the first summaries fail
}

func newWalker() *walker { return &walker{asks: map[string][]string{}} }

func (w *walker) Infer(_ context.Context, req protocol.InferRequest, _ func(protocol.StreamEvent)) (protocol.InferResponse, error) {
	raw, err := protocol.Marshal(req.Messages)
	if err != nil {
		return protocol.InferResponse{}, err
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	r := protocol.InferResponse{
		StopReason: protocol.StopEndTurn, Usage: protocol.TokenUsage{InputTokens: 10, OutputTokens: 5}, Cost: new(protocol.MustDecimal("0.01")),
	}
	if req.System == compact.DefaultSummaryPrompt {
		w.asks["sum"] = append(w.asks["sum"], string(raw))
		if len(w.asks["sum"]) <= w.fails {
			return r, protocol.NewError(protocol.CodeInvalidInput, "too long")
		}
		r.Content = protocol.TextContent(fmt.Sprintf("A summary of %d bytes.", len(raw)))
		return r, nil
	}
	n := 0
	_, _ = fmt.Sscanf(req.Messages[len(req.Messages)-1].Text(), "at %d", &n)
	at := fmt.Sprint(n)
	w.asks[at] = append(w.asks[at], string(raw))
	r.Content = protocol.TextContent(fmt.Sprintf("answer %d", n+1))
	if n < lastStep {
		r.StopReason = protocol.StopToolUse
		r.ToolCalls = []protocol.ToolCall{{ID: fmt.Sprint("c", n), Name: "walk", Input: json.RawMessage(fmt.Sprintf(`{"to":%d}`, n+1))}}
	}
	return r, nil
}

func (*walker) Priced(string) bool { return true }

func walk(t testing.TB, w *walker, rules ...engine.Rule) *agent.Agent {
	t.Helper()
	type where struct {
		To int `json:"to"`
	}
	go1 := tool.Func("walk", "", func(_ context.Context, in where) (string, error) {
		return fmt.Sprintf("at %d, after a long way", in.To), nil
	}, tool.Repeatable())
	a, err := agent.New(agent.Config{Provider: w, System: "Walk.", Tools: []tool.Tool{go1}, Limits: agent.Limits{MaxTurns: 50}, Rules: rules})
	if err != nil {
		t.Fatal(err)
	}
	return a
}

func summarizing() []engine.Rule {
	return compact.Rule(compact.Config{Messages: 7, Strategy: compact.SummarizeAndReplace(compact.SummaryConfig{KeepLast: 2})})
}

// finish has a durable run walk to its end.
func finish(t testing.TB, w *walker, rules func() []engine.Rule, kill func(*steptest.Run)) (*steptest.Run, protocol.OperatorOutput) {
	t.Helper()
	r := steptest.New(steptest.Config{})
	r.Input(protocol.Text("go"), run.Enqueue)
	if kill != nil {
		kill(r)
	}
	out, err := r.Finish(t.Context(), func() protocol.Operator { return walk(t, w, rules()...) }, nil)
	if err != nil {
		t.Fatal(err)
	}
	return r, out
}

// kept lists the answers that the log has.
func kept(r *steptest.Run) (answers []string) {
	for _, e := range r.Events() {
		for n := range lastStep + 1 {
			text := fmt.Sprintf(`"content":"answer %d",`, n+1)
			if e.Kind == protocol.EventInferenceCompleted && strings.Contains(string(e.Data), text) {
				answers = append(answers, text)
			}
		}
	}
	return answers
}

var sameExit = cmp.Comparer(func(a, b protocol.ExitReason) bool { return a == b })

// Whatever is compacted, the log has every answer, and a run that is killed at any record asks the same and pays once.
func TestCompactionInADurableRun(t *testing.T) {
	t.Parallel()
	for name, rules := range map[string]func() []engine.Rule{
		"summaries": summarizing,
		"a window": func() []engine.Rule {
			return compact.Rule(compact.Config{Messages: 5, Strategy: compact.SlidingWindow(4)})
		},
		"a budget": func() []engine.Rule {
			return compact.Rule(compact.Config{Window: 140, Reserve: 20, Strategy: compact.TokenBudget(80)})
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			first := newWalker()
			r, want := finish(t, first, rules, nil)
			if len(kept(r)) != lastStep+1 || want.ExitReason.Kind() != protocol.ExitComplete || len(first.asks[fmt.Sprint(lastStep)][0]) > 1500 {
				t.Fatalf("got %+v, kept %v", want, kept(r))
			}
			if sums := len(first.asks["sum"]); name == "summaries" && (sums != 3 || want.Metadata.Cost.String() != "0.13") {
				t.Fatalf("%d summaries, cost %s", sums, want.Metadata.Cost)
			}
			for place, kill := range steptest.Kills(r.Records()) {
				t.Run(place, func(t *testing.T) {
					t.Parallel()
					w := newWalker()
					again, got := finish(t, w, rules, kill)
					got.Metadata.Duration = want.Metadata.Duration
					for i := range got.Metadata.SubDispatches {
						got.Metadata.SubDispatches[i].Duration = want.Metadata.SubDispatches[i].Duration
					}
					if d := cmp.Diff(want, got, sameExit); d != "" {
						t.Error(d)
					}
					wantSameAsks(t, first, w, 1)
					if len(kept(again)) != lastStep+1 {
						t.Errorf("the log has %v", kept(again))
					}
				})
			}
		})
	}
}

// wantSameAsks wants the same requests, with no more than some made twice.
func wantSameAsks(t *testing.T, want, got *walker, twice int) {
	t.Helper()
	more := 0
	for key, asks := range got.asks {
		known := map[string]bool{}
		for _, ask := range want.asks[key] {
			known[ask] = true
		}
		for _, ask := range asks {
			if !known[ask] {
				t.Errorf("asked otherwise at %s: %s\nbefore: %s", key, ask, want.asks[key])
			}
		}
		more += len(asks) - len(want.asks[key])
	}
	if len(got.asks) != len(want.asks) || more > twice {
		t.Errorf("%d kinds of requests of %d, %d more", len(got.asks), len(want.asks), more)
	}
}

// That a summary failed is recorded: a run that goes on does not try it again, though it might succeed now, since the model was asked
// on without it.
func TestAFailedCompactionIsReplayed(t *testing.T) {
	t.Parallel()
	first := newWalker()
	first.fails = 1
	r, want := finish(t, first, summarizing, nil)
	marker := 0
	records := 0
	for _, e := range r.Events() {
		if !strings.Contains(string(e.Data), `"path":`) {
			continue
		}
		if records++; strings.Contains(string(e.Data), `"name":"compact"`) {
			marker = records
		}
	}
	if marker == 0 || records != r.Records() || want.ExitReason.Kind() != protocol.ExitComplete {
		t.Fatalf("record %d of %d says that it failed; %s", marker, records, want.ExitReason)
	}
	for n := marker; n <= records; n++ {
		w := newWalker()
		w.fails = 1
		_, got := finish(t, w, summarizing, func(r *steptest.Run) { r.KillAfter(n) })
		if wantSameAsks(t, first, w, 0); !got.Metadata.Cost.Equal(want.Metadata.Cost.Decimal) {
			t.Errorf("killed after %d: cost %s", n, got.Metadata.Cost)
		}
	}
}

// A summary that was paid before the flush failed is paid on replay too, and not asked for again.
func TestAPaidFailureStaysPaid(t *testing.T) {
	t.Parallel()
	failing := func() []engine.Rule {
		return compact.Rule(compact.Config{
			Messages: 7, Strategy: compact.SummarizeAndReplace(compact.SummaryConfig{KeepLast: 2}),
			Flush: engine.OpFunc("flush", func(context.Context, *engine.Context) error {
				return protocol.NewError(protocol.CodeUnavailable, "disk full")
			}),
		})
	}
	first := newWalker()
	r, want := finish(t, first, failing, nil)
	if len(first.asks["sum"]) == 0 || want.Metadata.Cost.String() == "0.10" {
		t.Fatalf("nothing was paid: %s", want.Metadata.Cost)
	}
	for n := 1; n <= r.Records(); n++ {
		w := newWalker()
		_, got := finish(t, w, failing, func(r *steptest.Run) { r.KillAfter(n) })
		if wantSameAsks(t, first, w, 0); !got.Metadata.Cost.Equal(want.Metadata.Cost.Decimal) {
			t.Errorf("killed after %d: cost %s, want %s", n, got.Metadata.Cost, want.Metadata.Cost)
		}
	}
}

func TestExtractionInADurableRun(t *testing.T) {
	t.Parallel()
	type notes struct {
		Where string `json:"where"`
	}
	rules := func() []engine.Rule {
		return compact.Rule(compact.Config{Messages: 7, Strategy: compact.Extract[notes](compact.ExtractConfig{
			KeepLast: 2, Prompt: compact.DefaultSummaryPrompt,
		})})
	}
	_, out := finish(t, newWalker(), rules, nil)
	if got := out.ExitReason.String(); got != "interceptor_halt: the extracted state cannot be read" {
		t.Errorf("got %s", got)
	}
}
