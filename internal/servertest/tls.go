//go:build unix

package servertest

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"fmt"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"time"
)

// TLS names the files with which Redis servers show who they are, and whom they trust: clients need a certificate of the
// same authority. The zero TLS is none.
type TLS struct{ CA, Cert, Key string }

// Authority issues certificates for tests.
type Authority struct {
	folder string
	own    *x509.Certificate // nil: it has none yet
	key    *ecdsa.PrivateKey
	issued int64
}

// certificateLife is how long the certificates are valid before and after now.
const certificateLife = time.Hour

// NewAuthority makes an authority that writes its files into a folder, which no other authority uses.
func NewAuthority(folder string) (*Authority, error) {
	a := &Authority{folder: folder}
	_, err := a.issue("ca", &x509.Certificate{
		Subject: pkix.Name{CommonName: "authority of " + filepath.Base(folder)}, IsCA: true, BasicConstraintsValid: true,
		KeyUsage: x509.KeyUsageCertSign,
	})
	return a, err
}

// CA returns the file of the authority's own certificate.
func (a *Authority) CA() string { return filepath.Join(a.folder, "ca.pem") }

// Issue issues a certificate for a server or a client. Names are host names or IP addresses; without one it is
// 127.0.0.1.
func (a *Authority) Issue(names ...string) (TLS, error) {
	if len(names) == 0 {
		names = []string{"127.0.0.1"}
	}
	template := &x509.Certificate{
		Subject: pkix.Name{CommonName: names[0]}, KeyUsage: x509.KeyUsageDigitalSignature,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
	}
	for _, name := range names {
		if ip := net.ParseIP(name); ip != nil {
			template.IPAddresses = append(template.IPAddresses, ip)
		} else {
			template.DNSNames = append(template.DNSNames, name)
		}
	}
	return a.issue(strconv.FormatInt(a.issued, 10), template)
}

// issue completes a certificate, signs it, and writes it and its key to files. The first one is the authority's, which signs itself.
func (a *Authority) issue(name string, template *x509.Certificate) (TLS, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return TLS{}, err
	}
	if a.own == nil {
		a.own, a.key = template, key
	}
	a.issued++
	template.SerialNumber = big.NewInt(a.issued)
	template.NotBefore, template.NotAfter = time.Now().Add(-certificateLife), time.Now().Add(certificateLife)
	signed, err := x509.CreateCertificate(rand.Reader, template, a.own, &key.PublicKey, a.key)
	private, errKey := x509.MarshalPKCS8PrivateKey(key)
	t := TLS{CA: a.CA(), Cert: filepath.Join(a.folder, name+".pem"), Key: filepath.Join(a.folder, name+".key")}
	return t, errors.Join(err, errKey, writePEM(t.Cert, "CERTIFICATE", signed), writePEM(t.Key, "PRIVATE KEY", private))
}

func writePEM(file, kind string, der []byte) error {
	return os.WriteFile(file, pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der}), 0o600)
}

// arguments are those of redis-server for its port, with TLS if there is any.
func (t TLS) arguments(port int) []string {
	if t == (TLS{}) {
		return []string{"--port", strconv.Itoa(port)}
	}
	return []string{
		"--port", "0", "--tls-port", strconv.Itoa(port), "--tls-replication", "yes", "--tls-cluster", "yes",
		"--tls-ca-cert-file", t.CA, "--tls-cert-file", t.Cert, "--tls-key-file", t.Key,
	}
}

// ofClient are the arguments of redis-cli.
func (t TLS) ofClient() []string {
	if t == (TLS{}) {
		return nil
	}
	return []string{"--tls", "--cacert", t.CA, "--cert", t.Cert, "--key", t.Key}
}

// scheme is that of a URL.
func (t TLS) scheme() string {
	if t == (TLS{}) {
		return "redis"
	}
	return "rediss"
}

// config is the configuration of a client; nil is no TLS.
func (t TLS) config() (*tls.Config, error) {
	if t == (TLS{}) {
		return nil, nil
	}
	own, err := tls.LoadX509KeyPair(t.Cert, t.Key)
	if err != nil {
		return nil, err
	}
	ca, err := os.ReadFile(t.CA)
	if err != nil {
		return nil, err
	}
	trusted := x509.NewCertPool()
	if !trusted.AppendCertsFromPEM(ca) {
		return nil, fmt.Errorf("%s holds no certificate", t.CA)
	}
	return &tls.Config{RootCAs: trusted, Certificates: []tls.Certificate{own}, ServerName: "127.0.0.1", MinVersion: tls.VersionTLS12}, nil
}

// UseTLS gives a server with TLS other certificates, and ends the connections of its clients as a restart would.
func (r *Redis) UseTLS(ctx context.Context, t TLS) error {
	_, err := r.do(ctx, "CONFIG", "SET", "tls-ca-cert-file", t.CA, "tls-cert-file", t.Cert, "tls-key-file", t.Key)
	if err != nil {
		return err
	}
	r.tls = t
	for _, kind := range []string{"normal", "pubsub"} {
		if _, err := r.do(ctx, "CLIENT", "KILL", "TYPE", kind); err != nil {
			return err
		}
	}
	return nil
}
