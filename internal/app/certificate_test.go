package app_test

import (
	"crypto/tls"
	"crypto/x509"
	"net/http"
	"os"
	"testing"

	"inventory/internal/app"
)

// replace replaces the content of files by that of others.
func replace(t *testing.T, files ...string) {
	t.Helper()
	for i := 0; i < len(files); i += 2 {
		text, err := os.ReadFile(files[i+1])
		if err == nil {
			err = os.WriteFile(files[i], text, 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}

func TestCertificateIsReadAgain(t *testing.T) {
	t.Parallel()
	certFile, keyFile, first := certificate(t)
	nextCert, nextKey, next := certificate(t)
	a := start(t, app.Config{Lock: app.LockNone, TLSCert: certFile, TLSKey: keyFile})
	trusts := func(name string, trusted *x509.CertPool, want bool) {
		t.Helper()
		status, _, err := get(t, a.URL(), &tls.Config{RootCAs: trusted, MinVersion: tls.VersionTLS12}, false)
		if got := err == nil && status == http.StatusOK; got != want {
			t.Errorf("%s: %d, %v", name, status, err)
		}
	}
	trusts("the first", first, true)
	replace(t, certFile, nextCert) // the key file still belongs to the old certificate
	if err := a.Reload(); err == nil {
		t.Error("a certificate was taken without its key")
	}
	trusts("the first, after a mistake", first, true)
	replace(t, keyFile, nextKey)
	if err := a.Reload(); err != nil {
		t.Fatal(err)
	}
	trusts("the next", next, true)
	trusts("the first, after it was replaced", first, false)
}
