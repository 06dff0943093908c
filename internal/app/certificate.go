package app

import (
	"crypto/tls"
	"errors"
	"fmt"
	"sync/atomic"
)

// certificate is the public listener's certificate, from two files that may be read again.
type certificate struct {
	certFile, keyFile string
	current           atomic.Pointer[tls.Certificate]
}

// openCertificate reads the certificate of a configuration; nil is none.
func (c Config) openCertificate() (*certificate, error) {
	if c.TLSCert == "" && c.TLSKey == "" {
		return nil, nil
	}
	if c.TLSCert == "" || c.TLSKey == "" {
		return nil, errors.New("TLS: needs both a certificate and its key")
	}
	certificate := &certificate{certFile: c.TLSCert, keyFile: c.TLSKey}
	return certificate, certificate.reload()
}

// reload reads both files again, for later connections. After an error the certificate stays as it was.
func (c *certificate) reload() error {
	read, err := tls.LoadX509KeyPair(c.certFile, c.keyFile)
	if err != nil {
		return fmt.Errorf("TLS: certificate %s and key %s: %w", c.certFile, c.keyFile, err)
	}
	c.current.Store(&read)
	return nil
}

// config returns the TLS configuration with the certificate.
func (c *certificate) config() *tls.Config {
	return &tls.Config{
		GetCertificate: func(*tls.ClientHelloInfo) (*tls.Certificate, error) { return c.current.Load(), nil },
		MinVersion:     tls.VersionTLS12,
	}
}
