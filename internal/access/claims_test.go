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
		"SUB":                      {header, `{"SUB":"ann",` + rest, errClaims, ""},
		"Sub beside sub":           {header, `{"sub":"ann","Sub":"bob",` + rest, nil, "ann"},
		"sub twice":                {header, `{"sub":"ann","sub":"bob",` + rest, errToken, ""},
		"sub twice, one escaped":   {header, `{"sub":"ann","\u0073ub":"bob",` + rest, errToken, ""},
		"Exp":                      {header, fmt.Sprintf(`{"sub":"ann","aud":"inventory","iss":"login","Exp":%d}`, soon), errClaims, ""},
		"Exp after exp":            {header, fmt.Sprintf(`{"sub":"ann","aud":"inventory","iss":"login","exp":%d,"Exp":%d}`, past, soon), errExpired, ""},
		"exp twice":                {header, fmt.Sprintf(`{"sub":"ann","aud":"inventory","iss":"login","exp":%d,"exp":%d}`, past, soon), errToken, ""},
		"exp in quotes":            {header, fmt.Sprintf(`{"sub":"ann","aud":"inventory","iss":"login","exp":"%d"}`, soon), errToken, ""},
		"nbf in quotes":            {header, fmt.Sprintf(`{"sub":"ann","nbf":"%d",`, past) + rest, errToken, ""},
		"iat in quotes":            {header, fmt.Sprintf(`{"sub":"ann","iat":"%d",`, past) + rest, errToken, ""},
		"exp with a fraction":      {header, fmt.Sprintf(`{"sub":"ann","aud":"inventory","iss":"login","exp":%d.5}`, soon), nil, "ann"},
		"nbf beyond all clocks":    {header, `{"sub":"ann","nbf":1e19,` + rest, errTooEarly, ""},
		"nbf before all clocks":    {header, `{"sub":"ann","nbf":-1e300,` + rest, nil, "ann"},
		"exp beyond all clocks":    {header, `{"sub":"ann","aud":"inventory","iss":"login","exp":1e300}`, nil, "ann"},
		"exp before all clocks":    {header, `{"sub":"ann","aud":"inventory","iss":"login","exp":-1e300}`, errExpired, ""},
		"exp beyond all numbers":   {header, `{"sub":"ann","aud":"inventory","iss":"login","exp":1e400}`, errToken, ""},
		"exp that is null":         {header, `{"sub":"ann","aud":"inventory","iss":"login","exp":null}`, errClaims, ""},
		"nbf that is an object":    {header, `{"sub":"ann","nbf":{},` + rest, errToken, ""},
		"AUD":                      {header, fmt.Sprintf(`{"sub":"ann","AUD":"inventory","iss":"login","exp":%d}`, soon), errClaims, ""},
		"subject that is no UTF-8": {header, "{\"sub\":\"ann\xff\"," + rest, errToken, ""},
		"half a surrogate":         {header, `{"sub":"ann\ud800",` + rest, errToken, ""},
		"claims that are null":     {header, `null`, errClaims, ""},
		"alg twice":                {`{"alg":"none","alg":"EdDSA"}`, `{"sub":"ann",` + rest, errToken, ""},
	} {
		caller, err := g.Authenticate("Bearer " + signText(t, p, c.header, c.claims))
		if !errors.Is(err, c.err) || (err == nil) != (c.err == nil) || caller.Buyer != c.buyer {
			t.Errorf("%s: %+v, %v; want %v", name, caller, err, c.err)
		}
	}
}
