package embed

import (
	"fmt"
	"sync"

	"github.com/nats-io/nats-server/v2/server"
	"go.uber.org/zap"
)

// logger passes the server's log on to zap. Debug and trace lines, which would hold payloads, are off
// in the server and dropped here.
type logger struct {
	log *zap.Logger

	mu    sync.Mutex
	fatal string // the first reason why the server could not start
}

var _ server.Logger = (*logger)(nil)

func (l *logger) Noticef(format string, v ...any) { l.write(l.log.Debug, format, v) }

func (l *logger) Warnf(format string, v ...any) { l.write(l.log.Warn, format, v) }

func (l *logger) Errorf(format string, v ...any) { l.write(l.log.Error, format, v) }

// Fatalf records why the server gave up; Start returns it, so it is not logged.
func (l *logger) Fatalf(format string, v ...any) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.fatal == "" {
		l.fatal = fmt.Sprintf(format, v...)
	}
}

func (l *logger) Debugf(string, ...any) {}

func (l *logger) Tracef(string, ...any) {}

func (l *logger) failure() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.fatal
}

func (l *logger) write(to func(string, ...zap.Field), format string, v []any) {
	to("server", zap.String("text", fmt.Sprintf(format, v...)))
}
