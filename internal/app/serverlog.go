package app

import (
	"bytes"
	"context"
	"log"
	"log/slog"
)

// serverLog takes the messages of net/http. It logs the messages of HTTP/2 that any stranger can cause at level debug:
// they would flood the log.
type serverLog struct{ to *slog.Logger }

func newServerLog(to *slog.Logger) *log.Logger { return log.New(serverLog{to}, "", 0) }

// Write logs a line.
func (l serverLog) Write(line []byte) (int, error) {
	level := slog.LevelWarn
	if bytes.HasPrefix(line, []byte("http2: ")) && !bytes.Contains(line, []byte("panic")) {
		level = slog.LevelDebug
	}
	l.to.Log(context.Background(), level, string(bytes.TrimSpace(line)))
	return len(line), nil
}
