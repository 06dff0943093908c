package api

import (
	"bytes"
	"net/http"

	"github.com/labstack/echo/v4"

	"inventory/internal/stock"
)

type newDeduction struct {
	OrderID  field[string] `json:"order_id"`
	BuyerID  field[string] `json:"buyer_id"`
	Quantity field[int64]  `json:"quantity"`
}

type deductionAnswer struct {
	SKU      string                `json:"sku"`
	OrderID  string                `json:"order_id"`
	BuyerID  string                `json:"buyer_id,omitempty"`
	Quantity int64                 `json:"quantity"`
	Status   stock.DeductionStatus `json:"status"`
	Parts    []partAnswer          `json:"parts,omitempty"`
}

type partAnswer struct {
	Segment  int   `json:"segment"`
	Quantity int64 `json:"quantity"`
}

func (s *server) deduct(c echo.Context) error {
	buffer := s.buffers.Get().(*[]byte)
	defer s.buffers.Put(buffer)
	order, err := readOrder(c, buffer)
	if err != nil {
		return err
	}
	d, created, err := s.service.Deduct(c.Request().Context(), param(c, "sku"), order)
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
	text, err := readBody(c.Request(), (*buffer)[:0])
	*buffer = text
	if err != nil {
		return stock.Order{}, err
	}
	if order, plain := plainOrder(text); plain {
		return order, nil
	}
	var body newDeduction
	if err := decodeFrom(bytes.NewReader(text), &body); err != nil {
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
	if o.BuyerID = n.BuyerID.value; n.BuyerID.set && o.BuyerID == "" {
		return o, &stock.Error{Code: stock.CodeInvalidRequest, Field: "buyer_id", Message: "buyer_id must not be empty; leave it out"}
	}
	return o, nil
}

func (s *server) readDeduction(c echo.Context) error {
	d, err := s.service.Deduction(c.Request().Context(), param(c, "sku"), param(c, "order_id"))
	if err != nil {
		return err
	}
	return c.JSON(http.StatusOK, deductionOf(d))
}

func deductionOf(d stock.Deduction) deductionAnswer {
	a := deductionAnswer{SKU: d.SKU, OrderID: d.OrderID, BuyerID: d.BuyerID, Quantity: d.Quantity, Status: d.Status}
	for _, p := range d.Parts {
		a.Parts = append(a.Parts, partAnswer(p))
	}
	return a
}
