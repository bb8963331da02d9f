package protocol

import "slices"

// TruncateFront removes and returns the first n messages. The error is an *OutOfBoundsError or a *RejectedError; with n
// of 0 nothing happens and no watcher is asked.
func (c *OperatorContext) TruncateFront(n int) ([]Message, error) { return c.cut(n, 0) }

// TruncateBack removes and returns the last n messages, like TruncateFront.
func (c *OperatorContext) TruncateBack(n int) ([]Message, error) { return c.cut(n, len(c.messages)-n) }

func (c *OperatorContext) cut(n, from int) ([]Message, error) {
	if n < 0 || n > len(c.messages) {
		return nil, &OutOfBoundsError{Index: n, Len: len(c.messages)}
	}
	i := -1
	return c.RemoveWhere(func(Message) bool {
		i++
		return i >= from && i < from+n
	})
}

// RemoveWhere removes and returns the messages for which match is true; the others keep their order. Without one nothing
// happens and no watcher is asked. The error is a *RejectedError.
func (c *OperatorContext) RemoveWhere(match func(Message) bool) ([]Message, error) {
	kept, removed := partition(c.messages, func(m Message) bool { return !match(m) })
	if len(removed) == 0 {
		return nil, nil
	}
	if err := c.ask(func(w ContextWatcher) error { return w.OnRemove(len(removed)) }); err != nil {
		return nil, err
	}
	c.messages = kept
	return removed, nil
}

// CompactTruncate keeps the last messages, whatever their policy, and returns the others. If there are no more than
// keep, nothing happens and no watcher is asked. The error is a *RejectedError.
func (c *OperatorContext) CompactTruncate(keep int) ([]Message, error) {
	if keep = max(keep, 0); keep >= len(c.messages) {
		return nil, nil
	}
	split := len(c.messages) - keep
	return c.compact(func(all []Message) (kept, removed []Message) { return all[split:], all[:split] })
}

// CompactByPolicy keeps the pinned messages and returns the others. The error is a *RejectedError.
func (c *OperatorContext) CompactByPolicy() ([]Message, error) {
	return c.compact(func(all []Message) (kept, removed []Message) { return partition(all, Message.Pinned) })
}

// CompactWith replaces the messages by what f makes of them and returns those that were there. The error is a
// *RejectedError, and then f was not called.
func (c *OperatorContext) CompactWith(f func(all []Message) []Message) ([]Message, error) {
	return c.compact(func(all []Message) (kept, removed []Message) { return slices.Clone(f(slices.Clone(all))), all })
}

func (c *OperatorContext) compact(split func([]Message) (kept, removed []Message)) ([]Message, error) {
	before := len(c.messages)
	if err := c.ask(func(w ContextWatcher) error { return w.OnPreCompact(before) }); err != nil {
		return nil, err
	}
	kept, removed := split(c.messages)
	c.messages = slices.Clip(kept)
	for _, w := range c.watchers {
		w.OnPostCompact(max(0, before-len(kept)), len(kept))
	}
	return slices.Clip(removed), nil
}

func partition(all []Message, keep func(Message) bool) (kept, removed []Message) {
	for _, m := range all {
		if keep(m) {
			kept = append(kept, m)
		} else {
			removed = append(removed, m)
		}
	}
	return kept, removed
}
