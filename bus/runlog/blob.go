package runlog

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/google/uuid"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/skelegent/skelegent-go/protocol"
	"github.com/skelegent/skelegent-go/protocol/wire"
)

// Blobs are what is too large for a message of the log, in an object store that every client can read: the object is
// OPERATOR/INSTANCE TOKEN/SHA-256 of its content. A blob is written before the event that refers to it, and never changed.
//
// It does not use the client library's object store, which reads by a consumer on any replica, waits until the deadline for
// chunks that are gone, and leaves a message for all that is deleted. The chunks' subjects name the instance too, so that
// all of an instance can be found, also what a writer left that died before it was done.
type Blobs struct {
	stream
	bucket string
}

// Blob refers to the content of a blob.
type Blob struct {
	SHA256 string `json:"sha256"` // hexadecimal
	Size   int    `json:"size"`   // in bytes
}

// NewBlobs returns the blobs of names. It asks the server nothing.
func NewBlobs(js jetstream.JetStream, names wire.Names) *Blobs {
	bucket := names.Stream(wire.BucketBlobs)
	return &Blobs{newStream(js, "OBJ_"+bucket, "blob"), bucket}
}

// Put stores data among the blobs of an instance, whose token is that of its subjects, and returns how to refer to it.
// What is there already is not written again. Empty data is not stored at all. After ErrUnknown or ErrConflict, repeat it.
func (b *Blobs) Put(ctx context.Context, operator, token string, data []byte) (Blob, error) {
	if err := b.check(operator, token); err != nil {
		return Blob{}, err
	}
	sum := sha256.Sum256(data)
	blob := Blob{SHA256: hex.EncodeToString(sum[:]), Size: len(data)}
	if len(data) == 0 {
		return blob, nil
	}
	subject := b.metaSubject(operator, token, blob.SHA256)
	info, seq, err := b.meta(ctx, subject)
	if err != nil {
		return Blob{}, err
	}
	if whole(info, blob) {
		return blob, nil
	}
	id := strings.Join([]string{operator, token, blob.SHA256, uuid.NewString()}, ".")
	if err = b.write(ctx, id, data); err == nil {
		err = b.describe(ctx, subject, seq, &jetstream.ObjectInfo{
			ObjectMeta: jetstream.ObjectMeta{
				Name: objectName(operator, token, blob.SHA256),
				Opts: &jetstream.ObjectMetaOptions{ChunkSize: uint32(b.chunkSize())},
			},
			Bucket: b.bucket, NUID: id, Size: uint64(len(data)), Chunks: uint32((len(data) + b.chunkSize() - 1) / b.chunkSize()),
			Digest: digest(sum[:]),
		})
	}
	if err == nil || errors.Is(err, ErrUnknown) {
		return blob, err // unknown may still become known to be there, with its chunks
	}
	_ = b.purge(ctx, b.chunkSubject(id), 0) // else Purge of the instance will
	if errors.Is(err, ErrConflict) {
		if info, _, metaErr := b.meta(ctx, subject); metaErr == nil && whole(info, blob) {
			return blob, nil // somebody else was first, with the same
		}
	}
	return Blob{}, err
}

// whole reports whether a description, nil for none, is that of the blob.
func whole(info *jetstream.ObjectInfo, blob Blob) bool {
	sum, err := hex.DecodeString(blob.SHA256)
	return err == nil && info != nil && !info.Deleted && info.Size == uint64(blob.Size) && info.Digest == digest(sum)
}

func digest(sum []byte) string { return "SHA-256=" + base64.URLEncoding.EncodeToString(sum) }

func objectName(operator, token, sum string) string { return operator + "/" + token + "/" + sum }

func (b *Blobs) metaSubject(operator, token, sum string) string {
	return "$O." + b.bucket + ".M." + base64.URLEncoding.EncodeToString([]byte(objectName(operator, token, sum)))
}

func (b *Blobs) chunkSubject(id string) string { return "$O." + b.bucket + ".C." + id }

// chunkSize is how long the messages of a blob are. Reading one, it comes as base64 in one message.
func (b *Blobs) chunkSize() int {
	const most = 256 << 10
	return max(1024, min(most, int(b.js.Conn().MaxPayload())/2))
}

// write stores the chunks, each behind the one before, so that none is there twice whatever is repeated.
func (b *Blobs) write(ctx context.Context, id string, data []byte) error {
	size, seq := b.chunkSize(), uint64(0)
	for n := 0; len(data) > 0; n++ {
		chunk := data[:min(size, len(data))]
		data = data[len(chunk):]
		var err error
		msg := &nats.Msg{Subject: b.chunkSubject(id), Header: nats.Header{}, Data: chunk}
		if seq, err = b.append(ctx, msg, fmt.Sprintf("%s.%d", id, n), seq); err != nil {
			return err
		}
	}
	return nil
}

// describe makes an object of the chunks, if there is still none, or none that counts.
func (b *Blobs) describe(ctx context.Context, subject string, expect uint64, info *jetstream.ObjectInfo) error {
	data, err := json.Marshal(info)
	if err != nil {
		return b.wrap(protocol.CodeInternal, info.Name, ErrDamaged, err)
	}
	msg := &nats.Msg{Subject: subject, Header: nats.Header{jetstream.MsgRollup: {jetstream.MsgRollupSubject}}, Data: data}
	_, err = b.append(ctx, msg, info.NUID+".meta", expect)
	return err
}

// meta returns the description of an object and its sequence; nil and the sequence of what there is if that is none.
func (b *Blobs) meta(ctx context.Context, subject string) (*jetstream.ObjectInfo, uint64, error) {
	r, err := b.message(ctx, selector{Last: subject})
	if errors.Is(err, ErrGone) {
		return nil, 0, nil
	}
	if err != nil {
		return nil, 0, err
	}
	var info jetstream.ObjectInfo
	if json.Unmarshal(r.Data, &info) != nil || info.Deleted {
		return nil, r.Seq, nil //nolint:nilerr // what cannot be read is no description
	}
	return &info, r.Seq, nil
}

// Get returns the content of a blob: ErrGone if it is not there, ErrDamaged if it is not what was referred to. The slice
// is the caller's.
func (b *Blobs) Get(ctx context.Context, operator, token string, blob Blob) ([]byte, error) {
	if err := b.check(operator, token); err != nil {
		return nil, err
	}
	named := objectName(operator, token, blob.SHA256)
	var data []byte
	if blob.Size != 0 {
		info, _, err := b.meta(ctx, b.metaSubject(operator, token, blob.SHA256))
		if err != nil {
			return nil, err
		}
		if info == nil {
			return nil, b.wrap(protocol.CodeNotFound, named, ErrGone, nil)
		}
		if !whole(info, blob) {
			return nil, b.wrap(protocol.CodeInternal, named, ErrDamaged, nil)
		}
		err = b.each(ctx, b.chunkSubject(info.NUID), 0, func(r Record) bool {
			data = append(data, r.Data...)
			return len(data) < blob.Size
		})
		if err != nil {
			return nil, err
		}
		if len(data) == 0 { // removed since
			return nil, b.wrap(protocol.CodeNotFound, named, ErrGone, nil)
		}
	}
	if sum := sha256.Sum256(data); len(data) != blob.Size || hex.EncodeToString(sum[:]) != blob.SHA256 {
		return nil, b.wrap(protocol.CodeInternal, named, ErrDamaged, nil)
	}
	return data, nil
}
