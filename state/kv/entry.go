package kv

import (
	"encoding/json"
	"time"
	"unicode/utf8"

	"github.com/nats-io/nats.go"

	"github.com/skelegent/skelegent-go/protocol"
	"github.com/skelegent/skelegent-go/protocol/wire"
)

// Entry is a value with what is known of it.
type Entry struct {
	Value json.RawMessage
	// Options are those of the last write; TTL is what was left of it when it was read.
	Options protocol.StoreOptions
	// Expires is when the value ends, zero if it does not.
	Expires time.Time
	// By is what the writer left with WithBy or By, for itself to find again; nil if nothing. After a delete it is that of
	// the delete, for as long as the server remembers the delete.
	By json.RawMessage
	// Revision names this state of the key. It rises with every change.
	Revision uint64
}

// record is an entry as it is stored.
type record struct {
	Value       json.RawMessage       `json:"value,omitempty"`
	Blob        *blobRef              `json:"blob,omitempty"` // instead of a value
	Tier        *protocol.MemoryTier  `json:"tier,omitempty"`
	Lifetime    *protocol.Lifetime    `json:"lifetime,omitempty"`
	ContentKind *protocol.ContentKind `json:"content_kind,omitempty"`
	Salience    *float64              `json:"salience,omitempty"`
	Expires     *time.Time            `json:"expires,omitempty"`
	By          json.RawMessage       `json:"by,omitempty"`
	Key         string                `json:"key,omitempty"`     // where the key's token is a digest
	KeyBytes    []byte                `json:"key_raw,omitempty"` // the same in base64, where it is not UTF-8
}

// blobRef says where a value is that no message can hold.
type blobRef struct {
	Name   string `json:"name"`
	Size   int    `json:"size"`
	SHA256 string `json:"sha256"`
}

// newRecord is a record of everything but the value.
func newRecord(key string, opts protocol.StoreOptions, now time.Time) *record {
	r := &record{Tier: opts.Tier, Lifetime: opts.Lifetime, ContentKind: opts.ContentKind, Salience: opts.Salience}
	if opts.TTL != nil {
		end := now.Add(opts.TTL.Duration()).UTC()
		r.Expires = &end
	}
	if wire.IsDigest(wire.Escape(key)) {
		if utf8.ValidString(key) {
			r.Key = key
		} else {
			r.KeyBytes = []byte(key)
		}
	}
	return r
}

// options returns what was left of the options at a time.
func (r *record) options(now time.Time) protocol.StoreOptions {
	opts := protocol.StoreOptions{Tier: r.Tier, Lifetime: r.Lifetime, ContentKind: r.ContentKind, Salience: r.Salience}
	if r.Expires != nil {
		left := protocol.MillisOf(r.Expires.Sub(now))
		opts.TTL = &left
	}
	return opts
}

// stored is the last message of a key.
type stored struct {
	subject string
	seq     uint64 // 0 if there is none
	id      string // of the write, to recognise it by
	deleted bool   // the message only says that there is nothing
	record  record
	bad     error // why the message is no record
}

// parse makes a stored of a message.
func parse(subject string, seq uint64, header nats.Header, data []byte) stored {
	st := stored{subject: subject, seq: seq, id: header.Get(nats.MsgIdHdr), deleted: isMarker(header)}
	if st.deleted && len(data) == 0 {
		return st
	}
	if err := json.Unmarshal(data, &st.record); err != nil {
		st.bad = err
		return st
	}
	if !st.deleted && st.record.Value == nil && st.record.Blob == nil {
		st.bad = errNoValue
	}
	return st
}

// live reports whether there is a value at a time.
func (st *stored) live(now time.Time) bool {
	return st.seq > 0 && !st.deleted && (st.record.Expires == nil || now.Before(*st.record.Expires))
}

// key is the original key; false if its token is a digest and the record does not have it.
func (st *stored) key() (string, bool) {
	token := lastToken(st.subject)
	if !wire.IsDigest(token) {
		key, err := wire.Unescape(token)
		return key, err == nil
	}
	key := st.record.Key
	if st.record.KeyBytes != nil {
		key = string(st.record.KeyBytes)
	}
	return key, wire.Escape(key) == token
}

// What the messages of a bucket that hold no value have in their headers.
const (
	headerOperation = "KV-Operation"
	opDelete        = "DEL"
	opPurge         = "PURGE"
	headerReason    = "Nats-Marker-Reason"
	headerTTL       = "Nats-TTL"
)

func isMarker(h nats.Header) bool {
	op := h.Get(headerOperation)
	return op == opDelete || op == opPurge || h.Get(headerReason) != ""
}
