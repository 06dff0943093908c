package api

import (
	"net/http"
	"slices"

	"github.com/labstack/echo/v4"

	"inventory/internal/access"
)

// policy is the set of callers that may use a route. It has no default: a route without a policy cannot be registered.
type policy uint8

const (
	public   policy = iota + 1 // everybody, without a credential
	buyers                     // callers that may buy: see [access.ScopeBuyer]
	settlers                   // buyers that may commit and extend a reservation: see [access.Rights]
	admins
)

// refusal returns why a caller may not use a route; "" if it may.
func (p policy) refusal(caller access.Caller) string {
	switch {
	case p == public:
		return ""
	case caller.Scope < access.ScopeBuyer:
		return "this takes a key or a token"
	case p == buyers:
		return ""
	case p == settlers && caller.Commit:
		return ""
	case p == settlers:
		return "this takes a key: a token may reserve, deduct, read, and give back what it has reserved"
	case caller.Scope < access.ScopeAdmin:
		return "this takes a key of the scope admin"
	default:
		return ""
	}
}

// route is a line of the table.
type route struct {
	method, path string
	policy       policy
	handler      echo.HandlerFunc
}

// routes returns the table of what the public handler serves, and to which callers. A handler of a route for buyers must
// call buyerFor to learn for which buyer a request may act: see caller.go.
func (s *server) routes() []route {
	return slices.Concat(docsRoutes(), problemRoutes(), s.consoleRoutes(), []route{
		{http.MethodGet, "/v1/skus", buyers, timed(s.readSKUs)},
		{http.MethodPut, "/v1/skus/:sku", admins, s.bounded(s.createSKU)},
		{http.MethodPatch, "/v1/skus/:sku", admins, s.bounded(s.changeTerms)},
		{http.MethodDelete, "/v1/skus/:sku", admins, s.bounded(s.archiveSKU)},
		{http.MethodGet, "/v1/skus/:sku", buyers, timed(s.readSKU)},
		// On the hot routes the worker watches the deadline.
		{http.MethodPost, deductRoute, buyers, s.deduct},
		{http.MethodPost, manyRoute, buyers, s.deductAll},
		{http.MethodGet, "/v1/skus/:sku/deductions/:order_id", buyers, timed(s.readDeduction)},
		{http.MethodPost, "/v1/skus/:sku/deductions/:order_id/commit", settlers, s.bounded(s.commit)},
		{http.MethodPost, "/v1/skus/:sku/deductions/:order_id/extend", settlers, s.bounded(s.extend)},
		{http.MethodPost, "/v1/skus/:sku/deductions/:order_id/cancel", buyers, s.bounded(s.cancel)},
		{http.MethodPost, orderRoute, buyers, s.bounded(s.placeOrder)},
		{http.MethodGet, "/v1/events", buyers, s.watchEvents}, // ends when its listener wants
		{http.MethodPost, "/v1/skus/:sku/restock", admins, s.bounded(s.restock)},
		{http.MethodPost, "/v1/skus/:sku/adjust", admins, s.bounded(s.adjust)},
		{http.MethodPost, "/v1/skus/:sku/resegment", admins, s.bounded(s.resegment)},
		{http.MethodGet, "/v1/skus/:sku/deductions", admins, timed(s.readDeductions)},
		{http.MethodGet, "/v1/skus/:sku/movements", admins, timed(s.readMovements)},
		{http.MethodGet, "/v1/skus/:sku/locks", admins, timed(s.readLocks)},
		{http.MethodGet, "/v1/activity", admins, timed(s.readActivity)},
		{http.MethodGet, "/v1/skus/:sku/audit", admins, timed(s.auditSKU)},
		{http.MethodGet, "/v1/audit", admins, timed(s.audit)},
	})
}

// register puts the table into Echo. It builds the middleware of a handler once; Echo would build its own for every
// request.
func (s *server) register(e *echo.Echo, table []route) {
	for _, r := range table {
		if r.policy == 0 {
			panic("the route " + r.method + " " + r.path + " has no policy") // a mistake in the table: no input causes this
		}
		handler := knowing(parametersOf(r), r.handler)
		if r.method != http.MethodGet {
			e.Add(r.method, r.path, s.admit(r.policy, handler))
			continue
		}
		if r.policy != public {
			handler = unstored(handler)
		}
		handler = s.admit(r.policy, handler)
		e.GET(r.path, handler)
		e.HEAD(r.path, handler) // net/http drops the body
	}
}

// unstored keeps a handler's answers out of caches: they are true only now.
func unstored(handler echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) error {
		c.Response().Header().Set(echo.HeaderCacheControl, noStore)
		return handler(c)
	}
}
