package rule

import (
	"context"
	"encoding/json"
	"time"

	"github.com/skelegent/skelegent-go/protocol"
)

// State is what hooks know of a run.
type State struct {
	Turns               uint32 // model calls that were answered
	TokensIn, TokensOut uint64
	Cost                protocol.Decimal // USD
	ToolCalls           uint32           // that were begun
	// Elapsed is how long the run has taken. In a durable run it is another one when the run is replayed, so no Action should
	// follow from it: there is a limit for that.
	Elapsed time.Duration
	// Messages is the conversation, the system prompt first. It must not be changed or kept.
	Messages []protocol.Message
}

// Hooks see what happens in a run, and may stop or change it. They are another way to write rules, for who wants the moments of a
// run by name. Embed NopHooks to write only those that matter. They are called one at a time for a run, but for many runs at once.
//
// What a durable run replays goes through the hooks again, so they must answer the same and not act outside.
type Hooks interface {
	// BeforeInference is asked before each model call.
	BeforeInference(ctx context.Context, s State) Action
	// AfterInference is asked once an answer is taken in and paid.
	AfterInference(ctx context.Context, s State, response protocol.Content) Action
	// BeforeToolCall is asked before a call is made and before a person is asked about it.
	BeforeToolCall(ctx context.Context, s State, tool string, input json.RawMessage) Action
	// AfterToolCall is asked behind each call, also one that was skipped, with what the model is told.
	AfterToolCall(ctx context.Context, s State, tool, result string) Action
	// WhenExitCheck is asked behind each answer, when it is known whether the run goes on.
	WhenExitCheck(ctx context.Context, s State) Action
	// BeforeSteeringInject is asked before what was said to the run meanwhile is taken in.
	BeforeSteeringInject(ctx context.Context, s State, messages []string) Action
	// WhenSteeringSkip is told what was said to the run and not taken in.
	WhenSteeringSkip(ctx context.Context, s State, skipped []string)
	// BeforeCompaction is asked before messages make room.
	BeforeCompaction(ctx context.Context, s State) Action
	// AfterCompaction is told behind each compaction that did not fail, also where there was nothing to do.
	AfterCompaction(ctx context.Context, s State)
}

// NopHooks lets everything happen.
type NopHooks struct{}

var _ Hooks = NopHooks{}

// BeforeInference implements Hooks.
func (NopHooks) BeforeInference(context.Context, State) Action { return Continue() }

// AfterInference implements Hooks.
func (NopHooks) AfterInference(context.Context, State, protocol.Content) Action { return Continue() }

// BeforeToolCall implements Hooks.
func (NopHooks) BeforeToolCall(context.Context, State, string, json.RawMessage) Action {
	return Continue()
}

// AfterToolCall implements Hooks.
func (NopHooks) AfterToolCall(context.Context, State, string, string) Action { return Continue() }

// WhenExitCheck implements Hooks.
func (NopHooks) WhenExitCheck(context.Context, State) Action { return Continue() }

// BeforeSteeringInject implements Hooks.
func (NopHooks) BeforeSteeringInject(context.Context, State, []string) Action { return Continue() }

// WhenSteeringSkip implements Hooks.
func (NopHooks) WhenSteeringSkip(context.Context, State, []string) {}

// BeforeCompaction implements Hooks.
func (NopHooks) BeforeCompaction(context.Context, State) Action { return Continue() }

// AfterCompaction implements Hooks.
func (NopHooks) AfterCompaction(context.Context, State) {}
