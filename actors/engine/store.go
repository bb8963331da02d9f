package engine

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	"github.com/skelegent/skelegent-go/actors/step"
	"github.com/skelegent/skelegent-go/protocol"
)

// maxSearch bounds how many values a search puts into a conversation.
const maxSearch = 100

// InjectStored puts values of a store into the conversation, as system messages that a compaction takes first, with where they
// come from as their source. In a durable run what was read is recorded.
type InjectStored struct {
	Store protocol.StateReader
	Scope protocol.Scope
	// Keys are read in this order; or else Query is searched for.
	Keys  []string
	Query string
	Limit int // of a search; 5 if 0
	// At is where they go; behind the system prompt if nil.
	At *protocol.Position
	// MaxTokens bounds what they take together; no limit if 0. What does not fit is left out, and Snapshot says so.
	MaxTokens int
}

// Name implements Op.
func (*InjectStored) Name() string { return OpInjectStored }

// stored is one value.
type stored struct {
	Key   string          `json:"key"`
	Value json.RawMessage `json:"value"`
	Score *float64        `json:"score,omitempty"`
}

// Run implements Op. Keys without a value are left out. The error is the store's.
func (o *InjectStored) Run(ctx context.Context, c *Context) error {
	found, err := step.Do(ctx, OpInjectStored, o.read)
	if err != nil {
		return err
	}
	pos := protocol.Front()
	if o.At != nil {
		pos = *o.At
	}
	var fitting []protocol.Message
	used := 0
	for _, v := range found {
		m := protocol.NewMessage(protocol.RoleSystem, protocol.TextContent(fmt.Sprintf("[Memory: %s] %s", v.Key, plain(v.Value))))
		source := SourceMemory + v.Key
		m.Meta.Policy, m.Meta.Source, m.Meta.Salience = protocol.PolicyCompressFirst, &source, v.Score
		tokens := c.count([]protocol.Message{m})
		if o.MaxTokens > 0 && used+tokens > o.MaxTokens {
			c.Omit(Omission{Source: source, Tokens: tokens, Why: "the tokens for memory are used up"})
			continue
		}
		used += tokens
		fitting = append(fitting, m)
	}
	if pos == protocol.Back() {
		return c.Inject(fitting...)
	}
	for _, m := range slices.Backward(fitting) {
		if err := c.InjectAt(m, clamp(pos, len(c.Messages()))); err != nil {
			return err
		}
	}
	return nil
}

func clamp(pos protocol.Position, n int) protocol.Position {
	if i, ok := pos.Index(); ok {
		return protocol.At(min(max(i, 0), n))
	}
	return pos
}

// plain is a value as a model reads it: a text as it is.
func plain(v json.RawMessage) string {
	var text string
	if json.Unmarshal(v, &text) == nil {
		return text
	}
	return string(v)
}

func (o *InjectStored) read(ctx context.Context) ([]stored, error) {
	var found []stored
	take := func(key string, score *float64) error {
		v, err := o.Store.Read(ctx, o.Scope, key)
		if err == nil && v != nil {
			found = append(found, stored{key, v, score})
		}
		return err
	}
	for _, key := range o.Keys {
		if err := take(key, nil); err != nil {
			return nil, err
		}
	}
	if o.Query == "" {
		return found, nil
	}
	limit := o.Limit
	if limit <= 0 {
		limit = 5
	}
	hits, err := o.Store.Search(ctx, o.Scope, o.Query, min(limit, maxSearch))
	if err != nil {
		return nil, err
	}
	for _, h := range hits {
		if err := take(h.Key, &h.Score); err != nil {
			return nil, err
		}
	}
	return found, nil
}

// Flush saves what must survive a compaction. In a durable run it is done once.
type Flush struct {
	Store protocol.StateStore
	Scope protocol.Scope
	// Extract says what to save under which key.
	Extract func(c *Context) (map[string]json.RawMessage, error)
	Options protocol.StoreOptions
}

// Name implements Op.
func (*Flush) Name() string { return OpFlush }

// Run implements Op. The error names the key that could not be saved; those before it, in their order, are.
func (o *Flush) Run(ctx context.Context, c *Context) error {
	values, err := o.Extract(c)
	if err != nil {
		return fmt.Errorf("flush: %w", err)
	}
	c.emitCompaction(protocol.PreCompactionFlush{Operator: c.Operator(), Scope: o.Scope})
	for _, key := range slices.Sorted(maps.Keys(values)) {
		_, err := step.Do(ctx, OpFlush, func(ctx context.Context) (struct{}, error) {
			return struct{}{}, o.Store.Write(ctx, o.Scope, key, values[key], o.Options)
		})
		if err == nil {
			continue
		}
		c.emitCompaction(protocol.FlushFailed{Operator: c.Operator(), Scope: o.Scope, Key: key, Error: protocol.AsError(err).Message})
		return fmt.Errorf("flush %.100q: %w", key, err)
	}
	return nil
}

// SaveConversation writes the messages to a store, as an array.
type SaveConversation struct {
	Store protocol.StateStore
	Scope protocol.Scope
	Key   string
}

// Name implements Op.
func (*SaveConversation) Name() string { return OpSave }

// Run implements Op.
func (o *SaveConversation) Run(ctx context.Context, c *Context) error {
	raw, err := protocol.Marshal(c.Messages())
	if err != nil {
		return fmt.Errorf("save conversation: %w", err)
	}
	_, err = step.Do(ctx, OpSave, func(ctx context.Context) (struct{}, error) {
		return struct{}{}, o.Store.Write(ctx, o.Scope, o.Key, raw, protocol.StoreOptions{})
	})
	return err
}

// LoadConversation adds the messages that SaveConversation wrote; none if there are none. Found says whether there were.
type LoadConversation struct {
	Store protocol.StateReader
	Scope protocol.Scope
	Key   string
	Found bool
}

// Name implements Op.
func (*LoadConversation) Name() string { return OpLoad }

// Run implements Op. What cannot be read ends the run: see Halt.
func (o *LoadConversation) Run(ctx context.Context, c *Context) error {
	raw, err := step.Do(ctx, OpLoad, func(ctx context.Context) (json.RawMessage, error) {
		return o.Store.Read(ctx, o.Scope, o.Key)
	})
	if err != nil || len(raw) == 0 || string(raw) == "null" {
		return err
	}
	var messages []protocol.Message
	if err := protocol.Unmarshal(raw, &messages); err != nil {
		return Halt("failed to deserialize conversation")
	}
	o.Found = true
	for _, m := range messages {
		if m.Role == protocol.RoleSystem && m.Pinned() {
			if err := c.InjectSystem(m.Text()); err != nil {
				return err
			}
		} else if err := c.Inject(m); err != nil {
			return err
		}
	}
	return nil
}
