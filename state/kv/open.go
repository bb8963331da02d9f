package kv

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

// Open returns the store of a bucket. With cfg.Create what is missing is created; else a missing bucket is an error with code
// unavailable. A bucket that exists must have the right shape, or the error has code conflict and says what
// differs; only two settings are put right: direct reads are turned off, times to live on.
func Open(ctx context.Context, js jetstream.JetStream, cfg Config) (*Store, error) {
	cfg = cfg.withDefaults()
	if err := cfg.validate(); err != nil {
		return nil, protocol.NewError(protocol.CodeInvalidInput, "state store: "+err.Error())
	}
	s := &Store{js: js, cfg: cfg, bucket: cfg.Names.Stream(wire.BucketState), log: cfg.Log.Named("state")}
	s.stream, s.prefix = "KV_"+s.bucket, "$KV."+s.bucket+"."
	s.blobs = cfg.Names.Stream(wire.BucketBlobs)
	s.blobStream = "OBJ_" + s.blobs
	s.api, s.publishPrefix = apiPrefix(js.Options())
	opening, cancel := context.WithTimeout(ctx, cfg.Timeout)
	defer cancel()
	info, err := s.ensure(opening, bucketConfig(s.bucket, s.stream, cfg))
	if err != nil {
		return nil, s.translate(ctx, "open bucket "+s.bucket, err)
	}
	s.maxMessage = int(info.Config.MaxMsgSize)
	if _, err = s.ensure(opening, blobsConfig(s.blobs, s.blobStream, cfg)); err != nil {
		return nil, s.translate(ctx, "open object store "+s.blobs, err)
	}
	return s, nil
}

// dedupe is how long the bucket recognises a repeated write by its id. Repetitions come within a call's Timeout.
const dedupe = 30 * time.Second

// bucketConfig is a key-value bucket as every client knows it, but read from its leader only.
func bucketConfig(bucket, stream string, cfg Config) jetstream.StreamConfig {
	return jetstream.StreamConfig{
		Name: stream, Subjects: []string{"$KV." + bucket + ".>"},
		Description:       "State: what operators remember.",
		MaxMsgsPerSubject: 1, MaxMsgs: -1, MaxMsgSize: -1, MaxBytes: unlimited(cfg.MaxBytes), MaxConsumers: -1,
		Storage: jetstream.FileStorage, Replicas: cfg.Replicas, Discard: jetstream.DiscardNew,
		Duplicates: dedupe, AllowRollup: true, DenyDelete: true, AllowMsgTTL: true,
	}
}

// blobsConfig is an object store as every client knows it, but read from its leader only.
func blobsConfig(bucket, stream string, cfg Config) jetstream.StreamConfig {
	return jetstream.StreamConfig{
		Name: stream, Subjects: []string{"$O." + bucket + ".C.>", "$O." + bucket + ".M.>"},
		Description: "What is too large for a message.",
		Storage:     jetstream.FileStorage, Replicas: cfg.Replicas, Discard: jetstream.DiscardNew,
		MaxBytes: -1, AllowRollup: true,
	}
}

func unlimited(n int64) int64 {
	if n == 0 {
		return -1
	}
	return n
}

// ensure returns a stream as it should be: created, found, or corrected.
func (s *Store) ensure(ctx context.Context, want jetstream.StreamConfig) (*jetstream.StreamInfo, error) {
	stream, err := s.js.Stream(ctx, want.Name)
	if errors.Is(err, jetstream.ErrStreamNotFound) && s.cfg.Create {
		stream, err = s.js.CreateStream(ctx, want)
		if errors.Is(err, jetstream.ErrStreamNameAlreadyInUse) {
			stream, err = s.js.Stream(ctx, want.Name) // somebody else was first
		}
	}
	if err != nil {
		return nil, err
	}
	info := stream.CachedInfo()
	if diff := differences(want, info.Config); len(diff) > 0 {
		return nil, protocol.NewError(protocol.CodeConflict, fmt.Sprintf(
			"stream %s exists with another shape: %s; change it with `nats stream edit %s`, or use another prefix",
			want.Name, strings.Join(diff, "; "), want.Name))
	}
	if got := info.Config; got.AllowDirect || want.AllowMsgTTL && !got.AllowMsgTTL {
		got.AllowDirect, got.AllowMsgTTL = false, got.AllowMsgTTL || want.AllowMsgTTL
		if stream, err = s.js.UpdateStream(ctx, got); err != nil {
			return nil, protocol.NewError(protocol.CodeConflict, fmt.Sprintf(
				"stream %s allows direct reads, which may be stale, or no message TTL, and cannot be changed: "+
					"run `nats stream edit %s --no-allow-direct --allow-msg-ttl`", want.Name, want.Name)).Because(err)
		}
		info = stream.CachedInfo()
	}
	return info, nil
}

// differences lists what keeps a stream from doing what is wanted of it. Limits, placement and more replicas are the
// administrator's choice.
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
	if want.MaxMsgsPerSubject > 0 {
		check("history", want.MaxMsgsPerSubject, got.MaxMsgsPerSubject)
	}
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
