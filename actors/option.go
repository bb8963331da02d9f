package actors

import (
	"encoding/json"
	"errors"
	"time"
)

// Option changes how an operator is hosted.
type Option func(*options)

type options struct {
	concurrency  int
	waiting      int
	maxDuration  time.Duration
	description  string
	inputSchema  json.RawMessage
	outputSchema json.RawMessage
	metadata     map[string]string
}

// Concurrency bounds how many requests run at a time on a node; 64 otherwise.
func Concurrency(n int) Option { return func(o *options) { o.concurrency = n } }

// Waiting bounds how many requests wait for a place to run on a node; ten times the concurrency, at least 64, otherwise.
// Negative is none.
func Waiting(n int) Option { return func(o *options) { o.waiting = n } }

// MaxDuration bounds a run whose caller gives no earlier deadline; 15 minutes otherwise.
func MaxDuration(d time.Duration) Option { return func(o *options) { o.maxDuration = d } }

// Description says what the operator does, in a sentence, for discovery.
func Description(s string) Option { return func(o *options) { o.description = s } }

// Schemas are JSON schemas of what the operator takes and gives, for discovery; nil leaves one out.
func Schemas(input, output json.RawMessage) Option {
	return func(o *options) { o.inputSchema, o.outputSchema = input, output }
}

// Metadata adds to what discovery says of the operator.
func Metadata(key, value string) Option {
	return func(o *options) { o.metadata[key] = value }
}

func newOptions(opts []Option) (options, error) {
	o := options{metadata: map[string]string{}}
	for _, f := range opts {
		f(&o)
	}
	switch {
	case o.concurrency < 0:
		return o, errors.New("concurrency must not be negative")
	case o.maxDuration < 0:
		return o, errors.New("max duration must not be negative")
	case len(o.inputSchema) > 0 && !json.Valid(o.inputSchema), len(o.outputSchema) > 0 && !json.Valid(o.outputSchema):
		return o, errors.New("schema is no JSON")
	}
	return o, nil
}
