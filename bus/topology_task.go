package bus

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/skelegent/skelegent-go/protocol/wire"
)

// Everything that a node is to do arrives in the stream of tasks, whoever it comes from:
//
//	skg.task.<operator>                      ------------------------------------->  SKG_TASKS
//	skg.signal.<operator>.<instance>.<type>  -> SKG_LOG -------------------------->  (skg.wake....sig.<type>)
//	skg.timer.>                              -> SKG_TIMERS (skg.due.> in time) --->  (skg.wake....timer, skg.task....)
//
// The server takes over what is stored in the other two: a signal is accepted when it is in the log, and the wake
// follows. What is taken over carries the sequence that it had, in the header Nats-Stream-Source; nobody else may set it.
//
// How far it has come is kept by a durable consumer of each of the two. Without one (the server's default) it would be guessed
// from the time of the last message that the stream of tasks has, which may be a caller's: then a signal is skipped that
// was stored before it, and a run waits for it for ever. That was seen, about once in a few hundred starts.
//
// It is at least once. A server that is killed forgets how far it had taken over since it last wrote that down, up to two
// and a half minutes ago, and takes over again: also what was done meanwhile. So who does the work must know the original
// sequence again.

// tasks is a work queue: what is acknowledged is gone. It has no dedupe window, since that would go by the message id alone:
// a caller's task with the id of somebody else's signal would be dropped.
func tasks(n wire.Names, base jetstream.StreamConfig) jetstream.StreamConfig {
	c := base
	c.Name, c.Subjects = n.Stream(wire.StreamTasks), []string{n.Task("*"), n.All("wake")}
	c.Description = "Inputs and wakes, until a node has them in the log of their instance."
	c.Retention = jetstream.WorkQueuePolicy
	c.Duplicates = 0
	const first, second, third = "{{wildcard(1)}}", "{{wildcard(2)}}", "{{wildcard(3)}}"
	c.Sources = []*jetstream.StreamSource{
		{Name: n.Stream(wire.StreamLog), Consumer: sourceOf(n, wire.StreamLog), SubjectTransforms: []jetstream.SubjectTransformConfig{
			{Source: n.Prefix() + ".signal.*.*.*", Destination: n.Wake(first, second, "sig."+third)},
		}},
		{Name: n.Stream(wire.StreamTimers), Consumer: sourceOf(n, wire.StreamTimers), SubjectTransforms: []jetstream.SubjectTransformConfig{
			{Source: n.DueWake("*", "*"), Destination: n.Wake(first, second, "timer")},
			{Source: n.DueTask("*"), Destination: n.Task(first)},
		}},
	}
	return c
}

// sourceName is the consumer by which the stream of tasks takes over what another has.
const sourceName = "to_tasks"

func sourceOf(n wire.Names, stream string) *jetstream.StreamConsumerSource {
	return &jetstream.StreamConsumerSource{Name: sourceName, DeliverSubject: n.Source(stream)}
}

// sourcePending is how many messages may be on their way from one stream to the other.
const sourcePending = 10_000

// ensureSources creates the consumers by which the stream of tasks takes over what the others have, before it is created.
func (c *Conn) ensureSources(ctx context.Context) error {
	for _, source := range tasks(c.Names(), jetstream.StreamConfig{}).Sources {
		var filters []string
		for _, t := range source.SubjectTransforms {
			filters = append(filters, t.Source)
		}
		err := c.insist(ctx, source.Name, func(ctx context.Context) error {
			_, err := c.JetStream().CreateOrUpdatePushConsumer(ctx, source.Name, jetstream.ConsumerConfig{
				Durable: source.Consumer.Name, DeliverSubject: source.Consumer.DeliverSubject, FilterSubjects: filters,
				AckPolicy: jetstream.AckFlowControlPolicy, FlowControl: true, IdleHeartbeat: time.Second, MaxAckPending: sourcePending,
			})
			return Translate("create consumer "+source.Consumer.Name+" of "+source.Name, err)
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// timers has the schedules, and what became due until it expires (package task says when). The server allows no schedules in
// a stream that refuses what is new or that takes from others, so they are not in the stream of tasks.
func timers(n wire.Names, base jetstream.StreamConfig) jetstream.StreamConfig {
	c := base
	c.Name, c.Subjects = n.Stream(wire.StreamTimers), []string{n.All("due"), n.All("timer")}
	c.Description = "Schedules of sleeps, deadlines, delayed and repeated tasks."
	c.Discard, c.MaxBytes = jetstream.DiscardOld, -1
	c.AllowMsgSchedules, c.AllowMsgTTL = true, true
	return c
}

// sources says what a stream takes from others, the same whatever order it is in.
func sources(list []*jetstream.StreamSource) string {
	said := make([]string, len(list))
	for i, s := range list {
		var b strings.Builder
		b.WriteString(s.Name)
		if s.FilterSubject != "" {
			b.WriteString(" " + s.FilterSubject)
		}
		if s.Consumer != nil {
			b.WriteString(" by " + s.Consumer.Name + " on " + s.Consumer.DeliverSubject)
		}
		if s.External != nil {
			b.WriteString(" of " + s.External.APIPrefix)
		}
		for _, t := range s.SubjectTransforms {
			b.WriteString(" " + t.Source + " to " + t.Destination)
		}
		said[i] = b.String()
	}
	slices.Sort(said)
	if len(said) == 0 {
		return "none"
	}
	return strings.Join(said, ", ")
}
