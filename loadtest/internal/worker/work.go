package worker

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"

	"github.com/redis/go-redis/v9/logging"
)

// Work is what a worker does: it reads its job, prepares itself, says that it is ready, and answers what the lab says.
type Work func(ctx context.Context, lab *Lab) error

// Lab is the lab, as a worker sees it.
type Lab struct {
	Errs io.Writer // standard error
	in   *json.Decoder
	out  *json.Encoder
}

// message is what a worker says: an answer, or why it ends.
type message struct {
	Said  json.RawMessage `json:"said,omitempty"`
	Error string          `json:"error,omitempty"`
}

// Main does the work of this process and ends it, if the lab has started it as a worker. Otherwise it does nothing.
func Main(works map[string]Work) {
	if len(os.Args) != 3 || os.Args[1] != argument {
		return
	}
	logging.Disable() // the errors of go-redis say what it logs
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	work, known := works[os.Args[2]]
	if !known {
		work = func(context.Context, *Lab) error { return fmt.Errorf("there is no worker %q", os.Args[2]) }
	}
	lab := &Lab{os.Stderr, json.NewDecoder(os.Stdin), json.NewEncoder(os.Stdout)}
	if err := work(ctx, lab); err != nil {
		_ = lab.out.Encode(message{Error: err.Error()}) // a lab that does not read it has gone
	}
	stop()
	os.Exit(0)
}

// Read reads what the lab says next. An error is the end of the lab's interest, too.
func (l *Lab) Read(what any) error {
	if err := l.in.Decode(what); err != nil {
		return fmt.Errorf("read what the lab says: %w", err)
	}
	return nil
}

// Say says something to the lab: what it has to know when the worker is ready, or an answer.
func (l *Lab) Say(what any) error {
	text, err := json.Marshal(what)
	if err == nil {
		err = l.out.Encode(message{Said: text})
	}
	if err != nil {
		return fmt.Errorf("talk to the lab: %w", err)
	}
	return nil
}

// Go says that the worker is ready, and waits until all are.
func (l *Lab) Go() error {
	if err := l.Say("ready"); err != nil {
		return err
	}
	return l.Read(new(any))
}

// Serve says what the lab has to know, and waits until the lab needs this worker no more.
func (l *Lab) Serve(ready any) error {
	if err := l.Say(ready); err != nil {
		return err
	}
	_ = l.Read(new(any)) // until the input is closed
	return nil
}
