// Package cli runs a command line: it parses the flags, runs the chosen command until it ends or a signal comes, and
// reports an error once, in one line.
package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/signal"
	"reflect"
	"slices"
	"strings"
	"syscall"
	"unicode"

	"github.com/alecthomas/kong"
	"github.com/redis/go-redis/v9/logging"
)

// Streams are where a command prints.
type Streams struct {
	Out io.Writer // results; if it fails, the command fails with its first error
	Err io.Writer // logs, progress, errors
}

// Printf prints a result, cleaned.
func (s Streams) Printf(format string, values ...any) {
	_, _ = io.WriteString(s.Out, Clean(fmt.Sprintf(format, values...))) // [Run] tells its error
}

// Clean replaces what a terminal would obey: control and format characters, which texts of files and servers may hold. Lines and tabs
// stay.
func Clean(text string) string {
	return strings.Map(func(r rune) rune {
		if r != '\n' && r != '\t' && unicode.In(r, unicode.Cc, unicode.Cf) {
			return unicode.ReplacementChar
		}
		return r
	}, text)
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
		kong.TypeMapper(reflect.TypeFor[slog.Level](), kong.MapperFunc(readLevel)),
		kong.BindTo(ctx, (*context.Context)(nil)),
		kong.Bind(s),
	)...)
	if err != nil {
		return fail(s, "flags", err)
	}
	parsed, err := parser.Parse(asFlags(args))
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

var errLevel = errors.New("must be debug, info, warn or error")

// readLevel reads the least level of a log.
func readLevel(given *kong.DecodeContext, level reflect.Value) error {
	var text string
	if err := given.Scan.PopValueInto("level", &text); err != nil {
		return err
	}
	var read slog.Level
	if err := read.UnmarshalText([]byte(text)); err != nil {
		return errLevel
	}
	level.Set(reflect.ValueOf(read))
	return nil
}

// asFlags returns the arguments with flags in place of the words that people try first. Without any argument they ask for help.
func asFlags(args []string) []string {
	switch {
	case len(args) == 0:
		return []string{"--help"}
	case args[0] == "help":
		return append(slices.Clone(args[1:]), "--help")
	case args[0] == "version":
		return []string{"--version"}
	default:
		return args
	}
}

// A Failer is a grammar that reports its failures itself, and chooses the exit status.
type Failer interface {
	Fail(s Streams, err error) (status int)
}

// fail prints what went wrong. The status is 2 if the call can never work.
func fail(s Streams, name string, err error) int {
	_, _ = fmt.Fprintln(s.Err, name+":", Line(err)) // there is nowhere else to report it, and the status shows it too
	if _, unparsed := errors.AsType[*kong.ParseError](err); unparsed {
		return 2
	}
	return 1
}

// Line tells an error in one line and in a person's words. A driver that has tried one address with and without TLS repeats a line.
func Line(err error) string {
	var lines []string
	for line := range strings.Lines(err.Error()) {
		if line = strings.Join(strings.Fields(line), " "); !slices.Contains(lines, line) {
			lines = append(lines, line)
		}
	}
	return strings.NewReplacer(
		"context canceled", "it was interrupted",
		"context deadline exceeded", "there was no answer in time",
	).Replace(Clean(strings.Join(lines, " ")))
}

// Count tells a number of things: "1 SKU", "2 SKUs".
func Count[N ~int | ~int64](n N, thing string) string {
	if n == 1 {
		return "1 " + thing
	}
	return fmt.Sprintf("%d %ss", n, thing)
}
