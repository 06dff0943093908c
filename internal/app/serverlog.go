package app

import (
	"bytes"
	"context"
	"log"
	"log/slog"
)

// serverLog takes the messages of net/http. It logs those of HTTP/2 and of handshakes, which any stranger can cause, at level
// debug: they would flood the log.
type serverLog struct{ to *slog.Logger }

func newServerLog(to *slog.Logger) *log.Logger { return log.New(serverLog{to}, "", 0) }

// Write logs a line.
func (l serverLog) Write(line []byte) (int, error) {
	level := slog.LevelWarn
	ofStrangers := bytes.HasPrefix(line, []byte("http2: ")) || bytes.HasPrefix(line, []byte("http: TLS handshake error"))
	if ofStrangers && !bytes.Contains(line, []byte("panic")) {
		level = slog.LevelDebug
	}
	l.to.Log(context.Background(), level, string(bytes.TrimSpace(line)))
	return len(line), nil
}
