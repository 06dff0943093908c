package api

import (
	"github.com/labstack/echo/v4"

	"inventory/internal/stock"
)

// unitsRequest is the body of a request that changes the amount of stock.
type unitsRequest struct {
	Ref      field[string] `json:"ref"`
	Quantity field[int64]  `json:"quantity"`
	Reason   field[string] `json:"reason"`
}

type resegmentRequest struct {
	Ref      field[string] `json:"ref"`
	Segments field[int64]  `json:"segments"`
	Reason   field[string] `json:"reason"`
}

type changeAnswer struct {
	Ref      string `json:"ref"`
	Quantity int64  `json:"quantity,omitempty"`
	Segments int    `json:"segments,omitempty"`
	Reason   string `json:"reason,omitempty"`
	stock.TermsChange
}

func (s *server) restock(c echo.Context) error {
	return changeStock(s, c, func(u unitsRequest) (stock.Movement, error) { return u.movement(stock.Restocked) })
}

func (s *server) adjust(c echo.Context) error {
	return changeStock(s, c, func(u unitsRequest) (stock.Movement, error) { return u.movement(stock.Adjusted) })
}

func (s *server) resegment(c echo.Context) error { return changeStock(s, c, resegmentRequest.movement) }

// changeStock carries out the change that a body asks for, of the SKU in the path.
func changeStock[B any](s *server, c echo.Context, movement func(B) (stock.Movement, error)) error {
	var body B
	if err := decode(c, &body); err != nil {
		return err
	}
	m, err := movement(body)
	if err != nil {
		return err
	}
	m.SKU = param(c, "sku")
	created, err := s.service.Move(c.Request().Context(), m)
	if err != nil {
		return err
	}
	return c.JSON(createdOrOK(created), changeAnswer{Ref: m.Ref, Quantity: m.Quantity, Segments: m.Segments, Reason: m.Reason, TermsChange: m.Terms})
}

func (u unitsRequest) movement(kind stock.MovementKind) (m stock.Movement, err error) {
	m = stock.Movement{Kind: kind, Reason: u.Reason.value}
	if m.Ref, err = u.Ref.require("ref"); err != nil {
		return m, err
	}
	m.Quantity, err = u.Quantity.require("quantity")
	return m, err
}

func (r resegmentRequest) movement() (m stock.Movement, err error) {
	m = stock.Movement{Kind: stock.Resegmented, Reason: r.Reason.value}
	if m.Ref, err = r.Ref.require("ref"); err != nil {
		return m, err
	}
	segments, err := r.Segments.require("segments")
	m.Segments = int(segments)
	return m, err
}
