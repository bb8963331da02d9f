package kv

import (
	"context"
	"encoding/base64"
	"errors"
	"strings"
	"time"
)

// sweepAge is how old a blob must be for Sweep to remove it: longer than any write takes.
const sweepAge = time.Hour

// Sweep removes blobs that no entry refers to: of values that expired, of writes that nobody learned the outcome of, of
// nodes that died between blob and entry. It returns how many. It looks at every blob of the store, so call it rarely,
// from one node; calling it from more does no harm. Only each request has a deadline of its own, not the whole.
func (s *Store) Sweep(ctx context.Context) (int, error) {
	names, chunks, err := s.allBlobs(ctx)
	if err != nil {
		return 0, s.translate(ctx, "sweep", err)
	}
	removed := 0
	for _, name := range names {
		id := name[strings.LastIndexByte(name, '/')+1:]
		delete(chunks, s.chunkSubject(chunkPrefix+id))
		key, _, _ := strings.Cut(strings.TrimPrefix(name, blobPrefix), "/")
		gone, err := s.sweepOne(ctx, s.metaSubject(name), s.prefix+key, name)
		if err != nil {
			return removed, s.translate(ctx, "sweep", err)
		}
		removed += gone
	}
	for subject := range chunks { // of blobs that were never finished
		gone, err := s.sweepOne(ctx, subject, "", blobPrefix+"/"+strings.TrimPrefix(lastToken(subject), chunkPrefix))
		if err != nil {
			return removed, s.translate(ctx, "sweep", err)
		}
		removed += gone
	}
	return removed, nil
}

// allBlobs returns the names of our blobs and the subjects of our chunks.
func (s *Store) allBlobs(ctx context.Context) (names []string, chunks map[string]bool, err error) {
	call, cancel, err := s.begin(ctx)
	if err != nil {
		return nil, nil, err
	}
	defer cancel()
	parts, err := s.subjects(call, s.blobStream, s.chunkSubject("*")) // first: a blob that is finished later has a name
	if err != nil {
		return nil, nil, err
	}
	metas, err := s.subjects(call, s.blobStream, "$O."+s.blobs+".M.*")
	if err != nil {
		return nil, nil, err
	}
	chunks = map[string]bool{}
	for _, subject := range parts {
		if strings.HasPrefix(lastToken(subject), chunkPrefix) {
			chunks[subject] = true
		}
	}
	for _, subject := range metas {
		name, err := base64.URLEncoding.DecodeString(lastToken(subject))
		if err == nil && strings.HasPrefix(string(name), blobPrefix) {
			names = append(names, string(name))
		}
	}
	return names, chunks, nil
}

// sweepOne removes a blob whose message of a subject is old, unless the entry of a key refers to it. It returns 1 if it did.
func (s *Store) sweepOne(ctx context.Context, subject, key, name string) (int, error) {
	call, cancel, err := s.begin(ctx)
	if err != nil {
		return 0, err
	}
	defer cancel()
	m, err := s.blobMessage(call, subject, 0)
	if errors.Is(err, errBlob) || err == nil && s.cfg.Now().Sub(m.Message.Time) < sweepAge {
		return 0, nil
	}
	if err != nil {
		return 0, err
	}
	if key != "" {
		st, err := s.last(call, key)
		if err != nil || st.bad == nil && st.record.Blob != nil && st.record.Blob.Name == name {
			return 0, err
		}
	}
	if err := s.purgeBlob(call, name); err != nil {
		return 0, err
	}
	return 1, nil
}
