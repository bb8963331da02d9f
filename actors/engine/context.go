package engine

import (
	"context"
	"encoding/json"
	"reflect"
	"slices"
	"time"

	"github.com/skelegent/skelegent-go/protocol"
)

// Config is what a Context is made of. The zero Config is usable.
type Config struct {
	Operator protocol.OperatorID
	Params   Params
	Rules    []Rule
	Watchers []protocol.ContextWatcher
	// Start is when the run began, Now what time it is; time.Now if nil.
	Start time.Time
	Now   func() time.Time
	// Events takes what Emit says; nobody if nil.
	Events protocol.EventSink
	// Ask makes model calls for rules; see Context.Ask.
	Ask func(ctx context.Context, name string, req protocol.InferRequest) (protocol.InferResponse, error)
	// Count is how many tokens messages take; their own estimate if nil.
	Count func(messages []protocol.Message) int
}

// Params are how the model is asked. Rules may change them; a change lasts until the next.
type Params struct {
	Model       string // the provider's default if empty
	MaxTokens   uint32 // the provider's default if 0
	Temperature *float64
	Tools       []protocol.ToolSchema
	ToolChoice  *protocol.ToolChoice
	// Format is what form the answer must have; text if nil.
	Format protocol.ResponseFormat
	// Options are passed to the provider as they are, by its own names.
	Options map[string]json.RawMessage
}

// Context is what one run knows: the conversation, what was spent, what was declared, and whatever rules keep in it. It is not
// safe for concurrent use.
type Context struct {
	// Params are how the model is asked next.
	Params Params

	cfg      Config
	messages *protocol.OperatorContext
	rules    rules
	current  Op
	effects  protocol.Effects
	metrics  Metrics
	lastText string
	ext      map[reflect.Type]any
	quiet    bool
	// open says that calls of the last answer wait for their results: nothing may come between; deferred is what waits.
	open     bool
	deferred []protocol.Message
	edits    int // changes of the messages, but for what was added at the end
	history  []CompactionRecord
	left     []Omission
	finally  []func()
}

// Metrics say what a run took so far.
type Metrics struct {
	TokensIn, TokensOut uint64
	Cost                protocol.Decimal // USD, of model calls and of what tools spent
	Turns               uint32           // model calls that were answered
	ToolCalls           uint32           // calls that were begun
	UnpricedCalls       uint32           // model calls, here and below, that are not in Cost
	SubDispatches       []protocol.SubDispatchRecord
}

// New returns an empty context.
func New(cfg Config) *Context {
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	if cfg.Start.IsZero() {
		cfg.Start = cfg.Now()
	}
	c := &Context{Params: cfg.Params, cfg: cfg, messages: protocol.NewOperatorContext(cfg.Operator, cfg.Watchers...)}
	for _, r := range cfg.Rules {
		c.AddRule(r)
	}
	return c
}

// Operator returns whose run it is.
func (c *Context) Operator() protocol.OperatorID { return c.cfg.Operator }

// Elapsed is how long the run has taken, without the time in which it was suspended.
func (c *Context) Elapsed() time.Duration { return c.cfg.Now().Sub(c.cfg.Start) }

// Watch adds a watcher of the messages.
func (c *Context) Watch(w protocol.ContextWatcher) { c.messages.Watch(w) }

// Messages returns the conversation in order, the system prompt first if there is one. It must not be changed, and is only good
// until the conversation is.
func (c *Context) Messages() []protocol.Message { return c.messages.Shared() }

// System returns the system prompt, empty if there is none.
func (c *Context) System() string {
	if all := c.Messages(); len(all) > 0 && isSystem(all[0]) {
		return all[0].Text()
	}
	return ""
}

// Conversation is Messages without the system prompt.
func (c *Context) Conversation() []protocol.Message {
	all := c.Messages()
	if len(all) > 0 && isSystem(all[0]) {
		return all[1:]
	}
	return all
}

// isSystem reports whether the first message is the system prompt. What was loaded from somewhere is none.
func isSystem(m protocol.Message) bool {
	return m.Role == protocol.RoleSystem && m.Meta.Source == nil
}

// InjectSystem makes text the system prompt: there is one, at the front, and it is pinned. The error is a watcher's.
func (c *Context) InjectSystem(text string) error {
	msg := protocol.PinnedMessage(protocol.RoleSystem, protocol.TextContent(text))
	if all := c.Messages(); len(all) > 0 && isSystem(all[0]) {
		msg.Meta.Version = all[0].Meta.Version + 1
		return c.messages.Replace(0, msg)
	}
	c.edits++
	return c.messages.Insert(msg, protocol.Front())
}

// Inject adds messages at the end. Between a model's calls and their results they wait until the results are there. The error is
// a watcher's, and then those before the one that it is about are in.
func (c *Context) Inject(messages ...protocol.Message) error {
	if c.open {
		c.deferred = append(c.deferred, messages...)
		return nil
	}
	for _, m := range messages {
		if err := c.messages.Push(m); err != nil {
			return err
		}
	}
	return nil
}

// InjectAt adds a message. Front is behind the system prompt, as is a place before that. A place between a call and its results is
// moved behind them.
func (c *Context) InjectAt(msg protocol.Message, pos protocol.Position) error {
	if pos == protocol.Back() {
		return c.Inject(msg)
	}
	all := c.Messages()
	front := len(all) - len(c.Conversation())
	if pos == protocol.Front() {
		pos = protocol.At(front)
	}
	if i, ok := pos.Index(); ok && i >= 0 && i <= len(all) {
		end := unitEnd(all, max(i, front))
		if end == len(all) {
			return c.Inject(msg)
		}
		pos = protocol.At(end)
	}
	c.edits++
	return c.messages.Insert(msg, pos)
}

// Remove takes the messages out for which match is true, whatever their policy, and returns how many. The system prompt is not
// looked at, and of calls and their results none goes unless match is true of all, nor calls whose results are to come. The
// error is a watcher's, and then all are there.
func (c *Context) Remove(match func(protocol.Message) bool) (int, error) {
	all := c.Messages()
	skip := len(all) - len(c.Conversation())
	units := Units(all[skip:])
	goes := make([]bool, len(all))
	for n, start := range units[:len(units)-1] {
		unit := all[skip+start : skip+units[n+1]]
		waits := c.open && n == len(units)-2 // for results
		out := !waits && !slices.ContainsFunc(unit, func(m protocol.Message) bool { return !match(m) })
		for i := range unit {
			goes[skip+start+i] = out
		}
	}
	c.edits++
	i := -1
	removed, err := c.messages.RemoveWhere(func(protocol.Message) bool {
		i++
		return goes[i]
	})
	return len(removed), err
}

// unitEnd returns i, or the index behind the tool results among which i is.
func unitEnd(all []protocol.Message, i int) int {
	for i < len(all) && isResult(all[i]) {
		i++
	}
	return i
}

// AppendResponse adds a model's answer and counts it as a turn. The error is a watcher's; what was paid is counted all the same.
func (c *Context) AppendResponse(resp protocol.InferResponse) error {
	msg := resp.ToMessage()
	if text, ok := msg.Content.AsText(); ok && text != "" {
		c.lastText = msg.Text()
	}
	c.metrics.Turns++
	c.pay(resp)
	err := c.Inject(msg)
	c.open = c.open || len(resp.ToolCalls) > 0 // the rules behind this op, too, must not come between
	return err
}

// pay counts a model call that was answered.
func (c *Context) pay(resp protocol.InferResponse) {
	c.metrics.TokensIn += resp.Usage.InputTokens
	c.metrics.TokensOut += resp.Usage.OutputTokens
	if resp.Cost == nil {
		c.metrics.UnpricedCalls++
	}
	c.Spend(resp.Cost)
}

// LastText is the last text of the model.
func (c *Context) LastText() string { return c.lastText }

// OpenCalls says that the results of the last answer's calls are to come: what is injected meanwhile waits behind them.
func (c *Context) OpenCalls() { c.open = true }

// CloseCalls adds the results, and behind them what waited.
func (c *Context) CloseCalls(results ...protocol.Message) error {
	waiting := c.deferred
	c.open, c.deferred = false, nil
	return c.Inject(append(results, waiting...)...)
}

// CallsOpen reports whether results of calls are to come.
func (c *Context) CallsOpen() bool { return c.open }

// CountCall counts a call that is begun.
func (c *Context) CountCall() { c.metrics.ToolCalls++ }

// Record adds what a call came to.
func (c *Context) Record(r protocol.SubDispatchRecord) {
	c.metrics.SubDispatches = append(c.metrics.SubDispatches, r)
}

// Spend adds to the cost; nil is nothing.
func (c *Context) Spend(cost *protocol.Decimal) {
	if cost != nil {
		c.metrics.Cost = protocol.Decimal{Decimal: c.metrics.Cost.Add(cost.Decimal)}
	}
}

// SpendUnpriced counts model calls whose price is not known.
func (c *Context) SpendUnpriced(calls uint32) { c.metrics.UnpricedCalls += calls }

// Metrics returns what the run took so far. Its slice must not be changed.
func (c *Context) Metrics() Metrics {
	m := c.metrics
	m.SubDispatches = slices.Clip(m.SubDispatches)
	return m
}

// PushEffect declares effects. They are performed after the run has ended, by executors.
func (c *Context) PushEffect(effects ...protocol.Effect) { c.effects = append(c.effects, effects...) }

// Effects returns what was declared, in order. It must not be changed; later ones do not appear in it.
func (c *Context) Effects() protocol.Effects { return slices.Clip(c.effects) }

// Set keeps v in the context, by its type.
func Set[T any](c *Context, v T) {
	if c.ext == nil {
		c.ext = map[reflect.Type]any{}
	}
	c.ext[reflect.TypeFor[T]()] = v
}

// Get returns what Set kept of that type, and whether there is any.
func Get[T any](c *Context) (T, bool) {
	v, ok := c.ext[reflect.TypeFor[T]()].(T)
	return v, ok
}

// Local returns what owner keeps in the context as a T, a new one the first time. A rule is shared by all runs; what it knows of one
// is here, with the rule's pointer as the owner.
func Local[T any](c *Context, owner any) *T {
	all, ok := Get[map[any]*T](c)
	if !ok {
		all = map[any]*T{}
		Set(c, all)
	}
	if all[owner] == nil {
		all[owner] = new(T)
	}
	return all[owner]
}

// Ask makes a model call for a rule or an op. It is paid like any other, recorded in a durable run, and no turn.
func (c *Context) Ask(ctx context.Context, name string, req protocol.InferRequest) (protocol.InferResponse, error) {
	if c.cfg.Ask == nil {
		return protocol.InferResponse{}, protocol.NewError(protocol.CodeUnsupported, "this context has no model to ask")
	}
	resp, err := c.cfg.Ask(ctx, name, req)
	if err == nil {
		c.pay(resp)
	}
	return resp, err
}

// Replaying says whether what happens now is read from the log: then nothing is told to observers again.
func (c *Context) Replaying(yes bool) { c.quiet = yes }

// Replays reports whether what happens now is read from the log. It is for what depends on the time: a run must not end for that
// before what its log has.
func (c *Context) Replays() bool { return c.quiet }

// Emit tells observers something.
func (c *Context) Emit(kind protocol.EventKind, data any) {
	if c.cfg.Events != nil && !c.quiet {
		c.cfg.Events.Emit(kind, data)
	}
}
