package access

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rsa"
	"crypto/x509"
	"encoding/base64"
	"encoding/pem"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/golang-jwt/jwt/v5"

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

// Algorithms are the algorithms that tokens may be signed with.
func Algorithms() []string { return []string{"EdDSA", "ES256", "RS256", "HS256"} }

const (
	tokenLeeway   = 30 * time.Second // by which clocks may differ
	leastSecret   = 32               // bytes of an HS256 secret: as many as its hash has
	leastRSABits  = 2048
	algorithmHMAC = "HS256"
)

// tokens checks tokens.
type tokens struct {
	parser *jwt.Parser
	keys   jwt.VerificationKeySet
	rights Rights
}

func newTokens(c TokenConfig, rights Rights) (*tokens, error) {
	switch {
	case !slices.Contains(Algorithms(), c.Algorithm):
		return nil, fmt.Errorf("JWT algorithm: must be one of %s", strings.Join(Algorithms(), ", "))
	case c.KeyFile == "":
		return nil, errors.New("JWT key: needs a file")
	case c.Audience == "":
		return nil, errors.New("JWT audience: must not be empty, or tokens for other services would be good here")
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
	return &tokens{jwt.NewParser(options...), jwt.VerificationKeySet{Keys: keys}, rights}, nil
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
		if block.Type != "PUBLIC KEY" {
			return nil, fmt.Errorf("block %d is not a PUBLIC KEY", len(keys)+1)
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

// Why a token is refused. Only the caller of a token with a good signature learns which claim is wrong.
var (
	errToken    = errors.New("the token is not valid")
	errExpired  = errors.New("the token has expired")
	errAudience = errors.New("the token is for another audience")
	errIssuer   = errors.New("the token is from another issuer")
	errTooEarly = errors.New("the token is not valid yet")
	errClaims   = errors.New("the token must have exp, aud and the buyer's id as sub")
)

// caller returns the buyer of a token as a caller.
func (t *tokens) caller(text string) (Caller, error) {
	var claims tokenClaims
	if _, err := t.parser.ParseWithClaims(text, &claims, t.keysFor); err != nil {
		return Caller{}, reason(err)
	}
	if stock.CheckBuyerID(claims.Subject) != nil {
		return Caller{}, errClaims
	}
	return Caller{ID: "buyer " + claims.Subject, Scope: ScopeBuyer, Buyer: claims.Subject, Rights: t.rights}, nil
}

// keysFor returns the keys to check a token with. RFC 7515 refuses a token with critical headers that are not
// understood, and we understand none.
func (t *tokens) keysFor(token *jwt.Token) (any, error) {
	if _, critical := token.Header["crit"]; critical || !plainHeader(token.Raw) {
		return nil, errToken
	}
	return t.keys, nil
}

// reason returns our own error for what is wrong with a token. The library's error may quote the token.
func reason(err error) error {
	for _, r := range []struct{ is, say error }{
		{jwt.ErrTokenExpired, errExpired},
		{jwt.ErrTokenInvalidAudience, errAudience},
		{jwt.ErrTokenInvalidIssuer, errIssuer},
		{jwt.ErrTokenNotValidYet, errTooEarly},
		{jwt.ErrTokenRequiredClaimMissing, errClaims},
	} {
		if errors.Is(err, r.is) {
			return r.say
		}
	}
	return errToken
}

// tokenClaims are the claims of a token by their exact names, each at most once, and in valid UTF-8. The library would
// read them with encoding/json, which takes Exp for exp, takes the last of several, repairs invalid UTF-8, and takes times
// in quotes. Then a token could mean one thing to a proxy and another to us, and two subjects could be one buyer.
type tokenClaims struct{ jwt.RegisteredClaims }

// UnmarshalJSON reads the claims.
func (c *tokenClaims) UnmarshalJSON(text []byte) error {
	return json.Unmarshal(text, &c.RegisteredClaims, json.WithUnmarshalers(json.UnmarshalFromFunc(readTime)))
}

const endOfTime = 1 << 50 // seconds, beyond what any clock shows

// readTime reads a time, which is a number in RFC 7519. The library would take one that no integer holds for one long ago.
func readTime(d *jsontext.Decoder, at *jwt.NumericDate) error {
	var seconds float64
	err := json.UnmarshalDecode(d, &seconds)
	at.Time = time.Unix(int64(max(-endOfTime, min(seconds, endOfTime))), 0)
	return err
}

// plainHeader reports whether a token's header is valid JSON that has each member only once.
func plainHeader(token string) bool {
	header, _, _ := strings.Cut(token, ".")
	text, err := base64.RawURLEncoding.DecodeString(header)
	return err == nil && jsontext.Value(text).IsValid()
}
