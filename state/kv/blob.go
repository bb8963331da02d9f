package kv

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"go.uber.org/zap"

	"github.com/skelegent/skelegent-go/protocol"
)

// Blobs are objects like those of every client, but handled here, for three reasons: the client library reads them by
// a consumer on any replica, and waits until the deadline for chunks that have just been removed; its Put can leave a
// goroutine behind; and its Delete leaves a message for every name there ever was.

// blobPrefix sets our blobs apart from those of runs, whose names start with an operator: none starts like this.
const blobPrefix = "_state/"

// chunkPrefix does the same for the chunks of blobs.
const chunkPrefix = "state-"

// errBlob: the blob of an entry is not there, or is not what it should be.
var errBlob = errors.New("blob is missing or damaged")

func (s *Store) chunkSubject(nuid string) string { return "$O." + s.blobs + ".C." + nuid }

func (s *Store) metaSubject(name string) string {
	return "$O." + s.blobs + ".M." + base64.URLEncoding.EncodeToString([]byte(name))
}

// writeBlob stores a value under a name of its own: blobs are never overwritten, so an entry and its blob agree.
func (s *Store) writeBlob(ctx context.Context, subject, id string, value []byte) (blobRef, error) {
	sum := sha256.Sum256(value)
	ref := blobRef{
		Name: blobPrefix + strings.TrimPrefix(subject, s.prefix) + "/" + id,
		Size: len(value), SHA256: hex.EncodeToString(sum[:]),
	}
	nuid, size := chunkPrefix+id, s.chunkSize()
	err := s.putChunks(ctx, nuid, size, value)
	if err == nil {
		err = s.putMeta(ctx, id, &jetstream.ObjectInfo{
			ObjectMeta: jetstream.ObjectMeta{Name: ref.Name, Opts: &jetstream.ObjectMetaOptions{ChunkSize: uint32(size)}},
			Bucket:     s.blobs, NUID: nuid, Size: uint64(len(value)), Chunks: uint32((len(value) + size - 1) / size),
			Digest: "SHA-256=" + base64.URLEncoding.EncodeToString(sum[:]),
		})
	}
	if err != nil {
		s.removeBlob(ctx, &ref)
		return blobRef{}, err
	}
	return ref, nil
}

// chunkSize is how long the messages of a blob are.
func (s *Store) chunkSize() int {
	const most = 256 << 10
	return max(1024, min(most, int(s.js.Conn().MaxPayload())/2))
}

// Other than those of buckets, the subjects of objects are the same in every domain: servers map no prefix to them.

// putChunks has an id for each chunk, by which the server knows one that is sent again.
func (s *Store) putChunks(ctx context.Context, nuid string, size int, value []byte) error {
	subject := s.chunkSubject(nuid)
	for n := 0; len(value) > 0; n++ {
		chunk := value[:min(size, len(value))]
		value = value[len(chunk):]
		msg := &nats.Msg{Subject: subject, Header: nats.Header{}, Data: chunk}
		if _, err := s.commit(ctx, s.blobStream, msg, subject, nuid+"."+strconv.Itoa(n), nil); err != nil {
			return err
		}
	}
	return nil
}

func (s *Store) putMeta(ctx context.Context, id string, info *jetstream.ObjectInfo) error {
	data, err := json.Marshal(info)
	if err != nil {
		return err
	}
	subject := s.metaSubject(info.Name)
	msg := &nats.Msg{Subject: subject, Header: nats.Header{}, Data: data}
	msg.Header.Set(jetstream.MsgRollup, jetstream.MsgRollupSubject)
	_, err = s.commit(ctx, s.blobStream, msg, subject, chunkPrefix+id+".meta", nil)
	return err
}

// blobMessage returns the last message of a subject of the object store, or the next from a sequence. None is an errBlob.
func (s *Store) blobMessage(ctx context.Context, subject string, from uint64) (message, error) {
	req := map[string]any{"last_by_subj": subject}
	if from > 0 {
		req = map[string]any{"next_by_subj": subject, "seq": from}
	}
	var m message
	err := s.request(ctx, "STREAM.MSG.GET", s.blobStream, req, &m)
	if apiCode(err) == jetstream.JSErrCodeMessageNotFound {
		err = errors.Join(errBlob, err)
	}
	return m, err
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

func (s *Store) chunks(ctx context.Context, ref blobRef) ([]byte, error) {
	var info jetstream.ObjectInfo
	meta, err := s.blobMessage(ctx, s.metaSubject(ref.Name), 0)
	if err != nil {
		return nil, err
	}
	if err := json.Unmarshal(meta.Message.Data, &info); err != nil || info.Deleted || info.Size != uint64(ref.Size) {
		return nil, errors.Join(errBlob, err)
	}
	value, seq := make([]byte, 0, min(ref.Size, s.cfg.MaxValue)), uint64(0)
	for range info.Chunks {
		chunk, err := s.blobMessage(ctx, s.chunkSubject(info.NUID), seq+1)
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
	if err := s.purgeBlob(ctx, ref.Name); err != nil {
		s.log.Warn("blob could not be removed", zap.Int("size", ref.Size), zap.Error(err))
	}
}

// purgeBlob removes a blob without a trace. The chunks of one of ours can be told from its name.
func (s *Store) purgeBlob(ctx context.Context, name string) error {
	if _, err := s.purge(ctx, s.blobStream, s.metaSubject(name), 0); err != nil {
		return err
	}
	id := name[strings.LastIndexByte(name, '/')+1:]
	_, err := s.purge(ctx, s.blobStream, s.chunkSubject(chunkPrefix+id), 0)
	return err
}
