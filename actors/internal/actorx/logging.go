package actorx

import (
	"context"
	"log/slog"

	"github.com/asynkron/protoactor-go/actor"
	"go.uber.org/zap"
	"go.uber.org/zap/exp/zapslog"
)

// newSlog lets the library log to l, at Debug unless it is an error, and without the messages, panic values and whatever
// else it attaches: only attributes known to be harmless pass.
func newSlog(l *zap.Logger) *slog.Logger {
	return slog.New(&redactor{zapslog.NewHandler(l.Core(), zapslog.WithName(l.Name()))})
}

type redactor struct{ slog.Handler }

// Enabled reports whether a record of that level would be written.
func (h *redactor) Enabled(ctx context.Context, level slog.Level) bool {
	return h.Handler.Enabled(ctx, demote(level))
}

// Handle writes what is harmless of the record.
func (h *redactor) Handle(ctx context.Context, rec slog.Record) error {
	clean := slog.NewRecord(rec.Time, demote(rec.Level), rec.Message, rec.PC)
	rec.Attrs(func(a slog.Attr) bool {
		if a, ok := harmless(a); ok {
			clean.AddAttrs(a)
		}
		return true
	})
	return h.Handler.Handle(ctx, clean)
}

// WithAttrs keeps the harmless ones.
func (h *redactor) WithAttrs(attrs []slog.Attr) slog.Handler {
	var kept []slog.Attr
	for _, a := range attrs {
		if a, ok := harmless(a); ok {
			kept = append(kept, a)
		}
	}
	return &redactor{h.Handler.WithAttrs(kept)}
}

// WithGroup opens a group.
func (h *redactor) WithGroup(name string) slog.Handler {
	return &redactor{h.Handler.WithGroup(name)}
}

func demote(l slog.Level) slog.Level {
	if l < slog.LevelError {
		return slog.LevelDebug
	}
	return l
}

func harmless(a slog.Attr) (slog.Attr, bool) {
	switch a.Key {
	case "id", "throttled":
		return a, a.Value.Kind() == slog.KindString || a.Value.Kind() == slog.KindInt64
	case "self", "pid", "actor":
		pid, _ := a.Value.Any().(*actor.PID)
		return slog.String(a.Key, pid.GetId()), pid != nil
	default:
		return a, false
	}
}
