package api

import (
	"net/http"
	"time"

	"github.com/labstack/echo/v4"

	"inventory/internal/stock"
)

type commitRequest struct {
	Quantity field[int64] `json:"quantity"`
}

type cancelRequest struct{}

// commit keeps what is reserved.
func (s *server) commit(c echo.Context) error {
	var body commitRequest
	if err := decodeIfAny(c, &body); err != nil {
		return err
	}
	quantity, err := count("quantity", body.Quantity, stock.MaxQuantity)
	if err != nil {
		return err
	}
	return s.settle(c, stock.SettleRequest{Quantity: quantity})
}

// cancel gives back what is reserved. For callers who may, it also gives back what is committed.
func (s *server) cancel(c echo.Context) error {
	if err := decodeIfAny(c, new(cancelRequest)); err != nil {
		return err
	}
	return s.settle(c, stock.SettleRequest{Cancel: true, KeepCommitted: !callerOf(c).Return})
}

// settle carries out a request about the deduction in the path, and answers what it is then.
func (s *server) settle(c echo.Context, request stock.SettleRequest) error {
	var err error
	if request.BuyerID, err = namedBuyer(c); err != nil {
		return err
	}
	request.OrderID = param(c, "order_id")
	d, err := s.service.Settle(c.Request().Context(), param(c, "sku"), request)
	if err != nil {
		return err
	}
	buffer := s.buffers.Get().(*[]byte)
	defer s.buffers.Put(buffer)
	*buffer = appendDeduction((*buffer)[:0], d)
	return sendBody(c, http.StatusOK, mediaJSON, *buffer)
}

// expiry is when a reservation ends, or has ended, by itself; zero if that does not matter.
func expiry(d stock.Deduction) time.Time {
	if d.Status == stock.StatusReserved || d.Status == stock.StatusExpired {
		return d.ExpiresAt.UTC()
	}
	return time.Time{}
}
