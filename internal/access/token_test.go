package access

import (
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/golang-jwt/jwt/v5"

	"inventory/internal/busytest"
)

// pair is a key to sign with, and the file of the key to check with.
type pair struct {
	algorithm string
	private   any
	file      string
}

func pemOf(t *testing.T, public any) string {
	t.Helper()
	der, err := x509.MarshalPKIXPublicKey(public)
	if err != nil {
		t.Fatal(err)
	}
	return string(pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: der}))
}

func pairs(t *testing.T) []pair {
	t.Helper()
	_, ed, err1 := ed25519.GenerateKey(rand.Reader)
	ec, err2 := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	rs, err3 := rsa.GenerateKey(rand.Reader, 2048)
	if err := errors.Join(err1, err2, err3); err != nil {
		t.Fatal(err)
	}
	secret := rand.Text() + rand.Text()
	return []pair{
		{"EdDSA", ed, write(t, pemOf(t, ed.Public()))},
		{"ES256", ec, write(t, pemOf(t, ec.Public()))},
		{"RS256", rs, write(t, pemOf(t, rs.Public()))},
		{"HS256", []byte(secret), write(t, secret+"\n")},
	}
}

// claims are those of a good token.
func claims() jwt.MapClaims {
	return jwt.MapClaims{"sub": "ann", "aud": "inventory", "iss": "login", "exp": time.Now().Add(time.Hour).Unix()}
}

func with(name string, value any) jwt.MapClaims {
	c := claims()
	if c[name] = value; value == nil {
		delete(c, name)
	}
	return c
}

func sign(t *testing.T, algorithm string, key any, claims jwt.Claims) string {
	t.Helper()
	text, err := jwt.NewWithClaims(jwt.GetSigningMethod(algorithm), claims).SignedString(key)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

func TestTokens(t *testing.T) {
	t.Parallel()
	for _, p := range pairs(t) {
		t.Run(p.algorithm, func(t *testing.T) {
			t.Parallel()
			busytest.Virtual(t, func(t *testing.T) { testTokens(t, p) })
		})
	}
}

// testTokens runs in virtual time: no time passes while the tokens are made and read.
func testTokens(t *testing.T, p pair) {
	t.Helper()
	g := guard(t, Config{Tokens: TokenConfig{Algorithm: p.algorithm, KeyFile: p.file, Audience: "inventory", Issuer: "login"}})
	now := time.Now()
	for name, c := range map[string]struct {
		claims jwt.MapClaims
		err    error
	}{
		"good":                     {claims(), nil},
		"several audiences":        {with("aud", []string{"other", "inventory"}), nil},
		"expired within leeway":    {with("exp", now.Add(time.Second-tokenLeeway).Unix()), nil},
		"expired":                  {with("exp", now.Add(-tokenLeeway-5*time.Second).Unix()), jwt.ErrTokenExpired},
		"no expiry":                {with("exp", nil), jwt.ErrTokenRequiredClaimMissing},
		"expiry is no number":      {with("exp", "never"), errToken},
		"not yet":                  {with("nbf", now.Add(time.Hour).Unix()), jwt.ErrTokenNotValidYet},
		"wrong audience":           {with("aud", "other"), jwt.ErrTokenInvalidAudience},
		"no audience":              {with("aud", nil), jwt.ErrTokenRequiredClaimMissing},
		"wrong issuer":             {with("iss", "other"), jwt.ErrTokenInvalidIssuer},
		"no issuer":                {with("iss", nil), jwt.ErrTokenRequiredClaimMissing},
		"no subject":               {with("sub", nil), errSubject},
		"empty subject":            {with("sub", ""), errSubject},
		"long subject":             {with("sub", strings.Repeat("x", 129)), errSubject},
		"subject that forges logs": {with("sub", "a\nb"), errSubject},
		"admin by a claim":         {with("scope", "admin"), nil},
	} {
		caller, err := g.Authenticate("Bearer " + sign(t, p.algorithm, p.private, c.claims))
		if !errors.Is(err, c.err) || (err == nil) != (c.err == nil) {
			t.Errorf("%s: %v, want %v", name, err, c.err)
		}
		if want := (Caller{ID: "buyer ann", Scope: ScopeBuyer, Buyer: "ann"}); err == nil && caller != want {
			t.Errorf("%s: %+v", name, caller)
		}
	}
}

func TestForgedTokens(t *testing.T) {
	t.Parallel()
	all := pairs(t)
	ed := all[0]
	g := guard(t, Config{Tokens: TokenConfig{Algorithm: ed.algorithm, KeyFile: ed.file, Audience: "inventory"}})
	good := sign(t, "EdDSA", ed.private, claims())
	public, ok := ed.private.(ed25519.PrivateKey)
	if !ok {
		t.Fatal("no Ed25519 key")
	}
	critical := jwt.NewWithClaims(jwt.SigningMethodEdDSA, claims())
	critical.Header["crit"] = []string{"b64"}
	withCritical, err := critical.SignedString(ed.private)
	if err != nil {
		t.Fatal(err)
	}
	part := strings.Split(good, ".")
	forged := map[string]string{
		"alg none":                  sign(t, "none", jwt.UnsafeAllowNoneSignatureType, claims()),
		"no signature":              part[0] + "." + part[1] + ".",
		"two parts":                 part[0] + "." + part[1],
		"four parts":                good + ".x",
		"other claims":              part[0] + "." + strings.Split(sign(t, "EdDSA", ed.private, with("sub", "bob")), ".")[1] + "." + part[2],
		"padded":                    good + "=",
		"critical header":           withCritical,
		"public key as HMAC secret": sign(t, "HS256", []byte(pemOf(t, public.Public())), claims()),
		"public bytes as secret":    sign(t, "HS256", []byte(public.Public().(ed25519.PublicKey)), claims()),
		"own key of another":        sign(t, "EdDSA", ed25519.NewKeyFromSeed(make([]byte, ed25519.SeedSize)), claims()),
		"bad claims without a key":  part[0] + "." + strings.Split(sign(t, "EdDSA", ed.private, with("exp", 1)), ".")[1] + "." + part[2],
		"nothing":                   "..",
		"a word":                    "x",
		"a huge one":                strings.Repeat("A", 16<<10) + "..",
		"header is no JSON":         "e30K." + part[1] + "." + part[2],
	}
	for _, other := range all[1:] {
		forged["signed with "+other.algorithm] = sign(t, other.algorithm, other.private, claims())
	}
	for name, text := range forged {
		if caller, err := g.Authenticate("Bearer " + text); !errors.Is(err, errToken) {
			t.Errorf("%s: %+v, %v", name, caller, err)
		}
	}
}

func TestTokenKeysCanBeChanged(t *testing.T) {
	t.Parallel()
	_, old, err1 := ed25519.GenerateKey(rand.Reader)
	_, next, err2 := ed25519.GenerateKey(rand.Reader)
	if err := errors.Join(err1, err2); err != nil {
		t.Fatal(err)
	}
	g := guard(t, Config{Tokens: TokenConfig{
		Algorithm: "EdDSA", KeyFile: write(t, pemOf(t, old.Public())+pemOf(t, next.Public())), Audience: "inventory",
	}})
	for _, private := range []ed25519.PrivateKey{old, next} {
		if _, err := g.Authenticate("Bearer " + sign(t, "EdDSA", private, claims())); err != nil {
			t.Error(err)
		}
	}
}

func TestTokenConfigErrors(t *testing.T) {
	t.Parallel()
	all := pairs(t)
	weak, err1 := rsa.GenerateKey(rand.Reader, 1024)
	p384, err2 := ecdsa.GenerateKey(elliptic.P384(), rand.Reader)
	private, err3 := x509.MarshalPKCS8PrivateKey(all[0].private)
	if err := errors.Join(err1, err2, err3); err != nil {
		t.Fatal(err)
	}
	privatePEM := string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: private}))
	for _, c := range []struct {
		config TokenConfig
		says   string
	}{
		{TokenConfig{KeyFile: all[0].file, Audience: "a"}, "tokens need an algorithm of EdDSA, ES256, RS256, HS256, the file of a key, and an audience"},
		{TokenConfig{Algorithm: "none", KeyFile: all[0].file, Audience: "a"}, "tokens need an algorithm"},
		{TokenConfig{Algorithm: "EdDSA", Audience: "a"}, "the file of a key"},
		{TokenConfig{Algorithm: "EdDSA", KeyFile: all[0].file}, "an audience"},
		{TokenConfig{Algorithm: "EdDSA", KeyFile: t.TempDir() + "/none", Audience: "a"}, "/none"},
		{TokenConfig{Algorithm: "EdDSA", KeyFile: all[1].file, Audience: "a"}, "block 1 is not a public key for EdDSA"},
		{TokenConfig{Algorithm: "EdDSA", KeyFile: all[3].file, Audience: "a"}, "has no public key in PEM"},
		{TokenConfig{Algorithm: "EdDSA", KeyFile: write(t, privatePEM), Audience: "a"}, "block 1 is not a public key for EdDSA"},
		{TokenConfig{Algorithm: "ES256", KeyFile: write(t, pemOf(t, p384.Public())), Audience: "a"}, "not a public key for ES256"},
		{TokenConfig{Algorithm: "RS256", KeyFile: write(t, pemOf(t, weak.Public())), Audience: "a"}, "not a public key for RS256"},
		{TokenConfig{Algorithm: "HS256", KeyFile: all[2].file, Audience: "a"}, "this is PEM"},
		{TokenConfig{Algorithm: "HS256", KeyFile: write(t, "short\n"), Audience: "a"}, "32 bytes or more"},
	} {
		_, err := NewGuard(Config{Tokens: c.config})
		if err == nil || !strings.Contains(err.Error(), c.says) || strings.ContainsAny(err.Error(), "\n") {
			t.Errorf("%+v: %v; want %s", c.config, err, c.says)
		}
	}
}

// TestATokenIsCheckedOnce takes the key away: what is checked again is refused.
func TestATokenIsCheckedOnce(t *testing.T) {
	t.Parallel()
	busytest.Virtual(t, func(t *testing.T) {
		ed := pairs(t)[0]
		g := guard(t, Config{Tokens: TokenConfig{Algorithm: ed.algorithm, KeyFile: ed.file, Audience: "inventory"}})
		known := "Bearer " + sign(t, "EdDSA", ed.private, claims())
		if costs := g.Costs(known); !costs {
			t.Error("a new token costs nothing")
		}
		want, err := g.Authenticate(known)
		if err != nil {
			t.Fatal(err)
		}
		g.known.Load().tokens.keys = jwt.VerificationKeySet{Keys: []jwt.VerificationKey{ed25519.PublicKey(make([]byte, ed25519.PublicKeySize))}}
		if got, err := g.Authenticate(known); err != nil || got != want || g.Costs(known) {
			t.Errorf("for the second time: %+v, %v, costs %v", got, err, g.Costs(known))
		}
		if _, err := g.Authenticate("Bearer " + sign(t, "EdDSA", ed.private, with("sub", "bob"))); !errors.Is(err, errToken) {
			t.Errorf("another token: %v", err)
		}
		if _, err := g.Authenticate(known + "="); !errors.Is(err, errToken) {
			t.Errorf("the same token and more: %v", err)
		}
		time.Sleep(time.Hour + tokenLeeway)
		if _, err := g.Authenticate(known); !errors.Is(err, errToken) || !g.Costs(known) {
			t.Errorf("after its end: %v", err)
		}
	})
}

// TestARememberedTokenEndsWithItsKey: when the key is another one, so are the tokens.
func TestARememberedTokenEndsWithItsKey(t *testing.T) {
	t.Parallel()
	ed, other := pairs(t)[0], pairs(t)[0]
	g := guard(t, Config{Tokens: TokenConfig{Algorithm: ed.algorithm, KeyFile: ed.file, Audience: "inventory"}})
	known := "Bearer " + sign(t, "EdDSA", ed.private, claims())
	if _, err := g.Authenticate(known); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(other.file)
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(os.WriteFile(ed.file, text, 0o600), g.Reload()); err != nil {
		t.Fatal(err)
	}
	if _, err := g.Authenticate(known); !errors.Is(err, errToken) {
		t.Errorf("with another key: %v", err)
	}
}

// The key fits another algorithm too, but that one is not configured.
func TestAlgorithmIsPinned(t *testing.T) {
	t.Parallel()
	others := map[string][]string{"RS256": {"RS384", "RS512", "PS256"}, "HS256": {"HS384", "HS512"}}
	for _, p := range pairs(t) {
		g := guard(t, Config{Tokens: TokenConfig{Algorithm: p.algorithm, KeyFile: p.file, Audience: "inventory"}})
		for _, other := range others[p.algorithm] {
			if caller, err := g.Authenticate("Bearer " + sign(t, other, p.private, claims())); !errors.Is(err, errToken) {
				t.Errorf("%s in place of %s: %+v, %v", other, p.algorithm, caller, err)
			}
		}
	}
}
