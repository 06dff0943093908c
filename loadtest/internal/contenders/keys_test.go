package contenders

import (
	"io"
	"os"
	"strings"
	"testing"

	"inventory/internal/api/client"
	"inventory/loadtest/internal/load"
	"inventory/loadtest/internal/target"
)

// TestSitesAskForKeys: the services measured over HTTP require a key.
func TestSitesAskForKeys(t *testing.T) {
	t.Parallel()
	w, databaseURL := newWorld(t)
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	w.Process = target.Process{Command: []string{program, asService}, Logs: io.Discard}
	if err := w.issueKeys(); err != nil {
		t.Fatal(err)
	}
	site, err := w.serveService(t.Context(), databaseURL, w.URLs.RedisURL)
	if err != nil {
		t.Fatal(err)
	}
	l := traffic{connections: 1}
	if r, err := site.send(t.Context(), "random", l); err != nil || r.counts[load.Accepted] == 0 {
		t.Errorf("with the key: %v: %+v", err, r)
	}
	w.keys.buyer = ""
	if _, err := site.send(t.Context(), "random", l); err == nil || !strings.Contains(err.Error(), "401") {
		t.Errorf("without a key: %v", err)
	}
	w.keys.admin = ""
	if err := site.create(t.Context(), "another", client.NewSKU{Stock: 1}); err == nil {
		t.Error("a SKU was made without a key")
	}
}
