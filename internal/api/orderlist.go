package api

import (
	"encoding/base64"
	"encoding/binary"
	"net/url"
	"strings"
	"time"

	"github.com/labstack/echo/v4"

	"inventory/internal/access"
	"inventory/internal/stock"
	"inventory/internal/stock/selling"
)

type ordersAnswer struct {
	Orders []deductionAnswer `json:"orders"` // a line of an order each; an order of one SKU has one
	Next   string            `json:"next,omitempty"`
}

// readOrders returns a page of the orders of all SKUs. Only an admin reads those of all buyers; the others read one buyer's, under order ids
// of their own.
func (s *server) readOrders(c echo.Context) (any, error) {
	query, err := orderQuery(c.QueryParams())
	if err != nil {
		return nil, err
	}
	caller := callerOf(c)
	if query.BuyerID, _, err = s.buyerFor(c, query.BuyerID); err != nil {
		return nil, err
	}
	if caller.Scope != access.ScopeAdmin {
		if query.BuyerID == "" {
			return nil, forbidden("this takes a buyer_id, or a key of the scope admin")
		}
		if query.Namespace = new(string); caller.Buyer != "" {
			query.Namespace = &query.BuyerID
		}
	}
	page, err := s.Service.OrderLines(c.Request().Context(), query)
	answer := ordersAnswer{Orders: make([]deductionAnswer, len(page.Lines))}
	for i, line := range page.Lines {
		namespace, orderID := stock.SplitOrderKey(line.OrderID)
		line.OrderID = orderID
		listed := answerOf(line)
		listed.Own = namespace != ""
		answer.Orders[i] = listed
	}
	if page.Next != (stock.LinePosition{}) {
		answer.Next = lineCursor(page.Next)
	}
	return answer, err
}

// orderQuery reads which orders the caller wants.
func orderQuery(query url.Values) (q stock.OrderQuery, err error) {
	for _, name := range []string{"after", "buyer_id", "status"} {
		if query.Has(name) && query.Get(name) == "" {
			return q, invalid(name, "must not be empty; leave it out")
		}
	}
	q = stock.OrderQuery{BuyerID: query.Get("buyer_id"), Status: stock.DeductionStatus(query.Get("status"))}
	for name, at := range map[string]*time.Time{"since": &q.Since, "until": &q.Until} {
		if !query.Has(name) {
			continue
		}
		if *at, err = time.Parse(time.RFC3339Nano, query.Get(name)); err != nil || at.Year() < 1970 {
			return q, invalid(name, mustBeInstant)
		}
	}
	if query.Has("after") {
		var ok bool
		if q.After, ok = linePosition(query.Get("after")); !ok {
			return q, invalid("after", "must be the next of an earlier answer")
		}
	}
	q.Limit, err = pageSize(query, selling.MaxPage)
	return q, err
}

// The cursor of a line is its time in microseconds, its SKU, a zero byte, and its order key.

func lineCursor(p stock.LinePosition) string {
	at := binary.BigEndian.AppendUint64(nil, uint64(p.At.UnixMicro()))
	return base64.RawURLEncoding.EncodeToString(append(at, p.SKU+"\x00"+p.OrderID...))
}

func linePosition(cursor string) (p stock.LinePosition, ok bool) {
	text, err := base64.RawURLEncoding.Strict().DecodeString(cursor)
	if err != nil || len(text) <= 8 {
		return p, false
	}
	p.At = time.UnixMicro(int64(binary.BigEndian.Uint64(text))).UTC()
	p.SKU, p.OrderID, ok = strings.Cut(string(text[8:]), "\x00")
	return p, ok
}

type orderHistoryAnswer struct {
	OrderID string        `json:"order_id"`
	History []stock.Entry `json:"history,omitempty"` // of the order as a whole
	Lines   []lineHistory `json:"lines"`
}

type lineHistory struct {
	SKU     string        `json:"sku"`
	History []stock.Entry `json:"history"`
}

// readOrderHistory answers with what happened to an order and to its lines, the oldest entry of each first. A token is not told which
// buyers had the order before.
func (s *server) readOrderHistory(c echo.Context) (any, error) {
	buyerID, err := s.namedBuyer(c)
	if err != nil {
		return nil, err
	}
	orderID := param(c, "order_id")
	all, err := s.Service.OrderHistory(c.Request().Context(), orderID, buyerID)
	answer := orderHistoryAnswer{OrderID: orderID, History: all.HandOvers, Lines: make([]lineHistory, len(all.Lines))}
	for i := range answer.History {
		e := &answer.History[i]
		if e.At = e.At.UTC(); callerOf(c).Buyer != "" {
			e.BuyerID = ""
		}
	}
	for i, line := range all.Lines {
		answer.Lines[i] = lineHistory{line.SKU, entriesOf(line)}
	}
	return answer, err
}
