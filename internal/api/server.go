// Package api is the HTTP interface of the service: routes, request types, errors as problem+json, metrics.
//
// openapi.yaml is the contract and comes first: it is served at /openapi.yaml, the Go client in the client folder
// is generated from it, and the tests hold every answer against it.
//
// There are two handlers, for two listeners: the public one for buyers, and the admin one, which has metrics, health and
// profiles and is not for the public.
package api

import (
	"bytes"
	"crypto/rand"
	_ "embed"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/go-json-experiment/json"
	jsonv1 "github.com/go-json-experiment/json/v1"
	"github.com/labstack/echo/v4"
	"github.com/labstack/echo/v4/middleware"
	"go.opentelemetry.io/contrib/instrumentation/github.com/labstack/echo/otelecho"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/trace"

	"inventory/internal/access"
	"inventory/internal/events"
	"inventory/internal/stock/selling"
	"inventory/internal/turns"
)

//go:embed openapi.yaml
var document []byte

// Limits of a request.
const (
	maxBodyBytes   = 16 << 10         // of all bodies but the two below; every field fits, however it is escaped
	maxOrderBytes  = 128 << 10        // of an order of several SKUs: stock.MaxLines with the longest SKUs fit
	maxManyBytes   = 512 << 10        // of many deductions: stock.MaxOrders with the longest ids fit
	requestTimeout = 15 * time.Second // for requests that only read
)

// Config holds what the public handler is made of.
type Config struct {
	Service *selling.Service
	Events  *events.Hub
	Metrics *Metrics
	Logger  *slog.Logger
	Guard   Guard           // nil: everybody may do everything
	Limiter *access.Limiter // nil: no limit
	// Strangers counts callers without a credential, or with a bad one, by address; nil: none.
	Strangers *access.Limiter
	Proxies   *Proxies             // those that are believed; nil: none
	Hosts     *Hosts               // the accepted hosts; nil: any
	Heartbeat time.Duration        // between comments in a stream of events; 0: the default
	Traces    trace.TracerProvider // nil: none
}

// server holds what the handlers of the routes need.
type server struct {
	Config
	origins http.CrossOriginProtection
	bodies  *turns.Turns // gives turns to read bodies above maxBodyBytes
}

// New returns the public handler.
func New(c Config) http.Handler { return withHeaders(c.Proxies.behind(newPublic(c))) }

func newPublic(c Config) *echo.Echo {
	s := &server{Config: c, bodies: newReading()}
	e := newEcho(s.Logger)
	e.Use(c.Metrics.observe)
	if c.Traces != nil {
		e.Use(traced(c.Traces))
	}
	e.Use(s.recoverer())
	e.Use(s.admitUnrouted)
	s.register(e, s.routes())
	return e
}

// recoverer turns a panic of a handler into an error, and logs its origin.
func (s *server) recoverer() echo.MiddlewareFunc {
	return middleware.RecoverWithConfig(middleware.RecoverConfig{
		DisableStackAll:     true,
		DisableErrorHandler: true, // observe sends the answer, and counts
		LogErrorFunc: func(c echo.Context, err error, stack []byte) error {
			s.Logger.Error("a handler panicked", "route", c.Path(), "request_id", requestID(c), "error", err, "stack", string(stack))
			return err
		},
	})
}

func newEcho(log *slog.Logger) *echo.Echo {
	e := echo.New()
	e.HideBanner, e.HidePort = true, true
	e.JSONSerializer = newSerializer()
	e.HTTPErrorHandler = func(err error, c echo.Context) { sendProblem(c, log, err) }
	return e
}

// timed ends a request's context after requestTimeout, and leaves errors as they are.
func timed(next echo.HandlerFunc) echo.HandlerFunc {
	return middleware.ContextTimeoutWithConfig(middleware.ContextTimeoutConfig{
		Timeout: requestTimeout, ErrorHandler: func(err error, _ echo.Context) error { return err },
	})(next)
}

// reading is the handler of a route that only reads. It answers with what read returns.
func reading(read func(echo.Context) (any, error)) echo.HandlerFunc {
	return timed(func(c echo.Context) error {
		answer, err := read(c)
		return send(c, false, answer, err)
	})
}

// change is a handler of a route that writes, until its context ends. It returns what it answers, and whether that is new.
type change func(echo.Context) (created bool, answer any, err error)

func send(c echo.Context, created bool, answer any, err error) error {
	if err != nil {
		return err
	}
	return sendJSON(c, createdOrOK(created), answer)
}

// sendJSON sends an answer as JSON. Echo's own would first parse the query, for a parameter that no route has.
func sendJSON(c echo.Context, status int, answer any) error {
	response := c.Response()
	if header := response.Header(); header[echo.HeaderContentType] == nil {
		header[echo.HeaderContentType] = []string{echo.MIMEApplicationJSON}
	}
	response.Status = status
	return c.Echo().JSONSerializer.Serialize(c, answer, "")
}

// serializer writes JSON with the library that reads requests, in the form of encoding/json. An answer is one write.
type serializer struct {
	form    json.Options
	buffers *sync.Pool
}

func newSerializer() serializer {
	return serializer{jsonv1.DefaultOptionsV1(), &sync.Pool{New: func() any { return new(bytes.Buffer) }}}
}

// largestKept is how many bytes a buffer has that is kept for another answer.
const largestKept = 64 << 10

// Serialize implements [echo.JSONSerializer].
func (s serializer) Serialize(c echo.Context, answer any, _ string) error {
	text := s.buffers.Get().(*bytes.Buffer) //nolint:forcetypeassert // all are
	text.Reset()
	if err := json.MarshalWrite(text, answer, s.form); err != nil {
		return fmt.Errorf("write an answer: %w", err)
	}
	text.WriteByte('\n')
	_, err := c.Response().Write(text.Bytes())
	if text.Cap() <= largestKept {
		s.buffers.Put(text)
	}
	return err
}

var errNotRead = errors.New("requests are read as forms")

// Deserialize implements [echo.JSONSerializer]. It is for [echo.Context.Bind], which no handler calls.
func (serializer) Deserialize(echo.Context, any) error { return errNotRead }

func createdOrOK(created bool) int {
	if created {
		return http.StatusCreated
	}
	return http.StatusOK
}

// policy is the set of callers that may use a route. It has no default: a route without a policy cannot be registered.
type policy uint8

const (
	public    policy = iota + 1 // everybody, without a credential
	buyers                      // callers that may buy: see [access.ScopeBuyer]
	settlers                    // buyers that may commit and extend a reservation: see [access.Rights]
	returners                   // buyers that may return what is committed
	admins
)

// refusal returns why a caller may not use a route; "" if it may.
func (p policy) refusal(caller access.Caller) string {
	switch {
	case p == public:
		return ""
	case caller.Scope == "":
		return "this takes a key or a token"
	case p == buyers:
		return ""
	case p == settlers && caller.May.Commit, p == returners && caller.May.Return:
		return ""
	case p == settlers, p == returners:
		return "this takes a key: a token may reserve, deduct, read, and give back what it has reserved"
	case caller.Scope != access.ScopeAdmin:
		return "this takes a key of the scope admin"
	default:
		return ""
	}
}

// route is a line of the table. The pattern is a path, and after a question mark the query parameters that a request may have.
type route struct {
	method, pattern string
	policy          policy
	handler         echo.HandlerFunc
}

func (r route) path() string {
	path, _, _ := strings.Cut(r.pattern, "?")
	return path
}

func (r route) parameters() []string {
	_, names, _ := strings.Cut(r.pattern, "?")
	return strings.FieldsFunc(names, func(r rune) bool { return r == '&' })
}

// routes returns the table of what the public handler serves, and to which callers. A handler of a route for buyers must
// call buyerFor to learn for which buyer a request may act: see caller.go.
func (s *server) routes() []route {
	return slices.Concat(pageRoutes(docsPages()), pageRoutes(problemPages()), pageRoutes(s.consolePages()), []route{
		{http.MethodGet, "/v1/skus?after&limit&q", buyers, reading(s.readSKUs)},
		{http.MethodPut, "/v1/skus/:sku?dry_run", admins, s.bounded(s.createSKU)},
		{http.MethodPatch, "/v1/skus/:sku", admins, s.changing(termsRequest)},
		{http.MethodDelete, "/v1/skus/:sku", admins, s.bounded(s.archiveSKU)},
		{http.MethodGet, "/v1/skus/:sku", buyers, reading(s.readSKU)},
		{http.MethodPost, deductRoute, buyers, s.writing(s.deduct)},
		{http.MethodPost, manyRoute, buyers, s.writing(s.deductAll)},
		{http.MethodGet, "/v1/skus/:sku/deductions/:order_id?buyer_id", buyers, reading(s.readDeduction)},
		{http.MethodPost, "/v1/skus/:sku/deductions/:order_id/commit?buyer_id", settlers, s.settling(readIfAny, commitRequest, s.settle)},
		{http.MethodPost, "/v1/skus/:sku/deductions/:order_id/extend?buyer_id", settlers, s.settling(readAs, extendRequest, s.settle)},
		{http.MethodPost, "/v1/skus/:sku/deductions/:order_id/cancel?buyer_id", buyers, s.settling(readIfAny, cancelRequest, s.settle)},
		{http.MethodPost, "/v1/skus/:sku/deductions/:order_id/return?buyer_id", returners, s.settling(readIfAny, returnRequest, s.settle)},
		{http.MethodGet, "/v1/skus/:sku/deductions/:order_id/history?buyer_id", buyers, reading(s.readHistory)},
		{http.MethodPost, orderRoute, buyers, s.bounded(s.placeOrder)},
		{http.MethodGet, orderRoute + "?after&buyer_id&limit&since&status&until", buyers, reading(s.readOrders)},
		{http.MethodGet, orderRoute + "/:order_id?buyer_id", buyers, reading(s.readOrder)},
		{http.MethodGet, orderRoute + "/:order_id/history?buyer_id", buyers, reading(s.readOrderHistory)},
		{http.MethodPost, orderRoute + "/:order_id/commit?buyer_id", settlers, s.settling(readLines, commitLinesRequest, s.settleOrder)},
		{http.MethodPost, orderRoute + "/:order_id/extend?buyer_id", settlers, s.settling(readAs, extendRequest, s.settleOrder)},
		{http.MethodPost, orderRoute + "/:order_id/cancel?buyer_id", buyers, s.settling(readIfAny, cancelOrderRequest, s.settleOrder)},
		{http.MethodPost, orderRoute + "/:order_id/change?buyer_id", buyers, s.bounded(s.changeOrder)},
		{http.MethodPost, orderRoute + "/:order_id/return?buyer_id", returners, s.settling(readIfAny, returnOrderRequest, s.settleOrder)},
		{http.MethodGet, "/v1/events?sku", buyers, s.watchEvents}, // ends when its listener wants
		{http.MethodPost, "/v1/skus/:sku/restock", admins, s.changing(unitsRequest)},
		{http.MethodPost, "/v1/skus/:sku/adjust", admins, s.changing(adjustRequest)},
		{http.MethodPost, "/v1/skus/:sku/resegment", admins, s.changing(resegmentRequest)},
		{http.MethodGet, "/v1/skus/:sku/deductions?after&buyer_id&limit&status", buyers, reading(s.readDeductions)},
		{http.MethodGet, "/v1/skus/:sku/movements?after&limit&order", admins, reading(s.readMovements)},
		{http.MethodGet, "/v1/skus/:sku/locks?from&limit", admins, reading(s.readLocks)},
		{http.MethodGet, "/v1/activity", admins, reading(s.readActivity)},
		{http.MethodGet, "/v1/skus/:sku/audit", admins, reading(s.auditSKU)},
		{http.MethodGet, "/v1/audit", admins, reading(s.audit)},
	})
}

// register puts the table into Echo. It builds the middleware of a handler once; Echo would build its own for every
// request.
func (s *server) register(e *echo.Echo, table []route) {
	for _, r := range table {
		if r.policy == 0 {
			panic("the route " + r.method + " " + r.pattern + " has no policy") // a mistake in the table: no input causes this
		}
		handler := knowing(r.parameters(), r.handler)
		if r.method != http.MethodGet {
			e.Add(r.method, r.path(), s.admit(r.policy, handler))
			continue
		}
		if r.policy != public {
			handler = unstored(handler)
		}
		handler = s.admit(r.policy, handler)
		e.GET(r.path(), handler)
		e.HEAD(r.path(), handler) // net/http drops the body
	}
}

// unstored keeps a handler's answers out of caches: they are true only now.
func unstored(handler echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) error {
		c.Response().Header().Set(echo.HeaderCacheControl, noStore)
		return handler(c)
	}
}

// requestIDFormat matches an id that is short and cannot forge anything in a log.
var requestIDFormat = regexp.MustCompile(`^[0-9A-Za-z._-]{1,128}$`)

const nosniff = "nosniff" // browsers take answers for what their headers say

// withHeaders gives every answer the X-Request-Id of its request, or a new one if the request has none that is safe to
// log. It runs before Echo, whose middleware costs each request a little more.
func withHeaders(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		values := [...]string{nosniff, ""}
		if given := r.Header[echo.HeaderXRequestID]; len(given) == 1 && requestIDFormat.MatchString(given[0]) {
			values[1] = given[0]
		} else {
			values[1] = rand.Text()
		}
		header := w.Header() // both names are in their canonical form already
		header[echo.HeaderXContentTypeOptions], header[echo.HeaderXRequestID] = values[:1:1], values[1:]
		next.ServeHTTP(w, r)
	})
}

// requestID returns the id that the answer of a request has.
func requestID(c echo.Context) string { return c.Response().Header().Get(echo.HeaderXRequestID) }

// traced gives every request a span, in the trace of its traceparent header if it has one. otelecho sends the answer to an error
// before observe sees it, so it learns here who has hung up.
func traced(provider trace.TracerProvider) echo.MiddlewareFunc {
	spans := otelecho.Middleware("inventory", otelecho.WithTracerProvider(provider),
		otelecho.WithPropagators(propagation.TraceContext{}))
	return func(next echo.HandlerFunc) echo.HandlerFunc {
		return spans(func(c echo.Context) error { return hungUpOr(c.Request().Context(), next(c)) })
	}
}
