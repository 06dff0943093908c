package api_test

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/getkin/kin-openapi/openapi3"

	"inventory/internal/app"
	"inventory/internal/busytest"
	"inventory/internal/stock/selling"
	"inventory/internal/stock/stocktest"
)

var (
	apiFor  = flag.Duration("api.for", 3*time.Second, "send requests made of the document for so long")
	apiSeed = flag.Uint64("api.seed", 0, "of the requests; 0: another each time")
)

const fuzzers = 8 // concurrent senders

// TestDocumentedAnswers sends requests made from the document, right and wrong, by all kinds of callers, to a service
// on each store. Every answer must be one that the document describes, and in the end the rows must add up.
func TestDocumentedAnswers(t *testing.T) {
	eachStore(t, fuzzAPI)
}

func fuzzAPI(t *testing.T, config app.Config) {
	t.Helper()
	seed := *apiSeed
	if seed == 0 {
		seed = rand.Uint64()
	}
	t.Logf("played again with -api.seed=%d", seed)
	config.AnswerWithin = selling.DefaultAnswerWithin // orders of the SKU that is changing need not succeed, and would take long
	config.DatabaseURL = cmp.Or(config.DatabaseURL, "sqlite:"+stocktest.SQLiteFile(t))
	d := openDoors(t, config)
	if err := app.ListOrders(t.Context(), config.DatabaseURL, true); err != nil {
		t.Fatal(err)
	}
	d.prepare()
	d.client.Transport.(*http.Transport).MaxIdleConnsPerHost = fuzzers
	long := *apiFor
	if testing.Short() {
		long /= 8
	}
	tally := &tally{seen: make(map[string]map[int]int)}
	ctx, cancel := context.WithTimeout(t.Context(), long)
	defer cancel()
	var running sync.WaitGroup
	for i := range uint64(fuzzers) {
		f := &fuzzer{doors: d, Rand: rand.New(rand.NewPCG(seed, i)), operations: operationsOf(document(t)), tally: tally} //nolint:gosec // it is to be played again
		running.Go(func() {
			for (ctx.Err() == nil || tally.doubtful()) && !t.Failed() {
				f.one()
			}
		})
	}
	running.Wait()
	tally.log(t)
	d.want(d.as(operator, "GET", "/v1/audit", ""), 200, "")
	if a := d.as(operator, "GET", "/v1/audit", ""); !strings.Contains(a.body, `"ok":true`) {
		t.Errorf("the rows do not add up: %s", a.body)
	}
}

// prepare makes SKUs of all kinds, and reservations.
func (d *doors) prepare() {
	d.t.Helper()
	for sku, body := range map[string]string{
		"plenty": `{"stock":1000000}`, "spare": `{"stock":1000000}`, "few": `{"stock":40,"segments":3}`, "none": `{"stock":0}`,
		"changing": `{"stock":100000}`, "archived": `{"stock":100000}`,
		"limited": `{"stock":100000,"per_buyer_limit":4,"max_quantity":3}`,
		"closed":  `{"stock":9,"sale_starts_at":"2998-01-01T00:00:00Z","sale_ends_at":"2999-01-01T00:00:00Z"}`,
	} {
		d.want(d.as(operator, "PUT", "/v1/skus/"+sku, body), 201, "")
	}
	for n := range 10 {
		d.want(d.as(shop, "POST", "/v1/skus/plenty/deductions", fmt.Sprintf(`{"order_id":"o/%d","quantity":9,"reserve_for":"1h"}`, n)), 201, "")
	}
}

// operation is an operation of the document.
type operation struct {
	*openapi3.Operation
	method, path string
	parameters   openapi3.Parameters
	scope        string
}

func operationsOf(doc *openapi3.T) (all []operation) {
	for _, path := range doc.Paths.InMatchingOrder() {
		item := doc.Paths.Value(path)
		for _, method := range slices.Sorted(maps.Keys(item.Operations())) {
			o := item.Operations()[method]
			scope, _ := o.Extensions["x-scope"].(string)
			all = append(all, operation{o, method, path, append(slices.Clone(item.Parameters), o.Parameters...), scope})
		}
	}
	return all
}

// tally counts the answers.
type tally struct {
	sync.Mutex
	seen  map[string]map[int]int
	total int
}

// orders returns how many order ids there are: few, and slowly more, so that requests use the same ids.
func (t *tally) orders() int {
	t.Lock()
	defer t.Unlock()
	return 20 + t.total/100
}

func (t *tally) count(operation string, status int) {
	t.Lock()
	defer t.Unlock()
	if t.seen[operation] == nil {
		t.seen[operation] = make(map[int]int)
	}
	t.seen[operation][status]++
	t.total++
}

// enough is how many requests of an operation suffice for one success, even if it needs a state that few others leave.
const enough = 1000

// failing returns the operations of which no request has succeeded, with the number of requests sent.
func (t *tally) failing() map[string]int {
	failing := make(map[string]int)
	for name, seen := range t.seen {
		if name != "raw" && name != "no route" && seen[200]+seen[201] == 0 {
			for _, n := range seen {
				failing[name] += n
			}
		}
	}
	return failing
}

// doubtful reports whether an operation has not succeeded and was sent too seldom to say that it never does.
func (t *tally) doubtful() bool {
	t.Lock()
	defer t.Unlock()
	for _, sent := range t.failing() {
		if sent < enough {
			return true
		}
	}
	return false
}

// log logs the counts. If an operation always fails, the test makes its requests wrongly.
func (t *tally) log(test *testing.T) {
	test.Helper()
	for _, name := range slices.Sorted(maps.Keys(t.seen)) {
		test.Logf("%-16s %v", name, t.seen[name])
	}
	for name := range t.failing() {
		test.Errorf("%s has never succeeded", name)
	}
}

// fuzzer sends requests, one after another.
type fuzzer struct {
	*doors
	*rand.Rand
	operations []operation
	tally      *tally
}

func (f *fuzzer) chance(percent int) bool { return f.IntN(100) < percent }

func oneOf[T any](f *fuzzer, all ...T) T { return all[f.IntN(len(all))] }

// asked is a request as it was sent.
type asked struct {
	operation            // of the document; none if the path was changed
	caller, target, body string
	method               string
	header               http.Header
	known                bool // the path is the operation's
}

// one sends a request and compares the answer with the document.
func (f *fuzzer) one() {
	f.t.Helper()
	if f.chance(2) {
		f.raw()
		return
	}
	o := oneOf(f, f.operations...)
	q := asked{operation: o, method: o.method, known: true, caller: f.callerFor(o)}
	q.target = f.fill(o)
	q.known = !strings.Contains(q.target+"/", "//") // an empty id is not a part of a path
	if f.chance(5) {
		q.target, q.known = f.mutate(q.target, "/", "//", "/..", "/.", "%2F", "%00", "%", "\\", ";", "%ff", "/v1", "a"), false
	}
	q.target += f.query(o)
	if method := oneOf(f, "GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE", "BREW"); f.chance(5) && !f.spoiling(method, o.path) {
		q.method = method
	}
	if o.RequestBody != nil {
		q.body = f.body(o)
	}
	q.header = f.headers(q.caller)
	var err error
	a, late := once(func() (a answer) {
		a, err = f.ask(q)
		return a
	})
	if late {
		return
	}
	if errors.Is(err, syscall.ECONNRESET) && (q.isNoRequest() || q.expects()) {
		return
	}
	if err != nil {
		f.t.Errorf("%s: %v", q, err)
		return
	}
	f.judge(q, a)
}

// callerFor returns a caller, mostly one with the right to send the operation.
func (f *fuzzer) callerFor(o operation) string {
	switch {
	case f.chance(15):
		return oneOf(f, slices.Sorted(maps.Keys(f.credentials))...)
	case o.scope == "admin":
		return operator
	default:
		return oneOf(f, shop, operator, ann, bob)
	}
}

// fill returns the operation's path with values.
func (f *fuzzer) fill(o operation) string {
	path := o.path
	if strings.HasPrefix(path, "/v1/orders/") && f.chance(30) {
		return strings.Replace(path, "{order_id}", url.PathEscape(f.basket(o)), 1)
	}
	if o.method != "GET" && strings.Contains(path, "{order_id}") && f.chance(30) {
		return strings.NewReplacer("{sku}", "plenty", "{order_id}", url.PathEscape(f.order(o))).Replace(path)
	}
	for _, p := range o.parameters {
		if p.Value.In == openapi3.ParameterInPath {
			value := f.text(p.Value.Name, p.Value.Schema.Value)
			if p.Value.Name == "sku" && spoils(o) {
				value = oneOf(f, "changing", "changing", "changing", "nowhere", "..")
				if o.OperationID == "archiveSKU" {
					value = oneOf(f, "archived", "nowhere", "..")
				}
			}
			path = strings.ReplaceAll(path, "{"+p.Value.Name+"}", url.PathEscape(value))
		}
	}
	return path
}

// order takes units of the SKU plenty under an order id that no other fuzzer knows, and returns the order id. Orders that all know
// are soon settled.
func (f *fuzzer) order(o operation) string {
	id := "own/" + strconv.FormatUint(f.Uint64(), 36)
	f.want(f.as(shop, "POST", "/v1/skus/plenty/deductions", `{"order_id":"`+id+`","quantity":9`+termsFor(o)+`}`), 201, "")
	return id
}

// basket takes units of two SKUs, as order does of one.
func (f *fuzzer) basket(o operation) string {
	id := "own/" + strconv.FormatUint(f.Uint64(), 36)
	f.want(f.as(shop, "POST", "/v1/orders", `{"order_id":"`+id+`","lines":[{"sku":"plenty","quantity":2},{"sku":"spare","quantity":1}]`+termsFor(o)+`}`), 201, "")
	return id
}

// termsFor returns what an order must say so that the operation can succeed: units that are to be returned are sold at once.
func termsFor(o operation) string {
	if strings.HasPrefix(o.OperationID, "return") {
		return ""
	}
	return `,"reserve_for":"1h"`
}

// spoils reports whether an operation may end the sale of a SKU. It gets its own SKU, so that orders of the others succeed.
func spoils(o operation) bool { return o.OperationID == "changeTerms" || o.OperationID == "archiveSKU" }

// spoiling reports whether a method and a path are those of an operation that spoils.
func (f *fuzzer) spoiling(method, path string) bool {
	return slices.ContainsFunc(f.operations, func(o operation) bool { return o.method == method && o.path == path && spoils(o) })
}

// query returns a query that is mostly allowed for the operation.
func (f *fuzzer) query(o operation) string {
	if f.chance(4) {
		return "?" + oneOf(f, "x=1", "sku=%zz", "%", "a;b", "sku=a&sku=a", "limit=", "=", "&&", "%00", "limit=99999999999999999999")
	}
	values := url.Values{}
	for _, p := range o.parameters {
		switch {
		case p.Value.In != openapi3.ParameterInQuery || f.chance(50):
		case p.Value.Schema.Value.Type.Is(openapi3.TypeInteger):
			values.Set(p.Value.Name, fmt.Sprint(f.number(p.Value.Schema.Value)))
		default:
			values.Set(p.Value.Name, f.text(p.Value.Name, p.Value.Schema.Value))
		}
	}
	if len(values) == 0 {
		return ""
	}
	return "?" + values.Encode()
}

// body returns a body that is mostly allowed for the operation.
func (f *fuzzer) body(o operation) string {
	if !o.RequestBody.Value.Required && f.chance(40) {
		return ""
	}
	text, err := json.Marshal(f.value("", o.RequestBody.Value.Content["application/json"].Schema.Value))
	if err != nil {
		f.t.Fatal(err)
	}
	switch {
	case f.chance(8):
		return f.mutate(string(text), "", "{", "}", "[", "]", ",", ":", `"`, `\`, "null", "1e9", "-", "\x00", "\xff", `\ud800`, `"quantity":1,`, "\u202e")
	case f.chance(1):
		// net/http reads this much of a body that the service refuses. It closes the connection with more unread, and the answer may be lost.
		return strings.Repeat(oneOf(f, " ", "[", `{"a":`), 20_000) + strings.Repeat(" ", f.IntN(150_000))
	default:
		return string(text)
	}
}

// mutate inserts a piece into a text, or replaces some of the text by it.
func (f *fuzzer) mutate(text string, pieces ...string) string {
	from := f.IntN(len(text) + 1)
	to := from + f.IntN(min(4, len(text)-from)+1)
	return text[:from] + oneOf(f, pieces...) + text[to:]
}

// value returns a value that is mostly allowed by a schema.
func (f *fuzzer) value(name string, schema *openapi3.Schema) any {
	nullable := schema.Nullable
	schema = resolved(schema)
	switch {
	case nullable && f.chance(30):
		return nil
	case f.chance(1):
		return oneOf[any](f, nil, 1, -1, 1.5, "", "x", true, []any{}, map[string]any{}, []any{1}, 1e300)
	case len(schema.Enum) == 1:
		return schema.Enum[0]
	case len(schema.OneOf) > 0:
		return f.value(name, oneOf(f, schema.OneOf...).Value)
	case schema.Type.Is(openapi3.TypeObject):
		object := make(map[string]any)
		for _, member := range slices.Sorted(maps.Keys(schema.Properties)) {
			if slices.Contains(schema.Required, member) && !f.chance(1) || f.chance(25) || member == "reserve_for" && f.chance(50) {
				object[member] = f.value(member, schema.Properties[member].Value)
			}
		}
		if f.chance(1) {
			object[oneOf(f, "price", "Quantity", "", "\x00")] = 1
		}
		return object
	case schema.Type.Is(openapi3.TypeArray):
		items := make([]any, cmp.Or(f.IntN(4), 1))
		for i := range items {
			items[i] = f.value("", schema.Items.Value)
		}
		return items
	case schema.Type.Is(openapi3.TypeInteger):
		return f.number(schema)
	default:
		return f.text(name, schema)
	}
}

func (f *fuzzer) number(schema *openapi3.Schema) int64 {
	least, most := int64(*schema.Min), int64(*schema.Max)
	switch {
	case f.chance(90):
		return max(least, min(most, 1+f.Int64N(5)))
	case f.chance(50):
		return oneOf(f, least, most, least+f.Int64N(most-least+1))
	default:
		return oneOf(f, least-1, most+1, 0, -1, 1<<62, -1<<62)
	}
}

func (f *fuzzer) text(name string, schema *openapi3.Schema) string {
	if f.chance(4) {
		return oneOf(f, oddTexts()...)
	}
	switch name {
	case "sku":
		return oneOf(f, "plenty", "plenty", "plenty", "plenty", "few", "none", "limited", "closed", "changing", "archived", "nowhere", "new-"+strconv.Itoa(f.IntN(5)))
	case "order_id":
		return "o/" + strconv.Itoa(f.IntN(f.tally.orders()))
	case "buyer_id":
		return oneOf(f, "ann", "bob", "carl")
	case "ref":
		return "r " + strconv.Itoa(f.IntN(300))
	case "reserve_for":
		return oneOf(f, "1us", "1ms", "1s", "15m", "15m", "15m", "20m", "30m", "1h", "720h", "1h0.5s", "PT1S", "P1DT2H", "PT0.5S", "P1M")
	case "after":
		return oneOf(f, "AAAAAAAAAABh", "x")
	default:
		if example, ok := schema.Example.(string); ok {
			return example
		}
		return "x"
	}
}

// headers returns the headers of a caller, and some without a meaning here.
func (f *fuzzer) headers(caller string) http.Header {
	header := http.Header{"Content-Type": {"application/json"}}
	if credential := f.credentials[caller]; credential != "" {
		header.Set("Authorization", "Bearer "+credential)
	}
	if f.chance(10) {
		name := oneOf(f, "Content-Type", "X-Request-Id", "Accept", "Accept-Encoding", "Range", "If-None-Match", "Last-Event-ID", "Expect",
			"X-HTTP-Method-Override", "Content-Encoding", "Origin", "Cookie", "Traceparent", "X-Forwarded-For")
		header.Set(name, oneOf(f, "", "x", "*/*", "application/json; charset=utf-8", "text/plain", "gzip", "bytes=0-1", "DELETE", "100-continue", "\t\xff",
			strings.Repeat("x", 5000)))
	}
	if f.chance(1) {
		odd := []string{"", "Basic eDp5", "Bearer", "Bearer inv_", "Bearer a.b.c"}
		if header.Get("Authorization") != "" { // alone it would let the caller in
			odd = append(odd, "bearer "+f.credentials[operator])
		}
		header.Add("Authorization", oneOf(f, odd...))
	}
	return header
}

func (q asked) String() string {
	return fmt.Sprintf("%s %s as %s %q %.300q", q.method, q.target, q.caller, q.header, q.body)
}

// isNoRequest reports whether net/http refuses the request at its first line. It closes the connection then with the rest of the
// header unread, so the answer may be lost.
func (q asked) isNoRequest() bool {
	_, err := url.ParseRequestURI(q.target)
	return err != nil
}

// expects reports whether net/http refuses the request for what it expects. It closes the connection then with the body unread, so the
// answer may be lost.
func (q asked) expects() bool {
	expected := q.header.Get("Expect")
	return expected != "" && !strings.EqualFold(expected, "100-continue")
}

// ask sends a request, with its target unchanged.
func (f *fuzzer) ask(q asked) (answer, error) {
	ctx, cancel := context.WithTimeout(f.t.Context(), busytest.Patience)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, q.method, f.url, strings.NewReader(q.body))
	if err != nil {
		return answer{}, err
	}
	path, query, _ := strings.Cut(q.target, "?")
	request.URL.Opaque, request.URL.RawQuery, request.Header = "//"+request.URL.Host+path, query, q.header
	response, err := f.client.Do(request)
	if err != nil {
		return answer{}, err
	}
	defer response.Body.Close()
	if response.Header.Get("Content-Type") == "text/event-stream" {
		return answer{status: response.StatusCode, header: response.Header}, nil // its body does not end
	}
	body, err := io.ReadAll(response.Body)
	return answer{status: response.StatusCode, header: response.Header, body: string(body)}, err
}

// judge compares an answer with the document.
func (f *fuzzer) judge(q asked, a answer) {
	f.t.Helper()
	name := "no route"
	if q.known && (q.method == q.operation.method || q.method == http.MethodHead && q.operation.method == http.MethodGet) {
		name = q.OperationID
	}
	f.tally.count(name, a.status)
	if err := f.wrongWith(q, a, name != "no route"); err != nil {
		f.t.Errorf("%s\n%d %v %.500s\n%v", q, a.status, a.header, a.body, err)
	}
}

func (f *fuzzer) wrongWith(q asked, a answer, documented bool) error {
	switch {
	case a.isNoRequest():
		return nil
	case a.header.Get("X-Request-Id") == "":
		return errors.New("no request id")
	case a.status < 300 && documented && !mayDo(q.caller, q.scope):
		return errors.New("the caller may not do this")
	case a.status >= 500 && !strings.Contains(a.body, `"code":"overloaded"`) && q.method != http.MethodHead:
		return errors.New("a server that is well answers so")
	case a.status == http.StatusOK && strings.Contains(a.body, `"code":"unavailable"`):
		return errors.New("a server that is well has a result like this")
	case a.status >= 400 && a.header.Get("Cache-Control") != "no-store":
		return errors.New("an error that caches may keep")
	case a.status >= 400 && q.method != http.MethodHead:
		if err := f.hold("application/problem+json", f.problemSchema(), a); err != nil {
			return err
		}
	}
	if !documented || (a.status == http.StatusExpectationFailed && q.header.Get("Expect") != "") || a.status == 431 {
		return nil
	}
	response := q.Responses.Value(strconv.Itoa(a.status))
	if response == nil {
		return errors.New("a status that the document does not tell")
	}
	if q.method == http.MethodHead {
		return nil
	}
	media, _, _ := strings.Cut(a.header.Get("Content-Type"), ";")
	content := response.Value.Content[media]
	if content == nil {
		return errors.New("a type that the document does not tell")
	}
	if media == "text/event-stream" {
		return nil
	}
	return f.hold(media, content.Schema.Value, a)
}

func mayDo(caller, scope string) bool {
	return caller == operator || (scope != "admin" && slices.Contains([]string{shop, ann, bob}, caller))
}

// hold compares a body with a schema.
func (f *fuzzer) hold(media string, schema *openapi3.Schema, a answer) error {
	if got := a.header.Get("Content-Type"); got != media {
		return fmt.Errorf("the type is %q, want %q", got, media)
	}
	var value any
	if err := json.Unmarshal([]byte(a.body), &value); err != nil {
		return err
	}
	return schema.VisitJSON(value, openapi3.VisitAsResponse())
}

func (f *fuzzer) problemSchema() *openapi3.Schema {
	return f.operations[0].Responses.Value("400").Value.Content["application/problem+json"].Schema.Value
}
