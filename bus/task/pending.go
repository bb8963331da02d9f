package task

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/skelegent/skelegent-go/bus"
)

// Pending says what waits for an operator.
type Pending struct {
	Operator string `json:"operator"`
	Inputs   Queue  `json:"inputs"`
	Wakes    Queue  `json:"wakes"`
}

// Queue is what one of an operator's two consumers has before it.
type Queue struct {
	// Messages are the tasks that are not done, those being worked on included; InFlight are the latter.
	Messages uint64 `json:"messages"`
	InFlight int    `json:"in_flight"`
	// Consumer says that a node hosts the operator, or did. Listening says that one asks for tasks, or works on one, now.
	Consumer  bool `json:"consumer"`
	Listening bool `json:"listening"`
	// Oldest is when the first of them was stored.
	Oldest time.Time `json:"oldest,omitzero"`
}

// Pending returns the operators for which something waits, sorted.
func (t *Tasks) Pending(ctx context.Context) ([]Pending, error) {
	const attempted = "read pending tasks"
	ctx, cancel := bounded(ctx)
	defer cancel()
	stream, err := t.conn.JetStream().Stream(ctx, t.tasks)
	if err != nil {
		return nil, bus.Translate(attempted, err)
	}
	info, err := stream.Info(ctx, jetstream.WithSubjectFilter(">"))
	if err != nil {
		return nil, bus.Translate(attempted, err)
	}
	operators, queues := t.count(info.State.Subjects)
	consumers := stream.ListConsumers(ctx)
	for info := range consumers.Info() {
		if q := queues[info.Config.FilterSubject]; q != nil {
			q.Consumer, q.InFlight = true, info.NumAckPending
			q.Listening = info.NumWaiting > 0 || info.NumAckPending > 0
		}
	}
	if err := consumers.Err(); err != nil {
		return nil, bus.Translate(attempted, err)
	}
	for filter, q := range queues {
		if q.Messages == 0 {
			continue
		}
		first, err := stream.GetMsg(ctx, 1, jetstream.WithGetMsgSubject(filter))
		if errors.Is(err, jetstream.ErrMsgNotFound) {
			continue // it was done meanwhile
		}
		if err != nil {
			return nil, bus.Translate(attempted, err)
		}
		q.Oldest = first.Time
	}
	found := make([]Pending, 0, len(operators))
	for _, p := range operators {
		found = append(found, *p)
	}
	slices.SortFunc(found, func(a, b Pending) int { return cmp.Compare(a.Operator, b.Operator) })
	return found, nil
}

// count sums the messages of all subjects by operator; queues are those of the operators by their consumer's filter.
func (t *Tasks) count(subjects map[string]uint64) (operators map[string]*Pending, queues map[string]*Queue) {
	names := t.conn.Names()
	operators, queues = map[string]*Pending{}, map[string]*Queue{}
	for subject, n := range subjects {
		rest, wake := strings.CutPrefix(subject, family(names, "wake"))
		operator, _, _ := strings.Cut(strings.TrimPrefix(rest, family(names, "task")), ".")
		p := operators[operator]
		if p == nil {
			p = &Pending{Operator: operator}
			operators[operator] = p
			queues[names.Task(operator)], queues[names.WakesOf(operator)] = &p.Inputs, &p.Wakes
		}
		if wake {
			p.Wakes.Messages += n
		} else {
			p.Inputs.Messages += n
		}
	}
	return operators, queues
}
