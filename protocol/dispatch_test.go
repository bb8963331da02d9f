package protocol_test

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/skelegent/skelegent-go/protocol"
)

// TestDispatchMany: results in the order of the requests, failures on their own, never more than the limit.
func TestDispatchMany(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var running, most atomic.Int64
		d := protocol.DispatcherFunc(func(_ context.Context, op protocol.OperatorID, in protocol.OperatorInput) (protocol.OperatorOutput, error) {
			n := running.Add(1)
			defer running.Add(-1)
			for old := most.Load(); n > old && !most.CompareAndSwap(old, n); old = most.Load() {
				continue
			}
			text, _ := in.Message.AsText()
			time.Sleep(time.Duration(100-len(text)) * time.Millisecond) // later requests end earlier
			switch op {
			case "panic":
				panic("secret")
			case "exit":
				runtime.Goexit()
			case "fail":
				return protocol.OperatorOutput{}, protocol.ErrToolFailed("x")
			}
			return protocol.Reply("Result from " + text), nil
		})
		var requests []protocol.DispatchRequest
		text := ""
		for _, op := range []protocol.OperatorID{"a", "panic", "b", "fail", "exit", "c", "d"} {
			text += "x"
			requests = append(requests, protocol.DispatchRequest{Operator: op, Input: protocol.Text(text)})
		}
		results := protocol.DispatchMany(t.Context(), d, requests, 3)
		if most.Load() != 3 || running.Load() != 0 || len(results) != len(requests) {
			t.Errorf("%d at once, %d left, %d results", most.Load(), running.Load(), len(results))
		}
		for i, want := range []string{"x", "", "xxx", "", "", "xxxxxx", "xxxxxxx"} {
			got, _ := results[i].Output.Message.AsText()
			if want != "" && (got != "Result from "+want || results[i].Err != nil) {
				t.Errorf("%d: %q, error %v", i, got, results[i].Err)
			}
		}
		for _, i := range []int{1, 4} {
			var e *protocol.Error
			if !errors.As(results[i].Err, &e) || e.Kind != protocol.KindOrchDispatchFailed || e.Retryable || e.Message != "dispatch failed: the operator panicked" {
				t.Errorf("%d: %v", i, results[i].Err)
			}
		}
		if !errors.Is(results[3].Err, &protocol.Error{Kind: protocol.KindToolExecutionFailed}) {
			t.Errorf("got %v", results[3].Err)
		}
	})
}

// TestDispatchManyCancelled: what has not begun does not begin, what has is waited for.
func TestDispatchManyCancelled(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		var begun atomic.Int64
		d := protocol.DispatcherFunc(func(ctx context.Context, _ protocol.OperatorID, _ protocol.OperatorInput) (protocol.OperatorOutput, error) {
			begun.Add(1)
			<-ctx.Done()
			return protocol.OperatorOutput{}, fmt.Errorf("stopped: %w", ctx.Err())
		})
		results := protocol.DispatchMany(ctx, d, make([]protocol.DispatchRequest, 5), 2)
		for i, r := range results {
			if protocol.CodeOf(r.Err) != protocol.CodeTimeout {
				t.Errorf("%d: %v", i, r.Err)
			}
		}
		if begun.Load() != 2 {
			t.Errorf("%d began", begun.Load())
		}
	})
}

func TestDispatchManyOfNone(t *testing.T) {
	t.Parallel()
	if r := protocol.DispatchMany(t.Context(), echo, nil, 0); len(r) != 0 {
		t.Errorf("got %v", r)
	}
}
