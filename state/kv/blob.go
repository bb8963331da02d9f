package kv

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/nats-io/nats.go/jetstream"
	"go.uber.org/zap"

	"github.com/skelegent/skelegent-go/protocol"
	"github.com/skelegent/skelegent-go/protocol/wire"
)

// blobPrefix sets our blobs apart from those of runs, whose names start with an operator: none starts like this.
const blobPrefix = "_state/"

// errBlob: the blob of an entry is not there, or is not what it should be.
var errBlob = errors.New("blob is missing or damaged")

// writeBlob stores a value under a name of its own: blobs are never overwritten, so an entry and its blob agree.
func (s *Store) writeBlob(ctx context.Context, subject, id string, value []byte) (blobRef, error) {
	sum := sha256.Sum256(value)
	ref := blobRef{
		Name: blobPrefix + strings.TrimPrefix(subject, s.prefix) + "/" + id,
		Size: len(value), SHA256: hex.EncodeToString(sum[:]),
	}
	meta := jetstream.ObjectMeta{Name: ref.Name, Opts: &jetstream.ObjectMetaOptions{ChunkSize: s.chunkSize()}}
	if _, err := s.blobs.Put(ctx, meta, bytes.NewReader(value)); err != nil {
		return blobRef{}, err
	}
	return ref, nil
}

// chunkSize is how long the messages of a blob are.
func (s *Store) chunkSize() uint32 {
	const most = 256 << 10
	return uint32(max(1024, min(most, s.js.Conn().MaxPayload()/2)))
}

// readBlob returns what an entry refers to. A blob that is not there, or not whole, is an errBlob.
func (s *Store) readBlob(ctx context.Context, ref blobRef) (json.RawMessage, error) {
	value, err := s.chunks(ctx, ref)
	if err != nil && !errors.Is(err, errBlob) {
		return nil, err
	}
	if sum := sha256.Sum256(value); err == nil && hex.EncodeToString(sum[:]) == ref.SHA256 {
		return value, nil
	}
	return nil, protocol.ErrSerialization(fmt.Sprintf("the blob of a value of %d bytes is missing or damaged", ref.Size)).
		WithCode(protocol.CodeInternal).Because(errors.Join(errBlob, err))
}

// chunks reads a blob from the leader. The client library would make a consumer, on any replica, and wait for chunks
// that have just been removed until the deadline.
func (s *Store) chunks(ctx context.Context, ref blobRef) ([]byte, error) {
	info, err := s.blobs.GetInfo(ctx, ref.Name)
	if errors.Is(err, jetstream.ErrObjectNotFound) || err == nil && info.Size != uint64(ref.Size) {
		return nil, errors.Join(errBlob, err)
	}
	if err != nil {
		return nil, err
	}
	bucket := s.cfg.Names.Stream(wire.BucketBlobs)
	value, seq := make([]byte, 0, min(ref.Size, s.cfg.MaxValue)), uint64(0)
	for range info.Chunks {
		var chunk message
		req := map[string]any{"next_by_subj": "$O." + bucket + ".C." + info.NUID, "seq": seq + 1}
		err := s.request(ctx, "STREAM.MSG.GET", "OBJ_"+bucket, req, &chunk)
		if apiCode(err) == jetstream.JSErrCodeMessageNotFound {
			return nil, errors.Join(errBlob, err)
		}
		if err != nil {
			return nil, err
		}
		value, seq = append(value, chunk.Message.Data...), chunk.Message.Seq
	}
	return value, nil
}

// removeBlob removes a blob that nothing refers to; nil is none. That it could not is no failure of the write: Sweep will.
func (s *Store) removeBlob(ctx context.Context, ref *blobRef) {
	if ref == nil || !strings.HasPrefix(ref.Name, blobPrefix) {
		return
	}
	// The write is done or has failed, and its caller may have gone; the blob must go all the same.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), s.cfg.Attempt)
	defer cancel()
	if err := s.blobs.Delete(ctx, ref.Name); err != nil && !errors.Is(err, jetstream.ErrObjectNotFound) {
		s.log.Warn("blob could not be removed", zap.Int("size", ref.Size), zap.Error(err))
	}
}

// sweepAge is how old a blob must be for Sweep to look at it: longer than any write takes.
const sweepAge = time.Hour

// Sweep removes blobs that no entry refers to: of values that expired, of writes that nobody learned the outcome of, of
// nodes that died between blob and entry. It returns how many. It looks at every object in the store, so call it
// rarely, from one node; calling it from more does no harm.
func (s *Store) Sweep(ctx context.Context) (int, error) {
	call, cancel, err := s.begin(ctx)
	if err != nil {
		return 0, err
	}
	defer cancel()
	all, err := s.blobs.List(call)
	if errors.Is(err, jetstream.ErrNoObjectsFound) {
		return 0, nil
	}
	if err != nil {
		return 0, s.translate(ctx, "sweep", err)
	}
	removed := 0
	for _, info := range all {
		key, ok := strings.CutPrefix(info.Name, blobPrefix)
		if !ok || s.cfg.Now().Sub(info.ModTime) < sweepAge {
			continue
		}
		key, _, _ = strings.Cut(key, "/")
		one, cancel := context.WithTimeout(ctx, s.cfg.Timeout)
		st, err := s.last(one, s.prefix+key)
		if err == nil && (st.record.Blob == nil || st.record.Blob.Name != info.Name) {
			if err = s.blobs.Delete(one, info.Name); err == nil {
				removed++
			}
		}
		cancel()
		if err != nil && !errors.Is(err, jetstream.ErrObjectNotFound) {
			return removed, s.translate(ctx, "sweep", err)
		}
	}
	return removed, nil
}
