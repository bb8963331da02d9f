package actors

import (
	"encoding/json"
	"errors"
	"time"

	"github.com/skelegent/skelegent-go/actors/run"
	"github.com/skelegent/skelegent-go/bus/task"
	"github.com/skelegent/skelegent-go/protocol"
)

// Option changes how an operator is hosted.
type Option func(*options)

type options struct {
	concurrency  int
	waiting      int
	maxDuration  time.Duration
	durable      bool
	attempts     int
	whenBusy     run.Mode
	version      string
	schedule     *schedule
	retention    time.Duration
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

// Durable says that the operator's runs survive whatever ends the process: they are tasks, their steps are recorded, and
// another node goes on. Without it an input on skg.task is still done at least once, from the top after a crash.
func Durable() Option { return func(o *options) { o.durable = true } }

// Attempts is how often a run is begun without getting anywhere (a crash, or an error that may pass) before it fails and goes
// to the dead letters; 5 otherwise.
func Attempts(n int) Option { return func(o *options) { o.attempts = n } }

// WhenBusy says what becomes of an input that comes while a run of its session is open and that does not say itself; Enqueue
// otherwise.
func WhenBusy(m Busy) Option { return func(o *options) { o.whenBusy = run.Mode(m) } }

// Busy is what an input wants while a run of its session is open.
type Busy string

// The policies.
const (
	Enqueue   Busy = "enqueue"   // wait for its turn
	Reject    Busy = "reject"    // be turned away
	Steer     Busy = "steer"     // be heard by the open run at its next boundary, else have a turn of its own
	Interrupt Busy = "interrupt" // stop the open run, then have a turn of its own
)

// Schedule gives the operator the input again and again: cron has six fields, seconds first, or is @every and a duration.
// However many nodes host the operator, it is one schedule.
func Schedule(cron string, in protocol.OperatorInput) Option {
	return func(o *options) { o.schedule = &schedule{cron, in} }
}

type schedule struct {
	cron  string
	input protocol.OperatorInput
}

// Retention is after how long an instance that is idle is put away, with all that was said in it: 30 days otherwise, never
// if negative. Its results cannot be asked for any more, and a session begins anew.
func Retention(d time.Duration) Option { return func(o *options) { o.retention = d } }

// Version is recorded with every run, and shown by discovery.
func Version(v string) Option { return func(o *options) { o.version = v } }

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
	case o.schedule != nil && task.CheckCron(o.schedule.cron) != nil:
		return o, task.CheckCron(o.schedule.cron)
	case o.schedule != nil && o.schedule.input.Validate() != nil:
		return o, o.schedule.input.Validate()
	case o.attempts < 0:
		return o, errors.New("attempts must not be negative")
	case o.whenBusy != "" && !o.whenBusy.Valid():
		return o, errors.New("when busy must be enqueue, reject, steer or interrupt")
	case o.maxDuration < 0:
		return o, errors.New("max duration must not be negative")
	case len(o.inputSchema) > 0 && !json.Valid(o.inputSchema), len(o.outputSchema) > 0 && !json.Valid(o.outputSchema):
		return o, errors.New("schema is no JSON")
	}
	return o, nil
}
