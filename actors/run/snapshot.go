package run

import (
	"encoding/json"
	"strconv"

	"github.com/skelegent/skelegent-go/protocol"
)

// Snapshot is the event from which a load begins. It must be appended only by whoever has settled the last commit, for it
// does not keep what that takes.
func (f *Fold) Snapshot() Item { return f.snapshot(protocol.EventSnapshot) }

// Close is the record of an instance that is put away: what must go on, should anybody come back, and nothing that was said.
// It must be idle, and its carrier acknowledged, for nobody settles the last commit any more. The last runs stay known: a task
// of theirs may still come, and must not run again. So do the signals for runs that may yet begin.
func (f *Fold) Close() Item {
	c := New(f.Operator, f.Instance)
	c.M, c.Turns, c.Cost, c.Known = f.M, f.Turns, f.Cost, f.Known[max(0, len(f.Known)-maxClosed):]
	c.Early = f.Early
	return c.snapshot(protocol.EventClosed)
}

func (f *Fold) snapshot(kind protocol.EventKind) Item {
	s := *f
	s.Last = nil
	id := protocol.RunID(f.Instance)
	if len(f.Known) > 0 {
		id = f.Known[len(f.Known)-1].Run
	}
	return Item{Kind: kind, Run: id, Data: &s}
}

// reasonOf reads why a signal asks to stop: its text, or the member reason.
func reasonOf(s Signal) string {
	var text string
	if json.Unmarshal(s.Data, &text) == nil {
		return clip(text)
	}
	var object struct {
		Reason string `json:"reason"`
	}
	if json.Unmarshal(s.Data, &object) == nil {
		return clip(object.Reason)
	}
	return ""
}

func clip(s string) string { return s[:min(len(s), 500)] }

func itoa(n int) string { return strconv.Itoa(n) }
