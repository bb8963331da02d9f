package rule

import (
	"context"

	"github.com/skelegent/skelegent-go/actors/engine"
	"github.com/skelegent/skelegent-go/protocol"
)

const sourceReminder = "rule:reminder"

// Remind tells the model text again with each question but the first of a run, as a message of the user behind all others. It stands
// in the conversation only while the model is asked, so there is never more than one, no compaction sees it, and the system prompt
// stays as it is: what providers cache of the conversation remains good.
func Remind(text string) []engine.Rule {
	r := &reminder{text}
	return []engine.Rule{
		engine.Before(engine.OpInfer, "remind", priorityRemind, engine.OpFunc("remind", r.say)),
		engine.After(engine.OpInfer, "remind", priorityRemind, engine.OpFunc("remind", r.forget)),
	}
}

type reminder struct{ text string }

func (r *reminder) say(_ context.Context, c *engine.Context) error {
	if c.Metrics().Turns == 0 {
		return nil
	}
	m := protocol.NewMessage(protocol.RoleUser, protocol.TextContent(r.text))
	m.Meta.Policy, m.Meta.Source = protocol.PolicyDiscardWhenDone, new(sourceReminder)
	return c.Inject(m)
}

func (r *reminder) forget(_ context.Context, c *engine.Context) error {
	_, err := c.Remove(func(m protocol.Message) bool {
		return m.Meta.Source != nil && *m.Meta.Source == sourceReminder && m.Text() == r.text
	})
	return err
}
