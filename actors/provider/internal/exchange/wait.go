package exchange

import (
	"math"
	"net/http"
	"strconv"
	"strings"
	"time"
)

const maxRetryAfter = 24 * time.Hour // longer waits are as good as this one

// retryAfter returns how long the server wants us to wait, 0 if it does not say: retry-after-ms, which OpenAI sends,
// or Retry-After in seconds or as a date.
func retryAfter(h http.Header, now time.Time) time.Duration {
	if ms, err := strconv.ParseFloat(h.Get("Retry-After-Ms"), 64); err == nil {
		return wait(ms / 1000)
	}
	v := strings.TrimSpace(h.Get("Retry-After"))
	if s, err := strconv.ParseFloat(v, 64); err == nil {
		return wait(s)
	}
	if at, err := http.ParseTime(v); err == nil {
		return wait(at.Sub(now).Seconds())
	}
	return 0
}

func wait(seconds float64) time.Duration {
	if !(seconds > 0) || math.IsNaN(seconds) {
		return 0
	}
	return time.Duration(min(seconds, maxRetryAfter.Seconds()) * float64(time.Second))
}
