package api

import (
	"net/http"

	"github.com/labstack/echo/v4"

	"inventory/internal/stock"
)

type newDeduction struct {
	OrderID    field[string] `json:"order_id"`
	BuyerID    field[string] `json:"buyer_id"`
	Quantity   field[int64]  `json:"quantity"`
	ReserveFor duration      `json:"reserve_for"`
}

func (s *server) deduct(c echo.Context) error {
	deadline, err := s.deadlineOf(c.Request()) // before the body, whose reading may take time
	if err != nil {
		return err
	}
	buffer := s.buffers.Get().(*[]byte)
	defer s.buffers.Put(buffer)
	order, err := readOrder(c, buffer)
	if err != nil {
		return err
	}
	if order.BuyerID, order.Own, err = buyerFor(c, order.BuyerID); err != nil {
		return err
	}
	order.CallerMax = callerOf(c).MaxQuantity
	d, created, err := s.service.Deduct(waitUntil(c.Request().Context(), deadline), param(c, "sku"), order)
	if err != nil {
		return err
	}
	*buffer = appendDeduction((*buffer)[:0], d)
	return sendBody(c, createdOrOK(created), mediaJSON, *buffer)
}

// readOrder reads the body of a request, using the buffer.
func readOrder(c echo.Context, buffer *[]byte) (stock.Order, error) {
	if err := checkMediaType(c.Request()); err != nil {
		return stock.Order{}, err
	}
	text, err := readBody(c.Request(), (*buffer)[:0], maxBodyBytes)
	*buffer = text
	if err != nil {
		return stock.Order{}, err
	}
	if order, plain := plainOrder(text); plain {
		return order, nil
	}
	var body newDeduction
	if err := decodeText(text, &body); err != nil {
		return stock.Order{}, err
	}
	return body.order()
}

func (n newDeduction) order() (o stock.Order, err error) {
	if o.OrderID, err = n.OrderID.require("order_id"); err != nil {
		return o, err
	}
	if o.Quantity, err = n.Quantity.require("quantity"); err != nil {
		return o, err
	}
	if o.BuyerID, err = optional("buyer_id", n.BuyerID); err != nil {
		return o, err
	}
	o.ReserveFor, err = reserve("reserve_for", n.ReserveFor)
	return o, err
}

func (s *server) readDeduction(c echo.Context) error {
	buyerID, err := namedBuyer(c)
	if err != nil {
		return err
	}
	d, err := s.service.Deduction(c.Request().Context(), param(c, "sku"), param(c, "order_id"), buyerID)
	if err != nil {
		return err
	}
	return sendBody(c, http.StatusOK, mediaJSON, appendDeduction(nil, d))
}
