package effect

import (
	"context"
	"encoding/json"

	"github.com/skelegent/skelegent-go/protocol"
	"github.com/skelegent/skelegent-go/state/kv"
)

// Memory performs the memory kinds on store.
//
// Over kv, an entry tells which effect changed it last, and what is older than that is skipped: an executor that was cut
// off in the middle of a write and comes back later changes nothing. A deletion is remembered for as long as the server
// keeps its marker. Over other stores an effect is applied as it comes.
func Memory(store protocol.StateStore) Executor {
	return Func(func(ctx context.Context, r Request) error {
		switch e := r.Effect.(type) {
		case protocol.WriteMemory:
			if s, ok := store.(*kv.Store); ok {
				return inOrder(ctx, s, r, e.Scope, e.Key, func(entry kv.Entry, _ bool, by kv.WriteOption) error {
					_, err := s.WriteIf(ctx, e.Scope, e.Key, e.Value, e.Options(), entry.Revision, by, kv.Exactly())
					return err
				})
			}
			return store.Write(ctx, e.Scope, e.Key, e.Value, e.Options())
		case protocol.DeleteMemory:
			if s, ok := store.(*kv.Store); ok {
				return inOrder(ctx, s, r, e.Scope, e.Key, func(entry kv.Entry, found bool, by kv.WriteOption) error {
					if !found {
						return nil
					}
					return s.DeleteIf(ctx, e.Scope, e.Key, entry.Revision, by, kv.Exactly())
				})
			}
			return store.Delete(ctx, e.Scope, e.Key)
		case protocol.LinkMemory:
			if g, ok := store.(protocol.Graph); ok {
				return g.Link(ctx, e.Scope, e.Link)
			}
		case protocol.UnlinkMemory:
			if g, ok := store.(protocol.Graph); ok {
				return g.Unlink(ctx, e.Scope, e.FromKey, e.ToKey, e.Relation)
			}
		default:
			return wrongKind(r)
		}
		return protocol.NewError(protocol.CodeUnsupported, "the state store keeps no links")
	})
}

// author is the note in an entry: the effect that changed it last.
type author struct {
	EffectID string `json:"effect_id"`
	Order    Order  `json:"order"`
}

// inOrder changes an entry if no later effect did before, and again from its reading where somebody else changed it.
func inOrder(ctx context.Context, s *kv.Store, r Request, scope protocol.Scope, key string,
	change func(entry kv.Entry, found bool, by kv.WriteOption) error,
) error {
	note, err := protocol.Marshal(author{EffectID: r.ID, Order: r.Order})
	if err != nil {
		return err
	}
	for {
		entry, found, err := s.Entry(ctx, scope, key)
		if err != nil {
			return err
		}
		var last author
		if len(entry.By) > 0 && json.Unmarshal(entry.By, &last) != nil {
			last = author{} // a note of somebody else's: he does not count
		}
		if last.Order.Stream == r.Order.Stream && !last.Order.Before(r.Order) {
			return nil // this very effect, or a later one; orders of two streams say nothing of one another
		}
		err = change(entry, found, kv.WithBy(note))
		if protocol.CodeOf(err) != protocol.CodeConflict {
			return err
		}
	}
}
