package api

import (
	"encoding/base64"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/labstack/echo/v4"

	"inventory/internal/access"
	"inventory/internal/stock"
	"inventory/internal/stock/selling"
)

type newDeduction struct {
	OrderID    field[string] `json:"order_id"`
	BuyerID    field[string] `json:"buyer_id"`
	Quantity   field[int64]  `json:"quantity"`
	ReserveFor duration      `json:"reserve_for"`
}

// deductionAnswer is a deduction as JSON. It has the texts of [stock.KeptTexts], whichever these are.
type deductionAnswer stock.Deduction

// MarshalJSON implements [encoding/json.Marshaler].
func (a deductionAnswer) MarshalJSON() ([]byte, error) {
	d, text := stock.Deduction(a), make([]byte, 0, 256)
	text = appendString(append(text, `{"sku":`...), d.SKU)
	text = appendString(append(text, `,"order_id":`...), d.OrderID)
	for _, kept := range stock.KeptTexts() {
		if value := kept.Get(d.Order); value != "" {
			text = appendString(append(append(append(text, `,"`...), kept.Column...), `":`...), value)
		}
	}
	text = strconv.AppendInt(append(text, `,"quantity":`...), d.Quantity, 10)
	text = appendString(append(text, `,"status":`...), string(d.Status))
	if at := expiry(d); !at.IsZero() {
		text = append(at.AppendFormat(append(text, `,"expires_at":"`...), time.RFC3339Nano), '"')
	}
	before := `,"parts":[`
	if d.InOrder {
		text = appendString(append(text, `,"order":`...), orderPath(d.OrderID))
	}
	for _, part := range d.Parts {
		text = fmt.Appendf(text, `%s{"segment":%d,"quantity":%d}`, before, part.Segment, part.Quantity)
		before = ","
	}
	if len(d.Parts) > 0 {
		text = append(text, ']')
	}
	return append(text, '}'), nil
}

// appendString appends a JSON string. Bytes that are not UTF-8 are replaced.
func appendString(to []byte, s string) []byte {
	to, _ = jsontext.AppendQuote(to, s)
	return to
}

// sendDeduction answers with a deduction.
func sendDeduction(c echo.Context, status int, d stock.Deduction) error {
	text, err := deductionAnswer(d).MarshalJSON()
	if err != nil {
		return err
	}
	return c.JSONBlob(status, append(text, '\n'))
}

// expiry returns when a reservation ends, or has ended, by itself; zero if that does not matter.
func expiry(d stock.Deduction) time.Time {
	if d.Status == stock.StatusReserved || d.Status == stock.StatusExpired {
		return d.ExpiresAt.UTC()
	}
	return time.Time{}
}

func (s *server) deduct(c echo.Context) error {
	deadline, err := s.deadlineOf(c.Request()) // before the body, whose reading may take time
	if err != nil {
		return err
	}
	order, err := readAs[newDeduction](c, decode)
	if err != nil {
		return err
	}
	if order.BuyerID, order.Own, err = buyerFor(c, order.BuyerID); err != nil {
		return err
	}
	order.CallerMax = callerOf(c).MaxQuantity
	d, created, err := s.Service.Deduct(waitUntil(c.Request().Context(), deadline), param(c, "sku"), order)
	if err != nil {
		return err
	}
	return sendDeduction(c, createdOrOK(created), d)
}

func (n newDeduction) read(f *form) stock.Order {
	return stock.Order{
		OrderID: required(f, "order_id", n.OrderID), Quantity: required(f, "quantity", n.Quantity),
		BuyerID: f.optional("buyer_id", n.BuyerID), ReserveFor: f.period("reserve_for", n.ReserveFor),
	}
}

func (s *server) readDeduction(c echo.Context) error {
	buyerID, err := namedBuyer(c)
	if err != nil {
		return err
	}
	d, err := s.Service.Deduction(c.Request().Context(), param(c, "sku"), param(c, "order_id"), buyerID)
	if err != nil {
		return err
	}
	return sendDeduction(c, http.StatusOK, d)
}

// settlement is what a request asks for about what is reserved or committed: of a deduction, or of all lines of an order.
type settlement struct {
	stock.SettleRequest
	retake bool // commit units that are reserved no longer, if they are there
}

type commitRequest struct {
	Quantity field[int64] `json:"quantity"`
	commitOrderRequest
}

func (r commitRequest) read(f *form) settlement {
	quantity := f.count("quantity", r.Quantity, stock.MaxQuantity)
	asked := r.commitOrderRequest.read(f)
	asked.Quantity = quantity
	return asked
}

// cancelRequest gives up a reservation: all of it, or, if both members are there, a part.
type cancelRequest struct {
	Quantity field[int64]  `json:"quantity"`
	Ref      field[string] `json:"ref"`
}

func (r cancelRequest) read(f *form) settlement {
	if r.Quantity.set || r.Ref.set {
		required(f, "quantity", r.Quantity)
		required(f, "ref", r.Ref)
	}
	return settlement{SettleRequest: stock.SettleRequest{Verb: stock.Cancel, Quantity: r.Quantity.value, Ref: r.Ref.value}}
}

// returnRequest gives back committed units: all of them, or, if both members are there, a part.
type returnRequest struct {
	cancelRequest
	returnOrderRequest
}

func (r returnRequest) read(f *form) settlement {
	asked := r.returnOrderRequest.read(f)
	part := r.cancelRequest.read(f)
	asked.Quantity, asked.Ref = part.Quantity, part.Ref
	return asked
}

// extendRequest gives a reservation a later end.
type extendRequest struct {
	Ref        field[string] `json:"ref"`
	ReserveFor duration      `json:"reserve_for"`
}

func (r extendRequest) read(f *form) settlement {
	asked := stock.SettleRequest{Verb: stock.Extend, Ref: required(f, "ref", r.Ref)}
	required(f, "reserve_for", r.ReserveFor.field)
	asked.ExtendFor = f.period("reserve_for", r.ReserveFor)
	return settlement{SettleRequest: asked}
}

// settling returns a handler that settles what the path names as a B asks for. settle also sends the answer.
func settling[B body[settlement]](
	s *server, decode func(echo.Context, any) error, settle func(echo.Context, settlement) error,
) echo.HandlerFunc {
	return s.bounded(func(c echo.Context) error {
		asked, err := readAs[B](c, decode)
		if err != nil {
			return err
		}
		if asked.BuyerID, err = namedBuyer(c); err != nil {
			return err
		}
		asked.OrderID = param(c, "order_id")
		return settle(c, asked)
	})
}

// settle settles a deduction, and answers with the deduction afterwards.
func (s *server) settle(c echo.Context, asked settlement) error {
	d, err := s.Service.Settle(c.Request().Context(), param(c, "sku"), asked.SettleRequest, asked.retake)
	if err != nil {
		return err
	}
	return sendDeduction(c, http.StatusOK, d)
}

type historyAnswer struct {
	SKU     string        `json:"sku"`
	OrderID string        `json:"order_id"`
	History []stock.Entry `json:"history"`
}

// readHistory answers with what happened to a deduction, the oldest entry first.
func (s *server) readHistory(c echo.Context) error {
	buyerID, err := namedBuyer(c)
	if err != nil {
		return err
	}
	h, err := s.Service.History(c.Request().Context(), param(c, "sku"), param(c, "order_id"), buyerID)
	if err != nil {
		return err
	}
	answer := historyAnswer{SKU: h.SKU, OrderID: h.OrderID, History: h.Entries()}
	for i, e := range answer.History {
		answer.History[i].At, answer.History[i].Until = e.At.UTC(), e.Until.UTC()
	}
	return c.JSON(http.StatusOK, answer)
}

type deductionsAnswer struct {
	SKU        string            `json:"sku"`
	Deductions []listedDeduction `json:"deductions"`
	Next       string            `json:"next,omitempty"`
}

// listedDeduction is a deduction in a list. Own means that the order id belongs to its buyer, who came with a token.
type listedDeduction struct {
	OrderID   string                `json:"order_id"`
	Own       bool                  `json:"own,omitempty"`
	BuyerID   string                `json:"buyer_id,omitempty"`
	Quantity  int64                 `json:"quantity"`
	Status    stock.DeductionStatus `json:"status"`
	ExpiresAt time.Time             `json:"expires_at,omitzero"`
}

// readDeductions returns a page of a SKU's deductions. Only an admin reads those of all buyers; the others read one buyer's, under
// order ids of their own.
func (s *server) readDeductions(c echo.Context) error {
	query, err := deductionQuery(c.QueryParams())
	if err != nil {
		return err
	}
	query.SKU = param(c, "sku")
	if caller := callerOf(c); caller.Scope != access.ScopeAdmin {
		if query.BuyerID, _, err = buyerFor(c, query.BuyerID); err != nil {
			return err
		}
		if query.BuyerID == "" {
			return forbidden("this takes a buyer_id, or a key of the scope admin")
		}
		query.Namespace = &caller.Buyer
	}
	page, err := s.Service.Deductions(c.Request().Context(), query)
	if err != nil {
		return err
	}
	answer := deductionsAnswer{SKU: query.SKU, Deductions: make([]listedDeduction, len(page.Deductions))}
	for i, d := range page.Deductions {
		namespace, orderID := stock.SplitOrderKey(d.OrderID)
		answer.Deductions[i] = listedDeduction{
			OrderID: orderID, Own: namespace != "", BuyerID: d.BuyerID, Quantity: d.Quantity, Status: d.Status, ExpiresAt: expiry(d),
		}
	}
	answer.Next = base64.RawURLEncoding.EncodeToString([]byte(page.Next))
	return c.JSON(http.StatusOK, answer)
}

// deductionQuery reads which deductions the caller wants. A parameter that is present and empty is not the same as an
// absent one.
func deductionQuery(query url.Values) (q stock.DeductionQuery, err error) {
	for _, name := range []string{"after", "buyer_id", "status"} {
		if query.Has(name) && query.Get(name) == "" {
			return q, invalid(name, "must not be empty; leave it out")
		}
	}
	after, err := base64.RawURLEncoding.Strict().DecodeString(query.Get("after"))
	if err != nil {
		return q, invalid("after", "must be the next of an earlier answer")
	}
	q = stock.DeductionQuery{BuyerID: query.Get("buyer_id"), Status: stock.DeductionStatus(query.Get("status")), After: string(after)}
	q.Limit, err = pageSize(query, selling.MaxPage)
	return q, err
}
