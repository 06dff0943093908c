package api_test

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"net/http"
	"os"
	"testing"
	"time"

	"inventory/internal/app"
)

// follow opens a stream as one of the callers. gone is closed when it ends.
func (d *doors) follow(caller string) (status int, gone <-chan struct{}) {
	d.Helper()
	return d.followWith(d.credentials[caller])
}

func (d *doors) followWith(credential string) (status int, gone <-chan struct{}) {
	d.Helper()
	request, err := http.NewRequestWithContext(d.Context(), http.MethodGet, d.url+"/v1/events", nil)
	if err != nil {
		d.Fatal(err)
	}
	request.Header.Set("Authorization", "Bearer "+credential)
	response, err := d.client.Do(request)
	if err != nil {
		d.Fatal(err)
	}
	d.Cleanup(func() { response.Body.Close() })
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_, _ = io.Copy(io.Discard, bufio.NewReader(response.Body)) // the kind of end does not matter here
	}()
	return response.StatusCode, ended
}

// One caller may take some of the listeners' places, and leaves places for others.
func TestListenersOfOneCallerAreBounded(t *testing.T) {
	t.Parallel()
	d := openDoors(t, app.Config{})
	for i := range 33 {
		want := http.StatusOK
		if i == 32 {
			want = http.StatusServiceUnavailable
		}
		if status, _ := d.follow(ann); status != want {
			t.Errorf("stream %d of ann: %d", i+1, status)
		}
	}
	for _, caller := range []string{bob, shop} {
		if status, _ := d.follow(caller); status != http.StatusOK {
			t.Errorf("%s: %d", caller, status)
		}
	}
}

// A stream lasts no longer than the credential of its listener.
func TestStreamsEndWithTheirCredential(t *testing.T) {
	t.Parallel()
	d := openDoors(t, app.Config{})
	_, ofShop := d.follow(shop)
	_, ofOperator := d.follow(operator)
	_, ofAnn := d.follow(ann)
	ofDying := d.followUntilItExpires()
	d.wait("the token that expired", ofDying)
	d.takeOut("shop ")
	d.wait("the key that was taken out", ofShop)
	for name, gone := range map[string]<-chan struct{}{"the other key": ofOperator, "the token": ofAnn} {
		select {
		case <-gone:
			t.Errorf("the stream of %s ended too", name)
		default:
		}
	}
}

// followUntilItExpires opens a stream with a token that expires a moment later. On a busy machine the token may expire before
// the stream begins: then the next token lasts longer.
func (d *doors) followUntilItExpires() (gone <-chan struct{}) {
	d.Helper()
	const leeway = 30 * time.Second // by which clocks may differ
	for lasts := 2 * time.Second; ; lasts *= 2 {
		status, gone := d.followWith(d.expiring(time.Now().Add(lasts - leeway)))
		switch {
		case status == http.StatusOK:
			return gone
		case status != http.StatusUnauthorized || lasts > 10*time.Second:
			d.Fatalf("a token that lasts %v: %d", lasts, status)
		}
	}
}

func (d *doors) wait(of string, gone <-chan struct{}) {
	d.Helper()
	select {
	case <-gone:
	case <-time.After(20 * time.Second):
		d.Errorf("the stream of %s goes on", of)
	}
}

// takeOut removes the keys whose lines start with a text, and makes the service read the file again.
func (d *doors) takeOut(begins string) {
	d.Helper()
	text, err := os.ReadFile(d.keysFile)
	if err == nil {
		err = os.WriteFile(d.keysFile, withoutLine(text, begins), 0o600)
	}
	if err = errors.Join(err, d.app.Reload()); err != nil {
		d.Fatal(err)
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
