package stock

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"
)

// Code names a kind of refusal or failure. Codes are part of the HTTP contract and never change meaning.
type Code string

// The codes of this package. The HTTP layer maps each to one status.
const (
	CodeInvalidRequest    Code = "invalid_request"    // a value is outside what is allowed; Field names it
	CodeUnknownSKU        Code = "unknown_sku"        // no such SKU
	CodeUnknownDeduction  Code = "unknown_deduction"  // no such order id in the SKU
	CodeUnknownOrder      Code = "unknown_order"      // no order of several SKUs with this order id
	CodeSKUExists         Code = "sku_exists"         // the SKU exists with other properties, or is archived
	CodeSKUArchived       Code = "sku_archived"       // the SKU sells nothing for good, and does not change
	CodeOrderIDReused     Code = "order_id_reused"    // the order id belongs to another request
	CodeRefReused         Code = "ref_reused"         // the ref belongs to another change
	CodeSoldOut           Code = "sold_out"           // nothing is left in any segment
	CodeInsufficientStock Code = "insufficient_stock" // less is left than was asked for; Available says how much
	CodeBuyerLimit        Code = "buyer_limit"        // the buyer would hold more units than one buyer may
	CodeSaleClosed        Code = "sale_closed"        // the sale has not begun, or is over
	CodeOrderEnded        Code = "order_ended"        // the order was accepted, and holds nothing any more: Status says why
	CodeStockChanged      Code = "stock_changed"      // the stock is another one than the change was meant for: Stock says which
	CodeNotReserved       Code = "not_reserved"       // there is no live reservation
	CodeNotCommitted      Code = "not_committed"      // nothing is committed that could be returned
	CodeAlreadyCommitted  Code = "already_committed"  // it was committed before, with Quantity units; Status says whether they were returned since
	CodePartOfOrder       Code = "part_of_order"      // OrderID is an order of several SKUs, which is settled as a whole
	CodeOrdersNotListed   Code = "orders_not_listed"  // the database has no indexes for a list of orders
	CodeForbidden         Code = "forbidden"          // the caller may not do this
	CodeTooManyOrders     Code = "too_many_orders"    // there are more orders than one answer is about
	CodeOverloaded        Code = "overloaded"         // the queue is full: try again later
	CodeUnavailable       Code = "unavailable"        // nothing was written, or the outcome is unknown: ask again with the same order id
)

// ErrNotWritable says that a database can be read but takes no writes.
var ErrNotWritable = errors.New("the database takes no writes")

// Error is what selling returns when it does not succeed: a code for programs, a message for
// people, and the cause, which is for logs alone because it may hold internals.
type Error struct {
	Code      Code
	Message   string
	Field     string // the request's field, for CodeInvalidRequest
	SKU       string // the one whose stock, limit or deduction is why
	Available int64  // units left, for CodeInsufficientStock
	Stock     int64  // all that was ever put in, for CodeStockChanged
	Err       error  // the cause, for logs

	// Of the deduction that refuses a request.
	Status   DeductionStatus
	Quantity int64  // units it holds or held last; for CodeAlreadyCommitted, the units that were committed
	OrderID  string // for CodePartOfOrder
	// LimitOf is the buyer whose limit is why; OrderIDs are the buyer's orders that use it up, as far as the caller may know them.
	LimitOf  string
	OrderIDs []string
	// LimitGroup is the group whose limit is why; "": it is that of the SKU alone.
	LimitGroup string
	// Lines are the refusals of the lines of an order of several SKUs.
	Lines []*Error
}

func (e *Error) Error() string {
	if e.Err != nil {
		return fmt.Sprintf("%s: %s: %v", e.Code, e.Message, e.Err)
	}
	return fmt.Sprintf("%s: %s", e.Code, e.Message)
}

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

// CodeOf returns the code of err, CodeUnavailable for an error without one, and "" for nil.
func CodeOf(err error) Code {
	if err == nil {
		return ""
	}
	if e, ok := errors.AsType[*Error](err); ok {
		return e.Code
	}
	return CodeUnavailable
}

// ErrUnwritten is wrapped by errors after which it is certain that nothing was written for the request, nor will be.
var ErrUnwritten = errors.New("nothing was written")

// Unwritten marks an error as one of a step that writes nothing for the request. An error with a code says by itself what was
// done.
func Unwritten(err error) error {
	var e *Error
	if err == nil || errors.As(err, &e) || errors.Is(err, ErrUnwritten) {
		return err
	}
	return fmt.Errorf("%w: %w", ErrUnwritten, err)
}

// ErrFenced is what a [FencedError] wraps.
var ErrFenced = fmt.Errorf("%w: fencing token is older than the segment's", ErrUnwritten)

// FencedError is returned by a [Store] that has seen newer fencing tokens than the caller's. Nothing was written.
type FencedError struct {
	Tokens map[int]int64 // the newest token of each segment's row that refused
}

func (e *FencedError) Error() string { return fmt.Sprintf("%v: %v", ErrFenced, e.Tokens) }

// Unwrap returns [ErrFenced].
func (e *FencedError) Unwrap() error { return ErrFenced }

// ErrLayout is returned by a [Store] that found another layout than the caller knew: the SKU has other segments or terms
// now, or is archived. Nothing was written.
var ErrLayout = fmt.Errorf("%w: the SKU has other segments now", ErrUnwritten)

// ErrSpread is returned by [Store.Order] if the one segment chosen for a line does not hold enough, or the buyer is at
// the limit with reservations that have expired. Nothing was written; all segments together may fill the line.
var ErrSpread = fmt.Errorf("%w: one segment does not fill its line", ErrUnwritten)

// ErrStale is returned by [Store.Order] if more reservations have expired than one transaction gives back, and the
// order may succeed once they are back. Nothing was written; after [Store.Expire] it may be tried again.
var ErrStale = fmt.Errorf("%w: more reservations have expired than one transaction gives back", ErrUnwritten)

// ErrLate is returned by a [Store] that reached the end of a write after its deadline. Nothing was written, nor will
// be.
var ErrLate = fmt.Errorf("%w: the deadline has passed", ErrUnwritten)

// ErrHeld is returned by a [Store] for a write that was to wait only briefly for a row ([Batch.RowWait]), and did not get it. Nothing was
// written, nor will be.
var ErrHeld = fmt.Errorf("%w: another transaction holds the row", ErrUnwritten)

// ErrGuard is wrapped by a [Store] when a constraint fired that the statements before it should have made
// impossible: a bug, or another program that writes to the tables. Nothing was written.
var ErrGuard = fmt.Errorf("%w: database guard fired", ErrUnwritten)

// refusal is an error about a SKU; "" if it is about none.
func refusal(code Code, sku, format string, args ...any) *Error {
	return &Error{Code: code, SKU: sku, Message: fmt.Sprintf(format, args...)}
}

// UnknownSKU is the error for a SKU that does not exist.
func UnknownSKU(sku string) *Error { return refusal(CodeUnknownSKU, "", "there is no SKU %q", sku) }

// Invalid is the error for a request whose field has a value that is not allowed.
func Invalid(field, format string, args ...any) *Error {
	return &Error{Code: CodeInvalidRequest, Field: field, Message: field + " " + fmt.Sprintf(format, args...)}
}

// Unavailable wraps an error of the store or a context: the request may or may not have been carried out, unless the error is
// [ErrUnwritten].
func Unavailable(err error, doing string) error {
	var e *Error
	if errors.As(err, &e) {
		return err
	}
	message := outcomeUnknown
	switch {
	case errors.Is(err, ErrHeld):
		message = "another transaction holds rows of the SKU; nothing was written for the request, nor will be; send it again"
	case errors.Is(err, ErrUnwritten):
		message = "nothing was written for the request, nor will be; send it again"
	}
	return &Error{
		Code:    CodeUnavailable,
		Message: message,
		Err:     fmt.Errorf("%s: %w", doing, err),
	}
}

const outcomeUnknown = "the outcome is not known; send the same request again to learn it"

// AfterWrite is the error of a step that comes after a write. The step may say that nothing was written, but only of itself.
func AfterWrite(err error, doing string) error {
	switch CodeOf(err) {
	case CodeUnavailable, CodeOverloaded:
		return &Error{Code: CodeUnavailable, Message: outcomeUnknown, Err: fmt.Errorf("%s: %s", doing, err.Error())}
	default:
		return err
	}
}

// TooManyOrders is the error for an audit of a SKU, or of all if it is "", that have more orders than one answer is about.
func TooManyOrders(sku string, most int) *Error {
	return refusal(CodeTooManyOrders, sku, "there are more than %d orders: the command inventory audit audits any number", most)
}

// SKUArchived is the error for an order or a change of a SKU that is archived.
func SKUArchived(sku string) *Error {
	return refusal(CodeSKUArchived, sku, "SKU %q is archived: it sells nothing, and does not change", sku)
}

// differences says how what is there differs from what a request asks for, with both values.
type differences []string

func (d *differences) add(name string, there, asked any) {
	if there != asked {
		*d = append(*d, fmt.Sprintf("%s is %s, not %s", name, shown(there), shown(asked)))
	}
}

// String is "" if nothing differs.
func (d differences) String() string {
	if len(d) == 0 {
		return ""
	}
	const most = 5
	more := ""
	if len(d) > most {
		d, more = d[:most], "; and more"
	}
	return ": " + strings.Join(d, "; ") + more
}

// shown returns a value as people read it.
func shown(value any) string {
	switch v := value.(type) {
	case string:
		return strconv.Quote(v)
	case time.Time:
		if v.IsZero() {
			return "none"
		}
		return v.Format(time.RFC3339Nano)
	case time.Duration:
		if v == 0 {
			return "none"
		}
		return v.String()
	default:
		return fmt.Sprint(v)
	}
}

// RefReused is the error for a ref that belongs to another change.
func RefReused(ref string) *Error {
	return refusal(CodeRefReused, "", "ref %q was used before for another change", ref)
}

// OrderIDReused is the error for an order id that belongs to another request.
func OrderIDReused() *Error {
	return refusal(CodeOrderIDReused, "", "this order id was used before for another request")
}

// ReusedBy is the error for an order whose id belongs to a deduction of the SKU that it does not ask for. A buyer with a token learns
// nothing of an order of another buyer.
func (o Order) ReusedBy(d Deduction) *Error {
	var differs differences
	if !o.Own || o.BuyerID == d.BuyerID {
		differs.add("quantity", d.Order.Quantity, o.Quantity)
		differs.add("buyer_id", d.BuyerID, o.BuyerID)
		differs.add("reserve_for", d.ReserveFor, o.ReserveFor)
	}
	err := OrderIDReused()
	err.Message += differs.String()
	return err
}

// BuyerLimited is the error for an order with which a buyer would hold more units than one buyer may.
func BuyerLimited(sku, group, buyerID string, limit int64) *Error {
	err := refusal(CodeBuyerLimit, sku, "a buyer may have %d of SKU %q at most", limit, sku)
	if err.LimitOf, err.LimitGroup = buyerID, group; group != "" {
		err.Message = fmt.Sprintf("a buyer may have %d of the SKUs of group %q at most, of which SKU %q is one", limit, group, sku)
	}
	return err
}

// CountedAt names the count that a buyer limit has refused.
func (e *Error) CountedAt() string { return CountOf(e.SKU, e.LimitGroup) }

// Shortage is the error for an order of more units than the SKU has available.
func Shortage(sku string, available int64) *Error {
	if available == 0 {
		return SoldOutError(sku)
	}
	return TooFew(sku, available)
}

// SoldOutError is the error for an order of a SKU of which nothing is left.
func SoldOutError(sku string) *Error {
	return refusal(CodeSoldOut, sku, "SKU %q is sold out", sku)
}

// TooFew is the error for units of which the segments hold fewer.
func TooFew(sku string, available int64) *Error {
	err := refusal(CodeInsufficientStock, sku, "SKU %q has %d available, fewer than asked for", sku, available)
	err.Available = available
	return err
}
