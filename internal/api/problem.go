package api

import (
	"bytes"
	"errors"
	"html/template"
	"log/slog"
	"math/rand/v2"
	"net/http"
	"slices"
	"strconv"

	"github.com/labstack/echo/v4"

	"inventory/internal/stock"
)

// The codes that only HTTP has.
const (
	codeNotFound         stock.Code = "not_found"
	codeMethodNotAllowed stock.Code = "method_not_allowed"
	codeTooLarge         stock.Code = "too_large"
	codeMediaType        stock.Code = "unsupported_media_type"
	codeUnauthenticated  stock.Code = "unauthenticated"
	codeForbidden                   = stock.CodeForbidden
	codeRateLimited      stock.Code = "rate_limited"
	codeTimeout          stock.Code = "request_timeout"
)

const (
	noStore      = "no-store"
	mediaProblem = "application/problem+json"
)

// kind is what all problems of one code have in common, in answers and on the page to which their type leads.
type kind struct {
	Code    stock.Code
	Status  int
	Final   bool // it answers a request: see [problem]
	Title   string
	Meaning string // what has happened
	Advice  string // what to do now
}

const sameAgain = "Send the same request again, with the same order id. If the first attempt was carried out, you get its answer."

// kinds is the one table from codes to HTTP, in the order of the document's codes. A refusal that comes before the service
// looks whether the request was carried out (by time, load, or the caller's credentials and rights, which change between two attempts) is not final.
var kinds = []kind{
	{stock.CodeInvalidRequest, http.StatusBadRequest, true, "The request is not valid", "A value is outside what is allowed, or the body is not a JSON object. Nothing was changed.", "Read field and detail, and correct the request. The same request is refused again."},
	{codeNotFound, http.StatusNotFound, true, "There is no such route", "Nothing is served under this path.", "Compare the path with /openapi.yaml. Ids in a path are percent-encoded."},
	{codeMethodNotAllowed, http.StatusMethodNotAllowed, true, "The route does not have this method", "The path is served, but not with this method.", "The header Allow has the methods."},
	{codeTooLarge, http.StatusRequestEntityTooLarge, true, "The body is too large", "The body is larger than a request may be. Nothing was changed.", "Send less at a time."},
	{codeMediaType, http.StatusUnsupportedMediaType, true, "The body must be JSON", "The content type is not application/json.", "Set the header Content-Type to application/json."},
	{stock.CodeUnknownSKU, http.StatusNotFound, true, "There is no such SKU", "There is no SKU of this name. Nothing was changed.", "Create it, or correct the name. Names are compared byte by byte."},
	{stock.CodeUnknownDeduction, http.StatusNotFound, true, "There is no such deduction", "The SKU has no deduction of this order id that you may see.", "If an attempt got no answer, send the order again with the same order id: the answer is its outcome."},
	{stock.CodeSKUExists, http.StatusConflict, true, "The SKU exists with other properties", "The SKU exists with other properties than those in the request, or is archived. Nothing was changed.", "Read it and compare. A request with the same properties is answered 200."},
	{stock.CodeSKUArchived, http.StatusGone, true, "The SKU is archived", "The SKU is archived: it sells nothing for good, and neither its stock nor its terms change. Nothing was changed.", "Sell it under another name. Its orders can still be read, committed and cancelled."},
	{stock.CodeSoldOut, http.StatusConflict, true, "Sold out", "Nothing is left in any segment. Reserved units may come back.", "This is an answer, not a failure. Listen to /v1/events to learn when it is back in stock."},
	{stock.CodeInsufficientStock, http.StatusConflict, true, "Not enough stock", "Less is left than the order asks for. The member available says how much. Nothing was taken.", "Ask for fewer units under a new order id."},
	{stock.CodeBuyerLimit, http.StatusConflict, true, "More than one buyer may have", "With this order the buyer would hold more units than one buyer may. The member order_ids has the buyer's orders that use the limit up, up to 20 of those whose ids are yours: a key sees the orders of keys, a token its own.", "Cancel a reservation of this buyer, or ask for fewer units."},
	{stock.CodeSaleClosed, http.StatusConflict, true, "The SKU is not on sale now", "The sale has not begun, or is over.", "sale_starts_at and sale_ends_at of the SKU say when it is open. The clock of the database decides."},
	{stock.CodeUnknownOrder, http.StatusNotFound, true, "There is no such order of several SKUs", "There is no order of several SKUs of this order id that you may see.", "If an attempt got no answer, send the order again with the same order id: the answer is its outcome."},
	{stock.CodeStockChanged, http.StatusConflict, true, "The stock is another one", "The stock of the SKU is another one than if_stock says: the member stock has it. Somebody else has changed it. Nothing was changed.", "Look at the present figure, and decide again, under a new ref."},
	{stock.CodeOrderEnded, http.StatusConflict, true, "The order was accepted before, and has ended", "This order was accepted before, and holds nothing any more: order_status says whether it was cancelled, has expired or was returned, and quantity how many units it held last.", "Do not deliver it, and do not ask for money. If it was returned, it was paid and is settled. To buy, send the order under a new order id. If it was paid after its end, commit it with if_ended."},
	{stock.CodeNotReserved, http.StatusConflict, true, "There is no live reservation", "There is no live reservation to commit, cancel in part or extend: order_status says what has become of it.", "If it has expired or was cancelled, and was paid, commit it with if_ended, which takes the units again if they are there. If the buyer's limit is why they are not, order_ids has the orders that use it up. Otherwise give the money back."},
	{stock.CodeAlreadyCommitted, http.StatusConflict, true, "The deduction was committed before", "The deduction was committed before, with as many units as quantity says: it is paid. If order_status is returned, its units were returned since. Nothing was changed.", "A cancel or another commit comes too late: do nothing. Do not ask for the money again, and do not refund it: that belongs to the return. To take committed units back, return them."},
	{stock.CodeNotCommitted, http.StatusConflict, true, "Nothing is committed", "Nothing of the deduction is committed, so nothing can be returned: order_status says what it is.", "Give up a reservation with cancel."},
	{stock.CodePartOfOrder, http.StatusConflict, true, "The lines of an order are settled together", "The deduction is a line of an order of several SKUs. Its lines are committed, cancelled and extended together. Nothing was changed.", "Send the request to the path that order names. Single lines can be returned."},
	{stock.CodeOrdersNotListed, http.StatusConflict, true, "Orders are not listed", "The database has no indexes for a list of orders, because every order pays for them.", "Ask the operator to build them: inventory orders on. The orders of one SKU are listed without them."},
	{stock.CodeOrderIDReused, http.StatusUnprocessableEntity, true, "The order id belongs to another order", "The order id belongs to another order: another quantity, buyer, or time of reservation. Nothing was changed.", "Use a new order id for each order, and the same one for each of its attempts."},
	{stock.CodeRefReused, http.StatusUnprocessableEntity, true, "The ref belongs to another change", "The ref belongs to another change of this SKU, or of this deduction. Nothing was changed.", "Use a new ref for each change, and the same one for each of its attempts."},
	{stock.CodeTooManyOrders, http.StatusUnprocessableEntity, true, "There are too many orders", "There are more orders than an audit over HTTP reads. Nothing was audited.", "Run the command inventory audit beside the service: it audits any number. Or audit a single SKU."},
	{stock.CodeOverloaded, http.StatusServiceUnavailable, false, "Too many are waiting", "More requests wait than can be answered in time. Nothing was changed.", "Wait as long as Retry-After says. " + sameAgain},
	{stock.CodeUnavailable, http.StatusServiceUnavailable, false, "The outcome is not known", "The outcome is not known, or nothing was written, as the title says: the database did not answer in time, the SKU changed again and again, or the service is stopping.", sameAgain},
	{codeUnauthenticated, http.StatusUnauthorized, false, "Say who you are", "The request has no key or token, or one that is not valid.", "Send Authorization: Bearer, with a key or a token that has not expired. This says nothing about earlier attempts: to learn of them, send the same request again."},
	{codeForbidden, http.StatusForbidden, false, "You may not do this", "The key or token is valid, but it may not do this.", "Commits, extensions and changes of stock need a key of the shop, or of an admin. A token acts for its own buyer. This says nothing about earlier attempts: to learn of them, send the same request again with a key that may."},
	{codeRateLimited, http.StatusTooManyRequests, false, "Too many requests of yours", "You send more requests than one caller may. Nothing was changed.", "Wait as long as Retry-After says, send less, and send the same request again."},
	{codeTimeout, http.StatusRequestTimeout, false, "The request took too long to come", "The request took too long to arrive.", sameAgain},
}

// kindOf returns the row of a code, or that of an unknown outcome.
func kindOf(code stock.Code) kind {
	at := slices.IndexFunc(kinds, func(k kind) bool { return k.Code == code })
	if at < 0 {
		return kindOf(stock.CodeUnavailable)
	}
	return kinds[at]
}

// problem is the body of every error: RFC 9457 with the members that our codes add. Final says that the request was decided: it was not
// carried out, and no earlier copy of it will be whose deadline has passed. Otherwise the caller is to send the same request again.
type problem struct {
	Type      string     `json:"type"`
	Title     string     `json:"title"`
	Status    int        `json:"status"`
	Detail    string     `json:"detail"`
	Code      stock.Code `json:"code"`
	Final     bool       `json:"final"`
	Field     string     `json:"field,omitempty"`
	SKU       string     `json:"sku,omitempty"`
	Available *int64     `json:"available,omitempty"`
	Stock     *int64     `json:"stock,omitempty"`

	OrderStatus stock.DeductionStatus `json:"order_status,omitempty"`
	Quantity    int64                 `json:"quantity,omitempty"`
	Order       string                `json:"order,omitempty"`
	OrderIDs    []string              `json:"order_ids,omitempty"`
	LimitGroup  string                `json:"limit_group,omitempty"`
	Lines       []lineProblem         `json:"lines,omitempty"`
}

// lineProblem is why a line of an order of several SKUs was refused.
type lineProblem struct {
	SKU         string                `json:"sku"`
	Code        stock.Code            `json:"code"`
	Detail      string                `json:"detail"`
	Available   *int64                `json:"available,omitempty"`
	OrderStatus stock.DeductionStatus `json:"order_status,omitempty"`
	Quantity    int64                 `json:"quantity,omitempty"`
}

func problemOf(err error) problem {
	e := asStockError(err)
	k := kindOf(e.Code)
	p := problem{
		Type: problemPath + string(e.Code), Title: k.Title, Status: k.Status, Detail: e.Message, Code: e.Code, Final: k.Final, Field: e.Field, SKU: e.SKU,
		OrderStatus: e.Status, Quantity: e.Quantity, OrderIDs: e.OrderIDs, LimitGroup: e.LimitGroup,
	}
	if e.OrderID != "" {
		p.Order = orderPath(e.OrderID)
	}
	for _, line := range e.Lines {
		of := lineProblem{SKU: line.SKU, Code: line.Code, Detail: line.Message, OrderStatus: line.Status, Quantity: line.Quantity}
		if line.Code == stock.CodeInsufficientStock {
			of.Available = &line.Available
		}
		p.Lines = append(p.Lines, of)
	}
	switch {
	case errors.Is(e, errCutOff): // this is no request that was decided
		p.Final = false
	case e.Code == stock.CodeUnavailable && errors.Is(e, stock.ErrUnwritten):
		p.Title = "Nothing was written"
	case e.Code == stock.CodeInsufficientStock:
		p.Available = &e.Available
	case e.Code == stock.CodeStockChanged:
		p.Stock = &e.Stock
	}
	return p
}

// asStockError gives an error of Echo or of unknown origin a code. The caller does not get the text of an unknown error,
// which may hold internals.
func asStockError(err error) *stock.Error {
	if e, ok := errors.AsType[*stock.Error](err); ok {
		return e
	}
	if e, ok := errors.AsType[*echo.HTTPError](err); ok {
		switch e.Code {
		case http.StatusNotFound:
			return &stock.Error{Code: codeNotFound, Message: "nothing is served under this path"}
		case http.StatusMethodNotAllowed:
			return &stock.Error{Code: codeMethodNotAllowed, Message: "see /openapi.yaml for what this path serves"}
		}
	}
	return &stock.Error{
		Code: stock.CodeUnavailable, Message: "the outcome is not known; send the same request again to learn it", Err: err,
	}
}

// setRetryAfter sets the header that says when to send a request again. The time is jittered, so that callers that were
// refused together do not return together.
func setRetryAfter(c echo.Context) {
	c.Response().Header().Set(echo.HeaderRetryAfter, strconv.Itoa(1+rand.IntN(3))) //nolint:gosec // no secret
}

// sendProblem answers with the problem of err, and logs what the answer leaves out.
func sendProblem(c echo.Context, log *slog.Logger, err error) {
	if c.Response().Committed {
		return
	}
	p := problemOf(err)
	c.Response().Header().Set(echo.HeaderCacheControl, noStore) // caches may keep a 404 for any time
	c.Response().Header().Set(echo.HeaderContentType, mediaProblem)
	if p.Status >= http.StatusInternalServerError {
		setRetryAfter(c)
	}
	switch {
	case errors.Is(err, errHungUp): // a stranger could flood the log
	case p.Code == stock.CodeUnavailable:
		log.Warn("request failed", "method", c.Request().Method, "route", c.Path(), "request_id", requestID(c), "error", err)
	case p.Code == codeUnauthenticated, p.Code == codeForbidden, p.Code == codeRateLimited:
		log.Debug("caller refused", "method", c.Request().Method, "route", c.Path(), "request_id", requestID(c), "error", err)
	}
	if err := sendJSON(c, p.Status, p); err != nil {
		log.Debug("answer not sent", "route", c.Path(), "request_id", requestID(c), "error", err)
	}
}

// problemPath is the path of the pages to which the types of problems lead.
const problemPath = "/docs/problems/"

// problemPages returns the pages that explain problems, and their list, by their paths.
func problemPages() map[string]echo.HandlerFunc {
	pages := template.Must(template.ParseFS(docs, "docs/problems.html", "docs/problem.html")) // of ours: a test renders all
	return map[string]echo.HandlerFunc{
		problemPath: func(c echo.Context) error { return sendPage(c, pages, "problems.html", kinds) },
		problemPath + ":code": func(c echo.Context) error {
			k := kindOf(stock.Code(param(c, "code")))
			if string(k.Code) != param(c, "code") {
				return echo.ErrNotFound
			}
			return sendPage(c, pages, "problem.html", k)
		},
	}
}

func sendPage(c echo.Context, pages *template.Template, name string, data any) error {
	var page bytes.Buffer
	if err := pages.ExecuteTemplate(&page, name, data); err != nil {
		return err
	}
	return c.HTMLBlob(http.StatusOK, page.Bytes())
}
