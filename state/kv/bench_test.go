package kv_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/skelegent/skelegent-go/protocol"
)

// value is of the size of a note that an agent remembers.
var value = json.RawMessage(`{"text":"` + strings.Repeat("x", 200) + `"}`)

// BenchmarkRead compares a read with a get of the client library, which here goes to the leader too.
func BenchmarkRead(b *testing.B) {
	js := start(b)
	s := open(b, js, nil)
	write(b, s, "k", string(value))
	b.Run("store", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if _, err := s.Read(b.Context(), scope, "k"); err != nil {
				b.Fatal(err)
			}
		}
	})
	bucket, err := js.KeyValue(b.Context(), "SKG_STATE")
	if err != nil {
		b.Fatal(err)
	}
	b.Run("raw", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if _, err := bucket.Get(b.Context(), "session.s1.k"); err != nil {
				b.Fatal(err)
			}
		}
	})
}

// BenchmarkWrite compares a write, which is a read and a conditional write, with a put of the client library.
func BenchmarkWrite(b *testing.B) {
	js := start(b)
	s := open(b, js, nil)
	b.Run("store", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if err := s.Write(b.Context(), scope, "k", value, protocol.StoreOptions{}); err != nil {
				b.Fatal(err)
			}
		}
	})
	bucket, err := js.KeyValue(b.Context(), "SKG_STATE")
	if err != nil {
		b.Fatal(err)
	}
	b.Run("raw", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if _, err := bucket.Put(b.Context(), "session.s1.k", value); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("blob 2 MiB", func(b *testing.B) {
		text := json.RawMessage(large("x"))
		b.SetBytes(int64(len(text)))
		for b.Loop() {
			if err := s.Write(b.Context(), scope, "blob", text, protocol.StoreOptions{}); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("blob 2 MiB read", func(b *testing.B) {
		b.SetBytes(2 << 20)
		for b.Loop() {
			if _, err := s.Read(b.Context(), scope, "blob"); err != nil {
				b.Fatal(err)
			}
		}
	})
}

// BenchmarkList lists 1,000 keys of a scope beside one as large.
func BenchmarkList(b *testing.B) {
	js := start(b)
	s := open(b, js, nil)
	for i := range 1000 {
		write(b, s, fmt.Sprint(i), string(value))
		if err := s.Write(b.Context(), protocol.GlobalScope(), fmt.Sprint(i), value, protocol.StoreOptions{}); err != nil {
			b.Fatal(err)
		}
	}
	b.Run("store", func(b *testing.B) {
		for b.Loop() {
			if keys, err := s.List(b.Context(), scope, ""); err != nil || len(keys) != 1000 {
				b.Fatal(len(keys), err)
			}
		}
	})
	b.Run("search", func(b *testing.B) {
		for b.Loop() {
			if _, err := s.Search(b.Context(), scope, "xx", 10); err != nil {
				b.Fatal(err)
			}
		}
	})
	bucket, err := js.KeyValue(b.Context(), "SKG_STATE")
	if err != nil {
		b.Fatal(err)
	}
	b.Run("raw", func(b *testing.B) {
		for b.Loop() {
			lister, err := bucket.ListKeysFiltered(b.Context(), "session.s1.*")
			if err != nil {
				b.Fatal(err)
			}
			n := 0
			for range lister.Keys() {
				n++
			}
			if n != 1000 {
				b.Fatal(n)
			}
		}
	})
}
