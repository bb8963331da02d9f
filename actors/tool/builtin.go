package tool

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/skelegent/skelegent-go/protocol"
)

// The names of the built-in tools.
const (
	NameClock    = "clock"
	NameRemember = "remember"
	NameRecall   = "recall"

	NameMemoryStore  = "memory_store"
	NameMemorySearch = "memory_search"
	NameMemoryRecall = "memory_recall"
	NameMemoryForget = "memory_forget"
)

// Deps are what built-in tools need.
type Deps struct {
	State protocol.StateReader // for recall, memory_recall and memory_search
	Now   func() time.Time     // time.Now if nil
}

// Builtin returns the built-in tool of that name. The error is not_found with the names that there are, or
// invalid_input where deps lack what the tool needs.
func Builtin(name string, deps Deps) (Tool, error) {
	switch name {
	case NameClock:
		if deps.Now == nil {
			return Clock(), nil
		}
		return ClockAt(deps.Now), nil
	case NameRemember:
		return Remember(), nil
	case NameMemoryStore:
		return MemoryStore(), nil
	case NameMemoryForget:
		return MemoryForget(), nil
	}
	if reads, ok := readers[name]; ok {
		if deps.State == nil {
			return nil, protocol.NewError(protocol.CodeInvalidInput, "tool "+name+" needs a state store")
		}
		return reads(deps.State), nil
	}
	e := protocol.ErrToolNotFound(name)
	e.Message += fmt.Sprintf("; built in are %v", Builtins())
	return nil, e
}

// Builtins returns the names of the built-in tools, sorted.
func Builtins() []string {
	return []string{NameClock, NameMemoryForget, NameMemoryRecall, NameMemorySearch, NameMemoryStore, NameRecall, NameRemember}
}

// readers are the built-in tools that need a state store.
var readers = map[string]func(protocol.StateReader) Tool{
	NameRecall: Recall, NameMemoryRecall: MemoryRecall, NameMemorySearch: MemorySearch,
}

type clockResult struct {
	Time string `json:"time"`
}

// Clock tells the time: {"time": RFC 3339, in UTC}.
func Clock() Tool { return ClockAt(time.Now) }

// ClockAt is Clock with a time of its own.
func ClockAt(now func() time.Time) Tool {
	return Func(NameClock, "Tells the current date and time in UTC.",
		func(context.Context, struct{}) (clockResult, error) {
			return clockResult{Time: now().UTC().Format(time.RFC3339)}, nil
		}, Repeatable(), ParallelSafe())
}

type rememberInput struct {
	Key   string          `json:"key" jsonschema:"the name to find it by later"`
	Value json.RawMessage `json:"value" jsonschema:"what to remember; any JSON value"`
}

type rememberResult struct {
	Stored bool   `json:"stored"`
	Key    string `json:"key"`
}

// Remember declares a write_memory in the scope of ScopeFrom. It is made alone, so that calls behind it in the same answer see it.
func Remember() Tool {
	return Effect(NameRemember, "Remembers a value under a key for later, in this conversation.",
		func(ctx context.Context, in rememberInput) (rememberResult, protocol.Effects, error) {
			if in.Key == "" {
				return rememberResult{}, nil, protocol.ErrToolInput("field key: must not be empty")
			}
			write := protocol.WriteMemory{Scope: ScopeFrom(ctx), Key: in.Key, Value: in.Value}
			return rememberResult{Stored: true, Key: in.Key}, protocol.Effects{write}, nil
		})
}

type recallInput struct {
	Key string `json:"key" jsonschema:"the name it was remembered under"`
}

type recallResult struct {
	Key   string          `json:"key"`
	Found bool            `json:"found"`
	Value json.RawMessage `json:"value"`
}

// Recall reads what Remember wrote, in this run or earlier: {"key", "found", "value"}, where value is null if nothing
// was found.
func Recall(state protocol.StateReader) Tool {
	return Func(NameRecall, "Recalls a value that was remembered under a key.",
		func(ctx context.Context, in recallInput) (recallResult, error) {
			v, err := RunFrom(ctx).Read(ctx, state, ScopeFrom(ctx), in.Key)
			return recallResult{Key: in.Key, Found: v != nil, Value: v}, err
		}, Repeatable(), ParallelSafe())
}
