package middleware

import (
	"context"
	"time"

	"go.uber.org/zap"

	"github.com/skelegent/skelegent-go/protocol"
)

// Log writes a line at Debug for each call: model, sizes, tokens, duration, and the code of a failure; of a stream also the
// time to its first piece. Texts of prompts, answers and errors are not in it. A nil logger is silent.
func Log(logger *zap.Logger) InferFunc {
	if logger == nil {
		logger = zap.NewNop()
	}
	logger = logger.Named("infer")
	return func(
		ctx context.Context, req protocol.InferRequest, sink func(protocol.StreamEvent), next Next,
	) (protocol.InferResponse, error) {
		if !logger.Core().Enabled(zap.DebugLevel) {
			return next(ctx, req, sink)
		}
		start, first := time.Now(), time.Duration(0)
		resp, err := next(ctx, req, timing(sink, start, &first))
		fields := []zap.Field{
			zap.String("model", clip(req.Model)), zap.Int("messages", len(req.Messages)), zap.Int("tools", len(req.Tools)),
			zap.Int("bytes", Size(req)), zap.Duration("dur", time.Since(start)),
		}
		if first > 0 {
			fields = append(fields, zap.Duration("first", first))
		}
		if err != nil {
			e := protocol.AsError(err)
			fields = append(fields, zap.String("code", string(e.Code)), zap.String("kind", string(e.Kind)),
				zap.Bool("retryable", e.Retryable))
			logger.Debug("model call failed", fields...)
			return resp, err
		}
		logger.Debug("model call", append(fields, zap.String("answered", clip(resp.Model)),
			zap.Uint64("tokens_in", resp.Usage.InputTokens), zap.Uint64("tokens_out", resp.Usage.OutputTokens),
			zap.Int("calls", len(resp.ToolCalls)), zap.String("stop", string(resp.StopReason)))...)
		return resp, nil
	}
}

// timing notes when the first event comes. A nil sink stays nil.
func timing(sink func(protocol.StreamEvent), start time.Time, first *time.Duration) func(protocol.StreamEvent) {
	if sink == nil {
		return nil
	}
	return func(ev protocol.StreamEvent) {
		if *first == 0 {
			*first = max(1, time.Since(start))
		}
		sink(ev)
	}
}

// maxName is as much of a model's name as is logged; names come from inputs and servers.
const maxName = 128

func clip(name string) string { return name[:min(len(name), maxName)] }
