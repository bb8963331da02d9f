package secret

import (
	"context"
	"sync"
	"time"
)

// Credential is a secret with an end.
type Credential struct {
	Value string
	// Expires is when it is no longer good; zero for never.
	Expires time.Time
}

// earlier is how long before its end a credential is fetched anew: a call must not be under way with one that ends.
const earlier = time.Minute

// fetchPause is how long after a failure the next call waits for before it fetches again, while the old credential is good.
const fetchPause = 5 * time.Second

// Refreshing is a credential that fetch gives, and gives again from a minute before it expires: an OAuth token, a lease. However
// many ask at the same time, fetch is called once at a time; its error is that of the calls that waited for it, unless the old
// credential is still good. It ends with the context of the call that began it, and is begun anew by the next.
func Refreshing(fetch func(ctx context.Context) (Credential, error)) Source {
	r := &refreshing{fetch: fetch, turn: make(chan struct{}, 1)}
	return r.get
}

type refreshing struct {
	fetch func(ctx context.Context) (Credential, error)
	turn  chan struct{} // holds one: whoever has it may fetch

	mu     sync.Mutex
	have   *Credential
	failed time.Time
}

// current returns the credential if it is still good, and whether it should be fetched anew.
func (r *refreshing) current() (value string, good, stale bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.have == nil {
		return "", false, true
	}
	left := time.Until(r.have.Expires)
	if r.have.Expires.IsZero() {
		left = earlier + 1
	}
	return r.have.Value, left > 0, left <= earlier && time.Since(r.failed) > fetchPause
}

func (r *refreshing) get(ctx context.Context) (string, error) {
	if value, good, stale := r.current(); good && !stale {
		return value, nil
	}
	select {
	case r.turn <- struct{}{}:
		defer func() { <-r.turn }()
	case <-ctx.Done():
		return "", context.Cause(ctx)
	}
	if value, good, stale := r.current(); good && !stale { // somebody fetched it meanwhile
		return value, nil
	}
	fresh, err := r.fetch(ctx)
	if value, good, _ := r.current(); err != nil && good {
		r.mu.Lock()
		defer r.mu.Unlock()
		r.failed = time.Now()
		return value, nil
	}
	if err != nil {
		return "", err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.have, r.failed = &fresh, time.Time{}
	return fresh.Value, nil
}
