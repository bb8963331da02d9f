package engine

import (
	"context"

	"github.com/skelegent/skelegent-go/protocol"
)

// The names of the ops that the loop runs. Rules are triggered by them.
const (
	OpInjectSystem   = "inject_system"
	OpInjectMessages = "inject_messages"
	OpSteer          = "steer"           // Steer: what was said to the run meanwhile
	OpInfer          = "infer"           // Infer: one model call
	OpAppendResponse = "append_response" // Response: a model's answer is taken in
	OpExecuteTool    = "execute_tool"    // ToolCall: one call of a tool
	OpExitCheck      = "exit_check"      // ExitCheck: does the run end here?
	OpCompact        = "compact"         // Compaction: older messages make room
	OpFlush          = "flush_to_store"
	OpInjectStored   = "inject_from_store"
	OpSave           = "save_conversation"
	OpLoad           = "load_conversation"
)

// Op is one step of a run.
type Op interface {
	// Name is what rules know the op by.
	Name() string
	// Run does it. An error of Halt or Stop ends the run; see there.
	Run(ctx context.Context, c *Context) error
}

// OpFunc is a function as an Op.
func OpFunc(name string, run func(ctx context.Context, c *Context) error) Op {
	return &opFunc{name, run}
}

type opFunc struct {
	name string
	run  func(ctx context.Context, c *Context) error
}

func (o *opFunc) Name() string                              { return o.name }
func (o *opFunc) Run(ctx context.Context, c *Context) error { return o.run(ctx, c) }

// InjectSystem makes text the system prompt, in place of the one that is there.
type InjectSystem struct{ Text string }

// Name implements Op.
func (InjectSystem) Name() string { return OpInjectSystem }

// Run implements Op.
func (o InjectSystem) Run(_ context.Context, c *Context) error { return c.InjectSystem(o.Text) }

// InjectMessages adds messages at the end.
type InjectMessages struct{ Messages []protocol.Message }

// Name implements Op.
func (InjectMessages) Name() string { return OpInjectMessages }

// Run implements Op.
func (o InjectMessages) Run(_ context.Context, c *Context) error { return c.Inject(o.Messages...) }

// Steer adds what was said to the run while it ran, unless a rule before it skips it.
type Steer struct {
	Messages []protocol.Message
	// Skip keeps the messages out of the conversation. They count as heard.
	Skip bool
}

// Name implements Op.
func (*Steer) Name() string { return OpSteer }

// Run implements Op.
func (o *Steer) Run(_ context.Context, c *Context) error {
	if o.Skip {
		return nil
	}
	return c.Inject(o.Messages...)
}

// Infer is one model call. Rules before it see the conversation as it will be asked, and may still change that and Params; rules
// after it see the answer before it is taken in, and may change it.
type Infer struct {
	Response protocol.InferResponse

	// Call makes the call; it is the loop's.
	Call func(ctx context.Context, c *Context) (protocol.InferResponse, error)
}

// Name implements Op.
func (*Infer) Name() string { return OpInfer }

// Run implements Op.
func (o *Infer) Run(ctx context.Context, c *Context) (err error) {
	o.Response, err = o.Call(ctx, c)
	return err
}

// Response takes in a model's answer and counts it as a turn.
type Response struct{ Response protocol.InferResponse }

// Name implements Op.
func (*Response) Name() string { return OpAppendResponse }

// Run implements Op.
func (o *Response) Run(_ context.Context, c *Context) error { return c.AppendResponse(o.Response) }

// ToolCall is one call of a tool. Rules before it may change the input, or skip the call; rules after it may change the result.
//
// The rules before the calls of one answer all run, in the order of the calls, before any of them is made and before a person
// is asked: what a person approves is what is done.
type ToolCall struct {
	Call protocol.ToolCall
	// Result is what the model is told, once the call was made or skipped; IsError says that it is a failure.
	Result  string
	IsError bool
	// Skipped says that the call is not made; see Skip.
	Skipped bool
	// Policy is what a compaction may do with the result, and so with all results of the same answer; normal if empty.
	Policy protocol.CompactionPolicy

	asked  *protocol.ApprovalReason
	waived bool
	change func(context.Context) context.Context
}

// Name implements Op.
func (*ToolCall) Name() string { return OpExecuteTool }

// Run implements Op. The loop makes the call between Context.Enter and Context.Leave; by itself the op does nothing.
func (*ToolCall) Run(context.Context, *Context) error { return nil }

// Skip keeps the call from being made and tells the model result instead.
func (o *ToolCall) Skip(result string, isError bool) {
	o.Skipped, o.Result, o.IsError = true, result, isError
}

// ExitCheck asks whether the run ends behind an answer. Reason is why it is about to, nil if it goes on. Rules may stop it.
type ExitCheck struct{ Reason *protocol.ExitReason }

// Name implements Op.
func (*ExitCheck) Name() string { return OpExitCheck }

// Run implements Op.
func (*ExitCheck) Run(context.Context, *Context) error { return nil }
