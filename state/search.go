package state

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/skelegent/skelegent-go/protocol"
)

// Limits bound what one search may cost. A field that is 0 has its default.
type Limits struct {
	Entries int // most entries of a scope; DefaultEntries
	Bytes   int // most bytes of their values together; DefaultBytes
	Query   int // longest query in bytes; DefaultQuery
}

// The defaults of Limits.
const (
	DefaultEntries = 10_000
	DefaultBytes   = 64 << 20
	DefaultQuery   = 1024
)

// snippetBytes is how much of a value a result shows.
const snippetBytes = 200

// WithDefaults returns l with its zero fields filled in.
func (l Limits) WithDefaults() Limits {
	return Limits{
		Entries: cmp.Or(l.Entries, DefaultEntries),
		Bytes:   cmp.Or(l.Bytes, DefaultBytes),
		Query:   cmp.Or(l.Query, DefaultQuery),
	}
}

// Search is one search under way: Add the values of a scope in any order, then take the Results.
type Search struct {
	query  string // lower case
	limit  int
	limits Limits

	mu      sync.Mutex
	entries int
	bytes   int
	found   []protocol.SearchResult
}

// NewSearch begins a search for at most limit results. A query over the limit is an error with code quota_exceeded.
func NewSearch(query string, limit int, limits Limits) (*Search, error) {
	limits = limits.WithDefaults()
	if len(query) > limits.Query {
		return nil, tooMuch("query has %d bytes, at most %d are taken", len(query), limits.Query)
	}
	return &Search{query: strings.ToLower(query), limit: limit, limits: limits}, nil
}

// Empty reports whether nothing can be found, so that the values need not be read: the query is empty, or the
// limit is not positive.
func (s *Search) Empty() bool { return s.query == "" || s.limit <= 0 }

// Check returns an error with code quota_exceeded if a scope of n entries is too large to be searched.
func (s *Search) Check(n int) error {
	if n > s.limits.Entries {
		return tooMuch("scope has %d entries, a search looks at %d at most", n, s.limits.Entries)
	}
	return nil
}

// Add looks at one value, which is not kept. Once a limit is exceeded it returns an error with code quota_exceeded.
func (s *Search) Add(key string, value json.RawMessage) error {
	if s.Empty() {
		return nil
	}
	result, ok := s.score(key, value)
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.entries++; s.entries > s.limits.Entries {
		return s.Check(s.entries)
	}
	if s.bytes += len(value); s.bytes > s.limits.Bytes {
		return tooMuch("values of the scope have more than the %d bytes that a search looks at", s.limits.Bytes)
	}
	if ok {
		s.found = append(s.found, result)
	}
	return nil
}

func (s *Search) score(key string, value json.RawMessage) (protocol.SearchResult, bool) {
	text := plainText(value)
	count := strings.Count(strings.ToLower(text), s.query)
	if count == 0 {
		return protocol.SearchResult{}, false
	}
	short := snippet(text)
	return protocol.SearchResult{Key: key, Score: float64(count) / float64(len(text)), Snippet: &short}, true
}

// Results returns what was found, best first and by key where the scores agree; never nil.
func (s *Search) Results() []protocol.SearchResult {
	s.mu.Lock()
	defer s.mu.Unlock()
	best := slices.Clone(s.found)
	slices.SortFunc(best, func(a, b protocol.SearchResult) int {
		return cmp.Or(cmp.Compare(b.Score, a.Score), cmp.Compare(a.Key, b.Key))
	})
	return append([]protocol.SearchResult{}, best[:min(len(best), max(0, s.limit))]...)
}

// plainText is the text that a search looks at: the JSON itself, with characters that were written as \u escapes put
// back, so that it does not matter which language wrote the value.
func plainText(value json.RawMessage) string {
	if !bytes.Contains(value, []byte(`\u`)) {
		return string(value)
	}
	dec := json.NewDecoder(bytes.NewReader(value))
	dec.UseNumber()
	var v any
	if dec.Decode(&v) != nil {
		return string(value)
	}
	text, err := protocol.Marshal(v)
	if err != nil {
		return string(value)
	}
	return string(text)
}

// snippet returns the beginning of text, cut between characters.
func snippet(text string) string {
	if len(text) <= snippetBytes {
		return text
	}
	end := snippetBytes
	for end > 0 && !utf8.RuneStart(text[end]) {
		end--
	}
	return text[:end] + "..."
}

func tooMuch(format string, args ...any) error {
	return protocol.NewError(protocol.CodeQuotaExceeded, fmt.Sprintf(format, args...))
}
