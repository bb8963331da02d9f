package record

import (
	"bytes"
	"context"
	"math"
	"slices"
	"sync"

	"github.com/skelegent/skelegent-go/actors/agent"
	"github.com/skelegent/skelegent-go/actors/engine"
	"github.com/skelegent/skelegent-go/actors/provider"
	"github.com/skelegent/skelegent-go/actors/provider/middleware"
	"github.com/skelegent/skelegent-go/actors/tool"
	"github.com/skelegent/skelegent-go/protocol"
)

// Recorder records what an agent does in this process. It is for one run at a time: a run that begins forgets the one before.
// Where a durable run goes on, the recorder sees it from its top again, but what rules asked the model before is missing; FromLog
// has that.
type Recorder struct {
	operator protocol.OperatorID

	mu      sync.Mutex
	run     Run
	waiting []Answer // asides, until the turn that they belong to
	asking  int      // a turn asks now, and no rule
	made    map[string]made
}

// made is what a tool returned.
type made struct {
	result tool.Result
	err    error
}

// New returns a recorder for an operator.
func New(operator protocol.OperatorID) *Recorder {
	r := &Recorder{operator: operator}
	r.begin(protocol.OperatorInput{}, "")
	return r
}

// Execute makes an agent of cfg, has it do the task and records that: what most callers want. The output and the error are the
// agent's.
func (r *Recorder) Execute(ctx context.Context, cfg agent.Config, task protocol.OperatorInput) (protocol.OperatorOutput, error) {
	a, err := agent.New(r.Attach(cfg))
	if err != nil {
		return protocol.OperatorOutput{}, err
	}
	return r.Operator(a).Execute(ctx, task)
}

// Attach returns cfg so that an agent of it is recorded. What it is asked and how it ends is only known to Operator.
func (r *Recorder) Attach(cfg agent.Config) agent.Config {
	cfg.Provider = r.Provider(cfg.Provider)
	cfg.Rules = slices.Concat(r.Rules(), cfg.Rules)
	resultText, errorText, targets := cfg.ResultText, cfg.ErrorText, cfg.HandoffTargets
	cfg.ResultText = func(c protocol.ToolCall, res tool.Result) string {
		if h, ok := tool.HandoffOf(res); ok && slices.Contains(targets, h.Operator) {
			seen := res
			seen.Effects = append(slices.Clip(seen.Effects), h)
			r.called(c, seen, nil)
		} else {
			r.called(c, res, nil)
		}
		if resultText != nil {
			return resultText(c, res)
		}
		return res.Text()
	}
	cfg.ErrorText = func(c protocol.ToolCall, err error) string {
		r.called(c, tool.Result{}, err)
		if errorText != nil {
			return errorText(c, err)
		}
		return tool.ErrorText(err)
	}
	return cfg
}

// Operator returns op so that what it is asked and how it ends is recorded.
func (r *Recorder) Operator(op protocol.Operator) protocol.Operator {
	return protocol.OperatorFunc(func(ctx context.Context, in protocol.OperatorInput) (protocol.OperatorOutput, error) {
		model := ""
		if d, ok := op.(interface{ Describe() (string, string) }); ok {
			model, _ = d.Describe()
		}
		r.begin(in, model)
		out, err := op.Execute(ctx, in)
		r.end(out, err)
		return out, err
	})
}

// Provider returns p so that the model calls of rules, and the failures of all, are recorded. It has the roles of p.
func (r *Recorder) Provider(p provider.Provider) provider.Provider {
	if p == nil {
		return nil
	}
	return middleware.Wrap(p, middleware.NewStack().Observe(middleware.InferFunc(func(
		ctx context.Context, req protocol.InferRequest, sink func(protocol.StreamEvent), next middleware.Next,
	) (protocol.InferResponse, error) {
		resp, err := next(ctx, req, sink)
		r.mu.Lock()
		defer r.mu.Unlock()
		switch {
		case err != nil:
			r.run.Failure = protocol.AsError(err)
		case r.asking > 0:
			r.run.Failure = nil
		default:
			r.run.Failure = nil
			r.waiting = append(r.waiting, answerOf(withIDs(resp)))
		}
		return resp, err
	})).Build())
}

// Rules are what records the turns and the calls. They change nothing.
func (r *Recorder) Rules() []engine.Rule {
	return []engine.Rule{
		engine.Before(engine.OpInfer, "record", math.MinInt, on(func(op *engine.Infer) { op.Call = bracket(op.Call, r.asks) })),
		engine.After(engine.OpInfer, "record", math.MaxInt, on(func(op *engine.Infer) { r.answered(op.Response) })),
		engine.Before(engine.OpAppendResponse, "record", math.MinInt, on(func(op *engine.Response) { r.invoked(op.Response.ToolCalls) })),
		engine.After(engine.OpExecuteTool, "record", math.MaxInt, on(r.took)),
	}
}

// on is the action of a rule that looks at the op that it fires around.
func on[T engine.Op](look func(op T)) engine.Op {
	return engine.OpFunc("record", func(_ context.Context, c *engine.Context) error {
		if op, ok := c.Current().(T); ok {
			look(op)
		}
		return nil
	})
}

// Run returns what has been recorded so far: its own copy.
func (r *Recorder) Run() *Run {
	r.mu.Lock()
	defer r.mu.Unlock()
	run := r.run
	run.Turns = slices.Clone(run.Turns)
	for i := range run.Turns {
		run.Turns[i].Results = slices.Clone(run.Turns[i].Results)
	}
	run.Asides = slices.Clone(r.waiting)
	run.fill()
	return &run
}

type inferCall = func(ctx context.Context, c *engine.Context) (protocol.InferResponse, error)

// bracket is a model call of a turn. What rules ask is outside of it.
func bracket(call inferCall, asks func(int)) inferCall {
	return func(ctx context.Context, c *engine.Context) (protocol.InferResponse, error) {
		asks(1)
		defer asks(-1)
		return call(ctx, c)
	}
}

func (r *Recorder) asks(n int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.asking += n
}

func (r *Recorder) begin(task protocol.OperatorInput, model string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.run = Run{Version: Version, Operator: r.operator, Task: task, Model: model}
	r.waiting, r.asking, r.made = nil, 0, map[string]made{}
}

func (r *Recorder) end(out protocol.OperatorOutput, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.run.FinalAnswer, r.run.ExitReason = out.Message, out.ExitReason
	if err != nil {
		r.run.Error = protocol.AsError(err)
		r.run.FinalAnswer, r.run.ExitReason = protocol.TextContent(""), protocol.Exit(protocol.ExitError)
	}
}

func (r *Recorder) answered(resp protocol.InferResponse) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.run.Turns = append(r.run.Turns, Turn{Answer: answerOf(resp), Asides: r.waiting})
	r.waiting = nil
	clear(r.made)
}

// invoked takes the calls as the agent makes them: they have ids.
func (r *Recorder) invoked(calls []protocol.ToolCall) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if n := len(r.run.Turns); n > 0 {
		r.run.Turns[n-1].Invocations = slices.Clone(calls)
	}
}

func (r *Recorder) called(c protocol.ToolCall, res tool.Result, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.made[c.ID] = made{res, err}
}

func (r *Recorder) took(op *engine.ToolCall) {
	r.mu.Lock()
	defer r.mu.Unlock()
	n := len(r.run.Turns)
	if n == 0 {
		return
	}
	turn := &r.run.Turns[n-1]
	asked, ok := turn.invocation(op.Call.ID)
	if !ok {
		return
	}
	result := Result{CallID: op.Call.ID, Name: asked.Name, Output: op.Result, IsError: op.IsError, Skipped: op.Skipped}
	if !sameJSON(asked.Input, op.Call.Input) {
		result.Input = bytes.Clone(op.Call.Input)
	}
	m := r.made[op.Call.ID]
	result.Effects, result.Cost, result.UnpricedCalls = m.result.Effects, m.result.Cost, m.result.UnpricedCalls
	if m.err != nil && op.IsError {
		result.Error = protocol.AsError(m.err).Clip()
	}
	turn.Results = append(turn.Results, result)
}
