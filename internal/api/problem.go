package api

import (
	"errors"
	"log/slog"
	"math/rand/v2"
	"net/http"
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

const noStore = "no-store"

// kind is what all problems of one code have in common.
type kind struct {
	status int
	title  string
}

// kindOf is the one table from codes to HTTP.
func kindOf(code stock.Code) kind {
	switch code {
	case stock.CodeInvalidRequest:
		return kind{http.StatusBadRequest, "The request is not valid"}
	case stock.CodeUnknownSKU:
		return kind{http.StatusNotFound, "There is no such SKU"}
	case stock.CodeUnknownDeduction:
		return kind{http.StatusNotFound, "There is no such deduction"}
	case stock.CodeSKUExists:
		return kind{http.StatusConflict, "The SKU exists with other properties"}
	case stock.CodeSKUArchived:
		return kind{http.StatusGone, "The SKU is archived"}
	case stock.CodeSoldOut:
		return kind{http.StatusConflict, "Sold out"}
	case stock.CodeInsufficientStock:
		return kind{http.StatusConflict, "Not enough stock"}
	case stock.CodeBuyerLimit:
		return kind{http.StatusConflict, "The buyer has all that one buyer may have"}
	case stock.CodeSaleClosed:
		return kind{http.StatusConflict, "The SKU is not on sale now"}
	case stock.CodeNotReserved:
		return kind{http.StatusConflict, "The status of the deduction does not allow this"}
	case stock.CodeOrderIDReused:
		return kind{http.StatusUnprocessableEntity, "The order id belongs to another order"}
	case stock.CodeRefReused:
		return kind{http.StatusUnprocessableEntity, "The ref belongs to another change"}
	case stock.CodeOverloaded:
		return kind{http.StatusServiceUnavailable, "Too many are waiting"}
	case codeNotFound:
		return kind{http.StatusNotFound, "There is no such route"}
	case codeMethodNotAllowed:
		return kind{http.StatusMethodNotAllowed, "The route does not have this method"}
	case codeTooLarge:
		return kind{http.StatusRequestEntityTooLarge, "The body is too large"}
	case codeMediaType:
		return kind{http.StatusUnsupportedMediaType, "The body must be JSON"}
	case codeUnauthenticated:
		return kind{http.StatusUnauthorized, "Say who you are"}
	case codeForbidden:
		return kind{http.StatusForbidden, "You may not do this"}
	case codeRateLimited:
		return kind{http.StatusTooManyRequests, "Too many requests of yours"}
	case codeTimeout:
		return kind{http.StatusRequestTimeout, "The request took too long to come"}
	default:
		return kind{http.StatusServiceUnavailable, "The outcome is not known"}
	}
}

// problem is the body of every error: RFC 9457 with the members that our codes add. See appendProblem.
type problem struct {
	kind
	*stock.Error
}

func problemOf(err error) problem {
	e := asStockError(err)
	k := kindOf(e.Code)
	if e.Code == stock.CodeUnavailable && errors.Is(e, stock.ErrUnwritten) {
		k.title = "Nothing was written"
	}
	return problem{k, e}
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
	if p.status >= http.StatusInternalServerError {
		setRetryAfter(c)
	}
	switch {
	case isHungUp(err): // a stranger could flood the log
	case p.Code == stock.CodeUnavailable:
		log.Warn("request failed", "method", c.Request().Method, "route", c.Path(), "request_id", requestID(c), "error", err)
	case p.Code == codeUnauthenticated, p.Code == codeForbidden, p.Code == codeRateLimited:
		log.Debug("caller refused", "method", c.Request().Method, "route", c.Path(), "request_id", requestID(c), "error", err)
	}
	if err := sendBody(c, p.status, mediaProblem, appendProblem(make([]byte, 0, problemSize), p)); err != nil {
		log.Debug("answer not sent", "route", c.Path(), "request_id", requestID(c), "error", err)
	}
}
