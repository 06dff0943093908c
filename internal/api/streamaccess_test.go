package api_test

import (
	"bytes"
	"errors"
	"io"
	"net/http"
	"os"
	"testing"
	"testing/synctest"
	"time"

	"inventory/internal/access"
	"inventory/internal/busytest"
)

// openGuarded opens a stand that asks for credentials.
func openGuarded(t *testing.T) (*stand, wallet, *access.Guard) {
	t.Helper()
	w := newWallet(t)
	guard, err := access.NewGuard(w.access)
	if err != nil {
		t.Fatal(err)
	}
	return openStand(t, standConfig{guard: guard}), w, guard
}

// follow opens a stream with a credential. gone is closed when it ends.
func (s *stand) follow(credential string) (status int, gone <-chan struct{}) {
	s.t.Helper()
	stream := s.listen("", "Authorization: Bearer "+credential)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_, _ = io.Copy(io.Discard, stream.body) // the kind of end does not matter here
	}()
	return stream.status, ended
}

// One caller may take some of the listeners' places, and leaves places for others.
func TestListenersOfOneCallerAreBounded(t *testing.T) {
	t.Parallel()
	busytest.Virtual(t, func(t *testing.T) {
		s, w, _ := openGuarded(t)
		for i := range 33 {
			want := http.StatusOK
			if i == 32 {
				want = http.StatusServiceUnavailable
			}
			if status, _ := s.follow(w.credentials[ann]); status != want {
				t.Errorf("stream %d of ann: %d", i+1, status)
			}
		}
		for _, caller := range []string{bob, shop} {
			if status, _ := s.follow(w.credentials[caller]); status != http.StatusOK {
				t.Errorf("%s: %d", caller, status)
			}
		}
	})
}

// A stream lasts no longer than the credential of its listener.
func TestStreamsEndWithTheirCredential(t *testing.T) {
	t.Parallel()
	busytest.Virtual(t, func(t *testing.T) {
		const leeway = 30 * time.Second // by which clocks may differ
		s, w, guard := openGuarded(t)
		_, ofShop := s.follow(w.credentials[shop])
		_, ofOperator := s.follow(w.credentials[operator])
		_, ofAnn := s.follow(w.credentials[ann])
		_, ofDying := s.follow(w.expiring(time.Now().Add(10*time.Second - leeway)))
		lasts := func(whose string, gone <-chan struct{}) {
			t.Helper()
			synctest.Wait()
			select {
			case <-gone:
				t.Errorf("the stream of %s ended too", whose)
			default:
			}
		}
		time.Sleep(9 * time.Second)
		lasts("the token that expires in a second", ofDying)
		busytest.Receive(t, "the end of the stream of the token that expired", ofDying)
		lasts("the key that is still there", ofShop)
		takeOut(t, guard, w.access.KeysFile, "shop ")
		busytest.Receive(t, "the end of the stream of the key that was taken out", ofShop)
		lasts("the other key", ofOperator)
		lasts("the token", ofAnn)
	})
}

// takeOut removes the keys whose lines start with a text, and makes the guard read the file again.
func takeOut(t *testing.T, guard *access.Guard, file, begins string) {
	t.Helper()
	text, err := os.ReadFile(file)
	if err == nil {
		err = os.WriteFile(file, withoutLine(text, begins), 0o600)
	}
	if err = errors.Join(err, guard.Reload()); err != nil {
		t.Fatal(err)
	}
}

func withoutLine(text []byte, begins string) (kept []byte) {
	for line := range bytes.Lines(text) {
		if !bytes.HasPrefix(line, []byte(begins)) {
			kept = append(kept, line...)
		}
	}
	return kept
}
