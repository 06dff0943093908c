package api

import (
	"net/http"

	"github.com/labstack/echo/v4"

	"inventory/internal/stock"
)

type newSKU struct {
	Stock    field[int64]  `json:"stock"`
	Segments field[int64]  `json:"segments"`
	Name     field[string] `json:"name"`
}

type skuAnswer struct {
	SKU       string          `json:"sku"`
	Name      string          `json:"name,omitempty"`
	Stock     int64           `json:"stock"`
	Available int64           `json:"available"`
	Reserved  int64           `json:"reserved"`
	Committed int64           `json:"committed"`
	Segments  []segmentAnswer `json:"segments"`
}

type segmentAnswer struct {
	Segment   int   `json:"segment"`
	Available int64 `json:"available"`
}

func (s *server) createSKU(c echo.Context) error {
	var body newSKU
	if err := decode(c, &body); err != nil {
		return err
	}
	units, err := body.Stock.require("stock")
	if err != nil {
		return err
	}
	sku := stock.NewSKU{SKU: param(c, "sku"), Name: body.Name.value, Stock: units, Segments: stock.DefaultSegments}
	if body.Segments.set {
		sku.Segments = int(body.Segments.value)
	}
	status, created, err := s.service.CreateSKU(c.Request().Context(), sku)
	if err != nil {
		return err
	}
	return c.JSON(createdOrOK(created), statusAnswer(status))
}

func (s *server) readSKU(c echo.Context) error {
	status, err := s.service.SKU(c.Request().Context(), param(c, "sku"))
	if err != nil {
		return err
	}
	return c.JSON(http.StatusOK, statusAnswer(status))
}

func statusAnswer(status stock.Status) skuAnswer {
	a := skuAnswer{
		SKU: status.SKU, Name: status.Name, Stock: status.Stock,
		Available: status.Available, Reserved: status.Reserved, Committed: status.Committed,
		Segments: make([]segmentAnswer, len(status.Segments)),
	}
	for i, available := range status.Segments {
		a.Segments[i] = segmentAnswer{Segment: i, Available: available}
	}
	return a
}

func createdOrOK(created bool) int {
	if created {
		return http.StatusCreated
	}
	return http.StatusOK
}
