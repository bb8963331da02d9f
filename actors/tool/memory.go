package tool

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/skelegent/skelegent-go/protocol"
	"github.com/skelegent/skelegent-go/state"
)

// The lifetimes that a model can name; any other word means durable.
const (
	forTurn    = "turn"
	forSession = "session"
)

type storeInput struct {
	Key   string          `json:"key" jsonschema:"the name to find it by later"`
	Value json.RawMessage `json:"value" jsonschema:"what to remember; any JSON value"`
	Scope string          `json:"scope,omitempty" jsonschema:"how long to keep it: turn, session (if not given) or durable"`
}

type storeResult struct {
	Stored bool   `json:"stored"`
	Key    string `json:"key"`
	Scope  string `json:"scope"`
}

// MemoryStore declares a write_memory in the scope of ScopeFrom: {"key", "value", "scope"}. The word in scope says for how long:
// turn is transient, session (also where it is not given) is session, everything else is durable.
func MemoryStore() Tool {
	return Effect(NameMemoryStore, "Stores a value in memory under a key.",
		func(ctx context.Context, in storeInput) (storeResult, protocol.Effects, error) {
			if err := checkKey(in.Key); err != nil {
				return storeResult{}, nil, err
			}
			if in.Scope == "" {
				in.Scope = forSession
			}
			lifetime := protocol.LifetimeDurable
			switch in.Scope {
			case forTurn:
				lifetime = protocol.LifetimeTransient
			case forSession:
				lifetime = protocol.LifetimeSession
			}
			write := protocol.WriteMemory{Scope: ScopeFrom(ctx), Key: in.Key, Value: in.Value, Lifetime: &lifetime}
			return storeResult{Stored: true, Key: in.Key, Scope: in.Scope}, protocol.Effects{write}, nil
		})
}

func checkKey(key string) error {
	if key == "" {
		return protocol.ErrToolInput("field key: must not be empty")
	}
	return nil
}

type forgetInput struct {
	Key string `json:"key" jsonschema:"the name it was stored under"`
}

type forgetResult struct {
	Deleted bool   `json:"deleted"`
	Key     string `json:"key"`
}

// MemoryForget declares a delete_memory in the scope of ScopeFrom. That there is nothing to delete is no error.
func MemoryForget() Tool {
	return Effect(NameMemoryForget, "Deletes what memory has under a key.",
		func(ctx context.Context, in forgetInput) (forgetResult, protocol.Effects, error) {
			if err := checkKey(in.Key); err != nil {
				return forgetResult{}, nil, err
			}
			return forgetResult{Deleted: true, Key: in.Key}, protocol.Effects{protocol.DeleteMemory{Scope: ScopeFrom(ctx), Key: in.Key}}, nil
		})
}

// MemoryRecall is Recall under the name of its family.
func MemoryRecall(reader protocol.StateReader) Tool { return Alias(Recall(reader), NameMemoryRecall) }

// How many results a search has.
const (
	defaultResults = 5
	maxResults     = 100
)

type searchInput struct {
	Query string `json:"query" jsonschema:"a text that the value must have in it; upper and lower case are the same"`
	Limit int    `json:"limit,omitempty" jsonschema:"how many results there are at most; 5 if not given, at most 100"`
}

type searchResult struct {
	Results []protocol.SearchResult `json:"results"`
}

// MemorySearch searches what was stored in the scope of ScopeFrom, in this run or earlier: {"results":[{"key","score",
// "snippet"}]}, best first.
func MemorySearch(reader protocol.StateReader) Tool {
	return Func(NameMemorySearch, "Searches memory for a text, and gives the keys and beginnings of what has it.",
		func(ctx context.Context, in searchInput) (searchResult, error) {
			switch {
			case in.Query == "":
				return searchResult{}, protocol.ErrToolInput("field query: must not be empty")
			case in.Limit < 0 || in.Limit > maxResults:
				return searchResult{}, protocol.ErrToolInput(fmt.Sprintf("field limit: must be 1 to %d", maxResults))
			case in.Limit == 0:
				in.Limit = defaultResults
			}
			found, err := RunFrom(ctx).Search(ctx, reader, ScopeFrom(ctx), in.Query, in.Limit)
			return searchResult{Results: found}, err
		}, Repeatable(), ParallelSafe())
}

// Search returns what the run would find if its effects were performed already: of the keys that it declared itself what it
// declared last, of others what the reader has. The best come first; there are at most limit, and never nil.
func (r Run) Search(
	ctx context.Context, reader protocol.StateReader, scope protocol.Scope, query string, limit int,
) ([]protocol.SearchResult, error) {
	own := r.touched(scope)
	found, err := reader.Search(ctx, scope, query, limit+len(own)) // those of its own keys do not count
	if err != nil {
		return nil, err
	}
	mine, err := state.NewSearch(query, len(own), state.Limits{})
	if err != nil {
		return nil, err
	}
	for key := range own {
		if v, _ := r.written(scope, key); v != nil {
			if err := mine.Add(key, v); err != nil {
				return nil, err
			}
		}
	}
	all := mine.Results()
	for _, f := range found {
		if !own[f.Key] {
			all = append(all, f)
		}
	}
	slices.SortStableFunc(all, func(a, b protocol.SearchResult) int {
		switch {
		case a.Score > b.Score:
			return -1
		case a.Score < b.Score:
			return 1
		}
		return 0
	})
	return all[:min(len(all), limit)], nil
}

// touched are the keys of a scope that the run wrote or deleted.
func (r Run) touched(scope protocol.Scope) map[string]bool {
	own := map[string]bool{}
	for _, e := range r.Declared {
		switch e := e.(type) {
		case protocol.WriteMemory:
			if e.Scope == scope {
				own[e.Key] = true
			}
		case protocol.DeleteMemory:
			if e.Scope == scope {
				own[e.Key] = true
			}
		}
	}
	return own
}
