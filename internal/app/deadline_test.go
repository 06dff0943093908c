package app

import (
	"errors"
	"net"
	"os"
	"testing"
	"time"
)

// patientPair returns a connection to a patient listener: the accepted side and the caller's side.
func patientPair(t *testing.T) (accepted, caller net.Conn) {
	t.Helper()
	plain, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	listener := newPatientListener(plain)
	caller, err = (&net.Dialer{}).DialContext(t.Context(), "tcp", plain.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	if accepted, err = listener.Accept(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := errors.Join(accepted.Close(), caller.Close(), listener.Close()); err != nil {
			t.Error(err)
		}
		if len(listener.conns) > 0 {
			t.Errorf("%d connections are still kept", len(listener.conns))
		}
		listener.stopTicking()
	})
	return accepted, caller
}

func TestPatientDeadlineComes(t *testing.T) {
	t.Parallel()
	conn, _ := patientPair(t)
	const after = 300 * time.Millisecond
	start := time.Now()
	if err := conn.SetReadDeadline(start.Add(after)); err != nil {
		t.Fatal(err)
	}
	_, err := conn.Read(make([]byte, 1))
	if took := time.Since(start); !errors.Is(err, os.ErrDeadlineExceeded) || took < after || took > after+10*deadlineTick {
		t.Errorf("read ended after %s with %v", took, err)
	}
	if err := conn.SetDeadline(time.Now().Add(time.Hour)); err != nil {
		t.Fatal(err)
	}
	if _, err := conn.Write([]byte("x")); err != nil {
		t.Errorf("a new deadline does not undo one that has come: %v", err)
	}
}

func TestPatientDeadlineIsPutOff(t *testing.T) {
	t.Parallel()
	conn, caller := patientPair(t)
	for _, deadline := range []time.Time{time.Now().Add(deadlineTick), time.Now().Add(time.Hour), time.Now().Add(deadlineTick), {}} {
		if err := conn.SetReadDeadline(deadline); err != nil {
			t.Fatal(err)
		}
	}
	read := make(chan error, 1)
	go func() {
		_, err := conn.Read(make([]byte, 1))
		read <- err
	}()
	select {
	case err := <-read:
		t.Fatalf("read ended with %v", err)
	case <-time.After(4 * deadlineTick): // the time in which it must not end
	}
	if _, err := caller.Write([]byte("x")); err != nil {
		t.Fatal(err)
	}
	if err := <-read; err != nil {
		t.Error(err)
	}
}

// net/http interrupts a read in this way.
func TestDeadlineInThePastIsKeptAtOnce(t *testing.T) {
	t.Parallel()
	conn, caller := patientPair(t)
	read := make(chan error, 1)
	go func() {
		_, err := conn.Read(make([]byte, 1))
		read <- err
	}()
	start := time.Now()
	if err := conn.SetReadDeadline(time.Unix(1, 0)); err != nil {
		t.Fatal(err)
	}
	if err := <-read; !errors.Is(err, os.ErrDeadlineExceeded) || time.Since(start) > deadlineTick/2 {
		t.Errorf("read ended after %s with %v", time.Since(start), err)
	}
	if err := conn.SetReadDeadline(time.Time{}); err != nil {
		t.Fatal(err)
	}
	if _, err := caller.Write([]byte("x")); err != nil {
		t.Fatal(err)
	}
	if _, err := conn.Read(make([]byte, 1)); err != nil {
		t.Errorf("the next read: %v", err)
	}
}
