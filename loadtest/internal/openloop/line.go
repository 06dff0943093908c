package openloop

import (
	"bufio"
	"context"
	"fmt"
	"net"
	"time"
)

const (
	// dialLimit is how long a connection may take to come up.
	dialLimit = 2 * time.Second
	// rest is how long a connection may be idle before another takes its place: a server may have closed it, and an order
	// sent into that would never be heard of.
	rest = 30 * time.Second
)

// line asks one thing at a time.
type line interface {
	// ask sends a request and waits for the answer, both in the buffers of the line. Sent tells whether the service may have
	// got the request.
	ask(ctx context.Context, r Request, patience time.Duration) (a answer, sent bool, err error)
	close()
}

// wire is a line over a connection that is kept.
type wire struct {
	to         *address
	connection net.Conn // nil: none
	reader     *bufio.Reader
	out, in    []byte
	used       time.Time
}

// connect makes sure that there is a connection.
func (w *wire) connect(ctx context.Context) error {
	if w.connection != nil && time.Since(w.used) < rest {
		return nil
	}
	w.close()
	ctx, cancel := context.WithTimeout(ctx, dialLimit)
	defer cancel()
	connection, err := w.to.dial(ctx)
	if err != nil {
		return fmt.Errorf("connect: %w", err)
	}
	w.connection = connection
	if w.reader == nil {
		w.reader = bufio.NewReader(connection)
	}
	w.reader.Reset(connection)
	w.used = time.Now()
	return nil
}

// ask implements line.
func (w *wire) ask(ctx context.Context, r Request, patience time.Duration) (a answer, sent bool, err error) {
	if err := w.connect(ctx); err != nil {
		return answer{}, false, err
	}
	defer func() {
		if err != nil || a.last {
			w.close()
		}
	}()
	deadline := time.Now().Add(patience)
	w.out = w.to.append(w.out[:0], r, deadline)
	if err := w.connection.SetDeadline(deadline); err != nil {
		return answer{}, false, fmt.Errorf("bound the connection: %w", err)
	}
	if _, err := w.connection.Write(w.out); err != nil {
		return answer{}, true, fmt.Errorf("send: %w", err)
	}
	if a, err = readAnswer(w.reader, w.in); err != nil {
		return answer{}, true, fmt.Errorf("receive: %w", err)
	}
	w.in, w.used = a.body, time.Now()
	return a, true, nil
}

func (w *wire) close() {
	if w.connection != nil {
		_ = w.connection.Close() // everything that mattered has been read
		w.connection = nil
	}
}
