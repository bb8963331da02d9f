package kv

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"

	"github.com/nats-io/nats.go/jetstream"
	"go.uber.org/zap"

	"github.com/skelegent/skelegent-go/protocol"
	"github.com/skelegent/skelegent-go/protocol/wire"
	"github.com/skelegent/skelegent-go/state"
)

var (
	_ protocol.StateStore = (*Store)(nil)
	_ protocol.Graph      = (*Store)(nil)
)

// Store is a StateStore and a Graph in a bucket. Make one with Open.
type Store struct {
	js  jetstream.JetStream
	cfg Config
	log *zap.Logger

	bucket        string // SKG_STATE
	stream        string // KV_SKG_STATE
	prefix        string // $KV.SKG_STATE.
	blobs         string // SKG_BLOBS
	blobStream    string // OBJ_SKG_BLOBS
	api           string // $JS.API.
	publishPrefix string // before prefix, where the bucket is in another domain
	maxMessage    int    // of the bucket; not positive: what the server takes
}

// begin starts a call: its context has a deadline. The error is that of a context that ended before.
func (s *Store) begin(ctx context.Context) (context.Context, context.CancelFunc, error) {
	if err := ctx.Err(); err != nil {
		return nil, nil, protocol.AsError(err)
	}
	ctx, cancel := context.WithTimeout(ctx, s.cfg.Timeout)
	return ctx, cancel, nil
}

// Read implements protocol.StateReader.
func (s *Store) Read(ctx context.Context, scope protocol.Scope, key string) (json.RawMessage, error) {
	entry, _, err := s.Entry(ctx, scope, key)
	return entry.Value, err
}

// Options returns the options that a value was written with, its TTL what is left of it, and false where there is
// no value.
func (s *Store) Options(ctx context.Context, scope protocol.Scope, key string) (protocol.StoreOptions, bool, error) {
	entry, found, err := s.Entry(ctx, scope, key)
	if !found {
		return protocol.StoreOptions{}, false, err
	}
	return entry.Options, true, err
}

// Entry returns a value with its revision, or false where there is none; then only Revision and By may be set, and
// a write or delete with that revision is one if the key is still as it was. The slices belong to the caller.
func (s *Store) Entry(ctx context.Context, scope protocol.Scope, key string) (Entry, bool, error) {
	call, cancel, err := s.begin(ctx)
	if err != nil {
		return Entry{}, false, err
	}
	defer cancel()
	st, value, err := s.load(call, s.prefix+entryKey(scope, key))
	if err != nil {
		return Entry{}, false, s.translate(ctx, "read "+place(scope, key), err)
	}
	entry := Entry{By: st.record.By, Revision: st.seq}
	now := s.cfg.Now()
	if !st.live(now) {
		return entry, false, nil
	}
	entry.Value, entry.Options = value, st.record.options(now)
	if st.record.Expires != nil {
		entry.Expires = *st.record.Expires
	}
	return entry, true, nil
}

// load returns the last message of a key and, if it is live, its value, wherever that is.
func (s *Store) load(ctx context.Context, subject string) (stored, json.RawMessage, error) {
	for {
		st, err := s.last(ctx, subject)
		if err != nil || !st.live(s.cfg.Now()) {
			return st, nil, err
		}
		value, err := s.value(ctx, st)
		if !errors.Is(err, errBlob) {
			return st, value, err
		}
		// Overwritten since we read the entry? Then its blob went with it.
		again, lastErr := s.last(ctx, subject)
		if lastErr != nil || again.seq == st.seq {
			return st, nil, err
		}
	}
}

// value returns the value of a live message.
func (s *Store) value(ctx context.Context, st stored) (json.RawMessage, error) {
	if st.bad != nil {
		return nil, protocol.ErrSerialization("what the bucket has is not an entry").Because(st.bad)
	}
	if st.record.Blob != nil {
		return s.readBlob(ctx, *st.record.Blob)
	}
	return st.record.Value, nil
}

// List implements protocol.StateReader. It asks for each key by itself whether it is live, several at a time.
func (s *Store) List(ctx context.Context, scope protocol.Scope, prefix string) ([]string, error) {
	call, cancel, err := s.begin(ctx)
	if err != nil {
		return nil, err
	}
	defer cancel()
	subjects, err := s.subjects(call, s.stream, s.prefix+entryFilter(scope))
	if err != nil {
		return nil, s.translate(ctx, "list "+clip(scope.String()), err)
	}
	subjects = slices.DeleteFunc(subjects, func(subject string) bool {
		key, err := wire.Unescape(lastToken(subject))
		return err == nil && !strings.HasPrefix(key, prefix) // a digest must be asked for
	})
	keys, err := s.keys(call, subjects)
	if err != nil {
		return nil, s.translate(ctx, "list "+clip(scope.String()), err)
	}
	keys = slices.DeleteFunc(keys, func(key string) bool { return !strings.HasPrefix(key, prefix) })
	slices.Sort(keys)
	return keys, nil
}

// keys returns the original keys of those subjects that are live, in any order.
func (s *Store) keys(ctx context.Context, subjects []string) ([]string, error) {
	found := make(chan string, len(subjects))
	err := s.each(ctx, subjects, func(_ context.Context, st stored) error {
		key, ok := st.key()
		if !ok {
			s.log.Warn("entry does not say its key", zap.String("subject", st.subject), zap.Uint64("seq", st.seq))
			return nil
		}
		found <- key
		return nil
	})
	close(found)
	keys := []string{}
	for key := range found {
		keys = append(keys, key)
	}
	return keys, err
}

// Search implements protocol.StateReader.
func (s *Store) Search(ctx context.Context, scope protocol.Scope, query string, limit int) ([]protocol.SearchResult, error) {
	call, cancel, err := s.begin(ctx)
	if err != nil {
		return nil, err
	}
	defer cancel()
	search, err := state.NewSearch(query, limit, s.cfg.Limits)
	if err != nil {
		return nil, err
	}
	if search.Empty() {
		return search.Results(), nil
	}
	subjects, err := s.subjects(call, s.stream, s.prefix+entryFilter(scope))
	if err == nil {
		err = search.Check(len(subjects))
	}
	if err == nil {
		err = s.each(call, subjects, func(ctx context.Context, st stored) error { return s.look(ctx, search, st) })
	}
	if err != nil {
		return nil, s.translate(ctx, "search "+clip(scope.String()), err)
	}
	return search.Results(), nil
}

// look adds one entry to a search. One that cannot be read does not spoil the search for the others.
func (s *Store) look(ctx context.Context, search *state.Search, st stored) error {
	key, ok := st.key()
	if !ok || st.bad != nil {
		s.log.Warn("entry cannot be searched", zap.String("subject", st.subject), zap.Uint64("seq", st.seq), zap.Error(st.bad))
		return nil //nolint:nilerr // it is logged, and the others are searched
	}
	value := st.record.Value
	if st.record.Blob != nil {
		var err error
		st, value, err = s.load(ctx, st.subject)
		if errors.Is(err, errBlob) {
			s.log.Warn("blob cannot be searched", zap.String("subject", st.subject), zap.Uint64("seq", st.seq), zap.Error(err))
			return nil
		}
		if err != nil || value == nil {
			return err
		}
	}
	return search.Add(key, value)
}

// place names a key in an error.
func place(scope protocol.Scope, key string) string { return clip(scope.String() + "/" + key) }

// clip keeps what users chose from filling an error.
func clip(text string) string {
	const most = 120
	if len(text) > most {
		text = text[:most] + "..."
	}
	return strings.ToValidUTF8(text, "?")
}
