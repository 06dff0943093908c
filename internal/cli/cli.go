// Package cli runs a command line: it parses the flags, runs the chosen command until it ends or a signal comes, and
// reports an error once, in one line.
package cli

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"github.com/alecthomas/kong"
	"github.com/redis/go-redis/v9/logging"
)

// Streams are where a command prints.
type Streams struct {
	Out io.Writer // results; if it fails, the command fails with its first error
	Err io.Writer // logs, progress, errors
}

// Printf prints a result.
func (s Streams) Printf(format string, values ...any) {
	_, _ = fmt.Fprintf(s.Out, format, values...) // [Run] tells its error
}

// output remembers the first error of a stream, and prints nothing after it.
type output struct {
	to  io.Writer
	err error
}

// Write implements [io.Writer].
func (o *output) Write(text []byte) (n int, err error) {
	if o.err == nil {
		n, o.err = o.to.Write(text)
	}
	return n, o.err
}

// Main runs the process's own command line and exits with its status. SIGINT and SIGTERM end the command's context; a
// second one ends the process.
func Main(grammar any, options ...kong.Option) {
	logging.Disable() // the errors of go-redis say what it logs
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop)
	code := Run(ctx, os.Args[1:], Streams{os.Stdout, os.Stderr}, grammar, options...)
	stop()
	os.Exit(code)
}

// Run parses args by a kong grammar and runs the command that they name. Its Run method may ask for a context.Context
// and for Streams. Run returns the exit status.
func Run(ctx context.Context, args []string, s Streams, grammar any, options ...kong.Option) int {
	exited, out := -1, &output{to: s.Out}
	s.Out = out
	parser, err := kong.New(grammar, append(options,
		kong.Exit(func(code int) { exited = code }),
		kong.Writers(s.Out, s.Err),
		kong.Help(func(options kong.HelpOptions, help *kong.Context) error {
			help.Stdout = out.to // whose width kong asks for, if it is a terminal
			out.err = kong.DefaultHelpPrinter(options, help)
			return out.err
		}),
		kong.BindTo(ctx, (*context.Context)(nil)),
		kong.Bind(s),
	)...)
	if err != nil {
		return fail(s, "flags", err)
	}
	parsed, err := parser.Parse(args)
	if err == nil && exited < 0 { // not for --help
		err = parsed.Run()
	}
	switch {
	case out.err != nil:
		err = out.err // kong would take it for an error of the command line
	case exited >= 0:
		return exited
	case err == nil:
		return 0
	}
	if failer, ok := grammar.(Failer); ok {
		return failer.Fail(s, err)
	}
	return fail(s, parser.Model.Name, err)
}

// A Failer is a grammar that reports its failures itself, and chooses the exit status.
type Failer interface {
	Fail(s Streams, err error) (status int)
}

// fail prints what went wrong.
func fail(s Streams, name string, err error) int {
	line := strings.Join(strings.Fields(err.Error()), " ")
	_, _ = fmt.Fprintln(s.Err, name+":", line) // there is nowhere else to report it, and the status shows it too
	return 1
}

// Count tells a number of things: "1 SKU", "2 SKUs".
func Count[N ~int | ~int64](n N, thing string) string {
	if n == 1 {
		return "1 " + thing
	}
	return fmt.Sprintf("%d %ss", n, thing)
}
