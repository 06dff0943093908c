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

type cancelRequest struct {
	Quantity field[int64]  `json:"quantity"`
	Ref      field[string] `json:"ref"`
}

type extendRequest struct {
	Ref        field[string] `json:"ref"`
	ReserveFor duration      `json:"reserve_for"`
}

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

// cancel gives back a reservation, all of it or a part. For callers with the right it also gives back committed units.
func (s *server) cancel(c echo.Context) error {
	var body cancelRequest
	if err := decodeIfAny(c, &body); err != nil {
		return err
	}
	request := stock.SettleRequest{Cancel: true, KeepCommitted: !callerOf(c).Return}
	if body.Quantity.set || body.Ref.set { // a part
		var err error
		if request.Quantity, err = body.Quantity.require("quantity"); err != nil {
			return err
		}
		if request.Ref, err = body.Ref.require("ref"); err != nil {
			return err
		}
	}
	return s.settle(c, request)
}

// extend gives a reservation a later end.
func (s *server) extend(c echo.Context) error {
	var body extendRequest
	if err := decode(c, &body); err != nil {
		return err
	}
	ref, err := body.Ref.require("ref")
	if err != nil {
		return err
	}
	if _, err := body.ReserveFor.require("reserve_for"); err != nil {
		return err
	}
	reserveFor, err := reserve("reserve_for", body.ReserveFor)
	if err != nil {
		return err
	}
	return s.settle(c, stock.SettleRequest{Ref: ref, Extend: reserveFor})
}

// settle carries out a settle request for the deduction in the path, and answers with the deduction afterwards.
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

// expiry returns when a reservation ends, or has ended, by itself; zero if that does not matter.
func expiry(d stock.Deduction) time.Time {
	if d.Status == stock.StatusReserved || d.Status == stock.StatusExpired {
		return d.ExpiresAt.UTC()
	}
	return time.Time{}
}
