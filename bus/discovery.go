package bus

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"slices"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/micro"
)

// MetadataOperator marks the micro services that are operators; its value is the subject prefix.
const MetadataOperator = "skelegent.prefix"

// OperatorService is one operator on one node, as discovery reports it.
type OperatorService struct {
	micro.Info
	Stats *micro.EndpointStats `json:"stats,omitempty"`
}

// Operators asks every node which operators it hosts and collects the answers until none has come for wait, or ctx
// ends. They are sorted by name, then id.
func (c *Conn) Operators(ctx context.Context, wait time.Duration) ([]OperatorService, error) {
	var found []OperatorService
	err := c.gather(ctx, micro.InfoVerb, wait, func(data []byte) {
		var info micro.Info
		if json.Unmarshal(data, &info) == nil && info.Metadata[MetadataOperator] == c.Names().Prefix() {
			found = append(found, OperatorService{Info: info})
		}
	})
	if err != nil {
		return nil, err
	}
	slices.SortFunc(found, func(a, b OperatorService) int {
		return cmp.Or(cmp.Compare(a.Name, b.Name), cmp.Compare(a.ID, b.ID))
	})
	return found, nil
}

// OperatorStats is Operators with the statistics of each.
func (c *Conn) OperatorStats(ctx context.Context, wait time.Duration) ([]OperatorService, error) {
	found, err := c.Operators(ctx, wait)
	if err != nil {
		return nil, err
	}
	stats := map[string]*micro.EndpointStats{}
	err = c.gather(ctx, micro.StatsVerb, wait, func(data []byte) {
		var s micro.Stats
		if json.Unmarshal(data, &s) == nil && len(s.Endpoints) > 0 {
			stats[s.ID] = s.Endpoints[0]
		}
	})
	for i := range found {
		found[i].Stats = stats[found[i].ID]
	}
	return found, err
}

// maxGather bounds how many answers to one question are read.
const maxGather = 10_000

// gather asks all services and calls f with each answer.
func (c *Conn) gather(ctx context.Context, verb micro.Verb, wait time.Duration, f func(data []byte)) error {
	subject, err := micro.ControlSubject(verb, "", "")
	if err != nil {
		return Translate("discovery", err)
	}
	inbox := c.NATS().NewInbox()
	sub, err := c.NATS().SubscribeSync(inbox)
	if err != nil {
		return Translate("discovery", err)
	}
	defer func() { _ = sub.Unsubscribe() }() // the connection may be gone, and then so is the subscription
	if err := c.NATS().PublishRequest(subject, inbox, nil); err != nil {
		return Translate("discovery", err)
	}
	for range maxGather {
		gap, cancel := context.WithTimeout(ctx, wait)
		msg, err := sub.NextMsgWithContext(gap)
		cancel()
		if errors.Is(err, nats.ErrNoResponders) || errors.Is(err, context.DeadlineExceeded) || errors.Is(err, nats.ErrTimeout) {
			return ctx.Err()
		}
		if err != nil {
			return Translate("discovery", err)
		}
		f(msg.Data)
	}
	return nil
}
