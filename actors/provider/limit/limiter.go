package limit

import (
	"context"
	"errors"
	"time"
)

// Limiter lets calls through. Implementations are safe for concurrent use.
type Limiter interface {
	// Acquire waits until a call of model that may take that many tokens can go out, and reserves what it takes. Who calls
	// the model must call release once with what it came to; more calls of it do nothing.
	//
	// The error is a rate limited *protocol.Error where the wait would be too long or too many wait already, with the
	// time after which it is worth trying again if that is known, and has the code timeout or cancelled where ctx ended.
	// Then nothing is reserved and release is nil.
	Acquire(ctx context.Context, model string, tokens int) (release func(Usage), err error)
}

// Usage is what a call came to. The zero Usage knows nothing: what was reserved stays taken.
type Usage struct {
	// Tokens is how many the call really took, where Counted.
	Tokens  int
	Counted bool
	// Refused says that the provider refused the call because there were too many. All calls of the model wait for
	// RetryAfter then, or for a time of the limiter's own if the provider named none.
	Refused    bool
	RetryAfter time.Duration
}

// Causes of the rate limited errors that are a limiter's own and not the provider's.
var (
	ErrQueueFull = errors.New("too many calls wait already")
	ErrTooLate   = errors.New("the deadline is before the turn of the call")
)

// Limits bound the calls of a model. What is 0 or negative bounds nothing.
type Limits struct {
	Requests   int `yaml:"requests"`   // a minute
	Tokens     int `yaml:"tokens"`     // a minute, input and output together
	Concurrent int `yaml:"concurrent"` // calls at a time
}
