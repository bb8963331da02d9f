package runlog

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/skelegent/skelegent-go/protocol"
	"github.com/skelegent/skelegent-go/protocol/wire"
)

// How long Ensure waits for a cluster that has no leader, if its context has no deadline before that.
const (
	ensurePatience = 30 * time.Second
	ensurePause    = 250 * time.Millisecond
)

// Ensure creates the bucket if it is missing, with as many replicas, 1 if 0. One of another shape is ErrShape; it is not
// changed. The state store keeps its own large values in the same bucket.
func (b *Blobs) Ensure(ctx context.Context, replicas int) error {
	ctx, cancel := context.WithTimeout(ctx, ensurePatience)
	defer cancel()
	for {
		err := b.ensure(ctx, max(1, replicas))
		if !errors.Is(err, ErrUnavailable) || !sleep(ctx, ensurePause) {
			return err
		}
	}
}

func (b *Blobs) ensure(ctx context.Context, replicas int) error {
	want := jetstream.StreamConfig{
		Name: b.name, Subjects: []string{b.chunkSubject(">"), "$O." + b.bucket + ".M.>"},
		Description: "What is too large for a message.",
		Storage:     jetstream.FileStorage, Replicas: replicas, Discard: jetstream.DiscardNew,
		MaxBytes: -1, AllowRollup: true,
	}
	ctx, cancel := context.WithTimeout(ctx, b.try)
	defer cancel()
	found, err := b.js.Stream(ctx, b.name)
	if errors.Is(err, jetstream.ErrStreamNotFound) {
		found, err = b.js.CreateStream(ctx, want)
		if errors.Is(err, jetstream.ErrStreamNameAlreadyInUse) {
			found, err = b.js.Stream(ctx, b.name) // somebody else was first
		}
	}
	switch {
	case err == nil:
	case isFull(err):
		return b.wrap(protocol.CodeQuotaExceeded, b.bucket, ErrFull, err)
	default:
		return b.wrap(protocol.CodeUnavailable, b.bucket, ErrUnavailable, err)
	}
	if diff := differences(want, found.CachedInfo().Config); len(diff) > 0 {
		return b.wrap(protocol.CodeConflict, fmt.Sprintf("bucket %s (%s; change it with `nats stream edit %s`, or use another prefix)",
			b.bucket, strings.Join(diff, "; "), b.name), ErrShape, nil)
	}
	return nil
}

// differences lists what keeps a bucket from being an object store that forgets nothing. Limits are the
// administrator's choice.
func differences(want, got jetstream.StreamConfig) []string {
	var diff []string
	check := func(what string, want, got any) {
		if fmt.Sprint(want) != fmt.Sprint(got) {
			diff = append(diff, fmt.Sprintf("%s is %v, must be %v", what, got, want))
		}
	}
	subjects := slices.Sorted(slices.Values(got.Subjects))
	check("subjects", want.Subjects, subjects)
	check("storage", want.Storage, got.Storage)
	check("retention", want.Retention, got.Retention)
	check("discard", want.Discard, got.Discard)
	check("max age", want.MaxAge, got.MaxAge)
	check("rollups", want.AllowRollup, got.AllowRollup)
	if got.Replicas < want.Replicas {
		check("replicas", want.Replicas, got.Replicas)
	}
	check("mirror or sources", false, got.Mirror != nil || len(got.Sources) > 0)
	check("sealed", false, got.Sealed)
	return diff
}

// Purge removes all blobs of an instance, and what was left of those that were never done. Nothing may refer to them any
// more. What another client put there under such a name stays.
func (b *Blobs) Purge(ctx context.Context, operator, token string) error {
	if err := b.check(operator, token); err != nil {
		return err
	}
	for {
		subjects, err := b.subjects(ctx, b.chunkSubject(operator+"."+token+".>"))
		if err != nil || len(subjects) == 0 {
			return err
		}
		for subject := range subjects {
			sum, _, _ := strings.Cut(strings.TrimPrefix(subject, b.chunkSubject(operator+"."+token+".")), ".")
			if err := b.purge(ctx, b.metaSubject(operator, token, sum), 0); err != nil {
				return err
			}
			if err := b.purge(ctx, subject, 0); err != nil {
				return err
			}
		}
	}
}

// check sees to it that names stay within one instance.
func (b *Blobs) check(operator, token string) error {
	if !wire.ValidOperator(operator) || token == "" || strings.ContainsAny(token, "./*> \t\r\n") {
		return b.wrap(protocol.CodeInvalidInput, fmt.Sprintf("%.80q of %.80q", token, operator), ErrSubject, nil)
	}
	return nil
}
