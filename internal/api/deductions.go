package api

import (
	"encoding/base64"
	"net/url"
	"time"

	"github.com/labstack/echo/v4"

	"inventory/internal/access"
	"inventory/internal/stock"
	"inventory/internal/stock/selling"
)

// deductionAnswer is a deduction as JSON. A list leaves out the SKU, which is that of the list, and a line of an order the order id.
type deductionAnswer struct {
	SKU       string                `json:"sku,omitempty"`
	OrderID   string                `json:"order_id,omitempty"`
	Own       bool                  `json:"own,omitempty"` // in a list: the order id belongs to its buyer, who came with a token
	BuyerID   string                `json:"buyer_id,omitempty"`
	Quantity  int64                 `json:"quantity"`
	Status    stock.DeductionStatus `json:"status"`
	ExpiresAt *time.Time            `json:"expires_at,omitempty"` // when a reservation ends, or has ended, by itself
	Order     string                `json:"order,omitempty"`
	Parts     []stock.Part          `json:"parts,omitempty"`

	CreatedAt   time.Time  `json:"created_at"`
	CommittedAt *time.Time `json:"committed_at,omitempty"`
}

// known returns an instant, or nil for none.
func known(at time.Time) *time.Time {
	if at.IsZero() {
		return nil
	}
	at = at.UTC()
	return &at
}

func answerOf(d stock.Deduction) deductionAnswer {
	a := deductionAnswer{
		SKU: d.SKU, OrderID: d.OrderID, BuyerID: d.BuyerID, Quantity: d.Quantity, Status: d.Status, Parts: d.Parts,
		CreatedAt: d.CreatedAt.UTC(), CommittedAt: known(d.CommittedAt),
	}
	if d.Status == stock.StatusReserved || d.Status == stock.StatusExpired {
		a.ExpiresAt = known(d.ExpiresAt)
	}
	if d.InOrder {
		a.Order = orderPath(d.OrderID)
	}
	return a
}

func (s *server) deduct(c echo.Context, deadline time.Time) (created bool, answer any, err error) {
	order, err := readAs(s, c, maxBodyBytes, newDeduction)
	if err != nil {
		return false, nil, err
	}
	if order.BuyerID, order.Own, err = s.buyerFor(c, order.BuyerID); err != nil {
		return false, nil, err
	}
	order.CallerMax = callerOf(c).MaxQuantity
	d, created, err := s.Service.DeductBy(c.Request().Context(), deadline, param(c, "sku"), order)
	answered := answerOf(d)
	return created, &answered, err // a pointer saves the JSON library a copy
}

func newDeduction(f *form) stock.Order {
	return stock.Order{
		OrderID: required(f, (*form).text, "order_id"), Quantity: required(f, (*form).number, "quantity"),
		BuyerID: f.optional("buyer_id"), ReserveFor: f.period("reserve_for"),
	}
}

func (s *server) readDeduction(c echo.Context) (any, error) {
	buyerID, err := s.namedBuyer(c)
	if err != nil {
		return nil, err
	}
	d, err := s.Service.Deduction(c.Request().Context(), param(c, "sku"), param(c, "order_id"), buyerID)
	return answerOf(d), err
}

// settlement is what a request asks for about what is reserved or committed: of a deduction, or of all lines of an order.
type settlement struct {
	stock.SettleRequest
	retake bool         // commit units that are reserved no longer, if they are there
	lines  []stock.Line // commit these alone; nil: all
}

func commitRequest(f *form) settlement {
	quantity := f.count("quantity", stock.MaxQuantity)
	asked := commitOrderRequest(f)
	asked.Quantity = quantity
	return asked
}

// cancelRequest gives up a reservation: all of it, or, if both members are there, a part.
func cancelRequest(f *form) settlement {
	asked := cancelOrderRequest(f)
	if f.has("quantity") || f.has("ref") {
		asked.Quantity, asked.Ref = required(f, (*form).number, "quantity"), required(f, (*form).text, "ref")
	}
	return asked
}

// returnRequest gives back committed units: all of them, or, if both members are there, a part.
func returnRequest(f *form) settlement {
	asked, part := returnOrderRequest(f), cancelRequest(f)
	asked.Quantity, asked.Ref = part.Quantity, part.Ref
	return asked
}

// extendRequest gives a reservation a later end.
func extendRequest(f *form) settlement {
	asked := stock.SettleRequest{Verb: stock.Extend, Ref: required(f, (*form).text, "ref")}
	if !f.has("reserve_for") {
		f.refuse("reserve_for", "is required")
	}
	asked.ExtendFor = f.period("reserve_for")
	return settlement{SettleRequest: asked}
}

// settling returns a handler that settles what the path names. read reads the body by the other function, and settle returns the answer.
func (s *server) settling(
	read func(*server, echo.Context, int, func(*form) settlement) (settlement, error),
	asks func(*form) settlement, settle func(echo.Context, settlement) (any, error),
) echo.HandlerFunc {
	return s.bounded(func(c echo.Context) (created bool, answer any, err error) {
		asked, err := read(s, c, maxBodyBytes, asks)
		if err != nil {
			return false, nil, err
		}
		if asked.BuyerID, err = s.namedBuyer(c); err != nil {
			return false, nil, err
		}
		asked.OrderID = param(c, "order_id")
		answer, err = settle(c, asked)
		return false, answer, err
	})
}

// settle settles a deduction, and answers with the deduction afterwards.
func (s *server) settle(c echo.Context, asked settlement) (any, error) {
	d, err := s.Service.Settle(c.Request().Context(), param(c, "sku"), asked.SettleRequest, asked.retake)
	return answerOf(d), err
}

type historyAnswer struct {
	SKU     string        `json:"sku"`
	OrderID string        `json:"order_id"`
	History []stock.Entry `json:"history"`
}

// readHistory answers with what happened to a deduction, the oldest entry first.
func (s *server) readHistory(c echo.Context) (any, error) {
	buyerID, err := s.namedBuyer(c)
	if err != nil {
		return nil, err
	}
	h, err := s.Service.History(c.Request().Context(), param(c, "sku"), param(c, "order_id"), buyerID)
	return historyAnswer{SKU: h.SKU, OrderID: h.OrderID, History: entriesOf(h)}, err
}

// entriesOf returns the entries of a history, with times in UTC.
func entriesOf(h stock.History) []stock.Entry {
	entries := h.Entries()
	for i, e := range entries {
		entries[i].At, entries[i].Until = e.At.UTC(), e.Until.UTC()
	}
	return entries
}

type deductionsAnswer struct {
	SKU        string            `json:"sku"`
	Deductions []deductionAnswer `json:"deductions"`
	Next       string            `json:"next,omitempty"`
}

// readDeductions returns a page of a SKU's deductions. Only an admin reads those of all buyers; the others read one buyer's, under
// order ids of their own.
func (s *server) readDeductions(c echo.Context) (any, error) {
	query, err := deductionQuery(c.QueryParams())
	if err != nil {
		return nil, err
	}
	query.SKU = param(c, "sku")
	if caller := callerOf(c); caller.Scope != access.ScopeAdmin {
		if query.BuyerID, _, err = s.buyerFor(c, query.BuyerID); err != nil {
			return nil, err
		}
		if query.BuyerID == "" {
			return nil, forbidden("this takes a buyer_id, or a key of the scope admin")
		}
		if query.Namespace = new(string); caller.Buyer != "" {
			query.Namespace = &query.BuyerID
		}
	} else if query.BuyerID, err = s.Service.KeptName(query.BuyerID); err != nil {
		return nil, err
	}
	page, err := s.Service.Deductions(c.Request().Context(), query)
	answer := deductionsAnswer{
		SKU: query.SKU, Deductions: make([]deductionAnswer, len(page.Deductions)), Next: base64.RawURLEncoding.EncodeToString([]byte(page.Next)),
	}
	for i, d := range page.Deductions {
		namespace, orderID := stock.SplitOrderKey(d.OrderID)
		listed := answerOf(d)
		listed.SKU, listed.OrderID, listed.Own = "", orderID, namespace != ""
		answer.Deductions[i] = listed
	}
	return answer, err
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
