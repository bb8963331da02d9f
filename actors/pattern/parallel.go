package pattern

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/skelegent/skelegent-go/protocol"
)

// Parallel has all members work on the same input at the same time, up to protocol.DefaultDispatchLimit of them. Its message
// is what they say, in the order of the members, one below the other; of their exits that are not complete the last one
// counts.
//
// One that fails does not stop the others: the exit is then error, and the message has what the others say, and "name: error"
// for each that failed. Only if all fail is it an error.
func Parallel(d protocol.Dispatcher, members ...protocol.OperatorID) protocol.Operator {
	requests := make([]protocol.DispatchRequest, len(members))
	for i, id := range members {
		requests[i].Operator = id
	}
	split := func(_ context.Context, in protocol.OperatorInput) ([]protocol.DispatchRequest, error) {
		in.Config = nil // each gets its share
		all := slices.Clone(requests)
		for i := range all {
			all[i].Input = clone(in)
		}
		return all, nil
	}
	f := fanOut{dispatcher: d, split: split, limit: protocol.DefaultDispatchLimit}
	return protocol.OperatorFunc(f.execute)
}

// FanOutConfig says what a FanOut does.
type FanOutConfig struct {
	// Split makes of the input what is to be done. What it returns without a config gets that of the input, and its share
	// of max_cost.
	Split func(ctx context.Context, in protocol.OperatorInput) ([]protocol.DispatchRequest, error)
	// Merge makes a message of the results, which are in the order of the requests. Nil is what Parallel says.
	Merge func(ctx context.Context, results []protocol.DispatchResult) (protocol.Content, error)
	// Limit is how many are under way at once; protocol.DefaultDispatchLimit if 0.
	Limit int
	// MaxParts is how many requests Split may return; DefaultMaxParts if 0. More is an error with code quota_exceeded.
	MaxParts int
}

// DefaultMaxParts bounds what a FanOut is split into unless something else is said.
const DefaultMaxParts = 256

// FanOut splits its input, has members work on the parts at the same time, and merges what they give. Exits and failures are
// those of Parallel. The error says that cfg lacks something.
func FanOut(d protocol.Dispatcher, cfg FanOutConfig) (protocol.Operator, error) {
	if cfg.Split == nil {
		return nil, invalid("fan-out: a function that splits the input is needed")
	}
	f := fanOut{dispatcher: d, split: cfg.Split, merge: cfg.Merge, limit: cfg.Limit, parts: cfg.MaxParts}
	if f.limit <= 0 {
		f.limit = protocol.DefaultDispatchLimit
	}
	if f.parts <= 0 {
		f.parts = DefaultMaxParts
	}
	return protocol.OperatorFunc(f.execute), nil
}

type fanOut struct {
	dispatcher protocol.Dispatcher
	split      func(context.Context, protocol.OperatorInput) ([]protocol.DispatchRequest, error)
	merge      func(context.Context, []protocol.DispatchResult) (protocol.Content, error)
	limit      int
	parts      int // 0 is no limit
}

func (f fanOut) execute(ctx context.Context, in protocol.OperatorInput) (protocol.OperatorOutput, error) {
	requests, err := f.split(ctx, in)
	if err != nil {
		return protocol.OperatorOutput{}, err
	}
	if f.parts > 0 && len(requests) > f.parts {
		return protocol.OperatorOutput{}, protocol.NewError(protocol.CodeQuotaExceeded,
			fmt.Sprintf("the input was split into %d parts, at most %d are taken", len(requests), f.parts))
	}
	w := begin(ctx, f.dispatcher, in)
	results, err := w.dispatchAll(ctx, requests, f.limit)
	if err != nil {
		return protocol.OperatorOutput{}, err
	}
	return f.join(ctx, w, requests, results)
}

// join makes one output of all.
func (f fanOut) join(
	ctx context.Context, w *work, requests []protocol.DispatchRequest, results []protocol.DispatchResult,
) (protocol.OperatorOutput, error) {
	var texts, failures []string
	var errs []error
	exit := protocol.Exit(protocol.ExitComplete)
	for i, r := range results {
		id := requests[i].Operator
		if r.Err != nil {
			w.record(protocol.SubDispatchRecord{Name: string(id)})
			failures, errs = append(failures, fmt.Sprintf("%s: %s", id, protocol.AsError(r.Err).Message)), append(errs, r.Err)
			continue
		}
		w.add(id, r.Output)
		w.meta.Duration = max(w.meta.Duration, r.Output.Metadata.Duration)
		w.declare(r.Output.Effects...)
		if text := textOf(r.Output.Message); text != "" {
			texts = append(texts, text)
		}
		if !complete(r.Output) {
			exit = r.Output.ExitReason
		}
	}
	if len(errs) > 0 {
		if len(errs) == len(results) {
			return protocol.OperatorOutput{}, allFailed(errs, failures)
		}
		exit = protocol.Exit(protocol.ExitError)
	}
	message := protocol.TextContent(strings.Join(append(texts, failures...), "\n"))
	if f.merge != nil {
		var err error
		if message, err = f.merge(ctx, results); err != nil {
			return protocol.OperatorOutput{}, err
		}
	}
	return w.output(message, exit), nil
}

// allFailed has the code of the first error, and can be tried again if all can.
func allFailed(errs []error, texts []string) error {
	e := protocol.NewError(protocol.CodeOf(errs[0]), fmt.Sprintf("all of %d failed: %s", len(errs), strings.Join(texts, "; ")))
	e.Retryable = true
	for _, err := range errs {
		e.Retryable = e.Retryable && protocol.IsRetryable(err)
	}
	return e.Because(errors.Join(errs...))
}

// textOf is what a content says: its texts, or where it has none all of it as JSON.
func textOf(c protocol.Content) string {
	if _, ok := c.AsText(); ok || c.IsZero() || len(c.Blocks()) == 0 {
		return protocol.NewMessage(protocol.RoleAssistant, c).Text()
	}
	raw, err := protocol.Marshal(c)
	if err != nil {
		return ""
	}
	return string(raw)
}
