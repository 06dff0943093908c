package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"inventory/internal/access"
	"inventory/internal/app"
	"inventory/internal/cli"
)

// accessFlags are the flags for callers, their limits, and the host names of the service.
type accessFlags struct {
	APIKeys             string        `group:"keys" name:"api-keys" env:"INVENTORY_API_KEYS,INVENTORY_API_KEYS_FILE" help:"File of the accepted API keys; each line has name, scope, id and hash: see inventory key new. SIGHUP makes the service read it again. Default: none." placeholder:"FILE"`
	JWTAlgorithm        string        `group:"tokens" name:"jwt-algorithm" help:"Algorithm that buyers' tokens are signed with: EdDSA, ES256, RS256 or HS256. Default: no tokens." enum:",EdDSA,ES256,RS256,HS256" default:"" placeholder:"NAME"`
	JWTKey              string        `group:"tokens" name:"jwt-key" help:"PEM file of the public keys to check tokens with, one of which must fit; for HS256 a file with the secret, 32 bytes or more. SIGHUP makes the service read it again." placeholder:"FILE"`
	JWTAudience         string        `group:"tokens" name:"jwt-audience" help:"Audience that a token must be for." placeholder:"TEXT"`
	JWTIssuer           string        `group:"tokens" name:"jwt-issuer" help:"Issuer that a token must be from. Default: any that has the key." placeholder:"TEXT"`
	TokensMay           string        `group:"tokens" name:"tokens-may" help:"What tokens may do beyond reserving, deducting, reading and giving back reserved units: commit, to keep reserved units; return, to give back committed units; or commit,return. Default: neither, which needs a key." placeholder:"RIGHTS"`
	TokensMaxQuantity   int64         `group:"tokens" name:"tokens-max-quantity" help:"Units that an order of a token may have of a SKU without max_quantity, 1 to 1000000." default:"10"`
	MaxReserveFor       time.Duration `group:"limits" help:"Longest reservation of a SKU without max_reserve_for, 1s to 720h." default:"1h"`
	AllowAnonymous      bool          `group:"keys" help:"Permit a public address beyond loopback without --api-keys and --jwt-key. The service then asks for no key."`
	AdminAllowAnonymous bool          `group:"keys" help:"Permit an admin address beyond loopback. The admin listener asks for no key, and profiles slow the service down: for metrics and health only there is --metrics-listen."`
	RateLimit           float64       `group:"limits" help:"Requests per second of each key, of each buyer with a token, and of each address without either. 0: no limit." default:"0"`
	RateBurst           int           `group:"limits" help:"Requests that each may send at once under --rate-limit. 0: the requests of a second." default:"0"`
	AddressRateLimit    float64       `group:"limits" help:"Requests per second of each address without a valid key or token, or to unknown paths; beyond it, tokens from the address are refused unread. Behind a proxy all callers have its address, unless --trust-proxy names it. Default: --rate-limit." placeholder:"NUMBER"`
	TrustProxy          []string      `group:"limits" name:"trust-proxy" help:"Networks of proxies, such as 10.0.0.0/8, whose X-Forwarded-For or Forwarded header names the address of a caller. Each must set one of the two. Default: none." placeholder:"CIDR"`
	AllowedHosts        []string      `group:"keys" help:"Host names, in addition to localhost and loopback addresses, that a listener on loopback accepts if it asks for no key: those that a proxy on this machine passes on." placeholder:"NAME"`
	TLSCert             string        `group:"keys" name:"tls-cert" help:"PEM file of the public listener's certificate and its chain. SIGHUP makes the service read it again. Default: no TLS." placeholder:"FILE"`
	TLSKey              string        `group:"keys" name:"tls-key" help:"PEM file of the certificate's private key." placeholder:"FILE"`
}

// check returns an error if a flag lacks another one that it needs.
func (f accessFlags) check() error {
	tokens := f.tokens()
	switch {
	case access.IsKey(f.APIKeys):
		return errors.New("--api-keys is a file of the lines that let keys in, and this is a key itself")
	case tokens != (access.TokenConfig{}) && (f.JWTAlgorithm == "" || f.JWTKey == "" || f.JWTAudience == ""):
		return errors.New("tokens need all of --jwt-algorithm, --jwt-key and --jwt-audience")
	case f.TokensMay != "" && tokens == (access.TokenConfig{}):
		return errors.New("--tokens-may needs tokens: --jwt-algorithm, --jwt-key and --jwt-audience")
	case f.TokensMaxQuantity == 0 || f.MaxReserveFor == 0: // in a configuration, 0 is the default
		return errors.New("--tokens-max-quantity and --max-reserve-for must be more than 0")
	default:
		_, err := f.rights()
		return err
	}
}

// rights returns the rights of tokens.
func (f accessFlags) rights() (access.Rights, error) {
	rights, err := access.ParseRights(f.TokensMay)
	if err != nil {
		return rights, fmt.Errorf("--tokens-may %w", err)
	}
	rights.MaxQuantity = f.TokensMaxQuantity
	return rights, nil
}

func (f accessFlags) tokens() access.TokenConfig {
	return access.TokenConfig{Algorithm: f.JWTAlgorithm, KeyFile: f.JWTKey, Audience: f.JWTAudience, Issuer: f.JWTIssuer}
}

// into sets the fields of a configuration.
func (f accessFlags) into(c *app.Config) (err error) {
	c.Access = access.Config{KeysFile: f.APIKeys, Tokens: f.tokens()}
	if c.Access.TokenRights, err = f.rights(); err != nil {
		return err
	}
	c.MaxReserveFor = f.MaxReserveFor
	c.AllowAnonymous, c.AdminAllowAnonymous = f.AllowAnonymous, f.AdminAllowAnonymous
	c.AddressRateLimit, c.AllowedHosts = f.AddressRateLimit, f.AllowedHosts
	c.RateLimit, c.RateBurst, c.TrustProxy = f.RateLimit, f.RateBurst, f.TrustProxy
	c.TLSCert, c.TLSKey = f.TLSCert, f.TLSKey
	return nil
}

// catchHangups returns a channel that gets each SIGHUP from now on if there is anything to read again. Otherwise SIGHUP ends the
// process, as it does by default.
func catchHangups(config app.Config) chan os.Signal {
	hangups := make(chan os.Signal, 1)
	if config.Reloads() {
		signal.Notify(hangups, syscall.SIGHUP)
	}
	return hangups
}

// reloadOnHangup makes a service read its keys and certificates again at every SIGHUP, until stop returns.
func reloadOnHangup(ctx context.Context, a *app.App, hangups chan os.Signal, log *slog.Logger) (stop func()) {
	reloading := make(chan struct{})
	go func() {
		defer close(reloading)
		for range hangups {
			if err := a.Reload(); err != nil {
				log.ErrorContext(ctx, "keys or certificates stay as they were", "error", strings.ReplaceAll(err.Error(), "\n", "; "))
				continue
			}
			log.InfoContext(ctx, "keys and certificates were read again")
		}
	}()
	return func() {
		signal.Stop(hangups)
		close(hangups)
		<-reloading
	}
}

type keyCommand struct {
	New keyNewCommand `cmd:"" help:"Make an API key, and print it, only now, with its line for the file of keys."`
}

// Help shows examples.
func (keyNewCommand) Help() string {
	return `Examples:

    inventory key new --name shop --scope buyer --file api-keys
    inventory key new --name ops --scope admin`
}

type keyNewCommand struct {
	Name  string `help:"Name of the key's owner, for people: 1 to 64 of A-Z a-z 0-9 . _ -" required:"" placeholder:"NAME"`
	Scope string `help:"What the key may do: buyer, to buy for any buyer; or admin, everything." enum:"buyer,admin" required:""`
	File  string `help:"File of API keys to add the line to; then only the key is printed. Default: print both." placeholder:"FILE"`
}

// Run makes a key.
func (c *keyNewCommand) Run(s cli.Streams) error {
	scope, err := access.ParseScope(c.Scope)
	if err != nil {
		return err
	}
	key, line, err := access.NewKey(c.Name, scope)
	if err != nil {
		return usageError{fmt.Errorf("--name: %w", err)}
	}
	if c.File == "" {
		_, err = fmt.Fprintf(s.Out, "%s\n%s\n", key, line)
		return err
	}
	if err := access.AddKey(c.File, line); err != nil {
		return err // the key was not printed, so it is useless
	}
	_, err = fmt.Fprintln(s.Out, key)
	return err
}
