package agenttest

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/skelegent/skelegent-go/actors/provider/scripted"
	"github.com/skelegent/skelegent-go/actors/step"
	"github.com/skelegent/skelegent-go/actors/tool"
	"github.com/skelegent/skelegent-go/protocol"
)

// trial is one run of SurvivesKills, over the processes that it takes: what models were asked in it, and what happened. Models
// and tools find it in the context, as they are the same in all trials.
type trial struct {
	opts  options
	life  *life
	clean *trial // the one without a kill; nil in that itself

	mu      sync.Mutex
	process int // counts the executions of the operator's code
	deaths  int
	unknown bool // the outcome of a step is not known
	models  map[*Model]*memory
	happens map[happening]int
	wrong   []string
}

// happening is something that must not happen twice: what, and in which step.
type happening struct{ what, place string }

// memory is what a model has been asked in a trial. In a process that goes on after a kill, a step whose record was lost asks
// again: it then gets the answer that it had, so that only what the run does with it can differ.
type memory struct {
	script *scripted.Provider
	places map[string]*place
}

// place is a step that asks a model.
type place struct {
	process int
	next    int // question in that process
	asked   []*question
}

type question struct {
	request []string
	answer  *scripted.Provider // nil until there is one
}

type trialKey struct{}

func withTrial(ctx context.Context, t *trial) context.Context {
	return context.WithValue(ctx, trialKey{}, t)
}

func trialFrom(ctx context.Context) *trial {
	t, _ := ctx.Value(trialKey{}).(*trial)
	return t
}

// placeOf names the step whose function has ctx: by its key, or in a child by its call or run.
func placeOf(ctx context.Context) string {
	return cmp.Or(step.Key(ctx), tool.RunFrom(ctx).IdempotencyKey, string(protocol.InvocationFrom(ctx).Run))
}

func newTrial(tb testing.TB, o options, in protocol.OperatorInput, clean *trial) *trial {
	tb.Helper()
	t := &trial{clean: clean, models: map[*Model]*memory{}, happens: map[happening]int{}}
	o.ctx = withTrial(o.ctx, t)
	t.opts, t.life = o, o.begin(tb, in)
	return t
}

// infer is a call of m in this trial.
func (t *trial) infer(
	ctx context.Context, m *Model, req protocol.InferRequest, sink func(protocol.StreamEvent),
) (protocol.InferResponse, error) {
	where := placeOf(ctx)
	if key := step.Key(ctx); key != "" && t.recorded(key) {
		t.complain("the model call at %s was recorded, and is made and paid again", key)
	}
	mem, q, n := t.ask(m, where, req)
	t.compare(m, where, n, q)
	if q.answer != nil {
		return q.answer.Infer(ctx, req, sink)
	}
	resp, err := mem.script.Infer(ctx, req, sink)
	if errors.Is(err, scripted.ErrNoStep) {
		t.complain("%s", m.beyond(err, req))
	}
	if err != nil && ctx.Err() != nil {
		return resp, err // it was not answered
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	q.answer = always(resp, err)
	return resp, err
}

// recorded reports whether the log has what the step came to.
func (t *trial) recorded(key string) bool {
	_, path, _ := strings.Cut(key, "/")
	e, found := t.life.run.Entry(path)
	return found && !e.Begun
}

// ask notes a question. It returns the one that was asked before at the same place, if there was one.
func (t *trial) ask(m *Model, where string, req protocol.InferRequest) (*memory, *question, int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	mem := t.models[m]
	if mem == nil {
		mem = &memory{script: m.forTrial(), places: map[string]*place{}}
		t.models[m] = mem
	}
	p := mem.places[where]
	if p == nil {
		p = &place{}
		mem.places[where] = p
	}
	if p.process != t.process {
		p.process, p.next = t.process, 0
	}
	p.next++
	if p.next > len(p.asked) {
		p.asked = append(p.asked, &question{})
	}
	q := p.asked[p.next-1]
	r := Request{InferRequest: req}
	q.request = append([]string{"system: " + r.System(), "tools: " + strings.Join(r.Tools(), ", ")}, r.Conversation()...)
	return mem, q, p.next
}

// compare looks whether the clean trial asked the same.
func (t *trial) compare(m *Model, where string, n int, q *question) {
	if t.clean == nil || t.isUnknown() {
		return
	}
	var want []string
	if mem := t.clean.models[m]; mem != nil && mem.places[where] != nil && n <= len(mem.places[where].asked) {
		want = mem.places[where].asked[n-1].request
	}
	t.mu.Lock()
	got := slices.Clone(q.request)
	t.mu.Unlock()
	if want == nil {
		t.complain("the model is asked at %s, where it was not without the kill", where)
	} else if d := firstOther(want, got); d != "" {
		t.complain("the model is asked something else at %s: %s", where, d)
	}
}

// always is a model that says that.
func always(resp protocol.InferResponse, err error) *scripted.Provider {
	text, _ := resp.Content.AsText()
	return scripted.FromScript(scripted.Script{Mode: scripted.ModeMatch, Model: resp.Model, Steps: []scripted.Step{{
		Text: text, ToolCalls: resp.ToolCalls, Usage: resp.Usage, Cost: resp.Cost, StopReason: resp.StopReason, Err: err,
	}}})
}

// forTrial returns the script from its begin.
func (m *Model) forTrial() *scripted.Provider {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.tried = true
	return m.newScript()
}

// adopt makes the script of the clean trial the one that the test looks at, unless the model was asked beside it; then it
// returns false.
func (m *Model) adopt(script *scripted.Provider) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.script.Calls() > 0 {
		return false
	}
	m.script = script
	return true
}

func (t *trial) isUnknown() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.unknown
}

// maxWrong is how much is said of one trial.
const maxWrong = 5

func (t *trial) complain(format string, args ...any) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if what := fmt.Sprintf(format, args...); len(t.wrong) < maxWrong && !slices.Contains(t.wrong, what) {
		t.wrong = append(t.wrong, what)
	}
}

// happened counts something that must not happen twice.
func (t *trial) happened(ctx context.Context, what string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.happens[happening{what, placeOf(ctx)}]++
}
