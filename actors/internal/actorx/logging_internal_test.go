package actorx

import (
	"log/slog"
	"testing"

	"github.com/asynkron/protoactor-go/actor"
	"github.com/google/go-cmp/cmp"
	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
	"go.uber.org/zap/zaptest/observer"
)

func TestLibraryLogsAreRedacted(t *testing.T) {
	t.Parallel()
	const secret = "sesame"
	core, logs := observer.New(zapcore.DebugLevel)
	log := newSlog(zap.New(core).Named("actorx")).With("reason", secret, "id", "x")
	attrs := []any{
		"message", secret, "reason", secret, "sender", secret, "exception", secret,
		"pid", secret, "id", slog.AnyValue([]string{secret}), // known keys, unexpected values
		"self", actor.NewPID("here", "a"), "throttled", 3,
	}
	log.Info("[DeadLetter]", attrs...)
	log.WithGroup("g").Error("unknown system message", attrs...)
	want := []map[string]any{
		{"id": "x", "self": "a", "throttled": int64(3)},
		{"id": "x", "g": map[string]any{"self": "a", "throttled": int64(3)}},
	}
	var got []map[string]any
	for _, e := range logs.All() {
		if e.LoggerName != "actorx" {
			t.Errorf("logger %q", e.LoggerName)
		}
		got = append(got, e.ContextMap())
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
	if levels := []zapcore.Level{logs.All()[0].Level, logs.All()[1].Level}; levels[0] != zap.DebugLevel || levels[1] != zap.ErrorLevel {
		t.Errorf("levels %v", levels)
	}
}

func TestLibraryDeadLettersAreCountedNotLogged(t *testing.T) {
	t.Parallel()
	core, logs := observer.New(zapcore.DebugLevel)
	sys := NewSystem(Config{Logger: zap.New(core)})
	sys.send.Send(actor.NewPID(sys.lib.Address(), "nobody"), "sesame")
	if got := sys.Stats().DeadLetters; got != 1 {
		t.Errorf("dead letters: got %d, want 1", got)
	}
	for _, e := range logs.All() {
		if _, ok := e.ContextMap()["message"]; ok {
			t.Errorf("logged: %v", e)
		}
	}
}
