package access

import (
	"encoding/base64"
	"errors"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/golang-jwt/jwt/v5"
)

// tokenClaims are the claims of a token by their exact names, each at most once, and in valid UTF-8. The library would
// read them with encoding/json, which takes Exp for exp, takes the last of several, repairs invalid UTF-8, and takes times
// in quotes. Then a token could mean one thing to a proxy and another to us, and two subjects could be one buyer.
type tokenClaims struct{ jwt.RegisteredClaims }

// UnmarshalJSON reads the claims.
func (c *tokenClaims) UnmarshalJSON(text []byte) error {
	return json.Unmarshal(text, &c.RegisteredClaims, json.WithUnmarshalers(json.UnmarshalFromFunc(refuseQuotedTime)))
}

// refuseQuotedTime leaves a time to the library, unless it is a string: RFC 7519 has numbers.
func refuseQuotedTime(d *jsontext.Decoder, _ *jwt.NumericDate) error {
	if d.PeekKind() == '"' {
		return errToken
	}
	return errors.ErrUnsupported
}

// plainHeader reports whether a token's header is valid JSON that has each member only once.
func plainHeader(token string) bool {
	header, _, _ := strings.Cut(token, ".")
	text, err := base64.RawURLEncoding.DecodeString(header)
	return err == nil && jsontext.Value(text).IsValid()
}
