package access

import (
	"encoding/base64"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/golang-jwt/jwt/v5"
)

// signText signs a header and claims as they are written.
func signText(t *testing.T, p pair, header, claims string) string {
	t.Helper()
	text := base64.RawURLEncoding.EncodeToString([]byte(header)) + "." + base64.RawURLEncoding.EncodeToString([]byte(claims))
	signature, err := jwt.GetSigningMethod(p.algorithm).Sign(text, p.private)
	if err != nil {
		t.Fatal(err)
	}
	return text + "." + base64.RawURLEncoding.EncodeToString(signature)
}

func TestClaimsAreReadToTheLetter(t *testing.T) {
	t.Parallel()
	p := pairs(t)[0]
	g := guard(t, Config{Tokens: TokenConfig{Algorithm: p.algorithm, KeyFile: p.file, Audience: "inventory", Issuer: "login"}})
	const header = `{"alg":"EdDSA","typ":"JWT"}`
	soon, past := time.Now().Add(time.Hour).Unix(), time.Now().Add(-time.Hour).Unix()
	rest := fmt.Sprintf(`"aud":"inventory","iss":"login","exp":%d}`, soon)
	for name, c := range map[string]struct {
		header, claims string
		err            error
		buyer          string
	}{
		"good":                     {header, `{"sub":"ann",` + rest, nil, "ann"},
		"other claims":             {header, `{"sub":"ann","Name":"Ann","name":"Ann",` + rest, nil, "ann"},
		"SUB":                      {header, `{"SUB":"ann",` + rest, errSubject, ""},
		"Sub beside sub":           {header, `{"sub":"ann","Sub":"bob",` + rest, nil, "ann"},
		"sub twice":                {header, `{"sub":"ann","sub":"bob",` + rest, errToken, ""},
		"sub twice, one escaped":   {header, `{"sub":"ann","\u0073ub":"bob",` + rest, errToken, ""},
		"Exp":                      {header, fmt.Sprintf(`{"sub":"ann","aud":"inventory","iss":"login","Exp":%d}`, soon), jwt.ErrTokenRequiredClaimMissing, ""},
		"Exp after exp":            {header, fmt.Sprintf(`{"sub":"ann","aud":"inventory","iss":"login","exp":%d,"Exp":%d}`, past, soon), jwt.ErrTokenExpired, ""},
		"exp twice":                {header, fmt.Sprintf(`{"sub":"ann","aud":"inventory","iss":"login","exp":%d,"exp":%d}`, past, soon), errToken, ""},
		"exp with a fraction":      {header, fmt.Sprintf(`{"sub":"ann","aud":"inventory","iss":"login","exp":%d.5}`, soon), nil, "ann"},
		"nbf beyond all clocks":    {header, `{"sub":"ann","nbf":1e19,` + rest, errToken, ""},
		"exp beyond all clocks":    {header, `{"sub":"ann","aud":"inventory","iss":"login","exp":1e300}`, errToken, ""},
		"exp beyond all numbers":   {header, `{"sub":"ann","aud":"inventory","iss":"login","exp":1e400}`, errToken, ""},
		"exp that is null":         {header, `{"sub":"ann","aud":"inventory","iss":"login","exp":null}`, jwt.ErrTokenRequiredClaimMissing, ""},
		"nbf that is an object":    {header, `{"sub":"ann","nbf":{},` + rest, errToken, ""},
		"AUD":                      {header, fmt.Sprintf(`{"sub":"ann","AUD":"inventory","iss":"login","exp":%d}`, soon), jwt.ErrTokenRequiredClaimMissing, ""},
		"subject that is no UTF-8": {header, "{\"sub\":\"ann\xff\"," + rest, errToken, ""},
		"half a surrogate":         {header, `{"sub":"ann\ud800",` + rest, errToken, ""},
		"claims that are null":     {header, `null`, jwt.ErrTokenRequiredClaimMissing, ""},
	} {
		caller, err := g.Authenticate("Bearer " + signText(t, p, c.header, c.claims))
		if !errors.Is(err, c.err) || (err == nil) != (c.err == nil) || caller.Buyer != c.buyer {
			t.Errorf("%s: %+v, %v; want %v", name, caller, err, c.err)
		}
	}
}
