package access

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rsa"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/golang-jwt/jwt/v5"
	lru "github.com/hashicorp/golang-lru/v2"

	"inventory/internal/stock"
)

// TokenConfig says which JSON Web Tokens are accepted. The zero TokenConfig is none.
type TokenConfig struct {
	// Algorithm is the one that tokens are signed with. The token does not choose it: a token that names another is
	// refused before its signature is checked.
	Algorithm string `group:"tokens" name:"jwt-algorithm" help:"Algorithm that buyers' tokens are signed with: EdDSA, ES256, RS256 or HS256. Default: no tokens." enum:",EdDSA,ES256,RS256,HS256" default:"" placeholder:"NAME"`
	KeyFile   string `group:"tokens" name:"jwt-key" help:"PEM file of the public keys to check tokens with, one of which must fit; for HS256 a file with the secret, 32 bytes or more. SIGHUP makes the service read it again." placeholder:"FILE"`
	Audience  string `group:"tokens" name:"jwt-audience" help:"Audience that a token must be for." placeholder:"TEXT"`
	Issuer    string `group:"tokens" name:"jwt-issuer" help:"Issuer that a token must be from. Default: any that has the key." placeholder:"TEXT"`
}

const (
	tokenLeeway   = 30 * time.Second // by which clocks may differ
	leastSecret   = 32               // bytes of an HS256 secret: as many as its hash has
	leastRSABits  = 2048
	mostChecked   = 1 << 16 // tokens that are remembered, of some 300 bytes each
	algorithmHMAC = "HS256"
)

// tokens checks tokens: a signature costs more than the order that comes with it, so each token is checked once. Another key makes new
// tokens, which remember nothing.
type tokens struct {
	parser  *jwt.Parser
	keys    jwt.VerificationKeySet
	rights  Rights
	checked *lru.Cache[hash, checked] // those that were good, by their hashes; the one that was not used for longest is forgotten
}

// checked is what a good token says.
type checked struct {
	caller Caller
	until  time.Time
}

func newTokens(c TokenConfig, rights Rights) (*tokens, error) {
	algorithms := []string{"EdDSA", "ES256", "RS256", algorithmHMAC}
	if !slices.Contains(algorithms, c.Algorithm) || c.KeyFile == "" || c.Audience == "" {
		return nil, fmt.Errorf("tokens need an algorithm of %s, the file of a key, and an audience", strings.Join(algorithms, ", "))
	}
	text, err := os.ReadFile(c.KeyFile)
	if err != nil {
		return nil, fmt.Errorf("JWT key: %w", err)
	}
	read := publicKeys
	if c.Algorithm == algorithmHMAC {
		read = secret
	}
	keys, err := read(c.Algorithm, text)
	if err != nil {
		return nil, fmt.Errorf("JWT key: %s: %w", c.KeyFile, err)
	}
	options := []jwt.ParserOption{
		jwt.WithValidMethods([]string{c.Algorithm}), jwt.WithAudience(c.Audience), jwt.WithExpirationRequired(),
		jwt.WithLeeway(tokenLeeway), jwt.WithStrictDecoding(),
	}
	if c.Issuer != "" {
		options = append(options, jwt.WithIssuer(c.Issuer))
	}
	remembered, err := lru.New[hash, checked](mostChecked)
	return &tokens{jwt.NewParser(options...), jwt.VerificationKeySet{Keys: keys}, rights, remembered}, err
}

// secret reads the secret of HS256. It refuses a PEM file: if the file is a public key, anybody could sign with it.
func secret(_ string, text []byte) ([]jwt.VerificationKey, error) {
	text = bytes.TrimSpace(text)
	switch {
	case bytes.Contains(text, []byte("-----BEGIN")):
		return nil, errors.New("HS256 needs a random secret, and this is PEM")
	case len(text) < leastSecret:
		return nil, fmt.Errorf("a secret for HS256 has %d bytes or more", leastSecret)
	}
	return []jwt.VerificationKey{text}, nil
}

// publicKeys reads the keys of a PEM file, all of which must be for the algorithm.
func publicKeys(algorithm string, text []byte) (keys []jwt.VerificationKey, err error) {
	for {
		var block *pem.Block
		if block, text = pem.Decode(text); block == nil {
			break
		}
		key, err := x509.ParsePKIXPublicKey(block.Bytes)
		if err != nil || !fits(key, algorithm) {
			return nil, fmt.Errorf("block %d is not a public key for %s", len(keys)+1, algorithm)
		}
		keys = append(keys, key)
	}
	if len(keys) == 0 {
		return nil, errors.New("has no public key in PEM")
	}
	return keys, nil
}

// fits reports whether a key is for an algorithm, and strong enough.
func fits(key any, algorithm string) bool {
	switch key := key.(type) {
	case ed25519.PublicKey:
		return algorithm == "EdDSA"
	case *ecdsa.PublicKey:
		return algorithm == "ES256" && key.Curve == elliptic.P256()
	case *rsa.PublicKey:
		return algorithm == "RS256" && key.N.BitLen() >= leastRSABits
	default:
		return false
	}
}

var (
	errToken   = errors.New("the token is not valid")
	errSubject = errors.New("the token must have the buyer's id as sub")
)

// caller returns the buyer of a token as a caller.
func (t *tokens) caller(text string) (Caller, error) {
	if caller, is := t.remembered(text); is {
		return caller, nil
	}
	var claims tokenClaims
	if _, err := t.parser.ParseWithClaims(text, &claims, t.keysFor); err != nil {
		return Caller{}, reason(err)
	}
	if stock.CheckBuyerID(claims.Subject) != nil {
		return Caller{}, errSubject
	}
	caller := Caller{ID: "buyer " + claims.Subject, Scope: ScopeBuyer, Buyer: claims.Subject, Rights: t.rights}
	t.checked.Add(hashOf(text), checked{caller, claims.ExpiresAt.Add(tokenLeeway)})
	return caller, nil
}

// remembered returns the caller of a token that was good, and has not expired since.
func (t *tokens) remembered(text string) (Caller, bool) {
	found, is := t.checked.Get(hashOf(text))
	return found.caller, is && time.Now().Before(found.until)
}

// keysFor returns the keys to check a token with. RFC 7515 refuses a token with critical headers that are not
// understood, and we understand none.
func (t *tokens) keysFor(token *jwt.Token) (any, error) {
	if _, critical := token.Header["crit"]; critical {
		return nil, errToken
	}
	return t.keys, nil
}

// reason returns the library's general error for what is wrong with a claim, which only the caller of a token with a good
// signature learns. The whole error may quote the token.
func reason(err error) error {
	for _, general := range []error{
		jwt.ErrTokenExpired, jwt.ErrTokenNotValidYet, jwt.ErrTokenInvalidAudience, jwt.ErrTokenInvalidIssuer, jwt.ErrTokenRequiredClaimMissing,
	} {
		if errors.Is(err, general) {
			return general
		}
	}
	return errToken
}

// tokenClaims are the claims of a token by their exact names, each at most once, and in valid UTF-8. The library would
// read them with encoding/json, which takes Exp for exp, takes the last of several, and repairs invalid UTF-8. Then a
// token could mean one thing to a proxy and another to us, and two subjects could be one buyer.
type tokenClaims struct{ jwt.RegisteredClaims }

const endOfTime = 1 << 50 // seconds, beyond what any clock shows

// UnmarshalJSON reads the claims. It refuses times that no clock shows: the library may take one of the far future for one long ago.
func (c *tokenClaims) UnmarshalJSON(text []byte) error {
	if err := json.Unmarshal(text, &c.RegisteredClaims); err != nil {
		return err
	}
	for _, at := range []*jwt.NumericDate{c.ExpiresAt, c.NotBefore, c.IssuedAt} {
		if at != nil && (at.Unix() < -endOfTime || at.Unix() > endOfTime) {
			return errToken
		}
	}
	return nil
}
