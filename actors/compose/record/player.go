package record

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"sync"

	"github.com/skelegent/skelegent-go/actors/engine"
	"github.com/skelegent/skelegent-go/actors/tool"
	"github.com/skelegent/skelegent-go/protocol"
)

// player is the world of a replay: a provider, and what stands in the place of tools.
type player struct {
	run *Run

	mu     sync.Mutex
	asking int // a turn asks, and no rule
	turn   int // how many turns were answered
	asides int // of the next turn, that were
	made   int // results of the last turn that the model was shown
	diff   *Difference
	ops    map[string]*engine.ToolCall // that are to be made, by the keys of their calls
}

// differs keeps the first difference. The caller has the lock.
func (p *player) differs(d *Difference) {
	if p.diff == nil {
		d.Turn = cmp.Or(d.Turn, p.turn+1)
		p.diff = d
	}
}

func (p *player) asks(n int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.asking += n
}

// halted ends the run at the difference.
func (p *player) halted() error {
	return protocol.ErrEngineHalted("the replay differs from the record")
}

// Infer implements provider.Provider.
func (p *player) Infer(ctx context.Context, _ protocol.InferRequest, _ func(protocol.StreamEvent)) (protocol.InferResponse, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if err := ctx.Err(); err != nil {
		return protocol.InferResponse{}, err
	}
	if p.asking == 0 {
		return p.aside()
	}
	if p.turn < len(p.run.Turns) {
		p.allAsked()
	}
	p.allMade()
	switch {
	case p.diff != nil:
		return protocol.InferResponse{}, p.halted()
	case p.turn >= len(p.run.Turns):
		return protocol.InferResponse{}, p.failure()
	}
	answer := p.run.Turns[p.turn].response()
	p.turn++
	p.asides, p.made = 0, 0
	return answer, nil
}

// aside is the answer to a rule.
func (p *player) aside() (protocol.InferResponse, error) {
	all := p.run.Asides
	if p.turn < len(p.run.Turns) {
		all = p.run.Turns[p.turn].Asides
	}
	if p.asides >= len(all) {
		p.differs(&Difference{What: DiffModel, Want: "no further question of a rule", Got: "a rule asks the model"})
		return protocol.InferResponse{}, p.halted()
	}
	p.asides++
	return all[p.asides-1].response(), nil
}

// allAsked looks whether the rules asked the model as often as before.
func (p *player) allAsked() {
	want := len(p.run.Asides)
	if p.turn < len(p.run.Turns) {
		want = len(p.run.Turns[p.turn].Asides)
	}
	if p.asides < want && p.diff == nil {
		p.differs(&Difference{What: DiffModel, Want: questions(want), Got: questions(p.asides)})
	}
}

func questions(n int) string { return strconv.Itoa(n) + " questions of rules to the model" }

// allMade looks whether the last turn's calls were all made.
func (p *player) allMade() {
	if p.turn == 0 || p.diff != nil {
		return
	}
	if t := p.run.Turns[p.turn-1]; p.made < len(t.Results) {
		r := t.Results[p.made]
		p.differs(&Difference{Turn: p.turn, What: DiffCall, CallID: r.CallID, Tool: r.Name, Want: "it is made", Got: "it is not made"})
	}
}

// failure is what the model comes to where the record has no more answers.
func (p *player) failure() error {
	switch e := p.run.Failure; {
	case e != nil:
		again := *e
		again.RetryAfter = 0
		return &again
	case p.run.Error != nil:
		return p.run.Error
	}
	switch p.run.ExitReason.Kind() {
	case protocol.ExitCircuitBreaker:
		return protocol.ErrProviderTransient("as in the record", 0)
	case protocol.ExitError:
		return protocol.ErrInvalidRequest("as in the record", 0)
	case protocol.ExitSafetyStop:
		return protocol.ErrContentBlocked("as in the record")
	default:
		p.differs(&Difference{What: DiffEnd, Want: p.run.ExitReason.String(), Got: "the model is asked again"})
		return p.halted()
	}
}

// result is what the record has of a call of this turn.
func (p *player) result(id string) *Result {
	if p.turn == 0 {
		return nil
	}
	return p.run.Turns[p.turn-1].result(id)
}

// awaits reports whether the run ended since a person had to allow such a call.
func (p *player) awaits(name string, input json.RawMessage) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.turn != len(p.run.Turns) || p.turn == 0 || p.run.ExitReason.Kind() != protocol.ExitAwaitingApproval {
		return false
	}
	last := &p.run.Turns[p.turn-1]
	return slices.ContainsFunc(last.Invocations, func(c protocol.ToolCall) bool {
		asked := c.Input
		if string(asked) == "null" { // which tools are given as {}
			asked = nil
		}
		return c.Name == name && last.result(c.ID) == nil && sameJSON(asked, input)
	})
}

// decide does what a person did to the call.
func (p *player) decide(op *engine.ToolCall, number uint32) {
	p.mu.Lock()
	defer p.mu.Unlock()
	r := p.result(op.Call.ID)
	switch {
	case op.Skipped:
		return
	case r == nil:
	case r.Unknown: // it is no failure of the tool
		op.Skip(r.Output, r.IsError)
	case r.Decision != nil && !r.Decision.Approved:
		op.Skip(r.Output, true)
	case r.Decision != nil && r.Decision.Input != nil:
		op.Call.Input = bytes.Clone(r.Decision.Input)
	}
	p.ops[key(number)] = op // if it is skipped after all, the next call has the number
}

// key is what tells a call from others.
func key(number uint32) string { return fmt.Sprintf("%s/%d", replayRun, number) }

// replayRun is the run that a replay is.
const replayRun = "replay"

// compare looks at what became of a call.
func (p *player) compare(op *engine.ToolCall) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	d := &Difference{Turn: p.turn, CallID: op.Call.ID, Tool: op.Call.Name}
	r := p.result(op.Call.ID)
	if r == nil {
		if op.Skipped { // by a rule, and the record does not know
			return nil
		}
		d.What, d.Want, d.Got = DiffCall, "it is not made", "it is made"
		p.differs(d)
		return p.halted()
	}
	p.made++
	asked, _ := p.run.Turns[p.turn-1].invocation(op.Call.ID)
	want := asked.Input
	switch {
	case r.Input != nil:
		want = r.Input
	case r.Decision != nil && r.Decision.Input != nil:
		want = r.Decision.Input
	}
	switch {
	case op.Skipped == r.replays():
		d.What, d.Want, d.Got = DiffCall, madeText(r.Made()), madeText(!op.Skipped)
	case !sameJSON(want, op.Call.Input):
		d.What, d.Want, d.Got = DiffArguments, string(want), string(op.Call.Input)
	case op.Result != r.Output || op.IsError != r.IsError:
		d.What, d.Want, d.Got = DiffResult, told(r.Output, r.IsError), told(op.Result, op.IsError)
	default:
		return nil
	}
	p.differs(d)
	return p.halted()
}

// replays reports whether the call is made at a replay, too.
func (r *Result) replays() bool { return r.Made() && !r.Unknown }

func madeText(made bool) string {
	if made {
		return "it is made"
	}
	return "it is not made"
}

func told(text string, isError bool) string {
	if isError {
		return "the failure " + strconv.Quote(text)
	}
	return strconv.Quote(text)
}

// errReplayed is the cause of every failure of a tool in a replay.
var errReplayed = errors.New("as in the record")

func (p *player) resultText(c protocol.ToolCall, res tool.Result) string {
	p.mu.Lock()
	defer p.mu.Unlock()
	if r := p.result(c.ID); r != nil {
		return r.Output
	}
	return res.Text()
}

// errorText is what the model is told of a failure: as recorded, unless it is another one.
func (p *player) errorText(c protocol.ToolCall, err error) string {
	p.mu.Lock()
	defer p.mu.Unlock()
	missing := &protocol.Error{Kind: protocol.KindToolNotFound}
	r := p.result(c.ID)
	if r != nil && (errors.Is(err, errReplayed) || errors.Is(err, missing) && r.Error != nil && errors.Is(r.Error, missing)) {
		return r.Output
	}
	return tool.ErrorText(err)
}
