package bus

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/skelegent/skelegent-go/protocol/wire"
)

// PendingEffects says what waits to be performed of one family of effects.
type PendingEffects struct {
	// Family is as FamilyOf names it; a digest where the name is too long for a subject.
	Family string `json:"family"`
	// Messages are the requests that are not done, those being worked on included; InFlight are the latter.
	Messages uint64 `json:"messages"`
	InFlight int    `json:"in_flight"`
	// Executor says that a consumer exists: somebody performs the family, or did. Listening says that somebody asks for
	// requests, or works on one, now.
	Executor  bool `json:"executor"`
	Listening bool `json:"listening"`
	// Oldest is when the first of them was stored.
	Oldest time.Time `json:"oldest"`
}

// PendingEffects returns the families of which something waits, sorted by name.
func (c *Conn) PendingEffects(ctx context.Context) ([]PendingEffects, error) {
	const attempted = "read pending effects"
	stream, err := c.JetStream().Stream(ctx, c.Names().Stream(wire.StreamEffects))
	if err != nil {
		return nil, Translate(attempted, err)
	}
	info, err := stream.Info(ctx, jetstream.WithSubjectFilter(c.Names().All("effect")))
	if err != nil {
		return nil, Translate(attempted, err)
	}
	waiting := map[string]*PendingEffects{} // by the filter of the family
	for subject, n := range info.State.Subjects {
		token := familyToken(subject)
		filter := c.Names().All("effect." + token)
		if waiting[filter] == nil {
			waiting[filter] = &PendingEffects{Family: unescaped(token)}
		}
		waiting[filter].Messages += n
	}
	consumers := stream.ListConsumers(ctx)
	for info := range consumers.Info() {
		for _, filter := range append([]string{info.Config.FilterSubject}, info.Config.FilterSubjects...) {
			if p := waiting[filter]; p != nil {
				p.Executor, p.InFlight = true, info.NumAckPending
				p.Listening = info.NumWaiting > 0 || info.NumAckPending > 0 || info.PushBound
			}
		}
	}
	if err := consumers.Err(); err != nil {
		return nil, Translate(attempted, err)
	}
	found := make([]PendingEffects, 0, len(waiting))
	for filter, p := range waiting {
		first, err := stream.GetMsg(ctx, 1, jetstream.WithGetMsgSubject(filter))
		if errors.Is(err, jetstream.ErrMsgNotFound) {
			continue // it was done meanwhile
		}
		if err != nil {
			return nil, Translate(attempted, err)
		}
		p.Oldest = first.Time
		found = append(found, *p)
	}
	slices.SortFunc(found, func(a, b PendingEffects) int { return cmp.Compare(a.Family, b.Family) })
	return found, nil
}

// familyToken is the second token behind the prefix of the subject of an effect.
func familyToken(subject string) string {
	tokens := strings.SplitN(subject, ".", 4)
	if len(tokens) < 3 {
		return subject
	}
	return tokens[2]
}

// unescaped is what a token stands for, or the token itself where that cannot be known.
func unescaped(token string) string {
	if s, err := wire.Unescape(token); err == nil {
		return s
	}
	return token
}
