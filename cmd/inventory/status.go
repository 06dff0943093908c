package main

import (
	"errors"
	"fmt"
	"log/slog"
	"os"
	"slices"
	"strings"

	"github.com/alecthomas/kong"

	"inventory/internal/app"
	"inventory/internal/cli"
	"inventory/internal/stock"
)

// Exit statuses. 0 is success.
const (
	statusFailed = 1 // it failed this time
	statusUsage  = 2 // this call can never work
	statusFound  = 3 // it worked, and found a fault
)

// usageError is about the command line.
type usageError struct{ error }

// Fail prints what went wrong in one line, and returns the exit status. If the log is JSON the line is JSON too, because
// a program that reads the log would lose another line.
func (*commands) Fail(s cli.Streams, args []string, err error) int {
	status, line := statusOf(err), strings.Join(strings.Fields(err.Error()), " ")
	if logsJSON(args) {
		slog.New(slog.NewJSONHandler(s.Err, nil)).Error("the program ends", "error", line, "exit_status", status)
	} else {
		_, _ = fmt.Fprintln(s.Err, "inventory:", line) // there is nowhere else to report it, and the status shows it too
	}
	return status
}

func statusOf(err error) int {
	for _, found := range []error{errAuditFailed, errSaleFailed, errDiffers, app.ErrAuditsDiffer} {
		if errors.Is(err, found) {
			return statusFound
		}
	}
	_, unparsed := errors.AsType[*kong.ParseError](err)
	_, unusable := errors.AsType[app.ConfigError](err)
	_, unclear := errors.AsType[usageError](err)
	_, unread := errors.AsType[stock.BadCursor](err)
	if unparsed || unusable || unclear || unread {
		return statusUsage
	}
	return statusFailed
}

// logsJSON reports whether the log is to be JSON, also if the command line could not be parsed.
func logsJSON(args []string) bool {
	const flag, value = "--log-format", "json"
	if at := slices.Index(args, flag); at >= 0 && at+1 < len(args) {
		return args[at+1] == value
	}
	for _, arg := range args {
		if format, found := strings.CutPrefix(arg, flag+"="); found {
			return format == value
		}
	}
	return os.Getenv(prefix+"_LOG_FORMAT") == value
}
