package bus

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/nats-io/nats.go/jetstream"
	"go.uber.org/zap"

	"github.com/skelegent/skelegent-go/protocol"
	"github.com/skelegent/skelegent-go/protocol/wire"
)

// Topology says what the streams must be like.
type Topology struct {
	// Replicas of each stream; 1 if 0.
	Replicas int
	// MaxBytes bounds the log, the tasks and the effects in bytes each; 0 leaves it to the server's limits. A full stream
	// refuses what is new. Timers have no bound of their own: a stream with schedules cannot refuse, only forget.
	MaxBytes int64
}

// maxConsumers lifts the default of 1,000 consumers a stream: observers are consumers too.
const maxConsumers = 100_000

// maxDead bounds the dead letters. They are for people; past it the oldest go.
const maxDead = 1_000_000

// dedupe is how long JetStream drops a message with an id that it has seen.
const dedupe = 2 * time.Minute

// Streams returns the streams that a node needs, those that others take from first.
func (t Topology) Streams(n wire.Names) []jetstream.StreamConfig {
	replicas, limit := max(1, t.Replicas), t.MaxBytes
	if limit <= 0 {
		limit = -1
	}
	base := jetstream.StreamConfig{
		Storage: jetstream.FileStorage, Replicas: replicas, MaxBytes: limit, MaxConsumers: maxConsumers,
		Duplicates: dedupe, MaxMsgs: -1, MaxMsgsPerSubject: -1, MaxMsgSize: -1, Discard: jetstream.DiscardNew,
	}
	log := base
	log.Name, log.Subjects = n.Stream(wire.StreamLog), []string{n.All("log"), n.All("signal")}
	log.Description = "Run logs, effect ledgers and signals; what is committed here is republished as events."
	log.RePublish = &jetstream.RePublish{Source: n.All("log"), Destination: n.All("event")}
	log.AllowMsgTTL = true

	effects := base
	effects.Name, effects.Subjects = n.Stream(wire.StreamEffects), []string{n.All("effect")}
	effects.Description = "Effects to be performed, until an executor has."
	effects.Retention = jetstream.WorkQueuePolicy

	dead := base
	dead.Name, dead.Subjects = n.Stream(wire.StreamDead), []string{n.Dead("*")}
	dead.Description = "What could not be processed, with the reason."
	dead.Discard, dead.MaxMsgs = jetstream.DiscardOld, maxDead
	return []jetstream.StreamConfig{log, timers(n, base), tasks(n, base), effects, dead}
}

// Ensure creates the streams that are missing and checks those that are there. A stream of another shape is an
// *protocol.Error with code conflict that says what differs; it is not changed.
func (c *Conn) Ensure(ctx context.Context, t Topology) error {
	ctx, cancel := context.WithTimeout(ctx, ensurePatience)
	defer cancel()
	for _, want := range t.Streams(c.Names()) {
		if want.Name == c.Names().Stream(wire.StreamTasks) {
			if err := c.ensureSources(ctx); err != nil {
				return err
			}
		}
		if err := c.insist(ctx, want.Name, func(ctx context.Context) error { return c.ensureStream(ctx, want) }); err != nil {
			return err
		}
	}
	return nil
}

// A cluster without a leader answers late, with a refusal, or not at all: so each attempt is short, and there are many.
const (
	ensurePatience = 30 * time.Second
	ensureAttempt  = 3 * time.Second
	ensurePause    = 250 * time.Millisecond
)

// insist tries f until it succeeds, fails for good, or ctx ends.
func (c *Conn) insist(ctx context.Context, stream string, f func(context.Context) error) error {
	for {
		attempt, cancel := context.WithTimeout(ctx, ensureAttempt)
		err := f(attempt)
		cancel()
		if err == nil || ctx.Err() != nil || !protocol.IsRetryable(err) {
			return err
		}
		c.Logger().Debug("stream is not there yet", zap.String("stream", stream), zap.Error(err))
		select {
		case <-ctx.Done():
			return err
		case <-time.After(ensurePause):
		}
	}
}

func (c *Conn) ensureStream(ctx context.Context, want jetstream.StreamConfig) error {
	stream, err := c.JetStream().Stream(ctx, want.Name)
	if errors.Is(err, jetstream.ErrStreamNotFound) {
		stream, err = c.JetStream().CreateStream(ctx, want) // also compared: an older server leaves out what it does not know
		if err != nil && !errors.Is(err, jetstream.ErrStreamNameAlreadyInUse) {
			return Translate("create stream "+want.Name, err)
		}
		if err != nil {
			stream, err = c.JetStream().Stream(ctx, want.Name) // another node was first
		}
	}
	if err != nil {
		return Translate("look up stream "+want.Name, err)
	}
	if diff := differences(want, stream.CachedInfo().Config); len(diff) > 0 {
		return protocol.NewError(protocol.CodeConflict, fmt.Sprintf(
			"stream %s exists with another shape: %s; change it with `nats stream edit %s`, or use another --prefix",
			want.Name, strings.Join(diff, "; "), want.Name))
	}
	return nil
}

// differences lists what keeps a stream from doing what is wanted of it. More replicas and other byte limits
// are the administrator's choice.
func differences(want, got jetstream.StreamConfig) []string {
	var diff []string
	check := func(what string, want, got any) {
		if fmt.Sprint(want) != fmt.Sprint(got) {
			diff = append(diff, fmt.Sprintf("%s is %v, must be %v", what, got, want))
		}
	}
	subjects := slices.Clone(got.Subjects)
	slices.Sort(subjects)
	check("subjects", want.Subjects, subjects)
	check("retention", want.Retention, got.Retention)
	check("discard", want.Discard, got.Discard)
	check("storage", want.Storage, got.Storage)
	check("max age", want.MaxAge, got.MaxAge)
	check("max messages per subject", want.MaxMsgsPerSubject, got.MaxMsgsPerSubject)
	check("direct reads", want.AllowDirect, got.AllowDirect)
	check("per-message TTL", want.AllowMsgTTL, got.AllowMsgTTL)
	check("message schedules (nats-server 2.12 and newer)", want.AllowMsgSchedules, got.AllowMsgSchedules)
	check("republish", republish(want.RePublish), republish(got.RePublish))
	check("sources", sources(want.Sources), sources(got.Sources))
	if want.Duplicates == 0 {
		check("duplicate window", want.Duplicates, got.Duplicates)
	}
	if want.AllowMsgSchedules { // a limit here would silently remove what is still to come
		check("max bytes", want.MaxBytes, got.MaxBytes)
		check("max messages", want.MaxMsgs, got.MaxMsgs)
	}
	if got.Replicas < want.Replicas {
		check("replicas", want.Replicas, got.Replicas)
	}
	if got.Sealed {
		check("sealed", false, true)
	}
	return diff
}

func republish(r *jetstream.RePublish) string {
	if r == nil {
		return "none"
	}
	return r.Source + " to " + r.Destination
}
