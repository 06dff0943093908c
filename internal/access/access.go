// Package access identifies callers, and limits how often each may call. Of HTTP it knows only the text of an
// Authorization header.
//
// There are two kinds of callers. A program has an API key: a shop's backend, which acts for any buyer, or an operator's
// tool. A buyer has a JSON Web Token, issued by the service that logs buyers in. Its subject is the buyer, and it acts
// for no other. Admin is never a claim of a token: otherwise the service that logs buyers in could create stock as well.
//
// The files hold a hash of each key, and a public key of the tokens' issuer (or with HS256 a secret). Hashes and public
// keys let no caller in. Errors quote nothing that was sent, because their texts may be logged and returned.
package access

import (
	"errors"
	"strings"
	"sync/atomic"
)

// Scope is what a caller may do, as it is written in files and flags. The zero Scope may do nothing.
type Scope string

// The scopes.
const (
	ScopeBuyer Scope = "buyer" // buy, and read what can be bought
	ScopeAdmin Scope = "admin" // everything
)

// Caller is who sends a request.
type Caller struct {
	// ID is for limits and logs, different for every key and every buyer; "" if the service asks for no key.
	ID    string
	Scope Scope
	Buyer string // the one buyer that it acts for; "" is any
	Rights
}

// Anybody is the caller of a service that asks for no key.
func Anybody() Caller { return Caller{Scope: ScopeAdmin, Rights: all} }

// Config says who may call. The zero Config lets nobody in. Its tags, and those of its fields, are for flags.
type Config struct {
	KeysFile string      `group:"keys" name:"api-keys" env:"INVENTORY_API_KEYS,INVENTORY_API_KEYS_FILE" help:"File of the accepted API keys; each line has name, scope, id and hash: see inventory key new. SIGHUP makes the service read it again. Default: none." placeholder:"FILE"` // of API keys; "" is none
	Tokens   TokenConfig `embed:""`
	// TokenRights are those of every token. Keys have all rights.
	TokenRights Rights `embed:""`
}

// Configured reports whether it lets any caller in.
func (c Config) Configured() bool { return c.KeysFile != "" || c.Tokens != TokenConfig{} }

// Guard knows the callers that may call. It is safe for concurrent use.
type Guard struct {
	config Config
	known  atomic.Pointer[known]
}

// known is the contents of the files.
type known struct {
	keys   keys
	tokens *tokens // nil: none
}

// NewGuard reads the files of a configuration.
func NewGuard(c Config) (*Guard, error) {
	g := &Guard{config: c}
	return g, g.Reload()
}

// Reload reads the files again. If one has a mistake, the callers that it lets in stay as they were, and the error names it; the
// other file is used anyway.
func (g *Guard) Reload() error {
	var k known
	if before := g.known.Load(); before != nil {
		k = *before
	}
	var errs []error
	if g.config.KeysFile != "" {
		read, err := readKeys(g.config.KeysFile)
		if errs = append(errs, err); err == nil {
			k.keys = read
		}
	}
	if g.config.Tokens != (TokenConfig{}) {
		read, err := newTokens(g.config.Tokens, g.config.TokenRights)
		if errs = append(errs, err); err == nil {
			k.tokens = read
		}
	}
	g.known.Store(&k)
	return errors.Join(errs...)
}

// Why a caller is refused.
var (
	ErrMissing    = errors.New("the request has no Authorization: Bearer header")
	errScheme     = errors.New("the Authorization header must be Bearer, with an API key or a token")
	errUnknownKey = errors.New("the API key is not known")
	errNoTokens   = errors.New("the text after Bearer is not an API key, and tokens are not accepted here")
)

// Costs reports whether Authenticate has to check a signature.
func (g *Guard) Costs(authorization string) bool {
	credential, ok := bearer(authorization)
	tokens := g.known.Load().tokens
	if !ok || IsKey(credential) || tokens == nil {
		return false
	}
	_, remembered := tokens.remembered(credential)
	return !remembered
}

// bearer returns the header's text after the name of the scheme.
func bearer(authorization string) (credential string, ok bool) {
	const scheme = "Bearer "
	if len(authorization) <= len(scheme) || !strings.EqualFold(authorization[:len(scheme)], scheme) {
		return "", false
	}
	return authorization[len(scheme):], true
}

// Authenticate returns the caller that sends an Authorization header. An API key takes a fraction of a microsecond and no
// allocation. A token takes approximately 0.1 ms for its signature when it comes for the first time.
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

// Rights are what a caller may do beyond buying. With the zero Rights a buyer may take units, and give back units that
// are only reserved.
type Rights struct {
	May May `group:"tokens" name:"tokens-may" help:"Rights of tokens beyond reserving, deducting, reading and giving back reserved units: commit, to keep reserved units; return, to give back committed units; or commit,return. Default: neither, which needs a key." placeholder:"RIGHTS"`
	// MaxQuantity is how many units of a SKU one order may ask for if the SKU's terms set no limit; 0: the limit of all
	// callers.
	MaxQuantity int64 `group:"tokens" name:"tokens-max-quantity" help:"Units that an order of a token may have of a SKU without max_quantity, 1 to 1000000." default:"10"`
}

// May says what a caller may do with units that it has reserved or bought.
type May struct {
	Commit bool // keep what is reserved, and reserve it for longer
	Return bool // give back what is committed
}

// all are the rights of a shop's backend.
var all = Rights{May: May{Commit: true, Return: true}}

// UnmarshalText reads commit, return, or both separated by a comma.
func (m *May) UnmarshalText(text []byte) error {
	for word := range strings.SplitSeq(string(text), ",") {
		switch strings.TrimSpace(word) {
		case "commit":
			m.Commit = true
		case "return":
			m.Return = true
		default:
			return errors.New("must be commit, return, or both with a comma in between")
		}
	}
	return nil
}
