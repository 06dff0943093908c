package api

import (
	"github.com/labstack/echo/v4"

	"inventory/internal/stock"
)

type restockRequest struct {
	Ref      field[string] `json:"ref"`
	Quantity field[int64]  `json:"quantity"`
	Reason   field[string] `json:"reason"`
}

type restockAnswer struct {
	Ref      string `json:"ref"`
	Quantity int64  `json:"quantity"`
	Reason   string `json:"reason,omitempty"`
}

func (s *server) restock(c echo.Context) error {
	var body restockRequest
	if err := decode(c, &body); err != nil {
		return err
	}
	restock := stock.Restock{SKU: param(c, "sku"), Reason: body.Reason.value}
	var err error
	if restock.Ref, err = body.Ref.require("ref"); err != nil {
		return err
	}
	if restock.Quantity, err = body.Quantity.require("quantity"); err != nil {
		return err
	}
	created, err := s.service.Restock(c.Request().Context(), restock)
	if err != nil {
		return err
	}
	return c.JSON(createdOrOK(created), restockAnswer{Ref: restock.Ref, Quantity: restock.Quantity, Reason: restock.Reason})
}
