package app

import (
	"context"
	"errors"
	"net"
	"net/http"
	"sync"
	"testing"
	"time"
)

// A stop of a full room, where a caller waits, ends when the room is closed and its last caller goes.
func TestFullRoomThatStops(t *testing.T) {
	t.Parallel()
	plain, err := listenOn(t.Context(), "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	r := newRoom(plain, 1)
	call(t, plain.Addr().String())
	conn, err := r.Accept()
	if err != nil {
		t.Fatal(err)
	}
	guestOf(conn).begin()
	call(t, plain.Addr().String())
	stopped, refused := make(chan error, 1), make(chan error, 1)
	go func() {
		_, err := r.Accept()
		refused <- err
	}()
	go func() { stopped <- r.stop(t.Context()) }()
	for begun := false; !begun; {
		r.mu.Lock()
		begun = r.stopped
		r.mu.Unlock()
	}
	if err := errors.Join(r.Close(), conn.Close()); err != nil {
		t.Error(err)
	}
	if err := <-refused; !errors.Is(err, net.ErrClosed) {
		t.Error(err)
	}
	select {
	case err := <-stopped:
		if err != nil {
			t.Error(err)
		}
	case <-time.After(10 * time.Second):
		t.Error("the stop goes on")
	}
}

// Several stop a room, before, while and after it closes.
func TestManyStopsOfARoom(t *testing.T) {
	t.Parallel()
	r, address := openRoom(t, func(http.ResponseWriter, *http.Request) {})
	c := call(t, address)
	c.send(request)
	r.answered(c)
	var stops sync.WaitGroup
	stop := func() {
		if err := r.stop(t.Context()); err != nil {
			t.Error(err)
		}
	}
	for range 4 {
		stops.Go(stop)
	}
	untilRefused(t, address)
	stops.Go(stop) // the listener is closed
	c.Close()
	stops.Wait()
	for range 2 {
		if err := r.Close(); err != nil {
			t.Error(err)
		}
	}
	stop()
}

// A stop that nobody serves ends with its context.
func TestStopOfARoomThatNobodyServes(t *testing.T) {
	t.Parallel()
	plain, err := listenOn(t.Context(), "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	r := newRoom(plain, 1)
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
	defer cancel()
	if err := r.stop(ctx); err != nil {
		t.Error(err)
	}
	if err := r.Close(); err != nil {
		t.Error(err)
	}
	if _, err := r.Accept(); !errors.Is(err, net.ErrClosed) {
		t.Error(err)
	}
}
