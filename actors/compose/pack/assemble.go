package pack

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/skelegent/skelegent-go/actors/engine"
	"github.com/skelegent/skelegent-go/actors/step"
	"github.com/skelegent/skelegent-go/protocol"
)

// OpAssemble is what rules know the op of Assemble by, and the name of its step.
const OpAssemble = "pack_context"

// What bounds one assembly, beside its window.
const (
	maxSources   = 64      // of one op
	maxGiven     = 100_000 // items that all sources give together
	maxOmissions = 100     // that are recorded one by one
	maxMarked    = 256     // bytes of a message's source
)

// AssembleConfig says what becomes of what sources give. The zero AssembleConfig works.
type AssembleConfig struct {
	// Pack is the window. What marks each piece is counted in it.
	Pack Config
	// Preamble stands before the pieces; it is not counted. None if empty.
	Preamble string
	// Policy is what a compaction may do with the message; protocol.PolicyCompressFirst if empty.
	Policy protocol.CompactionPolicy
}

// Assemble is an op for agent.Config.Assemble that puts what fits of the sources' items into the conversation, as one system
// message. In the message each piece says where it comes from:
//
//	<context source="File" id="docs/style.md">
//	...
//	</context>
//
// Items of one rank are in the order of the sources; see Ranked. What is left out is in the Snapshot of the context. If nothing
// fits there is no message.
//
// In a durable run the message is recorded: a run that goes on reads it and asks no source. The error is a source's, and says
// which by its place.
func Assemble(cfg AssembleConfig, sources ...Source) engine.Op {
	sources = slices.Clone(sources)
	return engine.OpFunc(OpAssemble, func(ctx context.Context, c *engine.Context) error {
		done, err := step.Do(ctx, OpAssemble, func(ctx context.Context) (assembled, error) { return assemble(ctx, c, cfg, sources) })
		if err != nil {
			return err
		}
		return done.inject(c, cfg)
	})
}

// assembled is what is recorded of an assembly.
type assembled struct {
	Text    string    `json:"text"`
	From    string    `json:"from"`
	Omitted []leftOut `json:"omitted,omitempty"`
	// More is how many omissions are not in Omitted.
	More int `json:"more,omitempty"`
}

// leftOut is an omission without its text.
type leftOut struct {
	Source Kind   `json:"source"`
	ID     string `json:"id"`
	Chars  int    `json:"chars"`
	Why    Reason `json:"why"`
}

func assemble(ctx context.Context, c *engine.Context, cfg AssembleConfig, sources []Source) (assembled, error) {
	items, err := collect(ctx, c, sources)
	if err != nil {
		return assembled{}, err
	}
	for i, item := range items {
		items[i] = item.WithText(marked(item))
	}
	p := Plan(items, cfg.Pack)
	done := assembled{Text: p.Text(), From: from(p.Selected)}
	for o := range p.Omitted() {
		if len(done.Omitted) == maxOmissions {
			break
		}
		done.Omitted = append(done.Omitted, leftOut{o.Item.Source, clip(o.Item.SourceID, maxMarked), o.Item.Chars(), o.Reason})
	}
	done.More = p.OmittedLen() - len(done.Omitted)
	if len(p.Selected) > 0 && cfg.Preamble != "" {
		done.Text = cfg.Preamble + "\n" + done.Text
	}
	return done, nil
}

// collect asks the sources one after the other.
func collect(ctx context.Context, c *engine.Context, sources []Source) ([]Item, error) {
	if len(sources) > maxSources {
		return nil, protocol.NewError(protocol.CodeInvalidInput, fmt.Sprintf("context: more than %d sources", maxSources))
	}
	var all []Item
	for n, s := range sources {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		items, err := s.Items(ctx, c)
		if err != nil {
			return nil, fmt.Errorf("context source %d: %w", n+1, err)
		}
		if len(all)+len(items) > maxGiven {
			return nil, protocol.NewError(protocol.CodeInvalidInput, fmt.Sprintf("context source %d: more than %d items", n+1, maxGiven))
		}
		all = append(all, items...)
	}
	return all, nil
}

// inject puts the message in, and says what was left out.
func (a assembled) inject(c *engine.Context, cfg AssembleConfig) error {
	for _, o := range a.Omitted {
		c.Omit(engine.Omission{Source: "pack:" + o.Source.String() + " " + o.ID, Tokens: o.Chars / charsPerToken, Why: o.Why.explain()})
	}
	if a.More > 0 {
		c.Omit(engine.Omission{Source: "pack:", Why: fmt.Sprintf("%d more items were left out", a.More)})
	}
	if a.From == "" {
		return nil
	}
	m := protocol.NewMessage(protocol.RoleSystem, protocol.TextContent(a.Text))
	m.Meta.Policy = cmp.Or(cfg.Policy, protocol.PolicyCompressFirst)
	m.Meta.Source = new(engine.SourceMemory + "pack(" + a.From + ")")
	return c.Inject(m)
}

const charsPerToken = 4

func (r Reason) explain() string {
	switch r {
	case ReasonMaxItems:
		return "the number of items is used up"
	case ReasonOverBudget:
		return "the characters for context are used up"
	case ReasonTooLarge:
		return "it is too large"
	case ReasonNotText:
		return "it is no text"
	}
	return string(r)
}

const (
	openTag  = "<context "
	closeTag = "</context"
)

// marked is the text of an item with where it comes from. A text cannot end its own piece, nor begin another.
func marked(item Item) string {
	return openTag + `source="` + attribute(item.Source.String()) + `" id="` + attribute(item.SourceID) + "\">\n" +
		disarm(item.text) + "\n" + closeTag + ">"
}

var attributes = strings.NewReplacer(`&`, "&amp;", `"`, "&quot;", "<", "&lt;", ">", "&gt;", "\n", " ", "\r", " ")

func attribute(s string) string { return attributes.Replace(clip(s, maxMarked)) }

// disarm keeps what looks like a mark from being one, in whatever case it is written.
func disarm(text string) string {
	var b strings.Builder
	rest := text
	for {
		i := strings.IndexByte(rest, '<')
		if i < 0 {
			break
		}
		b.WriteString(rest[:i])
		rest = rest[i:]
		if isMark(rest) {
			b.WriteString("&lt;")
			rest = rest[1:]
			continue
		}
		b.WriteByte('<')
		rest = rest[1:]
	}
	if b.Len() == 0 {
		return text
	}
	b.WriteString(rest)
	return b.String()
}

// isMark reports whether s begins as a mark does.
func isMark(s string) bool {
	s = strings.TrimLeft(s[1:], " \t/")
	const name = "context"
	return len(s) >= len(name) && strings.EqualFold(s[:len(name)], name)
}

// from names what a message is of, in a line.
func from(selected []Item) string {
	var names []string
	for _, item := range selected {
		names = append(names, item.Source.String()+" "+item.SourceID)
	}
	return clip(strings.Join(names, "; "), maxMarked)
}

func clip(s string, most int) string {
	if len(s) <= most {
		return s
	}
	return strings.ToValidUTF8(s[:most], "") + "..."
}

// errNil is of a source that is none.
var errNil = errors.New("the source is nil")
