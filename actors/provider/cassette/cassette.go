package cassette

import (
	"errors"
	"fmt"
	"net/http"
	"os"
	"strings"
	"sync"
	"testing"
)

// Mode says where answers come from.
type Mode int

// The modes.
const (
	Replay        Mode = iota // from the file alone
	Record                    // from the endpoint; the file is written anew
	RecordMissing             // from the file, else from the endpoint, which is added to the file
)

// maxBody is the largest request and the largest recorded answer in bytes.
const maxBody = 8 << 20

// Option changes a Cassette.
type Option func(*Cassette)

// WithTransport asks the endpoint by base in place of http.DefaultTransport.
func WithTransport(base http.RoundTripper) Option { return func(c *Cassette) { c.base = base } }

// WithScrub changes every text before it is stored or compared, after the defaults did: to remove secrets of your own, or
// what differs from run to run. It must be safe for concurrent use, leave JSON valid, and change no text that it has changed
// already.
func WithScrub(scrub func(text string) string) Option { return func(c *Cassette) { c.scrub = scrub } }

// Cassette is a http.RoundTripper that records and replays.
type Cassette struct {
	path  string
	mode  Mode
	base  http.RoundTripper
	scrub func(string) string // nil for none
	limit int                 // of a body

	mu      sync.Mutex
	entries []*entry
	missing []string // requests that were not recorded
	failed  []string // answers that could not be recorded
	changed bool     // something was recorded
	closed  bool
}

var _ http.RoundTripper = (*Cassette)(nil)

// entry is an interaction and what became of it.
type entry struct {
	interaction
	used     bool      // replayed or recorded in this run
	recorder *recorder // while the answer is being read
}

// Open reads the file at path, which must exist in Replay. Close it at the end.
func Open(path string, mode Mode, options ...Option) (*Cassette, error) {
	c := &Cassette{path: path, mode: mode, base: http.DefaultTransport, limit: maxBody}
	for _, o := range options {
		o(c)
	}
	if mode < Replay || mode > RecordMissing {
		return nil, fmt.Errorf("open cassette %s: there is no mode %d", path, mode)
	}
	if mode == Record {
		return c, nil
	}
	list, err := load(path)
	if errors.Is(err, os.ErrNotExist) {
		if mode == RecordMissing {
			return c, nil
		}
		return nil, fmt.Errorf("open cassette: %w; to record it, run once with cassette.Record", err)
	}
	if err != nil {
		return nil, fmt.Errorf("open cassette %s: %w", path, err)
	}
	for _, i := range list {
		c.entries = append(c.entries, &entry{interaction: i})
	}
	return c, nil
}

// Use opens a cassette for a test and returns a client that uses it. It is closed at the end of the test, and what Close
// finds fails the test.
func Use(tb testing.TB, path string, mode Mode, options ...Option) *http.Client {
	tb.Helper()
	c, err := Open(path, mode, options...)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		if err := c.Close(); err != nil {
			tb.Error(err)
		}
	})
	return &http.Client{Transport: c}
}

// Unused names the recorded requests that were not made yet.
func (c *Cassette) Unused() []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.unused()
}

func (c *Cassette) unused() []string {
	var list []string
	for i, e := range c.entries {
		if !e.used {
			list = append(list, fmt.Sprintf("no. %d, %s", i+1, e.Request))
		}
	}
	return list
}

// Close writes the file if something was recorded; answers that are still being read are recorded as far as they came.
// The error says which requests were not recorded, which recorded ones were not made, and what could not be written. Requests
// after it fail. Closing again does nothing.
func (c *Cassette) Close() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return nil
	}
	c.closed = true
	for _, e := range c.entries {
		if e.recorder != nil {
			e.recorder.finish(true)
		}
	}
	errs := []error{
		c.complain("requests are not recorded (run once with cassette.Record or cassette.RecordMissing)", c.missing),
		c.complain("recorded requests were not made", c.unused()),
		c.complain("answers could not be recorded", c.failed),
	}
	if c.changed {
		if err := c.save(); err != nil {
			errs = append(errs, fmt.Errorf("write cassette %s: %w", c.path, err))
		}
	}
	return errors.Join(errs...)
}

// maxNamed is how many requests an error names.
const maxNamed = 5

func (c *Cassette) complain(what string, list []string) error {
	if len(list) == 0 {
		return nil
	}
	more := ""
	if len(list) > maxNamed {
		more = ", ..."
	}
	return fmt.Errorf("cassette %s: %d %s: %s%s", c.path, len(list), what, strings.Join(list[:min(len(list), maxNamed)], "; "), more)
}

func (c *Cassette) save() error {
	list := make([]interaction, 0, len(c.entries))
	for _, e := range c.entries {
		if e.Response.Status != 0 { // else there is no answer yet
			list = append(list, e.interaction)
		}
	}
	return store(c.path, list)
}
