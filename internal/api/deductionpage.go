package api

import (
	"encoding/base64"
	"net/http"
	"net/url"
	"time"

	"github.com/labstack/echo/v4"

	"inventory/internal/stock"
	"inventory/internal/stock/selling"
)

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

// readDeductions returns a page of a SKU's deductions.
func (s *server) readDeductions(c echo.Context) error {
	query, err := deductionQuery(c.QueryParams())
	if err != nil {
		return err
	}
	query.SKU = param(c, "sku")
	page, err := s.service.Deductions(c.Request().Context(), query)
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
