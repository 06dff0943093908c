package main

import (
	"io"
	"log/slog"
)

// logFlags are the flags for a command's log.
type logFlags struct {
	LogFormat string     `group:"logs" help:"Form of the log's lines: text or json." enum:"text,json" default:"text"`
	LogLevel  slog.Level `group:"logs" help:"Least level that is logged: debug, info, warn or error." default:"info"`
}

func (f logFlags) logger(to io.Writer) *slog.Logger {
	options := &slog.HandlerOptions{Level: f.LogLevel}
	if f.LogFormat == "json" {
		return slog.New(slog.NewJSONHandler(to, options))
	}
	return slog.New(slog.NewTextHandler(to, options))
}
