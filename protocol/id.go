package protocol

import (
	"math"
	"strconv"
	"time"
)

// OperatorID names an operator. On the bus it is a subject token: see wire.CheckOperator.
type OperatorID string

// SessionID names a conversation; any string.
type SessionID string

// WorkflowID names one instance of an operator: OPERATOR/INSTANCE.
type WorkflowID string

// ScopeID names a scope of state; any string.
type ScopeID string

// RunID names one run of an operator: a UUIDv7 unless the caller gives one.
type RunID string

// Millis is a duration in whole milliseconds, on the wire a bare unsigned integer.
type Millis uint64

// MillisOf returns d in whole milliseconds, rounded to the nearest; a negative duration is 0.
func MillisOf(d time.Duration) Millis {
	if d <= 0 {
		return 0
	}
	return Millis(d.Round(time.Millisecond) / time.Millisecond)
}

// Duration returns m as a time.Duration, at most the longest of whole milliseconds that there is.
func (m Millis) Duration() time.Duration {
	return time.Duration(min(m, math.MaxInt64/Millis(time.Millisecond))) * time.Millisecond
}

// String returns m with its unit, such as 1500ms.
func (m Millis) String() string { return strconv.FormatUint(uint64(m), 10) + "ms" }
