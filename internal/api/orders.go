package api

import (
	"fmt"
	"time"

	"github.com/labstack/echo/v4"

	"inventory/internal/stock"
)

type newOrder struct {
	OrderID    field[string] `json:"order_id"`
	BuyerID    field[string] `json:"buyer_id"`
	ReserveFor field[string] `json:"reserve_for"`
	Lines      []newLine     `json:"lines"`
}

type newLine struct {
	SKU      field[string] `json:"sku"`
	Quantity field[int64]  `json:"quantity"`
}

type orderAnswer struct {
	OrderID string       `json:"order_id"`
	BuyerID string       `json:"buyer_id,omitempty"`
	Lines   []lineAnswer `json:"lines"`
}

type lineAnswer struct {
	SKU       string                `json:"sku"`
	Quantity  int64                 `json:"quantity"`
	Status    stock.DeductionStatus `json:"status"`
	ExpiresAt time.Time             `json:"expires_at,omitzero"`
}

// placeOrder takes stock of several SKUs, all or nothing.
func (s *server) placeOrder(c echo.Context) error {
	var body newOrder
	if err := decode(c, &body); err != nil {
		return err
	}
	order, err := body.order()
	if err != nil {
		return err
	}
	if order.BuyerID, order.Own, err = buyerFor(c, order.BuyerID); err != nil {
		return err
	}
	order.Most = callerOf(c).MaxQuantity
	lines, created, err := s.service.Order(c.Request().Context(), order)
	if err != nil {
		return err
	}
	return c.JSON(createdOrOK(created), orderOf(order, lines))
}

func (n newOrder) order() (o stock.MultiOrder, err error) {
	if o.OrderID, err = n.OrderID.require("order_id"); err != nil {
		return o, err
	}
	if o.BuyerID, err = buyer(n.BuyerID); err != nil {
		return o, err
	}
	if o.ReserveFor, err = reserve("reserve_for", n.ReserveFor); err != nil {
		return o, err
	}
	if n.Lines == nil {
		return o, invalid("lines", "is required")
	}
	if len(n.Lines) > stock.MaxLines { // before anything is done for each
		return o, invalid("lines", fmt.Sprintf("must be 1 to %d", stock.MaxLines))
	}
	o.Lines = make([]stock.Line, len(n.Lines))
	for i, line := range n.Lines {
		name := fmt.Sprintf("lines[%d].", i)
		if o.Lines[i].SKU, err = line.SKU.require(name + "sku"); err != nil {
			return o, err
		}
		if o.Lines[i].Quantity, err = line.Quantity.require(name + "quantity"); err != nil {
			return o, err
		}
	}
	return o, nil
}

func orderOf(o stock.MultiOrder, lines []stock.Deduction) orderAnswer {
	a := orderAnswer{OrderID: o.OrderID, BuyerID: o.BuyerID, Lines: make([]lineAnswer, len(lines))}
	for i, d := range lines {
		a.Lines[i] = lineAnswer{SKU: d.SKU, Quantity: d.Quantity, Status: d.Status, ExpiresAt: expiry(d)}
	}
	return a
}
