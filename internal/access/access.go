// Package access tells who calls, and how often a caller may call. Of HTTP it knows only the text of an Authorization
// header.
//
// There are two kinds of callers. An API key is a program's: a shop's backend, which acts for any buyer, or an
// operator's. A JSON Web Token is a buyer's own, made by whoever logs buyers in. Its subject is the buyer, and it acts
// for nobody else. Admin is never a claim of a token: otherwise whoever signs buyers in could make stock as well.
//
// The files hold a hash of each key, and a public key of the tokens' issuer (or with HS256 a secret), so hashes and
// public keys let nobody in. Errors quote nothing of what was sent: their texts may be logged and told.
package access

import (
	"errors"
	"strings"
	"sync/atomic"
	"time"
)

// Scope is what a caller may do. The zero Scope may do nothing.
type Scope uint8

// The scopes. Each may do what those before it may.
const (
	ScopeBuyer Scope = iota + 1 // buy, and read what can be bought
	ScopeAdmin                  // everything
)

// String returns the name of a scope as files and flags have it.
func (s Scope) String() string {
	switch s {
	case ScopeBuyer:
		return "buyer"
	case ScopeAdmin:
		return "admin"
	default:
		return "none"
	}
}

// ParseScope reads the name of a scope.
func ParseScope(name string) (Scope, error) {
	for _, s := range []Scope{ScopeBuyer, ScopeAdmin} {
		if name == s.String() {
			return s, nil
		}
	}
	return 0, errors.New("the scope must be buyer or admin")
}

// Caller is who sends a request.
type Caller struct {
	// ID is for limits and logs, different for every key and every buyer; "" if nobody has to show a key.
	ID    string
	Scope Scope
	Buyer string    // the one buyer that it acts for; "" is any
	Until time.Time // when its admission ends; zero: not by itself
	Rights
}

// Anybody is the caller of a service that asks for no key.
func Anybody() Caller { return Caller{Scope: ScopeAdmin, Rights: all} }

// Config says who may call. The zero Config lets nobody in.
type Config struct {
	KeysFile string // of API keys; "" is none
	Tokens   TokenConfig
	// TokenRights are those of every token. Keys have all rights.
	TokenRights Rights
}

// Configured tells whether it lets anybody in.
func (c Config) Configured() bool { return c.KeysFile != "" || c.Tokens != TokenConfig{} }

// Guard knows the callers that may call. It is safe for concurrent use.
type Guard struct {
	config Config
	known  atomic.Pointer[known]
}

// known is the contents of the files.
type known struct {
	keys   keys
	tokens *tokens       // nil: none
	gone   chan struct{} // closed when the files were read again
}

// NewGuard reads the files of a configuration.
func NewGuard(c Config) (*Guard, error) {
	g := &Guard{config: c}
	return g, g.Reload()
}

// Reload reads the files again. After an error the callers stay as they were.
func (g *Guard) Reload() error {
	k := known{gone: make(chan struct{})}
	var err error
	if g.config.KeysFile != "" {
		if k.keys, err = readKeys(g.config.KeysFile); err != nil {
			return err
		}
	}
	if g.config.Tokens != (TokenConfig{}) {
		if k.tokens, err = newTokens(g.config.Tokens, g.config.TokenRights); err != nil {
			return err
		}
	}
	if before := g.known.Swap(&k); before != nil {
		close(before.gone)
	}
	return nil
}

// Changed is closed when the files are read again: a caller from before may no longer be admitted.
func (g *Guard) Changed() <-chan struct{} { return g.known.Load().gone }

// Why a caller is refused.
var (
	ErrMissing    = errors.New("the request has no Authorization: Bearer header")
	errScheme     = errors.New("the Authorization header must be Bearer, with an API key or a token")
	errUnknownKey = errors.New("the API key is not known")
	errNoTokens   = errors.New("tokens are not accepted here")
)

// Costs tells whether Authenticate has to check a signature.
func (g *Guard) Costs(authorization string) bool {
	credential, ok := bearer(authorization)
	return ok && !IsKey(credential) && g.known.Load().tokens != nil
}

// bearer is the header's text after the name of the scheme.
func bearer(authorization string) (credential string, ok bool) {
	const scheme = "Bearer "
	if len(authorization) <= len(scheme) || !strings.EqualFold(authorization[:len(scheme)], scheme) {
		return "", false
	}
	return authorization[len(scheme):], true
}

// Authenticate tells who sends an Authorization header. An API key takes a fraction of a microsecond and no allocation.
// A token costs its signature, about a tenth of a millisecond, so the busiest callers should have keys.
func (g *Guard) Authenticate(authorization string) (Caller, error) {
	if authorization == "" {
		return Caller{}, ErrMissing
	}
	credential, ok := bearer(authorization)
	if !ok {
		return Caller{}, errScheme
	}
	known := g.known.Load()
	if key, ok := strings.CutPrefix(credential, keyPrefix); ok {
		return known.keys.caller(key)
	}
	if known.tokens == nil {
		return Caller{}, errNoTokens
	}
	return known.tokens.caller(credential)
}
