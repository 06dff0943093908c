package access

import (
	"encoding/base64"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/golang-jwt/jwt/v5"
)

// tokenClaims are the claims of a token by their exact names, each there once, and in valid UTF-8. The library reads with
// encoding/json, which takes Exp for exp, the last of several, and mends what is no UTF-8: a token could say one thing to
// who looks at it first and another to us, and two subjects could be one buyer.
type tokenClaims struct{ jwt.RegisteredClaims }

// UnmarshalJSON reads the claims.
func (c *tokenClaims) UnmarshalJSON(text []byte) error {
	return json.Unmarshal(text, &c.RegisteredClaims)
}

// plainHeader tells whether no member of a token's header is there twice.
func plainHeader(token string) bool {
	part, _, _ := strings.Cut(token, ".")
	text, err := base64.RawURLEncoding.DecodeString(part)
	return err == nil && jsontext.Value(text).IsValid()
}
