package access

import (
	"encoding/base64"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/golang-jwt/jwt/v5"
)

// tokenClaims are the claims of a token by their exact names, each at most once, and in valid UTF-8. The library would
// read them with encoding/json, which takes Exp for exp, takes the last of several, and repairs invalid UTF-8. Then a
// token could mean one thing to a proxy and another to us, and two subjects could be one buyer.
type tokenClaims struct{ jwt.RegisteredClaims }

// UnmarshalJSON reads the claims.
func (c *tokenClaims) UnmarshalJSON(text []byte) error {
	return json.Unmarshal(text, &c.RegisteredClaims)
}

// plainHeader reports whether a token's header is valid JSON that has each member only once.
func plainHeader(token string) bool {
	part, _, _ := strings.Cut(token, ".")
	text, err := base64.RawURLEncoding.DecodeString(part)
	return err == nil && jsontext.Value(text).IsValid()
}
