package api_test

import (
	"crypto/ed25519"
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/golang-jwt/jwt/v5"

	"inventory/internal/access"
	"inventory/internal/api"
	"inventory/internal/app"
)

// doors is a service that asks for keys and tokens, with callers of all kinds.
type doors struct {
	*site
	wallet
}

// wallet has the credentials of callers of all kinds.
type wallet struct {
	access      access.Config // lets in those that are good
	credentials map[string]string
	expiring    func(at time.Time) string // a token of ann that expires then
}

// The callers. wantedStatus has what each may do.
const (
	nobody        = "anonymous"
	shop          = "buyer key"
	ann           = "JWT buyer"
	bob           = "other JWT buyer"
	operator      = "admin key"
	wrongKey      = "wrong key"
	expired       = "expired JWT"
	swapped       = "alg swap"
	unsigned      = "alg none"
	wrongAudience = "wrong audience"
	eternal       = "no expiry"
)

func openDoors(t *testing.T, config app.Config) *doors {
	t.Helper()
	wallet := newWallet(t)
	wallet.access.TokenRights = config.Access.TokenRights
	config.Access = wallet.access
	return &doors{openWith(t, config), wallet}
}

func newWallet(t *testing.T) wallet {
	t.Helper()
	shopKey, shopLine, err1 := access.NewKey("shop", access.ScopeBuyer)
	adminKey, adminLine, err2 := access.NewKey("ops", access.ScopeAdmin)
	public, private, err3 := ed25519.GenerateKey(rand.Reader)
	der, err4 := x509.MarshalPKIXPublicKey(public)
	if err := errors.Join(err1, err2, err3, err4); err != nil {
		t.Fatal(err)
	}
	publicPEM := pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: der})
	config := access.Config{
		KeysFile: keep(t, "keys", []byte(shopLine+"\n"+adminLine+"\n")),
		Tokens:   access.TokenConfig{Algorithm: "EdDSA", KeyFile: keep(t, "jwt.pem", publicPEM), Audience: "inventory"},
	}
	token := func(method jwt.SigningMethod, key any, change func(jwt.MapClaims)) string {
		t.Helper()
		claims := jwt.MapClaims{"sub": "ann", "aud": "inventory", "exp": time.Now().Add(time.Hour).Unix()}
		change(claims)
		text, err := jwt.NewWithClaims(method, claims).SignedString(key)
		if err != nil {
			t.Fatal(err)
		}
		return text
	}
	ed := jwt.SigningMethodEdDSA
	as := func(name string, value any) func(jwt.MapClaims) {
		return func(c jwt.MapClaims) { c[name] = value }
	}
	return wallet{config, map[string]string{
		nobody:        "",
		shop:          shopKey,
		operator:      adminKey,
		ann:           token(ed, private, as("sub", "ann")),
		bob:           token(ed, private, as("sub", "bob")),
		wrongKey:      shopKey[:len(shopKey)-4] + "AAAA",
		expired:       token(ed, private, as("exp", time.Now().Add(-time.Minute).Unix())),
		swapped:       token(jwt.SigningMethodHS256, publicPEM, as("sub", "ann")),
		unsigned:      token(jwt.SigningMethodNone, jwt.UnsafeAllowNoneSignatureType, as("sub", "ann")),
		wrongAudience: token(ed, private, as("aud", "another")),
		eternal:       token(ed, private, func(c jwt.MapClaims) { delete(c, "exp") }),
	}, func(at time.Time) string { return token(ed, private, as("exp", at.Unix())) }}
}

func keep(t *testing.T, name string, content []byte) (file string) {
	t.Helper()
	file = filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(file, content, 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

// as sends a request as one of the callers.
func (d *doors) as(caller, method, path, body string) answer {
	d.t.Helper()
	header := http.Header{"Content-Type": {"application/json"}}
	if credential := d.credentials[caller]; credential != "" {
		header.Set("Authorization", "Bearer "+credential)
	}
	return d.sendWith(header, method, path, body)
}

// begin sends a request as one of the callers, and hangs up when the answer has started.
func (d *doors) begin(caller, method, path, body string) answer {
	d.t.Helper()
	request, err := http.NewRequestWithContext(d.t.Context(), method, d.url+path, strings.NewReader(body))
	if err != nil {
		d.t.Fatal(err)
	}
	if credential := d.credentials[caller]; credential != "" {
		request.Header.Set("Authorization", "Bearer "+credential)
	}
	response, err := d.client.Do(request)
	if err != nil {
		d.t.Fatal(err)
	}
	if err := response.Body.Close(); err != nil {
		d.t.Fatal(err)
	}
	return answer{status: response.StatusCode, header: response.Header}
}

// sample is a request of a route that succeeds for every caller that may send it. NEW stands for a new text each time.
type sample struct {
	path, body string
	anns       bool // it is about a deduction of ann, which other buyers must not see
	keys       bool // it needs a key
	ofBuyer    bool // a shop must name a buyer
	stream     bool // its answer does not end
}

// samples has a request for every route of the table: a new route needs one here.
func samples() map[string]sample {
	return map[string]sample{
		"GET /openapi.yaml":                              {path: "/openapi.yaml"},
		"GET /docs":                                      {path: "/docs"},
		"GET /docs/":                                     {path: "/docs/"},
		"GET /docs/page.js":                              {path: "/docs/page.js"},
		"GET /docs/page.css":                             {path: "/docs/page.css"},
		"GET /docs/swagger-ui-bundle.js":                 {path: "/docs/swagger-ui-bundle.js"},
		"GET /docs/swagger-ui.css":                       {path: "/docs/swagger-ui.css"},
		"GET /docs/favicon-32x32.png":                    {path: "/docs/favicon-32x32.png"},
		"GET /docs/problems/":                            {path: "/docs/problems/"},
		"GET /docs/problems/:code":                       {path: "/docs/problems/sold_out"},
		"GET /v1/skus":                                   {path: "/v1/skus"},
		"GET /":                                          {path: "/"},
		"GET /console":                                   {path: "/console"},
		"GET /console/":                                  {path: "/console/"},
		"GET /console/settings.json":                     {path: "/console/settings.json"},
		"GET /console/:file":                             {path: "/console/main.js"},
		"PUT /v1/skus/:sku":                              {path: "/v1/skus/NEW", body: `{"stock":5}`},
		"PATCH /v1/skus/:sku":                            {path: "/v1/skus/shoe", body: `{"ref":"NEW","name":"a shoe"}`},
		"DELETE /v1/skus/:sku":                           {path: "/v1/skus/old"},
		"GET /v1/skus/:sku":                              {path: "/v1/skus/shoe"},
		"POST /v1/skus/:sku/deductions":                  {path: "/v1/skus/shoe/deductions", body: `{"order_id":"NEW","quantity":1}`},
		"GET /v1/skus/:sku/deductions":                   {path: "/v1/skus/shoe/deductions", ofBuyer: true},
		"POST /v1/deductions":                            {path: "/v1/deductions", body: `{"deductions":[{"sku":"shoe","order_id":"many-NEW","quantity":1}]}`},
		"GET /v1/skus/:sku/deductions/:order_id":         {path: "/v1/skus/shoe/deductions/of-ann", anns: true},
		"POST /v1/skus/:sku/deductions/:order_id/commit": {path: "/v1/skus/shoe/deductions/of-ann/commit", keys: true},
		"POST /v1/skus/:sku/deductions/:order_id/extend": {path: "/v1/skus/shoe/deductions/kept-of-ann/extend", body: `{"ref":"NEW","reserve_for":"1h"}`, keys: true},
		"POST /v1/skus/:sku/deductions/:order_id/cancel": {path: "/v1/skus/shoe/deductions/gone-of-ann/cancel", anns: true},
		"POST /v1/skus/:sku/deductions/:order_id/return": {path: "/v1/skus/shoe/deductions/of-ann/return", keys: true},
		"GET /v1/skus/:sku/deductions/:order_id/history": {path: "/v1/skus/shoe/deductions/of-ann/history", anns: true},
		"GET /v1/orders":                                 {path: "/v1/orders", ofBuyer: true},
		"GET /v1/orders/:order_id":                       {path: "/v1/orders/kept-of-ann", anns: true},
		"GET /v1/orders/:order_id/history":               {path: "/v1/orders/kept-of-ann/history", anns: true},
		"POST /v1/orders/:order_id/commit":               {path: "/v1/orders/paid-of-ann/commit", keys: true},
		"POST /v1/orders/:order_id/extend":               {path: "/v1/orders/kept-of-ann/extend", body: `{"ref":"NEW","reserve_for":"1h"}`, keys: true},
		"POST /v1/orders/:order_id/change":               {path: "/v1/orders/kept-of-ann/change", body: `{"ref":"change-NEW","lines":[{"sku":"basket","quantity":1}]}`, anns: true},
		"POST /v1/orders/:order_id/cancel":               {path: "/v1/orders/gone-of-ann/cancel", anns: true},
		"POST /v1/orders/:order_id/return":               {path: "/v1/orders/paid-of-ann/return", keys: true},
		"POST /v1/orders":                                {path: "/v1/orders", body: `{"order_id":"NEW","lines":[{"sku":"shoe","quantity":1}]}`},
		"POST /v1/skus/:sku/restock":                     {path: "/v1/skus/shoe/restock", body: `{"ref":"NEW","quantity":1}`},
		"POST /v1/skus/:sku/adjust":                      {path: "/v1/skus/shoe/adjust", body: `{"ref":"NEW","quantity":1,"reason":"count"}`},
		"POST /v1/skus/:sku/resegment":                   {path: "/v1/skus/shoe/resegment", body: `{"ref":"NEW","segments":3}`},
		"GET /v1/skus/:sku/movements":                    {path: "/v1/skus/shoe/movements"},
		"GET /v1/skus/:sku/locks":                        {path: "/v1/skus/shoe/locks"},
		"GET /v1/activity":                               {path: "/v1/activity"},
		"GET /v1/skus/:sku/audit":                        {path: "/v1/skus/shoe/audit"},
		"GET /v1/audit":                                  {path: "/v1/audit"},
		"GET /v1/events":                                 {path: "/v1/events", stream: true},
	}
}

// wantedStatus returns the status that a caller gets on a route; 0 is any success.
func wantedStatus(caller string, r api.Route, s sample) int {
	switch {
	case r.Public:
		return 0
	case !slices.Contains([]string{shop, operator, ann, bob}, caller):
		return http.StatusUnauthorized
	case r.Admin && caller != operator:
		return http.StatusForbidden
	case s.keys && caller != operator && caller != shop:
		return http.StatusForbidden
	case s.anns && caller == bob:
		return http.StatusNotFound
	default:
		return 0
	}
}

func TestEveryRouteForEveryCaller(t *testing.T) {
	t.Parallel()
	d := openDoors(t, app.Config{DatabaseURL: listed(t)})
	d.want(d.as(operator, "PUT", "/v1/skus/shoe", `{"stock":1000}`), 201, "")
	d.want(d.as(operator, "PUT", "/v1/skus/old", `{"stock":1}`), 201, "")
	d.want(d.as(operator, "PUT", "/v1/skus/basket", `{"stock":9}`), 201, "")
	d.want(d.as(ann, "POST", "/v1/skus/shoe/deductions", `{"order_id":"of-ann","quantity":1,"reserve_for":"15m"}`), 201, "")
	d.want(d.as(ann, "POST", "/v1/skus/shoe/deductions", `{"order_id":"kept-of-ann","quantity":1,"reserve_for":"15m"}`), 201, "")
	d.want(d.as(ann, "POST", "/v1/skus/shoe/deductions", `{"order_id":"gone-of-ann","quantity":1,"reserve_for":"15m"}`), 201, "")
	for _, id := range []string{"kept-of-ann", "paid-of-ann", "gone-of-ann"} {
		d.want(d.as(ann, "POST", "/v1/orders", `{"order_id":"`+id+`","reserve_for":"15m","lines":[{"sku":"basket","quantity":1}]}`), 201, "")
	}
	all := samples()
	for i, r := range api.Routes() {
		s, ok := all[r.Method+" "+r.Path]
		if !ok {
			t.Errorf("%s %s has no sample request", r.Method, r.Path)
		}
		for caller := range d.credentials {
			once := strings.NewReplacer("NEW", strings.ReplaceAll(caller, " ", "-")+strconv.Itoa(i))
			ask := d.as
			if s.stream {
				ask = d.begin
			}
			path := once.Replace(s.path)
			if strings.Contains(path, "of-ann") && (caller == shop || caller == operator) || s.ofBuyer && caller == shop {
				path += "?buyer_id=ann" // ann's order ids are her own
			}
			a := ask(caller, r.Method, path, once.Replace(s.body))
			want := wantedStatus(caller, r, s)
			if success := a.status >= 200 && a.status < 300; a.status != want && (want != 0 || !success) {
				t.Errorf("%s %s as %s: %d %s, want %d", r.Method, r.Path, caller, a.status, a.body, want)
			}
			if challenge := a.header.Get("WWW-Authenticate"); (a.status == http.StatusUnauthorized) != strings.HasPrefix(challenge, "Bearer") {
				t.Errorf("%s %s as %s: %d with WWW-Authenticate %q", r.Method, r.Path, caller, a.status, challenge)
			}
		}
	}
}

func TestNothingIsServedBesideTheTable(t *testing.T) {
	t.Parallel()
	var table []string
	for _, r := range api.Routes() {
		table = append(table, r.Method+" "+r.Path)
	}
	slices.Sort(table)
	if served := api.Served(); !slices.Equal(served, table) {
		t.Errorf("served is %q, and in the table %q", served, table)
	}
}

func TestRouteWithoutPolicyIsNotRegistered(t *testing.T) {
	t.Parallel()
	defer func() {
		if said, _ := recover().(string); !strings.Contains(said, "/forgotten has no policy") {
			t.Errorf("got %q", said)
		}
	}()
	api.RegisterWithoutPolicy()
}

// TestDocumentSaysWhoMay compares the document's security with the table of routes.
func TestDocumentSaysWhoMay(t *testing.T) {
	t.Parallel()
	doc := document(t)
	documented := 0
	for _, r := range api.Routes() {
		path := strings.NewReplacer(":sku", "{sku}", ":order_id", "{order_id}").Replace(r.Path)
		item := doc.Paths.Value(path)
		if item == nil {
			if !r.Public {
				t.Errorf("%s is not in the document", path)
			}
			continue
		}
		documented++
		o := item.GetOperation(r.Method)
		scope, schemes := "buyer", []string{"apiKey", "token"}
		switch {
		case r.Public:
			scope, schemes = "", nil
		case r.Admin:
			scope, schemes = "admin", schemes[:1]
		}
		if got, _ := o.Extensions["x-scope"].(string); got != scope {
			t.Errorf("%s has the x-scope %q, not %q", o.OperationID, got, scope)
		}
		if got := schemesOf(o); o.Security == nil || !slices.Equal(got, schemes) {
			t.Errorf("%s may be used with %q, not %q", o.OperationID, got, schemes)
		}
		for _, status := range []int{http.StatusUnauthorized, http.StatusTooManyRequests} {
			if !r.Public && o.Responses.Status(status) == nil {
				t.Errorf("%s has no %d", o.OperationID, status)
			}
		}
		if r.Admin && o.Responses.Status(http.StatusForbidden) == nil {
			t.Errorf("%s has no 403", o.OperationID)
		}
	}
	operations := 0
	for _, item := range doc.Paths.Map() {
		operations += len(item.Operations())
	}
	if operations != documented {
		t.Errorf("the document has %d operations, of which %d are in the table", operations, documented)
	}
}

func schemesOf(o *openapi3.Operation) (names []string) {
	if o.Security == nil {
		return nil
	}
	for _, requirement := range *o.Security {
		for name := range requirement {
			names = append(names, name)
		}
	}
	return names
}

func TestTokensActForTheirBuyerAlone(t *testing.T) {
	t.Parallel()
	d := openDoors(t, app.Config{})
	const deductions = "/v1/skus/shoe/deductions"
	d.want(d.as(operator, "PUT", "/v1/skus/shoe", `{"stock":100}`), 201, "")
	annsOwn := `{"sku":"shoe","order_id":"a1","buyer_id":"ann","quantity":1,"status":"committed"}`
	d.want(d.as(ann, "POST", deductions, `{"order_id":"a1","quantity":1}`), 201, annsOwn)
	d.want(d.as(ann, "POST", deductions, `{"order_id":"a1","buyer_id":"ann","quantity":1}`), 200, annsOwn)
	for _, body := range []string{
		`{"order_id":"a2","buyer_id":"bob","quantity":1}`, `{"order_id":"a2","buyer_id":"ANN","quantity":1}`,
		`{"order_id":"a2","buyer_id":"b\u006fb","quantity":1}`,
	} {
		d.wantProblem(d.as(ann, "POST", deductions, body), 403, "forbidden", "buyer_id")
	}
	d.wantProblem(d.as(ann, "POST", deductions, `{"order_id":"a2","buyer_id":"","quantity":1}`), 400, "invalid_request", "buyer_id")

	d.wantProblem(d.as(bob, "POST", deductions+"/a1/cancel", ""), 404, "unknown_deduction")
	d.wantProblem(d.as(bob, "POST", deductions+"/a1/commit", ""), 403, "forbidden") // whether or not it is there
	const lines = `"lines":[{"sku":"shoe","quantity":1}]}`
	d.wantProblem(d.as(ann, "POST", "/v1/orders", `{"order_id":"o1","buyer_id":"bob",`+lines), 403, "forbidden", "buyer_id")
	d.want(d.as(ann, "POST", "/v1/orders", `{"order_id":"o1",`+lines), 201, "")
	d.want(d.as(bob, "POST", "/v1/orders", `{"order_id":"o1",`+lines), 201, "")

	// For another buyer a deduction does not exist.
	hidden := d.as(bob, "GET", deductions+"/a1", "")
	missing := d.as(bob, "GET", deductions+"/a0", "")
	d.wantProblem(hidden, 404, "unknown_deduction")
	if strings.ReplaceAll(hidden.body, "a1", "a0") != missing.body {
		t.Errorf("hidden: %s, missing: %s", hidden.body, missing.body)
	}
	d.want(d.as(shop, "POST", deductions, `{"order_id":"n1","quantity":1}`), 201, "")
	d.wantProblem(d.as(ann, "GET", deductions+"/n1", ""), 404, "unknown_deduction") // it has no buyer
	d.want(d.as(ann, "GET", deductions+"/a1", ""), 200, "")
	d.want(d.as(ann, "GET", deductions+"/a1?buyer_id=ann", ""), 200, "")
	d.wantProblem(d.as(bob, "GET", deductions+"/a1?buyer_id=ann", ""), 403, "forbidden", "buyer_id")
	for _, caller := range []string{shop, operator} {
		d.want(d.as(caller, "GET", deductions+"/a1?buyer_id=ann", ""), 200, "")
		d.wantProblem(d.as(caller, "GET", deductions+"/a1", ""), 404, "unknown_deduction")
	}

	// The order ids of buyers do not collide with those of other buyers or of the shop.
	bobsOwn := strings.ReplaceAll(annsOwn, "ann", "bob")
	d.want(d.as(bob, "POST", deductions, `{"order_id":"a1","quantity":1}`), 201, bobsOwn)
	d.want(d.as(shop, "POST", deductions, `{"order_id":"a1","buyer_id":"cid","quantity":3}`), 201, "")
	d.want(d.as(bob, "GET", deductions+"/a1", ""), 200, "")
	d.wantProblem(d.as(bob, "POST", deductions, `{"order_id":"a1","quantity":2}`), 422, "order_id_reused")
	// A buyer finds, and may repeat, an order that the shop has placed in the buyer's name.
	d.want(d.as(shop, "POST", deductions, `{"order_id":"s1","buyer_id":"bob","quantity":1}`), 201, "")
	d.want(d.as(bob, "POST", deductions, `{"order_id":"s1","quantity":1}`), 200, "")
	d.want(d.as(bob, "GET", deductions+"/s1", ""), 200, "")
}

func TestRefusalSaysWhy(t *testing.T) {
	t.Parallel()
	d := openDoors(t, app.Config{})
	for caller, want := range map[string]struct{ detail, challenge string }{
		nobody:        {"has no Authorization: Bearer header", `Bearer realm="inventory"`},
		wrongKey:      {"the API key is not known", `Bearer realm="inventory", error="invalid_token"`},
		expired:       {"token is expired", `Bearer realm="inventory", error="invalid_token"`},
		wrongAudience: {"invalid audience", `Bearer realm="inventory", error="invalid_token"`},
		eternal:       {"missing required claim", `Bearer realm="inventory", error="invalid_token"`},
		swapped:       {"the token is not valid", `Bearer realm="inventory", error="invalid_token"`},
		unsigned:      {"the token is not valid", `Bearer realm="inventory", error="invalid_token"`},
	} {
		a := d.as(caller, "GET", "/v1/skus/shoe", "")
		d.wantProblem(a, 401, "unauthenticated", want.detail)
		if got := a.header.Get("WWW-Authenticate"); got != want.challenge {
			t.Errorf("%s: WWW-Authenticate %s", caller, got)
		}
	}
	twice := http.Header{"Authorization": {"Bearer " + d.credentials[shop], "Bearer " + d.credentials[operator]}}
	d.wantProblem(d.sendWith(twice, "GET", "/v1/skus/shoe", ""), 401, "unauthenticated", "several")
	// The body does not matter if the caller may not send it.
	huge := `{"stock":` + strings.Repeat("1", 200<<10) + `}` // net/http reads all of it before the connection is closed
	d.wantProblem(d.as(shop, "PUT", "/v1/skus/shoe", huge), 403, "forbidden")
}

func TestKeysAreReadAgain(t *testing.T) {
	t.Parallel()
	apiKey, line, err1 := access.NewKey("shop", access.ScopeBuyer)
	_, other, err2 := access.NewKey("other", access.ScopeBuyer)
	if err := errors.Join(err1, err2); err != nil {
		t.Fatal(err)
	}
	file := keep(t, "keys", []byte(line))
	s := openWith(t, app.Config{Access: access.Config{KeysFile: file}})
	header := http.Header{"Authorization": {"Bearer " + apiKey}}
	s.wantProblem(s.sendWith(header, "GET", "/v1/skus/shoe", ""), 404, "unknown_sku")
	if err := os.WriteFile(file, []byte(other), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := s.app.Reload(); err != nil {
		t.Fatal(err)
	}
	s.wantProblem(s.sendWith(header, "GET", "/v1/skus/shoe", ""), 401, "unauthenticated")
}
