package app_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"io"
	"math/big"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"inventory/internal/access"
	"inventory/internal/app"
	"inventory/internal/busytest"
	"inventory/internal/stock/stocktest"
)

// certificate makes a certificate for 127.0.0.1, and the pool that trusts it.
func certificate(t *testing.T) (certFile, keyFile string, trusted *x509.CertPool) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
	}
	der, err1 := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	keyDER, err2 := x509.MarshalPKCS8PrivateKey(key)
	parsed, err3 := x509.ParseCertificate(der)
	folder := t.TempDir()
	certFile, keyFile = filepath.Join(folder, "cert.pem"), filepath.Join(folder, "key.pem")
	err4 := os.WriteFile(certFile, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), 0o600)
	err5 := os.WriteFile(keyFile, pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: keyDER}), 0o600)
	if err := errors.Join(err1, err2, err3, err4, err5); err != nil {
		t.Fatal(err)
	}
	trusted = x509.NewCertPool()
	trusted.AddCert(parsed)
	return certFile, keyFile, trusted
}

// get reads the document with a client with some TLS configuration. It returns the status, and the version of HTTP.
func get(t *testing.T, url string, config *tls.Config, http2 bool) (status, version int, err error) {
	t.Helper()
	transport := &http.Transport{TLSClientConfig: config, ForceAttemptHTTP2: http2}
	defer transport.CloseIdleConnections()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url+"/openapi.yaml", nil)
	if err != nil {
		t.Fatal(err)
	}
	response, err := (&http.Client{Transport: transport}).Do(request)
	if err != nil {
		return 0, 0, err
	}
	defer response.Body.Close()
	_, err = io.Copy(io.Discard, response.Body)
	return response.StatusCode, response.ProtoMajor, err
}

func TestTLS(t *testing.T) {
	t.Parallel()
	certFile, keyFile, trusted := certificate(t)
	a := start(t, app.Config{Lock: app.LockNone, TLSCert: certFile, TLSKey: keyFile})
	if !strings.HasPrefix(a.URL(), "https://") || !strings.HasPrefix(a.AdminURL(), "http://") {
		t.Errorf("URLs %s and %s", a.URL(), a.AdminURL())
	}
	for _, want := range []int{1, 2} {
		status, version, err := get(t, a.URL(), &tls.Config{RootCAs: trusted, MinVersion: tls.VersionTLS12}, want == 2)
		if err != nil || status != http.StatusOK || version != want {
			t.Errorf("HTTP/%d: %d in HTTP/%d, %v", want, status, version, err)
		}
	}
	old := &tls.Config{RootCAs: trusted, MinVersion: tls.VersionTLS10, MaxVersion: tls.VersionTLS11}
	if _, _, err := get(t, a.URL(), old, false); err == nil {
		t.Error("TLS 1.1 was spoken")
	}
	if _, _, err := get(t, a.URL(), nil, false); err == nil {
		t.Error("an unknown certificate was believed")
	}
	if status, _, err := get(t, strings.Replace(a.URL(), "https:", "http:", 1), nil, false); err != nil || status != http.StatusBadRequest {
		t.Errorf("without TLS: %d, %v", status, err)
	}
}

// The service closes a connection that sends nothing, not even a hello, when its time is over.
func TestTLSKeepsDeadlines(t *testing.T) {
	busytest.Slow(t)
	t.Parallel()
	certFile, keyFile, _ := certificate(t)
	a := start(t, app.Config{Lock: app.LockNone, TLSCert: certFile, TLSKey: keyFile})
	conn, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", strings.TrimPrefix(a.URL(), "https://"))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if err := conn.SetReadDeadline(time.Now().Add(busytest.Patience)); err != nil {
		t.Fatal(err)
	}
	if _, err := conn.Read(make([]byte, 1)); !errors.Is(err, io.EOF) {
		t.Errorf("got %v, want that the service closes the connection", err)
	}
}

func TestAccessThatMakesNoSense(t *testing.T) {
	t.Parallel()
	certFile, keyFile, _ := certificate(t)
	_, otherKey, _ := certificate(t)
	for says, config := range map[string]app.Config{
		"both a certificate and its key": {TLSCert: certFile},
		"private key does not match":     {TLSCert: certFile, TLSKey: otherKey},
		"failed to find":                 {TLSCert: keyFile, TLSKey: keyFile},
		"no such file":                   {TLSCert: certFile, TLSKey: keyFile + "x"},
		"API keys: open":                 {Access: access.Config{KeysFile: keyFile + "x"}},
		"tokens need an algorithm":       {Access: access.Config{Tokens: access.TokenConfig{KeyFile: keyFile}}},
		"rate limit":                     {RateLimit: -1},
		"needs a rate limit":             {RateBurst: 1},
		`allowed host " b"`:              {AllowedHosts: []string{"a", " b"}}, // of "a, b" in the environment
		`allowed host "a:80"`:            {AllowedHosts: []string{"a:80"}},
		`allowed host "a."`:              {AllowedHosts: []string{"a."}},
		`allowed host "[2001:db8::1]"`:   {AllowedHosts: []string{"2001:db8::1", "[2001:db8::1]"}},
		`allowed host "*.a"`:             {AllowedHosts: []string{"b_1.a-z", "192.0.2.1", "*.a"}},
		`allowed host "http://a"`:        {AllowedHosts: []string{"http://a"}},
	} {
		config.DatabaseURL = "sqlite:" + filepath.Join(t.TempDir(), "inventory.db")
		a, err := app.Start(t.Context(), config)
		if err == nil {
			err = errors.Join(errors.New("it started"), a.Close(t.Context()))
		}
		if !strings.Contains(err.Error(), says) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%v; want %s", err, says)
		}
	}
}

// The permitted addresses of a service depend on whether it asks for keys. If it asks for none, the log says so in one
// line.
func TestListeningToStrangers(t *testing.T) {
	busytest.Slow(t)
	t.Parallel()
	_, line, err := access.NewKey("shop", access.ScopeBuyer)
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "keys")
	if err := os.WriteFile(file, []byte(line), 0o600); err != nil {
		t.Fatal(err)
	}
	keys := access.Config{KeysFile: file}
	const refused = "allow-anonymous if that is meant"
	for name, c := range map[string]struct {
		config app.Config
		says   string // in the log, or in the error
	}{
		"open on loopback":           {app.Config{}, "nobody is asked for a key"},
		"open to all":                {app.Config{Listen: "0.0.0.0:0"}, refused},
		"open to all, as meant":      {app.Config{Listen: "0.0.0.0:0", AllowAnonymous: true}, "anybody who reaches the public listener"},
		"with keys":                  {app.Config{Access: keys}, ""},
		"with keys, to all":          {app.Config{Access: keys, Listen: "0.0.0.0:0"}, ""},
		"admin to all":               {app.Config{Access: keys, AdminListen: "0.0.0.0:0"}, refused},
		"admin to all, public meant": {app.Config{Access: keys, AdminListen: "0.0.0.0:0", AllowAnonymous: true}, refused},
		"open to all, admin meant":   {app.Config{Listen: "0.0.0.0:0", AdminAllowAnonymous: true}, refused},
		"metrics to all":             {app.Config{Access: keys, MetricsListen: "0.0.0.0:0"}, ""},
		"admin to all, as is meant":  {app.Config{Access: keys, AdminListen: "0.0.0.0:0", AdminAllowAnonymous: true}, "anybody who reaches the admin listener"},
	} {
		var log busytest.Log
		c.config.DatabaseURL, c.config.Lock = "sqlite:"+stocktest.SQLiteFile(t), app.LockNone
		c.config.ShutdownDelay = new(time.Duration)
		c.config.Logger = log.Logger()
		a, err := tryStart(t, c.config)
		if c.says == refused {
			if err == nil || !strings.Contains(err.Error(), refused) {
				t.Errorf("%s: %v", name, err)
			}
			continue
		}
		if err == nil {
			closeNow(t, a)
		}
		told := strings.Count(log.String(), "body ") // in the lines "nobody is asked" and "anybody who reaches"
		if err != nil || !strings.Contains(log.String(), c.says) || told != min(1, len(c.says)) {
			t.Errorf("%s: %v, %s", name, err, log.String())
		}
	}
}
