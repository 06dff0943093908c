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
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/redis/go-redis/v9"
	"golang.org/x/sync/errgroup"

	"inventory/deploy/compose"
)

// Redis is a private redis-server that keeps nothing on disk.
type Redis struct {
	server
	tls TLS
}

// StartRedis starts a Redis server. Further arguments go to redis-server as
// they are, for example "--maxmemory", "64mb".
func StartRedis(ctx context.Context, arguments ...string) (*Redis, error) {
	return TLS{}.StartRedis(ctx, arguments...)
}

// StartRedis is [StartRedis] with TLS.
func (t TLS) StartRedis(ctx context.Context, arguments ...string) (*Redis, error) {
	return openRedis(ctx, "Redis", "", t, func(*Redis) []string {
		return append([]string{"--save", "", "--appendonly", "no"}, arguments...)
	})
}

// openRedis starts redis-server with a file of settings, if there are any. It calls arguments when it knows the folder
// and the port, which change until a free port is found.
func openRedis(ctx context.Context, name, settings string, t TLS, arguments func(r *Redis) []string) (*Redis, error) {
	program, err := exec.LookPath("redis-server")
	if err != nil {
		return nil, errMissing("redis-server")
	}
	r := &Redis{server: server{name: name, deathSignal: syscall.SIGKILL}, tls: t}
	const file = "redis.conf"
	r.configure = func() error {
		if _, err := os.Stat(filepath.Join(r.folder.path, file)); err == nil {
			return nil // a Sentinel has changed the file itself
		}
		return r.write(map[string]string{file: settings})
	}
	r.command = func() *exec.Cmd {
		return r.run(program, slices.Concat([]string{filepath.Join(r.folder.path, file)}, arguments(r), r.tls.arguments(r.port), []string{
			"--bind", "127.0.0.1", "--dir", r.folder.path, "--daemonize", "no",
		})...)
	}
	r.ready = r.answers
	return started(r, r.open(ctx, os.TempDir(), nil))
}

// URL returns the address in the form that go-redis parses.
func (r *Redis) URL() string { return r.tls.scheme() + "://" + r.Addr() + "/0" }

// Pause freezes the server with SIGSTOP: until Resume, connections stay open and
// the server answers nothing.
func (r *Redis) Pause() error { return r.signal(syscall.SIGSTOP) }

// Resume ends a Pause.
func (r *Redis) Resume() error { return r.signal(syscall.SIGCONT) }

// answers reads the server's process id.
func (r *Redis) answers(ctx context.Context, pid int) error {
	info, err := r.info(ctx, "server")
	if err != nil {
		return err
	}
	if info["process_id"] != strconv.Itoa(pid) {
		return fmt.Errorf("no Redis with process id %d answers, but one with %q", pid, info["process_id"])
	}
	return nil
}

// StartReplica starts a Redis server that follows another one, and returns when
// it has caught up. Stop it separately.
func StartReplica(ctx context.Context, master *Redis, arguments ...string) (*Redis, error) {
	if _, err := master.do(ctx, "CONFIG", "SET", "repl-diskless-sync-delay", 0, "repl-ping-replica-period", 1); err != nil {
		return nil, err
	}
	r, err := openRedis(ctx, "Redis", compose.Redis, master.tls, func(*Redis) []string {
		return append([]string{"--replicaof", "127.0.0.1 " + strconv.Itoa(master.port)}, arguments...)
	})
	if err != nil {
		return nil, err
	}
	err = await(ctx, "a replica to catch up", func(ctx context.Context) error { return r.follows(ctx, master) })
	if err != nil {
		return nil, errors.Join(err, r.Stop())
	}
	return r, nil
}

// follows returns an error unless the server is a replica that has what its
// master had a moment ago. Both must have sent and received data: a link that is
// up may not stream yet.
func (r *Redis) follows(ctx context.Context, master *Redis) error {
	theirs, err := master.info(ctx, "replication")
	if err != nil {
		return err
	}
	ours, err := r.info(ctx, "replication")
	if err != nil {
		return err
	}
	if ours["role"] != "slave" || ours["master_port"] != strconv.Itoa(master.port) || ours["master_link_status"] != "up" {
		return fmt.Errorf("%s is a %s of port %q with a link that is %q",
			r.Addr(), ours["role"], ours["master_port"], ours["master_link_status"])
	}
	sent, sentErr := strconv.Atoi(theirs["master_repl_offset"])
	got, gotErr := strconv.Atoi(ours["slave_repl_offset"])
	if err := errors.Join(sentErr, gotErr); err != nil || sent == 0 || got < sent {
		return errors.Join(fmt.Errorf("%s has %d of %d bytes of its master", r.Addr(), got, sent), err)
	}
	return nil
}

// ask asks the server over a connection of its own, without retries.
func ask[T any](ctx context.Context, r *Redis, question func(context.Context, *redis.Client) *T) (*T, error) {
	ctx, cancel := context.WithTimeout(ctx, replyTimeout)
	defer cancel()
	config, err := r.tls.config()
	if err != nil {
		return nil, err
	}
	client := redis.NewClient(&redis.Options{
		Addr: r.Addr(), TLSConfig: config, Protocol: 2, MaxRetries: -1, DialerRetries: 1, DisableIdentity: true,
		ContextTimeoutEnabled: true, DialTimeout: replyTimeout, ReadTimeout: replyTimeout, WriteTimeout: replyTimeout,
	})
	defer client.Close()
	answer := question(ctx, client)
	if command, is := any(answer).(redis.Cmder); is && command.Err() != nil {
		return nil, fmt.Errorf("%v to %s: %w", command.Args(), r.Addr(), command.Err())
	}
	return answer, nil
}

// do sends one command, and returns the answer.
func (r *Redis) do(ctx context.Context, command ...any) (any, error) {
	answer, err := ask(ctx, r, func(ctx context.Context, c *redis.Client) *redis.Cmd { return c.Do(ctx, command...) })
	if err != nil {
		return nil, err
	}
	return answer.Val(), nil
}

// text is do for an answer that is text.
func (r *Redis) text(ctx context.Context, command ...any) (string, error) {
	answer, err := r.do(ctx, command...)
	return fmt.Sprint(answer), err
}

// info returns a section of INFO.
func (r *Redis) info(ctx context.Context, section string) (map[string]string, error) {
	text, err := r.text(ctx, "INFO", section)
	return fieldsOf(text), err
}

// fieldsOf reads lines of the form name:value.
func fieldsOf(text string) map[string]string {
	fields := make(map[string]string)
	for line := range strings.Lines(text) {
		if name, value, found := strings.Cut(strings.TrimSpace(line), ":"); found {
			fields[name] = value
		}
	}
	return fields
}

// fleet is a group of servers that are started and stopped together.
type fleet []*Redis

// startFleet starts n servers at the same time.
func startFleet(n int, start func(i int) (*Redis, error)) (fleet, error) {
	started := make(fleet, n)
	var starts errgroup.Group
	for i := range n {
		starts.Go(func() (err error) {
			started[i], err = start(i)
			return err
		})
	}
	if err := starts.Wait(); err != nil {
		return nil, errors.Join(err, started.stop())
	}
	return started, nil
}

// stop stops all servers.
func (f fleet) stop() error {
	var stops errgroup.Group
	for _, r := range f {
		if r != nil {
			stops.Go(r.Stop)
		}
	}
	return stops.Wait()
}

// alive returns the servers whose processes exist.
func (f fleet) alive() fleet {
	var alive fleet
	for _, r := range f {
		if r.running() {
			alive = append(alive, r)
		}
	}
	return alive
}

// at returns the server with an address.
func (f fleet) at(address string) (*Redis, error) {
	for _, r := range f {
		if r.Addr() == address {
			return r, nil
		}
	}
	return nil, fmt.Errorf("no server of ours is at %s", address)
}

// addresses lists the addresses of the servers.
func (f fleet) addresses() []string {
	addresses := make([]string, len(f))
	for i, r := range f {
		addresses[i] = r.Addr()
	}
	return addresses
}

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
