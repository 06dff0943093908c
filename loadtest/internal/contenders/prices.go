package contenders

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	mathrand "math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"time"

	"github.com/golang-jwt/jwt/v5"

	"inventory/internal/access"
	"inventory/internal/api/client"
	"inventory/internal/app"
	"inventory/internal/stock"
	"inventory/loadtest/internal/history"
	"inventory/loadtest/internal/load"
	"inventory/loadtest/internal/report"
	"inventory/loadtest/internal/target"
)

// pricesName is the case whose costs are in docs/SCALE.md.
const pricesName = "prices"

// ofPrices measures what an order costs that asks for more than a unit: each entrant asks for one thing more than the first one.
func ofPrices(ctx context.Context, w *world) error {
	signer, err := w.newSigner()
	if err != nil {
		return err
	}
	plain, err := w.serveJob(ctx, target.Job{RedisURL: w.URLs.RedisURL, Tokens: signer.config}, nil)
	if err != nil {
		return err
	}
	recorded, err := w.serve(ctx, "", w.URLs.RedisURL)
	if err != nil {
		return err
	}
	err = app.WithOutbox(ctx, recorded.databaseURL, false, func(o stock.Outbox) error { return o.On(ctx) })
	if err != nil {
		return err
	}
	encrypted, err := w.serveEncrypted(ctx)
	if err != nil {
		return err
	}
	one, all := 1, w.scale.skus[1]
	oneGone, err := plain.soldOutSKUs(ctx, one)
	allGone, err2 := plain.soldOutSKUs(ctx, all)
	if err := errors.Join(err, err2); err != nil {
		return err
	}
	for _, e := range []entrant{
		{mix: hotMix, site: plain, prepare: plain.create, sell: plain.one},
		{mix: "a limit for each buyer", site: plain, prepare: plain.createLimited, sell: plain.toBuyer},
		{mix: "a token of each buyer", site: plain, prepare: plain.create, sell: plain.withToken(signer)},
		{mix: "a limit and a token", site: plain, prepare: plain.createLimited, sell: plain.withToken(signer)},
		{mix: "reserve, then commit", site: plain, prepare: plain.create, sell: plain.reserved},
		{mix: "the outbox", site: recorded, prepare: recorded.create, sell: recorded.one},
		{mix: "TLS", site: encrypted, prepare: encrypted.create, sell: encrypted.one},
		{mix: "a connection of each buyer", site: plain, prepare: plain.create, sell: plain.alone},
		{mix: "TLS, a connection of each buyer", site: encrypted, prepare: encrypted.create, sell: encrypted.alone},
		{mix: noneOf(one), site: plain, sell: oneGone, answers: true, warmUp: w.scale.warmUp},
		{mix: noneOf(all), site: plain, sell: allGone, answers: true, warmUp: 70 * w.scale.warmUp}, // each SKU is known then
	} {
		e.name, e.callers = overHTTPName, w.scale.callers[0]
		e.site.countsBytes = true
		w.enter(ctx, e)
	}
	return nil
}

func noneOf(skus int) string { return "none of " + report.Count(skus, "SKU") }

// createLimited is create for a SKU of which each buyer may have a unit.
func (s *site) createLimited(ctx context.Context, sku string) error {
	return s.Create(ctx, sku, client.NewSKU{Stock: stock.MaxStock, Segments: &s.world.scale.segments, PerBuyerLimit: new(int64(1))})
}

// toBuyer sells to another buyer each time.
func (s *site) toBuyer(_ context.Context, o load.Order) (load.Outcome, error) {
	order := unitOfEach(o.ID, []string{o.SKU})
	order.Buyer = o.ID
	return became(s.Send(0, load.NewRequest(order)))
}

// withToken sells to another buyer each time, who shows a token.
func (s *site) withToken(by signer) load.Seller {
	return func(_ context.Context, o load.Order) (load.Outcome, error) {
		request := load.NewRequest(unitOfEach(o.ID, []string{o.SKU}))
		var err error
		if request.Key, err = by.token(o.ID); err != nil {
			return load.Refused, err
		}
		return became(s.Send(0, request))
	}
}

// alone sends an order over a connection of its own.
func (s *site) alone(_ context.Context, o load.Order) (load.Outcome, error) {
	request := load.NewRequest(unitOfEach(o.ID, []string{o.SKU}))
	request.Last = true
	return became(s.Send(0, request))
}

// reserved reserves a unit, and commits it in another request.
func (s *site) reserved(_ context.Context, o load.Order) (load.Outcome, error) {
	order := unitOfEach(o.ID, []string{o.SKU})
	order.ReserveFor = time.Minute
	if got, err := became(s.Send(0, load.NewRequest(order))); err != nil || got != load.Accepted {
		return got, err
	}
	order.Kind = history.Commit
	status, body, err := s.Send(0, load.NewRequest(order))
	if err == nil && status != http.StatusOK {
		err = fmt.Errorf("a wrong answer to a commit: %d %.500s", status, body)
	}
	return load.Accepted, err
}

// soldOutSKUs puts SKUs up for sale that have no unit. The seller asks for one of them.
func (s *site) soldOutSKUs(ctx context.Context, n int) (load.Seller, error) {
	skus := make([]string, n)
	for i := range skus {
		skus[i] = fmt.Sprintf("none-%d-of-%d", i, n)
	}
	err := s.world.stock(ctx, skus, func(ctx context.Context, sku string) error { return s.Create(ctx, sku, client.NewSKU{}) })
	return func(ctx context.Context, o load.Order) (load.Outcome, error) {
		return s.buy(ctx, o.ID, skus[mathrand.IntN(len(skus))])
	}, err
}

// signer issues the tokens of buyers.
type signer struct {
	key    *ecdsa.PrivateKey
	config access.TokenConfig // of a service that accepts them
}

func (w *world) newSigner() (s signer, err error) {
	folder, err := w.Folder()
	if err != nil {
		return s, err
	}
	s.config = access.TokenConfig{Algorithm: jwt.SigningMethodES256.Alg(), KeyFile: filepath.Join(folder, "tokens.pem"), Audience: "lab"}
	if s.key, err = ecdsa.GenerateKey(elliptic.P256(), rand.Reader); err != nil {
		return s, fmt.Errorf("make a key for tokens: %w", err)
	}
	public, err := x509.MarshalPKIXPublicKey(&s.key.PublicKey)
	if err := errors.Join(err, writePEM(s.config.KeyFile, "PUBLIC KEY", public)); err != nil {
		return s, fmt.Errorf("write the key of tokens: %w", err)
	}
	return s, nil
}

func (s signer) token(buyer string) (string, error) {
	claims := jwt.RegisteredClaims{
		Subject: buyer, Audience: jwt.ClaimStrings{s.config.Audience}, ExpiresAt: jwt.NewNumericDate(time.Now().Add(siteLimit)),
	}
	token, err := jwt.NewWithClaims(jwt.SigningMethodES256, claims).SignedString(s.key)
	if err != nil {
		return "", fmt.Errorf("sign a token: %w", err)
	}
	return token, nil
}

// serveEncrypted starts the service with TLS, on a database of its own.
func (w *world) serveEncrypted(ctx context.Context) (*site, error) {
	folder, err := w.Folder()
	if err != nil {
		return nil, err
	}
	other := httptest.NewTLSServer(nil) // it has a certificate for 127.0.0.1
	other.Close()
	private, err := x509.MarshalPKCS8PrivateKey(other.TLS.Certificates[0].PrivateKey)
	job := target.Job{RedisURL: w.URLs.RedisURL, TLSCert: filepath.Join(folder, "tls.pem"), TLSKey: filepath.Join(folder, "tls.key")}
	err = errors.Join(err, writePEM(job.TLSCert, "CERTIFICATE", other.Certificate().Raw), writePEM(job.TLSKey, "PRIVATE KEY", private))
	if err != nil {
		return nil, fmt.Errorf("write a certificate: %w", err)
	}
	trusted := x509.NewCertPool()
	trusted.AddCert(other.Certificate())
	return w.serveJob(ctx, job, &tls.Config{RootCAs: trusted, MinVersion: tls.VersionTLS13})
}

func writePEM(file, kind string, der []byte) error {
	return os.WriteFile(file, pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der}), 0o600)
}
